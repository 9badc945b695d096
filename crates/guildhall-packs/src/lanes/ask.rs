//! `ask_get`: one ask with its history and its changeset.

use guildhall_store::{Ask, Held};
use guildhall_tools::{CallContext, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pages::Room;
use super::view::{AskView, ChangesetView, FileView, StepView};
use super::{Named, Queue, reads};
use crate::paged::{Position, longest_prefix};

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
    /// Reads on: first what is left of the ask, then the history, then the files of the changeset
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Where the next page begins.
#[derive(Deserialize, Serialize)]
enum Next {
    Ask(Parts),
    History(i64),
    Files(Position),
}

/// Where the ask itself goes on: so far in its body, behind so many of its dependencies and of its files.
#[derive(Clone, Copy, Default, Deserialize, Serialize)]
struct Parts {
    body: usize,
    depends_on: usize,
    files: usize,
}

impl Parts {
    /// Behind everything.
    const END: Self = Self {
        body: usize::MAX,
        depends_on: usize::MAX,
        files: usize::MAX,
    };
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
    let start = context
        .cursors
        .resume(arguments.cursor.as_deref())?
        .unwrap_or(Next::Ask(Parts::default()));
    let first = arguments.cursor.is_none();
    let ask = find(queue, context, arguments.named, first).await?;
    let (about, budget) = (changeset_of(&ask), context.budget.bytes());
    let mut whole = AskView::from(ask);
    let rest = Rest::of(&mut whole);
    let mut page = Page {
        ask: whole.with_short_answer(budget),
        history: Vec::new(),
        changeset: None,
        next_cursor: None,
    };
    let mut room = Room::beside(&page, budget);
    let parts = match start {
        Next::Ask(parts) => parts,
        Next::History(_) | Next::Files(_) => Parts::END,
    };
    if let Some(next) = rest.put(&mut page.ask, parts, &mut room) {
        page.next_cursor = Some(context.cursors.seal(&Next::Ask(next)));
        return Ok(page);
    }
    let after = match start {
        Next::Ask(_) => Some(0),
        Next::History(after) => Some(after),
        Next::Files(_) => None,
    };
    if let Some(after) = after
        && let Some(after) = history(queue, context, &mut page, after, &mut room).await?
    {
        page.next_cursor = Some(context.cursors.seal(&Next::History(after)));
        return Ok(page);
    }
    let Some(id) = about else { return Ok(page) };
    let repo = context.repo()?.name.clone();
    if let Some(changeset) = queue.asks.changeset(repo, id).await? {
        let files = match start {
            Next::Files(position) => position,
            Next::Ask(_) | Next::History(_) => Position::default(),
        };
        let (changeset, contents) = ChangesetView::apart(changeset);
        let mut changeset = changeset.with_short_message(budget);
        room.spend(&changeset);
        let next = fill(&mut changeset.files, contents, files, &mut room);
        page.changeset = Some(changeset);
        page.next_cursor = next.map(|next| context.cursors.seal(&Next::Files(next)));
    }
    Ok(page)
}

/// The ask. For whoever holds it the first page is a call about it, which renews their claim. The pages behind it are not:
/// each renewal is a step of the history that they read.
async fn find(
    queue: &Queue,
    context: &CallContext,
    named: Named,
    first: bool,
) -> Result<Ask, ToolError> {
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
    let held = ask.claim.as_ref().filter(|claim| claim.by == *caller);
    let Some(claim) = held.filter(|_| first) else {
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
    context: &CallContext,
    page: &mut Page,
    mut after: i64,
    room: &mut Room,
) -> Result<Option<i64>, ToolError> {
    let repo = &context.repo()?.name;
    loop {
        let ask = page.ask.id.clone();
        let steps = queue.asks.ask_history(repo.clone(), ask, after, AT_ONCE);
        let steps = steps.await?;
        let last = steps.len() < AT_ONCE as usize;
        for event in steps {
            let seq = event.seq;
            let step = StepView::told_in(event, context);
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

/// What of an ask may take any number of pages.
struct Rest {
    body: String,
    depends_on: Vec<String>,
    files: Vec<String>,
}

impl Rest {
    /// Takes it out of `ask`.
    fn of(ask: &mut AskView) -> Self {
        Self {
            body: std::mem::take(&mut ask.body),
            depends_on: std::mem::take(&mut ask.depends_on),
            files: std::mem::take(&mut ask.files),
        }
    }

    /// Puts as much of it into `ask` as has room; gives where it goes on.
    fn put(&self, ask: &mut AskView, mut at: Parts, room: &mut Room) -> Option<Parts> {
        let begin = self.body.floor_char_boundary(at.body.min(self.body.len()));
        let body = &self.body[begin..];
        if !body.is_empty() {
            let part = if room.has(&body) {
                body
            } else {
                longest_prefix(body, room.left())
            };
            room.take(&part);
            ask.body.push_str(part);
            at.body = begin + part.len();
            ask.truncated |= part.len() < body.len();
        }
        let mut left = at.body < self.body.len();
        let mut more = |list: &[String], from: &mut usize| {
            let rest = list.get(*from..).unwrap_or_default();
            let fit = rest.iter().take_while(|item| !left && room.take(item));
            let shown: Vec<String> = fit.cloned().collect();
            *from = from.saturating_add(shown.len());
            left |= shown.len() < rest.len();
            let total = (shown.len() < list.len()).then_some(list.len());
            (shown, total)
        };
        (ask.depends_on, ask.depends_on_total) = more(&self.depends_on, &mut at.depends_on);
        (ask.files, ask.files_total) = more(&self.files, &mut at.files);
        left.then_some(at)
    }
}

/// Puts as many of `files` on the page as have room, from `start` on; gives where they go on. One that has not enough room
/// on a page of its own is cut in its content.
fn fill(
    page: &mut Vec<FileView>,
    files: Vec<FileView>,
    start: Position,
    room: &mut Room,
) -> Option<Position> {
    let first = usize::try_from(start.item).unwrap_or(usize::MAX);
    let mut offset = usize::try_from(start.offset).unwrap_or(usize::MAX);
    for (item, mut file) in files.into_iter().enumerate().skip(first) {
        let begin = std::mem::take(&mut offset);
        if let Some(content) = &mut file.content {
            content.drain(..content.floor_char_boundary(begin.min(content.len())));
        }
        let next = |offset: usize| Position {
            item: item as u64,
            offset: offset as u64,
        };
        let fits = room.has(&file);
        if room.is_begun() && !fits {
            return Some(next(begin));
        }
        let part = if fits { None } else { cut(&mut file, room) };
        room.take(&file);
        page.push(file);
        if let Some(part) = part {
            return Some(next(begin + part));
        }
    }
    None
}

/// Leaves of the content of `file` what has room; gives how much that is, if it is not all.
fn cut(file: &mut FileView, room: &Room) -> Option<usize> {
    let whole = file.content.take()?;
    file.truncated = true;
    let frame = json_len(file) + r#""content":,"#.len();
    let part = longest_prefix(&whole, room.left().saturating_sub(frame));
    file.truncated = part.len() < whole.len();
    file.content = Some(part.to_owned());
    file.truncated.then_some(part.len())
}
