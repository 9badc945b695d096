//! The HTTP side of a JSON-RPC exchange: lenient in what it takes, JSON-RPC in what it refuses.
//!
//! rmcp answers malformed input with plain text and 415 or 406. Clients read JSON-RPC errors; the specification asks for
//! -32700 and -32600 with HTTP 400.

use axum::body::{Body, Bytes};
use axum::response::Response;
use guildhall_tools::ToolError;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use super::Endpoint;
use crate::reply;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Which of the two forms the client takes an answer in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Accepts {
    /// JSON, or whatever the server likes.
    Json,
    /// Only an event stream.
    EventsOnly,
}

/// Takes one request through `endpoint`.
pub(super) async fn exchange(mut head: Parts, body: Bytes, endpoint: &dyn Endpoint) -> Response {
    let is_post = head.method == Method::POST;
    let Some(accepts) = accepts(&head.headers) else {
        let message = "The answer is `application/json` or `text/event-stream`: `Accept` must take one of them";
        return error(
            StatusCode::NOT_ACCEPTABLE,
            INVALID_REQUEST,
            message,
            &Value::Null,
        );
    };
    if is_post {
        if !is_json(&head.headers) {
            let message = "The `Content-Type` must be application/json";
            return error(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                INVALID_REQUEST,
                message,
                &Value::Null,
            );
        }
        // rmcp asks for both types to the letter; many clients name one, or `*/*`.
        head.headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        head.headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    let response = endpoint
        .handle(http::Request::from_parts(head, Full::new(body.clone())))
        .await;
    let status = response.status();
    let response = if status.is_client_error() && !has_json_body(&response) {
        in_json_rpc(&response, &body)
    } else {
        response
    };
    if accepts == Accepts::EventsOnly && status.is_success() && has_json_body(&response) {
        return as_event(response).await;
    }
    response
}

/// A refusal made before the request reached rmcp.
pub(super) fn refused(refusal: &ToolError) -> Response {
    let mut response = error(
        reply::status(refusal.kind),
        INVALID_REQUEST,
        &refusal.message,
        &Value::Null,
    );
    reply::try_again(response.headers_mut(), refusal.retry_after);
    response
}

fn accepts(headers: &HeaderMap) -> Option<Accepts> {
    let named = headers.get_all(header::ACCEPT).iter();
    let (mut names_some, mut json, mut events) = (false, false, false);
    for value in named.filter_map(|value| value.to_str().ok()) {
        names_some = true;
        for entry in value.split(',') {
            let kind = entry.split(';').next().unwrap_or_default().trim();
            let is = |wanted: &str| kind.eq_ignore_ascii_case(wanted);
            json |= is(JSON) || is("application/*") || is("*/*");
            events |= is(EVENTS) || is("text/*");
        }
    }
    if json || !names_some {
        Some(Accepts::Json)
    } else {
        events.then_some(Accepts::EventsOnly)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_none_or(|value| {
        value.to_str().is_ok_and(|kind| {
            kind.split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .eq_ignore_ascii_case(JSON)
        })
    })
}

fn has_json_body(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()))
}

/// rmcp's refusal in plain text, as a JSON-RPC error. The body tells what was wrong with it.
fn in_json_rpc(response: &Response, body: &[u8]) -> Response {
    let status = response.status();
    if status != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        let message = match status {
            StatusCode::NOT_FOUND => "Session not found: start a new one with `initialize`",
            StatusCode::METHOD_NOT_ALLOWED => "Without sessions this endpoint takes only POST",
            _ => "The request is not valid in this session",
        };
        let mut refusal = error(status, INVALID_REQUEST, message, &id_of(body));
        if let Some(allow) = response.headers().get(header::ALLOW) {
            refusal.headers_mut().insert(header::ALLOW, allow.clone());
        }
        return refusal;
    }
    // We have checked the media type: what rmcp could not take is the message.
    let bad = |code, message: &str| error(StatusCode::BAD_REQUEST, code, message, &id_of(body));
    match serde_json::from_slice::<Value>(body) {
        Err(_) => bad(PARSE_ERROR, "Parse error: the body is not JSON"),
        Ok(Value::Array(_)) => bad(
            INVALID_REQUEST,
            "Invalid Request: batches are not part of this protocol",
        ),
        Ok(Value::Object(message)) if message.get("jsonrpc") == Some(&Value::from("2.0")) => {
            if !message.get("method").is_some_and(Value::is_string) {
                return bad(
                    INVALID_REQUEST,
                    "Invalid Request: `method` must be a string",
                );
            }
            if !message
                .get("id")
                .is_none_or(|id| id.is_string() || id.is_i64() || id.is_u64())
            {
                return bad(
                    INVALID_REQUEST,
                    "Invalid Request: `id` must be a string or an integer",
                );
            }
            bad(
                INVALID_PARAMS,
                "Invalid params: `params` do not fit the method",
            )
        }
        Ok(_) => bad(
            INVALID_REQUEST,
            "Invalid Request: expected a JSON-RPC 2.0 object",
        ),
    }
}

fn id_of(body: &[u8]) -> Value {
    let id = serde_json::from_slice::<Value>(body)
        .ok()
        .and_then(|mut message| message.get_mut("id").map(Value::take));
    id.filter(|id| id.is_string() || id.is_i64() || id.is_u64())
        .unwrap_or(Value::Null)
}

fn error(status: StatusCode, code: i32, message: &str, id: &Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
    reply::json(status, body.to_string())
}

/// A JSON answer as a stream of one event, for clients that take nothing else.
async fn as_event(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    // The body is in memory already; it is ours, so its length needs no limit.
    let bytes = axum::body::to_bytes(body, usize::MAX)
        .await
        .unwrap_or_default();
    let event = [b"event: message\ndata: ".as_slice(), &bytes, b"\n\n"].concat();
    head.headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(event))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_two_types_is_enough() {
        for (header, accepted) in [
            (None, Some(Accepts::Json)),
            (
                Some("application/json, text/event-stream"),
                Some(Accepts::Json),
            ),
            (Some("application/json"), Some(Accepts::Json)),
            (Some("*/*"), Some(Accepts::Json)),
            (Some("text/event-stream"), Some(Accepts::EventsOnly)),
            (Some("Text/Event-Stream;q=0.9"), Some(Accepts::EventsOnly)),
            (Some("text/html"), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(header::ACCEPT, HeaderValue::from_static(header));
            }
            assert_eq!(accepts(&headers), accepted, "{header:?}");
        }
    }
}
