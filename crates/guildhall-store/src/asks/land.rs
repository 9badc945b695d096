//! Landing a changeset: the commit point, and what happens instead.

use guildhall_core::{Principal, RepoName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::{Next, Outcome, finish, is_landed_by, object};
use super::claim::check_holder;
use super::read::{Seen, look};
use super::{Ask, AskKind, Changeset, ChangesetState, Held, Verdict, changeset, scope};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::fresh::Fresh;
use crate::repos;
use crate::roles;
use crate::text::{self, LONGEST_TEXT};
use crate::tx::Tx;
use crate::value::args;

/// What is about to land.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The ask that lands it.
    pub ask: Ask,
    /// What lands.
    pub changeset: Changeset,
    /// Where the caller has landed it already: the commit.
    pub landed_as: Option<String>,
}

/// A commit that answers a `submit_changeset`.
#[derive(Clone, Debug)]
pub struct Landing {
    /// The ask, and the caller's claim of it.
    pub held: Held,
    /// The full id of the commit that the default branch is at, as the caller saw it; `None` in a repo without commits.
    pub from: Option<String>,
    /// The full id of the new commit, whose objects are on the disk.
    pub to: String,
    /// What there is to say.
    pub note: Option<String>,
}

/// A changeset that cannot land because the default branch has moved against it.
#[derive(Clone, Debug)]
pub struct Conflicted {
    /// The `submit_changeset`, and the caller's claim of it.
    pub held: Held,
    /// Where the id of the `resolve_conflict` comes from.
    pub fresh: Fresh,
    /// The full id of the commit it conflicts with.
    pub head: Option<String>,
    /// The paths in conflict.
    pub paths: Vec<String>,
    /// What whoever resolves it is told, below the work's own text.
    pub told: String,
}

/// A commit by an owner who is a person.
#[derive(Clone, Debug)]
pub struct DirectCommit {
    /// Where.
    pub repo: RepoName,
    /// The full id of the commit that the default branch is at, as the caller saw it; `None` in a repo without commits.
    pub from: Option<String>,
    /// The full id of the new commit, whose objects are on the disk.
    pub to: String,
    /// Whether the branch had moved since the commit that the caller changed.
    pub merged: bool,
    /// The paths it changes, for the log.
    pub paths: Vec<String>,
}

/// What a [`DirectCommit`] came to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Landed {
    /// The commit the branch was at.
    pub from: Option<String>,
    /// The commit it is at now.
    pub to: String,
    /// Whether the branch had moved since the commit that the caller changed.
    pub merged: bool,
}

pub(super) async fn submission(tx: &mut Tx, by: &Principal, held: &Held) -> Result<Submission> {
    // The caller's clock is not asked: how old a claim is does not matter.
    let act = Act::new(by.clone(), jiff::Timestamp::UNIX_EPOCH);
    let (seen, changeset) = submittable(tx, &act, held).await?;
    Ok(Submission {
        landed_as: seen
            .ask
            .answer
            .as_ref()
            .and_then(|_| changeset.landed_as.clone()),
        ask: seen.ask,
        changeset,
    })
}

/// The ask and its changeset, if the caller may land it or has.
async fn submittable(tx: &mut Tx, act: &Act, held: &Held) -> Result<(Seen, Changeset)> {
    let seen = look(tx, &held.ask, act.at).await?;
    let ask = &seen.ask;
    if ask.kind != AskKind::SubmitChangeset {
        return Err(Error::Invalid(format!(
            "`{}` is a `{}`, not a `submit_changeset`",
            ask.id, ask.kind
        )));
    }
    scope::check(tx, &act.by, &held.ask.repo, &seen).await?;
    let landed = is_landed_by(ask, act, held.fence);
    if !landed {
        check_holder(ask, act, held.fence)?;
    }
    let id = ask.changeset.as_deref().unwrap_or_default();
    let changeset = changeset::find(tx, &held.ask.repo, id)
        .await?
        .ok_or_else(|| Error::fault("an ask about a changeset names none that is there"))?;
    if !landed && changeset.state != ChangesetState::Granted {
        return Err(not_granted(&changeset.id, changeset.state.name()));
    }
    Ok((seen, changeset))
}

fn not_granted(id: &str, state: &str) -> Error {
    Error::Conflict(format!("`{id}` is {state}; only a granted changeset lands"))
}

pub(super) async fn land(tx: &mut Tx, act: &Act, landing: &Landing) -> Result<Ask> {
    let Landing {
        held,
        from,
        to,
        note,
    } = landing;
    text::check("note", note.as_deref().unwrap_or_default(), 0, LONGEST_TEXT)?;
    let (seen, changeset) = submittable(tx, act, held).await?;
    if seen.ask.answer.is_some() {
        return Ok(seen.ask);
    }
    let sql = "UPDATE changesets SET state = 'landed', landed_as = $2 WHERE id = $1 AND state = 'granted'";
    if tx.run(sql, args![&changeset.id, to]).await? == 0 {
        return Err(not_granted(&changeset.id, "not granted any more"));
    }
    let payload = json!({ "changeset_id": changeset.id, "commit": to, "previous": from });
    let outcome = Outcome {
        verdict: Verdict::Complete,
        note: note.as_deref(),
        payload: object(payload),
    };
    let ask = finish(tx, act, held, seen, outcome).await?;
    repos::move_head(tx, act, &held.ask.repo, from.as_deref(), to).await?;
    Ok(ask)
}

pub(super) async fn conflicted(tx: &mut Tx, act: &Act, conflicted: &Conflicted) -> Result<Ask> {
    let Conflicted {
        held,
        fresh,
        head,
        paths,
        told,
    } = conflicted;
    let (seen, changeset) = submittable(tx, act, held).await?;
    if seen.ask.answer.is_some() {
        return Err(Error::Conflict(format!(
            "`{}` has landed already",
            changeset.id
        )));
    }
    let (from, to) = (ChangesetState::Granted, ChangesetState::Conflicted);
    if !changeset::advance(tx, &changeset.id, from, to).await? {
        return Err(not_granted(&changeset.id, "not granted any more"));
    }
    let next = Next {
        repo: &held.ask.repo,
        fresh,
        ask: &seen.ask,
        note: None,
    };
    let posted = next
        .post(tx, act, AskKind::ResolveConflict, Some(&changeset.id), told)
        .await?;
    let payload = json!({
        "changeset_id": changeset.id, "posted": posted, "conflicts": paths, "head": head,
    });
    let outcome = Outcome {
        verdict: Verdict::Deny,
        note: Some("The default branch has moved, and the changeset conflicts with it"),
        payload: object(payload),
    };
    finish(tx, act, held, seen, outcome).await
}

pub(super) async fn commit_directly(
    tx: &mut Tx,
    act: &Act,
    commit: &DirectCommit,
) -> Result<Landed> {
    let DirectCommit {
        repo,
        from,
        to,
        merged,
        paths,
    } = commit;
    repos::get(tx, repo).await?;
    roles::needs_owner(tx, act, repo, "commit without an ask").await?;
    repos::move_head(tx, act, repo, from.as_deref(), to).await?;
    let data: Value = json!({ "commit": to, "paths": paths });
    repos::record(tx, act, repo, "repo.committed", data).await?;
    Ok(Landed {
        from: from.clone(),
        to: to.clone(),
        merged: *merged,
    })
}
