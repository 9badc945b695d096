//! Sessions: made, taken back, ended.

use std::collections::BTreeSet;

use guildhall_core::team::{ORCHESTRATOR, RoleName, SessionId};
use guildhall_core::{Principal, RepoName, RepoRole};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::access::{Wants, Who, enter};
use super::roles::{self, Held};
use super::{bounded, named, word};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::{About, NewEvent, Stream};
use crate::tx::Tx;
use crate::value::{Row, args};
use crate::{quota, tokens};

/// Sessions that one person can have running.
pub const MOST_SESSIONS: u32 = 100;

/// Roles of one session.
pub const MOST_ROLES: usize = 64;

/// A session to be made.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Its roles, in their order.
    pub roles: Vec<RoleName>,
    /// Its namespace.
    pub namespace: String,
    /// The repo it belongs to, `owner/name`, in which the caller is a contributor at least.
    pub repo: Option<String>,
    /// The checkout its worktrees belong to, on the machine of who makes it.
    pub root: Option<String>,
    /// The branch they begin at.
    pub branch: Option<String>,
}

/// A session.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its namespace.
    pub namespace: String,
    /// The repo it belongs to, `owner/name`.
    pub repo: Option<String>,
    /// The checkout its worktrees belong to.
    pub root: Option<String>,
    /// The branch they began at.
    pub branch: Option<String>,
    /// The person it belongs to.
    pub owner: Principal,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Principal,
    /// When it ended.
    pub stopped_at: Option<Timestamp>,
}

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT id, namespace, repo, root, branch, owner, created_at, created_by, stopped_at
             FROM team_sessions ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<Session> {
    Ok(Session {
        id: word(&row.take::<String>()?)?,
        namespace: row.take()?,
        repo: row.take()?,
        root: row.take()?,
        branch: row.take()?,
        owner: row.take()?,
        created_at: row.take()?,
        created_by: row.take()?,
        stopped_at: row.take()?,
    })
}

/// The session itself, whoever asks.
pub(super) async fn get(tx: &mut Tx, id: &SessionId) -> Result<Session> {
    let row = tx
        .row(columns!("WHERE id = $1"), args![id.as_str()])
        .await?
        .ok_or_else(|| Error::missing("session", id))?;
    read(row)
}

pub(super) async fn make(tx: &mut Tx, act: &Act, new: &NewSession) -> Result<Session> {
    check(new)?;
    let owner = Principal::user(act.by.user_address()).map_err(|e| Error::fault(e.to_string()))?;
    may_use_repo(tx, act, new.repo.as_deref()).await?;
    let count = "SELECT count(*) FROM (SELECT 1 FROM team_sessions
         WHERE owner = $1 AND stopped_at IS NULL LIMIT $2) AS running";
    if !quota::has_room(tx, act.by.user_address(), MOST_SESSIONS, count).await? {
        return Err(Error::TooMany(format!(
            "`{owner}` has {MOST_SESSIONS} sessions running, which is the most: end one first"
        )));
    }
    let made = tx
        .run(
            "INSERT INTO team_sessions
                (id, project, slot, namespace, repo, root, branch, owner, created_at, created_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING",
            args![
                new.id.as_str(),
                new.id.project(),
                i64::from(new.id.slot()),
                &new.namespace,
                &new.repo,
                &new.root,
                &new.branch,
                &owner,
                act.at,
                &act.by,
            ],
        )
        .await?;
    if made == 0 {
        return Err(Error::taken("session", &new.id));
    }
    for (role, position) in new.roles.iter().zip(0_i64..) {
        tx.run(
            "INSERT INTO team_roles (session, role, position) VALUES ($1, $2, $3)",
            args![new.id.as_str(), role.as_str(), position],
        )
        .await?;
    }
    let roles: Vec<_> = new.roles.iter().map(RoleName::as_str).collect();
    record(
        tx,
        act,
        &new.id,
        "team.session_made",
        json!({ "roles": roles }),
    )
    .await?;
    get(tx, &new.id).await
}

fn check(new: &NewSession) -> Result<()> {
    if !(1..=MOST_ROLES).contains(&new.roles.len()) {
        return Err(Error::Invalid(format!(
            "'roles' has {} names: allowed are 1 to {MOST_ROLES}",
            new.roles.len()
        )));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = new.roles.iter().find(|role| !seen.insert(*role)) {
        return Err(Error::Invalid(format!("'roles' names `{twice}` twice")));
    }
    named("temporal_namespace", Some(&new.namespace))?;
    bounded("root", new.root.as_deref())?;
    bounded("branch", new.branch.as_deref())
}

async fn may_use_repo(tx: &mut Tx, act: &Act, repo: Option<&str>) -> Result<()> {
    let Some(repo) = repo else {
        return Ok(());
    };
    let name = repo
        .parse()
        .map_err(|error: guildhall_core::repo::RepoNameError| Error::Invalid(error.to_string()))?;
    let standing = crate::roles::standing_of_caller(tx, &act.by, &name, None).await?;
    if standing.repo < Some(RepoRole::Contributor) {
        return Err(Error::missing("repo", repo));
    }
    Ok(())
}

pub(super) async fn free_slot(tx: &mut Tx, project: &str) -> Result<u32> {
    // The lowest: somebody may have taken the highest there is.
    let sql = "SELECT min(s.slot) + 1 FROM (
            SELECT 0 AS slot UNION ALL SELECT slot FROM team_sessions WHERE project = $1) s
         WHERE NOT EXISTS (
            SELECT 1 FROM team_sessions t WHERE t.project = $1 AND t.slot = s.slot + 1)";
    let mut row = tx
        .row(sql, args![project])
        .await?
        .ok_or_else(|| Error::fault("a minimum is one row"))?;
    let lowest: i64 = row.take()?;
    u32::try_from(lowest).map_err(|_| Error::fault("a slot is past the highest"))
}

