//! `/api/tokens`: the tokens of the caller and of their agents, by id. A token itself is shown once, where it is made.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use guildhall_core::clock::rfc3339_millis;
use guildhall_core::suggest::did_you_mean;
use guildhall_core::team::Binding;
use guildhall_core::{Principal, RepoName};
use guildhall_store::{Principals as _, TokenInfo, Tokens as _};
use guildhall_tools::{Caller, Tool, ToolError};
use http::Uri;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Given, InPath, body_of, needs_operator, needs_person, refused_about};
use crate::auth::{Token, TokenLimits};
use crate::gate;
use crate::state::App;

const WHAT: &str = "manage tokens";

/// Longest life of a token that ends, in seconds: ten years.
const LONGEST_LIFE: i64 = 10 * 365 * 24 * 3600;

/// Most repositories or tools that one token can be limited to.
const MOST_NAMES: usize = 200;

/// What a new token is limited to, as a body gives it.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TokenLimits")]
pub(crate) struct Limits {
    /// How long it is good, in seconds; left out: until it is revoked
    expires_in_seconds: Option<i64>,
    /// The only repositories it reaches, `owner/name`
    repos: Option<Vec<String>>,
    /// The only tools it may call
    tools: Option<Vec<String>>,
}

impl Limits {
    /// The limits in the body, of which every one may be left out, as `caller` gives them.
    pub(super) async fn read(
        app: &App,
        caller: &Caller,
        body: Body,
    ) -> Result<TokenLimits, ToolError> {
        let form = "{ \"expires_in_seconds\"?: 86400, \"repos\"?: [\"owner/name\"], \"tools\"?: [\"local_query\"] }";
        let limits: Self = body_of(app, body, form).await?;
        limits.known(app, caller).await
    }

    /// The limits themselves, for a token that `caller` makes now.
    ///
    /// # Errors
    ///
    /// 400 for what no token can be limited to, for a tool of which there is none, and for a repository of which there is
    /// none or that the caller may not see, in the same words.
    pub(super) async fn known(self, app: &App, caller: &Caller) -> Result<TokenLimits, ToolError> {
        let limits = self.checked(app.parts.clock.now())?;
        if let Some(tools) = &limits.tools {
            let (mounted, host) = (app.parts.mounts.current(), app.repos().ok());
            let of_repos = host.map(|host| host.tools());
            let known = mounted.everything().tools();
            let of_repos = of_repos.iter().flat_map(|of| of.everything().tools());
            let known: Vec<&str> = known.chain(of_repos).map(Tool::name).collect();
            all_there("tools", "tool", tools, &known)?;
        }
        if let Some(repos) = &limits.repos {
            let visible = match app.repos() {
                Ok(host) => host.list(caller).await?,
                Err(_) => Vec::new(),
            };
            let known: Vec<&str> = visible.iter().map(|view| view.repo.as_str()).collect();
            all_there("repos", "repository", repos, &known)?;
        }
        Ok(limits)
    }

