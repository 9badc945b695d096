//! `git_show_file`: a file's content at a commit.
//!
//! Over plain HTTP it is whole, or the lines that were asked for, or an error past the limit. Over MCP a content larger
//! than the budget is cut, with `truncated` and a `next_cursor` that reads on.

use std::sync::Arc;

use guildhall_git::{FileContent, FileRequest};
use guildhall_tools::{CallContext, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Lines, Repositories, given, in_repo, reads};
use crate::paged::longest_prefix;

/// The largest file that is given out, in bytes.
const MOST_BYTES: u64 = 10 << 20;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    #[serde(flatten)]
    lines: Lines,
    /// `next_cursor` of the part before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Part {
    #[serde(flatten)]
    file: FileContent,
    /// The content was cut
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    truncated: bool,
    /// Reads on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Where in a content a part ended, and of which commit it is.
#[derive(Deserialize, Serialize)]
struct Position {
    commit: String,
    offset: usize,
}

pub(super) fn tool(repositories: Arc<dyn Repositories>) -> Tool {
    let tool = Tool::new(
        "git_show_file",
        "Read a file",
        "Read a file as it is at a commit, whole or some of its lines. Use it to read code.",
    );
    reads(tool).handler(move |context: CallContext, arguments: Arguments| {
        let repositories = Arc::clone(&repositories);
        async move {
            let position: Option<Position> = context.cursors.resume(arguments.cursor.as_deref())?;
            let lines = arguments.lines;
            let request = FileRequest {
                path: lines.path,
                // A branch that moves must not change the file between two parts.
                commit: position
                    .as_ref()
                    .map(|at| at.commit.clone())
                    .or(given(lines.commit)),
                start_line: lines.start_line,
                end_line: lines.end_line,
                max_bytes: MOST_BYTES,
            };
            let file = in_repo(&repositories, &context, move |repository| {
                repository.show_file(&request)
            })
            .await?;
            Ok::<_, ToolError>(part(file, position.map_or(0, |at| at.offset), &context))
        }
    })
}

fn part(mut file: FileContent, offset: usize, context: &CallContext) -> Part {
    let text = std::mem::take(&mut file.content);
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let most = Position {
        commit: file.commit.clone(),
        offset: usize::MAX,
    };
    let mut part = Part {
        file,
        truncated: true,
        next_cursor: Some(context.cursors.seal(&most)),
    };
    let room = context.budget.bytes().saturating_sub(json_len(&part));
    let rest = &text[offset..];
    // Two bytes of the room are the empty text's quotes, which are counted already.
    let shown = if json_len(&rest) <= room + 2 {
        rest
    } else {
        longest_prefix(rest, room)
    };
    let end = offset + shown.len();
    shown.clone_into(&mut part.file.content);
    part.truncated = end < text.len();
    part.next_cursor = part.truncated.then(|| {
        context.cursors.seal(&Position {
            commit: part.file.commit.clone(),
            offset: end,
        })
    });
    part
}
