//! The hosted repositories, as the doors see them.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use futures::future::BoxFuture;
use guildhall_core::{Principal, RepoName};
use guildhall_tools::{Caller, RepoAccess, RepoResolver, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::io::AsyncRead;

use crate::Mounted;

/// The objects of a clone or fetch, as they are made.
pub type PackStream = Pin<Box<dyn AsyncRead + Send>>;

/// Where a repository is taken in from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// A directory of the server's machine.
    Path(PathBuf),
    /// An address that git clones from.
    Url(String),
}

/// A repository that is to be hosted.
#[derive(Clone, Debug)]
pub struct NewRepo {
    /// Under which name.
    pub name: RepoName,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether everybody who is signed in may read it.
    pub public: bool,
}

/// A hosted repository as its reader is told of it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Repo")]
pub struct RepoView {
    /// `owner/name`
    #[schemars(with = "String")]
    pub repo: RepoName,
    /// Whether everybody who is signed in may read it.
    pub public: bool,
    /// What the reader is there.
    pub role: &'static str,
    /// The branch that changes land on.
    pub default_branch: String,
    /// The full id of its tip; none in an empty repository.
    pub head: Option<String>,
    /// Where it comes from. Told to the operator alone: it may be a path of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How it stands to the origin as of the last fetch; not in lists.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Apart>,
    /// The ask to merge the two, after a sync that found that both moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posted: Option<String>,
}

/// How a default branch stands to its origin.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Apart {
    /// The full id of the tip of the origin's branch of that name; none when it has no such branch.
    pub origin_head: Option<String>,
    /// How many commits the origin lacks.
    pub ahead: usize,
    /// How many commits the origin has on top.
    pub behind: usize,
}

/// Keeps repositories. Who may see one is told by [`RepoResolver`]; who may change one, the doors ask before they call.
///
/// What takes long goes on when its caller goes away.
pub trait RepoHost: RepoResolver {
    /// The tools that the doors of every repository serve, whatever the settings mount.
    fn tools(&self) -> Arc<Mounted>;

    /// The repositories that `caller` may see, by name.
    fn list<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<Vec<RepoView>, ToolError>>;

    /// One repository that `caller` was found to see.
    fn show<'a>(
        &'a self,
        caller: &'a Caller,
        repo: &'a RepoAccess,
    ) -> BoxFuture<'a, Result<RepoView, ToolError>>;

    /// Takes a repository in.
    ///
    /// # Errors
    ///
    /// A conflict for a name that is taken, in whatever case; wrong arguments for an origin that cannot be used; upstream
    /// for one that does not answer.
    fn add(&self, by: Principal, new: NewRepo) -> BoxFuture<'_, Result<RepoView, ToolError>>;

    /// Fetches the origin and moves the default branch forward to it.
    ///
    /// # Errors
    ///
    /// A conflict, with `ahead` and `behind`, when both moved; nothing is changed then. With `merge` somebody is asked to
    /// merge the two instead, and the answer names the ask. Not found; upstream.
    fn sync(
        &self,
        by: Principal,
        name: RepoName,
        merge: bool,
    ) -> BoxFuture<'_, Result<RepoView, ToolError>>;

    /// Sends the default branch to the origin. The answer tells how things stood before: `ahead` commits were sent.
    ///
    /// # Errors
    ///
    /// A conflict, with `ahead` and `behind`, when the origin has commits of its own. Not found; upstream.
    fn push(&self, by: Principal, name: RepoName) -> BoxFuture<'_, Result<RepoView, ToolError>>;

    /// Stops hosting a repository and deletes it here; its origin stays.
    ///
    /// # Errors
    ///
    /// Not found.
    fn remove(&self, by: Principal, name: RepoName) -> BoxFuture<'_, Result<(), ToolError>>;

    /// What git is told first. `protocol` is the request's `Git-Protocol` header.
    fn advertise<'a>(
        &'a self,
        repo: &'a RepoAccess,
        protocol: Option<String>,
    ) -> BoxFuture<'a, Result<Vec<u8>, ToolError>>;

    /// The answer to git's `request` for objects; to drop it ends the work.
    fn upload_pack<'a>(
        &'a self,
        repo: &'a RepoAccess,
        protocol: Option<String>,
        request: Vec<u8>,
    ) -> BoxFuture<'a, Result<PackStream, ToolError>>;
}
