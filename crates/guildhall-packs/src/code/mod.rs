//! The `code` pack: the only tool that writes code (zz page, "Code").
//!
//! A commit has one commit point. Its objects are on the disk first; then the store moves the repository's head, by
//! compare-and-swap, in the transaction that answers the ask; then the branch follows. Whoever changes a repository has
//! its turn for all of that, and brings the branch to where the store says it is before anything else.

mod commit_changeset;

use std::sync::Arc;

use futures::future::BoxFuture;
use guildhall_core::{Clock, Ids, RepoName};
use guildhall_git::{GitError, Hosted};
use guildhall_store::{Asks, Repos};
use guildhall_tools::{Pack, ToolError};

/// What the tool works on.
#[derive(Clone)]
pub struct Code {
    /// What is submitted and how it ends.
    pub asks: Arc<dyn Asks>,
    /// Where each branch is.
    pub repos: Arc<dyn Repos>,
    /// The right to change a repository.
    pub turns: Arc<dyn Turns>,
    /// When it is committed.
    pub clock: Arc<dyn Clock>,
    /// Where the ids of what is posted come from.
    pub ids: Arc<dyn Ids>,
}

/// Gives the right to change repositories, to one at a time each.
pub trait Turns: Send + Sync {
    /// Waits for the right to change `repo`.
    ///
    /// # Errors
    ///
    /// A fault of ours: the repository is known to exist.
    fn turn<'a>(&'a self, repo: &'a RepoName) -> BoxFuture<'a, Result<Turn, ToolError>>;
}

/// The right to change a repository. Ends when dropped.
pub struct Turn {
    hosted: Arc<Hosted>,
    _held: Box<dyn Send + Sync>,
}

impl Turn {
    /// The right to change `hosted`, which lasts as long as `held` does.
    pub fn new(hosted: Arc<Hosted>, held: impl Send + Sync + 'static) -> Self {
        Self {
            hosted,
            _held: Box::new(held),
        }
    }

    /// The repository.
    pub fn hosted(&self) -> Arc<Hosted> {
        Arc::clone(&self.hosted)
    }

    /// Runs `work` on a thread that may block.
    pub async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Hosted) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let hosted = Arc::clone(&self.hosted);
        let done = tokio::task::spawn_blocking(move || work(&hosted)).await;
        Ok(done.map_err(ToolError::internal)??)
    }
}

/// The pack over `code`.
pub fn pack(code: &Code) -> Pack {
    Pack::new("code", vec![commit_changeset::tool(code.clone())])
}

#[cfg(test)]
mod tests;
