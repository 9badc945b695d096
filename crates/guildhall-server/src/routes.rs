//! Every route there is, in one list: the router is made of it, and a test walks it.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{delete, get, post};
use guildhall_tools::ToolError;
use http::Method;

use crate::mcp::Endpoint;
use crate::state::App;
use crate::{api, gate, git, health, mcp, metrics, reply, sign_in};

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
    /// What it does.
    pub about: &'static str,
}

const fn route(
    method: &'static str,
    path: &'static str,
    access: Access,
    about: &'static str,
) -> Route {
    Route {
        method,
        path,
        access,
        about,
    }
}

/// Every route. What is not in here answers 404, after the gate.
pub const ROUTES: &[Route] = &[
    route("GET", "/health", Access::Open, "Whether the server answers"),
    route(
        "GET",
        "/metrics",
        Access::Token,
        "Counters in the Prometheus text format",
    ),
    route(
        "POST",
        "/mcp",
        Access::Token,
        "MCP over Streamable HTTP, all mounted tools",
    ),
    route(
        "GET",
        "/mcp",
        Access::Token,
        "The event stream of an MCP session, where sessions are on",
    ),
    route(
        "DELETE",
        "/mcp",
        Access::Token,
        "Ends an MCP session, where sessions are on",
    ),
    route(
        "POST",
        "/mcp/{packs}",
        Access::Token,
        "MCP over Streamable HTTP, the named packs",
    ),
    route(
        "GET",
        "/mcp/{packs}",
        Access::Token,
        "The event stream of an MCP session, where sessions are on",
    ),
    route(
        "DELETE",
        "/mcp/{packs}",
        Access::Token,
        "Ends an MCP session, where sessions are on",
    ),
    route(
        "GET",
        "/api/status",
        Access::Token,
        "What this server is and serves",
    ),
    route(
        "GET",
        "/api/tools",
        Access::Token,
        "The tools of the caller",
    ),
    route("POST", "/api/tools/{tool}", Access::Token, "Calls a tool"),
    route(
        "POST",
        "/api/agents",
        Access::Token,
        "Makes the token file of one of the caller's agents",
    ),
    route(
        "GET",
        "/api/whoami",
        Access::Token,
        "Whom the token speaks for",
    ),
    route("GET", "/api/agents", Access::Token, "The caller's agents"),
    route(
        "POST",
        "/api/agents/{name}",
        Access::Token,
        "Makes one of the caller's agents and its first token",
    ),
    route(
        "DELETE",
        "/api/agents/{name}",
        Access::Token,
        "Revokes one of the caller's agents",
    ),
    route(
        "POST",
        "/api/agents/{name}/tokens",
        Access::Token,
        "Makes another token of one of the caller's agents",
    ),
    route(
        "GET",
        "/api/tokens",
        Access::Token,
        "The tokens of the caller and of their agents",
    ),
    route(
        "DELETE",
        "/api/tokens/{id}",
        Access::Token,
        "Revokes a token",
    ),
    route("GET", "/api/users", Access::Token, "The people"),
    route("POST", "/api/users", Access::Token, "Adds a person"),
    route(
        "DELETE",
        "/api/users/{username}",
        Access::Token,
        "Disables a person and their agents",
    ),
    route(
        "POST",
        "/api/users/{username}/codes",
        Access::Token,
        "Makes another one-time sign-in code of a person",
    ),
    route(
        "POST",
        "/api/login/device",
        Access::Open,
        "Begins the login of a device",
    ),
    route(
        "POST",
        "/api/login/token",
        Access::Open,
        "What has become of a device's login",
    ),
    route(
        "GET",
        "/login",
        Access::Open,
        "The page on which a person signs in and approves a login",
    ),
    route("POST", "/login", Access::Open, "The forms of that page"),
    route(
        "GET",
        "/api/repos",
        Access::Token,
        "The hosted repositories that the caller may see",
    ),
    route(
        "POST",
        "/api/repos",
        Access::Token,
        "Takes in a repository; the operator's alone",
    ),
    route(
        "GET",
        "/api/repos/{owner}/{repo}",
        Access::Token,
        "One repository, and how it stands to its origin",
    ),
    route(
        "DELETE",
        "/api/repos/{owner}/{repo}",
        Access::Token,
        "Stops hosting a repository and deletes it here; the operator's alone",
    ),
    route(
        "POST",
        "/api/repos/{owner}/{repo}/sync",
        Access::Token,
        "Fetches the origin and moves the default branch forward; the operator's alone",
    ),
    route(
        "POST",
        "/api/repos/{owner}/{repo}/push",
        Access::Token,
        "Sends the default branch to the origin; the operator's alone",
    ),
    route(
        "GET",
        "/api/repos/{owner}/{repo}/tools",
        Access::Token,
        "The tools of the caller in a repository",
    ),
    route(
        "POST",
        "/api/repos/{owner}/{repo}/tools/{tool}",
        Access::Token,
        "Calls a tool in a repository",
    ),
    route(
        "POST",
        "/api/repos/{owner}/{repo}/mcp",
        Access::Token,
        "MCP over Streamable HTTP, the tools of a repository",
    ),
    route(
        "GET",
        "/api/repos/{owner}/{repo}/mcp",
        Access::Token,
        "The event stream of an MCP session, where sessions are on",
    ),
    route(
        "DELETE",
        "/api/repos/{owner}/{repo}/mcp",
        Access::Token,
        "Ends an MCP session, where sessions are on",
    ),
    route(
        "GET",
        "/{owner}/{repo}/info/refs",
        Access::Git,
        "What a clone or fetch of `<owner>/<name>.git` begins with",
    ),
    route(
        "POST",
        "/{owner}/{repo}/git-upload-pack",
        Access::Git,
        "The objects of a clone or fetch of `<owner>/<name>.git`",
    ),
    route(
        "POST",
        "/{owner}/{repo}/git-receive-pack",
        Access::Git,
        "Refuses a push, and says how code is written instead",
    ),
];

