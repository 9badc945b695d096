//! Who may do what in a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use guildhall_core::Principal;
use guildhall_core::repo::is_within;
use guildhall_core::team::{Binding, RoleName, SessionId};
use jiff::Timestamp;

use crate::error::{Error, Result};
use crate::roles;
use crate::tx::Tx;
use crate::value::args;
use guildhall_core::RepoRole;

/// For which session and role a call is, and what else it says of them.
#[derive(Clone, Debug)]
pub struct Who {
    /// The session.
    pub session: SessionId,
    /// The role that is spoken for.
    pub role: Option<RoleName>,
    /// What the caller's token is bound to.
    pub bound: Option<Binding>,
    /// The id of the caller's token. A call may wait for long: what it reads and notes is refused once the token is revoked.
    pub token: Option<String>,
    /// The only repos whose sessions the caller's token reaches; `None` is every session that the caller may see.
    pub repos: Option<Arc<BTreeSet<String>>>,
    /// The session's project, its repo's name, or `owner/name`: verified where it is given.
    pub repo_id: Option<String>,
    /// The session's namespace: verified where it is given.
    pub namespace: Option<String>,
}

impl Who {
    /// The role `role` of `session`, by a token that is bound to nothing.
    pub fn new(session: SessionId, role: RoleName) -> Self {
        Self {
            role: Some(role),
            ..Self::whole(session)
        }
    }

    /// All of `session` and no role of it, by a token that is bound to nothing.
    pub fn whole(session: SessionId) -> Self {
        Self {
            session,
            role: None,
            bound: None,
            token: None,
            repos: None,
            repo_id: None,
            namespace: None,
        }
    }

    /// The role that is spoken for.
    pub(super) fn role(&self) -> Result<&RoleName> {
        self.role
            .as_ref()
            .ok_or_else(|| Error::fault("a call for a role names none"))
    }
}

/// What is wanted of the session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wants {
    /// To see it.
    Look,
    /// To speak for a role of it, changing nothing.
    Read,
    /// To change it.
    Change,
}

/// A session that was entered, with the row of the role.
pub(super) struct Entered {
    pub(super) owner: Principal,
    pub(super) role: Option<Standing>,
}

/// What decides about a role.
pub(super) struct Standing {
    pub(super) active: bool,
    pub(super) holder: Option<Principal>,
    pub(super) held_by: Option<Principal>,
    pub(super) paused: bool,
    pub(super) seen_at: Option<Timestamp>,
}

const ENTER: &str = "SELECT s.project, s.namespace, s.repo, s.owner, s.stopped_at,
        r.role, r.status, r.holder, r.held_by, r.paused_at, r.seen_at, w.at,
        CASE WHEN CAST($3 AS TEXT) IS NULL OR EXISTS (
            SELECT 1 FROM tokens t JOIN principals p ON p.name = t.principal
            JOIN principals u ON u.name = p.user_name
            WHERE t.id = $3 AND t.revoked_at IS NULL AND p.disabled_at IS NULL AND u.disabled_at IS NULL)
        THEN 1 ELSE 0 END
    FROM team_sessions s
    LEFT JOIN team_roles r ON r.session = s.id AND r.role = $2
    LEFT JOIN team_seen w ON w.session = s.id AND w.role = $2
    WHERE s.id = $1";

/// Lets `principal` into the session, or says why not.
pub(super) async fn enter(
    tx: &mut Tx,
    principal: &Principal,
    who: &Who,
    wants: Wants,
) -> Result<Entered> {
    if let Some(bound) = &who.bound {
        let of_its_role = who.role.as_ref().is_none_or(|role| *role == bound.role);
        if bound.session != who.session || !of_its_role {
            return Err(Error::NotAllowed(format!(
                "This token is bound to `{}` in `{}`",
                bound.role, bound.session
            )));
        }
    }
    let missing = || Error::missing("session", &who.session);
    let role = who.role.as_ref().map(RoleName::as_str);
    let mut row = tx
        .row(ENTER, args![who.session.as_str(), role, &who.token])
        .await?
        .ok_or_else(missing)?;
    let project: String = row.take()?;
    let namespace: String = row.take()?;
    let repo: Option<String> = row.take()?;
    let owner: Principal = row.take()?;
    let stopped: Option<Timestamp> = row.take()?;
    let is_there = row.take::<Option<String>>()?.is_some();
    let standing = Standing {
        active: row.take::<Option<String>>()?.is_some(),
        holder: row.take()?,
        held_by: row.take()?,
        paused: row.take::<Option<Timestamp>>()?.is_some(),
        seen_at: row.take::<Option<Timestamp>>()?.max(row.take()?),
    };
    if !row.take::<bool>()? {
        return Err(Error::NotAllowed("The token was revoked".to_owned()));
    }
    let on_repo = if owner.name() == principal.user_address() {
        Some(RepoRole::Owner)
    } else {
        on_repo(tx, principal, repo.as_deref()).await?
    };
    let within = is_within(who.repos.as_deref(), repo.as_deref());
    if on_repo < Some(RepoRole::Contributor) || !within {
        return Err(missing());
    }
    verify(who, &project, &namespace, repo.as_deref())?;
    if wants != Wants::Look && on_repo < Some(RepoRole::Maintainer) {
        return Err(Error::NotAllowed(format!(
            "`{principal}` sees `{}` and may not act in it",
            who.session
        )));
    }
    if wants == Wants::Change && stopped.is_some() {
        return Err(Error::NotAllowed(format!("`{}` has ended", who.session)));
    }
    Ok(Entered {
        owner,
        role: is_there.then_some(standing),
    })
}

async fn on_repo(
    tx: &mut Tx,
    principal: &Principal,
    repo: Option<&str>,
) -> Result<Option<RepoRole>> {
    let Some(repo) = repo.and_then(|repo| repo.parse().ok()) else {
        return Ok(None);
    };
    let standing = roles::standing_of_caller(tx, principal, &repo, None).await?;
    Ok(standing.repo)
}

/// Holds what the call says of the session against what it is.
fn verify(who: &Who, project: &str, namespace: &str, repo: Option<&str>) -> Result<()> {
    if let Some(given) = &who.repo_id {
        let name = repo
            .and_then(|repo| repo.split_once('/'))
            .map(|(_, name)| name);
        let is_its =
            given == project || Some(given.as_str()) == repo || Some(given.as_str()) == name;
        if !is_its {
            return Err(Error::NotAllowed(format!(
                "'repo_id' is not that of `{}`",
                who.session
            )));
        }
    }
    match &who.namespace {
        Some(given) if given != namespace => Err(Error::NotAllowed(format!(
            "'temporal_namespace' is not that of `{}`",
            who.session
        ))),
        _ => Ok(()),
    }
}

/// Lets `principal` speak for the role of `who`, or says why not.
pub(super) async fn speak(
    tx: &mut Tx,
    principal: &Principal,
    who: &Who,
    wants: Wants,
) -> Result<Standing> {
    let entered = enter(tx, principal, who, wants).await?;
    let role = who.role()?;
    let missing = || Error::missing("agent", role);
    let standing = entered
        .role
        .filter(|role| role.active)
        .ok_or_else(missing)?;
    if let Some(person) = &standing.held_by
        && person != principal
    {
        return Err(Error::NotAllowed(format!(
            "`{person}` has taken `{role}` over"
        )));
    }
    let is_its =
        who.bound.is_some() || !principal.is_agent() || standing.holder.as_ref() == Some(principal);
    if !is_its {
        return Err(Error::NotAllowed(format!(
            "`{principal}` has not claimed `{role}` through set-up"
        )));
    }
    Ok(standing)
}
