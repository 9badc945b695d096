//! Team coordination: sessions, the roles in them, tasks, status reports and messages (team page).
//!
//! A session has roles; a role has at most one holder, the agent that speaks for it, and an inbox. A message gets a number
//! in its recipient's inbox, raised on the recipient's row in the transaction that sends it: numbers are in the order of
//! commits, so that a reader who goes on after the last number misses nothing and what one sends another stays in order.
//! It is offered until it is acknowledged.
//!
//! Where several rows are locked, a role's own comes before the orchestrator's, and a session's end locks the
//! orchestrator's last: nobody waits in a circle.

mod access;
mod inbox;
mod report;
mod roles;
mod send;
mod sessions;
mod sightings;
mod state;

use guildhall_core::Principal;
use guildhall_core::team::{Binding, RoleName, SessionId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use access::Who;
pub use inbox::{Acknowledged, Kind, MOST_MESSAGES, Message};
pub use report::{NewReport, Report, Reported};
pub use roles::{Claim, Held, Placed, SetUp, Steer, Waiting};
pub use send::{Dispatch, MOST_WAITING, NewMessage, Sent};
pub(crate) use sessions::leave_repo;
pub use sessions::{MOST_ROLES, MOST_SESSIONS, NewSession, Session};
pub use sightings::Sightings;
pub use state::{Agent, Happened, MOST_HISTORY, Task, TeamState};

use crate::Store;
use crate::act::Act;
use crate::error::Result;
use crate::events::{About, NewEvent, Stream};
use crate::hints::Waiter;
use crate::store::Answer;
use crate::tx::Tx;

/// How long a role may be silent before it counts as away, and another agent may claim it without a takeover.
pub const AWAY_AFTER: SignedDuration = SignedDuration::from_mins(15);

/// Longest text of a message or a report, in bytes.
pub const LONGEST_TEXT: usize = 64 * 1024;

/// Whose call was just seen.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Seen {
    /// The role that a token is bound to.
    Bound(Binding),
    /// Every role that this principal holds.
    Holder(Principal),
}

/// Team coordination. Unless a method says otherwise, the [`Act`] is the caller's.
///
/// Every method that takes a [`Who`] refuses, in this order: [`Error::NotAllowed`](crate::Error::NotAllowed) where the
/// token is bound to another session or role, [`Error::Missing`](crate::Error::Missing) of a `session` that is not there
/// or not the caller's to see, `NotAllowed` for another repo or namespace than the session's, for who may not act in it,
/// and for a change of a stopped session; `Missing` of an `agent` where the role is not active, `NotAllowed` where somebody
/// else holds it.
pub trait Team: Send + Sync {
    /// Makes a session with its roles, none of them active.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`](crate::Error::Taken) for an id that is or was used; [`Error::TooMany`](crate::Error::TooMany) past
    /// [`MOST_SESSIONS`]; [`Error::Invalid`](crate::Error::Invalid) for wrong roles;
    /// [`Error::Missing`](crate::Error::Missing) for a repo in which the caller is no contributor.
    fn make_session(&self, act: Act, new: NewSession) -> Answer<'_, Session>;

    /// The lowest slot that no session of `project` has or had.
    fn free_slot(&self, project: &str) -> Answer<'_, u32>;

    /// Takes back a session that was just made, with everything in it and the tokens bound to it.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) unless its owner does it; [`Error::Moved`](crate::Error::Moved)
    /// once somebody has said something in it.
    fn discard_session(&self, act: Act, id: SessionId) -> Answer<'_, ()>;

    /// Ends a session: it refuses changes from now on, and the tokens bound to it are revoked. Done twice, the first time
    /// stands.
    fn stop_session(&self, act: Act, id: SessionId) -> Answer<'_, Session>;

    /// The sessions that belong to the caller's person, newest first, at most `limit`.
    fn sessions_of(&self, principal: Principal, limit: u32) -> Answer<'_, Vec<Session>>;