/// Who may use the route that `method` and `path` lead to; a path that leads nowhere needs a token.
pub(crate) fn access(method: &Method, path: &str) -> Access {
    let open = |route: &&Route| {
        route.access == Access::Open && route.method == method.as_str() && route.path == path
    };
    if ROUTES.iter().find(open).is_some() {
        Access::Open
    } else if is_git(path) {
        Access::Git
    } else {
        Access::Token
    }
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

/// The whole server: every route behind the gate. `endpoint` is the MCP door.
pub fn router(app: Arc<App>, endpoint: &Arc<dyn Endpoint>) -> Router {
    let mcp = || {
        let endpoint = Arc::clone(endpoint);
        axum::routing::any(move |state, packs, request| {
            mcp::door(state, packs, request, Arc::clone(&endpoint))
        })
    };
    let repo_mcp = || {
        let endpoint = Arc::clone(endpoint);
        axum::routing::any(move |state, repo, request| {
            mcp::repo_door(state, repo, request, Arc::clone(&endpoint))
        })
    };
    Router::new()
        .route("/health", get(health::health))
        .route("/metrics", get(metrics::metrics))
        .route("/mcp", mcp())
        .route("/mcp/{packs}", mcp())
        .route("/api/status", get(api::status::status))
        .route("/api/tools", get(api::tools::list))
        .route("/api/tools/{tool}", post(api::tools::call))
        .merge(people())
        .route("/api/repos", get(api::repos::list).post(api::repos::add))
        .route(
            "/api/repos/{owner}/{repo}",
            get(api::repos::show).delete(api::repos::remove),
        )
        .route("/api/repos/{owner}/{repo}/sync", post(api::repos::sync))
        .route("/api/repos/{owner}/{repo}/push", post(api::repos::push))
        .route("/api/repos/{owner}/{repo}/tools", get(api::repos::tools))
        .route(
            "/api/repos/{owner}/{repo}/tools/{tool}",
            post(api::repos::call),
        )
        .route("/api/repos/{owner}/{repo}/mcp", repo_mcp())
        .route("/{owner}/{repo}/info/refs", get(git::refs))
        .route("/{owner}/{repo}/git-upload-pack", post(git::upload_pack))
        .route("/{owner}/{repo}/git-receive-pack", post(git::receive_pack))
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_verb)
        .layer(from_fn_with_state(Arc::clone(&app), gate::gate))
        .with_state(app)
}

/// People, their agents and tokens, and how they sign in.
fn people() -> Router<Arc<App>> {
    use api::{agents, login, tokens, users, whoami};
    Router::new()
        .route("/api/whoami", get(whoami::whoami))
        .route("/api/agents", get(agents::list).post(agents::token_file))
        .route(
            "/api/agents/{name}",
            post(agents::create).delete(agents::revoke),
        )
        .route("/api/agents/{name}/tokens", post(agents::token))
        .route("/api/tokens", get(tokens::list))
        .route("/api/tokens/{id}", delete(tokens::revoke))
        .route("/api/users", get(users::list).post(users::add))
        .route("/api/users/{username}", delete(users::disable))
        .route("/api/users/{username}/codes", post(users::code))
        .route("/api/login/device", post(login::begin))
        .route("/api/login/token", post(login::finish))
        .route("/login", get(sign_in::show).post(sign_in::submit))
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
}
