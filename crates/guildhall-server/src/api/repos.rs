//! `/api/repos`: the hosted repositories, and the tools of each. What changes one is the operator's alone.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use guildhall_core::{Principal, RepoName};
use guildhall_tools::{Caller, RepoAccess, Tool, ToolError, WantedRepo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tools::{Tools, run};
use super::{Answer, Given, InPath, Refusal};
use crate::host::{NewRepo, Origin, RepoView};
use crate::state::App;
use crate::{gate, reply};

type InRepo = InPath<(String, String)>;

/// A repository to be taken in, from exactly one of `path` and `clone`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewRepo")]
pub(crate) struct Wanted {
    /// `owner/name`
    #[schemars(with = "String")]
    repo: RepoName,
    /// A directory of the server's machine, absolute
    path: Option<PathBuf>,
    /// An address that git clones from
    clone: Option<String>,
    /// Whether everybody who is signed in may read it
    #[serde(default)]
    public: bool,
}

/// How a repository is brought to its origin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sync {
    /// Whether somebody is asked to merge the two where both moved
    #[serde(default)]
    merge: bool,
}

/// Repositories that the caller may see.
#[derive(JsonSchema, Serialize)]
pub(crate) struct RepoList {
    repos: Vec<RepoView>,
}

/// A repository that is gone.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Removed {
    #[schemars(with = "String")]
    repo: RepoName,
    removed: bool,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Answer<RepoList> {
    let repos = app.repos()?.list(&caller).await?;
    Ok(Given(RepoList { repos }))
}

pub(crate) async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Answer<RepoView> {
    let by = operator(caller)?;
    let bytes = gate::read_body(&app, body).await?;
    Ok(Given(app.repos()?.add(by, wanted(&bytes)?).await?))
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    InPath((owner, repo)): InRepo,
    Extension(caller): Extension<Caller>,
) -> Answer<RepoView> {
    let repo = find(&app, &caller, &owner, &repo).await?;
    Ok(Given(app.repos()?.show(&caller, &repo).await?))
}

pub(crate) async fn sync(
    State(app): State<Arc<App>>,
    InPath((owner, repo)): InRepo,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Answer<RepoView> {
    let (by, name) = change(&app, caller, &owner, &repo).await?;
    let bytes = gate::read_body(&app, body).await?;
    let synced = app.repos()?.sync(by, name, wants_merge(&bytes)?);
    Ok(Given(synced.await?))
}

pub(crate) async fn push(
    State(app): State<Arc<App>>,
    InPath((owner, repo)): InRepo,
    Extension(caller): Extension<Caller>,
) -> Answer<RepoView> {
    let (by, name) = change(&app, caller, &owner, &repo).await?;
    Ok(Given(app.repos()?.push(by, name).await?))
}

pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    InPath((owner, repo)): InRepo,
    Extension(caller): Extension<Caller>,
) -> Answer<Removed> {
    let (by, repo) = change(&app, caller, &owner, &repo).await?;
    app.repos()?.remove(by, repo.clone()).await?;
    Ok(Given(Removed {
        repo,
        removed: true,
    }))
}

/// The tools of the caller in the repository, with their schemas.
pub(crate) async fn tools(
    State(app): State<Arc<App>>,
    InPath((owner, repo)): InRepo,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Refusal> {
    let repo = find(&app, &caller, &owner, &repo).await?;
    let mounted = app.repos()?.tools();
    let tools = mounted.menu(&caller).listed(&caller);
    let tools = tools.filter(|tool| tool.scope().is_for(&repo));
    Ok(reply::result(&Tools::of(tools)))
}

/// Calls a tool in the repository.
pub(crate) async fn call(
    State(app): State<Arc<App>>,
    InPath((owner, repo, tool)): InPath<(String, String, String)>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Result<Response, Refusal> {
    // First of all: what is wrong with a call says nothing of a repository that its caller may not see.
    let found = find(&app, &caller, &owner, &repo).await;
    let mounted = app.repos().map(|repos| repos.tools());
    if caller.is_anybody() {
        let mounted = mounted.as_ref().ok();
        let served = mounted.and_then(|mounted| mounted.catalog().tool(&tool));
        if found.is_err() || !served.is_some_and(Tool::is_for_anybody) {
            return Err(gate::missing_token().into());
        }
    }
    found?;
    let (mounted, name) = (mounted?, format!("{owner}/{repo}"));
    let menu = mounted.menu(&caller);
    Ok(run(&app, caller, menu, &tool, Some(&name), body).await)
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
    if caller.is_limited() {
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

/// What a sync does when both moved; nothing, without a body.
fn wants_merge(bytes: &[u8]) -> Result<bool, ToolError> {
    if bytes.is_empty() {
        return Ok(false);
    }
    let sync: Sync = serde_json::from_slice(bytes).map_err(|error| {
        ToolError::bad_arguments(format!("The body must be {{ \"merge\"?: true }}: {error}"))
    })?;
    Ok(sync.merge)
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
