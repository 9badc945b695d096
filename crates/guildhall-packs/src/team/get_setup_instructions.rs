//! `devorch_get_setup_instructions`: what an agent is told when it begins in a role.

use guildhall_core::principal::is_agent_name;
use guildhall_store::team::Claim;
use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Coordination, refused, scope, who};

const NAME: &str = "devorch_get_setup_instructions";

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as myproject-1
    session: String,
    /// The one you take
    role: String,
    /// Your command line's family: claude, codex, gemini, opencode, goose
    agent: String,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
    /// Replace the agent that holds the role
    takeover: Option<bool>,
}

#[derive(JsonSchema, Serialize)]
struct Answer {
    instructions: String,
    status: &'static str,
}

pub(super) fn tool(coordination: Coordination) -> Tool {
    Tool::new(
        NAME,
        "Get set-up instructions",
        "Take a role in a session and get its instructions: who you are, what to call next, your open tasks and unread \
         messages. Call it first.",
    )
    .idempotent()
    .handler(move |context: CallContext, arguments: Arguments| {
        let coordination = coordination.clone();
        async move { set_up(&coordination, &context, arguments).await }
    })
}

async fn set_up(
    coordination: &Coordination,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Answer, ToolError> {
    let who = who(context, scope!(arguments), Some(&arguments.role))?;
    let agent = arguments.agent.trim().to_lowercase();
    if !is_agent_name(&agent) {
        return Err(ToolError::bad_arguments(format!(
            "'agent' must name a command line such as claude or codex in 1 to 31 of a-z, 0-9 and `-`, not {}",
            serde_json::Value::from(agent.chars().take(80).collect::<String>())
        )));
    }
    let claim = Claim {
        agent,
        takeover: arguments.takeover.unwrap_or(false),
        id: coordination.id("his"),
    };
    let act = coordination.act(context, NAME, &who, None, &())?;
    let set_up = coordination.team.set_up(act, who, claim).await;
    let set_up = set_up.map_err(refused)?;
    let instructions = coordination.templates.instructions(&set_up).await;
    Ok(Answer {
        instructions: instructions.map_err(ToolError::internal)?,
        status: "ok",
    })
}
