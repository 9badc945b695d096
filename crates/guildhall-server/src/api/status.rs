//! `GET /api/status`: what this server is and serves.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use guildhall_tools::Caller;
use serde_json::json;

use crate::reply;
use crate::state::App;

pub(crate) async fn status(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let mounted = app.parts.mounts.current();
    let about = &app.parts.about;
    reply::result(&json!({
        "version": about.version,
        "workspace": about.workspace,
        "data_dir": about.data_dir,
        "pid": about.pid,
        "username": caller.principal.name(),
        "tracker": mounted.tracker(),
        "server_name": mounted.server_name(),
        "packs": mounted.catalog().packs(),
        "tools": mounted.catalog().listed(&caller).count(),
    }))
}
