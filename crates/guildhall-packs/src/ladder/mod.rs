//! The `ladder` pack: summaries of a repository, of its directories and files, each anchored to a commit (zz page,
//! "Ladder").
//!
//! What a summary says is data that somebody wrote: it is handed on with its author, and whether the code has moved on
//! since is computed from the repository, never taken from the text.

mod citations;
mod read;
mod reindex;
mod search;
mod shown;
mod tree;
mod write_rung;

use std::sync::Arc;

use guildhall_core::Clock;
use guildhall_git::{GitError, Repository};
use guildhall_store::{Act, Ladder, Repos};
use guildhall_tools::{CallContext, Pack, RepoAccess, ToolError};

use crate::act::act;
use crate::repositories::Repositories;

/// What the tools work on.
#[derive(Clone)]
pub struct Summaries {
    /// The rungs.
    pub ladder: Arc<dyn Ladder>,
    /// Where each default branch is.
    pub repos: Arc<dyn Repos>,
    /// What the rungs are about.
    pub repositories: Arc<dyn Repositories>,
    /// When they are written.
    pub clock: Arc<dyn Clock>,
}

/// The pack over `summaries`.
pub fn pack(summaries: &Summaries) -> Pack {
    Pack::new(
        "ladder",
        vec![
            read::tool(summaries.clone()),
            tree::tool(summaries.clone()),
            search::tool(summaries.clone()),
            reindex::tool(summaries.clone()),
            write_rung::tool(summaries.clone()),
        ],
    )
}

impl Summaries {
    /// Runs `work` with `repo` opened, on a thread that may block.
    async fn in_repo<T, F>(&self, repo: &RepoAccess, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce(&Repository) -> Result<T, ToolError> + Send + 'static,
    {
        let (repositories, repo) = (Arc::clone(&self.repositories), repo.clone());
        let done = tokio::task::spawn_blocking(move || work(&*repositories.open(&repo)?));
        done.await.map_err(ToolError::internal)?
    }

    /// The commit of the default branch; `None` in an empty repository.
    async fn head(&self, repo: &RepoAccess) -> Result<Option<String>, ToolError> {
        let kept = self.repos.repo(repo.name.clone()).await?;
        Ok(kept.and_then(|repo| repo.head))
    }

    /// The caller, now, under the call's idempotency key.
    fn act(&self, context: &CallContext) -> Act {
        act(context, &*self.clock)
    }
}

/// What git says of what the caller named: always wrong arguments, never a path of the machine.
fn refusal(error: &GitError) -> ToolError {
    if error.is_callers_fault() {
        ToolError::bad_arguments(error.to_string())
    } else {
        ToolError::internal(format!("{error:?}"))
    }
}

#[cfg(test)]
mod tests;
