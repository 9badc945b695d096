//! `lane_set`: what an owner decides about a lane.

use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Queue, TouchedLane};
use crate::act::act;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    lane_id: String,
    /// Whether people may review what they or their agents wrote
    allow_self_review: bool,
}

pub(super) fn tool(queue: Queue) -> Tool {
    Tool::new(
        "lane_set",
        "Set a lane's rules",
        "Allow or stop self-review in a lane. Only an owner in person may.",
    )
    .scope(Scope::RepoOwnerInPerson)
    .keyed_by_store()
    .idempotent()
    .handler(move |context: CallContext, arguments: Arguments| {
        let queue = queue.clone();
        async move {
            let act = act(&context, &*queue.clock);
            let repo = context.repo()?.name.clone();
            let Arguments {
                lane_id,
                allow_self_review,
            } = arguments;
            let lane = queue
                .lanes
                .allow_self_review(act, repo, lane_id, allow_self_review);
            let lane = lane.await?;
            Ok::<_, ToolError>(TouchedLane::from(lane))
        }
    })
}
