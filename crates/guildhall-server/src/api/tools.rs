//! `GET /api/tools` and `POST /api/tools/<tool>`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use guildhall_tools::{Call, Caller, Catalog, Door, JsonObject, Progress, Tool, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::state::App;
use crate::{gate, reply};

/// The tools of the caller, with their schemas.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let mounted = app.parts.mounts.current();
    reply::result(&described(mounted.catalog().listed(&caller)))
}

/// `tools` with their schemas.
pub(super) fn described<'a>(tools: impl Iterator<Item = &'a Tool>) -> Value {
    let tools: Vec<Value> = tools
        .map(|tool| {
            let hints = tool.annotations();
            json!({
                "name": tool.name(),
                "title": tool.title(),
                "description": tool.description(),
                "inputSchema": **tool.input_schema(),
                "outputSchema": **tool.output_schema(),
                "annotations": {
                    "readOnlyHint": hints.read_only,
                    "destructiveHint": hints.destructive,
                    "idempotentHint": hints.idempotent,
                    "openWorldHint": hints.open_world,
                },
            })
        })
        .collect();
    json!({ "tools": tools })
}

/// Calls a tool with the arguments in the body: a JSON object, or nothing for none.
pub(crate) async fn call(
    State(app): State<Arc<App>>,
    Path(tool): Path<String>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    let mounted = app.parts.mounts.current();
    run(&app, caller, mounted.catalog(), &tool, None, body).await
}

/// Calls a tool of `catalog`, in `repo` where the address names one.
pub(super) async fn run(
    app: &App,
    caller: Caller,
    catalog: &Catalog,
    tool: &str,
    repo: Option<&str>,
    body: Body,
) -> Response {
    let arguments = match gate::read_body(app, body)
        .await
        .and_then(|bytes| parse(&bytes))
    {
        Ok(arguments) => arguments,
        Err(error) => return reply::error(&error),
    };
    // Dropped with the request: a client that goes away cancels its call.
    let cancelled = CancellationToken::new();
    let _cancel = cancelled.clone().drop_guard();
    let call = Call {
        catalog,
        caller,
        tool,
        arguments,
        door: Door::Http,
        repo,
        cancelled,
        progress: Progress::default(),
    };
    reply::answer(&app.pipeline.call(call).await)
}

fn parse(bytes: &[u8]) -> Result<JsonObject, ToolError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(JsonObject::new());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(ToolError::bad_arguments(
            "The body must be a JSON object of arguments",
        )),
        Err(error) => Err(ToolError::bad_arguments(format!(
            "The body is not JSON: {error}"
        ))),
    }
}
