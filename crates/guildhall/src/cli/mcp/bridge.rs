//! Carries messages between the client and the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use base64::Engine as _;
use futures::StreamExt as _;
use guildhall_core::principal::agent_name_from;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::{Args, INVALID_REQUEST};
use crate::client::{Server, has_token_file};
use crate::output::CommandError;

const INTERNAL_ERROR: i32 = -32603;
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// What every call shares.
struct Shared {
    args: Args,
    answers: mpsc::Sender<String>,
    server: tokio::sync::Mutex<Option<Server>>,
    /// The agent, from `--agent` or the client's first message.
    agent: OnceCell<String>,
    session: Mutex<Session>,
}

/// What an older client agreed on with `initialize`; a newer one says all of it in every message.
#[derive(Clone, Default)]
struct Session {
    version: Option<String>,
    id: Option<String>,
    initialize: Option<Value>,
}

/// Takes messages from the client and runs each in a task of its own.
pub(super) struct Bridge {
    shared: Arc<Shared>,
    calls: JoinSet<()>,
    running: HashMap<String, AbortHandle>,
}

impl Bridge {
    pub(super) fn new(args: Args, answers: mpsc::Sender<String>) -> Self {
        let agent = OnceCell::new_with(args.agent.clone());
        let shared = Shared {
            args,
            answers,
            server: tokio::sync::Mutex::default(),
            agent,
            session: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            calls: JoinSet::new(),
            running: HashMap::new(),
        }
    }

    /// Answers something that is no message.
    pub(super) async fn refuse(&self, code: i32, message: &str) {
        self.shared.answer_error(&Value::Null, code, message).await;
    }

    /// Takes one message. An `initialize` is carried through before the next message is taken: what follows needs its
    /// outcome.
    pub(super) async fn take(&mut self, message: Value) {
        while self.calls.try_join_next().is_some() {}
        self.running.retain(|_, call| !call.is_finished());
        if !message.is_object() {
            let what = if message.is_array() {
                "batches are not part of this protocol"
            } else {
                "expected an object"
            };
            return self
                .refuse(INVALID_REQUEST, &format!("Invalid Request: {what}"))
                .await;
        }
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        if method == "notifications/cancelled" {
            // Dropping the request is how the server hears of it.
            if let Some(call) = self
                .running
                .remove(&message["params"]["requestId"].to_string())
            {
                call.abort();
            }
            return;
        }
        let shared = Arc::clone(&self.shared);
        if method == "initialize" {
            return shared.carry(message).await;
        }
        let id = message.get("id").map(Value::to_string);
        let call = self.calls.spawn(async move { shared.carry(message).await });
        if let Some(id) = id {
            self.running.insert(id, call);
        }
    }

    /// Waits for the calls that still run; then nothing is left that could answer.
    pub(super) async fn finish(mut self) {
        while self.calls.join_next().await.is_some() {}
    }
}

impl Shared {
    async fn answer(&self, text: String) {
        // Without a client to read it there is nobody to tell.
        let _ = self.answers.send(text).await;
    }

    async fn answer_error(&self, id: &Value, code: i32, message: &str) {
        let error =
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
        self.answer(error.to_string()).await;
    }

    /// Takes `message` to the server and everything that comes of it to the client.
    async fn carry(&self, message: Value) {
        if let Err(error) = self.exchange(&message).await {
            let text = format!("{:#}", error.error);
            eprintln_line(&text);
            // A notification has no answer, not even this one.
            if let Some(id) = message.get("id") {
                self.answer_error(id, INTERNAL_ERROR, &text).await;
            }
        }
    }

    async fn exchange(&self, message: &Value) -> Result<(), CommandError> {
        let response = match self.send(message, false).await {
            // It was not reached, so nothing has been done: it may have moved, or ended.
            Err(error) if was_not_reached(&error) => self.send(message, true).await?,
            response => response?,
        };
        let response = if response.status() == 404 && self.has_session() {
            self.initialize_again().await?;
            self.send(message, false).await?
        } else {
            response
        };
        let expects_answer = message.get("id").is_some() && message.get("method").is_some();
        if message["method"] == "initialize" {
            let id = response
                .headers()
                .get("mcp-session-id")
                .and_then(|id| id.to_str().ok())
                .map(str::to_owned);
            let text = self.relay(response, expects_answer).await?;
            self.remember(message, id, text.as_deref());
            return Ok(());
        }
        self.relay(response, expects_answer).await?;
        Ok(())
    }

