//! `/api/agents`: the caller's own agents and their tokens. Only a person may.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use guildhall_core::clock::rfc3339_millis;
use guildhall_store::{Account, Principals as _, Tokens as _};
use guildhall_tools::{Caller, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tokens::Limits;
use super::{Outcome, body_of, needs_person, refused_about, respond};
use crate::auth::AuthError;
use crate::state::App;

const WHAT: &str = "manage agents";
const ANOTHER: &str = "`guildhall agent token` makes another token of an agent.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
}

/// `POST /api/agents`: the token file of one of the caller's agents, for `guildhall connect` and `guildhall mcp`.
///
/// The token itself is never in the answer: it stands in a 0600 file, and the answer says which.
pub(crate) async fn token_file(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    respond(make_file(&app, &caller, body).await)
}

async fn make_file(app: &App, caller: &Caller, body: Body) -> Outcome {
    needs_person(caller, "make agents")?;
    let wanted: Wanted = body_of(app, body, "{ \"name\": \"<agent>\" }").await?;
    let made = app
        .parts
        .authenticator
        .issue_agent(&caller.principal, &wanted.name)
        .await;
    let issued = match made {
        Ok(issued) => issued,
        Err(AuthError::Name(error)) => return Err(ToolError::bad_arguments(error.to_string())),
        Err(error @ AuthError::NotHere(_)) => {
            return Err(ToolError::forbidden(error.to_string())
                .hint("`guildhall agent create` prints a token instead of keeping it in a file."));
        }
        Err(AuthError::Store(error)) => {
            let agent = named(caller, &wanted.name)?;
            return Err(refused_about(app, &agent, error, Some(ANOTHER)).await);
        }
        Err(error @ AuthError::Io { .. }) => {
            return Err(ToolError::internal(format!("{error:?}")));
        }
    };
    Ok(json!({ "username": issued.principal.name(), "token_file": issued.path }))
}

/// `GET /api/agents`: the caller's agents.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    respond(listed(&app, &caller).await)
}

async fn listed(app: &App, caller: &Caller) -> Outcome {
    needs_person(caller, WHAT)?;
    let store = app.parts.directory.store();
    let agents = store.agents(caller.principal.clone()).await?;
    let mut rows = Vec::with_capacity(agents.len());
    for agent in agents {
        let tokens = store.tokens_of(agent.principal.clone()).await?;
        let now = app.parts.clock.now();
        let good = tokens.iter().filter(|token| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end)
        });
        let used = tokens.iter().filter_map(|token| token.last_used_at).max();
        let mut row = account(&agent);
        row["tokens"] = json!(good.count());
        row["last_used_at"] = json!(used.map(rfc3339_millis));
        rows.push(row);
    }
    Ok(json!({ "agents": rows }))
}

/// `POST /api/agents/{name}`: a new agent of the caller with its first token, which is in the answer and nowhere else.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    body: Body,
) -> Response {
    respond(created(&app, &caller, &name, body).await)
}

async fn created(app: &App, caller: &Caller, name: &str, body: Body) -> Outcome {
    needs_person(caller, WHAT)?;
    let limits = Limits::read(app, body).await?;
    let agent = named(caller, name)?;
    let directory = &app.parts.directory;
    if let Err(error) = directory.add_agent(&caller.principal, agent.clone()).await {
        return Err(refused_about(app, &agent, error, Some(ANOTHER)).await);
    }
    super::tokens::issued(app, caller, agent, limits).await
}

/// `POST /api/agents/{name}/tokens`: a fresh token of one of the caller's agents. Its earlier ones stay good.
pub(crate) async fn token(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    body: Body,
) -> Response {
    respond(fresh_token(&app, &caller, &name, body).await)
}

async fn fresh_token(app: &App, caller: &Caller, name: &str, body: Body) -> Outcome {
    needs_person(caller, WHAT)?;
    let limits = Limits::read(app, body).await?;
    super::tokens::issued(app, caller, named(caller, name)?, limits).await
}

/// `DELETE /api/agents/{name}`: one of the caller's agents may do nothing from now on.
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    respond(revoked(&app, &caller, &name).await)
}

async fn revoked(app: &App, caller: &Caller, name: &str) -> Outcome {
    needs_person(caller, WHAT)?;
    let agent = named(caller, name)?;
    let disabled = app.parts.directory.disable(&caller.principal, agent).await;
    Ok(account(&disabled?))
}

fn named(caller: &Caller, name: &str) -> Result<guildhall_core::Principal, ToolError> {
    caller
        .principal
        .agent(name)
        .map_err(|error| ToolError::bad_arguments(error.to_string()))
}

/// What is told of an account.
pub(super) fn account(account: &Account) -> Value {
    json!({
        "username": account.principal.name(),
        "operator": account.operator,
        "created_at": rfc3339_millis(account.created_at),
        "created_by": account.created_by.name(),
        "disabled_at": account.disabled_at.map(rfc3339_millis),
    })
}
