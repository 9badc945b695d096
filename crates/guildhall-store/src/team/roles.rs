//! Roles: who holds them, what people do about them, and what an agent is told when it begins.

use std::collections::BTreeMap;

use guildhall_core::Principal;
use guildhall_core::team::{Binding, RoleName, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::access::{Standing, Wants, Who, enter};
use super::sessions::{self, Session};
use super::state::{self, Task};
use super::{AWAY_AFTER, Seen, Status, record, word};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::Stream;
use crate::tx::Tx;
use crate::value::{Row, args};

/// Where a role works.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    /// Who speaks for it: the role is active with one.
    pub holder: Option<Principal>,
    /// The agent's command line.
    pub agent: Option<String>,
    /// Its worktree.
    pub worktree: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// Its pane.
    pub pane: Option<String>,
}

/// What a person does about a role.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Steer {
    /// Deliveries are held, and new dispatches are refused.
    Pause,
    /// The end of a pause.
    Resume,
    /// The person holds the role: its agent is refused.
    Takeover,
    /// The role goes back to its agent.
    Release,
    /// Back to work after a failure: no pause, no person, and another agent may claim it.
    Recover,
}

impl Steer {
    /// The word for it in the history.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Takeover => "taken_over",
            Self::Release => "released",
            Self::Recover => "recovered",
        }
    }
}

/// An agent's wish to begin in a role.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The agent's command line: `claude`, `codex`.
    pub agent: String,
    /// Whether a live agent may be replaced.
    pub takeover: bool,
    /// The id of the entry in the session's history.
    pub id: String,
}

/// A role with everything that is known of it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Held {
    /// The role.
    pub role: RoleName,
    /// Its state; none while it is not active.
    pub status: Option<Status>,
    /// The agent that speaks for it.
    pub holder: Option<Principal>,
    /// The person who took it over.
    pub held_by: Option<Principal>,
    /// Since when its deliveries are held.
    pub paused_at: Option<Timestamp>,
    /// The agent's command line.
    pub agent: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// What it last reported.
    pub summary: Option<String>,
    /// When it was last seen.
    pub seen_at: Option<Timestamp>,
    /// Where it works.
    pub worktree: Option<String>,
    /// On which branch.
    pub branch: Option<String>,
    /// In which pane.
    pub pane: Option<String>,
    /// Messages it has not read.
    pub unread: i64,
}

/// A message that waits, as set-up shows it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// Who sent it.
    pub from: String,
    /// Its text.
    pub body: String,
}

/// What an agent is told when it begins.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SetUp {
    /// The session.
    pub session: Session,
    /// The role.
    pub role: Held,
    /// All roles of the session in its order, active or not.
    pub roles: Vec<RoleName>,
    /// What it has to do, oldest first.
    pub tasks: Vec<Task>,
    /// The oldest messages it has not read.
    pub waiting: Vec<Waiting>,
}

/// Roles of one principal whose last sight is noted.
const HOLDS: i64 = 1000;

/// Tasks and messages that set-up shows.
const SHOWS: i64 = 10;

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT r.role, r.status, r.holder, r.held_by, r.paused_at, r.agent, r.task, r.summary, r.seen_at,
                r.worktree, r.branch, r.pane, w.at,
                (SELECT count(*) FROM team_messages m WHERE m.session = r.session AND m.role = r.role
                    AND m.read_at IS NULL)
             FROM team_roles r
             LEFT JOIN team_seen w ON w.session = r.session AND w.role = r.role ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<Held> {
    let role = word(&row.take::<String>()?)?;
    let status = row.take::<Option<String>>()?;
    let mut held = Held {
        role,
        status: status.as_deref().map(word).transpose()?,
        holder: row.take()?,
        held_by: row.take()?,
        paused_at: row.take()?,
        agent: row.take()?,
        task: row.take()?,
        summary: row.take()?,
        seen_at: row.take()?,
        worktree: row.take()?,
        branch: row.take()?,
        pane: row.take()?,
        unread: 0,
    };
    held.seen_at = held.seen_at.max(row.take()?);
    held.unread = row.take()?;
    Ok(held)
}

