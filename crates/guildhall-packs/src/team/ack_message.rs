//! `devorch_ack_message`: takes messages out of the inbox.

use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Coordination, refused, scope, who};

const NAME: &str = "devorch_ack_message";

#[derive(Deserialize, JsonSchema, Serialize)]
struct Arguments {
    /// Such as myproject-1
    session: String,
    /// Yours
    role: String,
    /// Of messages in your inbox
    #[schemars(length(min = 1, max = 500))]
    message_ids: Vec<String>,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Answer {
    status: &'static str,
    acknowledged: Vec<String>,
}

pub(super) fn tool(coordination: Coordination) -> Tool {
    Tool::new(
        NAME,
        "Acknowledge messages",
        "Say that you have dealt with messages of your inbox: they are offered no more, and their senders see it.",
    )
    .idempotent()
    .handler(move |context: CallContext, arguments: Arguments| {
        let coordination = coordination.clone();
        async move {
            let who = who(&context, scope!(arguments), Some(&arguments.role))?;
            let act = coordination.act(&context, NAME, &who, None, &arguments)?;
            coordination.saw(&context, &who);
            let done = coordination
                .team
                .acknowledge(act, who, arguments.message_ids)
                .await
                .map_err(refused)?;
            Ok::<_, ToolError>(Answer {
                status: "ok",
                acknowledged: done.ids,
            })
        }
    })
}
