//! `git_diff`: what one commit changed.

use std::sync::Arc;

use guildhall_git::{Diff, DiffPosition, DiffRequest};
use guildhall_tools::{CallContext, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Repositories, given, in_repo, reads};

/// Lines of context where the call does not say; git's own.
const CONTEXT: u32 = 3;
/// More context than this is the whole file.
const MOST_CONTEXT: u64 = 10_000;
/// The most text of one answer over plain HTTP, in bytes.
const MOST_BYTES: usize = 8 << 20;
/// Below this an answer is not made smaller: a hunk must fit.
const LEAST_BYTES: usize = 256;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Id, branch or tag
    commit: String,
    /// Compare with this instead of the first parent
    parent: Option<String>,
    /// Only files at or below these
    paths: Option<Vec<String>>,
    /// Unchanged lines around each change; default 3
    context: Option<u64>,
    /// `next_cursor` of the part before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Part {
    #[serde(flatten)]
    diff: Diff,
    /// Reads on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) fn tool(repositories: Arc<dyn Repositories>) -> Tool {
    let tool = Tool::new(
        "git_diff",
        "Read a commit's changes",
        "Show the files one commit changed and the hunks of each. Use it to review a commit or to learn from it.",
    );
    reads(tool).handler(move |context: CallContext, arguments: Arguments| {
        let repositories = Arc::clone(&repositories);
        async move { read(&repositories, &context, arguments).await }
    })
}

/// One part. How large its JSON becomes is known when it is made: lines are short or long, escaped or not. So it is made
/// smaller until it fits.
async fn read(
    repositories: &Arc<dyn Repositories>,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Part, ToolError> {
    let position: Option<DiffPosition> = context.cursors.resume(arguments.cursor.as_deref())?;
    let budget = context.budget.bytes();
    let mut max_bytes = (budget / 2).min(MOST_BYTES);
    let lines = arguments.context.map_or(CONTEXT, |lines| {
        u32::try_from(lines.min(MOST_CONTEXT)).unwrap_or(CONTEXT)
    });
    loop {
        let request = DiffRequest {
            commit: arguments.commit.clone(),
            parent: given(arguments.parent.clone()),
            paths: arguments.paths.clone().unwrap_or_default(),
            context: lines,
            max_bytes,
            position: position.clone(),
        };
        let diff = in_repo(repositories, context, move |repository| {
            repository.diff(&request)
        })
        .await?;
        let next_cursor = diff.next.as_ref().map(|next| context.cursors.seal(next));
        let part = Part { diff, next_cursor };
        if max_bytes <= LEAST_BYTES || json_len(&part) <= budget {
            return Ok(part);
        }
        max_bytes /= 2;
    }
}
