//! `local_create_issue`: makes a new issue.

use guildhall_local::{Board, NewIssue};
use guildhall_tools::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OneIssue, given, on_board};

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// One line
    title: String,
    /// Markdown
    body: Option<String>,
    /// Name of its state; default Todo
    status: Option<String>,
}

pub(super) fn tool(board: Board) -> Tool {
    Tool::new(
        "local_create_issue",
        "Create an issue",
        "Create an issue on the local board. Use it for work that no issue describes yet; query first.",
    )
    .keyed()
    .handler(move |_, Arguments { title, body, status }| {
        let board = board.clone();
        async move {
            let new = NewIssue { title, body: given(body), status: given(status) };
            let issue = on_board(&board, move |board| board.create(&new)).await?;
            Ok(OneIssue { issue })
        }
    })
}
