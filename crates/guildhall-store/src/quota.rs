//! How much of one kind a person and their agents may have open at once.

use crate::error::Result;
use crate::tx::Tx;
use crate::value::args;

/// More changes of one person do not run at once: so far below the limit nobody has to wait for a turn.
const FAR: i64 = 256;

/// Whether `user` has fewer than `most` of what `count` counts: it gives one number, of no more than `$2`, for the user `$1`.
/// On PostgreSQL two changes might each see room for the last one; near the limit they take turns until they commit.
pub(crate) async fn has_room(
    tx: &mut Tx,
    user: &str,
    most: u32,
    count: &'static str,
) -> Result<bool> {
    let most = i64::from(most);
    if counted(tx, user, most, count).await? + FAR < most {
        return Ok(true);
    }
    tx.take_turn(&format!("quota:{user}")).await?;
    Ok(counted(tx, user, most, count).await? < most)
}

async fn counted(tx: &mut Tx, user: &str, most: i64, count: &'static str) -> Result<i64> {
    let row = tx.row(count, args![user, most]).await?;
    row.map_or(Ok(0), |mut row| row.take())
}
