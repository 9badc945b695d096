//! Finding rungs.
//!
//! Most searches find little, and one statement answers them: the index gives what there is, and each find is looked at
//! for whether the user may read its repo. Where there is more than that statement takes, the repos that the user may
//! read are looked up first and become part of what the index is asked for.
//!
//! `CROSS JOIN` tells SQLite to begin with the index; left to itself it may begin with the repos and read every rung.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use guildhall_core::RepoName;
use guildhall_core::ladder::{Query, Term, snippet, words};
use serde::{Deserialize, Serialize};

use super::index::{Wanted, repo_mark};
use super::{Found, Hit, Search, anchor, path};
use crate::Store;
use crate::error::{Error, Result};
use crate::roles::may_read;
use crate::tx::Tx;
use crate::value::{Arg, Row, args};

/// The most finds that are ranked.
pub const MOST_RANKED: usize = 10_000;

/// The most finds that the first statement takes. It stands in the statement itself: were it an argument, PostgreSQL would
/// take the plan that it keeps to give more rows than one it makes for the arguments at hand, and would plan each search anew.
macro_rules! few {
    () => {
        200
    };
}
const FEW: usize = few!();

/// Up to so many repos are named inside the index: FTS5 takes no more in one expression in good time.
const MARKED: usize = 256;

/// The repos that a token is limited to, and those most people see, are no more than this. Up to so many are named inside
/// the index of PostgreSQL, which beyond them is quicker with a filter beside it; and words that begin with a text are
/// looked for in their rungs.
const FEW_REPOS: usize = 16;

/// Finds are scored on a thread of their own from here on.
const MANY: usize = 200;

/// Where a page ended: behind the find of this score and id.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct SearchPosition {
    score: Reverse<u32>,
    id: i64,
}

/// A find before it is ranked.
struct Candidate {
    id: i64,
    repo: String,
    path: String,
    summary: String,
    commit: Option<String>,
    object: Option<String>,
    head: Option<String>,
    visible: bool,
}

impl Candidate {
    /// Whether every one of these is in it.
    fn has(&self, terms: &[Term]) -> bool {
        if terms.is_empty() {
            return true;
        }
        let words: Vec<_> = words(&self.summary).collect();
        terms.iter().all(|term| term.is_in(&words))
    }
}

/// The finds of a query.
struct Finds {
    candidates: Vec<Candidate>,
    cut: bool,
}

/// Which repos a statement is about.
enum Among {
    /// All there are.
    All,
    /// These, named inside the index.
    Marked(Vec<String>),
    /// These, beside the index.
    Listed(Vec<String>),
}

pub(super) async fn search(store: &Store, search: Search) -> Result<Found> {
    if search.query.terms().is_empty() {
        return Ok(Found {
            hits: Vec::new(),
            total: 0,
            cut: false,
            next: None,
        });
    }
    let finds = all(store, search.clone()).await?;
    if finds.candidates.is_empty()
        && let Some(query) = search.query.widened()
    {
        let wider = Search { query, ..search };
        let finds = all(store, wider.clone()).await?;
        return ranked(wider, finds).await;
    }
    ranked(search, finds).await
}

/// Every find that the user may see, or the first [`MOST_RANKED`].
async fn all(store: &Store, search: Search) -> Result<Finds> {
    let known = store.found_often();
    if !known.has(&search) {
        let few = store.read(search.clone(), |tx, search| Box::pin(few(tx, search)));
        if let Some(candidates) = few.await? {
            return Ok(Finds {
                candidates,
                cut: false,
            });
        }
        known.add(&search);
    }
    store
        .snapshot(search, |tx, search| Box::pin(many(tx, search)))
        .await
}

/// Searches that had more finds than the first statement takes: they begin with the second. PostgreSQL keeps one plan for the
/// first, which is made for words that few rungs have; of a common word it reads all that the index has before it gives any.
/// A search that is remembered for longer than it should is answered all the same.
#[derive(Default)]
pub(crate) struct FoundOften(Mutex<HashSet<u64>>);

impl FoundOften {
    /// Searches that are remembered: some thousands are all that people type.
    const MOST: usize = 10_000;

    fn has(&self, search: &Search) -> bool {
        self.known().contains(&Self::key(search))
    }

    fn add(&self, search: &Search) {
        let mut known = self.known();
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(Self::key(search));
    }

    /// A mistaken one costs time alone.
    fn key(search: &Search) -> u64 {
        let mut hasher = DefaultHasher::new();
        let Search {
            query,
            only,
            kind,
            under,
            user: _,
            after: _,
            limit: _,
        } = search;
        (query.terms(), only, kind, under).hash(&mut hasher);
        hasher.finish()
    }

