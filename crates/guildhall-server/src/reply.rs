//! Answers in the form of the plain HTTP door.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use guildhall_core::{Ids as _, SystemIds};
use guildhall_tools::{Answer, ErrorKind, Failure, ToolError};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// `200 { "result": ... }`, or the failure's status and `{ "error", "code", ... }` (zz page, "Calling a tool").
pub(crate) fn answer(answer: &Answer) -> Response {
    let Some(failure) = &answer.failure else {
        // The text is there already; parsing or writing it again would be the dearest step of a call.
        let mut body = String::with_capacity(answer.text.len() + 12);
        body.push_str("{\"result\":");
        body.push_str(&answer.text);
        body.push('}');
        return json(StatusCode::OK, body);
    };
    failed(failure, failure.own_payload.then_some(&answer.payload))
}

/// `200 { "result": value }`.
pub(crate) fn result(value: &impl Serialize) -> Response {
    #[derive(Serialize)]
    struct Envelope<'a, T> {
        result: &'a T,
    }
    match serde_json::to_string(&Envelope { result: value }) {
        Ok(body) => json(StatusCode::OK, body),
        Err(fault) => error(&ToolError::internal(fault)),
    }
}

/// A failure found before any tool was called.
pub(crate) fn error(error: &ToolError) -> Response {
    failed(&logged(error).into_owned().into(), None)
}

/// The failure's status and `{ "error", "code", ... }`, with the tool's `own` payload where it has one.
fn failed(failure: &Failure, own: Option<&Value>) -> Response {
    let mut body = Map::new();
    body.insert("error".to_owned(), json!(failure.message));
    body.insert("code".to_owned(), json!(failure.kind.code()));
    if !failure.hints.is_empty() {
        body.insert("hint".to_owned(), json!(failure.hints.join(" ")));
    }
    if let Some(own) = own {
        body.insert("result".to_owned(), own.clone());
    }
    for (key, value) in &failure.details {
        body.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let mut response = json(status(failure.kind), Value::Object(body).to_string());
    let headers = response.headers_mut();
    if failure.kind == ErrorKind::Unauthenticated {
        let challenge = HeaderValue::from_static("Bearer realm=\"guildhall\"");
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    try_again(headers, failure.retry_after);
    response
}

/// `error` as it may leave. The cause of a fault of ours goes to the log, under a number that the caller is told; that of
/// a database which is away goes there too, for the operator must hear of it.
pub(crate) fn logged(error: &ToolError) -> Cow<'_, ToolError> {
    if error.kind == ErrorKind::Unavailable {
        tracing::error!("Request refused: {error:?}");
    }
    if error.kind != ErrorKind::Internal || error.details.contains_key("correlation_id") {
        return Cow::Borrowed(error);
    }
    let correlation = SystemIds.hex(8);
    tracing::error!(
        error.correlation = correlation,
        "Request failed by a fault of ours: {correlation}: {error:?}"
    );
    let message = format!("Internal error; the server's log has the cause under {correlation}");
    Cow::Owned(ToolError::new(ErrorKind::Internal, message).detail("correlation_id", correlation))
}

/// A refusal on a path of git's: it looks for HTTP Basic, and asks for a password when it is told so.
pub(crate) fn basic_challenge(refusal: &ToolError) -> Response {
    let mut response = error(refusal);
    if let Some(challenge) = response.headers_mut().get_mut(header::WWW_AUTHENTICATE) {
        *challenge = HeaderValue::from_static("Basic realm=\"guildhall\"");
    }
    response
}

/// Tells in `headers` when to try again, if `after` says so: whole seconds, at least one.
pub(crate) fn try_again(headers: &mut HeaderMap, after: Option<Duration>) {
    if let Some(after) = after {
        let seconds = HeaderValue::from(after.as_secs().max(1));
        headers.insert(header::RETRY_AFTER, seconds);
    }
}

pub(crate) fn status(kind: ErrorKind) -> StatusCode {
    StatusCode::from_u16(kind.status()).expect("every kind has an HTTP status")
}

/// A JSON body. `no-store`: answers belong to one caller.
pub(crate) fn json(status: StatusCode, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failure_reads_the_same_whether_a_tool_was_called_or_not() {
        let kinds = ErrorKind::ALL.into_iter();
        for kind in kinds.filter(|kind| *kind != ErrorKind::Internal) {
            let refusal = ToolError::new(kind, "It said no").hint("Ask again.");
            let mut refusal = refusal.detail("key", 1);
            refusal.retry_after = Some(Duration::from_millis(1500));
            let called = Answer {
                payload: refusal.payload(),
                text: refusal.payload().to_string(),
                failure: Some(refusal.clone().into()),
            };
            let (before, called) = (error(&refusal), answer(&called));
            assert_eq!(before.status(), called.status());
            assert_eq!(before.headers(), called.headers());
            let read = |response: Response| axum::body::to_bytes(response.into_body(), 1000);
            let (before, called) = (read(before).await.unwrap(), read(called).await.unwrap());
            assert_eq!(before, called);
            let body: Value = serde_json::from_slice(&before).unwrap();
            let wanted = json!({
                "error": "It said no",
                "code": kind.code(),
                "hint": "Ask again.",
                "key": 1,
            });
            assert_eq!(body, wanted);
        }
    }
}