    /// One session with the roles it has, active or not, for who may see it. The role of `who` may be none.
    fn session(&self, principal: Principal, who: Who) -> Answer<'_, (Session, Vec<Held>)>;

    /// Notes where a role works: its worktree, branch and pane. With a holder the role is active from now on.
    fn place(&self, act: Act, who: Who, placed: Placed) -> Answer<'_, Held>;

    /// What a person does about a role: holding its deliveries, taking it over, bringing it back. `id` is that of the
    /// entry in the session's history.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) for an agent.
    fn steer(&self, act: Act, who: Who, id: String, steer: Steer) -> Answer<'_, Held>;

    /// What an agent is told when it begins in a role; the role is active from now on, and the agent holds it.
    fn set_up(&self, act: Act, who: Who, claim: Claim) -> Answer<'_, SetUp>;

    /// Takes a status report.
    fn report(&self, act: Act, who: Who, report: NewReport) -> Answer<'_, Reported>;

    /// Sends a message to another role.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) of an `agent` where the recipient is not active;
    /// [`Error::TooMany`](crate::Error::TooMany) where its queue is.
    fn send(&self, act: Act, who: Who, message: NewMessage) -> Answer<'_, Sent>;

    /// Gives a role a task. The orchestrator's alone, or a person's; those of [`Team::send`] besides, and
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) where the recipient is paused.
    fn dispatch(&self, act: Act, who: Who, dispatch: Dispatch) -> Answer<'_, Sent>;

    /// A person's note to a role: a message from them by name.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) for an agent; those of [`Team::send`].
    fn note(&self, act: Act, who: Who, message: NewMessage) -> Answer<'_, Sent>;

    /// The messages in the role's inbox after the message `after` that are not acknowledged, oldest first. Where the role
    /// is paused, only those it was shown before. Changes nothing: [`Team::shown`] says what of it went out.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) of a `message` that is none of this inbox.
    fn inbox(
        &self,
        principal: Principal,
        who: Who,
        after: Option<String>,
        limit: u32,
    ) -> Answer<'_, Vec<Message>>;

    /// Notes that the messages with these numbers were read.
    fn shown(&self, act: Act, who: Who, first: i64, last: i64) -> Answer<'_, ()>;

    /// What the role sent after the message `after`, oldest first; without `after` the newest ones.
    fn sent(
        &self,
        principal: Principal,
        who: Who,
        after: Option<String>,
        limit: u32,
    ) -> Answer<'_, Vec<Message>>;

    /// Acknowledges messages: they are offered no more. Done twice, the first time stands.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) of a `message` that is none of this inbox; then none is acknowledged.
    fn acknowledge(&self, act: Act, who: Who, ids: Vec<String>) -> Answer<'_, Acknowledged>;

    /// The active roles in the session's order, and with `history` the newest of what happened, newest first. The role
    /// of `who` says who asks and may be none.
    fn team_state(
        &self,
        principal: Principal,
        who: Who,
        history: Option<u32>,
    ) -> Answer<'_, TeamState>;

    /// Notes when agents were last seen. Gathered by the caller: this is one transaction for all of them.
    fn seen(&self, seen: Vec<(Seen, Timestamp)>) -> Answer<'_, ()>;

    /// Waits for something to arrive in an inbox. Make it before you look.
    fn waiter_of(&self, session: &SessionId, role: &RoleName) -> Waiter;
}