    fn known(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

macro_rules! found {
    () => {
        "SELECT r.id, r.repo, r.path, r.summary, r.anchor_commit, r.anchor_object"
    };
}

/// The finds of a query that has no more than [`FEW`] of them, in one statement; `None` where it has more.
async fn few(tx: &mut Tx, search: &Search) -> Result<Option<Vec<Candidate>>> {
    let among = match &search.only {
        Some(only) if only.len() <= FEW_REPOS => Among::Marked(names(only)),
        _ => Among::All,
    };
    if matches!(&among, Among::Marked(names) if names.is_empty()) {
        return Ok(Some(Vec::new()));
    }
    let mut wanted = wanted(search);
    let beginnings = wanted.take_beginnings();
    if matches!(&among, Among::All) && !beginnings.is_empty() {
        // Perhaps the user sees few repos.
        return Ok(None);
    }
    let sql = tx.either(
        concat!(
            found!(),
            ", p.head, ",
            may_read!("$2"),
            " FROM (SELECT rowid AS id FROM rung_words WHERE rung_words MATCH $1 LIMIT ",
            few!(),
            " + 1) f
             CROSS JOIN rungs r ON r.id = f.id CROSS JOIN repos p ON p.name = r.repo"
        ),
        concat!(
            found!(),
            ", p.head, ",
            may_read!("$2"),
            " FROM (SELECT rung AS id FROM rung_words WHERE words @@ (SELECT CAST($1 AS TSQUERY)) LIMIT ",
            few!(),
            " + 1) f
             JOIN rungs r ON r.id = f.id JOIN repos p ON p.name = r.repo"
        ),
    );
    let asked = asked(tx, &wanted, &among);
    let args = args![&asked, &search.user];
    let rows = tx.rows(sql, args).await?;
    if rows.len() > FEW {
        return Ok(None);
    }
    let mut candidates = rows
        .into_iter()
        .map(|mut row| {
            let mut found = candidate(&mut row)?;
            found.head = row.take()?;
            found.visible = row.take()?;
            Ok(found)
        })
        .collect::<Result<Vec<_>>>()?;
    if let Some(only) = &search.only {
        let only: HashSet<&str> = only.iter().map(RepoName::as_str).collect();
        candidates.retain(|found| only.contains(found.repo.as_str()));
    }
    candidates.retain(|found| found.visible && found.has(&beginnings));
    Ok(Some(candidates))
}

/// The finds of a query that has many, among the repos that the user may read.
async fn many(tx: &mut Tx, search: &Search) -> Result<Finds> {
    let (heads, among) = repos(tx, search).await?;
    let listed = match &among {
        Among::Listed(names) if names.is_empty() => {
            return Ok(Finds {
                candidates: Vec::new(),
                cut: false,
            });
        }
        Among::Listed(names) => Some(if tx.sqlite().is_some() {
            serde_json::to_string(names).unwrap_or_default()
        } else {
            array(names)
        }),
        _ => None,
    };
    let sql = if listed.is_some() {
        tx.either(
            concat!(
                found!(),
                " FROM rung_words w CROSS JOIN rungs r ON r.id = w.rowid
                 WHERE rung_words MATCH $1 AND r.repo IN (SELECT value FROM json_each($2)) LIMIT $3"
            ),
            concat!(
                found!(),
                " FROM (SELECT w.rung AS id FROM rung_words w
                    JOIN unnest(CAST($2 AS TEXT[])) AS among (repo) ON among.repo = w.repo
                    WHERE w.words @@ CAST($1 AS TSQUERY) LIMIT $3) f
                 JOIN rungs r ON r.id = f.id"
            ),
        )
    } else {
        tx.either(
            concat!(
                found!(),
                " FROM (SELECT rowid AS id FROM rung_words WHERE rung_words MATCH $1 LIMIT $3) f
                 CROSS JOIN rungs r ON r.id = f.id"
            ),
            concat!(
                found!(),
                " FROM (SELECT rung AS id FROM rung_words WHERE words @@ CAST($1 AS TSQUERY)
                    LIMIT $3) f
                 JOIN rungs r ON r.id = f.id"
            ),
        )
    };
    let mut wanted = wanted(search);
    let by_repo = matches!(&among, Among::Marked(names) if names.len() <= FEW_REPOS);
    let mut beginnings = Vec::new();
    if by_repo {
        beginnings = wanted.take_beginnings();
    }
    let asked = asked(tx, &wanted, &among);
    let args = args![&asked, &listed, limit(MOST_RANKED)];
    let mut rows = tx.rows_planned(sql, args).await?;
    if rows.len() > MOST_RANKED && !beginnings.is_empty() {
        // More rungs than can be looked at: the index does it all.
        wanted.terms.append(&mut beginnings);
        let asked = self::asked(tx, &wanted, &among);
        let args = args![&asked, &listed, limit(MOST_RANKED)];
        rows = tx.rows_planned(sql, args).await?;
    }
    let cut = rows.len() > MOST_RANKED;
    let mut candidates = Vec::with_capacity(rows.len());
    for mut row in rows.into_iter().take(MOST_RANKED) {
        let mut found = candidate(&mut row)?;
        // Once more, whatever the index said.
        if let Some(head) = heads.get(&found.repo)
            && found.has(&beginnings)
        {
            found.head.clone_from(head);
            candidates.push(found);
        }
    }
    Ok(Finds { candidates, cut })
}

