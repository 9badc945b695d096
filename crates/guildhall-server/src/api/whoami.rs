//! `GET /api/whoami`: whom the token speaks for, and how far it reaches.

use axum::Extension;
use axum::response::Response;
use guildhall_tools::Caller;
use serde_json::json;

use crate::reply;

pub(crate) async fn whoami(Extension(caller): Extension<Caller>) -> Response {
    reply::result(&json!({
        "username": caller.principal.name(),
        "user": caller.principal.user_address(),
        "agent": caller.principal.agent_name(),
        "operator": caller.operator,
        "repos": caller.repos.as_deref(),
        "tools": caller.tools.as_deref(),
    }))
}
