//! `/api/repos`: the hosted repositories, and the tools of each. What changes one is the operator's alone.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use guildhall_core::{Principal, RepoName};
use guildhall_tools::{Caller, RepoAccess, ToolError, WantedRepo};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tools::{described, run};
use crate::host::{NewRepo, Origin};
use crate::state::App;
use crate::{gate, reply};

type InPath = Path<(String, String)>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    repo: RepoName,
    path: Option<PathBuf>,
    clone: Option<String>,
    #[serde(default)]
    public: bool,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let listed = async { app.repos()?.list(&caller).await };
    answer(listed.await.map(|repos| json!({ "repos": repos })))
}

pub(crate) async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    let added = async {
        let by = operator(caller)?;
        let bytes = gate::read_body(&app, body).await?;
        app.repos()?.add(by, wanted(&bytes)?).await
    };
    answer(added.await)
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path((owner, repo)): InPath,
    Extension(caller): Extension<Caller>,
) -> Response {
    let shown = async {
        let repo = find(&app, &caller, &owner, &repo).await?;
        app.repos()?.show(&caller, &repo).await
    };
    answer(shown.await)
}

pub(crate) async fn sync(
    State(app): State<Arc<App>>,
    Path((owner, repo)): InPath,
    Extension(caller): Extension<Caller>,
) -> Response {
    let synced = async {
        let (by, name) = change(&app, caller, &owner, &repo).await?;
        app.repos()?.sync(by, name).await
    };
    answer(synced.await)
}

pub(crate) async fn push(
    State(app): State<Arc<App>>,
    Path((owner, repo)): InPath,
    Extension(caller): Extension<Caller>,
) -> Response {
    let pushed = async {
        let (by, name) = change(&app, caller, &owner, &repo).await?;
        app.repos()?.push(by, name).await
    };
    answer(pushed.await)
}

pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    Path((owner, repo)): InPath,
    Extension(caller): Extension<Caller>,
) -> Response {
    let removed = async {
        let (by, name) = change(&app, caller, &owner, &repo).await?;
        app.repos()?.remove(by, name.clone()).await?;
        Ok(json!({ "repo": name, "removed": true }))
    };
    answer(removed.await)
}

/// The tools of the caller in the repository, with their schemas.
pub(crate) async fn tools(
    State(app): State<Arc<App>>,
    Path((owner, repo)): InPath,
    Extension(caller): Extension<Caller>,
) -> Response {
    let listed = async {
        let repo = find(&app, &caller, &owner, &repo).await?;
        let mounted = app.repos()?.tools();
        let tools = mounted.catalog().listed(&caller);
        Ok(described(tools.filter(|tool| {
            let least = tool.scope().repo_role();
            least.is_none_or(|least| repo.role >= least)
        })))
    };
    answer(listed.await)
}

/// Calls a tool in the repository.
pub(crate) async fn call(
    State(app): State<Arc<App>>,
    Path((owner, repo, tool)): Path<(String, String, String)>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    // First of all: what is wrong with a call says nothing of a repository that its caller may not see.
    if let Err(error) = find(&app, &caller, &owner, &repo).await {
        return reply::error(&error);
    }
    let mounted = match app.repos() {
        Ok(host) => host.tools(),
        Err(error) => return reply::error(&error),
    };
    let name = format!("{owner}/{repo}");
    run(&app, caller, mounted.catalog(), &tool, Some(&name), body).await
}

fn answer<T: Serialize>(outcome: Result<T, ToolError>) -> Response {
    match outcome {
        Ok(value) => reply::result(&json!(value)),
        Err(error) => reply::error(&error),
    }
}

async fn find(
    app: &App,
    caller: &Caller,
    owner: &str,
    repo: &str,
) -> Result<RepoAccess, ToolError> {
    let name = format!("{owner}/{repo}");
    app.repos()?.resolve(caller, WantedRepo::Named(&name)).await
}

/// The operator behind `caller`. A token that was limited to some tools or repositories was not meant for this.
fn operator(caller: Caller) -> Result<Principal, ToolError> {
    if !caller.operator {
        return Err(ToolError::forbidden(format!(
            "`{}` does not operate this server: only its operator may change which repositories it hosts",
            caller.principal
        )));
    }
    if caller.tools.is_some() || caller.repos.is_some() {
        return Err(ToolError::forbidden(
            "The token is limited to some tools or repositories: changing repositories needs one without limits",
        ));
    }
    Ok(caller.principal)
}

/// The operator, and the repository they want changed.
async fn change(
    app: &App,
    caller: Caller,
    owner: &str,
    repo: &str,
) -> Result<(Principal, RepoName), ToolError> {
    let by = operator(caller.clone())?;
    let repo = find(app, &caller, owner, repo).await?;
    let name = repo.name;
    Ok((by, name))
}

fn wanted(bytes: &[u8]) -> Result<NewRepo, ToolError> {
    let wanted: Wanted = serde_json::from_slice(bytes).map_err(|error| {
        ToolError::bad_arguments(format!(
            "The body must be {{ \"repo\": \"<owner>/<name>\", \"path\" or \"clone\": \"...\", \"public\"?: true }}: {error}"
        ))
    })?;
    let origin = match (wanted.path, wanted.clone) {
        (Some(path), None) if path.is_absolute() => Origin::Path(path),
        (Some(path), None) => {
            return Err(ToolError::bad_arguments(format!(
                "'path' must be absolute, not `{}`",
                path.display()
            )));
        }
        (None, Some(address)) => Origin::Url(address),
        _ => {
            return Err(ToolError::bad_arguments(
                "Exactly one of 'path' and 'clone' is required",
            ));
        }
    };
    Ok(NewRepo {
        name: wanted.repo,
        origin,
        public: wanted.public,
    })
}
