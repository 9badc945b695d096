//! Repositories as calls see them: which one a call is about, and what its caller may do there.

use std::fmt;

use futures::future::BoxFuture;

use crate::{Caller, ToolError};

/// What somebody may do in a repository; each role has all that the ones before it have.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum RepoRole {
    /// Reads everything.
    Reader,
    /// Proposes lanes, posts, claims and answers asks.
    Contributor,
    /// Reviews changesets.
    Maintainer,
    /// Everything, granting roles included.
    Owner,
}

impl RepoRole {
    /// Every role, the least first.
    pub const ALL: [Self; 4] = [
        Self::Reader,
        Self::Contributor,
        Self::Maintainer,
        Self::Owner,
    ];

    /// The name that arguments and results carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Contributor => "contributor",
            Self::Maintainer => "maintainer",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for RepoRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A repository that the caller may see, and as what.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RepoAccess {
    /// The first part of its name.
    pub owner: String,
    /// The second part of its name.
    pub name: String,
    /// The most that the caller is there.
    pub role: RepoRole,
}

impl RepoAccess {
    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
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
