//! Every route there is, in one list: the router is made of it, the description of the server too, and tests walk it.

pub(crate) mod described;
mod limits;
mod table;

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use guildhall_tools::ToolError;
use http::{Method, header};
use schemars::JsonSchema;

use self::described::{Gives, Query, Takes, schema_of};
use crate::mcp::Endpoint;
use crate::state::App;
use crate::{gate, reply};

pub use self::limits::Reach;
pub use self::table::ROUTES;

/// Who may use a route.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Anybody who reaches the port.
    Open,
    /// Whoever has a valid token.
    Token,
    /// Whoever has a valid token, which may also come by HTTP Basic as the password: what git sends.
    Git,
}

/// One way in.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The verb.
    pub method: &'static str,
    /// The path, with `{parameters}`.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    /// How far a token with limits reaches on it.
    pub reach: Reach,
    /// What it does.
    pub about: &'static str,
    pub(crate) query: &'static [Query],
    pub(crate) takes: Takes,
    pub(crate) gives: Gives,
    /// The failures that it has beside those of every route.
    refuses: &'static [u16],
    handler: Handler,
}

/// What answers a route; the MCP doors pass the request on to the endpoint.
type Handler = fn(&Arc<dyn Endpoint>) -> MethodRouter<Arc<App>>;

impl Route {
    /// A route for whoever has a token without limits, that takes nothing and always refuses until it is told otherwise.
    const fn new(method: &'static str, path: &'static str, about: &'static str) -> Self {
        Self {
            method,
            path,
            access: Access::Token,
            reach: Reach::Unlimited,
            about,
            query: &[],
            takes: Takes::Nothing,
            gives: Gives::Refusal,
            refuses: &[],
            handler: |_| MethodRouter::new(),
        }
    }

    const fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    const fn reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    const fn query(self, query: &'static [Query]) -> Self {
        Self { query, ..self }
    }

    /// It reads a JSON object that is a `T`.
    const fn takes<T: JsonSchema>(self) -> Self {
        let takes = Takes::Json(schema_of::<T>);
        Self { takes, ..self }
    }

    const fn takes_form<T: JsonSchema>(self) -> Self {
        let takes = Takes::Form(schema_of::<T>);
        Self { takes, ..self }
    }

    const fn takes_rpc(self) -> Self {
        let takes = Takes::Rpc;
        Self { takes, ..self }
    }

    const fn takes_git(self) -> Self {
        let takes = Takes::GitRequest;
        Self { takes, ..self }
    }

    /// It answers `{ "result": ... }` with a `T`.
    const fn result<T: JsonSchema>(self) -> Self {
        let gives = Gives::Result(schema_of::<T>);
        Self { gives, ..self }
    }

    /// It answers with a `T` as JSON.
    const fn json<T: JsonSchema>(self) -> Self {
        let gives = Gives::Json(schema_of::<T>);
        Self { gives, ..self }
    }

    /// It calls a tool.
    const fn tool_result(self, refuses: &'static [u16]) -> Self {
        Self {
            takes: Takes::Arguments,
            gives: Gives::ToolResult,
            refuses,
            ..self
        }
    }

    const fn rpc(self, query: &'static [Query], refuses: &'static [u16]) -> Self {
        Self {
            query,
            gives: Gives::Rpc,
            refuses,
            ..self
        }
    }

    const fn text(self) -> Self {
        let gives = Gives::Text;
        Self { gives, ..self }
    }

    const fn bytes(self, kind: &'static [&'static str]) -> Self {
        let gives = Gives::Bytes(kind);
        Self { gives, ..self }
    }

    const fn page(self) -> Self {
        let gives = Gives::Page;
        Self { gives, ..self }
    }

    const fn refuses(self, refuses: &'static [u16]) -> Self {
        Self { refuses, ..self }
    }

    /// Whether what it began goes on to its end when the client goes away. Changes do; calls of tools are cancelled, and
    /// what is read is of no use to anybody then.
    fn finishes(&self) -> bool {
        let of_tools_and_git = matches!(
            self.gives,
            Gives::ToolResult | Gives::Rpc | Gives::Bytes(_) | Gives::Refusal
        );
        self.method != "GET" && !of_tools_and_git
    }

    const fn served(self, handler: Handler) -> Self {
        Self { handler, ..self }
    }
}

/// Who may use `route`. A request that was led to none needs a token, which git sends in its own way.
pub(crate) fn access(route: Option<&Route>, path: &str) -> Access {
    match route {
        Some(route) => route.access,
        None if is_git(path) => Access::Git,
        None => Access::Token,
    }
}

/// Whether this calls a tool of a repository: some are served without a token where the repository is public, and the
/// handler refuses all others.
pub(crate) fn may_be_for_anybody(method: &Method, path: &str) -> bool {
    let mut parts = path
        .strip_prefix("/api/repos/")
        .unwrap_or_default()
        .split('/');
    let tools = (
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
    );
    method == Method::POST && matches!(tools, (Some(_), Some(_), Some("tools"), Some(_), None))
}

