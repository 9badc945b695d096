//! Sessions of clients up to 2025-11-25: whose they are, how many there may be, and how their streams begin.
//!
//! rmcp keeps the sessions themselves. A session belongs to the principal that opened it; to everybody else it does not
//! exist, whatever valid token they have. It ends with the token that opened it, and so does what is heard over it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use guildhall_core::Principal;
use guildhall_tools::{Caller, ErrorKind, ToolError};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Endpoint, envelope};
use crate::auth::Directory;
use crate::state::App;

/// Sessions one principal may have open. An agent needs one; what is never closed ends after five idle minutes.
const MOST_SESSIONS: usize = 100;

const SESSION: &str = "mcp-session-id";

/// The first revision whose clients know the empty event that says how to resume a stream (SEP-1699). Older ones try
/// to read it as a message.
const PRIMED_SINCE: &str = "2025-11-25";
/// The first revision without sessions.
const SESSIONLESS_SINCE: &str = "2026-07-28";

/// An MCP door that gives older clients sessions.
pub(super) struct Sessions<H> {
    primed: Kept<H>,
    unprimed: Kept<H>,
    owners: Owners,
    directory: Arc<Directory>,
    shutdown: CancellationToken,
}

/// The open sessions by their ids.
type Owners = Arc<Mutex<HashMap<String, Owner>>>;

/// Whose a session is.
struct Owner {
    principal: Principal,
    /// Ends the wait for the end of the token that opened it.
    _waits: DropGuard,
}

struct Kept<H> {
    service: StreamableHttpService<H, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
}

impl<H: ServerHandler> Kept<H> {
    fn new(
        handler: &Arc<dyn Fn() -> H + Send + Sync>,
        config: &StreamableHttpServerConfig,
        primed: bool,
    ) -> Self {
        let mut manager = LocalSessionManager::default();
        if !primed {
            manager.session_config.sse_retry = None;
        }
        let manager = Arc::new(manager);
        let handler = Arc::clone(handler);
        let service =
            StreamableHttpService::new(move || Ok(handler()), Arc::clone(&manager), config.clone());
        Self { service, manager }
    }

    async fn handle(&self, request: Request<Full<Bytes>>) -> Response {
        self.service.handle(request).await.map(Body::new)
    }

    async fn has(&self, id: &str) -> bool {
        self.manager.sessions.read().await.contains_key(id)
    }
}

impl<H: ServerHandler> Sessions<H> {
    pub(super) fn new(
        handler: &Arc<dyn Fn() -> H + Send + Sync>,
        config: &StreamableHttpServerConfig,
        app: &App,
    ) -> Self {
        Self {
            primed: Kept::new(handler, config, true),
            unprimed: Kept::new(handler, config, false),
            owners: Owners::default(),
            directory: Arc::clone(&app.parts.directory),
            shutdown: app.parts.shutdown.clone(),
        }
    }

    /// A request that names a session.
    async fn resume(&self, id: &str, request: Request<Full<Bytes>>) -> Response {
        let caller = caller(&request);
        let owner = self.owners().get(id).map(|owner| owner.principal.clone());
        let holder = caller.filter(|caller| owner.as_ref() == Some(&caller.principal));
        let Some(caller) = holder else {
            let mut unknown = Response::new(Body::empty());
            *unknown.status_mut() = StatusCode::NOT_FOUND;
            return unknown;
        };
        let method = request.method().clone();
        let kept = if self.unprimed.has(id).await {
            &self.unprimed
        } else {
            &self.primed
        };
        let response = kept.handle(request).await;
        match method {
            // A session's own stream has no other end than the server's and that of the token it was opened with.
            Method::GET => response.map(|body| {
                let (shutdown, directory) = (self.shutdown.clone(), Arc::clone(&self.directory));
                let ended = Box::pin(async move {
                    tokio::select! {
                        () = shutdown.cancelled() => {}
                        () = directory.until_over(&caller) => {}
                    }
                });
                Body::from_stream(body.into_data_stream().take_until(ended))
            }),
            Method::DELETE if response.status().is_success() => {
                self.owners().remove(id);
                response
            }
            _ => response,
        }
    }

