//! What git says, in the pipeline's kinds.

use guildhall_git::GitError;
use guildhall_tools::{ErrorKind, ToolError};

/// Only what the caller named is repeated to them, never a path of the machine.
pub(crate) fn of(error: &GitError) -> ToolError {
    let kind = match error {
        GitError::NotFound { .. } => ErrorKind::NotFound,
        GitError::TooLarge { .. } | GitError::OverLimit(_) => ErrorKind::TooLarge,
        error if error.is_callers_fault() => ErrorKind::BadArguments,
        error => return ToolError::internal(format!("{error:?}")),
    };
    ToolError::new(kind, error.to_string())
}
