//! `ask_release`: gives a claim up.

use guildhall_tools::{CallContext, Tool, ToolError};

use super::{Holding, Keyed, Queue, Touched, writes};

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_release",
        "Release an ask",
        "Give up your claim so that others can take the ask.",
    );
    writes(tool).handler(move |context: CallContext, keyed: Keyed<Holding>| {
        let queue = queue.clone();
        async move {
            let act = queue.act(&context, "ask_release", &keyed)?;
            let held = keyed.arguments.held(&context)?;
            let released = queue.asks.release_ask(act, held).await?;
            Ok::<_, ToolError>(Touched::from(released))
        }
    })
}
