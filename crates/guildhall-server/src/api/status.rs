//! `GET /api/status`: what this server is and serves.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use guildhall_tools::Caller;
use schemars::JsonSchema;
use serde::Serialize;

use crate::reply;
use crate::state::App;

/// What the server is and serves.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Status<'a> {
    /// The program's version
    version: &'a str,
    /// The workspace's directory
    workspace: &'a str,
    /// The data directory
    data_dir: &'a str,
    /// The process
    pid: u32,
    /// Who asks
    username: &'a str,
    /// The provider of the dispatch tracker
    tracker: &'a str,
    /// The name under which agents register the server
    server_name: String,
    /// The mounted packs
    packs: &'a [&'a str],
    /// How many tools the caller has
    tools: usize,
}

pub(crate) async fn status(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let mounted = app.parts.mounts.current();
    let about = &app.parts.about;
    reply::result(&Status {
        version: about.version,
        workspace: &about.workspace,
        data_dir: &about.data_dir,
        pid: about.pid,
        username: caller.principal.name(),
        tracker: mounted.tracker(),
        server_name: mounted.server_name(),
        packs: mounted.catalog().packs(),
        tools: mounted.catalog().listed(&caller).count(),
    })
}
