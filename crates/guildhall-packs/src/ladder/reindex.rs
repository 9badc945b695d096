//! `ladder_reindex`: makes a repository's part of the search index anew.

use guildhall_core::RepoRole;
use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Summaries;

#[derive(Deserialize, JsonSchema)]
struct Arguments {}

#[derive(JsonSchema, Serialize)]
struct Reindexed {
    /// Rungs that are in the index now
    rungs: u64,
}

pub(super) fn tool(summaries: Summaries) -> Tool {
    Tool::new(
        "ladder_reindex",
        "Rebuild the search index",
        "Rebuild the repository's entries in the search index from its Ladder. Use it only when ladder_search misses rungs \
         that ladder_read shows.",
    )
    .idempotent()
    .keyed_by_store()
    .scope(Scope::Repo(RepoRole::Contributor))
    .handler(move |context: CallContext, Arguments {}| {
        let summaries = summaries.clone();
        async move {
            let repo = context.repo()?.name.clone();
            let rungs = summaries.ladder.reindex(summaries.act(&context), repo).await?;
            Ok::<_, ToolError>(Reindexed { rungs })
        }
    })
}
