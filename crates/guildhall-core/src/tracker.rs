//! What every tracker can do, whatever service or folder is behind it.

use std::future::Future;
use std::pin::Pin;

use crate::Issue;

/// What a tracker could not do, in words a person can act on. Never contains a secret or a local path.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TrackerError {
    /// Starts with a capital, names the offending value, ends without a period.
    pub message: String,
}

/// The future a [`Tracker`] gives: boxed, so that trackers of different kinds can stand in one list.
pub type TrackerFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, TrackerError>> + Send + 'a>>;

/// A source of issues: `local`, `memory`, later `jira`, `linear`, `slack`, `discord`.
pub trait Tracker: Send + Sync {
    /// The kind, as the settings name it.
    fn kind(&self) -> &'static str;

    /// Every issue, in the tracker's own order. Items that cannot be read are left out here; a tracker's tools report
    /// them.
    fn issues(&self) -> TrackerFuture<'_, Vec<Issue>>;

    /// The issue `id`, or `None` where there is none.
    fn issue<'a>(&'a self, id: &'a str) -> TrackerFuture<'a, Option<Issue>>;
}