    /// An `initialize` of the revision `version`.
    async fn open(&self, version: &str, request: Request<Full<Bytes>>) -> Response {
        let Some(caller) = caller(&request) else {
            return envelope::refused(&ToolError::internal("a request without a caller"));
        };
        self.forget_ended().await;
        let open = self
            .owners()
            .values()
            .filter(|owner| owner.principal == caller.principal)
            .count();
        if open >= MOST_SESSIONS {
            let message = format!(
                "`{}` has {open} MCP sessions open, the most there may be",
                caller.principal
            );
            return envelope::refused(&ToolError::new(ErrorKind::RateLimited, message));
        }
        let kept = if version >= PRIMED_SINCE {
            &self.primed
        } else {
            &self.unprimed
        };
        let response = kept.handle(request).await;
        if let Some(id) = session_of(response.headers()) {
            self.keep(id, caller, Arc::clone(&kept.manager));
        }
        response
    }

    /// Keeps whose the session `id` is, until it ends or the token of `caller`, who opened it, is good no more: then it is
    /// closed.
    fn keep(&self, id: &str, caller: Caller, manager: Arc<LocalSessionManager>) {
        let (id, waits) = (id.to_owned(), CancellationToken::new());
        let owner = Owner {
            principal: caller.principal.clone(),
            _waits: waits.clone().drop_guard(),
        };
        self.owners().insert(id.clone(), owner);
        let (owners, directory) = (Arc::downgrade(&self.owners), Arc::clone(&self.directory));
        let shutdown = self.shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = waits.cancelled() => return,
                () = shutdown.cancelled() => return,
                () = directory.until_over(&caller) => {}
            }
            if let Err(error) = manager.close_session(&id.as_str().into()).await {
                tracing::warn!("Cannot close the session of a token that is over: {error}");
            }
            if let Some(owners) = owners.upgrade() {
                locked(&owners).remove(&id);
            }
        });
    }

    async fn forget_ended(&self) {
        let (primed, unprimed) = (
            self.primed.manager.sessions.read().await,
            self.unprimed.manager.sessions.read().await,
        );
        self.owners()
            .retain(|id, _| primed.contains_key(&**id) || unprimed.contains_key(&**id));
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        locked(&self.owners)
    }
}

fn locked(owners: &Owners) -> MutexGuard<'_, HashMap<String, Owner>> {
    owners.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<H: ServerHandler> Endpoint for Sessions<H> {
    fn handle(&self, request: Request<Full<Bytes>>) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let Ok(body) = body.collect().await;
            let body = body.to_bytes();
            let version = if head.method == Method::POST {
                opened_version(&body)
            } else {
                None
            };
            let sessionless = head
                .headers
                .get("mcp-protocol-version")
                .is_some_and(|version| version.as_bytes() >= SESSIONLESS_SINCE.as_bytes());
            let session = session_of(&head.headers).map(str::to_owned);
            if version.is_some() || sessionless {
                // A client that starts anew may send the id that an earlier server gave it. To a request without a
                // session it means nothing, and must not lead into one past its owner.
                head.headers.remove(SESSION);
            }
            let request = Request::from_parts(head, Full::new(body));
            match (version, session) {
                (Some(version), _) => self.open(&version, request).await,
                (None, Some(id)) if !sessionless => self.resume(&id, request).await,
                _ => self.primed.handle(request).await,
            }
        })
    }
}

/// The revision that an `initialize` asks for; `None` for every other message. What cannot be read is taken for one, so
/// that nothing opens a session unseen.
fn opened_version(body: &[u8]) -> Option<String> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Some(String::new());
    };
    if message.get("method")? != "initialize" {
        return None;
    }
    let version = message["params"]["protocolVersion"].as_str();
    Some(version.unwrap_or_default().to_owned())
}

fn caller(request: &Request<Full<Bytes>>) -> Option<Caller> {
    request.extensions().get::<Caller>().cloned()
}

fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|id| id.to_str().ok())
}
