//! Repositories: the only crate that opens them or runs `git`.
//!
//! Every `git` process is built by [`Git`], with an environment made from nothing and a configuration that no repository
//! can change. The calls block; a caller inside a runtime hands them to a blocking thread.

mod blame;
mod changeset;
mod command;
mod diff;
mod drift;
mod error;
mod files;
mod grep;
mod history;
mod hosting;
mod identity;
mod log;
mod object;
mod path;
mod repository;
mod revision;
mod text;
mod worktrees;

pub use blame::{Blame, BlameRange, BlameRequest};
pub use changeset::{
    Change, ChangesetLimits, Composed, Conflict, Conflicts, FileChange, FileMode, NewCommit,
    Proposal, Side, Signature,
};
pub use command::{Environment, Git, Version};
pub use diff::{Diff, DiffPosition, DiffRequest, FileDiff, Hunk, Status};
pub use drift::{Anchored, Drift, PathObject};
pub use error::GitError;
pub use files::{
    Encoding, EntryKind, FileContent, FileRequest, Tree, TreeEntry, TreePosition, TreeRequest,
};
pub use grep::{Grep, GrepMatch, GrepPosition, GrepRequest};
pub use hosting::{Hosted, Hosting, Source, Standing, Turn, UploadPack};
pub use identity::user_email;
pub use log::{Commit, DayEdge, LogPage, LogPosition, LogRequest, Order, Person, parse_moment};
pub use repository::Repository;
pub use text::unescape;
pub use worktrees::{Checkout, Left, Worktree};
