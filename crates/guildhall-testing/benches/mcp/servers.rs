//! The two servers that Guildhall is compared with: the bare SDK with the same tool, and bare HTTP with the same bytes.

use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use guildhall_core::query::Envelope;
use guildhall_core::{SystemClock, SystemIds};
use guildhall_local::{Board, BoardOptions};
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
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The bodies that Guildhall answered, for these two to answer the same.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answers {
    /// The board that the tool queries.
    pub(crate) board: PathBuf,
    pub(crate) list: String,
    pub(crate) call: String,
}

/// Guildhall's listing, held ready, and its query over the same board, behind the bare SDK: no authentication, no
/// validation, no bounds, no audit.
pub(crate) async fn serve_rmcp(answers: &Path) -> Result<()> {
    let answers = read(answers)?;
    let board = Board::open(
        BoardOptions::new(answers.board),
        Arc::new(SystemClock),
        Arc::new(SystemIds),
    )?;
    let handler = Minimal {
        list: Arc::new(result(&answers.list)?),
        board,
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
struct Minimal {
    list: Arc<ListToolsResult>,
    board: Board,
}

impl ServerHandler for Minimal {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("minimal", "1.0.0"))
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
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let fault =
            |error: &dyn std::fmt::Display| ErrorData::invalid_params(error.to_string(), None);
        let arguments = request.arguments.unwrap_or_default();
        let query = Envelope::parse(&arguments).map_err(|error| fault(&error))?;
        let board = self.board.snapshot().map_err(|error| fault(&error))?;
        let fields = ["id", "title", "state", "stateType", "labels"];
        let mut answer = query.answer(board.iter(), &fields);
        let skipped = board.skipped();
        let skipped = skipped
            .iter()
            .map(|file| json!({ "id": file.id, "error": file.error }));
        answer.insert("skipped".to_owned(), skipped.collect());
        Ok(CallToolResult::structured(Value::Object(answer)).into())
    }
}
