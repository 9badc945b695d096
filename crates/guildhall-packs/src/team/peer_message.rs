//! `devorch_peer_message`: from one role to another.

use guildhall_store::team::NewMessage;
use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Coordination, SentAnswer, agent, bounded, refused, scope, who};

const NAME: &str = "devorch_peer_message";

#[derive(Deserialize, JsonSchema, Serialize)]
struct Arguments {
    /// Such as myproject-1
    session: String,
    /// Yours
    from_role: String,
    /// The recipient's
    to_role: String,
    /// At most 64 KiB
    message: String,
    /// The task it is about
    task_id: Option<String>,
    /// What exactly the recipient should do
    requested_action: Option<String>,
    /// Such as high
    importance: Option<String>,
    /// The message it answers
    reply_to: Option<String>,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
    /// Makes a retry safe: the same key gives the first answer
    #[serde(skip_serializing)]
    idempotency_key: Option<String>,
}

pub(super) fn tool(coordination: Coordination) -> Tool {
    Tool::new(
        NAME,
        "Message a teammate",
        "Send a message to another role of your session: a question, a hand-over, a request for review. It is kept until \
         the recipient acknowledges it.",
    )
    .alias("info", "message")
    .handler(move |context: CallContext, arguments: Arguments| {
        let coordination = coordination.clone();
        async move { send(&coordination, &context, arguments).await }
    })
}

async fn send(
    coordination: &Coordination,
    context: &CallContext,
    mut arguments: Arguments,
) -> Result<SentAnswer, ToolError> {
    bounded("message", Some(&arguments.message))?;
    bounded("requested_action", arguments.requested_action.as_deref())?;
    let who = who(context, scope!(arguments), Some(&arguments.from_role))?;
    let to = agent(&arguments.to_role)?;
    let key = arguments.idempotency_key.take();
    let act = coordination.act(context, NAME, &who, key, &arguments)?;
    coordination.saw(context, &who);
    let message = NewMessage {
        id: coordination.id("msg"),
        to,
        body: arguments.message,
        task: arguments.task_id,
        requested_action: arguments.requested_action,
        importance: arguments.importance,
        reply_to: arguments.reply_to,
    };
    let sent = coordination.team.send(act, who, message).await;
    Ok(sent.map_err(refused)?.into())
}
