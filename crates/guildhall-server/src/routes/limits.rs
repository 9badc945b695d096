//! What a token with limits reaches: each route says it of itself, and the gate holds the token against it.
//!
//! A token can be limited to some tools, to some repositories, and to one role of a team session. A route that says
//! nothing is for tokens without limits.

use guildhall_tools::{Caller, Catalog, ToolError};

use crate::state::App;

/// What together tell all that a clone does: who committed what, when, and every file as it was.
const TOLD_BY_A_CLONE: [&str; 3] = ["git_log", "git_diff", "git_show_file"];

/// What tells of a team session.
const TELLS_OF_SESSIONS: &str = "devorch_query_team_state";

/// How far a token with limits reaches on a route.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// Not at all: the route makes, changes or tells what is beyond any limit.
    Unlimited,
    /// As far as any token: the route tells of the server and of the token itself.
    Own,
    /// To its tools: each is listed and called within the token's limits, in its repositories.
    Tools,
    /// To its repositories, if one of its tools works in a repository.
    Repos,
    /// To its repositories, if it has the tools that tell all that a clone tells.
    Clone,
    /// To the sessions of its repositories, and a bound one to its own, if it has the tool that tells of sessions.
    Sessions,
}

impl Reach {
    /// Refuses `caller` what no limit of its token lets through. Which repository and which session it is about the
    /// handlers find out, with [`Caller::reaches`] and what the token is bound to.
    ///
    /// # Errors
    ///
    /// 403.
    pub(crate) fn hold(self, app: &App, caller: &Caller) -> Result<(), ToolError> {
        let limited = |why: &str| Err(ToolError::forbidden(format!("This token is limited {why}")));
        let has = |tool: &str| {
            caller
                .tools
                .as_ref()
                .is_none_or(|tools| tools.contains(tool))
        };
        match self {
            Self::Unlimited if caller.is_limited() => limited(
                "to some tools or repositories or to a role of a team session; this needs one without limits",
            ),
            Self::Repos if caller.tools.is_some() && !works_in_one(app, caller) => {
                limited("to tools, none of which works in a repository")
            }
            Self::Clone if !TOLD_BY_A_CLONE.iter().all(|tool| has(tool)) => limited(&format!(
                "to tools; to clone and fetch it needs {} among them",
                TOLD_BY_A_CLONE.join(", ")
            )),
            Self::Sessions if !has(TELLS_OF_SESSIONS) => limited(&format!(
                "to tools; to see team sessions it needs {TELLS_OF_SESSIONS} among them"
            )),
            Self::Own
            | Self::Tools
            | Self::Unlimited
            | Self::Repos
            | Self::Clone
            | Self::Sessions => Ok(()),
        }
    }
}

/// Whether one of the caller's tools works in a repository.
fn works_in_one(app: &App, caller: &Caller) -> bool {
    let works = |catalog: &Catalog| {
        let mut tools = catalog.listed(caller);
        tools.any(|tool| tool.scope().repo_role().is_some())
    };
    app.repos()
        .is_ok_and(|repos| works(repos.tools().everything()))
}
