//! `lane_get`: one lane with its asks and its history.

use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pages::{self, AfterAsk, Room};
use super::view::{LaneView, Place};
use super::{Queue, reads};

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    lane_id: String,
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    lane: LaneView,
    /// Reads on: first the asks, then the history
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Where the next page begins.
#[derive(Deserialize, Serialize)]
enum Next {
    Asks(AfterAsk),
    History(Option<Place>),
}

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "lane_get",
        "Read a lane",
        "Read a lane with its asks and everything that happened in it.",
    );
    reads(tool).handler(move |context: CallContext, arguments: Arguments| {
        let queue = queue.clone();
        async move { read(&queue, &context, arguments).await }
    })
}

async fn read(
    queue: &Queue,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Page, ToolError> {
    let start = context
        .cursors
        .resume(arguments.cursor.as_deref())?
        .unwrap_or(Next::Asks(AfterAsk::default()));
    let (repo, id) = (&context.repo()?.name, arguments.lane_id.trim());
    let lane = queue.lanes.lane(repo.clone(), id.to_owned()).await?;
    let lane = lane.ok_or_else(|| ToolError::not_found(format!("There is no lane `{id}`")))?;
    let mut page = Page {
        lane: lane.into(),
        next_cursor: None,
    };
    let mut room = Room::beside(&page, context.budget.bytes());
    let (history, mut next) = match start {
        Next::Asks(after) => {
            let (asks, more) = pages::asks(queue, context, id, after, &mut room).await?;
            page.lane.asks = Some(asks);
            (None, more.map(Next::Asks))
        }
        Next::History(after) => (after, None),
    };
    if next.is_none() {
        let (steps, more) = pages::history(queue, context, id, history, &mut room).await?;
        page.lane.history = Some(steps);
        next = more.map(|place| Next::History(Some(place)));
    }
    page.next_cursor = next.map(|next| context.cursors.seal(&next));
    Ok(page)
}
