//! Who may change a repository now: one call of this process, and one process of those that share the disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use guildhall_core::RepoName;
use guildhall_packs::code;
use guildhall_tools::ToolError;
use tokio::sync::OwnedMutexGuard;

use crate::repos::OpenRepos;

/// The turns at the repositories of one server.
pub(crate) struct Turns {
    open: Arc<OpenRepos>,
    /// One lock per name, in lower case.
    names: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Turns {
    pub(crate) fn new(open: Arc<OpenRepos>) -> Self {
        Self {
            open,
            names: Mutex::default(),
        }
    }

    /// The repositories they are at.
    pub(crate) fn open(&self) -> &Arc<OpenRepos> {
        &self.open
    }

    /// The right to take in or remove a repository of this name.
    pub(crate) async fn of_name(&self, name: &RepoName) -> OwnedMutexGuard<()> {
        let turn = {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            let folded = name.as_str().to_ascii_lowercase();
            Arc::clone(names.entry(folded).or_default())
        };
        turn.lock_owned().await
    }

    /// The right to change a repository. At a start (`first`) everything that a dead process left there goes.
    pub(crate) async fn at(&self, name: &RepoName, first: bool) -> Result<code::Turn, ToolError> {
        let mine = self.of_name(name).await;
        let (open, name) = (Arc::clone(&self.open), name.clone());
        let waited = tokio::task::spawn_blocking(move || {
            let hosted = open.hosted(&name)?;
            let shared = if first {
                hosted.first_turn()?
            } else {
                hosted.turn()?
            };
            Ok(code::Turn::new(hosted, (mine, shared)))
        });
        waited.await.map_err(ToolError::internal)?
    }
}

impl code::Turns for Turns {
    fn turn<'a>(&'a self, repo: &'a RepoName) -> BoxFuture<'a, Result<code::Turn, ToolError>> {
        Box::pin(self.at(repo, false))
    }
}
