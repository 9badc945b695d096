//! What a board can refuse or fail at.

use std::io;

/// Why a call on a board did not do what was asked.
///
/// No message ever holds a path of the machine: an issue is named by its id, the board as "the board directory".
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BoardError {
    /// The id is not of this board's form. The caller can mend it.
    #[error("invalid board issue id: {id:?} (expected {prefix}<n>)")]
    InvalidId {
        /// As given, cut to 80 characters.
        id: String,
        /// This board's prefix.
        prefix: String,
    },
    /// The prefix of ids is not of the form. Whoever writes the settings can mend it.
    #[error(
        "{prefix:?} is invalid: must start alphanumeric, then only letters, digits, \"_\" or \"-\", at most 64 characters"
    )]
    InvalidPrefix {
        /// As given, cut to 80 characters.
        prefix: String,
    },
    /// Something else that was given cannot be written to a board. The caller can mend it.
    #[error("{0}")]
    InvalidInput(String),
    /// There is no such issue.
    #[error("Board issue {id} does not exist")]
    NotFound {
        /// The id.
        id: String,
    },
    /// The file is there, but is not one that can be read as an issue. A person has to mend the file.
    #[error("{message}")]
    BadFile {
        /// The id.
        id: String,
        /// The id and what is wrong.
        message: String,
    },
    /// Other programs changed the same issue each time this one was about to. Trying again can help.
    #[error("Board issue {id} is being changed by another program, nothing was written")]
    Contended {
        /// The id.
        id: String,
    },
    /// Another process holds the board's lock for longer than a write waits. Trying again can help.
    #[error("The board is locked by another process, nothing was written")]
    Locked,
    /// The number after the highest one is more than an id can hold.
    #[error("The board has no number left after {highest}")]
    NoNumberLeft {
        /// The highest number on the board.
        highest: u64,
    },
    /// The machine refused: full or read-only disk, missing permission, and the like.
    #[error("Cannot {doing}: {reason}")]
    Io {
        /// What was being done, such as `write board issue BOARD-7`.
        doing: String,
        /// The operating system's words, without a path.
        reason: String,
    },
}

impl BoardError {
    pub(crate) fn io(doing: impl Into<String>, error: &io::Error) -> Self {
        // An error made by the standard library with a path in it has no number of the operating system; such an
        // error is told by its kind alone.
        let reason = match error.raw_os_error() {
            Some(_) => error.to_string(),
            None => error.kind().to_string(),
        };
        Self::Io {
            doing: doing.into(),
            reason,
        }
    }
}