    async fn send(
        &self,
        message: &Value,
        find_anew: bool,
    ) -> Result<reqwest::Response, CommandError> {
        let server = self.server(message, find_anew).await?;
        let mut request = server
            .request(http::Method::POST, &self.path())
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::ACCEPT, "application/json, text/event-stream");
        for (name, value) in self.headers(message) {
            request = request.header(name, value);
        }
        Ok(request.body(message.to_string()).send().await?)
    }

    /// The door, with what the arguments choose of it.
    fn path(&self) -> String {
        let mut path = "/mcp".to_owned();
        if let Some(packs) = &self.args.packs {
            path = format!("{path}/{packs}");
        }
        let access = self.args.read_only.then(|| "access=read".to_owned());
        // A repository's name reads the same in a URL.
        let repo = self.args.repo.as_ref().map(|repo| format!("repo={repo}"));
        let query: Vec<String> = access.into_iter().chain(repo).collect();
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        path
    }

    /// The headers that MCP asks for beside the body: of a 2026-07-28 message its own, else what was agreed on.
    fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        if let Some(version) = message["params"]["_meta"][VERSION_KEY].as_str() {
            let mut headers = vec![("mcp-protocol-version", version.to_owned())];
            let method = message["method"].as_str().unwrap_or_default();
            headers.push(("mcp-method", header_value(method)));
            let name = match method {
                "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
                "resources/read" => message["params"]["uri"].as_str(),
                _ => None,
            };
            headers.extend(name.map(|name| ("mcp-name", header_value(name))));
            return headers;
        }
        if message["method"] == "initialize" {
            return Vec::new();
        }
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let version = session
            .version
            .clone()
            .map(|version| ("mcp-protocol-version", version));
        version
            .into_iter()
            .chain(session.id.clone().map(|id| ("mcp-session-id", id)))
            .collect()
    }

    /// The server as our agent: found, or started, when it is first needed.
    async fn server(&self, message: &Value, find_anew: bool) -> Result<Server, CommandError> {
        let mut known = self.server.lock().await;
        if let Some(server) = known.as_ref().filter(|_| !find_anew) {
            return Ok(server.clone());
        }
        let agent = self
            .agent
            .get_or_init(|| async { client_name(message).unwrap_or_else(|| "agent".to_owned()) })
            .await;
        let server = match Server::from_environment()? {
            Some(server) => server,
            // A token of its own, such as a role's in a team session.
            None if has_token_file() => Server::find(&self.args.target).await?,
            None => {
                let owner = Server::find(&self.args.target).await?;
                owner.as_holder_of(&owner.agent_token_file(agent).await?)?
            }
        };
        *known = Some(server.clone());
        Ok(server)
    }

    /// Takes everything of `response` to the client, and gives the last message back. What is not an answer in JSON
    /// becomes an error answer of ours where one is expected.
    async fn relay(
        &self,
        response: reqwest::Response,
        expects_answer: bool,
    ) -> Result<Option<String>, CommandError> {
        let status = response.status();
        let kind = response
            .headers()
            .get(http::header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return self.relay_events(response).await;
        }
        let text = response
            .text()
            .await
            .context("The server's answer ended early")?;
        if !expects_answer {
            return Ok(None);
        }
        let parsed: Value = serde_json::from_str(&text).with_context(|| {
            format!("The server answered {status} and no JSON: is it Guildhall?")
        })?;
        if parsed.get("jsonrpc").is_some() {
            self.answer(text.clone()).await;
            return Ok(Some(text));
        }
        // A refusal by the gate: no message of the protocol, but words that help.
        let reason = parsed["error"]
            .as_str()
            .unwrap_or("The server refused and did not say why");
        Err(CommandError::refused(format!(
            "The server answered {status}: {reason}"
        )))
    }

    async fn relay_events(
        &self,
        response: reqwest::Response,
    ) -> Result<Option<String>, CommandError> {
        let mut chunks = response.bytes_stream();
        let mut events = Events::default();
        let mut last = None;
        while let Some(chunk) = chunks.next().await {
            for data in events.push(&chunk.context("The server's event stream broke off")?) {
                self.answer(data.clone()).await;
                last = Some(data);
            }
        }
        Ok(last)
    }

    fn has_session(&self) -> bool {
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .id
            .is_some()
    }

    fn remember(&self, initialize: &Value, id: Option<String>, answer: Option<&str>) {
        let answer: Option<Value> = answer.and_then(|text| serde_json::from_str(text).ok());
        let Some(version) = answer.and_then(|answer| {
            answer["result"]["protocolVersion"]
                .as_str()
                .map(str::to_owned)
        }) else {
            return;
        };
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        *session = Session {
            version: Some(version),
            id,
            initialize: Some(initialize.clone()),
        };
    }

    /// A server that does not know our session has been restarted: the client need not know of that.
    async fn initialize_again(&self) -> Result<(), CommandError> {
        let initialize = {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            session.id = None;
            session
                .initialize
                .clone()
                .context("The session was never initialized")?
        };
        let response = self.send(&initialize, false).await?;
        let id = response
            .headers()
            .get("mcp-session-id")
            .and_then(|id| id.to_str().ok())
            .map(str::to_owned);
        response
            .bytes()
            .await
            .context("The server's answer ended early")?;
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .id = id;
        self.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            false,
        )
        .await?;
        Ok(())
    }
}

