//! MCP over Streamable HTTP, both eras on one URL (MCP 2024-11-05 to 2026-07-28).
//!
//! [`envelope`] takes in what clients really send and puts refusals into JSON-RPC; [`handler`] answers the methods; rmcp
//! between them speaks the protocol. Where they are on, [`sessions`] says whose a session is.

mod envelope;
mod handler;
mod sessions;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures::future::BoxFuture;
use guildhall_core::RepoName;
use guildhall_tools::{Caller, RepoAccess, Selection, ToolError, WantedRepo};
use http_body_util::Full;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

pub use handler::McpHandler;

use self::sessions::Sessions;
use crate::api::{InPath, Refusal};
use crate::gate;
use crate::state::App;

/// Takes one HTTP request through rmcp. A trait object, so that routes do not depend on the handler's type.
pub trait Endpoint: Send + Sync {
    /// Answers `request`.
    fn handle(&self, request: http::Request<Full<Bytes>>) -> BoxFuture<'_, Response>;
}

/// The door without sessions.
struct Stateless<H>(StreamableHttpService<H, NeverSessionManager>);

impl<H: ServerHandler> Endpoint for Stateless<H> {
    fn handle(&self, request: http::Request<Full<Bytes>>) -> BoxFuture<'_, Response> {
        Box::pin(async move { self.0.handle(request).await.map(Body::new) })
    }
}

/// The MCP door of `app`, with its own tools.
pub fn endpoint(app: &Arc<App>) -> Arc<dyn Endpoint> {
    endpoint_with(app, |handler| handler)
}

/// The MCP door of `app` with its handler wrapped: a place for handlers that answer more methods than tools need.
pub fn endpoint_with<H, W>(app: &Arc<App>, wrap: W) -> Arc<dyn Endpoint>
where
    H: ServerHandler,
    W: Fn(McpHandler) -> H + Send + Sync + 'static,
{
    // `Host` and `Origin` are checked by the gate, on every route and with our settings. rmcp is not told of a shutdown:
    // it would break off running calls, which may finish; what has no end of its own ends itself.
    let mut config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(app.parts.mcp_sessions)
        .with_json_response(true)
        .with_max_request_body_bytes(usize::MAX);
    // Which streams begin with a priming event is told in [`sessions`].
    config.sse_retry = None;
    let handler = McpHandler::new(Arc::clone(app));
    let handler: Arc<dyn Fn() -> H + Send + Sync> = Arc::new(move || wrap(handler.clone()));
    if app.parts.mcp_sessions {
        return Arc::new(Sessions::new(&handler, &config, app));
    }
    let manager = Arc::new(NeverSessionManager::default());
    Arc::new(Stateless(StreamableHttpService::new(
        move || Ok(handler()),
        manager,
        config,
    )))
}

/// The selection of a request's path and query, as the handler finds it.
#[derive(Clone, Debug)]
pub(crate) struct Selected(pub(crate) Selection);

/// The repository in a request's path, as the handler finds it.
#[derive(Clone, Debug)]
pub(crate) struct InRepo(pub(crate) RepoAccess);

/// The repository that a request's query names for calls that name none, as the handler finds it.
#[derive(Clone, Debug)]
pub(crate) struct UsualRepo(pub(crate) RepoName);

/// The owner and the name of a repository.
type InRepoPath = InPath<(String, String)>;

/// The answer of one of the doors.
type Answered = BoxFuture<'static, Result<Response, Refusal>>;

/// `/mcp`, with `?access=read` and `?repo=<owner>/<name>`.
pub(crate) fn door(
    endpoint: &Arc<dyn Endpoint>,
) -> impl Fn(State<Arc<App>>, Request) -> Answered + Clone + Send + Sync + 'static {
    let endpoint = Arc::clone(endpoint);
    move |State(app), request| {
        let endpoint = Arc::clone(&endpoint);
        Box::pin(async move { part_door(&app, None, request, endpoint).await })
    }
}

/// `/mcp/<pack>[,<pack>...]`, with `?access=read` and `?repo=<owner>/<name>`.
pub(crate) fn packs_door(
    endpoint: &Arc<dyn Endpoint>,
) -> impl Fn(State<Arc<App>>, InPath<String>, Request) -> Answered + Clone + Send + Sync + 'static {
    let endpoint = Arc::clone(endpoint);
    move |State(app), InPath(packs), request| {
        let endpoint = Arc::clone(&endpoint);
        Box::pin(async move { part_door(&app, Some(packs), request, endpoint).await })
    }
}

