//! What a team looks like: its active roles, their tasks, what happened.

use guildhall_core::Principal;
use guildhall_core::team::{RoleName, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::access::{Wants, Who, enter};
use super::roles::{self, Held};
use super::send::Dispatch;
use super::{Status, word};
use crate::act::Act;
use crate::error::Result;
use crate::tx::Tx;
use crate::value::{Row, args};

/// Most entries of the history that one look gives.
pub const MOST_HISTORY: u32 = 500;

/// A task.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// `dispatched`, `acknowledged`, `blocked`, `failed`, `degraded` or `complete`.
    pub state: String,
    /// What is to be done.
    pub summary: String,
    /// What to begin with.
    pub next_action: Option<String>,
    /// How much it matters.
    pub priority: String,
}

/// An active role, as the team sees it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Agent {
    /// The role.
    pub role: RoleName,
    /// Its state.
    pub status: Status,
    /// When it was last seen.
    pub last_seen: Timestamp,
    /// What it is at.
    pub task: Option<Task>,
    /// What it last reported.
    pub summary: Option<String>,
    /// Messages it has not read.
    pub unread: i64,
    /// Whether its deliveries are held.
    pub paused: bool,
    /// The person who took it over.
    pub held_by: Option<Principal>,
}

/// Something that happened to a role.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Happened {
    /// When.
    pub at: Timestamp,
    /// The role.
    pub role: RoleName,
    /// What: `report`, `dispatch`, `joined`, `paused`.
    pub event: String,
    /// The status that came with it.
    pub status: Option<String>,
    /// A short message.
    pub summary: Option<String>,
    /// The task it was about.
    pub task: Option<String>,
}

/// A session as its members see it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TeamState {
    /// The active roles, in the session's order.
    pub agents: Vec<Agent>,
    /// What happened, newest first; none where it was not asked for.
    pub history: Option<Vec<Happened>>,
}

/// An entry of the history to be written.
#[derive(Default)]
pub(super) struct Entry<'a> {
    pub(super) id: &'a str,
    pub(super) role: &'a str,
    pub(super) event: &'a str,
    pub(super) status: Option<&'a str>,
    pub(super) summary: Option<&'a str>,
    pub(super) validation: Option<&'a str>,
    pub(super) next_action: Option<&'a str>,
    pub(super) task: Option<&'a str>,
}

pub(super) async fn note(
    tx: &mut Tx,
    act: &Act,
    session: &SessionId,
    entry: Entry<'_>,
) -> Result<()> {
    tx.run(
        "INSERT INTO team_history
            (id, session, at, role, event, status, summary, validation, next_action, task, by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        args![
            entry.id,
            session.as_str(),
            act.at,
            entry.role,
            entry.event,
            entry.status,
            entry.summary,
            entry.validation,
            entry.next_action,
            entry.task,
            &act.by,
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn state(
    tx: &mut Tx,
    principal: &Principal,
    who: &Who,
    history: Option<u32>,
) -> Result<TeamState> {
    enter(tx, principal, who, Wants::Look).await?;
    let mut agents = Vec::new();
    for held in roles::all(tx, &who.session).await? {
        let (Some(status), Some(last_seen)) = (held.status, held.seen_at) else {
            continue;
        };
        agents.push(agent(tx, &who.session, held, status, last_seen).await?);
    }
    let history = match history {
        Some(limit) => Some(happened(tx, &who.session, limit).await?),
        None => None,
    };
    Ok(TeamState { agents, history })
}

async fn agent(
    tx: &mut Tx,
    session: &SessionId,
    held: Held,
    status: Status,
    last_seen: Timestamp,
) -> Result<Agent> {
    let task = match &held.task {
        Some(id) => task(tx, session, id).await?,
        None => None,
    };
    Ok(Agent {
        role: held.role,
        status,
        last_seen,
        task,
        summary: held.summary,
        unread: held.unread,
        paused: held.paused_at.is_some(),
        held_by: held.held_by,
    })
}

async fn happened(tx: &mut Tx, session: &SessionId, limit: u32) -> Result<Vec<Happened>> {
    let rows = tx
        .rows(
            "SELECT at, role, event, status, summary, task FROM team_history
             WHERE session = $1 ORDER BY at DESC, id DESC LIMIT $2",
            args![session.as_str(), i64::from(limit.min(MOST_HISTORY))],
        )
        .await?;
    let read = |mut row: Row| {
        Ok(Happened {
            at: row.take()?,
            role: word(&row.take::<String>()?)?,
            event: row.take()?,
            status: row.take()?,
            summary: row.take()?,
            task: row.take()?,
        })
    };
    rows.into_iter().map(read).collect()
}

fn read_task(mut row: Row) -> Result<Task> {
    Ok(Task {
        id: row.take()?,
        state: row.take()?,
        summary: row.take()?,
        next_action: row.take()?,
        priority: row.take()?,
    })
}

async fn task(tx: &mut Tx, session: &SessionId, id: &str) -> Result<Option<Task>> {
    let sql = "SELECT id, state, summary, next_action, priority FROM team_tasks
        WHERE session = $1 AND id = $2";
    let row = tx.row(sql, args![session.as_str(), id]).await?;
    row.map(read_task).transpose()
}

/// What the role has to do, oldest first.
pub(super) async fn open_tasks(
    tx: &mut Tx,
    session: &SessionId,
    role: &RoleName,
    limit: i64,
) -> Result<Vec<Task>> {
    let rows = tx
        .rows(
            "SELECT id, state, summary, next_action, priority FROM team_tasks
             WHERE session = $1 AND role = $2 AND state <> 'complete' ORDER BY made_at, id LIMIT $3",
            args![session.as_str(), role.as_str(), limit],
        )
        .await?;
    rows.into_iter().map(read_task).collect()
}

/// Gives the task: a new one, or one that was there, which begins anew with whom it is given to.
pub(super) async fn give(
    tx: &mut Tx,
    act: &Act,
    session: &SessionId,
    from: &RoleName,
    dispatch: &Dispatch,
) -> Result<()> {
    let files = serde_json::to_string(&dispatch.files)
        .map_err(|error| crate::Error::fault(error.to_string()))?;
    tx.run(
        "INSERT INTO team_tasks
            (session, id, role, state, summary, next_action, files, priority, made_at, made_by, changed_at)
         VALUES ($1, $2, $3, 'dispatched', $4, $5, $6, $7, $8, $9, $8)
         ON CONFLICT (session, id) DO UPDATE SET
            role = excluded.role, state = excluded.state, summary = excluded.summary,
            next_action = excluded.next_action, files = excluded.files, priority = excluded.priority,
            changed_at = excluded.changed_at",
        args![
            session.as_str(),
            &dispatch.task,
            dispatch.to.as_str(),
            &dispatch.summary,
            &dispatch.next_action,
            &files,
            &dispatch.priority,
            act.at,
            from.as_str(),
        ],
    )
    .await?;
    Ok(())
}

/// Moves a task of the role to `state`; `None` where the session has no such task, or it is another role's.
pub(super) async fn move_task(
    tx: &mut Tx,
    act: &Act,
    session: &SessionId,
    role: &RoleName,
    id: &str,
    state: &str,
) -> Result<Option<Task>> {
    let row = tx
        .row(
            "UPDATE team_tasks SET state = $4, changed_at = $5
             WHERE session = $1 AND role = $2 AND id = $3
             RETURNING id, state, summary, next_action, priority",
            args![session.as_str(), role.as_str(), id, state, act.at],
        )
        .await?;
    row.map(read_task).transpose()
}