/// The repos that are searched, with their heads, and how the index is told.
async fn repos(tx: &mut Tx, search: &Search) -> Result<(HashMap<String, Option<String>>, Among)> {
    let sql = concat!("SELECT p.name, p.head, ", may_read!("$2"), " FROM repos p");
    let none: Option<&str> = None;
    let rows = tx.rows(sql, args![none, &search.user]).await?;
    let all = rows.len();
    let only: Option<HashSet<&str>> = search
        .only
        .as_ref()
        .map(|only| only.iter().map(RepoName::as_str).collect());
    let mut heads = HashMap::new();
    for mut row in rows {
        let (name, head, visible): (String, _, bool) = (row.take()?, row.take()?, row.take()?);
        if visible
            && only
                .as_ref()
                .is_none_or(|only| only.contains(name.as_str()))
        {
            heads.insert(name, head);
        }
    }
    let mut names: Vec<String> = heads.keys().cloned().collect();
    names.sort_unstable();
    let marked = if tx.sqlite().is_some() {
        MARKED
    } else {
        FEW_REPOS
    };
    let among = if names.len() == all {
        Among::All
    } else if !names.is_empty() && names.len() <= marked {
        Among::Marked(names)
    } else {
        Among::Listed(names)
    };
    Ok((heads, among))
}

fn wanted(search: &Search) -> Wanted {
    Wanted {
        terms: search.query.terms().to_vec(),
        kind: search.kind,
        under: search.under.clone(),
    }
}

/// `wanted` among these repos, in the words of the index.
fn asked(tx: &Tx, wanted: &Wanted, among: &Among) -> String {
    let marks = marks(among);
    if tx.sqlite().is_some() {
        wanted.for_sqlite(&marks)
    } else {
        wanted.for_postgres(&marks)
    }
}

fn marks(among: &Among) -> Vec<String> {
    let Among::Marked(names) = among else {
        return Vec::new();
    };
    let names = names.iter().filter_map(|name| name.parse().ok());
    names.map(|name| repo_mark(&name)).collect()
}

/// One more than `most`, so that more can be told.
fn limit(most: usize) -> Arg<'static> {
    Arg::Int(i64::try_from(most + 1).ok())
}

/// An array of PostgreSQL. Numbers and names hold nothing that it would take for its own.
fn array<T: ToString>(items: &[T]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    format!("{{{}}}", items.join(","))
}

fn names(repos: &[RepoName]) -> Vec<String> {
    repos.iter().map(ToString::to_string).collect()
}

fn candidate(row: &mut Row) -> Result<Candidate> {
    Ok(Candidate {
        id: row.take()?,
        repo: row.take()?,
        path: row.take()?,
        summary: row.take()?,
        commit: row.take()?,
        object: row.take()?,
        head: None,
        visible: true,
    })
}

/// The page of `finds` that was asked for.
async fn ranked(search: Search, finds: Finds) -> Result<Found> {
    if finds.candidates.len() < MANY {
        return page(&search, finds);
    }
    let paged = tokio::task::spawn_blocking(move || page(&search, finds)).await;
    paged.map_err(|error| Error::fault(error.to_string()))?
}

fn page(search: &Search, finds: Finds) -> Result<Found> {
    let query: &Query = &search.query;
    let total = finds.candidates.len();
    let mut scored: Vec<(SearchPosition, Candidate)> = finds
        .candidates
        .into_iter()
        .map(|found| {
            let score = Reverse(query.score(&found.path, &found.summary));
            (
                SearchPosition {
                    score,
                    id: found.id,
                },
                found,
            )
        })
        .filter(|(position, _)| search.after.is_none_or(|after| *position > after))
        .collect();
    let limit = search.limit.max(1);
    if scored.len() > limit {
        scored.select_nth_unstable_by_key(limit, |(position, _)| *position);
    }
    let more = scored.len() > limit;
    scored.truncate(limit);
    scored.sort_unstable_by_key(|(position, _)| *position);
    let next = scored
        .last()
        .filter(|_| more)
        .map(|(position, _)| *position);
    let hits = scored
        .into_iter()
        .map(|(position, found)| {
            Ok(Hit {
                position,
                repo: found
                    .repo
                    .parse()
                    .map_err(|_| Error::fault("a rung's repo has no name"))?,
                head: found.head,
                path: path(&found.path)?,
                snippet: snippet(query, &found.summary),
                anchor: anchor(found.commit, found.object),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Found {
        hits,
        total,
        cut: finds.cut,
        next,
    })
}
