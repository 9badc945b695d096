//! The Ladder: the summaries of each repository, their earlier versions, and the index by which they are found.
//!
//! The index is written in the transaction that writes a rung. It holds words that were split here and not by the
//! database, so that SQLite's FTS5 and PostgreSQL's text search find the same and give the same order; a mark for the
//! repo stands among the words, so that a search among some repos is one intersection inside the index.

mod index;
mod reindex;
mod search;
mod write;

use guildhall_core::ladder::{Query, RungKind, RungPath};
use guildhall_core::{Principal, RepoName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Store;
use crate::act::Act;
use crate::error::{Error, Result};
use crate::store::Answer;
use crate::tx::Tx;
use crate::value::{Row, args};

pub(crate) use search::FoundOften;
pub use search::{MOST_RANKED, SearchPosition};
pub use write::MOST_WRITTEN;

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT path, kind, summary, anchor_commit, anchor_object, author, updated_at, version FROM rungs ",
            $rest
        )
    };
}

/// A summary of a repository or of something in it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Rung {
    /// What it is called.
    pub path: RungPath,
    /// Markdown.
    pub summary: String,
    /// What it was written at, if it says.
    pub anchor: Option<Anchor>,
    /// Who wrote it.
    pub author: Principal,
    /// When.
    pub updated_at: Timestamp,
    /// How often it was written.
    pub version: i64,
}

/// What a rung was written at.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Anchor {
    /// The full id of the commit.
    pub commit: String,
    /// What stood at the path there, as the git crate tells it; `None` for what is not in the tree.
    pub object: Option<String>,
}

/// A version of a rung that was replaced.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RungVersion {
    /// Which, from 1.
    pub version: i64,
    /// What it said.
    pub summary: String,
    /// The commit it was written at, if it said.
    pub anchor_commit: Option<String>,
    /// Who wrote it.
    pub author: Principal,
    /// When.
    pub at: Timestamp,
}

/// A rung to be written. Whether its anchor and its path exist is for the caller to have looked up.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NewRung {
    /// What it is called.
    pub path: RungPath,
    /// Markdown, at most [`LONGEST_SUMMARY`](guildhall_core::ladder::LONGEST_SUMMARY) bytes.
    pub summary: String,
    /// What it is written at; required by some kinds.
    pub anchor: Option<Anchor>,
    /// The version it replaces: 0 where there is none yet; `None` replaces whatever is there.
    pub replaces: Option<i64>,
}

/// What became of a rung that was written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Written {
    /// What it is called.
    pub path: RungPath,
    /// The version it has now.
    pub version: i64,
}

/// Part of a Ladder: in the order of paths, `_repo` among them.
#[derive(Clone, Debug, Default)]
pub struct RungRange {
    /// Only paths that begin with this: a directory with its slash, or empty.
    pub under: String,
    /// Only paths behind this one.
    pub after: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// What is searched for, by whom.
#[derive(Clone, Debug)]
pub struct Search {
    /// What must be in a rung.
    pub query: Query,
    /// The user whose repos are searched; an agent's user.
    pub user: Principal,
    /// Only these of their repos.
    pub only: Option<Vec<RepoName>>,
    /// Only rungs of this kind.
    pub kind: Option<RungKind>,
    /// Only what is below this directory, named with its slash, or the directory itself.
    pub under: Option<RungPath>,
    /// Only what is behind an earlier page.
    pub after: Option<SearchPosition>,
    /// At most so many.
    pub limit: usize,
}

/// A page of what was found, the best first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// The rungs.
    pub hits: Vec<Hit>,
    /// How many there are in all pages, up to [`MOST_RANKED`].
    pub total: usize,
    /// Whether there are more than were ranked: then the order is that of the first [`MOST_RANKED`].
    pub cut: bool,
    /// Where the next page begins.
    pub next: Option<SearchPosition>,
}

/// A rung that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hit {
    /// The repo it belongs to.
    pub repo: RepoName,
    /// The commit of the repo's default branch.
    pub head: Option<String>,
    /// What it is called.
    pub path: RungPath,
    /// The part of it that was found.
    pub snippet: String,
    /// Where it stands among all: a page that ends here goes on behind it.
    pub position: SearchPosition,
    /// What it was written at.
    pub anchor: Option<Anchor>,
}

/// The Ladders.
pub trait Ladder: Send + Sync {
    /// The rung of this path.
    fn rung(&self, repo: RepoName, path: RungPath) -> Answer<'_, Option<Rung>>;

    /// Part of a repo's Ladder.
    fn rungs(&self, repo: RepoName, range: RungRange) -> Answer<'_, Vec<Rung>>;

    /// The earlier versions of a rung that are below `before`, the newest first, at most `limit`.
    fn rung_versions(
        &self,
        repo: RepoName,
        path: RungPath,
        before: i64,
        limit: u32,
    ) -> Answer<'_, Vec<RungVersion>>;

    /// Says whether `by` may write rungs of the repo, before anything else is looked at.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] and [`Error::Missing`] as [`Ladder::write_rungs`].
    fn may_write_rungs(&self, by: Principal, repo: RepoName) -> Answer<'_, ()>;