impl Team for Store {
    fn make_session(&self, act: Act, new: NewSession) -> Answer<'_, Session> {
        Box::pin(self.change(act, new, |tx, act, new| {
            Box::pin(sessions::make(tx, act, new))
        }))
    }

    fn free_slot(&self, project: &str) -> Answer<'_, u32> {
        Box::pin(self.read(project.to_owned(), |tx, project| {
            Box::pin(sessions::free_slot(tx, project))
        }))
    }

    fn discard_session(&self, act: Act, id: SessionId) -> Answer<'_, ()> {
        Box::pin(self.change(act, id, |tx, act, id| {
            Box::pin(sessions::discard(tx, act, id))
        }))
    }

    fn stop_session(&self, act: Act, id: SessionId) -> Answer<'_, Session> {
        Box::pin(self.change(act, id, |tx, act, id| Box::pin(sessions::stop(tx, act, id))))
    }

    fn sessions_of(&self, principal: Principal, limit: u32) -> Answer<'_, Vec<Session>> {
        Box::pin(self.read((principal, limit), |tx, (principal, limit)| {
            Box::pin(sessions::of(tx, principal, *limit))
        }))
    }

    fn session(&self, principal: Principal, who: Who) -> Answer<'_, (Session, Vec<Held>)> {
        Box::pin(self.snapshot((principal, who), |tx, (principal, who)| {
            Box::pin(sessions::shown(tx, principal, who))
        }))
    }

    fn place(&self, act: Act, who: Who, placed: Placed) -> Answer<'_, Held> {
        Box::pin(self.change(act, (who, placed), |tx, act, (who, placed)| {
            Box::pin(roles::place(tx, act, who, placed))
        }))
    }

    fn steer(&self, act: Act, who: Who, id: String, steer: Steer) -> Answer<'_, Held> {
        Box::pin(
            self.change(act, (who, id, steer), |tx, act, (who, id, steer)| {
                Box::pin(roles::steer(tx, act, who, id, *steer))
            }),
        )
    }

    fn set_up(&self, act: Act, who: Who, claim: Claim) -> Answer<'_, SetUp> {
        Box::pin(self.change(act, (who, claim), |tx, act, (who, claim)| {
            Box::pin(roles::set_up(tx, act, who, claim))
        }))
    }

    fn report(&self, act: Act, who: Who, report: NewReport) -> Answer<'_, Reported> {
        let awaited = self.is_awaited(&who.session, guildhall_core::team::ORCHESTRATOR);
        let args = (who, report, awaited);
        Box::pin(self.change(act, args, |tx, act, (who, report, awaited)| {
            Box::pin(report::take(tx, act, who, report, *awaited))
        }))
    }

    fn send(&self, act: Act, who: Who, message: NewMessage) -> Answer<'_, Sent> {
        let awaited = self.is_awaited(&who.session, message.to.as_str());
        let args = (who, message, awaited);
        Box::pin(self.change(act, args, |tx, act, (who, message, awaited)| {
            Box::pin(send::send(tx, act, who, message, *awaited))
        }))
    }

    fn dispatch(&self, act: Act, who: Who, dispatch: Dispatch) -> Answer<'_, Sent> {
        let awaited = self.is_awaited(&who.session, dispatch.to.as_str());
        let args = (who, dispatch, awaited);
        Box::pin(self.change(act, args, |tx, act, (who, dispatch, awaited)| {
            Box::pin(send::dispatch(tx, act, who, dispatch, *awaited))
        }))
    }

    fn note(&self, act: Act, who: Who, message: NewMessage) -> Answer<'_, Sent> {
        let awaited = self.is_awaited(&who.session, message.to.as_str());
        let args = (who, message, awaited);
        Box::pin(self.change(act, args, |tx, act, (who, message, awaited)| {
            Box::pin(send::note(tx, act, who, message, *awaited))
        }))
    }

    fn inbox(
        &self,
        principal: Principal,
        who: Who,
        after: Option<String>,
        limit: u32,
    ) -> Answer<'_, Vec<Message>> {
        let args = (principal, who, after, limit);
        Box::pin(self.read(args, |tx, (principal, who, after, limit)| {
            Box::pin(inbox::open(tx, principal, who, after.as_deref(), *limit))
        }))
    }

    fn shown(&self, act: Act, who: Who, first: i64, last: i64) -> Answer<'_, ()> {
        Box::pin(
            self.change(act, (who, first, last), |tx, act, (who, first, last)| {
                Box::pin(inbox::shown(tx, act, who, *first, *last))
            }),
        )
    }

    fn sent(
        &self,
        principal: Principal,
        who: Who,
        after: Option<String>,
        limit: u32,
    ) -> Answer<'_, Vec<Message>> {
        let args = (principal, who, after, limit);
        Box::pin(self.read(args, |tx, (principal, who, after, limit)| {
            Box::pin(inbox::sent(tx, principal, who, after.as_deref(), *limit))
        }))
    }

    fn acknowledge(&self, act: Act, who: Who, ids: Vec<String>) -> Answer<'_, Acknowledged> {
        Box::pin(self.change(act, (who, ids), |tx, act, (who, ids)| {
            Box::pin(inbox::acknowledge(tx, act, who, ids))
        }))
    }

    fn team_state(
        &self,
        principal: Principal,
        who: Who,
        history: Option<u32>,
    ) -> Answer<'_, TeamState> {
        let args = (principal, who, history);
        Box::pin(self.snapshot(args, |tx, (principal, who, history)| {
            Box::pin(state::state(tx, principal, who, *history))
        }))
    }

    fn seen(&self, seen: Vec<(Seen, Timestamp)>) -> Answer<'_, ()> {
        Box::pin(self.write(seen, |tx, seen| Box::pin(roles::seen(tx, seen))))
    }

    fn waiter_of(&self, session: &SessionId, role: &RoleName) -> Waiter {
        self.waiter(&Stream::role(session, role.as_str()))
    }
}

