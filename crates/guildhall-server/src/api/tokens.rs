//! `/api/tokens`: the tokens of the caller and of their agents, by id. A token itself is shown once, where it is made.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use guildhall_core::clock::rfc3339_millis;
use guildhall_core::{Principal, RepoName};
use guildhall_store::{Principals as _, TokenInfo, Tokens as _};
use guildhall_tools::{Caller, ToolError};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Outcome, body_of, needs_person, refused_about, respond};
use crate::auth::TokenLimits;
use crate::state::App;

const WHAT: &str = "manage tokens";

/// Longest life of a token that ends, in seconds: ten years.
const LONGEST_LIFE: i64 = 10 * 365 * 24 * 3600;

/// Most repositories or tools that one token can be limited to.
const MOST_NAMES: usize = 200;

/// What a new token is limited to, as a body gives it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    expires_in_seconds: Option<i64>,
    repos: Option<Vec<String>>,
    tools: Option<Vec<String>>,
}

impl Limits {
    /// The limits in the body, of which every one may be left out.
    pub(super) async fn read(app: &App, body: Body) -> Result<TokenLimits, ToolError> {
        let form = "{ \"expires_in_seconds\"?: 86400, \"repos\"?: [\"owner/name\"], \"tools\"?: [\"local_query\"] }";
        let limits: Self = body_of(app, body, form).await?;
        limits.checked(app.parts.clock.now())
    }

    fn checked(self, now: jiff::Timestamp) -> Result<TokenLimits, ToolError> {
        let expires_at = match self.expires_in_seconds {
            Some(seconds) if !(1..=LONGEST_LIFE).contains(&seconds) => {
                return Err(ToolError::bad_arguments(format!(
                    "'expires_in_seconds' is {seconds}: allowed are 1 to {LONGEST_LIFE}"
                )));
            }
            seconds => seconds.map(|seconds| now + SignedDuration::from_secs(seconds)),
        };
        let repos = names("repos", "owner/name", self.repos, |name| {
            name.parse::<RepoName>().is_ok()
        })?;
        let tools = names("tools", "local_query", self.tools, is_tool_name)?;
        Ok(TokenLimits {
            expires_at,
            repos,
            tools,
            bound: None,
        })
    }
}

fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The names of one limit. An empty list would be a token for nothing, and is more likely meant as one without limits.
fn names(
    key: &str,
    example: &str,
    given: Option<Vec<String>>,
    is_name: impl Fn(&str) -> bool,
) -> Result<Option<Vec<String>>, ToolError> {
    let Some(mut names) = given else {
        return Ok(None);
    };
    if !(1..=MOST_NAMES).contains(&names.len()) {
        return Err(ToolError::bad_arguments(format!(
            "'{key}' has {} names: allowed are 1 to {MOST_NAMES}, or leave it out for no limit",
            names.len()
        )));
    }
    if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
        return Err(ToolError::bad_arguments(format!(
            "'{key}' has `{wrong}`: expected names such as `{example}`"
        )));
    }
    names.sort();
    names.dedup();
    Ok(Some(names))
}

/// A new token of `principal`. Its text is in this answer and nowhere else.
pub(super) async fn issued(
    app: &App,
    caller: &Caller,
    principal: Principal,
    limits: TokenLimits,
) -> Outcome {
    let directory = &app.parts.directory;
    let made = directory
        .issue(&caller.principal, principal.clone(), limits)
        .await;
    let (token, kept) = match made {
        Ok(made) => made,
        Err(error) => return Err(refused_about(app, &principal, error, None).await),
    };
    let mut answer = described(&kept);
    answer["token"] = json!(token.expose());
    Ok(answer)
}

/// `GET /api/tokens`: the tokens of the caller and of their agents, each principal's newest first.
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
    let mut tokens = Vec::new();
    let holders = agents.into_iter().map(|agent| agent.principal);
    for holder in std::iter::once(caller.principal.clone()).chain(holders) {
        let its = store.tokens_of(holder).await?;
        tokens.extend(its.iter().map(described));
    }
    Ok(json!({ "tokens": tokens }))
}

/// `DELETE /api/tokens/{id}`: the token is refused from now on.
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    respond(revoked(&app, &caller, &id).await)
}

async fn revoked(app: &App, caller: &Caller, id: &str) -> Outcome {
    needs_person(caller, WHAT)?;
    let revoked = app.parts.directory.revoke(&caller.principal, id).await;
    Ok(described(&revoked?))
}

/// What is told of a token: everything but the token.
fn described(token: &TokenInfo) -> Value {
    json!({
        "id": token.id,
        "username": token.principal.name(),
        "created_at": rfc3339_millis(token.created_at),
        "created_by": token.created_by.name(),
        "last_used_at": token.last_used_at.map(rfc3339_millis),
        "expires_at": token.expires_at.map(rfc3339_millis),
        "revoked_at": token.revoked_at.map(rfc3339_millis),
        "repos": token.repos,
        "tools": token.tools,
        "bound": token.bound,
    })
}
