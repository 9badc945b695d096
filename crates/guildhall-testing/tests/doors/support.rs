//! Requests to a server in this process, and the tools it serves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use guildhall_testing::{Mounts, Setup, TestServer};
use guildhall_tools::{Catalog, ErrorKind, Pack, Scope, Tool, ToolError};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// What clients of the present revision send with each request.
pub(crate) const MODERN: &str = "2026-07-28";
/// The newest revision with `initialize`.
pub(crate) const LEGACY: &str = "2025-11-25";

/// A wait that only a fault makes long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The server of most tests: both packs, no sessions.
pub(crate) async fn server() -> TestServer {
    TestServer::start(Setup::of(mounts())).await
}

/// The same with sessions.
pub(crate) async fn server_with_sessions() -> TestServer {
    TestServer::start(Setup {
        sessions: true,
        ..Setup::of(mounts())
    })
    .await
}

pub(crate) fn mounts() -> Arc<Mounts> {
    Mounts::new(catalog())
}

pub(crate) fn catalog() -> Catalog {
    Catalog::mount([probe(&Watch::default()), shaped()]).unwrap()
}

/// One request in the making.
pub(crate) struct Call {
    address: SocketAddr,
    request: Request<Bytes>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Call {
    /// A request with the owner's token.
    pub(crate) fn new(server: &TestServer, method: &str, path: &str) -> Self {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = Method::from_bytes(method.as_bytes()).unwrap();
        *request.uri_mut() = path.parse().unwrap();
        let call = Self {
            address: server.address(),
            request,
        };
        call.with("host", &server.address().to_string())
            .with("authorization", &format!("Bearer {}", server.token()))
    }

    /// An MCP request as clients of 2026-07-28 send it.
    pub(crate) fn modern(server: &TestServer, method: &str, params: Value) -> Self {
        let mut params = params;
        params["_meta"] = meta(&params["_meta"]);
        let name = params["name"].as_str().map(str::to_owned);
        let call = Self::mcp(server, &message(method, &params))
            .with("mcp-protocol-version", MODERN)
            .with("mcp-method", method);
        match name {
            Some(name) => call.with("mcp-name", &name),
            None => call,
        }
    }

    /// An MCP request as clients of 2025-11-25 send it after `initialize`.
    pub(crate) fn legacy(server: &TestServer, method: &str, params: &Value) -> Self {
        Self::mcp(server, &message(method, params)).with("mcp-protocol-version", LEGACY)
    }

    /// An `initialize` of `version`.
    pub(crate) fn initialize(server: &TestServer, version: &str) -> Self {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        Self::mcp(server, &message("initialize", &params))
    }

    /// A call of the tool `name` by a client of 2026-07-28.
    pub(crate) fn tool(server: &TestServer, name: &str, arguments: &Value) -> Self {
        Self::modern(
            server,
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
    }

    /// Any message to the MCP door.
    pub(crate) fn mcp(server: &TestServer, message: &Value) -> Self {
        Self::new(server, "POST", "/mcp")
            .with("accept", "application/json, text/event-stream")
            .json(message)
    }

    /// Sets a header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.request.headers_mut().insert(
            name.parse::<HeaderName>().unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
        self
    }

    /// Adds a header beside one of the same name.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.request.headers_mut().append(
            name.parse::<HeaderName>().unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
        self
    }

