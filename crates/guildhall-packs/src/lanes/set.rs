//! `lane_set`: what an owner decides about a lane.

use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Keyed, Queue, TouchedLane};

#[derive(Deserialize, JsonSchema, Serialize)]
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
    .idempotent()
    .handler(move |context: CallContext, keyed: Keyed<Arguments>| {
        let queue = queue.clone();
        async move {
            let act = queue.act(&context, "lane_set", &keyed)?;
            let repo = context.repo()?.name.clone();
            let Arguments {
                lane_id,
                allow_self_review,
            } = keyed.arguments;
            let lane = queue
                .lanes
                .allow_self_review(act, repo, lane_id, allow_self_review);
            let lane = lane.await?;
            Ok::<_, ToolError>(TouchedLane::from(lane))
        }
    })
}
