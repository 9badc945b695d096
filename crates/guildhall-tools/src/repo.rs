//! Repositories as calls see them: which one a call is about, and what its caller may do there.

use futures::future::BoxFuture;
use guildhall_core::{RepoName, RepoRole};

use crate::{Caller, ToolError};

/// A repository that the caller may see, and as what.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RepoAccess {
    /// Its name.
    pub name: RepoName,
    /// The most that the caller is there.
    pub role: RepoRole,
    /// Whether the caller coordinates a lane of it, `_repo` among them.
    pub coordinates: bool,
}

/// Which repository a call is about, as far as the call itself says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WantedRepo<'a> {
    /// `owner/name`, from the address or the argument `repo`.
    Named(&'a str),
    /// Nothing named one: the token's, else the workspace's own, else the only one that the caller sees.
    Implied,
}

/// Finds repositories for calls.
pub trait RepoResolver: Send + Sync {
    /// The repository that `wanted` means, for `caller`.
    ///
    /// # Errors
    ///
    /// Not found, with the same words, where there is none of that name and where the caller may not see it; wrong
    /// arguments that list what there is, where nothing names one and several could be meant.
    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        wanted: WantedRepo<'a>,
    ) -> BoxFuture<'a, Result<RepoAccess, ToolError>>;
}