/// Every role of the session, in its order.
pub(super) async fn all(tx: &mut Tx, session: &SessionId) -> Result<Vec<Held>> {
    let rows = tx
        .rows(
            columns!("WHERE r.session = $1 ORDER BY r.position"),
            args![session.as_str()],
        )
        .await?;
    rows.into_iter().map(read).collect()
}

async fn get(tx: &mut Tx, session: &SessionId, role: &RoleName) -> Result<Held> {
    let row = tx
        .row(
            columns!("WHERE r.session = $1 AND r.role = $2"),
            args![session.as_str(), role.as_str()],
        )
        .await?
        .ok_or_else(|| Error::missing("agent", role))?;
    read(row)
}

/// Wakes who waits for any inbox of the session.
pub(super) async fn touch_all(tx: &mut Tx, session: &SessionId) -> Result<()> {
    let sql = "SELECT role FROM team_roles WHERE session = $1";
    for mut row in tx.rows(sql, args![session.as_str()]).await? {
        let role: String = row.take()?;
        tx.touched
            .push(Stream::role(session, &role).name().to_owned());
    }
    Ok(())
}

/// The role's row, active or not, for who may change the session.
async fn standing(tx: &mut Tx, act: &Act, who: &Who) -> Result<Standing> {
    let entered = enter(tx, &act.by, who, Wants::Change).await?;
    let missing = || Error::missing("agent", &who.role.as_ref().map_or("", RoleName::as_str));
    entered.role.ok_or_else(missing)
}

pub(super) async fn place(tx: &mut Tx, act: &Act, who: &Who, placed: &Placed) -> Result<Held> {
    act.needs_person("place a role")?;
    standing(tx, act, who).await?;
    let role = who.role()?;
    let placed_now = tx
        .run(
            "UPDATE team_roles SET
                holder = coalesce($3, holder), agent = coalesce($4, agent), worktree = coalesce($5, worktree),
                branch = coalesce($6, branch), pane = coalesce($7, pane),
                seen_at = CASE WHEN $3 IS NULL THEN seen_at ELSE $8 END,
                status = CASE WHEN $3 IS NULL THEN status ELSE coalesce(status, 'active') END
             WHERE session = $1 AND role = $2 AND stopped = 0",
            args![
                who.session.as_str(),
                role.as_str(),
                placed.holder.as_ref().map(Principal::name),
                &placed.agent,
                &placed.worktree,
                &placed.branch,
                &placed.pane,
                act.at,
            ],
        )
        .await?;
    if placed_now == 0 {
        return Err(Error::NotAllowed(format!("`{}` has ended", who.session)));
    }
    let data =
        json!({ "role": role.as_str(), "worktree": placed.worktree, "branch": placed.branch });
    record(tx, act, &who.session, role.as_str(), "team.placed", data).await?;
    get(tx, &who.session, role).await
}

const PAUSE: &str = "UPDATE team_roles SET paused_at = coalesce(paused_at, $3)
    WHERE session = $1 AND role = $2 AND stopped = 0";
const RESUME: &str = "UPDATE team_roles SET paused_at = NULL
    WHERE session = $1 AND role = $2 AND stopped = 0";
const TAKEOVER: &str =
    "UPDATE team_roles SET held_by = $4, seen_at = $3, status = coalesce(status, 'active')
    WHERE session = $1 AND role = $2 AND stopped = 0 AND (held_by IS NULL OR held_by = $4)";
const RELEASE: &str = "UPDATE team_roles SET held_by = NULL
    WHERE session = $1 AND role = $2 AND stopped = 0";