    /// The limits themselves, for a token that is made `now`. Whether there is what they name is not looked at.
    ///
    /// # Errors
    ///
    /// 400 for what no token can be limited to.
    pub(super) fn checked(self, now: jiff::Timestamp) -> Result<TokenLimits, ToolError> {
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

/// Whether every one of the names `given` under `key` is known. What there is not is more likely a slip than meant: the
/// token would be one for less than its maker thinks.
fn all_there(key: &str, what: &str, given: &[String], known: &[&str]) -> Result<(), ToolError> {
    let Some(missing) = given.iter().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let near = did_you_mean(missing, known.iter().copied());
    let mut refused =
        ToolError::bad_arguments(format!("'{key}' has `{missing}`: there is no such {what}"));
    refused
        .hints
        .extend(near.map(|name| format!("Did you mean `{name}`?")));
    Err(refused)
}

/// A new token of `principal`. Its text is in this answer and nowhere else.
pub(super) async fn issued(
    app: &App,
    caller: &Caller,
    principal: Principal,
    limits: TokenLimits,
) -> Answer<TokenView> {
    let directory = &app.parts.directory;
    let made = directory
        .issue(&caller.principal, principal.clone(), limits)
        .await;
    match made {
        Ok((token, kept)) => Ok(Given(TokenView::shown(&kept, &token))),
        Err(error) => Err(refused_about(app, &principal, error, None).await.into()),
    }
}

/// `GET /api/tokens`: the tokens of the caller and of their agents, each principal's newest first; with `?all=true` those
/// of everybody, for who operates the server.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Answer<TokenList> {
    needs_person(&caller, WHAT)?;
    let store = app.parts.directory.store();
    if wants_all(&uri)? {
        needs_operator(&caller, "list everybody's tokens")?;
        let tokens = store.all_tokens().await?;
        let tokens = tokens.iter().map(TokenView::from).collect();
        return Ok(Given(TokenList { tokens }));
    }
    let agents = store.agents(caller.principal.clone()).await?;
    let agents = agents.into_iter().map(|agent| agent.principal);
    let mut tokens = Vec::new();
    for holder in std::iter::once(caller.principal).chain(agents) {
        let its = store.tokens_of(holder).await?;
        tokens.extend(its.iter().map(TokenView::from));
    }
    Ok(Given(TokenList { tokens }))
}

fn wants_all(uri: &Uri) -> Result<bool, ToolError> {
    let query = uri.query().unwrap_or_default().as_bytes();
    let all = form_urlencoded::parse(query).find(|(name, _)| name == "all");
    match all.as_ref().map(|(_, value)| &**value) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(ToolError::bad_arguments(format!(
            "`all` must be `true` or `false`, not `{}`",
            gate::printable(other)
        ))),
    }
}

/// `DELETE /api/tokens/{id}`: the token is refused from now on.
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(id): InPath<String>,
) -> Answer<TokenView> {
    needs_person(&caller, WHAT)?;
    let revoked = app.parts.directory.revoke(&caller.principal, &id).await?;
    Ok(Given(TokenView::from(&revoked)))
}

/// Tokens, by what is known of them.
#[derive(JsonSchema, Serialize)]
pub(crate) struct TokenList {
    tokens: Vec<TokenView>,
}

/// What is told of a token: everything but the token, which stands in the one answer that makes it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Token")]
pub(crate) struct TokenView {
    id: String,
    /// Whom it speaks for
    username: String,
    created_at: String,
    created_by: String,
    /// When it was last used, to the minute
    last_used_at: Option<String>,
    /// Until when it is good; null is until it is revoked
    expires_at: Option<String>,
    revoked_at: Option<String>,
    /// The only repositories it reaches; null for all
    repos: Option<Vec<String>>,
    /// The only tools it may call; null for all
    tools: Option<Vec<String>>,
    /// The role of the team session it speaks for
    #[schemars(with = "Option<BoundTo>")]
    bound: Option<Box<Binding>>,
    /// The token itself, shown once
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// A role of a team session.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema of what the core writes")]
struct BoundTo {
    session: String,
    role: String,
}

impl TokenView {
    /// A token that was just made, with its text.
    pub(super) fn shown(kept: &TokenInfo, token: &Token) -> Self {
        Self {
            token: Some(token.expose().to_owned()),
            ..Self::from(kept)
        }
    }
}

impl From<&TokenInfo> for TokenView {
    fn from(token: &TokenInfo) -> Self {
        Self {
            id: token.id.clone(),
            username: token.principal.name().to_owned(),
            created_at: rfc3339_millis(token.created_at),
            created_by: token.created_by.name().to_owned(),
            last_used_at: token.last_used_at.map(rfc3339_millis),
            expires_at: token.expires_at.map(rfc3339_millis),
            revoked_at: token.revoked_at.map(rfc3339_millis),
            repos: token.repos.clone(),
            tools: token.tools.clone(),
            bound: token.bound.clone().map(Box::new),
            token: None,
        }
    }
}
