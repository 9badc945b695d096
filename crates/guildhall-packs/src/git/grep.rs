//! `git_grep`: where a text stands.

use std::sync::Arc;

use guildhall_git::{GrepMatch, GrepPosition, GrepRequest};
use guildhall_tools::{CallContext, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Repositories, given, in_repo, reads};

/// Lines of one answer where the call does not say.
const LINES: usize = 200;
/// The most lines of one answer.
const MOST: usize = 5_000;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Text to find in a line
    pattern: String,
    /// The pattern is a regular expression (no look-around, no back references)
    regex: Option<bool>,
    ignore_case: Option<bool>,
    /// Only files at or below these
    paths: Option<Vec<String>>,
    /// Id, branch or tag; default the tip of the default branch
    commit: Option<String>,
    /// Most lines of the answer; default 200
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    commit: String,
    matches: Vec<GrepMatch>,
    /// Files over 8 MiB, which were not searched
    too_large: usize,
    /// Reads on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) fn tool(repositories: Arc<dyn Repositories>) -> Tool {
    let tool = Tool::new(
        "git_grep",
        "Search the code",
        "Find lines that contain a text at a commit. Use it to find where something is defined or used.",
    );
    reads(tool)
        .sized_by_limit()
        .handler(move |context: CallContext, arguments: Arguments| {
            let repositories = Arc::clone(&repositories);
            async move { read(&repositories, &context, arguments).await }
        })
}

/// One page. Where a search goes on is told by its last line, so a page too large is searched again for fewer lines.
async fn read(
    repositories: &Arc<dyn Repositories>,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Page, ToolError> {
    let position: Option<GrepPosition> = context.cursors.resume(arguments.cursor.as_deref())?;
    let asked = arguments
        .limit
        .map_or(LINES, |limit| usize::try_from(limit).unwrap_or(MOST));
    let mut limit = asked.clamp(1, MOST);
    loop {
        let request = GrepRequest {
            pattern: arguments.pattern.clone(),
            regex: arguments.regex.unwrap_or_default(),
            ignore_case: arguments.ignore_case.unwrap_or_default(),
            paths: arguments.paths.clone().unwrap_or_default(),
            commit: given(arguments.commit.clone()),
            limit,
            position: position.clone(),
        };
        let found = in_repo(repositories, context, move |repository| {
            repository.grep(&request)
        })
        .await?;
        let page = Page {
            commit: found.commit,
            matches: found.matches,
            too_large: found.too_large,
            next_cursor: found.next.map(|next| context.cursors.seal(&next)),
        };
        if limit == 1 || json_len(&page) <= context.budget.bytes() {
            return Ok(page);
        }
        limit = (page.matches.len() / 2).max(1);
    }
}
