//! The `local` pack: five tools over the board of Markdown files (Lorenz page, "local pack").

mod comment;
mod create_issue;
mod query;
mod read_issue;
mod update_status;

use guildhall_core::Issue;
use guildhall_local::{Board, BoardError};
use guildhall_tools::{ErrorKind, Pack, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

/// The pack over `board`, its tools in the order of the page.
pub fn pack(board: &Board) -> Pack {
    Pack::new(
        "local",
        vec![
            update_status::tool(board.clone()),
            comment::tool(board.clone()),
            create_issue::tool(board.clone()),
            read_issue::tool(board.clone()),
            query::tool(board.clone()),
        ],
    )
}

/// `{ "issue": ... }`.
#[derive(JsonSchema, Serialize)]
struct OneIssue {
    /// The issue as it is now
    issue: Issue,
}

/// Runs `work` on a blocking thread: a board call takes as long as the file system does.
async fn on_board<T, F>(board: &Board, work: F) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&Board) -> Result<T, BoardError> + Send + 'static,
{
    let board = board.clone();
    let done = tokio::task::spawn_blocking(move || work(&board))
        .await
        .map_err(ToolError::internal)?;
    done.map_err(|error| refusal(&error))
}

/// Runs `look`, which writes nothing: here where the board is small and nothing is to wait for, else as [`on_board`].
async fn look_at<T, F>(board: &Board, look: F) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&Board) -> Result<T, BoardError> + Send + 'static,
{
    if board.is_quick() {
        return look(board).map_err(|error| refusal(&error));
    }
    on_board(board, look).await
}

/// What a board says, in the pipeline's kinds. Its messages name issues, never paths.
fn refusal(error: &BoardError) -> ToolError {
    let kind = match error {
        BoardError::InvalidId { .. } | BoardError::InvalidInput(_) => ErrorKind::BadArguments,
        BoardError::NotFound { .. } => ErrorKind::NotFound,
        BoardError::BadFile { .. } | BoardError::Contended { .. } | BoardError::Locked => {
            ErrorKind::Conflict
        }
        BoardError::InvalidPrefix { .. }
        | BoardError::NoNumberLeft { .. }
        | BoardError::Io { .. } => ErrorKind::Upstream,
    };
    let hint = match error {
        BoardError::Contended { .. } | BoardError::Locked => Some("Call again in a moment."),
        BoardError::BadFile { .. } => {
            Some("A person has to mend the file; `local_query` lists such files in `skipped`.")
        }
        BoardError::NotFound { .. } => Some("`local_query` lists the ids there are."),
        _ => None,
    };
    let mut refusal = ToolError::new(kind, error.to_string());
    refusal.hints.extend(hint.map(str::to_owned));
    refusal
}

/// An optional text as the page has it: blank is the same as not given.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
