//! What stands before every route: `Host`, `Origin`, CORS, the token.
//!
//! It is one layer around the whole router, unknown paths included, so that no route can be added beside it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::FutureExt as _;
use guildhall_tools::{Caller, ErrorKind, ToolError};
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use crate::routes::Route;
use crate::serve::Peer;
use crate::state::{App, Busy};
use crate::{Access, git, reply, routes};

/// How long a client may take to send a request's body: that of the largest one over a slow line.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Deepest nesting of a JSON body. `serde_json` itself stops at 128; ours stops before anything is built.
const MAX_DEPTH: usize = 100;

/// Which `Host` and `Origin` headers belong to this server. Everything else is a web page that tries to reach it
/// through somebody's browser (DNS rebinding, cross-site requests).
#[derive(Clone, Debug)]
pub struct Hosts {
    names: Vec<String>,
    origins: Vec<String>,
    port: u16,
}

impl Hosts {
    /// Loopback names, the bound `host`, and what the settings add: `server.allowed_hosts` (a name, or name and port)
    /// and `server.allowed_origins` (`https://app.example.com`, or with `:*` for any port).
    pub fn new(
        host: &str,
        port: u16,
        allowed_hosts: impl IntoIterator<Item = String>,
        allowed_origins: impl IntoIterator<Item = String>,
    ) -> Self {
        let own = ["localhost", "127.0.0.1", "[::1]", host]
            .map(|name| bracketed(&name.to_ascii_lowercase()));
        let names = own.into_iter().chain(
            allowed_hosts
                .into_iter()
                .map(|name| bracketed(&name.to_ascii_lowercase())),
        );
        let origins = allowed_origins
            .into_iter()
            .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        Self {
            names: names.collect(),
            origins: origins.collect(),
            port,
        }
    }

    /// Whether a request for `authority` (`name` or `name:port`) is for this server.
    fn serves(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        let (name, _) = split_port(&authority);
        self.names
            .iter()
            .any(|host| *host == authority || *host == name)
    }

    /// Whether a page of `origin` may call: one the settings name, or one that this server itself serves.
    fn trusts(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let any_port = |allowed: &str| {
            let Some(prefix) = allowed.strip_suffix(":*") else {
                return false;
            };
            origin.strip_prefix(prefix).is_some_and(|rest| {
                rest.is_empty() || rest.strip_prefix(':').and_then(port).is_some()
            })
        };
        if self
            .origins
            .iter()
            .any(|allowed| *allowed == origin || any_port(allowed))
        {
            return true;
        }
        origin.strip_prefix("http://").is_some_and(|authority| {
            let (name, port) = split_port(authority);
            port.unwrap_or(80) == self.port && self.names.iter().any(|host| host == name)
        })
    }
}

