//! `ask_get`: one ask with its history and its changeset.

use guildhall_core::RepoName;
use guildhall_store::{Ask, Held};
use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pages::Room;
use super::view::{AskView, ChangesetView, Content, StepView};
use super::{Named, Queue, reads};
use crate::paged::{self, Position};

/// Steps that are read at once.
const AT_ONCE: u32 = 200;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    #[serde(flatten)]
    named: Named,
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    ask: AskView,
    /// Oldest first
    history: Vec<StepView>,
    /// What the ask is about, or what answered it
    #[serde(skip_serializing_if = "Option::is_none")]
    changeset: Option<ChangesetView>,
    /// Reads on: first the history, then the files of the changeset
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Where the next page begins.
#[derive(Deserialize, Serialize)]
enum Next {
    History(i64),
    Files(Position),
}

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_get",
        "Read an ask",
        "Read an ask with its history and its changeset's files. Whoever holds it keeps their claim alive by it.",
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
    let start = match &arguments.cursor {
        Some(cursor) => context.cursors.open(cursor)?,
        None => Next::History(0),
    };
    let (repo, ask) = (
        &context.repo()?.name,
        find(queue, context, arguments.named).await?,
    );
    let about = changeset_of(&ask);
    let mut page = Page {
        ask: ask.into(),
        history: Vec::new(),
        changeset: None,
        next_cursor: None,
    };
    let mut room = Room::beside(&page, context.budget.bytes());
    let files = match start {
        Next::History(after) => match history(queue, repo, &mut page, after, &mut room).await? {
            Some(after) => {
                page.next_cursor = Some(context.cursors.seal(&Next::History(after)));
                return Ok(page);
            }
            None => Position::default(),
        },
        Next::Files(position) => position,
    };
    let Some(id) = about else { return Ok(page) };
    if let Some(changeset) = queue.asks.changeset(repo.clone(), id).await? {
        let (changeset, contents) = ChangesetView::apart(changeset);
        let (changeset, next) = fill(changeset, &contents, files, &room);
        page.changeset = Some(changeset);
        page.next_cursor = next.map(|next| context.cursors.seal(&Next::Files(next)));
    }
    Ok(page)
}

/// The ask. For whoever holds it this is a call about it, which renews their claim.
async fn find(queue: &Queue, context: &CallContext, named: Named) -> Result<Ask, ToolError> {
    let asked = named.reference(context)?;
    let ask = queue
        .asks
        .ask(asked.repo.clone(), asked.ask.clone())
        .await?;
    let ask =
        ask.ok_or_else(|| ToolError::not_found(format!("There is no ask `{}`", asked.ask)))?;
    if let Some(lane) = asked.lane.as_ref().filter(|lane| **lane != ask.lane) {
        return Err(ToolError::bad_arguments(format!(
            "`{}` is in the lane `{}`, not in `{lane}`",
            ask.id, ask.lane
        )));
    }
    let caller = &context.caller.principal;
    let Some(claim) = ask.claim.as_ref().filter(|claim| claim.by == *caller) else {
        return Ok(ask);
    };
    let held = Held {
        fence: Some(claim.fence),
        ask: asked,
    };
    let act = guildhall_store::Act::new(caller.clone(), queue.clock.now());
    // Whoever lost it in this moment reads it all the same.
    Ok(queue
        .asks
        .renew_ask(act, held, queue.rules.lease)
        .await
        .unwrap_or(ask))
}

/// The changeset it is about; of answered work the one that answers it.
fn changeset_of(ask: &Ask) -> Option<String> {
    let answered = ask.answer.as_ref();
    let made = answered.and_then(|answer| answer.payload["changeset_id"].as_str());
    made.map(str::to_owned).or_else(|| ask.changeset.clone())
}

/// Puts as much of the history on the page as has room; gives where it goes on.
async fn history(
    queue: &Queue,
    repo: &RepoName,
    page: &mut Page,
    mut after: i64,
    room: &mut Room,
) -> Result<Option<i64>, ToolError> {
    loop {
        let ask = page.ask.id.clone();
        let steps = queue.asks.ask_history(repo.clone(), ask, after, AT_ONCE);
        let steps = steps.await?;
        let last = steps.len() < AT_ONCE as usize;
        for event in steps {
            let seq = event.seq;
            let step = StepView::from(event);
            if !room.take(&step) {
                return Ok(Some(after));
            }
            after = seq;
            page.history.push(step);
        }
        if last {
            return Ok(None);
        }
    }
}

/// Puts as much of the contents into the changeset as has room; gives where they go on. Files that come before or after
/// are left out of this page.
fn fill(
    mut changeset: ChangesetView,
    contents: &[Content],
    start: Position,
    room: &Room,
) -> (ChangesetView, Option<Position>) {
    let frame = guildhall_tools::json_len(&changeset);
    let texts: Vec<&str> = contents
        .iter()
        .map(|Content(text)| text.as_deref().unwrap_or_default())
        .collect();
    let page = paged::page(&texts, start, room.left().saturating_sub(frame));
    let files = std::mem::take(&mut changeset.files);
    let mut files: Vec<_> = files.into_iter().map(Some).collect();
    for slice in &page.slices {
        let Some(mut file) = files[slice.item].take() else {
            continue;
        };
        if contents[slice.item].0.is_some() {
            file.content = Some(slice.text.to_owned());
        }
        file.truncated = slice.cut;
        changeset.files.push(file);
    }
    (changeset, page.next)
}
