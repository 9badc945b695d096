//! `ask_release`: gives a claim up.

use guildhall_tools::{CallContext, Tool, ToolError};

use super::{Holding, Queue, Touched, writes};
use crate::act::act;

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_release",
        "Release an ask",
        "Give up your claim so that others can take the ask.",
    );
    writes(tool).handler(move |context: CallContext, holding: Holding| {
        let queue = queue.clone();
        async move {
            let act = act(&context, &*queue.clock);
            let held = holding.held(&context)?;
            let released = queue.asks.release_ask(act, held).await?;
            Ok::<_, ToolError>(Touched::told_in(released, &context))
        }
    })
}
