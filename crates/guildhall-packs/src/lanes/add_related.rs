//! `lane_add_related`: records a lane that was created from this one.

use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Queue, TouchedLane, writes};
use crate::act::act;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    lane_id: String,
    related_lane_id: String,
}

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "lane_add_related",
        "Relate a lane",
        "Record a lane created from this one in its `related_lanes`. Its coordinators may.",
    );
    writes(tool)
        .idempotent()
        .handler(move |context: CallContext, arguments: Arguments| {
            let queue = queue.clone();
            async move {
                let act = act(&context, &*queue.clock);
                let repo = context.repo()?.name.clone();
                let Arguments {
                    lane_id,
                    related_lane_id,
                } = arguments;
                let lane = queue.lanes.relate_lane(act, repo, lane_id, related_lane_id);
                let lane = lane.await?;
                Ok::<_, ToolError>(TouchedLane::from(lane))
            }
        })
}
