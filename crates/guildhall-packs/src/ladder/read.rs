//! `ladder_read`: one rung.

use guildhall_core::RepoRole;
use guildhall_core::clock::rfc3339_millis;
use guildhall_core::ladder::RungPath;
use guildhall_store::RungVersion;
use guildhall_tools::{CallContext, Scope, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Summaries;
use super::citations::{self, WrongCitation};
use super::shown::{Shown, drifts};

/// Most earlier versions of one answer.
const MOST: u32 = 100;

/// What the answer takes beside the rung and its versions, in bytes.
const FRAME: usize = 200;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as _repo, src/ or src/index.js
    path: String,
    /// Its earlier versions too
    history: Option<bool>,
    /// `next_cursor` of the part of the history before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Read {
    rung: WithCitations,
    /// Earlier versions, newest first
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<Earlier>>,
    /// Reads on in the history
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct WithCitations {
    #[serde(flatten)]
    rung: Shown,
    /// Places that the summary cites and that are not there at its anchor
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    wrong_citations: Vec<WrongCitation>,
}

#[derive(JsonSchema, Serialize)]
struct Earlier {
    version: i64,
    author: String,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor_commit: Option<String>,
    summary: String,
}

/// Where a history goes on: below this version.
#[derive(Deserialize, Serialize)]
struct Position {
    below: i64,
}

pub(super) fn tool(summaries: Summaries) -> Tool {
    Tool::new(
        "ladder_read",
        "Read a rung",
        "Read the summary of the repository, a directory or a file, and whether the code has changed since. Use it before you \
         read the code itself.",
    )
    .read_only()
    .bounded()
    .scope(Scope::Repo(RepoRole::Reader))
    .handler(move |context: CallContext, arguments: Arguments| {
        let summaries = summaries.clone();
        async move { read(&summaries, &context, arguments).await }
    })
}

async fn read(
    summaries: &Summaries,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Read, ToolError> {
    let path: RungPath =
        arguments
            .path
            .parse()
            .map_err(|error: guildhall_core::ladder::RungPathError| {
                ToolError::bad_arguments(error.to_string())
            })?;
    let position: Option<Position> = context.cursors.resume(arguments.cursor.as_deref())?;
    let repo = context.repo()?;
    let found = summaries
        .ladder
        .rung(repo.name.clone(), path.clone())
        .await?;
    let Some(rung) = found else {
        return Err(
            ToolError::not_found(format!("There is no rung `{path}` in {}", repo.name))
                .hint("`ladder_tree` lists the rungs there are."),
        );
    };
    let head = summaries.head(repo).await?;
    let version = rung.version;
    let rung = summaries
        .in_repo(repo, move |repository| {
            let drift = drifts(repository, head.as_deref(), std::slice::from_ref(&rung))?[0];
            let wrong_citations = match &rung.anchor {
                Some(anchor) => citations::wrong(repository, &anchor.commit, &rung.summary)?,
                None => Vec::new(),
            };
            Ok(WithCitations {
                rung: Shown::of(rung, drift),
                wrong_citations,
            })
        })
        .await?;
    if !arguments.history.unwrap_or_default() {
        return Ok(Read {
            rung,
            history: None,
            next_cursor: None,
        });
    }
    let below = position.map_or(version, |position| position.below);
    let earlier = summaries
        .ladder
        .rung_versions(repo.name.clone(), path, below, MOST)
        .await?;
    let room = context
        .budget
        .bytes()
        .saturating_sub(json_len(&rung) + FRAME);
    let (history, more) = fitting(earlier, room);
    let last = history.last().map(|version| Position {
        below: version.version,
    });
    Ok(Read {
        rung,
        history: Some(history),
        next_cursor: last
            .filter(|last| more && last.below > 1)
            .map(|last| context.cursors.seal(&last)),
    })
}

/// The versions that fit `room` bytes of JSON, at least one, and whether there may be more.
fn fitting(versions: Vec<RungVersion>, mut room: usize) -> (Vec<Earlier>, bool) {
    let all = versions.len();
    let mut shown = Vec::new();
    for version in versions {
        let version = Earlier {
            version: version.version,
            author: version.author.name().to_owned(),
            at: rfc3339_millis(version.at),
            anchor_commit: version.anchor_commit,
            summary: version.summary,
        };
        let size = json_len(&version) + 1;
        if size > room && !shown.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        shown.push(version);
    }
    let more = shown.len() < all || all == MOST as usize;
    (shown, more)
}
