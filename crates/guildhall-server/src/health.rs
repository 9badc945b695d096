//! `GET /health`: whether the server answers. Open to all, and so without any detail.

use axum::response::Response;
use http::StatusCode;

use crate::reply;

pub(crate) async fn health() -> Response {
    reply::json(StatusCode::OK, r#"{"status":"ok"}"#.to_owned())
}
