//! What somebody may claim.

use std::collections::{BTreeMap, HashMap, HashSet};

use guildhall_core::{Principal, RepoName};
use jiff::Timestamp;
use serde_json::json;

use super::read::{self, columns, now};
use super::{Ask, AskScope};
use crate::error::{Error, Result};
use crate::roles;
use crate::tx::Tx;
use crate::value::args;

/// Most asks that are listed; the statement reads one more.
const PAGE: u32 = 100;

/// Most files of one ask, and of all that are listed, that are compared with those of other asks; of each file the
/// statement reads eleven asks. Whoever posts asks decides how many files they have in common, so it is this that
/// bounds the work.
const FILES_COMPARED: usize = 100;
const ALL_FILES_COMPARED: usize = 1000;

/// Most overlaps that are told of one ask; there is no end to them in a file that everybody touches.
const MOST_OVERLAPS: usize = 10;

/// What somebody may claim in a lane.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claimable {
    /// The asks, best first.
    pub asks: Vec<Ask>,
    /// By ask: other unanswered asks that touch its files, up to ten, those that share most of them first.
    pub overlaps: BTreeMap<String, Vec<Overlap>>,
    /// Whether there are more.
    pub more: bool,
}

/// An unanswered ask that is known to touch some of the same files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Overlap {
    /// Its id.
    pub ask: String,
    /// Files of both.
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
/// up come out of their index in order; those whose lease ran out are few, and are sorted. Reviews of what the caller
/// wrote are not among them, by the rule of [`super::scope::is_own`].
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
    // An agent's own is also what its user and the user's other agents wrote; `$6` is empty for a person. Counted, not
    // tested for being there: PostgreSQL would make a join of that, and read all changesets.
    macro_rules! own {
        () => {
            "(kind = 'changeset_review' AND $5 <> '' AND (
                SELECT count(*) FROM changesets c WHERE c.id = asks.changeset AND (
                    c.author = $5 OR c.work_author = $5 OR ($6 <> '' AND (
                        substr(c.author, 1, length($6)) = $6 OR substr(c.work_author, 1, length($6)) = $6
                    ))
                )) > 0)"
        };
    }
    // The number stands in the statement: PostgreSQL plans for one it does not know as if it were a tenth of the lane.
    macro_rules! sql {
        ($database:tt) => {
            concat!(
                "SELECT ",
                columns!(),
                " FROM (
                    SELECT * FROM (SELECT * FROM asks
                        WHERE repo = $1 AND lane = $2 AND scope = $4 AND state = 'open' AND waits = 0 AND NOT ",
                own!(),
                " ORDER BY priority DESC, posted_at, id LIMIT 101) AS open
                    UNION ALL
                    SELECT * FROM (SELECT * FROM asks
                        WHERE repo = $1 AND lane = $2 AND scope = $4 AND state = 'claimed' AND waits = 0
                            AND expires_at <= ",
                now!($database),
                " AND NOT ",
                own!(),
                " ORDER BY priority DESC, posted_at, id LIMIT 101) AS lapsed
                 ) AS a
                 ORDER BY a.priority DESC, a.posted_at, a.id"
            )
        };
    }
    let sql = tx.either(sql!(sqlite), sql!(postgres));
    let user = if allow_self_review {
        ""
    } else {
        by.user_address()
    };
    let agents = if by.is_agent() {
        format!("{user}[")
    } else {
        String::new()
    };
    let args = args![repo.as_str(), lane, at, of.name(), user, &agents];
    let mut asks = read::asks(tx.rows(sql, args).await?)?;
    asks.truncate(limit as usize + 1);
    Ok(asks)
}

/// Which other unanswered asks are known to touch the files of `asks`.
async fn overlaps(
    tx: &mut Tx,
    repo: &RepoName,
    asks: &[Ask],
) -> Result<BTreeMap<String, Vec<Overlap>>> {
    let compared = compared(asks);
    if compared.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = tx.either(
        "SELECT p.value, (SELECT json_group_array(o.ask) FROM (
            SELECT ask FROM ask_files WHERE repo = $1 AND path = p.value ORDER BY ask LIMIT 11) AS o)
         FROM json_each($2) AS p",
        "SELECT p.path, (SELECT coalesce(json_agg(o.ask), '[]')::text FROM (
            SELECT ask FROM ask_files WHERE repo = $1 AND path = p.path ORDER BY ask LIMIT 11) AS o)
         FROM json_array_elements_text($2::json) AS p (path)",
    );
    let paths = json!(compared).to_string();
    let mut touched_by: HashMap<String, Vec<String>> = HashMap::new();
    for mut row in tx.rows(sql, args![repo.as_str(), &paths]).await? {
        let path = row.take()?;
        touched_by.insert(path, read::json(&row.take::<String>()?)?);
    }
    let of_asks = asks
        .iter()
        .map(|ask| (ask.id.clone(), of_ask(ask, &touched_by)));
    Ok(of_asks.filter(|(_, found)| !found.is_empty()).collect())
}

/// The files that are compared: of each ask in turn its next, so that every ask has its share of them.
fn compared(asks: &[Ask]) -> HashSet<&str> {
    let mut compared = HashSet::new();
    for turn in 0..FILES_COMPARED {
        for file in asks.iter().filter_map(|ask| ask.files.get(turn)) {
            compared.insert(file.as_str());
            if compared.len() == ALL_FILES_COMPARED {
                return compared;
            }
        }
    }
    compared
}

/// The overlaps of `ask`, with which asks touch each of the files that were compared.
fn of_ask(ask: &Ask, touched_by: &HashMap<String, Vec<String>>) -> Vec<Overlap> {
    let mut files_of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in ask.files.iter().take(FILES_COMPARED) {
        let others = touched_by.get(path).into_iter().flatten();
        for other in others.filter(|other| **other != ask.id) {
            files_of.entry(other).or_default().push(path.clone());
        }
    }
    let mut overlaps: Vec<_> = files_of
        .into_iter()
        .map(|(other, files)| Overlap {
            ask: other.to_owned(),
            files,
        })
        .collect();
    overlaps.sort_by_key(|overlap| std::cmp::Reverse(overlap.files.len()));
    overlaps.truncate(MOST_OVERLAPS);
    overlaps
}
