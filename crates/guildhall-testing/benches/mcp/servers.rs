//! The two servers that Guildhall is compared with.

use std::convert::Infallible;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
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

/// The bodies that Guildhall answered, for these two to answer the same.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answers {
    pub(crate) list: String,
    pub(crate) call: String,
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