pub(super) async fn of(tx: &mut Tx, principal: &Principal, limit: u32) -> Result<Vec<Session>> {
    let rows = tx
        .rows(
            columns!("WHERE owner = $1 ORDER BY created_at DESC, id LIMIT $2"),
            args![principal.user_address(), i64::from(limit.min(1000))],
        )
        .await?;
    rows.into_iter().map(read).collect()
}

pub(super) async fn shown(
    tx: &mut Tx,
    principal: &Principal,
    who: &Who,
) -> Result<(Session, Vec<Held>)> {
    enter(tx, principal, who, Wants::Look).await?;
    let id = &who.session;
    Ok((get(tx, id).await?, roles::all(tx, id).await?))
}

pub(super) async fn stop(tx: &mut Tx, act: &Act, id: &SessionId) -> Result<Session> {
    act.needs_person("end a session")?;
    enter(tx, &act.by, &Who::whole(id.clone()), Wants::Read).await?;
    end(tx, act, id).await?;
    get(tx, id).await
}

/// Ends the sessions of a repo that goes: from now on they are their owners' alone.
pub(crate) async fn leave_repo(tx: &mut Tx, act: &Act, repo: &RepoName) -> Result<()> {
    let sql = "SELECT id FROM team_sessions WHERE repo = $1 ORDER BY id";
    for mut row in tx.rows(sql, args![repo.as_str()]).await? {
        end(tx, act, &word(&row.take::<String>()?)?).await?;
    }
    let sql = "UPDATE team_sessions SET repo = NULL WHERE repo = $1";
    tx.run(sql, args![repo.as_str()]).await.map(drop)
}

async fn end(tx: &mut Tx, act: &Act, id: &SessionId) -> Result<()> {
    // Who sends or reports locks a role's row and sees there that the session has ended; the orchestrator's comes last.
    for sql in [
        "UPDATE team_roles SET stopped = 1, status = CASE WHEN status IS NULL THEN NULL ELSE 'stopped' END
         WHERE session = $1 AND role <> $2 AND stopped = 0",
        "UPDATE team_roles SET stopped = 1, status = CASE WHEN status IS NULL THEN NULL ELSE 'stopped' END
         WHERE session = $1 AND role = $2 AND stopped = 0",
    ] {
        tx.run(sql, args![id.as_str(), ORCHESTRATOR]).await?;
    }
    let stopped = tx
        .run(
            "UPDATE team_sessions SET stopped_at = $2 WHERE id = $1 AND stopped_at IS NULL",
            args![id.as_str(), act.at],
        )
        .await?;
    if stopped == 1 {
        tokens::revoke_of_session(tx, act, id).await?;
        record(tx, act, id, "team.session_stopped", json!({})).await?;
        roles::touch_all(tx, id).await?;
    }
    Ok(())
}

pub(super) async fn discard(tx: &mut Tx, act: &Act, id: &SessionId) -> Result<()> {
    act.needs_person("take a session back")?;
    let entered = enter(tx, &act.by, &Who::whole(id.clone()), Wants::Read).await?;
    if entered.owner != act.by {
        return Err(Error::NotAllowed(format!("`{id}` is not `{}`'s", act.by)));
    }
    // The roles first, as whoever says something locks them.
    tx.run(
        "DELETE FROM team_roles WHERE session = $1",
        args![id.as_str()],
    )
    .await?;
    let said = tx
        .row(
            "SELECT m.n + h.n FROM
                (SELECT count(*) AS n FROM team_messages WHERE session = $1) m,
                (SELECT count(*) AS n FROM team_history WHERE session = $1 AND event = 'report') h",
            args![id.as_str()],
        )
        .await?
        .ok_or_else(|| Error::fault("a count is one row"))?
        .take::<i64>()?;
    if said > 0 {
        return Err(Error::Moved {
            what: format!("What was said in `{id}`"),
            expected: "nothing".to_owned(),
            found: Some(format!("{said} messages and reports")),
        });
    }
    tokens::revoke_of_session(tx, act, id).await?;
    for sql in [
        "DELETE FROM team_seen WHERE session = $1",
        "DELETE FROM team_tasks WHERE session = $1",
        "DELETE FROM team_history WHERE session = $1",
        "DELETE FROM team_sessions WHERE id = $1",
    ] {
        tx.run(sql, args![id.as_str()]).await?;
    }
    record(tx, act, id, "team.session_discarded", json!({})).await
}

async fn record(
    tx: &mut Tx,
    act: &Act,
    id: &SessionId,
    kind: &'static str,
    data: serde_json::Value,
) -> Result<()> {
    let event = NewEvent {
        stream: Stream::session(id.as_str()),
        kind,
        about: About {
            session: Some(id.to_string()),
            ..About::default()
        },
        data,
    };
    tx.record(act, event).await
}
