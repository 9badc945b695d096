//! `ask_claim`: takes an ask.

use guildhall_tools::{CallContext, Tool, ToolError};

use super::{Named, Queue, Touched, writes};
use crate::act::act;

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_claim",
        "Claim an ask",
        "Claim an ask, so that nobody else does it. Renew the claim before it expires, and answer with its fence.",
    );
    writes(tool).handler(move |context: CallContext, named: Named| {
        let queue = queue.clone();
        async move {
            let act = act(&context, &*queue.clock);
            let ask = named.reference(&context)?;
            let claimed = queue.asks.claim_ask(act, ask, queue.rules.lease);
            Ok::<_, ToolError>(Touched::told_in(claimed.await?, &context))
        }
    })
}
