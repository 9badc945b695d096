//! `ask_renew`: keeps a claim.

use guildhall_tools::{CallContext, Tool, ToolError};

use super::{Holding, Keyed, Queue, Touched, writes};

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_renew",
        "Renew a claim",
        "Let your claim live on while you work.",
    );
    writes(tool)
        .idempotent()
        .handler(move |context: CallContext, keyed: Keyed<Holding>| {
            let queue = queue.clone();
            async move {
                let act = queue.act(&context, "ask_renew", &keyed)?;
                let held = keyed.arguments.held(&context)?;
                let renewed = queue.asks.renew_ask(act, held, queue.rules.lease);
                Ok::<_, ToolError>(Touched::from(renewed.await?))
            }
        })
}
