//! Writing rungs.

use std::collections::{HashMap, HashSet};

use guildhall_core::ladder::LONGEST_SUMMARY;
use guildhall_core::{Principal, RepoName, RepoRole};
use serde_json::json;

use super::{NewRung, Written, index, take_turn};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::repos;
use crate::roles::{OWN_LANE, standing, standing_of_caller};
use crate::tx::Tx;
use crate::value::args;

/// The most rungs of one call.
pub const MOST_WRITTEN: usize = 1000;

/// The given rungs as rows with a `value`, in the words of each database.
macro_rules! over_given {
    ($tx:expr, $before:literal, $after:literal) => {
        $tx.either(
            concat!($before, " json_each($2) ", $after),
            concat!($before, " json_array_elements(CAST($2 AS JSON)) ", $after),
        )
    };
}

pub(super) async fn write(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    rungs: &[NewRung],
) -> Result<Vec<Written>> {
    repos::get(tx, repo).await?;
    may_write(tx, &act.by, repo, "write rungs").await?;
    check(rungs)?;
    take_turn(tx, repo).await?;
    let rows: Vec<String> = rungs
        .iter()
        .map(|rung| index::in_a_row(repo, &rung.path, &rung.summary))
        .collect();
    let given = json!(
        rungs
            .iter()
            .zip(&rows)
            .map(|(rung, row)| json!({
                "path": rung.path,
                "kind": rung.path.kind(),
                "summary": rung.summary,
                "commit": rung.anchor.as_ref().map(|anchor| &anchor.commit),
                "object": rung.anchor.as_ref().and_then(|anchor| anchor.object.as_ref()),
                "indexed": index::fingerprint(row),
            }))
            .collect::<Vec<_>>()
    )
    .to_string();
    replaces_what_it_says(tx, repo, rungs, &given).await?;
    keep_what_was(tx, repo, &given).await?;
    let written = put(tx, act, repo, &given).await?;
    let mut entries = Vec::with_capacity(rungs.len());
    let mut answer = Vec::with_capacity(rungs.len());
    for (rung, row) in rungs.iter().zip(&rows) {
        let (id, version) = written
            .get(rung.path.as_str())
            .copied()
            .ok_or_else(|| Error::fault("a rung that was just written is not there"))?;
        entries.push(index::Entry {
            id,
            new: version == 1,
            path: &rung.path,
            summary: &rung.summary,
            row,
        });
        answer.push(Written {
            path: rung.path.clone(),
            version,
        });
    }
    index::put(tx, repo, &entries).await?;
    repos::record(tx, act, repo, "ladder.written", json!({ "rungs": answer })).await?;
    Ok(answer)
}

/// The lanes of the asks whose holder writes rungs.
const HOLDS: &str =
    "SELECT DISTINCT lane FROM asks WHERE repo = $1 AND claimed_by = $2 AND state = 'claimed'
    AND kind IN ('write_rung', 'submit_changeset')";

/// Refuses who neither owns the repo nor coordinates `_repo`, and holds no ask that is about writing rungs. An agent has its
/// user's roles.
pub(super) async fn may_write(
    tx: &mut Tx,
    by: &Principal,
    repo: &RepoName,
    what: &str,
) -> Result<()> {
    let user =
        Principal::user(by.user_address()).map_err(|error| Error::fault(error.to_string()))?;
    let standing = standing(tx, Some(&user), repo, Some(OWN_LANE)).await?;
    if standing.coordinator || standing.repo == Some(RepoRole::Owner) {
        return Ok(());
    }
    for mut row in tx.rows(HOLDS, args![repo.as_str(), by]).await? {
        let lane: String = row.take()?;
        // Whoever may not answer the ask any more may not do what it asks for either.
        if standing_of_caller(tx, by, repo, Some(&lane))
            .await?
            .coordinator
        {
            return Ok(());
        }
    }
    Err(Error::NotAllowed(format!(
        "`{by}` may not {what} in `{repo}`: only who owns it, coordinates its `{OWN_LANE}`, or holds a `write_rung` or \
         `submit_changeset` ask there may"
    )))
}

