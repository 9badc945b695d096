//! The `team` pack: agents report, message each other and fetch their instructions (Lantern page, "MCP Tools").
//!
//! The four tools of the page have its names, arguments and shapes; `devorch_inbox`, `devorch_ack_message` and
//! `devorch_dispatch_task` make that what was sent is also received. Failures have the page's shape.

mod ack_message;
mod dispatch_task;
mod get_setup_instructions;
mod inbox;
mod instructions;
mod peer_message;
mod query_team_state;
mod report_status;

use std::path::PathBuf;
use std::sync::Arc;

use guildhall_core::team::{RoleName, SessionId};
use guildhall_core::{Clock, Ids};
use guildhall_store::team::{LONGEST_TEXT, Seen, Sent, Sightings, Who};
use guildhall_store::{Act, Error, Once, Team};
use guildhall_tools::{CallContext, ErrorKind, JsonObject, Pack, ToolError};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use instructions::{TemplateError, Templates};

/// What the tools work on.
#[derive(Clone)]
pub struct Coordination {
    /// The sessions and what is in them.
    pub team: Arc<dyn Team>,
    /// When things happen.
    pub clock: Arc<dyn Clock>,
    /// Ids of messages and reports.
    pub ids: Arc<dyn Ids>,
    /// The texts of set-up.
    pub templates: Templates,
    /// Told of every role that speaks, so that its last sight is known.
    pub sightings: Sightings,
}

/// The pack over `coordination`.
pub fn pack(coordination: &Coordination) -> Pack {
    let each = || coordination.clone();
    let tools = vec![
        report_status::tool(each()),
        peer_message::tool(each()),
        query_team_state::tool(each()),
        get_setup_instructions::tool(each()),
        inbox::tool(each()),
        ack_message::tool(each()),
        dispatch_task::tool(each()),
    ];
    Pack::new("team", tools).failure(failure)
}

/// The templates of the workspace whose root is `root`: its own, where it has some, else the built-in ones.
pub fn templates(root: Option<PathBuf>) -> Templates {
    Templates::new(root.map(|root| root.join(".guildhall/team")))
}

/// The page's shape of every failure.
fn failure(error: &ToolError) -> Value {
    json!({ "error": error.message, "status": "error" })
}

/// What every call says of its session beside the role.
struct Scope {
    session: String,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
}

/// That of the arguments of a call.
macro_rules! scope {
    ($arguments:ident) => {
        $crate::team::Scope {
            session: $arguments.session.clone(),
            repo_id: $arguments.repo_id.clone(),
            temporal_namespace: $arguments.temporal_namespace.clone(),
        }
    };
}
use scope;

/// For whom the call is. A name that is none is one that is not there (team page, "Receiving").
fn who(context: &CallContext, scope: Scope, role: Option<&str>) -> Result<Who, ToolError> {
    let bound = context.caller.bound.as_deref().cloned();
    let Ok(session) = scope.session.trim().parse::<SessionId>() else {
        return Err(session_not_found());
    };
    let role = role.map(agent).transpose()?;
    Ok(Who {
        session,
        role,
        bound,
        token: context.caller.token.as_deref().map(str::to_owned),
        repos: context.caller.repos.clone(),
        repo_id: scope.repo_id,
        namespace: scope.temporal_namespace,
    })
}

fn agent(role: &str) -> Result<RoleName, ToolError> {
    role.trim().parse().map_err(|_| agent_not_found())
}

fn session_not_found() -> ToolError {
    ToolError::not_found("Session not found")
}

fn agent_not_found() -> ToolError {
    ToolError::not_found("Agent not found")
}

/// What the store refused, in the page's words where it has some.
fn refused(error: Error) -> ToolError {
    match error {
        Error::Missing {
            what: "session", ..
        } => session_not_found(),
        Error::Missing { what: "agent", .. } => agent_not_found(),
        Error::NotAllowed(why) => ToolError::forbidden("Permission denied").hint(why + "."),
        error => error.into(),
    }
}

impl Coordination {
    /// The caller's act, now. `tool` and a key make it happen once; the key belongs to the role that is spoken for.
    fn act(
        &self,
        context: &CallContext,
        tool: &str,
        who: &Who,
        key: Option<String>,
        arguments: &impl Serialize,
    ) -> Result<Act, ToolError> {
        let act = Act::new(context.caller.principal.clone(), self.clock.now());
        let Some(key) = key else {
            return Ok(act);
        };
        let text = serde_json::to_vec(arguments).map_err(ToolError::internal)?;
        let role = who.role.as_ref().map_or("", RoleName::as_str);
        Ok(act.once(Once {
            tool: format!("{tool} {}/{role}", who.session),
            key,
            arguments: Sha256::digest(text).into(),
            repo: None,
        }))
    }

    /// An id nobody has.
    fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{}", self.ids.hex(16))
    }

    /// Notes that the one who speaks for a role is there.
    fn saw(&self, context: &CallContext, who: &Who) {
        let seen = match (&who.bound, context.caller.principal.is_agent()) {
            (Some(bound), _) => Seen::Bound(bound.clone()),
            (None, true) => Seen::Holder(context.caller.principal.clone()),
            (None, false) => return,
        };
        self.sightings.saw(seen, self.clock.now());
    }
}

/// A time as the page shows it: RFC 3339 in UTC, whole seconds, `Z`.
fn whole_seconds(at: Timestamp) -> String {
    format!("{at:.0}")
}

/// Refuses a text that is over the bound.
fn bounded(key: &str, text: Option<&str>) -> Result<(), ToolError> {
    match text {
        Some(text) if text.len() > LONGEST_TEXT => Err(ToolError::new(
            ErrorKind::TooLarge,
            format!(
                "'{key}' has {} bytes: allowed are {LONGEST_TEXT}",
                text.len()
            ),
        )),
        _ => Ok(()),
    }
}

/// Whether `key` is there as a text that is not blank.
fn has_text(arguments: &JsonObject, key: &str) -> bool {
    arguments
        .get(key)
        .and_then(Value::as_str)
        .is_some_and(|text| !text.trim().is_empty())
}

/// What a sender is told.
#[derive(JsonSchema, Serialize)]
struct SentAnswer {
    status: &'static str,
    message_id: String,
    to: String,
    /// delivered: handed to a recipient that waited; queued: it waits to be fetched
    delivery: &'static str,
}

impl From<Sent> for SentAnswer {
    fn from(sent: Sent) -> Self {
        Self {
            status: "ok",
            message_id: sent.id,
            to: sent.to.to_string(),
            delivery: if sent.delivered {
                "delivered"
            } else {
                "queued"
            },
        }
    }
}

/// A task as results show it.
#[derive(JsonSchema, Serialize)]
struct TaskView {
    task_id: String,
    state: String,
    summary: String,
}

impl From<guildhall_store::team::Task> for TaskView {
    fn from(task: guildhall_store::team::Task) -> Self {
        Self {
            task_id: task.id,
            state: task.state,
            summary: task.summary,
        }
    }
}

#[cfg(test)]
mod tests;