    /// Leaves out a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().remove(name);
        self
    }

    /// Sends it to another path.
    pub(crate) fn at(mut self, path: &str) -> Self {
        *self.request.uri_mut() = path.parse().unwrap();
        self
    }

    /// Sets the token.
    pub(crate) fn token(self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    /// A JSON body.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.with("content-type", "application/json")
            .body(body.to_string())
    }

    /// Any body.
    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        *self.request.body_mut() = body.into();
        self
    }

    /// Sends it and leaves the answer's body on the wire.
    pub(crate) async fn open(self) -> http::Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let answer = sender.send_request(self.request.map(Full::new));
        tokio::time::timeout(PATIENCE, answer)
            .await
            .expect("an answer")
            .unwrap()
    }

    /// Sends it and reads the whole answer.
    pub(crate) async fn send(self) -> Reply {
        let (head, body) = self.open().await.into_parts();
        let body = tokio::time::timeout(PATIENCE, body.collect())
            .await
            .expect("the end of an answer")
            .unwrap();
        Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            body: String::from_utf8(body.to_bytes().to_vec()).unwrap(),
        }
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body as JSON, be it a JSON answer or the last message of an event stream.
    pub(crate) fn json(&self) -> Value {
        let events = self
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        let text = if events {
            messages(&self.body).pop().expect("a message").to_string()
        } else {
            self.body.clone()
        };
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The code of a JSON-RPC error.
    pub(crate) fn rpc_error(&self) -> i64 {
        self.json()["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no JSON-RPC error: {self:?}"))
    }

    /// The result of a tool call.
    pub(crate) fn result(&self) -> Value {
        let mut answer = self.json();
        assert!(answer["result"].is_object(), "no result: {self:?}");
        answer["result"].take()
    }

    /// The JSON in the text of a tool's result.
    pub(crate) fn payload(&self) -> Value {
        let result = self.result();
        let text = result["content"][0]["text"].as_str().expect("a text");
        serde_json::from_str(text).expect("JSON in the text")
    }
}

/// The messages of an event stream.
pub(crate) fn messages(stream: &str) -> Vec<Value> {
    stream
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(str::trim)
        .filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(data).expect("a message"))
        .collect()
}

/// Reads an open stream until a line contains `wanted`, and returns what came so far.
pub(crate) async fn read_until(body: &mut Incoming, wanted: &str) -> String {
    let mut read = String::new();
    while !read.contains(wanted) {
        let frame = tokio::time::timeout(PATIENCE, body.frame())
            .await
            .unwrap_or_else(|_| panic!("no `{wanted}` in: {read}"));
        let frame = frame
            .unwrap_or_else(|| panic!("the stream ended without `{wanted}`: {read}"))
            .unwrap();
        if let Some(data) = frame.data_ref() {
            read.push_str(std::str::from_utf8(data).unwrap());
        }
    }
    read
}

