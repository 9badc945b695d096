//! `ladder_search`: full-text search over the summaries of every repository that the caller may see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use guildhall_core::ladder::{LONGEST_QUERY, Query, RungKind};
use guildhall_core::{Principal, RepoName, RepoRole};
use guildhall_store::{Found, Hit, MOST_RANKED, Search, SearchPosition};
use guildhall_tools::{CallContext, RepoAccess, Scope, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Summaries;
use super::shown::stale;
use super::tree::directory;

/// Results of a page that does not say how many.
const USUAL: u64 = 20;

/// Most results of a page.
const MOST: u64 = 100;

/// Up to here a total is exact.
const EXACT: usize = 1000;

/// What the answer takes beside its results, in bytes.
const FRAME: usize = 300;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Words that must all be there; "words in quotes" follow each other, word* finds what begins with it
    query: String,
    /// Only repo, directory, file, release, changeset, issue, pull or lane
    kind: Option<String>,
    /// Only what is below this directory
    under: Option<String>,
    /// Only this repository, not every one you may see
    this_repo: Option<bool>,
    /// Most results of the answer; default 20, at most 100
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// `next_cursor` of the page before
    cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Page {
    /// Best first
    results: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// In place of `total` where there are more than 1,000
    #[serde(skip_serializing_if = "Option::is_none")]
    total_at_least: Option<usize>,
    /// Only so many of them were ranked
    #[serde(skip_serializing_if = "Option::is_none")]
    ranked: Option<usize>,
    /// Reads on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Item {
    repo: String,
    path: String,
    kind: &'static str,
    snippet: String,
    /// The code has changed since
    stale: bool,
}

pub(super) fn tool(summaries: Summaries) -> Tool {
    Tool::new(
        "ladder_search",
        "Search summaries",
        "Find summaries by their words, in every repository you may see. Use it to find where something is done.",
    )
    .read_only()
    .bounded()
    .sized_by_limit()
    .scope(Scope::Repo(RepoRole::Reader))
    .handler(move |context: CallContext, arguments: Arguments| {
        let summaries = summaries.clone();
        async move { search(&summaries, &context, arguments).await }
    })
}

async fn search(
    summaries: &Summaries,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Page, ToolError> {
    let wanted = wanted(context, arguments)?;
    let mut found = summaries.ladder.search(wanted).await?;
    let stale = match all_stale(summaries, &found.hits).await {
        Err(error) if !drop_gone(summaries, &mut found).await? => return Err(error),
        Err(_) => all_stale(summaries, &found.hits).await?,
        Ok(stale) => stale,
    };
    let total = found.total;
    let next = found.next;
    let all = found.hits.len();
    let (mut results, mut positions) = (Vec::with_capacity(all), Vec::with_capacity(all));
    let mut room = context.budget.bytes().saturating_sub(FRAME);
    for (hit, stale) in found.hits.into_iter().zip(stale) {
        let result = Item {
            repo: hit.repo.into(),
            kind: hit.path.kind().as_str(),
            path: hit.path.into(),
            snippet: hit.snippet,
            stale,
        };
        let size = json_len(&result) + 1;
        if size > room && !results.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        results.push(result);
        positions.push(hit.position);
    }
    let next = if results.len() < all {
        positions.last().copied()
    } else {
        next
    };
    Ok(Page {
        results,
        total: (total <= EXACT).then_some(total),
        total_at_least: (total > EXACT).then_some(total),
        ranked: found.cut.then_some(MOST_RANKED),
        next_cursor: next.map(|next| context.cursors.seal(&next)),
    })
}

fn wanted(context: &CallContext, arguments: Arguments) -> Result<Search, ToolError> {
    let query = Query::parse(&arguments.query).map_err(|error| {
        ToolError::bad_arguments(error.to_string()).hint(format!(
            "Give words that the summary has, at most {LONGEST_QUERY} characters."
        ))
    })?;
    let kind = arguments.kind.filter(|kind| !kind.trim().is_empty());
    let kind: Option<RungKind> = kind.map(|kind| kind.trim().parse()).transpose().map_err(
        |error: guildhall_core::ladder::RungPathError| {
            ToolError::bad_arguments(format!("'kind': {error}"))
        },
    )?;
    let after: Option<SearchPosition> = context.cursors.resume(arguments.cursor.as_deref())?;
    let repo = context.repo()?;
    let user = Principal::user(context.caller.principal.user_address());
    Ok(Search {
        query,
        user: user.map_err(ToolError::internal)?,
        only: if arguments.this_repo.unwrap_or_default() {
            Some(vec![repo.name.clone()])
        } else {
            let limits = context.caller.repos.as_ref();
            limits.map(|repos| repos.iter().filter_map(|name| name.parse().ok()).collect())
        },
        kind,
        under: directory(arguments.under)?,
        after,
        limit: usize::try_from(arguments.limit.unwrap_or(USUAL).clamp(1, MOST))
            .map_err(ToolError::internal)?,
    })
}

/// Drops what was found in repositories that were removed since. Tells whether there was any.
async fn drop_gone(summaries: &Summaries, found: &mut Found) -> Result<bool, ToolError> {
    let before = found.hits.len();
    let repos: BTreeSet<RepoName> = found.hits.iter().map(|hit| hit.repo.clone()).collect();
    for repo in repos {
        if summaries.repos.repo(repo.clone()).await?.is_none() {
            found.hits.retain(|hit| hit.repo != repo);
        }
    }
    let dropped = before - found.hits.len();
    found.total = found.total.saturating_sub(dropped);
    Ok(dropped > 0)
}

/// For each find, whether the code has changed since; each repository is opened once.
async fn all_stale(summaries: &Summaries, hits: &[Hit]) -> Result<Vec<bool>, ToolError> {
    if hits.is_empty() {
        return Ok(Vec::new());
    }
    let repositories = Arc::clone(&summaries.repositories);
    let hits = hits.to_vec();
    let looked = tokio::task::spawn_blocking(move || {
        let mut by_repo: BTreeMap<&RepoName, Vec<usize>> = BTreeMap::new();
        for (place, hit) in hits.iter().enumerate() {
            by_repo.entry(&hit.repo).or_default().push(place);
        }
        let mut all = vec![false; hits.len()];
        for (repo, places) in by_repo {
            let access = RepoAccess {
                name: repo.clone(),
                role: RepoRole::Reader,
                coordinates: false,
            };
            let rungs: Vec<_> = places
                .iter()
                .map(|&place| (&hits[place].path, hits[place].anchor.as_ref()))
                .collect();
            let head = hits[places[0]].head.as_deref();
            let repository = repositories.open(&access)?;
            for (place, stale) in places.iter().zip(stale(&repository, head, &rungs)?) {
                all[*place] = stale;
            }
        }
        Ok(all)
    });
    looked.await.map_err(ToolError::internal)?
}
