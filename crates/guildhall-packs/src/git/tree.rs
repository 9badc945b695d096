//! `git_tree`: what lies in a directory.

use std::sync::Arc;

use guildhall_git::{TreeEntry, TreePosition, TreeRequest};
use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Repositories, fitting, given, in_repo, reads};

/// The most entries of one answer.
const MOST: usize = 10_000;
/// What the answer takes beside its entries, in bytes.
const FRAME: usize = 400;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Directory; default the root
    path: Option<String>,
    /// Id, branch or tag; default the tip of the default branch
    commit: Option<String>,
    /// List files of all directories below, too
    recursive: Option<bool>,
    /// Most entries of the answer
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    commit: String,
    entries: Vec<TreeEntry>,
    /// Reads on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) fn tool(repositories: Arc<dyn Repositories>) -> Tool {
    let tool = Tool::new(
        "git_tree",
        "List a directory",
        "List what lies in a directory at a commit. Use it to find your way before you read files.",
    );
    reads(tool)
        .sized_by_limit()
        .handler(move |context: CallContext, arguments: Arguments| {
            let repositories = Arc::clone(&repositories);
            async move {
                let start: Option<TreePosition> =
                    context.cursors.resume(arguments.cursor.as_deref())?;
                let offset = start.as_ref().map_or(0, |start| start.offset);
                let limit = arguments
                    .limit
                    .map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST));
                let request = TreeRequest {
                    path: given(arguments.path),
                    commit: given(arguments.commit),
                    recursive: arguments.recursive.unwrap_or_default(),
                    limit: limit.clamp(1, MOST),
                    position: start,
                };
                let mut tree = in_repo(&repositories, &context, move |repository| {
                    repository.tree(&request)
                })
                .await?;
                let all = tree.entries.len();
                tree.entries.truncate(fitting(
                    &tree.entries,
                    context.budget.bytes().saturating_sub(FRAME),
                ));
                let shown = tree.entries.len();
                let next = (shown < all || tree.next.is_some()).then(|| TreePosition {
                    commit: tree.commit.clone(),
                    offset: offset + shown,
                });
                Ok::<_, ToolError>(Page {
                    commit: tree.commit,
                    entries: tree.entries,
                    next_cursor: next.map(|next| context.cursors.seal(&next)),
                })
            }
        })
}
