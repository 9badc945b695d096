//! The three servers that are compared, each a process of its own.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use http::HeaderMap;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::TcpListener;

/// The bodies that Guildhall answered, for the other two to answer the same.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answers {
    pub(crate) list: String,
    pub(crate) call: String,
}

/// A server under measurement; stopped when dropped.
pub(crate) struct Running {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    process: Child,
}

impl Running {
    /// The released program with a board of ten issues in `scratch`.
    pub(crate) fn guildhall(program: &Path, scratch: &Path) -> Result<Self> {
        let workspace = scratch.join("workspace");
        let data = scratch.join("data");
        std::fs::create_dir_all(&workspace)?;
        let mut command = Command::new(program);
        command
            .arg("up")
            .arg(&workspace)
            .args(["--demo", "--port", "0", "--data-dir"])
            .arg(&data)
            .current_dir(&workspace);
        let mut running = Self::start("guildhall", &mut command)?;
        let token = std::fs::read_to_string(data.join("owner.token"))
            .context("The server made no owner's token")?;
        token.trim().clone_into(&mut running.token);
        Ok(running)
    }

    /// This very program as one of the other two servers.
    pub(crate) fn ourselves(name: &'static str, task: &str, answers: &Path) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(task).arg(answers);
        Self::start(name, &mut command)
    }

    /// Starts a server and waits until it has printed the URL at which it listens.
    fn start(name: &'static str, command: &mut Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("Could not start {name}"))?;
        let stdout = process.stdout.take().expect("standard output is piped");
        let mut lines = BufReader::new(stdout).lines();
        let address = loop {
            let Some(line) = lines.next().transpose()? else {
                process.wait()?;
                bail!("{name} ended before it said where it listens");
            };
            if let Some(address) = address_in(&line) {
                break address;
            }
        };
        // Whatever else it prints is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            name,
            address,
            token: "none".to_owned(),
            process,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The address in the first `http://` URL of a line.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest
        .find(|char: char| !(char.is_ascii_alphanumeric() || ".:[]".contains(char)))
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Guildhall's tools and results behind the bare SDK.
pub(crate) async fn serve_rmcp(answers: &Path) -> Result<()> {
    let answers = read(answers)?;
    let handler = Held {
        list: Arc::new(result(&answers.list)?),
        call: Arc::new(result(&answers.call)?),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    serve(Router::new().nest_service("/mcp", service)).await
}

/// Guildhall's bytes behind a bare handler.
pub(crate) async fn serve_axum(answers: &Path) -> Result<()> {
    let answers = read(answers)?;
    let list = Bytes::from(answers.list);
    let call = Bytes::from(answers.call);
    let handler = move |headers: HeaderMap, _body: Bytes| async move {
        let is_call = headers
            .get("mcp-method")
            .is_some_and(|method| method == "tools/call");
        Ok::<_, Infallible>((
            [("content-type", "application/json")],
            if is_call { call } else { list },
        ))
    };
    serve(Router::new().route("/mcp", post(handler))).await
}

async fn serve(app: Router) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "Listening on http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    let listener = listener.tap_io(|stream| {
        stream.set_nodelay(true).ok();
    });
    axum::serve(listener, app).await?;
    Ok(())
}

fn read(answers: &Path) -> Result<Answers> {
    Ok(serde_json::from_slice(&std::fs::read(answers)?)?)
}

/// The `result` of a JSON-RPC answer, as the SDK's own type.
fn result<T: serde::de::DeserializeOwned>(answer: &str) -> Result<T> {
    let mut answer: Value = serde_json::from_str(answer)?;
    Ok(serde_json::from_value(answer["result"].take())?)
}

#[derive(Clone)]
struct Held {
    list: Arc<ListToolsResult>,
    call: Arc<CallToolResult>,
}

impl ServerHandler for Held {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("held", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok((*self.list).clone())
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok((*self.call).clone().into())
    }
}
