//! `GET /health`: whether the server answers. Open to all, and so without any detail.

use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;

use crate::reply;

/// What is told.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "the answer is always the same text; only its schema is asked for"
)]
pub(crate) struct Health {
    /// Always `ok`
    status: String,
}

pub(crate) async fn health() -> Response {
    reply::json(StatusCode::OK, r#"{"status":"ok"}"#.to_owned())
}