fn check(rungs: &[NewRung]) -> Result<()> {
    if rungs.is_empty() || rungs.len() > MOST_WRITTEN {
        return Err(Error::Invalid(format!(
            "1 to {MOST_WRITTEN} rungs can be written at once, not {}",
            rungs.len()
        )));
    }
    let mut paths = HashSet::new();
    for rung in rungs {
        let path = &rung.path;
        if !paths.insert(path.as_str()) {
            return Err(Error::Invalid(format!("`{path}` is given twice")));
        }
        if rung.summary.trim().is_empty() {
            return Err(Error::Invalid(format!("The summary of `{path}` is blank")));
        }
        if rung.summary.len() > LONGEST_SUMMARY {
            return Err(Error::Invalid(format!(
                "The summary of `{path}` has {} bytes, and may have {LONGEST_SUMMARY}",
                rung.summary.len()
            )));
        }
        if rung.summary.contains('\0') {
            return Err(Error::Invalid(format!(
                "The summary of `{path}` contains the character U+0000"
            )));
        }
        if path.kind().needs_anchor() && rung.anchor.is_none() {
            return Err(Error::Invalid(format!(
                "`{path}` needs an 'anchor_commit': a rung of the kind {} is written at a commit",
                path.kind()
            )));
        }
        if rung.replaces.is_some_and(|version| version < 0) {
            return Err(Error::Invalid(format!(
                "The version of `{path}` that is replaced is 0 or more"
            )));
        }
    }
    Ok(())
}

/// Compares versions. What is found here holds until the commit: whoever writes this repo's rungs waits for its turn.
async fn replaces_what_it_says(
    tx: &mut Tx,
    repo: &RepoName,
    rungs: &[NewRung],
    given: &str,
) -> Result<()> {
    if rungs.iter().all(|rung| rung.replaces.is_none()) {
        return Ok(());
    }
    let sql = over_given!(
        tx,
        "SELECT path, version FROM rungs WHERE repo = $1 AND path IN (SELECT value ->> 'path' FROM",
        ")"
    );
    let mut versions = HashMap::new();
    for mut row in tx.rows(sql, args![repo.as_str(), given]).await? {
        versions.insert(row.take::<String>()?, row.take::<i64>()?);
    }
    for rung in rungs {
        let found = versions.get(rung.path.as_str()).copied();
        if let Some(expected) = rung.replaces
            && expected != found.unwrap_or_default()
        {
            return Err(Error::Moved {
                what: format!("The version of `{}`", rung.path),
                expected: expected.to_string(),
                found: found.map(|version| version.to_string()),
            });
        }
    }
    Ok(())
}

/// Moves what will be replaced to the earlier versions.
async fn keep_what_was(tx: &mut Tx, repo: &RepoName, given: &str) -> Result<()> {
    let sql = over_given!(
        tx,
        "INSERT INTO rung_versions (repo, path, version, summary, anchor_commit, author, at)
         SELECT repo, path, version, summary, anchor_commit, author, updated_at FROM rungs
         WHERE repo = $1 AND path IN (SELECT value ->> 'path' FROM",
        ")"
    );
    tx.run(sql, args![repo.as_str(), given]).await.map(drop)
}

/// Writes the rows, and gives the id and the version of each path.
async fn put(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    given: &str,
) -> Result<HashMap<String, (i64, i64)>> {
    let sql = over_given!(
        tx,
        "INSERT INTO rungs
             (repo, path, kind, summary, anchor_commit, anchor_object, indexed, author, updated_at, version)
         SELECT $1, value ->> 'path', value ->> 'kind', value ->> 'summary', value ->> 'commit',
             value ->> 'object', value ->> 'indexed', $3, $4, 1
         FROM",
        "WHERE true
         ON CONFLICT (repo, path) DO UPDATE SET kind = excluded.kind, summary = excluded.summary,
             anchor_commit = excluded.anchor_commit, anchor_object = excluded.anchor_object,
             indexed = excluded.indexed, author = excluded.author, updated_at = excluded.updated_at, version = rungs.version + 1
         RETURNING id, path, version"
    );
    let rows = tx
        .rows(sql, args![repo.as_str(), given, &act.by, act.at])
        .await?;
    rows.into_iter()
        .map(|mut row| {
            let (id, path, version) = (row.take()?, row.take()?, row.take()?);
            Ok((path, (id, version)))
        })
        .collect()
}
