//! `GET /api/whoami`: whom the token speaks for, and how far it reaches.

use std::collections::BTreeSet;

use axum::Extension;
use guildhall_tools::Caller;
use schemars::JsonSchema;
use serde::Serialize;

use super::Given;

/// Whom a token speaks for.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Whoami {
    /// The principal
    username: String,
    /// The person it is, or whose agent it is
    user: String,
    /// The agent's name
    agent: Option<String>,
    /// Whether it is the person who operates the server
    operator: bool,
    /// The only repositories the token reaches; null for all
    repos: Option<BTreeSet<String>>,
    /// The only tools it may call; null for all
    tools: Option<BTreeSet<String>>,
}

pub(crate) async fn whoami(Extension(caller): Extension<Caller>) -> Given<Whoami> {
    Given(Whoami {
        username: caller.principal.name().to_owned(),
        user: caller.principal.user_address().to_owned(),
        agent: caller.principal.agent_name().map(str::to_owned),
        operator: caller.operator,
        repos: caller.repos.as_deref().cloned(),
        tools: caller.tools.as_deref().cloned(),
    })
}
