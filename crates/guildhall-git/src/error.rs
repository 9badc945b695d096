//! What can go wrong with a repository.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use guildhall_core::{Refusal, Refuse};

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

    /// The installed `git` can do everything but merge without a working tree.
    #[error(
        "git {found} cannot merge without a working tree, and the branch has moved since `base_commit`; install git 2.38 or newer, or propose the change on the branch's tip"
    )]
    CannotMerge {
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

    /// What the caller gave names no commit.
    #[error("`{given}` names no commit: {reason}")]
    BadRevision {
        /// As given, at most 80 characters of it.
        given: String,
        /// What is wrong with it.
        reason: String,
    },

    /// What the caller gave is no path inside a repository.
    #[error("`{given}` is no path in a repository: {reason}")]
    BadPath {
        /// As given, at most 80 characters of it.
        given: String,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// A changeset may not write the path the caller gave.
    #[error("`{given}` cannot be written: {reason}")]
    RefusedPath {
        /// As given, at most 80 characters of it.
        given: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A changeset is larger than one commit may be.
    #[error("{0}")]
    OverLimit(String),

    /// The caller's arguments do not fit each other or what was found.
    #[error("{0}")]
    BadArgument(String),

    /// There is nothing at the path the caller gave.
    #[error("There is no {kind} `{path}` in commit {commit}")]
    NotFound {
        /// `file` or `directory`.
        kind: &'static str,
        /// As given.
        path: String,
        /// The commit looked into.
        commit: String,
    },

    /// A file is larger than may be given out whole.
    #[error("`{path}` has {size} bytes, more than the {limit} that can be shown; {advice}")]
    TooLarge {
        /// As given.
        path: String,
        /// In bytes.
        size: u64,
        /// In bytes.
        limit: u64,
        /// What can be asked for instead.
        advice: &'static str,
    },

    /// The origin has commits that are not here, so a push would have to overwrite them.
    #[error("`{branch}` is {ahead} ahead and {behind} behind its origin; sync first")]
    Diverged {
        /// The default branch.
        branch: String,
        /// Commits the origin lacks.
        ahead: usize,
        /// Commits that are lacking here.
        behind: usize,
    },

    /// A directory is no repository that can be opened.
    #[error("{} is not a repository that can be opened: {reason}", path.display())]
    NotARepository {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },

    /// A repository borrows objects from another.
    #[error("{} is there: a repository that borrows objects from another is not opened", path.display())]
    Alternates {
        /// The file that says so.
        path: PathBuf,
    },

    /// Something in a repository is missing or broken.
    #[error("{what} cannot be read: {reason}")]
    Damaged {
        /// The object, ref or file.
        what: String,
        /// What is wrong with it.
        reason: String,
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

impl Refuse for GitError {
    fn refusal(&self) -> Refusal {
        match self {
            Self::NotFound { .. } => Refusal::Missing,
            Self::TooLarge { .. } | Self::OverLimit(_) => Refusal::TooLarge,
            Self::Diverged { .. } | Self::CannotMerge { .. } => Refusal::Conflict,
            error if error.is_callers_fault() => Refusal::Invalid,
            _ => Refusal::Fault,
        }
    }
}

impl GitError {
    /// Whether the caller named something that is not there or not allowed, so that other arguments would help.
    pub fn is_callers_fault(&self) -> bool {
        match self {
            Self::BadRevision { .. }
            | Self::BadPath { .. }
            | Self::RefusedPath { .. }
            | Self::OverLimit(_)
            | Self::BadArgument(_)
            | Self::Diverged { .. }
            | Self::NotFound { .. }
            | Self::TooLarge { .. } => true,
            Self::NotARepository { .. }
            | Self::Alternates { .. }
            | Self::Damaged { .. }
            | Self::NotInstalled(_)
            | Self::TooOld { .. }
            | Self::CannotMerge { .. }
            | Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Io { .. } => false,
        }
    }
}
