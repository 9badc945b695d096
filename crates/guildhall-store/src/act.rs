//! Who changes something, when, and under which idempotency key.

use guildhall_core::{Principal, RepoName};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::store::Deed;
use crate::tx::Tx;
use crate::value::args;

/// How long an idempotency key is remembered.
pub const KEY_LIVES: SignedDuration = SignedDuration::from_hours(24);

/// Longest key, in bytes.
pub const LONGEST_KEY: usize = 200;

/// What every change comes with.
#[derive(Clone, Debug)]
pub struct Act {
    /// Who, always out of the token.
    pub by: Principal,
    /// When, from the caller's [`Clock`](guildhall_core::Clock).
    pub at: Timestamp,
    /// The idempotency key of the call, if it has one.
    pub once: Option<Once>,
}

/// An idempotency key. It belongs to the principal and the tool and lives [`KEY_LIVES`].
#[derive(Clone, Debug)]
pub struct Once {
    /// The tool that was called.
    pub tool: String,
    /// The key: 1 to [`LONGEST_KEY`] bytes.
    pub key: String,
    /// A hash of the call's other arguments.
    pub arguments: [u8; 32],
    /// The repo that the call is about: the key goes with it.
    pub repo: Option<RepoName>,
}

impl Act {
    /// An act without an idempotency key.
    pub fn new(by: Principal, at: Timestamp) -> Self {
        Self { by, at, once: None }
    }

    /// The same act under a key.
    #[must_use]
    pub fn once(self, once: Once) -> Self {
        Self {
            once: Some(once),
            ..self
        }
    }

    /// Refuses an agent what needs a person.
    pub(crate) fn needs_person(&self, what: &str) -> Result<()> {
        if self.by.is_agent() {
            return Err(Error::NotAllowed(format!(
                "`{}` is an agent; only a person may {what}",
                self.by
            )));
        }
        Ok(())
    }
}

/// Does `deed`, or gives the answer it gave the first time. The key is kept in the same transaction: a change that failed
/// leaves no key, and no change is without its key.
pub(crate) async fn once<A: Sync, T: Serialize + DeserializeOwned>(
    tx: &mut Tx,
    act: &Act,
    args: &A,
    deed: Deed<A, T>,
) -> Result<T> {
    let Some(once) = &act.once else {
        return deed(tx, act, args).await;
    };
    if let Some(answer) = begin(tx, act, once).await? {
        return serde_json::from_str(&answer).map_err(|error| Error::fault(error.to_string()));
    }
    let value = deed(tx, act, args).await?;
    let answer = serde_json::to_string(&value).map_err(|error| Error::fault(error.to_string()))?;
    tx.run(
        "UPDATE once SET answer = $4 WHERE principal = $1 AND tool = $2 AND key = $3",
        args![&act.by, &once.tool, &once.key, &answer],
    )
    .await?;
    Ok(value)
}

/// Takes the key, or gives the answer that was given under it. A call under the same key that still runs is waited for.
async fn begin(tx: &mut Tx, act: &Act, once: &Once) -> Result<Option<String>> {
    if once.key.trim().is_empty() || once.key.len() > LONGEST_KEY {
        return Err(Error::Invalid(format!(
            "'idempotency_key' must have 1 to {LONGEST_KEY} bytes"
        )));
    }
    let taken = tx
        .run(
            "INSERT INTO once (principal, tool, key, arguments, at, repo) VALUES ($1, $2, $3, $4, $5, $7)
             ON CONFLICT (principal, tool, key) DO UPDATE
                SET arguments = excluded.arguments, answer = NULL, at = excluded.at, repo = excluded.repo
                WHERE once.at <= $6",
            args![
                &act.by,
                &once.tool,
                &once.key,
                &once.arguments,
                act.at,
                act.at - KEY_LIVES,
                once.repo.as_ref().map(RepoName::as_str)
            ],
        )
        .await?;
    if taken == 1 {
        return Ok(None);
    }
    kept(tx, act, once)
        .await?
        .ok_or_else(|| Error::fault("an idempotency key is gone"))
}

/// The answer that was given under the act's key, if one was. For what must not even be prepared again.
pub(crate) async fn answered<T: DeserializeOwned>(tx: &mut Tx, act: &Act) -> Result<Option<T>> {
    let Some(once) = &act.once else {
        return Ok(None);
    };
    let answer = kept(tx, act, once).await?.flatten();
    let read = answer.map(|answer| serde_json::from_str(&answer));
    read.transpose()
        .map_err(|error| Error::fault(error.to_string()))
}

/// What is kept under the key: nothing, the key of a call that still runs, or its answer.
async fn kept(tx: &mut Tx, act: &Act, once: &Once) -> Result<Option<Option<String>>> {
    let kept = tx
        .row(
            "SELECT arguments, answer FROM once
             WHERE principal = $1 AND tool = $2 AND key = $3 AND at > $4",
            args![&act.by, &once.tool, &once.key, act.at - KEY_LIVES],
        )
        .await?;
    let Some(mut kept) = kept else {
        return Ok(None);
    };
    if kept.take::<[u8; 32]>()? != once.arguments {
        return Err(Error::KeyReused {
            key: once.key.clone(),
        });
    }
    kept.take().map(Some)
}

/// Forgets the keys of calls about `repo`.
pub(crate) async fn forget(tx: &mut Tx, repo: &RepoName) -> Result<()> {
    let sql = "DELETE FROM once WHERE repo = $1";
    tx.run(sql, args![repo.as_str()]).await.map(drop)
}

/// Forgets the keys whose time is over.
pub(crate) async fn sweep(tx: &mut Tx, at: Timestamp) -> Result<u64> {
    tx.run("DELETE FROM once WHERE at <= $1", args![at - KEY_LIVES])
        .await
}
