//! `git_log`: the commits of the default branch.

use std::sync::Arc;

use guildhall_git::{Commit, DayEdge, LogPosition, LogRequest, Order, Repository, parse_moment};
use guildhall_tools::{CallContext, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Repositories, fitting, given, in_repo, reads};

/// The most commits of one answer, whatever the call says.
const MOST: usize = 10_000;

/// The least JSON that a commit takes: an answer of so many bytes holds no more than this tells.
const LEAST_COMMIT: usize = 250;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Most commits of the answer; at most 10000
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// `next_cursor` of the page before
    cursor: Option<String>,
    /// Only commits that touched this file or directory
    path: Option<String>,
    order: Option<Order>,
    /// Only commits from this time on: RFC 3339, or a date
    since: Option<String>,
    /// Only commits up to this time
    until: Option<String>,
    /// Only commits whose author's name or address contains this
    author: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    commits: Vec<Commit>,
    /// Of all pages
    total: usize,
    /// Reads on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) fn tool(repositories: Arc<dyn Repositories>) -> Tool {
    let tool = Tool::new(
        "git_log",
        "Read the history",
        "List commits of the default branch, oldest first. Use it to see what happened, to whom, and when.",
    );
    reads(tool)
        .sized_by_limit()
        .handler(move |context: CallContext, arguments: Arguments| {
            let repositories = Arc::clone(&repositories);
            async move {
                let start = context.cursors.resume(arguments.cursor.as_deref())?;
                let request = request(arguments, context.budget.bytes())?;
                let budget = context.budget.bytes();
                let (mut page, next) = in_repo(&repositories, &context, move |repository| {
                    read(repository, request, start, budget)
                })
                .await?;
                page.next_cursor = next.map(|next| context.cursors.seal(&next));
                Ok(page)
            }
        })
}

fn request(arguments: Arguments, budget: usize) -> Result<LogRequest, ToolError> {
    let moment = |text: Option<String>, edge| {
        given(text)
            .map(|text| parse_moment(&text, edge))
            .transpose()
    };
    let limit = arguments
        .limit
        .map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST));
    Ok(LogRequest {
        order: arguments.order.unwrap_or_default(),
        path: given(arguments.path),
        since: moment(arguments.since, DayEdge::Start)?,
        until: moment(arguments.until, DayEdge::End)?,
        author: given(arguments.author),
        limit: limit.clamp(1, MOST).min(budget / LEAST_COMMIT + 1),
        max_bytes: budget,
        position: None,
    })
}

/// One page, and where the next one begins. Pages are pinned to the tip of the first, so that new commits shift nothing.
fn read(
    repository: &Repository,
    mut request: LogRequest,
    start: Option<LogPosition>,
    budget: usize,
) -> Result<(Page, Option<LogPosition>), guildhall_git::GitError> {
    let start = match start {
        Some(start) => start,
        None => match repository.tip()? {
            Some(tip) => LogPosition {
                tip: tip.to_string(),
                offset: 0,
            },
            None => {
                return Ok((
                    Page {
                        commits: Vec::new(),
                        total: 0,
                        next_cursor: None,
                    },
                    None,
                ));
            }
        },
    };
    request.position = Some(start.clone());
    let mut log = repository.log(&request)?;
    let frame = json_len(&(log.total, "next_cursor", "total", "commits")) + 300;
    let shown = fitting(&log.commits, budget.saturating_sub(frame));
    log.commits.truncate(shown);
    let offset = start.offset + shown;
    let next = (offset < log.total && shown > 0).then_some(LogPosition {
        tip: start.tip,
        offset,
    });
    Ok((
        Page {
            commits: log.commits,
            total: log.total,
            next_cursor: None,
        },
        next,
    ))
}
