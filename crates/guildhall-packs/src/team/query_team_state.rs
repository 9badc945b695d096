//! `devorch_query_team_state`: who is there, and at what.

use guildhall_core::team::RoleName;
use guildhall_store::team::{AWAY_AFTER, Agent, Happened, MOST_HISTORY, TeamState};
use guildhall_tools::{CallContext, Tool, ToolError, json_len};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Coordination, TaskView, refused, scope, who, whole_seconds};

/// Entries of the history where the call does not say.
const USUAL_HISTORY: u32 = 50;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as myproject-1
    session: String,
    /// Who asks; all roles are shown
    role: Option<String>,
    /// Also what happened, newest first
    include_history: Option<bool>,
    /// Default 50
    #[schemars(range(min = 1, max = 500))]
    history_limit: Option<u32>,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Answer {
    agents: Vec<AgentView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<Entry>>,
    /// Older entries did not fit
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

#[derive(JsonSchema, Serialize)]
struct AgentView {
    role: String,
    status: &'static str,
    last_seen: String,
    /// Silent for a quarter of an hour
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    away: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<i64>,
    /// Its deliveries are held
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    paused: bool,
    /// The person who took it over
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Entry {
    at: String,
    role: String,
    event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
}

pub(super) fn tool(coordination: Coordination) -> Tool {
    Tool::new(
        "devorch_query_team_state",
        "Query the team's state",
        "See which roles of your session are active, what they are at and when they were last seen; with include_history \
         also what happened.",
    )
    .read_only()
    .bounded()
    .handler(move |context: CallContext, arguments: Arguments| {
        let coordination = coordination.clone();
        async move { look(&coordination, &context, arguments).await }
    })
}

async fn look(
    coordination: &Coordination,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Answer, ToolError> {
    // Who asks needs no claim; a name that no role has is still none.
    let asks = arguments.role.filter(|role| !role.trim().is_empty());
    let who = who(context, scope!(arguments), asks.as_deref())?;
    let history = arguments.include_history.unwrap_or(false);
    let limit = arguments.history_limit.unwrap_or(USUAL_HISTORY);
    let limit = history.then(|| limit.min(MOST_HISTORY));
    coordination.saw(context, &who);
    let caller = context.caller.principal.clone();
    let state = coordination.team.team_state(caller, who, limit).await;
    let state = state.map_err(refused)?;
    Ok(view(
        state,
        coordination.clock.now(),
        context.budget.bytes(),
    ))
}

/// The answer; what of the history does not fit `bytes` is its oldest part.
fn view(state: TeamState, now: Timestamp, bytes: usize) -> Answer {
    let agents: Vec<_> = state
        .agents
        .into_iter()
        .map(|agent| agent_view(agent, now))
        .collect();
    let mut more = false;
    let history = state.history.map(|history| {
        let all = history.len();
        let mut room = bytes.saturating_sub(json_len(&agents) + 64);
        let fits = |entry: &Entry| {
            let size = json_len(entry) + 1;
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        };
        let fitting: Vec<_> = history
            .into_iter()
            .map(Entry::from)
            .take_while(fits)
            .collect();
        more = fitting.len() < all;
        fitting
    });
    Answer {
        agents,
        history,
        more,
    }
}

fn agent_view(agent: Agent, now: Timestamp) -> AgentView {
    AgentView {
        role: RoleName::to_string(&agent.role),
        status: agent.status.as_str(),
        last_seen: whole_seconds(agent.last_seen),
        away: now.duration_since(agent.last_seen) > AWAY_AFTER,
        task: agent.task.map(TaskView::from),
        summary: agent.summary,
        unread: (agent.unread > 0).then_some(agent.unread),
        paused: agent.paused,
        held_by: agent.held_by.map(|person| person.name().to_owned()),
    }
}

impl From<Happened> for Entry {
    fn from(happened: Happened) -> Self {
        Self {
            at: whole_seconds(happened.at),
            role: happened.role.to_string(),
            event: happened.event,
            status: happened.status,
            summary: happened.summary,
            task_id: happened.task,
        }
    }
}