impl Store {
    /// Whether somebody waits for this inbox on this node: what is sent now is handed over at once.
    fn is_awaited(&self, session: &SessionId, role: &str) -> bool {
        self.is_waited_for(&Stream::role(session, role))
    }
}

/// Writes the event of a change of a role, in the stream of that role.
async fn record(
    tx: &mut Tx,
    act: &Act,
    session: &SessionId,
    role: &str,
    kind: &'static str,
    data: serde_json::Value,
) -> Result<()> {
    let event = NewEvent {
        stream: Stream::role(session, role),
        kind,
        about: About {
            session: Some(session.to_string()),
            ..About::default()
        },
        data,
    };
    tx.record(act, event).await
}

/// The state of a role (team page, "Sessions, roles, agents").
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Seen, without a task.
    Active,
    /// At a task.
    Busy,
    /// Done with its task.
    Idle,
    /// Cannot go on with it.
    Blocked,
    /// Works, and not as it should.
    Degraded,
    /// Gave up.
    Failed,
    /// Its session has ended.
    Stopped,
}

impl Status {
    /// How it stands in results and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Blocked => "blocked",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

impl std::str::FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [
            Self::Active,
            Self::Busy,
            Self::Idle,
            Self::Blocked,
            Self::Degraded,
            Self::Failed,
            Self::Stopped,
        ];
        all.into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no status of a role"))
    }
}

/// Reads a column that holds one of our own words.
fn word<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse()
        .map_err(|_| crate::Error::fault(format!("a column holds `{text}`")))
}

/// Refuses a text that is over [`LONGEST_TEXT`].
fn bounded(key: &str, text: Option<&str>) -> Result<()> {
    match text {
        Some(text) if text.len() > LONGEST_TEXT => Err(crate::Error::Invalid(format!(
            "'{key}' has {} bytes: allowed are {LONGEST_TEXT}",
            text.len()
        ))),
        _ => Ok(()),
    }
}

/// Longest id that a caller gives, in bytes.
const LONGEST_ID: usize = 200;

/// Refuses an id of the caller's that is blank, long, or holds what is no part of a name.
fn named(key: &str, id: Option<&str>) -> Result<()> {
    match id {
        Some(id)
            if id.trim().is_empty()
                || id.len() > LONGEST_ID
                || id.chars().any(char::is_control) =>
        {
            Err(crate::Error::Invalid(format!(
                "'{key}' must have 1 to {LONGEST_ID} bytes and no control characters"
            )))
        }
        _ => Ok(()),
    }
}