/// Sends bytes as they are and reads until the server closes.
pub(crate) async fn raw(server: &TestServer, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    // A server that closes with unread input resets the connection after it has answered.
    let _ = tokio::time::timeout(PATIENCE, read)
        .await
        .expect("the server closes");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A JSON-RPC request.
pub(crate) fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// What every request of 2026-07-28 says of itself, with what this one says besides.
pub(crate) fn meta(besides: &Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    for (key, value) in besides.as_object().into_iter().flatten() {
        meta[key] = value.clone();
    }
    meta
}

/// The failures that `probe_fail` can be told to give.
pub(crate) const KINDS: [(&str, ErrorKind); 9] = [
    ("bad_arguments", ErrorKind::BadArguments),
    ("forbidden", ErrorKind::Forbidden),
    ("not_found", ErrorKind::NotFound),
    ("conflict", ErrorKind::Conflict),
    ("too_large", ErrorKind::TooLarge),
    ("rate_limited", ErrorKind::RateLimited),
    ("internal", ErrorKind::Internal),
    ("upstream", ErrorKind::Upstream),
    ("unavailable", ErrorKind::Unavailable),
];

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Echo {
    /// Any text
    text: String,
    /// Any words
    tags: Option<Vec<String>>,
    /// Anything
    options: Option<Options>,
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Options {
    /// How loud
    volume: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Kind {
    /// Which failure
    kind: String,
}

#[derive(Deserialize, JsonSchema)]
struct Region {
    /// Where
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

#[derive(JsonSchema, Serialize)]
struct Said {
    /// What is said
    text: String,
}

#[derive(JsonSchema, Serialize)]
struct Rows {
    /// The rows
    rows: Vec<String>,
}

fn said(text: impl Into<String>) -> Said {
    Said { text: text.into() }
}

/// What tests see of calls that wait.
#[derive(Clone)]
pub(crate) struct Watch {
    /// One for each call that has begun to wait.
    pub(crate) begun: Arc<Semaphore>,
    /// One for each call that was let go before it was done.
    pub(crate) dropped: Arc<Semaphore>,
    /// One for each call that may end.
    pub(crate) go: Arc<Semaphore>,
    /// How often a call changed something.
    pub(crate) written: Arc<AtomicUsize>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            begun: Arc::new(Semaphore::new(0)),
            dropped: Arc::new(Semaphore::new(0)),
            go: Arc::new(Semaphore::new(0)),
            written: Arc::default(),
        }
    }
}

/// Waits for one more permit.
pub(crate) async fn one_of(semaphore: &Semaphore) {
    let permit = tokio::time::timeout(PATIENCE, semaphore.acquire());
    permit.await.expect("it happens").unwrap().forget();
}

/// Adds a permit once it is let go.
pub(crate) struct OnDrop(pub(crate) Arc<Semaphore>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// Tools that show what a door does with arguments, results, failures and time.
pub(crate) fn probe(watch: &Watch) -> Pack {
    let tool = |name, about| Tool::new(name, "A probe", about);
    let waits = watch.clone();
    let written = Arc::clone(&watch.written);
    let holds = watch.clone();
    Pack::new(
        "probe",
        vec![
            tool("probe_echo", "Says what it is told.")
                .read_only()
                .handler(|_, echo: Echo| async { Ok(echo) }),
            tool("probe_whoami", "Says who calls.").read_only().handler(
                |context, Nothing {}| async move { Ok(said(context.caller.principal.name())) },
            ),
            tool("probe_fail", "Fails as it is told to.")
                .read_only()
                .handler(|_, Kind { kind }| async move { Err::<Said, _>(failure(&kind)) }),
            tool("probe_panic", "Panics.")
                .read_only()
                .handler(|_, Nothing {}| async { boom() }),
            tool("probe_rows", "Returns many rows, whatever the budget.")
                .read_only()
                .bounded()
                .handler(|_, Nothing {}| async {
                    let rows = (0..1000).map(|row| format!("row {row:0>40}"));
                    Ok(Rows {
                        rows: rows.collect(),
                    })
                }),
            tool("probe_text", "Returns a long text.")
                .read_only()
                .bounded()
                .handler(|_, Nothing {}| async { Ok(said("x".repeat(50_000))) }),
            tool("probe_region", "Says where it is told to look.")
                .read_only()
                .handler(|_, Region { region }| async { Ok(said(region)) }),
            tool("probe_wait", "Reports progress and never ends.")
                .read_only()
                .handler(move |context, Nothing {}| {
                    let watch = waits.clone();
                    async move {
                        let _dropped = OnDrop(Arc::clone(&watch.dropped));
                        context.progress.report(1.0, Some(2.0), None).await;
                        watch.begun.add_permits(1);
                        std::future::pending::<()>().await;
                        Ok(said("never"))
                    }
                }),
            tool("probe_hold", "Ends when it is let go.")
                .read_only()
                .handler(move |_, Nothing {}| {
                    let watch = holds.clone();
                    async move {
                        watch.begun.add_permits(1);
                        one_of(&watch.go).await;
                        Ok(said("let go"))
                    }
                }),
            tool("probe_write", "Changes something.").handler(move |_, Nothing {}| {
                written.fetch_add(1, Ordering::SeqCst);
                async { Ok(said("written")) }
            }),
            tool("probe_person", "For people alone.")
                .scope(Scope::Person)
                .handler(|_, Nothing {}| async { Ok(said("a person")) }),
            tool("probe_local", "For the agent's machine alone.")
                .local_only()
                .handler(|_, Nothing {}| async { Ok(said("here")) }),
        ],
    )
}

fn failure(kind: &str) -> ToolError {
    let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        return ToolError::bad_arguments(format!("There is no kind `{kind}`"));
    };
    let mut error = match kind {
        ErrorKind::Internal => ToolError::internal("the secret cause"),
        kind => ToolError::new(*kind, "It said no").hint("Ask again."),
    };
    if *kind == ErrorKind::RateLimited {
        error.retry_after = Some(Duration::from_secs(7));
    }
    if *kind == ErrorKind::Upstream {
        error = error.with_result(json!({ "errors": ["from the service"] }));
    }
    error
}

#[expect(clippy::panic_in_result_fn, reason = "a panic is what is tested")]
fn boom() -> Result<Said, ToolError> {
    panic!("the secret cause")
}

/// A pack whose failures have a shape of their own.
fn shaped() -> Pack {
    let tool = Tool::new("shaped_fail", "A probe", "Fails in its pack's own shape.")
        .handler(|_, Echo { .. }| async { Err::<Said, _>(ToolError::conflict("Taken")) });
    Pack::new("shaped", vec![tool])
        .failure(|error| json!({ "status": "error", "error": error.message }))
}
