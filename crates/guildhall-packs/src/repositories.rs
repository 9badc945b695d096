//! Where the packs that read repositories find them.

use std::sync::Arc;

use guildhall_git::Repository;
use guildhall_tools::{RepoAccess, ToolError};

/// Where hosted repositories are opened. One value is kept per repository: it caches the order of its log.
pub trait Repositories: Send + Sync {
    /// The repository that a call was found to be about.
    ///
    /// # Errors
    ///
    /// A fault of ours: the call's repository is known to exist.
    fn open(&self, repo: &RepoAccess) -> Result<Arc<Repository>, ToolError>;
}