/// `/api/repos/<owner>/<repo>/mcp`, with `?access=read`: the tools of one repository, whatever the settings mount.
pub(crate) fn repo_door(
    endpoint: &Arc<dyn Endpoint>,
) -> impl Fn(State<Arc<App>>, InRepoPath, Request) -> Answered + Clone + Send + Sync + 'static {
    let endpoint = Arc::clone(endpoint);
    move |State(app), InPath((owner, repo)), request| {
        let endpoint = Arc::clone(&endpoint);
        Box::pin(async move {
            let selection = selection(None, request.uri().query())?;
            let caller = request.extensions().get::<Caller>().cloned();
            let repo = in_repo(&app, caller, &format!("{owner}/{repo}")).await?;
            Ok(exchange(&app, request, selection, Some(repo), endpoint).await)
        })
    }
}

async fn part_door(
    app: &App,
    packs: Option<String>,
    mut request: Request,
    endpoint: Arc<dyn Endpoint>,
) -> Result<Response, Refusal> {
    if let Some(repo) = usual_repo(request.uri().query())? {
        request.extensions_mut().insert(UsualRepo(repo));
    }
    let selection = selection(packs, request.uri().query())?;
    if let Err(error) = app.parts.mounts.current().part(&selection) {
        let near = error.near().map(|name| format!("Did you mean `{name}`?"));
        let mut refusal = ToolError::not_found(error.to_string());
        refusal.hints.extend(near);
        return Err(refusal.into());
    }
    Ok(exchange(app, request, selection, None, endpoint).await)
}

async fn in_repo(app: &App, caller: Option<Caller>, name: &str) -> Result<RepoAccess, ToolError> {
    let caller = caller.ok_or_else(|| ToolError::internal("The request has no caller"))?;
    let wanted = WantedRepo::Named(name);
    app.repos()?.resolve(&caller.as_agent(), wanted).await
}

async fn exchange(
    app: &App,
    request: Request,
    selection: Selection,
    repo: Option<RepoAccess>,
    endpoint: Arc<dyn Endpoint>,
) -> Response {
    let (mut head, body) = request.into_parts();
    let body = match gate::read_body(app, body).await {
        Ok(body) => body,
        Err(error) => return envelope::refused(&error),
    };
    // An agent never holds a person's powers, whatever token it was given.
    if let Some(caller) = head.extensions.remove::<Caller>() {
        head.extensions.insert(caller.as_agent());
    }
    head.extensions.insert(Selected(selection));
    if let Some(repo) = repo {
        head.extensions.insert(InRepo(repo));
    }
    envelope::exchange(head, body, &*endpoint).await
}

fn selection(packs: Option<String>, query: Option<&str>) -> Result<Selection, ToolError> {
    let packs = packs.map(|packs| {
        packs
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect()
    });
    let mut read_only = false;
    for pair in query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
    {
        match pair.split_once('=') {
            Some(("access", "read")) => read_only = true,
            Some(("access", "all")) => {}
            Some(("access", other)) => {
                return Err(ToolError::bad_arguments(format!(
                    "`access` must be `read` or `all`, not `{other}`"
                )));
            }
            // Proxies and gateways add parameters of their own.
            _ => {}
        }
    }
    Ok(Selection { packs, read_only })
}

/// The repository that the query names.
fn usual_repo(query: Option<&str>) -> Result<Option<RepoName>, ToolError> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((_, given)) = pairs.find(|(name, _)| name == "repo") else {
        return Ok(None);
    };
    let repo = given.parse().map_err(|_| {
        ToolError::bad_arguments(format!(
            "`repo` must be `<owner>/<name>`, not `{}`",
            gate::printable(&given)
        ))
    });
    repo.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_queries_select_a_part() {
        let of = |packs: Option<&str>, query| selection(packs.map(str::to_owned), query).unwrap();
        assert_eq!(of(None, None), Selection::default());
        assert_eq!(
            of(None, Some("access=read&utm=1")),
            Selection {
                packs: None,
                read_only: true
            }
        );
        let both = Some(vec!["local".to_owned(), "git".to_owned()]);
        assert_eq!(
            of(Some("local, git"), Some("access=all")),
            Selection {
                packs: both,
                read_only: false
            }
        );
        for (query, repo) in [
            (None, None),
            (Some("access=read"), None),
            (Some("access=read&repo=acme/site"), Some("acme/site")),
            (Some("repo=acme%2Fsite&repo=x"), Some("acme/site")),
        ] {
            let found = usual_repo(query).unwrap();
            assert_eq!(found.as_ref().map(RepoName::as_str), repo, "{query:?}");
        }
        assert!(usual_repo(Some("repo=../site")).is_err());
        let error = selection(None, Some("access=write")).unwrap_err();
        assert_eq!(
            error.message,
            "`access` must be `read` or `all`, not `write`"
        );
    }
}
