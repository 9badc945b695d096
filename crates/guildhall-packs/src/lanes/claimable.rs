//! `ask_query_claimable`: what there is to do.

use guildhall_tools::{CallContext, JsonObject, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pages::Room;
use super::view::{AskView, OverlapView};
use super::{Queue, reads};

/// Asks of one answer.
const MOST: u32 = 100;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as `_repo`
    lane_id: String,
}

#[derive(JsonSchema, Serialize)]
struct Found {
    /// As `ask_get` shows them, long texts and lists cut; `touches_same_files` names who else does
    #[schemars(with = "Vec<JsonObject>")]
    asks: Vec<AskView>,
    /// There are more behind these
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    more: bool,
}

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_query_claimable",
        "Find work",
        "List the asks of a lane that you could claim now, best first, with who else touches the same files.",
    );
    reads(tool).handler(move |context: CallContext, arguments: Arguments| {
        let queue = queue.clone();
        async move {
            let found = queue.asks.claimable(
                context.caller.principal.clone(),
                queue.clock.now(),
                context.repo()?.name.clone(),
                arguments.lane_id.trim().to_owned(),
                MOST,
            );
            let mut found = found.await?;
            let mut answer = Found {
                asks: Vec::new(),
                more: found.more,
            };
            let budget = context.budget.bytes();
            let mut room = Room::beside(&answer, budget);
            for ask in found.asks {
                let overlaps = found.overlaps.remove(&ask.id).unwrap_or_default();
                let mut ask = AskView::in_list(ask, budget);
                let overlaps = overlaps.into_iter();
                ask.touches_same_files = overlaps
                    .map(|overlap| OverlapView::within(overlap, budget))
                    .collect();
                if !room.take(&ask) {
                    answer.more = true;
                    break;
                }
                answer.asks.push(ask);
            }
            Ok::<_, ToolError>(answer)
        }
    })
}
