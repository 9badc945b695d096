//! `GET /api/tools` and `POST /api/tools/<tool>`.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use guildhall_tools::{Call, Caller, Catalog, Door, JsonObject, Progress, Tool, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::InPath;
use crate::state::App;
use crate::{gate, reply};

/// Tools with their schemas.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Tools<'a> {
    tools: Vec<Listed<'a>>,
}

/// A tool, under the names that MCP gives its parts.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    title: &'a str,
    /// When to use it
    description: &'a str,
    /// The JSON Schema of its arguments
    input_schema: &'a JsonObject,
    /// The JSON Schema of its result
    output_schema: &'a JsonObject,
    annotations: Hints,
}

/// What a tool promises of itself.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the four hints that MCP defines"
)]
struct Hints {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl<'a> Tools<'a> {
    /// `tools`, in their order.
    pub(super) fn of(tools: impl Iterator<Item = &'a Tool>) -> Self {
        let tools = tools.map(|tool| {
            let hints = tool.annotations();
            Listed {
                name: tool.name(),
                title: tool.title(),
                description: tool.description(),
                input_schema: tool.input_schema(),
                output_schema: tool.output_schema(),
                annotations: Hints {
                    read_only_hint: hints.read_only,
                    destructive_hint: hints.destructive,
                    idempotent_hint: hints.idempotent,
                    open_world_hint: hints.open_world,
                },
            }
        });
        Self {
            tools: tools.collect(),
        }
    }
}

/// The tools of the caller, with their schemas.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let mounted = app.parts.mounts.current();
    reply::result(&Tools::of(mounted.everything().listed(&caller)))
}

/// Calls a tool with the arguments in the body: a JSON object, or nothing for none.
pub(crate) async fn call(
    State(app): State<Arc<App>>,
    InPath(tool): InPath<String>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    let mounted = app.parts.mounts.current();
    run(&app, caller, mounted.everything(), &tool, None, body).await
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
