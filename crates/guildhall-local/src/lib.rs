//! The local board: a directory with one Markdown file per issue, for agents and people with an editor alike.
//!
//! A [`Board`] parses every file once and keeps the result in step with the directory: on Linux the notifications of the
//! operating system are drained before each answer, elsewhere the times of the files are compared. Reading gives an
//! immutable [`Snapshot`]; writing goes through a lock file, a temporary file and one rename, and changes only the bytes
//! it is about. `docs/board-format.md` describes the files.
//!
//! The calls block; a caller inside a runtime hands them to a blocking thread.

mod board;
mod dir;
mod error;
pub mod format;
mod id;
mod index;
mod lock;
mod publish;
mod snapshot;
mod tracker;
mod watch;

pub use board::{Board, BoardOptions, IssueFile, Limits, NewIssue};
pub use error::BoardError;
pub use id::IdPrefix;
pub use snapshot::{Entry, Skipped, Snapshot, origin};
