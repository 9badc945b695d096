//! Making a repo's part of the index anew: whatever it does not have as it should.
//!
//! A rung carries a digest of what was put into the index of it, written in the same transaction. Where the digest is that of
//! the words the rung has now, and the index has an entry, the entry is right and stays.

use guildhall_core::RepoName;
use guildhall_core::ladder::RungPath;
use serde_json::json;

use super::write::may_write;
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
    let (act, repo) = args;
    store
        .change(act, (repo, count), |tx, act, (repo, count)| {
            Box::pin(finish(tx, act, repo, *count))
        })
        .await
}

/// A rung, and whether the index has it as it should.
struct Known {
    id: i64,
    path: RungPath,
    summary: String,
    /// Whether the index has anything of it.
    there: bool,
    /// Its words and marks, and a digest of them.
    row: String,
    fingerprint: String,
    as_it_should: bool,
}

/// Writes the entries of the next rungs behind the id `after`, but for those the index has as they should be. Gives how many
/// there were, and the last id unless there are no more.
async fn renew(tx: &mut Tx, repo: &RepoName, after: i64) -> Result<(u64, Option<i64>)> {
    take_turn(tx, repo).await?;
    let rungs = next(tx, repo, after).await?;
    let entries: Vec<_> = rungs
        .iter()
        .filter(|rung| !rung.as_it_should)
        .map(|rung| index::Entry {
            id: rung.id,
            new: !rung.there,
            path: &rung.path,
            summary: &rung.summary,
            row: &rung.row,
        })
        .collect();
    if !entries.is_empty() {
        index::put(tx, repo, &entries).await?;
        note(tx, rungs.iter().filter(|rung| !rung.as_it_should)).await?;
    }
    Ok((rungs.len() as u64, rungs.last().map(|rung| rung.id)))
}

async fn next(tx: &mut Tx, repo: &RepoName, after: i64) -> Result<Vec<Known>> {
    let sql = tx.either(
        "SELECT r.id, r.path, r.summary, r.indexed,
            CASE WHEN EXISTS (SELECT 1 FROM rung_words w WHERE w.rowid = r.id) THEN 1 ELSE 0 END
         FROM rungs r WHERE r.repo = $1 AND r.id > $2 ORDER BY r.id LIMIT $3",
        "SELECT r.id, r.path, r.summary, r.indexed,
            CASE WHEN EXISTS (SELECT 1 FROM rung_words w WHERE w.rung = r.id) THEN 1 ELSE 0 END
         FROM rungs r WHERE r.repo = $1 AND r.id > $2 ORDER BY r.id LIMIT $3",
    );
    let rows = tx.rows(sql, args![repo.as_str(), after, STEP]).await?;
    rows.into_iter()
        .map(|mut row| {
            let id = row.take()?;
            let path = path(&row.take::<String>()?)?;
            let summary: String = row.take()?;
            let in_a_row = index::in_a_row(repo, &path, &summary);
            let fingerprint = index::fingerprint(&in_a_row);
            let (indexed, there): (Option<String>, bool) = (row.take()?, row.take()?);
            Ok(Known {
                as_it_should: there && indexed.as_ref() == Some(&fingerprint),
                id,
                path,
                summary,
                there,
                row: in_a_row,
                fingerprint,
            })
        })
        .collect()
}

/// Notes what the index now has of the rungs.
async fn note(tx: &mut Tx, rungs: impl Iterator<Item = &Known>) -> Result<()> {
    let given: Vec<_> = rungs.map(|rung| (rung.id, &rung.fingerprint)).collect();
    let given = serde_json::to_string(&given).unwrap_or_default();
    let sql = tx.either(
        "UPDATE rungs SET indexed = given.value ->> 1 FROM json_each($1) AS given
         WHERE rungs.id = CAST(given.value ->> 0 AS INTEGER)",
        "UPDATE rungs SET indexed = given.value ->> 1
         FROM json_array_elements(CAST($1 AS JSON)) AS given (value)
         WHERE rungs.id = CAST(given.value ->> 0 AS BIGINT)",
    );
    tx.run(sql, args![&given]).await.map(drop)
}

/// Takes out what belongs to no rung, and notes that it was done.
async fn finish(tx: &mut Tx, act: &Act, repo: &RepoName, count: u64) -> Result<u64> {
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
    repos::record(tx, act, repo, "ladder.reindexed", json!({ "rungs": count })).await?;
    Ok(count)
}
