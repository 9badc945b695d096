//! `lane_close`: ends a lane.

use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Queue, TouchedLane, writes};
use crate::act::act;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    lane_id: String,
}

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "lane_close",
        "Close a lane",
        "Close a lane for good: nothing is posted or claimed in it any more. Its coordinators may.",
    );
    writes(tool).destructive().idempotent().handler(
        move |context: CallContext, arguments: Arguments| {
            let queue = queue.clone();
            async move {
                let act = act(&context, &*queue.clock);
                let repo = context.repo()?.name.clone();
                let lane = queue.lanes.close_lane(act, repo, arguments.lane_id);
                let lane = lane.await?;
                Ok::<_, ToolError>(TouchedLane::from(lane))
            }
        },
    )
}
