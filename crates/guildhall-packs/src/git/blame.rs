//! `git_blame`: which commit each line comes from.

use std::sync::Arc;

use guildhall_git::{BlameRange, BlameRequest};
use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Lines, Repositories, fitting, given, in_repo, reads};

/// What the answer takes beside its ranges, in bytes.
const FRAME: usize = 300;

#[derive(JsonSchema, Serialize)]
struct Page {
    commit: String,
    /// Of the whole file
    total_lines: usize,
    /// Neighbouring lines of one commit, in order
    ranges: Vec<BlameRange>,
    /// `start_line` to read on, where not all ranges fit
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start_line: Option<usize>,
    /// The oldest lines are told of the commit the search ended at
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    cut: bool,
}

pub(super) fn tool(repositories: Arc<dyn Repositories>) -> Tool {
    let tool = Tool::new(
        "git_blame",
        "Ask where lines come from",
        "Show which commit each line of a file comes from. Use it to learn why a line is as it is.",
    );
    reads(tool).handler(move |context: CallContext, lines: Lines| {
        let repositories = Arc::clone(&repositories);
        async move {
            let request = BlameRequest {
                path: lines.path,
                commit: given(lines.commit),
                start_line: lines.start_line,
                end_line: lines.end_line,
            };
            let blame = in_repo(&repositories, &context, move |repository| {
                repository.blame(&request)
            })
            .await?;
            let mut ranges = blame.ranges;
            let shown = fitting(&ranges, context.budget.bytes().saturating_sub(FRAME));
            let next_start_line = ranges.get(shown).map(|range| range.start_line);
            ranges.truncate(shown);
            Ok::<_, ToolError>(Page {
                commit: blame.commit,
                total_lines: blame.total_lines,
                ranges,
                next_start_line,
                cut: blame.cut,
            })
        }
    })
}
