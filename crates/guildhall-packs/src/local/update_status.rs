//! `local_update_status`: moves an issue to another state.

use guildhall_local::Board;
use guildhall_tools::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OneIssue, on_board};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Such as BOARD-7
    issue_id: String,
    /// Name of the new state, such as In Progress
    status: String,
}

pub(super) fn tool(board: Board) -> Tool {
    Tool::new(
        "local_update_status",
        "Update an issue's status",
        "Move an issue of the local board to another state. Use it when you start, finish or give up work on it.",
    )
    .idempotent()
    .keyed()
    .handler(move |_, Arguments { issue_id, status }| {
        let board = board.clone();
        async move {
            let issue = on_board(&board, move |board| board.set_status(&issue_id, &status)).await?;
            Ok(OneIssue { issue })
        }
    })
}
