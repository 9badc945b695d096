//! `lane_list`: every lane with its history.

use guildhall_tools::{CallContext, JsonObject, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pages::{self, Room};
use super::view::{LaneView, Place};
use super::{Queue, reads};

/// Lanes that are read at once.
const AT_ONCE: u32 = 100;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    /// As `lane_get` shows them, without asks
    #[schemars(with = "Vec<JsonObject>")]
    lanes: Vec<LaneView>,
    /// Reads on, in the middle of a lane's history where that is long
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Where the next page begins: behind a lane, and in the history of the one after it.
#[derive(Default, Deserialize, Serialize)]
struct Next {
    after: Option<String>,
    history: Option<Place>,
}

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "lane_list",
        "List the lanes",
        "List every lane of the repository with what happened in it, the oldest first. `_repo` is the repository's own.",
    );
    reads(tool)
        .for_anybody()
        .handler(move |context: CallContext, arguments: Arguments| {
            let queue = queue.clone();
            async move { read(&queue, &context, arguments).await }
        })
}

async fn read(
    queue: &Queue,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Page, ToolError> {
    let mut next: Next = context
        .cursors
        .resume(arguments.cursor.as_deref())?
        .unwrap_or_default();
    let repo = &context.repo()?.name;
    let mut page = Page {
        lanes: Vec::new(),
        next_cursor: None,
    };
    let mut room = Room::beside(&page, context.budget.bytes());
    loop {
        let lanes = queue
            .lanes
            .lanes(repo.clone(), next.after.clone(), AT_ONCE)
            .await?;
        let last = lanes.len() < AT_ONCE as usize;
        for lane in lanes {
            let mut lane = LaneView::from(lane).told_to(&context.caller);
            if !room.take(&lane) {
                page.next_cursor = Some(context.cursors.seal(&next));
                return Ok(page);
            }
            let (steps, more) =
                pages::history(queue, context, &lane.id, next.history.take(), &mut room).await?;
            lane.history = Some(steps);
            let id = lane.id.clone();
            page.lanes.push(lane);
            if more.is_some() {
                next.history = more;
                page.next_cursor = Some(context.cursors.seal(&next));
                return Ok(page);
            }
            next.after = Some(id);
        }
        if last {
            return Ok(page);
        }
    }
}
