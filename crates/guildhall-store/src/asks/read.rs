//! Reading asks out of their rows.

use guildhall_core::{Principal, RepoName};
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use super::{Ask, AskAnswer, AskFilter, AskRef, AskScope, AskState, Claim, Verdict};
use crate::error::{Error, Result};
use crate::tx::Tx;
use crate::value::{Row, args};

/// Most asks a page has.
const PAGE: u32 = 1000;

/// The columns of an ask `a`, in the order in which [`ask`] takes them.
macro_rules! columns {
    () => {
        "a.id, a.lane, a.kind, a.title, a.body, a.depends_on, a.waits, a.blocked, a.files, a.priority, a.scope,
         a.changeset, a.follows, a.work, a.posted_by, a.posted_at, a.changed_at, a.state, a.claimed_by,
         a.claimed_at, a.expires_at, a.fence, a.verdict, a.answered_by, a.answered_at, a.note, a.payload"
    };
}
pub(super) use columns;

/// The present in milliseconds, in a statement whose `$3` is the caller's time: the database's own where there is one. It
/// is that of the statement's beginning, the same wherever it stands in it: a statement that waited for another change
/// takes the lease for longer, never for shorter than it is.
macro_rules! now {
    (sqlite) => {
        "$3"
    };
    (postgres) => {
        "(extract(epoch FROM statement_timestamp()) * 1000)::bigint"
    };
}
pub(super) use now;

/// The later of two values.
macro_rules! later {
    (sqlite) => {
        "max"
    };
    (postgres) => {
        "greatest"
    };
}
pub(super) use later;

/// An ask with what decides over it.
pub(super) struct Seen {
    pub(super) ask: Ask,
    pub(super) lane_open: bool,
    pub(super) allow_self_review: bool,
    /// Who wrote the changeset it is about, and the one that mends.
    pub(super) authors: Vec<Principal>,
    /// Whether it is claimed and the lease lives.
    pub(super) is_held: bool,
}

/// Looks at the ask that a caller names, at the time `now` of their clock.
pub(super) async fn look(tx: &mut Tx, asked: &AskRef, now: Timestamp) -> Result<Seen> {
    macro_rules! sql {
        ($database:tt) => {
            concat!(
                "SELECT ",
                columns!(),
                ", l.closed_at, l.allow_self_review, c.author, c.work_author,
                    CASE WHEN a.state = 'claimed' AND a.expires_at > ",
                now!($database),
                " THEN 1 ELSE 0 END
                 FROM asks a JOIN lanes l ON l.repo = a.repo AND l.id = a.lane
                 LEFT JOIN changesets c ON c.id = a.changeset
                 WHERE a.repo = $1 AND a.id = $2"
            )
        };
    }
    let sql = tx.either(sql!(sqlite), sql!(postgres));
    let row = tx
        .row(sql, args![asked.repo.as_str(), &asked.ask, now])
        .await?;
    let mut row = row.ok_or_else(|| Error::missing("ask", &asked.ask))?;
    let seen = Seen {
        ask: ask(&mut row)?,
        lane_open: row.take::<Option<Timestamp>>()?.is_none(),
        allow_self_review: row.take()?,
        authors: authors(&mut row)?,
        is_held: row.take()?,
    };
    match &asked.lane {
        Some(lane) if *lane != seen.ask.lane => Err(Error::Invalid(format!(
            "`{}` is in the lane `{}`, not in `{lane}`",
            asked.ask, seen.ask.lane
        ))),
        _ => Ok(seen),
    }
}

/// Who wrote the changeset of an ask, and the one that mends; nobody where there is none.
pub(super) fn authors(row: &mut Row) -> Result<Vec<Principal>> {
    let both: [Option<Principal>; 2] = [row.take()?, row.take()?];
    Ok(both.into_iter().flatten().collect())
}

pub(super) async fn find(tx: &mut Tx, repo: &RepoName, id: &str) -> Result<Option<Ask>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM asks a WHERE a.repo = $1 AND a.id = $2"
    );
    let row = tx.row(sql, args![repo.as_str(), id]).await?;
    row.map(|mut row| ask(&mut row)).transpose()
}

