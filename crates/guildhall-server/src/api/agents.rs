//! `POST /api/agents`: the token file of one of the caller's agents, for `guildhall connect` and `guildhall mcp`.
//!
//! The token itself is never in the answer: it stands in a 0600 file, and the answer says which.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use guildhall_tools::{Caller, ToolError};
use serde::Deserialize;
use serde_json::json;

use crate::auth::AuthError;
use crate::state::App;
use crate::{gate, reply};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
}

pub(crate) async fn issue(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    match make(&app, &caller, body).await {
        Ok(response) => response,
        Err(error) => reply::error(&error),
    }
}

async fn make(app: &Arc<App>, caller: &Caller, body: Body) -> Result<Response, ToolError> {
    if caller.principal.is_agent() {
        return Err(ToolError::forbidden(format!(
            "`{}` is an agent: only a person may make agents",
            caller.principal
        )));
    }
    let bytes = gate::read_body(app, body).await?;
    let wanted: Wanted = serde_json::from_slice(&bytes).map_err(|error| {
        ToolError::bad_arguments(format!(
            "The body must be {{ \"name\": \"<agent>\" }}: {error}"
        ))
    })?;
    let issued = app
        .parts
        .authenticator
        .issue_agent(&caller.principal, &wanted.name)
        .await
        .map_err(|error| match error {
            AuthError::Name(error) => ToolError::bad_arguments(error.to_string()),
            AuthError::NotHere(_) => ToolError::forbidden(error.to_string())
                .hint("`guildhall agent create` prints a token instead of keeping it in a file."),
            error => ToolError::internal(format!("{error:?}")),
        })?;
    Ok(reply::result(
        &json!({ "username": issued.principal.name(), "token_file": issued.path }),
    ))
}
