//! What somebody may claim.

use std::collections::BTreeMap;

use guildhall_core::{Principal, RepoName};
use jiff::Timestamp;
use serde_json::json;

use super::read::{self, columns, now};
use super::{Ask, AskKind, AskScope, scope};
use crate::error::{Error, Result};
use crate::roles;
use crate::tx::Tx;
use crate::value::args;

/// Most asks that are listed; the statement reads one more, and of reviews as many again.
const PAGE: u32 = 100;

/// Most overlaps that are told; there is no end to them in a file that everybody touches.
const MOST_OVERLAPS: i64 = 1000;

/// What somebody may claim in a lane.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claimable {
    /// The asks, best first.
    pub asks: Vec<Ask>,
    /// By ask: the other unanswered asks that touch its files.
    pub overlaps: BTreeMap<String, Vec<Overlap>>,
    /// Whether there are more.
    pub more: bool,
}

/// An unanswered ask that is known to touch some of the same files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Overlap {
    /// Its id.
    pub ask: String,
    /// The files of both.
    pub files: Vec<String>,
}

pub(super) async fn claimable(
    tx: &mut Tx,
    by: &Principal,
    at: Timestamp,
    repo: &RepoName,
    lane: &str,
    limit: u32,
) -> Result<Claimable> {
    let sql = "SELECT closed_at, allow_self_review FROM lanes WHERE repo = $1 AND id = $2";
    let row = tx.row(sql, args![repo.as_str(), lane]).await?;
    let mut row = row.ok_or_else(|| Error::missing("lane", lane))?;
    let closed: Option<i64> = row.take()?;
    let allow_self_review: bool = row.take()?;
    let standing = roles::standing_of_caller(tx, by, repo, Some(lane)).await?;
    let limit = limit.clamp(1, PAGE);
    let mut asks = Vec::new();
    if closed.is_none() {
        for scope in AskScope::ALL {
            if scope.holds(standing) {
                asks.extend(free(tx, by, at, repo, lane, scope, allow_self_review, limit).await?);
            }
        }
    }
    asks.sort_by(|a, b| {
        let rank = |ask: &Ask| (std::cmp::Reverse(ask.priority), ask.posted_at);
        rank(a).cmp(&rank(b)).then_with(|| a.id.cmp(&b.id))
    });
    let limit = limit as usize;
    let more = asks.len() > limit;
    asks.truncate(limit);
    let overlaps = overlaps(tx, repo, &asks).await?;
    Ok(Claimable {
        asks,
        overlaps,
        more,
    })
}

/// The best asks of one scope that nobody holds, one more than `limit`. Those that nobody ever claimed or that were given
/// up come out of their index in order; those whose lease ran out are few, and are sorted.
#[expect(clippy::too_many_arguments, reason = "the parameters of one statement")]
async fn free(
    tx: &mut Tx,
    by: &Principal,
    at: Timestamp,
    repo: &RepoName,
    lane: &str,
    of: AskScope,
    allow_self_review: bool,
    limit: u32,
) -> Result<Vec<Ask>> {
    macro_rules! sql {
        ($database:tt, $limit:literal) => {
            concat!(
                "SELECT ",
                columns!(),
                ", c.author, c.work_author FROM (
                    SELECT * FROM (SELECT * FROM asks
                        WHERE repo = $1 AND lane = $2 AND scope = $4 AND state = 'open' AND waits = 0
                        ORDER BY priority DESC, posted_at, id LIMIT ",
                $limit,
                ") AS open
                    UNION ALL
                    SELECT * FROM (SELECT * FROM asks
                        WHERE repo = $1 AND lane = $2 AND scope = $4 AND state = 'claimed' AND waits = 0
                            AND expires_at <= ",
                now!($database),
                " ORDER BY priority DESC, posted_at, id LIMIT ",
                $limit,
                ") AS lapsed
                 ) AS a LEFT JOIN changesets c ON c.id = a.changeset
                 ORDER BY a.priority DESC, a.posted_at, a.id"
            )
        };
    }
    // The number stands in the statement: PostgreSQL plans for one it does not know as if it were a tenth of the lane.
    // Reviews of what the caller wrote are left out below; there are few of them beside what others wrote.
    let sql = match of {
        AskScope::Maintainer => tx.either(sql!(sqlite, 201), sql!(postgres, 201)),
        _ => tx.either(sql!(sqlite, 101), sql!(postgres, 101)),
    };
    let rows = tx
        .rows(sql, args![repo.as_str(), lane, at, of.name()])
        .await?;
    let mut asks = Vec::new();
    for mut row in rows {
        let ask = read::ask(&mut row)?;
        let authors = read::authors(&mut row)?;
        let own = ask.kind == AskKind::ChangesetReview
            && !allow_self_review
            && authors.iter().any(|author| scope::is_own(by, author));
        if !own {
            asks.push(ask);
        }
    }
    asks.truncate(limit as usize + 1);
    Ok(asks)
}

/// Which other unanswered asks are known to touch the files of `asks`.
async fn overlaps(
    tx: &mut Tx,
    repo: &RepoName,
    asks: &[Ask],
) -> Result<BTreeMap<String, Vec<Overlap>>> {
    let ids: Vec<&str> = asks
        .iter()
        .filter(|ask| !ask.files.is_empty())
        .map(|ask| ask.id.as_str())
        .collect();
    let mut overlaps: BTreeMap<String, Vec<Overlap>> = BTreeMap::new();
    if ids.is_empty() {
        return Ok(overlaps);
    }
    let sql = tx.either(
        "SELECT f.ask, o.ask, f.path FROM ask_files f
         JOIN ask_files o ON o.repo = f.repo AND o.path = f.path AND o.ask <> f.ask
         WHERE f.repo = $1 AND f.ask IN (SELECT value FROM json_each($2))
         ORDER BY f.ask, o.ask, f.path LIMIT $3",
        "SELECT f.ask, o.ask, f.path FROM ask_files f
         JOIN ask_files o ON o.repo = f.repo AND o.path = f.path AND o.ask <> f.ask
         WHERE f.repo = $1 AND f.ask IN (SELECT json_array_elements_text($2::json))
         ORDER BY f.ask, o.ask, f.path LIMIT $3",
    );
    let ids = json!(ids).to_string();
    let rows = tx
        .rows(sql, args![repo.as_str(), &ids, MOST_OVERLAPS])
        .await?;
    for mut row in rows {
        let (ask, other, path): (String, String, String) = (row.take()?, row.take()?, row.take()?);
        let of_ask = overlaps.entry(ask).or_default();
        match of_ask.last_mut().filter(|last| last.ask == other) {
            Some(last) => last.files.push(path),
            None => of_ask.push(Overlap {
                ask: other,
                files: vec![path],
            }),
        }
    }
    Ok(overlaps)
}
