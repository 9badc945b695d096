//! The `git` pack: reading the code and its history (zz page, "Git"). Nothing here writes.
//!
//! Commits are named by full or unambiguous short id, branch or tag. Bytes that are not UTF-8 come through as `\xNN`
//! and are flagged in `escaped`; links and submodules are shown as such and never followed.

mod blame;
mod diff;
mod grep;
mod log;
mod show_file;
mod tree;

use std::sync::Arc;

pub use crate::repositories::Repositories;

use guildhall_core::RepoRole;
use guildhall_git::{GitError, Repository};
use guildhall_tools::{CallContext, Pack, Scope, ToolBuilder, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pack over `repositories`, the page's tools first.
pub fn pack(repositories: &Arc<dyn Repositories>) -> Pack {
    let repositories = || Arc::clone(repositories);
    Pack::new(
        "git",
        vec![
            log::tool(repositories()),
            diff::tool(repositories()),
            show_file::tool(repositories()),
            tree::tool(repositories()),
            blame::tool(repositories()),
            grep::tool(repositories()),
        ],
    )
}

/// What every tool of the pack promises.
const fn reads(tool: ToolBuilder) -> ToolBuilder {
    tool.read_only()
        .bounded()
        .scope(Scope::Repo(RepoRole::Reader))
}

/// Of which lines of a file a call is.
#[derive(Deserialize, JsonSchema)]
struct Lines {
    path: String,
    /// Id, branch or tag; default the tip of the default branch
    commit: Option<String>,
    /// First line, from 1
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// Last line
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
}

/// Runs `work` on a blocking thread with the call's repository opened.
async fn in_repo<T, F>(
    repositories: &Arc<dyn Repositories>,
    context: &CallContext,
    work: F,
) -> Result<T, ToolError>
where
    T: Send + 'static,
    F: FnOnce(&Repository) -> Result<T, GitError> + Send + 'static,
{
    let (repositories, repo) = (Arc::clone(repositories), context.repo()?.clone());
    let read = tokio::task::spawn_blocking(move || Ok(work(&*repositories.open(&repo)?)?));
    read.await.map_err(ToolError::internal)?
}

/// How many of `items` fit `room` bytes of JSON, at least one where there is one.
fn fitting<T: Serialize>(items: &[T], mut room: usize) -> usize {
    items
        .iter()
        .take_while(|item| {
            let size = json_len(item) + 1;
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .count()
        .max(usize::from(!items.is_empty()))
}

/// Text that is blank is the same as not given.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
