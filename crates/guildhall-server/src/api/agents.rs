//! `/api/agents`: the caller's own agents and their tokens. Only a person may.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use guildhall_core::Principal;
use guildhall_core::clock::rfc3339_millis;
use guildhall_store::{Account, Principals as _, Tokens as _};
use guildhall_tools::{Caller, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tokens::{Limits, TokenView, issued};
use super::{Answer, Given, InPath, body_of, needs_person, refused_about};
use crate::auth::AuthError;
use crate::state::App;

const WHAT: &str = "manage agents";
const ANOTHER: &str = "`guildhall agent token` makes another token of an agent.";

/// Which agent's token file is wanted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WantedTokenFile")]
pub(crate) struct Wanted {
    /// The agent's name
    name: String,
}

/// Where a token stands.
#[derive(JsonSchema, Serialize)]
pub(crate) struct TokenFile {
    /// Whose it is
    username: String,
    /// The file, on the server's machine
    token_file: String,
}

/// What is told of an account.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Account")]
pub(crate) struct AccountView {
    username: String,
    /// Whether they operate the server
    operator: bool,
    created_at: String,
    created_by: String,
    /// Since when they may do nothing
    disabled_at: Option<String>,
}

impl From<&Account> for AccountView {
    fn from(account: &Account) -> Self {
        Self {
            username: account.principal.name().to_owned(),
            operator: account.operator,
            created_at: rfc3339_millis(account.created_at),
            created_by: account.created_by.name().to_owned(),
            disabled_at: account.disabled_at.map(rfc3339_millis),
        }
    }
}

/// The caller's agents.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Agents {
    agents: Vec<Agent>,
}

/// One of them.
#[derive(JsonSchema, Serialize)]
struct Agent {
    #[serde(flatten)]
    account: AccountView,
    /// How many of its tokens are good
    tokens: usize,
    last_used_at: Option<String>,
}

/// `POST /api/agents`: the token file of one of the caller's agents, for `guildhall connect` and `guildhall mcp`.
///
/// The token itself is never in the answer: it stands in a 0600 file, and the answer says which.
pub(crate) async fn token_file(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Answer<TokenFile> {
    needs_person(&caller, "make agents")?;
    let wanted: Wanted = body_of(&app, body, "{ \"name\": \"<agent>\" }").await?;
    let made = app
        .parts
        .authenticator
        .issue_agent(&caller.principal, &wanted.name)
        .await;
    let issued = match made {
        Ok(issued) => issued,
        Err(AuthError::Name(error)) => {
            return Err(ToolError::bad_arguments(error.to_string()).into());
        }
        Err(error @ AuthError::NotHere(_)) => {
            return Err(ToolError::forbidden(error.to_string())
                .hint("`guildhall agent create` prints a token instead of keeping it in a file.")
                .into());
        }
        Err(AuthError::Store(error)) => {
            let agent = named(&caller, &wanted.name)?;
            return Err(refused_about(&app, &agent, error, Some(ANOTHER))
                .await
                .into());
        }
        Err(error @ AuthError::Io { .. }) => {
            return Err(ToolError::internal(format!("{error:?}")).into());
        }
    };
    Ok(Given(TokenFile {
        username: issued.principal.name().to_owned(),
        token_file: issued.path.display().to_string(),
    }))
}

/// `GET /api/agents`: the caller's agents.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Answer<Agents> {
    needs_person(&caller, WHAT)?;
    let store = app.parts.directory.store();
    let mut agents = Vec::new();
    for account in store.agents(caller.principal).await? {
        let tokens = store.tokens_of(account.principal.clone()).await?;
        let now = app.parts.clock.now();
        let good = tokens.iter().filter(|token| {
            token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end)
        });
        let used = tokens.iter().filter_map(|token| token.last_used_at).max();
        agents.push(Agent {
            account: AccountView::from(&account),
            tokens: good.count(),
            last_used_at: used.map(rfc3339_millis),
        });
    }
    Ok(Given(Agents { agents }))
}

/// `POST /api/agents/{name}`: a new agent of the caller with its first token, which is in the answer and nowhere else. One
/// that was revoked comes back; its earlier tokens stay refused.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(name): InPath<String>,
    body: Body,
) -> Answer<TokenView> {
    needs_person(&caller, WHAT)?;
    let limits = Limits::read(&app, &caller, body).await?;
    let agent = named(&caller, &name)?;
    let directory = &app.parts.directory;
    if let Err(error) = directory.add_agent(&caller.principal, agent.clone()).await {
        return Err(refused_about(&app, &agent, error, Some(ANOTHER))
            .await
            .into());
    }
    issued(&app, &caller, agent, limits).await
}

/// `POST /api/agents/{name}/tokens`: a fresh token of one of the caller's agents. Its earlier ones stay good.
pub(crate) async fn token(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(name): InPath<String>,
    body: Body,
) -> Answer<TokenView> {
    needs_person(&caller, WHAT)?;
    let limits = Limits::read(&app, &caller, body).await?;
    let agent = named(&caller, &name)?;
    issued(&app, &caller, agent, limits).await
}

/// `DELETE /api/agents/{name}`: one of the caller's agents may do nothing from now on.
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(name): InPath<String>,
) -> Answer<AccountView> {
    needs_person(&caller, WHAT)?;
    let agent = named(&caller, &name)?;
    let disabled = app
        .parts
        .directory
        .disable(&caller.principal, agent)
        .await?;
    Ok(Given(AccountView::from(&disabled)))
}

fn named(caller: &Caller, name: &str) -> Result<Principal, ToolError> {
    caller
        .principal
        .agent(name)
        .map_err(|error| ToolError::bad_arguments(error.to_string()))
}
