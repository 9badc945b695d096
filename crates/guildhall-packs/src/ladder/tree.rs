//! `ladder_tree`: the whole Ladder of a repository.
//!
//! Called without arguments over plain HTTP it is whole, with full summaries. Over MCP it is cut between rungs, with a
//! `next_cursor` that reads on.

use guildhall_core::RepoRole;
use guildhall_core::ladder::{RungKind, RungPath};
use guildhall_store::{Rung, RungRange};
use guildhall_tools::{CallContext, RepoAccess, Scope, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Summaries;
use super::shown::{Shown, drifts};

/// Rungs that are read at once.
const STEP: u32 = 2000;

/// What the answer takes beside its rungs and its cursor, in bytes.
const FRAME: usize = 300;

/// What a preview shows of a summary, in characters of its first line.
const PREVIEW: usize = 160;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Only so many levels below the root or `under`
    depth: Option<u64>,
    /// Only what is below this directory
    under: Option<String>,
    /// Only the first line of each summary
    preview: Option<bool>,
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    /// The commit that `stale` and `behind` are told by
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// `_repo` first, then by path
    rungs: Vec<Shown>,
    /// Reads on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Where a page ended, and the commit that all pages are told by.
#[derive(Clone, Deserialize, Serialize)]
struct Position {
    head: Option<String>,
    /// Behind this path; `None` behind `_repo`.
    after: Option<String>,
}

/// Which rungs, and how much of each.
struct Wanted {
    under: Option<RungPath>,
    depth: Option<usize>,
    preview: bool,
}

pub(super) fn tool(summaries: Summaries) -> Tool {
    Tool::new(
        "ladder_tree",
        "Read the Ladder",
        "Read the summaries of the repository and everything in it in one call. Use it first, to know your way before you \
         read code.",
    )
    .read_only()
    .bounded()
    .scope(Scope::Repo(RepoRole::Reader))
    .for_anybody()
    .handler(move |context: CallContext, arguments: Arguments| {
        let summaries = summaries.clone();
        async move {
            let position: Option<Position> = context.cursors.resume(arguments.cursor.as_deref())?;
            let wanted = wanted(arguments)?;
            page(&summaries, &context, &wanted, position).await
        }
    })
}

fn wanted(arguments: Arguments) -> Result<Wanted, ToolError> {
    Ok(Wanted {
        under: directory(arguments.under)?,
        depth: arguments
            .depth
            .map(|depth| usize::try_from(depth).unwrap_or(usize::MAX)),
        preview: arguments.preview.unwrap_or_default(),
    })
}

/// The directory that `under` names, with or without its slash; blank, `/` and `_repo` are the whole.
pub(super) fn directory(under: Option<String>) -> Result<Option<RungPath>, ToolError> {
    let under = under.unwrap_or_default();
    let under = under.trim();
    if matches!(under, "" | "/" | RungPath::REPO) {
        return Ok(None);
    }
    let path: RungPath = format!("{}/", under.trim_end_matches('/'))
        .parse()
        .map_err(|error: guildhall_core::ladder::RungPathError| {
            ToolError::bad_arguments(format!("'under' must be a directory: {error}"))
        })?;
    if path.kind() != RungKind::Directory {
        return Err(ToolError::bad_arguments(format!(
            "'under' must be a directory, not `{under}`"
        )));
    }
    Ok(Some(path))
}

async fn page(
    summaries: &Summaries,
    context: &CallContext,
    wanted: &Wanted,
    position: Option<Position>,
) -> Result<Page, ToolError> {
    let repo = context.repo()?;
    let first = position.is_none();
    let (head, mut after) = match position {
        Some(position) => (position.head, position.after),
        None => (summaries.head(repo).await?, None),
    };
    let mut room = context.budget.bytes().saturating_sub(FRAME);
    let mut rungs: Vec<Shown> = Vec::new();
    let mut step = Vec::new();
    if first && wanted.under.is_none() {
        let whole = RungPath::REPO.parse().map_err(ToolError::internal)?;
        step.extend(summaries.ladder.rung(repo.name.clone(), whole).await?);
    }
    loop {
        let range = RungRange {
            under: wanted
                .under
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            after: after.clone(),
            limit: STEP,
        };
        let next = summaries.ladder.rungs(repo.name.clone(), range).await?;
        let last = next.last().map(|rung| rung.path.to_string());
        step.extend(next.into_iter().filter(|rung| wanted.has(&rung.path)));
        for mut shown in shown(
            summaries,
            repo,
            head.as_deref(),
            std::mem::take(&mut step),
            wanted,
        )
        .await?
        {
            shown.author = context.caller.shown(&shown.author);
            // A cursor holds the path before it, half as long again in its letters.
            let cursor = 2 * rungs.last().map_or(0, |rung| rung.path.len()) + 150;
            let size = json_len(&shown) + 1;
            if size + cursor > room && !rungs.is_empty() {
                let after = rungs.last().map(|rung| rung.path.clone());
                let after = after.filter(|path| path != RungPath::REPO);
                let next = Position {
                    head: head.clone(),
                    after,
                };
                return Ok(Page {
                    commit: head,
                    rungs,
                    next_cursor: Some(context.cursors.seal(&next)),
                });
            }
            room = room.saturating_sub(size);
            rungs.push(shown);
        }
        match last {
            Some(last) => after = Some(last),
            None => {
                return Ok(Page {
                    commit: head,
                    rungs,
                    next_cursor: None,
                });
            }
        }
    }
}

async fn shown(
    summaries: &Summaries,
    repo: &RepoAccess,
    head: Option<&str>,
    rungs: Vec<Rung>,
    wanted: &Wanted,
) -> Result<Vec<Shown>, ToolError> {
    if rungs.is_empty() {
        return Ok(Vec::new());
    }
    let (head, preview) = (head.map(str::to_owned), wanted.preview);
    summaries
        .in_repo(repo, move |repository| {
            let drifts = drifts(repository, head.as_deref(), &rungs)?;
            let shown = rungs.into_iter().zip(drifts).map(|(rung, drift)| {
                let mut shown = Shown::of(rung, drift);
                if preview {
                    shorten(&mut shown);
                }
                shown
            });
            Ok(shown.collect())
        })
        .await
}

/// Leaves the begin of the first line of the summary.
fn shorten(shown: &mut Shown) {
    let whole = shown.summary.trim();
    let line = whole.lines().next().unwrap_or_default();
    let line: String = line.chars().take(PREVIEW).collect();
    if line.len() < whole.len() {
        shown.truncated = true;
        shown.summary = line;
    }
}

impl Wanted {
    /// Whether the rung is among them. `_repo` is put before all others and so is not.
    fn has(&self, path: &RungPath) -> bool {
        let level = |path: &str| path.trim_end_matches('/').split('/').count();
        if path.kind() == RungKind::Repo {
            return false;
        }
        let above = self.under.as_ref().map_or(0, |under| level(under.as_str()));
        let own = match path.in_tree() {
            Some(path) => level(path),
            None => 1,
        };
        self.depth
            .is_none_or(|depth| own <= above.saturating_add(depth))
    }
}