const RECOVER: &str = "UPDATE team_roles SET held_by = NULL, paused_at = NULL, holder = NULL,
        status = CASE WHEN task IS NULL THEN 'active' ELSE 'busy' END
    WHERE session = $1 AND role = $2 AND stopped = 0 AND status IS NOT NULL";

pub(super) async fn steer(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    id: &str,
    steer: Steer,
) -> Result<Held> {
    act.needs_person("pause, resume, take over, release or recover a role")?;
    let standing = standing(tx, act, who).await?;
    let role = who.role()?;
    let sql = match steer {
        Steer::Pause => PAUSE,
        Steer::Resume => RESUME,
        Steer::Takeover => TAKEOVER,
        Steer::Release => RELEASE,
        Steer::Recover => RECOVER,
    };
    let args = args![who.session.as_str(), role.as_str(), act.at, &act.by];
    if tx.run(sql, args).await? == 0 {
        return Err(match &standing.held_by {
            Some(person) if steer == Steer::Takeover => {
                Error::NotAllowed(format!("`{person}` has taken `{role}` over"))
            }
            _ => Error::missing("agent", role),
        });
    }
    let held = get(tx, &who.session, role).await?;
    let status = held.status.map(Status::as_str);
    let entry = state::Entry {
        id,
        role: role.as_str(),
        event: steer.event(),
        status,
        ..state::Entry::default()
    };
    state::note(tx, act, &who.session, entry).await?;
    let data = json!({ "role": role.as_str(), "status": status });
    let kind = match steer {
        Steer::Pause => "team.paused",
        Steer::Resume => "team.resumed",
        Steer::Takeover => "team.taken_over",
        Steer::Release => "team.released",
        Steer::Recover => "team.recovered",
    };
    record(tx, act, &who.session, role.as_str(), kind, data).await?;
    Ok(held)
}

/// Whether `act` may begin in a role that somebody holds already.
fn may_claim(act: &Act, who: &Who, standing: &Standing, takeover: bool) -> Result<()> {
    let refused = |why: String| Err(Error::NotAllowed(why));
    if let Some(person) = &standing.held_by
        && *person != act.by
    {
        return refused(format!("`{person}` has taken the role over"));
    }
    let Some(holder) = standing.holder.as_ref().filter(|holder| holder.is_agent()) else {
        return Ok(());
    };
    let is_away = standing
        .seen_at
        .is_none_or(|seen| act.at.duration_since(seen) > AWAY_AFTER);
    let same = holder == &act.by || who.bound.is_some() || !act.by.is_agent();
    if same || is_away || takeover {
        return Ok(());
    }
    refused(format!("`{holder}` holds the role; 'takeover' replaces it"))
}

pub(super) async fn set_up(tx: &mut Tx, act: &Act, who: &Who, claim: &Claim) -> Result<SetUp> {
    let standing = standing(tx, act, who).await?;
    let role = who.role()?;
    may_claim(act, who, &standing, claim.takeover)?;
    // A person who looks does not replace an agent.
    let keeps = !act.by.is_agent() && standing.holder.is_some();
    let holder = match &standing.holder {
        Some(holder) if keeps => holder,
        _ => &act.by,
    };
    let is_new = !standing.active || standing.holder.as_ref() != Some(holder);
    let before = standing.holder.as_ref().map_or("", Principal::name);
    let claimed = tx
        .run(
            "UPDATE team_roles SET holder = $3, agent = $4, seen_at = $5,
                status = CASE
                    WHEN status IS NOT NULL AND $7 = 0 THEN status
                    WHEN task IS NULL THEN 'active'
                    ELSE 'busy' END
             WHERE session = $1 AND role = $2 AND stopped = 0 AND coalesce(holder, '') = $6",
            args![
                who.session.as_str(),
                role.as_str(),
                holder,
                &claim.agent,
                act.at,
                before,
                is_new,
            ],
        )
        .await?;
    if claimed == 0 {
        return Err(Error::NotAllowed(format!(
            "Another agent has just claimed `{role}`"
        )));
    }
    if is_new {
        let entry = state::Entry {
            id: &claim.id,
            role: role.as_str(),
            event: "joined",
            status: Some(Status::Active.as_str()),
            ..state::Entry::default()
        };
        state::note(tx, act, &who.session, entry).await?;
        let data = json!({ "role": role.as_str(), "agent": claim.agent, "holder": holder.name() });
        record(tx, act, &who.session, role.as_str(), "team.joined", data).await?;
    }
    let waiting = if standing.paused {
        Vec::new()
    } else {
        show_waiting(tx, act, &who.session, role).await?
    };
    let held = get(tx, &who.session, role).await?;
    Ok(SetUp {
        session: sessions::get(tx, &who.session).await?,
        roles: names(tx, &who.session).await?,
        tasks: state::open_tasks(tx, &who.session, role, SHOWS).await?,
        role: held,
        waiting,
    })
}

