//! Reading the log forward.

use guildhall_core::RepoName;

use super::{About, Event, Stream};
use crate::error::{Error, Result};
use crate::tx::Tx;
use crate::value::{Row, args};

/// A place in the log. Positions are in the order of the log; the default one is before the first event.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Position {
    /// The transaction that wrote the event; 0 on SQLite, where one writes after the other.
    pub tx: i64,
    /// The event's number.
    pub id: i64,
}

impl Default for Position {
    fn default() -> Self {
        // A restored log can have transactions below zero.
        Self {
            tx: i64::MIN,
            id: 0,
        }
    }
}

/// Most events a page has.
const PAGE: u32 = 1000;

macro_rules! columns {
    ($tx:literal) => {
        concat!(
            "SELECT ",
            $tx,
            ", id, stream, seq, at, actor, kind,
                repo, lane, ask, session, run, data, hash FROM events "
        )
    };
}

pub(super) async fn feed(tx: &mut Tx, after: Position, limit: u32) -> Result<Vec<Event>> {
    let sql = tx.either(
        concat!(columns!("0"), "WHERE id > $2 ORDER BY id LIMIT $3"),
        concat!(
            columns!("tx"),
            "WHERE (tx, id) > ($1, $2)
                AND tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
             ORDER BY tx, id LIMIT $3"
        ),
    );
    let args = args![after.tx, after.id, i64::from(limit.min(PAGE))];
    events(tx.rows(sql, args).await?)
}

pub(super) async fn end(tx: &mut Tx) -> Result<Position> {
    let sql = tx.either(
        "SELECT 0, id FROM events ORDER BY id DESC LIMIT 1",
        "SELECT tx, id FROM events
         WHERE tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
         ORDER BY tx DESC, id DESC LIMIT 1",
    );
    match tx.row(sql, &[]).await? {
        Some(mut row) => Ok(Position {
            tx: row.take()?,
            id: row.take()?,
        }),
        None => Ok(Position::default()),
    }
}

pub(super) async fn of_stream(
    tx: &mut Tx,
    stream: &Stream,
    after: i64,
    limit: u32,
) -> Result<Vec<Event>> {
    let sql = tx.either(
        concat!(
            columns!("0"),
            "WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3"
        ),
        concat!(
            columns!("tx"),
            "WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT $3"
        ),
    );
    let args = args![stream.name(), after, i64::from(limit.min(PAGE))];
    events(tx.rows(sql, args).await?)
}

/// What happened in a lane and to its asks. Other transactions may still write before the last of it: who reads a lane
/// looks again, and does not go on from a position for ever.
pub(crate) async fn of_lane(
    tx: &mut Tx,
    repo: &RepoName,
    lane: &str,
    after: Position,
    limit: u32,
) -> Result<Vec<Event>> {
    let sql = tx.either(
        concat!(
            columns!("0"),
            "WHERE repo = $1 AND lane = $2 AND id > $4 ORDER BY id LIMIT $5"
        ),
        concat!(
            columns!("tx"),
            "WHERE repo = $1 AND lane = $2 AND (tx, id) > ($3, $4) ORDER BY tx, id LIMIT $5"
        ),
    );
    let args = args![
        repo.as_str(),
        lane,
        after.tx,
        after.id,
        i64::from(limit.min(PAGE))
    ];
    events(tx.rows(sql, args).await?)
}

fn events(rows: Vec<Row>) -> Result<Vec<Event>> {
    rows.into_iter().map(|mut row| event(&mut row)).collect()
}

fn event(row: &mut Row) -> Result<Event> {
    Ok(Event {
        position: Position {
            tx: row.take()?,
            id: row.take()?,
        },
        stream: row.take()?,
        seq: row.take()?,
        at: row.take()?,
        actor: row.take()?,
        kind: row.take()?,
        about: About::read(row)?,
        data: serde_json::from_str(&row.take::<String>()?)
            .map_err(|error| Error::fault(error.to_string()))?,
        hash: row.take()?,
    })
}
