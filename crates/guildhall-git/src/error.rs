//! What can go wrong with a repository.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::command::Version;

/// Why an operation on a repository failed.
///
/// [`GitError::is_callers_fault`] tells the failures that the caller can act on from faults of the machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// `git` could not be started.
    #[error(
        "The program `git` could not be started; install git {} or newer",
        Version::MINIMUM
    )]
    NotInstalled(#[source] io::Error),

    /// The installed `git` lacks what its isolation needs.
    #[error("git {found} is too old; install git {} or newer", Version::MINIMUM)]
    TooOld {
        /// What `git --version` said.
        found: Version,
    },

    /// `git` ran and said no.
    #[error("git {action} failed: {message}")]
    Failed {
        /// The sub-command, such as `fetch`.
        action: String,
        /// The end of what git wrote about it, without credentials.
        message: String,
    },

    /// `git` did not end in time and was killed.
    #[error("git {action} did not end within {} s", limit.as_secs())]
    TimedOut {
        /// The sub-command, such as `fetch`.
        action: String,
        /// How long it was given.
        limit: Duration,
    },

    /// The operating system refused to read or write a file of the repository.
    #[error("Could not {action} {}", path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl GitError {
    /// Whether the caller named something that is not there or not allowed, so that other arguments would help.
    pub fn is_callers_fault(&self) -> bool {
        match self {
            Self::NotInstalled(_)
            | Self::TooOld { .. }
            | Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Io { .. } => false,
        }
    }
}