    /// Writes rungs, all of them or none.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] unless the caller owns the repo, coordinates `_repo`, or holds a `write_rung` or
    /// `submit_changeset` ask there; [`Error::Missing`] for a repo that is
    /// not there; [`Error::Moved`] where a version is not the one that is to be replaced; [`Error::Invalid`] for none or
    /// too many rungs, a path given twice, a summary that is blank or too long, an anchor that is missing.
    fn write_rungs(
        &self,
        act: Act,
        repo: RepoName,
        rungs: Vec<NewRung>,
    ) -> Answer<'_, Vec<Written>>;

    /// Makes the repo's part of the index anew from its rungs, and says how many they are: what the index lacks or has of
    /// other words is written, what belongs to no rung is taken out. It goes in steps, each a transaction: what is written meanwhile stays found, and an end in between leaves every rung found as it was or is.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] and [`Error::Missing`] as [`Ladder::write_rungs`].
    fn reindex(&self, act: Act, repo: RepoName) -> Answer<'_, u64>;

    /// The rungs that have every term, of the repos that the user may read.
    fn search(&self, search: Search) -> Answer<'_, Found>;
}

impl Ladder for Store {
    fn rung(&self, repo: RepoName, path: RungPath) -> Answer<'_, Option<Rung>> {
        Box::pin(self.read((repo, path), |tx, (repo, path)| {
            Box::pin(async move {
                let found = tx
                    .row(
                        columns!("WHERE repo = $1 AND path = $2"),
                        args![repo.as_str(), path.as_str()],
                    )
                    .await?;
                found.map(read).transpose()
            })
        }))
    }

    fn rungs(&self, repo: RepoName, range: RungRange) -> Answer<'_, Vec<Rung>> {
        Box::pin(self.read((repo, range), |tx, (repo, range)| {
            Box::pin(in_range(tx, repo, range))
        }))
    }

    fn rung_versions(
        &self,
        repo: RepoName,
        path: RungPath,
        before: i64,
        limit: u32,
    ) -> Answer<'_, Vec<RungVersion>> {
        const SQL: &str = "SELECT version, summary, anchor_commit, author, at FROM rung_versions
            WHERE repo = $1 AND path = $2 AND version < $3 ORDER BY version DESC LIMIT $4";
        let args = (repo, path, before, i64::from(limit));
        Box::pin(self.read(args, |tx, (repo, path, before, limit)| {
            Box::pin(async move {
                let args = args![repo.as_str(), path.as_str(), *before, *limit];
                let rows = tx.rows(SQL, args).await?;
                rows.into_iter().map(read_version).collect()
            })
        }))
    }

    fn may_write_rungs(&self, by: Principal, repo: RepoName) -> Answer<'_, ()> {
        Box::pin(self.read((by, repo), |tx, (by, repo)| {
            Box::pin(write::may_write(tx, by, repo, "write rungs"))
        }))
    }

    fn write_rungs(
        &self,
        act: Act,
        repo: RepoName,
        rungs: Vec<NewRung>,
    ) -> Answer<'_, Vec<Written>> {
        Box::pin(self.change(act, (repo, rungs), |tx, act, (repo, rungs)| {
            Box::pin(write::write(tx, act, repo, rungs))
        }))
    }

    fn reindex(&self, act: Act, repo: RepoName) -> Answer<'_, u64> {
        Box::pin(reindex::reindex(self, act, repo))
    }

    fn search(&self, search: Search) -> Answer<'_, Found> {
        Box::pin(search::search(self, search))
    }
}

async fn in_range(tx: &mut Tx, repo: &RepoName, range: &RungRange) -> Result<Vec<Rung>> {
    // Everything that begins with a text stands between it and it with the last character there is.
    let end = format!("{}\u{10ffff}", range.under);
    let after = range.after.as_deref().unwrap_or_default();
    let rows = tx
        .rows(
            columns!(
                "WHERE repo = $1 AND path >= $2 AND path <= $3 AND path > $4 ORDER BY path LIMIT $5"
            ),
            args![
                repo.as_str(),
                &range.under,
                &end,
                after,
                i64::from(range.limit)
            ],
        )
        .await?;
    rows.into_iter().map(read).collect()
}

/// Takes turns with everything else that writes this repo's rungs or their index.
async fn take_turn(tx: &mut Tx, repo: &RepoName) -> Result<()> {
    tx.take_turn(&format!("ladder:{repo}")).await
}

fn read(mut row: Row) -> Result<Rung> {
    let path = path(&row.take::<String>()?)?;
    let _kind: String = row.take()?;
    Ok(Rung {
        path,
        summary: row.take()?,
        anchor: anchor(row.take()?, row.take()?),
        author: row.take()?,
        updated_at: row.take()?,
        version: row.take()?,
    })
}

fn read_version(mut row: Row) -> Result<RungVersion> {
    Ok(RungVersion {
        version: row.take()?,
        summary: row.take()?,
        anchor_commit: row.take()?,
        author: row.take()?,
        at: row.take()?,
    })
}

fn path(text: &str) -> Result<RungPath> {
    text.parse()
        .map_err(|_| Error::fault(format!("`{text}` is kept as a rung's path")))
}

fn anchor(commit: Option<String>, object: Option<String>) -> Option<Anchor> {
    commit.map(|commit| Anchor { commit, object })
}
