//! `local_comment`: adds a comment to an issue.

use guildhall_local::Board;
use guildhall_tools::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::on_board;

/// Who every comment of an agent is signed with in the file; people who edit boards look for it.
const AUTHOR: &str = "agent";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Such as BOARD-7
    issue_id: String,
    /// Markdown
    body: String,
}

#[derive(JsonSchema, Serialize)]
struct Commented {
    ok: bool,
}

pub(super) fn tool(board: Board) -> Tool {
    Tool::new(
        "local_comment",
        "Comment on an issue",
        "Add a comment to an issue of the local board. Use it to report progress, findings or questions.",
    )
    .keyed()
    .handler(move |_, Arguments { issue_id, body }| {
        let board = board.clone();
        async move {
            on_board(&board, move |board| board.comment(&issue_id, AUTHOR, &body)).await?;
            Ok(Commented { ok: true })
        }
    })
}
