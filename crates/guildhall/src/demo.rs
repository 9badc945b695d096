//! `up --demo`: a small board, so that a newcomer sees something.

use guildhall_local::{Board, BoardError, NewIssue};

/// Title, body and state of each issue; together they are a first tour.
const ISSUES: [(&str, &str, &str); 6] = [
    (
        "Connect your first agent",
        "Run `guildhall connect claude` (or `codex`, `gemini`, `opencode`, `cursor`, `vscode`) and ask it which issues \
         are open.",
        "In Progress",
    ),
    (
        "Let an agent move an issue",
        "Ask your agent to take one issue, set it to In Progress, and comment on what it found.",
        "Todo",
    ),
    (
        "Edit an issue by hand",
        "Every issue is a Markdown file in the board's folder. Change one in your editor: the next query has it.",
        "Todo",
    ),
    (
        "Query from the command line",
        "```sh\nguildhall call local_query select='[\"id\",\"title\",\"state\"]' limit=5\n```",
        "Todo",
    ),
    (
        "Write a WORKFLOW.md",
        "Settings live in its front matter. `guildhall config show` prints what holds now, `guildhall config schema` \
         what there is.",
        "Backlog",
    ),
    (
        "Start the server",
        "`guildhall up --demo` did this one.",
        "Done",
    ),
];

/// Fills `board` if it is empty, and says how many issues it made.
pub(crate) fn fill(board: &Board) -> Result<usize, BoardError> {
    let snapshot = board.snapshot()?;
    if !snapshot.is_empty() || !snapshot.skipped().is_empty() {
        return Ok(0);
    }
    for (title, body, status) in ISSUES {
        board.create(&NewIssue {
            title: title.to_owned(),
            body: Some(body.to_owned()),
            status: Some(status.to_owned()),
        })?;
    }
    Ok(ISSUES.len())
}