async fn names(tx: &mut Tx, session: &SessionId) -> Result<Vec<RoleName>> {
    let sql = "SELECT role FROM team_roles WHERE session = $1 ORDER BY position";
    let rows = tx.rows(sql, args![session.as_str()]).await?;
    rows.into_iter()
        .map(|mut row| word(&row.take::<String>()?))
        .collect()
}

/// The oldest unread messages (what is acknowledged counts as read), which from now on do not count as undelivered.
async fn show_waiting(
    tx: &mut Tx,
    act: &Act,
    session: &SessionId,
    role: &RoleName,
) -> Result<Vec<Waiting>> {
    let rows = tx
        .rows(
            "SELECT number, id, sender, body FROM team_messages
             WHERE session = $1 AND role = $2 AND read_at IS NULL
             ORDER BY number LIMIT $3",
            args![session.as_str(), role.as_str(), SHOWS],
        )
        .await?;
    let mut waiting = Vec::with_capacity(rows.len());
    let mut numbers = Vec::with_capacity(rows.len());
    for mut row in rows {
        numbers.push(row.take::<i64>()?);
        waiting.push(Waiting {
            id: row.take()?,
            from: row.take()?,
            body: row.take()?,
        });
    }
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
        super::inbox::deliver(tx, act, session, role, *first, *last).await?;
    }
    Ok(waiting)
}

pub(super) async fn seen(tx: &mut Tx, seen: &[(Seen, Timestamp)]) -> Result<()> {
    // Each role once, in one order: two nodes that note the same roles do not wait for each other in a circle.
    let mut roles: BTreeMap<(String, String), Timestamp> = BTreeMap::new();
    for (seen, at) in seen {
        let found = match seen {
            Seen::Bound(Binding { session, role }) => {
                vec![(session.to_string(), role.to_string())]
            }
            Seen::Holder(principal) => held_by(tx, principal).await?,
        };
        for role in found {
            let newest = roles.entry(role).or_insert(*at);
            *newest = (*newest).max(*at);
        }
    }
    for ((session, role), at) in &roles {
        tx.run(
            "INSERT INTO team_seen (session, role, at)
             SELECT session, role, $3 FROM team_roles
             WHERE session = $1 AND role = $2 AND status IS NOT NULL AND stopped = 0
             ON CONFLICT (session, role) DO UPDATE SET at = excluded.at WHERE team_seen.at < excluded.at",
            args![session, role, *at],
        )
        .await?;
    }
    Ok(())
}

async fn held_by(tx: &mut Tx, principal: &Principal) -> Result<Vec<(String, String)>> {
    let rows = tx
        .rows(
            "SELECT session, role FROM team_roles WHERE holder = $1 AND stopped = 0 LIMIT $2",
            args![principal, HOLDS],
        )
        .await?;
    rows.into_iter()
        .map(|mut row| Ok((row.take()?, row.take()?)))
        .collect()
}