/// The name the client gives itself, as an agent's name.
fn client_name(message: &Value) -> Option<String> {
    let params = &message["params"];
    let name = params["clientInfo"]["name"]
        .as_str()
        .or_else(|| params["_meta"][CLIENT_KEY]["name"].as_str())?;
    agent_name_from(name)
}

fn was_not_reached(error: &CommandError) -> bool {
    error
        .error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<reqwest::Error>())
        .any(reqwest::Error::is_connect)
}

/// A header's value; what cannot stand in one is wrapped (MCP 2026-07-28, "Standard headers").
fn header_value(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) && !text.starts_with("=?");
    if plain {
        text.to_owned()
    } else {
        format!(
            "=?base64?{}?=",
            base64::engine::general_purpose::STANDARD.encode(text)
        )
    }
}

#[expect(
    clippy::print_stderr,
    reason = "standard error is where a child process's log belongs"
)]
fn eprintln_line(text: &str) {
    eprintln!("guildhall mcp: {}", crate::output::printable(text));
}

/// Takes events out of a stream that arrives in pieces (WHATWG HTML, "Server-sent events"). A message over several lines
/// comes out as one: between the tokens of JSON, where alone a line can end, a space means the same.
#[derive(Default)]
struct Events {
    pending: Vec<u8>,
    data: Vec<String>,
}

impl Events {
    /// The data of every event that `chunk` completes; comments and other fields are for nobody here.
    fn push(&mut self, chunk: &[u8]) -> Vec<String> {
        self.pending.extend_from_slice(chunk);
        let mut complete = Vec::new();
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                let data = std::mem::take(&mut self.data).join(" ");
                if !data.is_empty() {
                    complete.push(data);
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                self.data
                    .push(data.strip_prefix(' ').unwrap_or(data).to_owned());
            }
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_whatever_pieces() {
        let stream = b": hi\n\nevent: message\ndata: {\"a\":1}\n\ndata:\n\nid: 3\r\ndata: {\"b\":\r\ndata: 2}\r\n\r\n";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let data: Vec<String> = stream
                .chunks(size)
                .flat_map(|chunk| events.push(chunk))
                .collect();
            assert_eq!(data, ["{\"a\":1}", "{\"b\": 2}"], "pieces of {size}");
        }
    }

    #[test]
    fn names_that_no_header_takes_are_wrapped() {
        for (text, value) in [
            ("local_query", "local_query"),
            ("näme", "=?base64?bsOkbWU=?="),
            ("a b", "=?base64?YSBi?="),
            ("=?x", "=?base64?PT94?="),
        ] {
            assert_eq!(header_value(text), value);
        }
    }

    #[test]
    fn the_agent_is_named_after_the_client_of_either_era() {
        let old = json!({ "method": "initialize", "params": { "clientInfo": { "name": "Claude Code" } } });
        assert_eq!(client_name(&old).as_deref(), Some("claude-code"));
        let new = json!({ "params": { "_meta": { CLIENT_KEY: { "name": "codex" } } } });
        assert_eq!(client_name(&new).as_deref(), Some("codex"));
        assert_eq!(client_name(&json!({ "method": "tools/list" })), None);
    }
}
