//! `ask_renew`: keeps a claim.

use guildhall_tools::{CallContext, Tool, ToolError};

use super::{Holding, Queue, Touched, writes};
use crate::act::act;

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_renew",
        "Renew a claim",
        "Let your claim live on while you work.",
    );
    writes(tool)
        .idempotent()
        .handler(move |context: CallContext, holding: Holding| {
            let queue = queue.clone();
            async move {
                let act = act(&context, &*queue.clock);
                let held = holding.held(&context)?;
                let renewed = queue.asks.renew_ask(act, held, queue.rules.lease);
                Ok::<_, ToolError>(Touched::told_in(renewed.await?, &context))
            }
        })
}