/// Whether `path` is one that git asks for: `/<owner>/<name>.git/` and one of its three services.
fn is_git(path: &str) -> bool {
    let Some((repo, service)) = path.split_once(".git/") else {
        return false;
    };
    let is_service = matches!(
        service,
        "info/refs" | "git-upload-pack" | "git-receive-pack"
    );
    is_service && repo.matches('/').count() == 2
}

/// The route that a request was led to. `HEAD` is led where `GET` is.
pub(crate) fn of(request: &Request) -> Option<&'static Route> {
    let matched = request.extensions().get::<MatchedPath>()?;
    let method = match request.method() {
        &Method::HEAD => "GET",
        method => method.as_str(),
    };
    ROUTES
        .iter()
        .find(|route| route.path == matched.as_str() && route.method == method)
}

/// Ends a program under test that answers what the description of the route does not say.
///
/// # Panics
///
/// Then; only in debug builds is it called.
pub(crate) fn assert_described(route: &Route, response: &Response) {
    let status = response.status().as_u16();
    assert!(
        route.statuses().contains(&status),
        "{} {} answered {status}, which its route does not tell of",
        route.method,
        route.path
    );
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let kind = kind.as_deref().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let told = route.media_types(status);
    assert!(
        told.contains(&kind) || (kind.is_empty() && told.is_empty()),
        "{} {} answered {status} as `{kind}`, which its route does not tell of",
        route.method,
        route.path
    );
}

/// The whole server: every route behind the gate. `endpoint` is the MCP door.
pub fn router(app: Arc<App>, endpoint: &Arc<dyn Endpoint>) -> Router {
    ROUTES
        .iter()
        .fold(Router::new(), |router, route| {
            let handler = (route.handler)(endpoint);
            router.route(
                route.path,
                if route.finishes() {
                    handler.route_layer(from_fn(to_its_end))
                } else {
                    handler
                },
            )
        })
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_verb)
        .layer(from_fn_with_state(Arc::clone(&app), gate::gate))
        .with_state(app)
}

/// Answers a request to its end, also where its client goes away meanwhile: what was begun in several steps is not left
/// half done.
async fn to_its_end(request: Request, next: Next) -> Response {
    let answered = tokio::spawn(next.run(request)).await;
    answered.unwrap_or_else(|fault| reply::error(&ToolError::internal(fault)))
}

pub(crate) async fn nowhere(uri: http::Uri) -> Response {
    reply::error(&ToolError::not_found(format!(
        "There is no route `{}`",
        uri.path()
    )))
}

async fn wrong_verb(method: Method, uri: http::Uri) -> Response {
    let error = ToolError::bad_arguments(format!("Route `{}` does not take {method}", uri.path()));
    let mut response = reply::error(&error);
    *response.status_mut() = http::StatusCode::METHOD_NOT_ALLOWED;
    response
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn only_the_paths_of_a_repository_are_gits() {
        for (path, git) in [
            ("/acme/site.git/info/refs", true),
            ("/acme/site.git/git-upload-pack", true),
            ("/acme/site.git/git-receive-pack", true),
            ("/acme/site/info/refs", false),
            ("/acme/site.git", false),
            ("/acme/site.git/HEAD", false),
            ("/acme/site.git/info/refs/", false),
            ("/api/repos/acme/site.git/info/refs", false),
            ("/mcp", false),
        ] {
            assert_eq!(is_git(path), git, "{path}");
        }
    }

    #[test]
    fn every_change_of_accounts_goes_on_to_its_end() {
        let finishes = |wanted: &str| {
            let place = |route: &&Route| format!("{} {}", route.method, route.path) == wanted;
            ROUTES.iter().find(place).expect(wanted).finishes()
        };
        for place in [
            "POST /api/agents",
            "DELETE /api/tokens/{id}",
            "POST /api/users",
            "POST /api/login/token",
            "POST /login",
        ] {
            assert!(finishes(place), "{place}");
        }
        for place in ["POST /api/tools/{tool}", "POST /mcp", "GET /api/tokens"] {
            assert!(!finishes(place), "{place}");
        }
    }

    #[tokio::test]
    async fn what_was_begun_is_finished_when_the_client_goes_away() {
        let (begun, go, done) = (
            Arc::new(Semaphore::new(0)),
            Arc::new(Semaphore::new(0)),
            Arc::new(Semaphore::new(0)),
        );
        let handler = {
            let (begun, go, done) = (Arc::clone(&begun), Arc::clone(&go), Arc::clone(&done));
            move || async move {
                begun.add_permits(1);
                go.acquire().await.unwrap().forget();
                done.add_permits(1);
            }
        };
        let router = Router::new().route("/", get(handler).route_layer(from_fn(to_its_end)));
        let service = TowerToHyperService::new(router);
        let call = service.call(Request::new(axum::body::Body::empty()));
        tokio::select! {
            biased;
            _ = call => unreachable!("it waits to be let go"),
            begun = begun.acquire() => begun.unwrap().forget(),
        }
        // The call is gone here.
        go.add_permits(1);
        done.acquire().await.unwrap().forget();
    }

    #[test]
    fn every_route_has_its_own_place() {
        let places: std::collections::BTreeSet<_> = ROUTES
            .iter()
            .map(|route| (route.path, route.method))
            .collect();
        assert_eq!(places.len(), ROUTES.len());
    }
}
