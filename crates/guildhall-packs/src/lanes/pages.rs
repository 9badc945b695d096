//! Reading a lane's asks and history in pages: as much as the budget has room for, and where it goes on.

use guildhall_store::{AskFilter, Position};
use guildhall_tools::{CallContext, ToolError, json_len};
use serde::{Deserialize, Serialize};

use super::Queue;
use super::view::{AskView, Place, StepView};

/// Asks and steps that are read at once: what a page of MCP can hold, and enough that a whole lane is few statements.
const AT_ONCE: std::ops::RangeInclusive<usize> = 50..=1000;

/// The least JSON that an ask or a step takes.
const LEAST_ITEM: usize = 200;

/// The room that is left of a budget.
pub(super) struct Room {
    left: usize,
    at_once: u32,
    taken: usize,
}

impl Room {
    /// What `budget` bytes leave beside `frame`, and the cursor that may stand in it.
    pub(super) fn beside(frame: &impl Serialize, budget: usize) -> Self {
        let at_once = (budget / LEAST_ITEM).clamp(*AT_ONCE.start(), *AT_ONCE.end());
        Self {
            left: budget.saturating_sub(json_len(frame) + 400),
            at_once: u32::try_from(at_once).unwrap_or(u32::MAX),
            taken: 0,
        }
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Whether it took something.
    pub(super) fn is_begun(&self) -> bool {
        self.taken > 0
    }

    /// Whether there is room for `item`.
    pub(super) fn has(&self, item: &impl Serialize) -> bool {
        json_len(item) < self.left
    }

    /// Sets aside what stands around the items.
    pub(super) fn spend(&mut self, frame: &impl Serialize) {
        self.left = self.left.saturating_sub(json_len(frame));
    }

    pub(super) fn at_once(&self) -> u32 {
        self.at_once
    }

    /// Takes the room of `item`, if there is so much. The first item of a page always has room, so that paging ends; what
    /// is too large then is cut visibly.
    pub(super) fn take(&mut self, item: &impl Serialize) -> bool {
        if self.is_begun() && !self.has(item) {
            return false;
        }
        self.left = self.left.saturating_sub(json_len(item) + 1);
        self.taken += 1;
        true
    }
}

/// Where the asks of a lane go on: behind this one; `None` before the first.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct AfterAsk(pub(super) Option<String>);

/// The asks of a lane that have room; `Some` where to go on, if there are more.
pub(super) async fn asks(
    queue: &Queue,
    context: &CallContext,
    lane: &str,
    AfterAsk(mut after): AfterAsk,
    room: &mut Room,
) -> Result<(Vec<AskView>, Option<AfterAsk>), ToolError> {
    let (repo, budget) = (&context.repo()?.name, context.budget.bytes());
    let mut shown = Vec::new();
    loop {
        let page = queue.asks.asks_of_lane(
            repo.clone(),
            lane.to_owned(),
            AskFilter::default(),
            after.clone(),
            room.at_once(),
        );
        let page = page.await?;
        let last = page.len() < room.at_once() as usize;
        for ask in page {
            let ask = AskView::in_list(ask, budget);
            if !room.take(&ask) {
                return Ok((shown, Some(AfterAsk(after))));
            }
            after = Some(ask.id.clone());
            shown.push(ask);
        }
        if last {
            return Ok((shown, None));
        }
    }
}

/// The steps of a lane that have room; `Some` where to go on, if there are more.
pub(super) async fn history(
    queue: &Queue,
    context: &CallContext,
    lane: &str,
    after: Option<Place>,
    room: &mut Room,
) -> Result<(Vec<StepView>, Option<Place>), ToolError> {
    let repo = &context.repo()?.name;
    let mut after = after.map(Position::from).unwrap_or_default();
    let mut shown = Vec::new();
    loop {
        let page = queue
            .lanes
            .lane_history(repo.clone(), lane.to_owned(), after, room.at_once());
        let page = page.await?;
        let last = page.len() < room.at_once() as usize;
        for event in page {
            let position = event.position;
            let step = StepView::told_in(event, context);
            if !room.take(&step) {
                return Ok((shown, Some(after.into())));
            }
            after = position;
            shown.push(step);
        }
        if last {
            return Ok((shown, None));
        }
    }
}
