//! Sealing: chaining the new events of all streams.

use jiff::Timestamp;

use super::feed::Position;
use super::hash;
use crate::error::Result;
use crate::tx::Tx;
use crate::value::args;

/// Most events one seal covers; a busier second gets more seals.
pub(super) const MOST: i64 = 10_000;

/// A link of the chain over all events. Noted down elsewhere, it pins everything before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Seal {
    /// Its number, from 1.
    pub number: i64,
    /// The hash over it, its events and the seal before.
    pub hash: [u8; 32],
}

/// Where the last seal ends.
struct Last {
    number: i64,
    position: Position,
    hash: [u8; 32],
}

async fn last(tx: &mut Tx) -> Result<Last> {
    let sql = "SELECT number, last_tx, last_id, hash FROM seals ORDER BY number DESC LIMIT 1";
    Ok(match tx.row(sql, &[]).await? {
        Some(mut row) => Last {
            number: row.take()?,
            position: Position {
                tx: row.take()?,
                id: row.take()?,
            },
            hash: row.take()?,
        },
        None => Last {
            number: 0,
            position: Position::default(),
            hash: hash::START,
        },
    })
}

/// Whether there are events after the last seal.
pub(super) async fn is_due(tx: &mut Tx) -> Result<bool> {
    let last = last(tx).await?;
    Ok(!fresh(tx, last.position, 1).await?.is_empty())
}

/// The events after `after` that nothing can come between any more.
async fn fresh(tx: &mut Tx, after: Position, limit: i64) -> Result<Vec<(Position, [u8; 32])>> {
    let sql = tx.either(
        "SELECT 0, id, hash FROM events WHERE id > $2 ORDER BY id LIMIT $3",
        "SELECT tx, id, hash FROM events
         WHERE (tx, id) > ($1, $2)
            AND tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
         ORDER BY tx, id LIMIT $3",
    );
    tx.rows(sql, args![after.tx, after.id, limit])
        .await?
        .into_iter()
        .map(|mut row| {
            let position = Position {
                tx: row.take()?,
                id: row.take()?,
            };
            Ok((position, row.take()?))
        })
        .collect()
}

pub(super) async fn seal(tx: &mut Tx, at: Timestamp) -> Result<Option<Seal>> {
    if tx.sqlite().is_none() {
        // Whoever else is at it holds this lock until its commit.
        let sql = "SELECT CASE WHEN pg_try_advisory_xact_lock(hashtext('guildhall.seal')) THEN 1 ELSE 0 END";
        let free = match tx.row(sql, &[]).await? {
            Some(mut row) => row.take()?,
            None => false,
        };
        if !free {
            return Ok(None);
        }
    }
    let last = last(tx).await?;
    let events = fresh(tx, last.position, MOST).await?;
    let Some((end, _)) = events.last() else {
        return Ok(None);
    };
    let number = last.number + 1;
    let hashes = events.iter().map(|(_, hash)| *hash);
    let hash = hash::seal(&last.hash, number, at.as_millisecond(), hashes);
    let count = i64::try_from(events.len()).unwrap_or(MOST);
    tx.run(
        "INSERT INTO seals (number, at, last_tx, last_id, count, hash) VALUES ($1, $2, $3, $4, $5, $6)",
        args![number, at, end.tx, end.id, count, &hash],
    )
    .await?;
    Ok(Some(Seal { number, hash }))
}
