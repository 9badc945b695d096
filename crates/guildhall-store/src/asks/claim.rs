//! Claiming, renewing, giving up.

use guildhall_core::RepoName;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::read::{self, Seen, later, look, now};
use super::{Ask, AskRef, AskState, Claim, Held, scope};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::{About, NewEvent, Stream};
use crate::tx::Tx;
use crate::value::args;

/// Most asks that a refusal names.
const MOST_NAMED: i64 = 5;

pub(super) async fn claim(
    tx: &mut Tx,
    act: &Act,
    asked: &AskRef,
    lease: SignedDuration,
) -> Result<Ask> {
    let seen = look(tx, asked, act.at).await?;
    scope::check(tx, &act.by, &asked.repo, &seen).await?;
    is_free(tx, &asked.repo, &seen).await?;
    let Some(claim) = take(tx, act, asked, lease).await? else {
        // Another node was faster between the look and the claim.
        let seen = look(tx, asked, act.at).await?;
        is_free(tx, &asked.repo, &seen).await?;
        return Err(Error::Busy);
    };
    let mut ask = seen.ask;
    let data = json!({
        "fence": claim.fence, "claimed_at": millis(claim.at), "expires_at": millis(claim.expires_at),
    });
    record(tx, act, &asked.repo, &ask, "ask.claimed", data).await?;
    ask.state = AskState::Claimed;
    ask.fence = claim.fence;
    ask.changed_at = claim.at;
    ask.claim = Some(claim);
    Ok(ask)
}

/// Claims it if it is free at that very moment.
async fn take(
    tx: &mut Tx,
    act: &Act,
    asked: &AskRef,
    lease: SignedDuration,
) -> Result<Option<Claim>> {
    macro_rules! sql {
        ($database:tt) => {
            concat!(
                "UPDATE asks SET state = 'claimed', claimed_by = $4, fence = fence + 1, claimed_at = ",
                later!($database), "(", now!($database), ", changed_at), changed_at = ",
                later!($database), "(", now!($database), ", changed_at), expires_at = ",
                later!($database), "(", now!($database), ", changed_at) + $5
                 WHERE repo = $1 AND id = $2 AND waits = 0
                    AND (state = 'open' OR (state = 'claimed' AND expires_at <= ", now!($database), "))
                 RETURNING changed_at, expires_at, fence"
            )
        };
    }
    let sql = tx.either(sql!(sqlite), sql!(postgres));
    let args = args![
        asked.repo.as_str(),
        &asked.ask,
        act.at,
        &act.by,
        length(lease)
    ];
    let row = tx.row(sql, args).await?;
    row.map(|mut row| {
        Ok(Claim {
            by: act.by.clone(),
            at: row.take()?,
            expires_at: row.take()?,
            fence: row.take()?,
        })
    })
    .transpose()
}

fn length(lease: SignedDuration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX / 2)
}

/// Refuses an ask that nobody can claim now, and says why.
async fn is_free(tx: &mut Tx, repo: &RepoName, seen: &Seen) -> Result<()> {
    let ask = &seen.ask;
    if let Some(answer) = &ask.answer {
        return Err(Error::Conflict(format!(
            "`{}` was answered `{}` by `{}`",
            ask.id, answer.verdict, answer.by
        )));
    }
    if !seen.lane_open {
        return Err(Error::Conflict(format!(
            "The lane `{}` is closed",
            ask.lane
        )));
    }
    if ask.waits_for > 0 {
        let waits = waits_for(tx, repo, &ask.id).await?;
        return Err(Error::Conflict(format!("`{}` depends on {waits}", ask.id)));
    }
    match &ask.claim {
        Some(claim) if seen.is_held => Err(Error::Conflict(format!(
            "`{}` is held by `{}` until {} (fence {})",
            ask.id,
            claim.by,
            guildhall_core::clock::rfc3339_millis(claim.expires_at),
            claim.fence
        ))),
        _ => Ok(()),
    }
}

