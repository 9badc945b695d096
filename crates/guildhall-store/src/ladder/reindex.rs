//! Making a repo's part of the index anew.

use guildhall_core::RepoName;
use serde_json::json;

use super::write::{Indexed, may_write};
use super::{index, path, take_turn};
use crate::Store;
use crate::act::Act;
use crate::error::Result;
use crate::repos;
use crate::tx::Tx;
use crate::value::args;

/// Rungs of one step: enough to be quick, few enough that a writer in between does not wait.
const STEP: i64 = 1000;

pub(super) async fn reindex(store: &Store, act: Act, repo: RepoName) -> Result<u64> {
    let args = (act, repo);
    let permitted = store.read(args.clone(), |tx, (act, repo)| {
        Box::pin(async move {
            repos::get(tx, repo).await?;
            may_write(tx, &act.by, repo, "rebuild its index").await
        })
    });
    permitted.await?;
    let (mut after, mut count) = (0, 0);
    loop {
        let step = (args.1.clone(), after);
        let done = store.write(step, |tx, (repo, after)| Box::pin(renew(tx, repo, *after)));
        let (renewed, last) = done.await?;
        count += renewed;
        match last {
            Some(last) => after = last,
            None => break,
        }
    }
    store
        .write((args.0, args.1, count), |tx, (act, repo, count)| {
            Box::pin(finish(tx, act, repo, *count))
        })
        .await?;
    Ok(count)
}

/// Writes the entries of the next rungs behind the id `after`. Gives how many, and the last id unless there are no more.
async fn renew(tx: &mut Tx, repo: &RepoName, after: i64) -> Result<(u64, Option<i64>)> {
    take_turn(tx, repo).await?;
    let rows = tx
        .rows(
            "SELECT id, path, summary FROM rungs WHERE repo = $1 AND id > $2 ORDER BY id LIMIT $3",
            args![repo.as_str(), after, STEP],
        )
        .await?;
    let mut rungs: Vec<Indexed> = Vec::with_capacity(rows.len());
    for mut row in rows {
        let id = row.take()?;
        let path = path(&row.take::<String>()?)?;
        rungs.push((id, path, row.take()?));
    }
    let entries: Vec<_> = rungs
        .iter()
        .map(|(id, path, summary)| index::Entry {
            id: *id,
            new: false,
            path,
            summary,
        })
        .collect();
    index::put(tx, repo, &entries).await?;
    Ok((rungs.len() as u64, rungs.last().map(|(id, ..)| *id)))
}

/// Takes out what belongs to no rung, and notes that it was done.
async fn finish(tx: &mut Tx, act: &Act, repo: &RepoName, count: u64) -> Result<()> {
    take_turn(tx, repo).await?;
    if tx.sqlite().is_some() {
        // PostgreSQL has a foreign key for this.
        tx.run(
            "DELETE FROM rung_words WHERE rowid IN (
                SELECT rowid FROM rung_words WHERE rung_words MATCH $2
                EXCEPT SELECT id FROM rungs WHERE repo = $1)",
            args![repo.as_str(), &format!("\"{}\"", index::repo_mark(repo))],
        )
        .await?;
    }
    repos::record(tx, act, repo, "ladder.reindexed", json!({ "rungs": count })).await
}