fn bracketed(host: &str) -> String {
    if host.parse::<std::net::Ipv6Addr>().is_ok() {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

/// The name and the port of `name:port`. What is not a port is part of the name, and so of another name.
fn split_port(authority: &str) -> (&str, Option<u16>) {
    let split = authority.rsplit_once(':');
    split
        .and_then(|(name, digits)| Some((name, Some(port(digits)?))))
        .unwrap_or((authority, None))
}

/// A port in digits and nothing else: `parse` alone would take a sign.
fn port(digits: &str) -> Option<u16> {
    let plain = digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// The layer itself.
pub(crate) async fn gate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    // In debug builds, and so in every test, what goes out is held against what its route says of itself.
    let route = routes::of(&request);
    let response = passed(&app, route, request, next).await;
    if let Some(route) = route
        && cfg!(debug_assertions)
    {
        routes::assert_described(route, &response);
    }
    response
}

async fn passed(
    app: &Arc<App>,
    route: Option<&Route>,
    mut request: Request,
    next: Next,
) -> Response {
    let busy = app.activity.enter(&app.parts.clock);
    let hosts = &app.parts.hosts;
    if let Err(error) = check_host(hosts, request.uri(), request.headers()) {
        return reply::error(&error);
    }
    let origin = match check_origin(hosts, request.headers()) {
        Ok(origin) => origin,
        Err(error) => return reply::error(&error),
    };
    let mut response = if request.method() == Method::OPTIONS && is_preflight(request.headers()) {
        preflight(request.headers())
    } else {
        let access = routes::access(route, request.uri().path());
        match admit(app, access, &mut request).await {
            Ok(()) => within_limits(app, route, access, request, next).await,
            Err(error) if access == Access::Git => reply::basic_challenge(&error),
            Err(error) => reply::error(&error),
        }
    };
    if let Some(origin) = origin {
        allow_origin(response.headers_mut(), origin);
    }
    hold_while_streaming(response, busy)
}

/// Lets the request through as far as the limits of its token go.
async fn within_limits(
    app: &App,
    route: Option<&Route>,
    access: Access,
    request: Request,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Caller>();
    let held = match (caller, route) {
        (Some(caller), Some(route)) => route.reach.hold(app, caller),
        // Nobody's, or no route: there is nothing to reach.
        (None, _) | (_, None) => Ok(()),
    };
    match held {
        Ok(()) => next.run(request).await,
        Err(error) if access == Access::Git => git::refusal(&error),
        Err(error) => reply::error(&error),
    }
}

fn check_host(hosts: &Hosts, uri: &Uri, headers: &HeaderMap) -> Result<(), ToolError> {
    let mut named = headers.get_all(header::HOST).iter();
    let given = match (named.next(), named.next()) {
        (Some(host), None) => host.to_str().ok(),
        (None, _) => uri.authority().map(http::uri::Authority::as_str),
        (Some(_), Some(_)) => None,
    };
    match given {
        Some(host) if hosts.serves(host) => Ok(()),
        Some(host) => Err(ToolError::forbidden(format!(
            "Host `{}` is not served here",
            printable(host)
        ))
        .hint("Name it in the settings under `server.allowed_hosts` if it is this server's.")),
        None => Err(ToolError::bad_arguments(
            "The request must have exactly one `Host` header",
        )),
    }
}

/// The request's origin, if it has one and it is trusted.
fn check_origin(hosts: &Hosts, headers: &HeaderMap) -> Result<Option<HeaderValue>, ToolError> {
    let mut named = headers.get_all(header::ORIGIN).iter();
    let Some(value) = named.next() else {
        return Ok(None);
    };
    // A browser sends one. Which of several a proxy in between went by cannot be told.
    if named.next().is_some() {
        return Err(ToolError::bad_arguments(
            "The request must have at most one `Origin` header",
        ));
    }
    match value.to_str() {
        Ok(origin) if hosts.trusts(origin) => Ok(Some(value.clone())),
        _ => Err(ToolError::forbidden(format!(
            "Origin `{}` may not call this server",
            printable(&String::from_utf8_lossy(value.as_bytes()))
        ))
        .hint("Name it in the settings under `server.allowed_origins` if its pages are yours.")),
    }
}

pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .take(100)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

async fn admit(app: &App, access: Access, request: &mut Request) -> Result<(), ToolError> {
    if access == Access::Open {
        return Ok(());
    }
    let unauthenticated = |message: &str| ToolError::new(ErrorKind::Unauthenticated, message);
    let Some(header) = request.headers().get(header::AUTHORIZATION) else {
        if routes::may_be_for_anybody(request.method(), request.uri().path()) {
            let peer = request.extensions().get::<Peer>().copied();
            app.public_calls.admit(peer, app.parts.clock.now())?;
            request.extensions_mut().insert(Caller::anybody());
            return Ok(());
        }
        return Err(missing_token());
    };
    let password = match access {
        Access::Git => basic(header),
        Access::Open | Access::Token => None,
    };
    let token = password
        .as_deref()
        .or_else(|| bearer(header))
        .ok_or_else(|| {
            unauthenticated("The `Authorization` header is not of the form `Bearer <token>`")
        })?;
    let caller = app
        .parts
        .authenticator
        .authenticate(token)
        .await?
        .ok_or_else(|| {
            unauthenticated(
                "The token is not valid: it is mistyped, expired, revoked or of another server",
            )
        })?;
    request.extensions_mut().insert(caller);
    Ok(())
}

/// What whoever has no token is told.
pub(crate) fn missing_token() -> ToolError {
    let message = "Missing token: send `Authorization: Bearer <token>`";
    ToolError::new(ErrorKind::Unauthenticated, message)
        .hint("`guildhall connect <client>` sets a client up with a token of its own.")
}

/// The token of `Bearer <token>`; the scheme is compared without case (RFC 9110, section 11.1).
fn bearer(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The password of HTTP Basic; the user's name says nothing (RFC 7617).
fn basic(header: &HeaderValue) -> Option<String> {
    let (scheme, encoded) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64.decode(encoded.trim()).ok()?;
    let (_, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    (!password.is_empty()).then(|| password.to_owned())
}

fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a CORS preflight: what browser-based MCP clients send and read. Arguments that clients repeat in
/// headers (`Mcp-Param-*`) have names of their own, so those that are asked for are granted.
fn preflight(request: &HeaderMap) -> Response {
    const ALLOWED: &str = "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(ALLOWED),
    );
    let asked = request
        .get_all(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .iter()
        .filter_map(|names| names.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse::<HeaderName>().ok());
    for name in asked.filter(|name| name.as_str().starts_with("mcp-param-")) {
        headers.append(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from(name),
        );
    }
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("600"),
    );
    response
}

fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    headers.append(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from(SESSION),
    );
    headers.append(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("www-authenticate"),
    );
}

/// An event stream or a pack counts as use for as long as it is open; other answers are done when they are given.
fn hold_while_streaming(response: Response, busy: Busy) -> Response {
    let streams = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream") || kind == git::PACK);
    if !streams {
        return response;
    }
    response.map(|body| {
        Body::new(http_body_util::BodyExt::map_frame(body, move |frame| {
            let _held = &busy;
            frame
        }))
    })
}

/// The whole body, if it is within the size and depth that are served.
///
/// # Errors
///
/// 413 over the size; 400 for JSON nested deeper than 100, and for a body that ends early or does not end in 30 s.
pub(crate) async fn read_body(app: &App, body: Body) -> Result<Bytes, ToolError> {
    read_within(app.parts.max_request_bytes, body).await
}

/// The whole body of at most `limit` bytes, whatever it holds.
///
/// # Errors
///
/// 413 over the size; 400 for a body that ends early or does not end in 30 s.
pub(crate) async fn read_bytes(limit: usize, body: Body) -> Result<Bytes, ToolError> {
    let mut read = pin!(axum::body::to_bytes(body, limit));
    // Most bodies are here with their heads, and need no clock.
    let read = match read.as_mut().now_or_never() {
        Some(read) => Ok(read),
        None => tokio::time::timeout(BODY_TIMEOUT, read).await,
    };
    let Ok(read) = read else {
        return Err(ToolError::bad_arguments(format!(
            "The request body did not arrive within {} seconds",
            BODY_TIMEOUT.as_secs()
        )));
    };
    let bytes = read.map_err(|error| {
        let too_large = is_length_limit(&error);
        if too_large {
            ToolError::new(
                ErrorKind::TooLarge,
                format!("The request body is over the limit of {limit} bytes"),
            )
        } else {
            ToolError::bad_arguments("The request body ended early")
        }
    })?;
    Ok(bytes)
}

async fn read_within(limit: usize, body: Body) -> Result<Bytes, ToolError> {
    let bytes = read_bytes(limit, body).await?;
    if depth_exceeds(&bytes, MAX_DEPTH) {
        return Err(ToolError::bad_arguments(format!(
            "The request body is nested deeper than {MAX_DEPTH} levels"
        )));
    }
    Ok(bytes)
}

fn is_length_limit(error: &axum::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether `json` nests deeper than `max`, told without parsing it. Brackets in strings do not count.
fn depth_exceeds(json: &[u8], max: usize) -> bool {
    let mut depth = 0usize;
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::new(
            "127.0.0.1",
            4040,
            [
                "guild.example.com".to_owned(),
                "proxy.example.com:8443".to_owned(),
            ],
            [
                "https://app.example.com".to_owned(),
                "http://localhost:*".to_owned(),
            ],
        )
    }

    #[test]
    fn only_this_servers_hosts_are_served() {
        for (host, served) in [
            ("localhost:4040", true),
            ("LOCALHOST", true),
            ("127.0.0.1:4040", true),
            ("127.0.0.1:9", true),
            ("[::1]:4040", true),
            ("guild.example.com", true),
            ("guild.example.com:443", true),
            ("proxy.example.com:8443", true),
            ("proxy.example.com", false),
            ("evil.example.com", false),
            ("localhost.evil.example.com", false),
            ("127.0.0.1.evil.example.com:4040", false),
            ("localhost:4040.evil.example.com", false),
            ("localhost:4040@evil.example.com", false),
            ("localhost:", false),
            ("localhost:+4040", false),
            ("localhost:99999", false),
            ("localhost:004040", false),
            ("localhost:80:80", false),
            ("[::1]", true),
            ("[::1]:x", false),
            ("", false),
        ] {
            assert_eq!(hosts().serves(host), served, "{host}");
        }
    }

    #[test]
    fn only_own_and_named_origins_are_trusted() {
        for (origin, trusted) in [
            ("http://localhost:4040", true),
            ("http://127.0.0.1:4040", true),
            ("http://localhost:6274", true),
            ("https://app.example.com", true),
            ("https://app.example.com:444", false),
            ("http://app.example.com", false),
            ("http://127.0.0.1:5000", false),
            ("http://localhost:x", false),
            ("http://localhost:+4040", false),
            ("http://127.0.0.1:+4040", false),
            ("http://localhost:4040@evil.example.com", false),
            ("http://localhost:4040.evil.example.com", false),
            ("http://localhost.evil.example.com", false),
            ("https://evil.example.com", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(hosts().trusts(origin), trusted, "{origin}");
        }
    }

    #[test]
    fn of_several_origins_none_is_trusted() {
        let (good, evil) = ("http://localhost:4040", "https://evil.example.com");
        let with = |origins: &[&'static str]| {
            let named = |origin: &&'static str| (header::ORIGIN, HeaderValue::from_static(origin));
            let mut headers = HeaderMap::new();
            for (name, value) in origins.iter().map(named) {
                headers.append(name, value);
            }
            check_origin(&hosts(), &headers)
        };
        assert_eq!(with(&[]).unwrap(), None);
        assert_eq!(with(&[good]).unwrap().unwrap(), good);
        assert_eq!(with(&[evil]).unwrap_err().kind, ErrorKind::Forbidden);
        for several in [[good, evil], [evil, good], [good, good]] {
            let refused = with(&several).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::BadArguments, "{several:?}");
        }
    }

    #[test]
    fn the_scheme_is_compared_without_case() {
        for (header, token) in [
            ("Bearer x", Some("x")),
            ("bearer x", Some("x")),
            ("BEARER   x ", Some("x")),
            ("Basic x", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("x", None),
        ] {
            assert_eq!(bearer(&HeaderValue::from_static(header)), token, "{header}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let first = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
        let endless = futures::StreamExt::chain(first, futures::stream::pending());
        let refused = read_within(1000, Body::from_stream(endless)).await;
        assert_eq!(
            refused.unwrap_err().message,
            "The request body did not arrive within 30 seconds"
        );
    }

    #[test]
    fn depth_is_told_without_parsing() {
        let nested = |depth| ["[".repeat(depth), "]".repeat(depth)].concat();
        assert!(!depth_exceeds(nested(100).as_bytes(), 100));
        assert!(depth_exceeds(nested(101).as_bytes(), 100));
        assert!(depth_exceeds("[".repeat(100_000).as_bytes(), 100));
        assert!(!depth_exceeds(
            format!("\"{}\\\"{}\"", "[".repeat(500), "{".repeat(500)).as_bytes(),
            100
        ));
        assert!(!depth_exceeds(b"[],[],[]".repeat(500).as_slice(), 3));
        assert!(!depth_exceeds(b"\"\\", 3));
    }
}