pub(super) async fn of_lane(
    tx: &mut Tx,
    repo: &RepoName,
    lane: &str,
    filter: &AskFilter,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Ask>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM asks a WHERE a.repo = $1 AND a.lane = $2
            AND ($3 = '' OR a.state = $3) AND ($4 = '' OR a.kind = $4)
            AND ($5 = '' OR (a.posted_at, a.id) >
                (SELECT b.posted_at, b.id FROM asks b WHERE b.repo = $1 AND b.id = $5))
          ORDER BY a.posted_at, a.id LIMIT $6"
    );
    let state = filter.state.map_or("", AskState::name);
    let kind = filter.kind.as_ref().map_or("", |kind| kind.name());
    let args = args![
        repo.as_str(),
        lane,
        state,
        kind,
        after.unwrap_or_default(),
        i64::from(limit.min(PAGE))
    ];
    asks(tx.rows(sql, args).await?)
}

pub(super) async fn held_by(
    tx: &mut Tx,
    by: &Principal,
    repo: &RepoName,
    limit: u32,
) -> Result<Vec<Ask>> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM asks a WHERE a.repo = $1 AND a.state = 'claimed' AND a.claimed_by = $2
          ORDER BY a.claimed_at, a.id LIMIT $3"
    );
    let args = args![repo.as_str(), by, i64::from(limit.min(PAGE))];
    asks(tx.rows(sql, args).await?)
}

pub(super) fn asks(rows: Vec<Row>) -> Result<Vec<Ask>> {
    rows.into_iter().map(|mut row| ask(&mut row)).collect()
}

pub(super) fn ask(row: &mut Row) -> Result<Ask> {
    Ask {
        id: row.take()?,
        lane: row.take()?,
        kind: kept(&row.take::<String>()?)?,
        title: row.take()?,
        body: row.take()?,
        depends_on: json(&row.take::<String>()?)?,
        waits_for: row.take()?,
        blocked: row.take()?,
        files: json(&row.take::<String>()?)?,
        priority: row.take()?,
        scope: kept::<AskScope>(&row.take::<String>()?)?,
        changeset: row.take()?,
        follows: row.take()?,
        work: row.take()?,
        posted_by: row.take()?,
        posted_at: row.take()?,
        changed_at: row.take()?,
        state: state(&row.take::<String>()?)?,
        claim: None,
        fence: 0,
        answer: None,
    }
    .held(row)?
    .answered(row)
}

impl Ask {
    /// With its claim, the row's next columns.
    fn held(mut self, row: &mut Row) -> Result<Self> {
        let (by, at, expires_at): (Option<Principal>, Option<Timestamp>, Option<Timestamp>) =
            (row.take()?, row.take()?, row.take()?);
        self.fence = row.take()?;
        if let (AskState::Claimed, Some(by), Some(at), Some(expires_at)) =
            (self.state, by, at, expires_at)
        {
            self.claim = Some(Claim {
                by,
                at,
                expires_at,
                fence: self.fence,
            });
        }
        Ok(self)
    }

    /// With its answer, the row's next columns.
    fn answered(mut self, row: &mut Row) -> Result<Self> {
        let (verdict, by, at): (Option<String>, Option<Principal>, Option<Timestamp>) =
            (row.take()?, row.take()?, row.take()?);
        let (note, payload): (Option<String>, Option<String>) = (row.take()?, row.take()?);
        if let (Some(verdict), Some(by), Some(at)) = (verdict, by, at) {
            self.answer = Some(AskAnswer {
                verdict: kept::<Verdict>(&verdict)?,
                by,
                at,
                note,
                payload: json(payload.as_deref().unwrap_or("null"))?,
            });
        }
        Ok(self)
    }
}

fn state(name: &str) -> Result<AskState> {
    [AskState::Open, AskState::Claimed, AskState::Answered]
        .into_iter()
        .find(|state| state.name() == name)
        .ok_or_else(|| Error::fault(format!("`{name}` is kept as the state of an ask")))
}

/// A word that was checked before it was kept.
pub(super) fn kept<T: std::str::FromStr>(word: &str) -> Result<T> {
    word.parse()
        .map_err(|_| Error::fault(format!("`{word}` is kept, and it means nothing")))
}

pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::fault(error.to_string()))
}