/// The first dependencies that are not resolved, in words.
async fn waits_for(tx: &mut Tx, repo: &RepoName, id: &str) -> Result<String> {
    let rows = tx
        .rows(
            "SELECT a.id, a.state FROM ask_dependencies d JOIN asks a ON a.repo = d.repo AND a.id = d.needs
             WHERE d.repo = $1 AND d.ask = $2 AND (a.verdict IS NULL OR a.verdict = 'deny')
             ORDER BY a.id LIMIT $3",
            args![repo.as_str(), id, MOST_NAMED],
        )
        .await?;
    let named = rows
        .into_iter()
        .map(|mut row| {
            let (id, state): (String, String) = (row.take()?, row.take()?);
            let state = if state == AskState::Answered.name() {
                "denied"
            } else {
                state.as_str()
            };
            Ok(format!("`{id}`, which is {state}"))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(named.join(", and "))
}

pub(super) async fn release(tx: &mut Tx, act: &Act, held: &Held) -> Result<Ask> {
    macro_rules! sql {
        ($database:tt) => {
            concat!(
                "UPDATE asks SET state = 'open', claimed_by = NULL, claimed_at = NULL, expires_at = NULL, changed_at = ",
                later!($database), "(", now!($database), ", changed_at)
                 WHERE repo = $1 AND id = $2 AND state = 'claimed' AND claimed_by = $4 AND fence = $5
                 RETURNING changed_at"
            )
        };
    }
    let mut ask = holds(tx, act, held).await?.ask;
    let sql = tx.either(sql!(sqlite), sql!(postgres));
    let args = args![held.ask.repo.as_str(), &ask.id, act.at, &act.by, ask.fence];
    let Some(mut released) = tx.row(sql, args).await? else {
        return Err(lost(tx, act, held).await);
    };
    let data = json!({ "fence": ask.fence });
    record(tx, act, &held.ask.repo, &ask, "ask.released", data).await?;
    ask.state = AskState::Open;
    ask.changed_at = released.take()?;
    ask.claim = None;
    Ok(ask)
}

pub(super) async fn renew(
    tx: &mut Tx,
    act: &Act,
    held: &Held,
    lease: SignedDuration,
) -> Result<Ask> {
    macro_rules! sql {
        ($database:tt) => {
            concat!(
                "UPDATE asks SET changed_at = ",
                later!($database), "(", now!($database), ", changed_at), expires_at = ",
                later!($database), "(", now!($database), ", changed_at) + $6
                 WHERE repo = $1 AND id = $2 AND state = 'claimed' AND claimed_by = $4 AND fence = $5
                 RETURNING changed_at, expires_at"
            )
        };
    }
    let seen = holds(tx, act, held).await?;
    // Whoever may not answer it any more does not keep it from others.
    scope::check(tx, &act.by, &held.ask.repo, &seen).await?;
    let mut ask = seen.ask;
    let sql = tx.either(sql!(sqlite), sql!(postgres));
    let args = args![
        held.ask.repo.as_str(),
        &ask.id,
        act.at,
        &act.by,
        ask.fence,
        length(lease)
    ];
    let Some(mut renewed) = tx.row(sql, args).await? else {
        return Err(lost(tx, act, held).await);
    };
    ask.changed_at = renewed.take()?;
    let expires_at = renewed.take()?;
    let data = json!({ "fence": ask.fence, "expires_at": millis(expires_at) });
    record(tx, act, &held.ask.repo, &ask, "ask.renewed", data).await?;
    if let Some(claim) = &mut ask.claim {
        claim.expires_at = expires_at;
    }
    Ok(ask)
}

/// The ask, if the caller has its latest claim, under the fence they give. How old the claim is does not matter.
pub(super) async fn holds(tx: &mut Tx, act: &Act, held: &Held) -> Result<Seen> {
    let seen = look(tx, &held.ask, act.at).await?;
    check_holder(&seen.ask, act, held.fence)?;
    Ok(seen)
}

/// Refuses whoever does not have the latest claim.
pub(super) fn check_holder(ask: &Ask, act: &Act, fence: Option<i64>) -> Result<()> {
    if let Some(answer) = &ask.answer {
        return Err(Error::Conflict(format!(
            "`{}` was answered `{}` by `{}`",
            ask.id, answer.verdict, answer.by
        )));
    }
    let Some(claim) = &ask.claim else {
        return Err(Error::Conflict(format!(
            "`{}` is not claimed: claim it first",
            ask.id
        )));
    };
    if claim.by != act.by {
        return Err(Error::Conflict(format!(
            "`{}` is held by `{}` (fence {}), not by `{}`",
            ask.id, claim.by, claim.fence, act.by
        )));
    }
    match fence {
        Some(fence) if fence != claim.fence => Err(Error::Conflict(format!(
            "The fence {fence} is not that of the latest claim of `{}`, which is {}",
            ask.id, claim.fence
        ))),
        _ => Ok(()),
    }
}

/// Why a claim that was there a moment ago is not any more.
pub(super) async fn lost(tx: &mut Tx, act: &Act, held: &Held) -> Error {
    match holds(tx, act, held).await {
        Err(error) => error,
        // The same holder under a later claim, with no fence given: the call is begun again.
        Ok(_) => Error::Busy,
    }
}

/// Writes what happened to an ask, and wakes who waits for its lane.
pub(super) async fn record(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    ask: &Ask,
    kind: &'static str,
    data: Value,
) -> Result<()> {
    let about = About {
        lane: Some(ask.lane.clone()),
        ask: Some(ask.id.clone()),
        ..About::repo(repo)
    };
    let event = NewEvent {
        stream: Stream::ask(repo, &ask.id),
        kind,
        about,
        data,
    };
    tx.record(act, event).await?;
    tx.touched
        .push(Stream::lane(repo, &ask.lane).name().to_owned());
    Ok(())
}

pub(super) fn millis(at: Timestamp) -> String {
    guildhall_core::clock::rfc3339_millis(at)
}

/// The ask, which must be there.
pub(super) async fn get(tx: &mut Tx, repo: &RepoName, id: &str) -> Result<Ask> {
    read::find(tx, repo, id)
        .await?
        .ok_or_else(|| Error::missing("ask", id))
}
