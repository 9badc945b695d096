//! The event log: what was changed, by whom and when, in an order that nobody can change unnoticed.
//!
//! Every change writes its events in its own transaction. An event carries a hash over itself and the one before it in its
//! stream, so that a stream is a chain; the row with a stream's end is the row that a change of it locks anyway. Once a
//! second a sealer chains all new events, of every stream, into a seal. A single chain over everything would make every
//! change wait for every other.

mod feed;
mod hash;
mod record;
mod seal;
mod verify;

use guildhall_core::team::SessionId;
use guildhall_core::{Principal, RepoName};
use jiff::Timestamp;
use serde_json::Value;

pub use feed::Position;
pub use seal::Seal;
pub use verify::{Finding, Verified};

pub(crate) use feed::of_lane;
pub(crate) use record::NewEvent;

use crate::Store;
use crate::error::Result;
use crate::store::Answer;
use crate::value::Row;

/// A stream of events: one thing that changes, and whose changes have an order.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Stream(String);

impl Stream {
    /// The changes of a principal: their tokens, their agents.
    pub fn principal(principal: &Principal) -> Self {
        Self(format!("principal:{principal}"))
    }

    /// The changes of a repo as a whole: its roles, its head.
    pub fn repo(name: &RepoName) -> Self {
        Self(format!("repo:{name}"))
    }

    /// The changes of a lane of a repo.
    pub fn lane(repo: &RepoName, lane: &str) -> Self {
        Self(format!("lane:{repo}/{lane}"))
    }

    /// The changes of an ask of a repo.
    pub fn ask(repo: &RepoName, ask: &str) -> Self {
        Self(format!("ask:{repo}/{ask}"))
    }

    /// The changes of a team session.
    pub fn session(session: &str) -> Self {
        Self(format!("session:{session}"))
    }

    /// The changes of a role of a team session: its inbox, its reports.
    pub fn role(session: &SessionId, role: &str) -> Self {
        Self(format!("session:{session}/{role}"))
    }

    /// How it stands in the log.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// The things an event is about, by which it can be found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct About {
    /// A repo, `owner/name`.
    pub repo: Option<String>,
    /// A lane of it.
    pub lane: Option<String>,
    /// An ask of it.
    pub ask: Option<String>,
    /// A team session.
    pub session: Option<String>,
    /// A run.
    pub run: Option<String>,
}

/// A change that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where it stands in the log.
    pub position: Position,
    /// The stream it belongs to, [`Stream::name`].
    pub stream: String,
    /// Its number in the stream, from 1.
    pub seq: i64,
    /// When, by the clock of the node that did it.
    pub at: Timestamp,
    /// Who did it.
    pub actor: String,
    /// What happened: `repo.head_moved`, `token.issued`.
    pub kind: String,
    /// What it is about.
    pub about: About,
    /// The rest, by kind.
    pub data: Value,
    /// The chain's hash up to this event.
    pub hash: [u8; 32],
}

/// The event log.
pub trait Events: Send + Sync {
    /// The events after `after`, oldest first, at most `limit`. What an unfinished transaction may still write before is
    /// held back, so that who goes on from the last position misses nothing.
    fn feed(&self, after: Position, limit: u32) -> Answer<'_, Vec<Event>>;

    /// Where the feed ends now: who starts there sees only what comes.
    fn feed_end(&self) -> Answer<'_, Position>;

    /// The events of `stream` after number `after`, oldest first, at most `limit`.
    fn of_stream(&self, stream: &Stream, after: i64, limit: u32) -> Answer<'_, Vec<Event>>;

    /// Seals the events since the last seal, or gives `None` where there are none, or where another node is at it. Called
    /// once a second by [`Store::keep_house`].
    fn seal(&self, at: Timestamp) -> Answer<'_, Option<Seal>>;

    /// Checks both chains over the whole log. With `anchor`, a seal noted down earlier and elsewhere, also that the log
    /// still has it: that finds a log that was rewritten as a whole.
    fn verify(&self, anchor: Option<Seal>) -> Answer<'_, Verified>;
}

impl Events for Store {
    fn feed(&self, after: Position, limit: u32) -> Answer<'_, Vec<Event>> {
        Box::pin(self.read((after, limit), |tx, &(after, limit)| {
            Box::pin(feed::feed(tx, after, limit))
        }))
    }

    fn feed_end(&self) -> Answer<'_, Position> {
        Box::pin(self.read((), |tx, ()| Box::pin(feed::end(tx))))
    }

    fn of_stream(&self, stream: &Stream, after: i64, limit: u32) -> Answer<'_, Vec<Event>> {
        let args = (stream.clone(), after, limit);
        Box::pin(self.read(args, |tx, (stream, after, limit)| {
            Box::pin(feed::of_stream(tx, stream, *after, *limit))
        }))
    }

    fn seal(&self, at: Timestamp) -> Answer<'_, Option<Seal>> {
        Box::pin(async move {
            // A look first: most seconds of a quiet server have nothing to seal, and a look takes no lock.
            if !self.read((), |tx, ()| Box::pin(seal::is_due(tx))).await? {
                return Ok(None);
            }
            self.write(at, |tx, at| Box::pin(seal::seal(tx, *at))).await
        })
    }

    fn verify(&self, anchor: Option<Seal>) -> Answer<'_, Verified> {
        Box::pin(self.snapshot(anchor, |tx, anchor| Box::pin(verify::verify(tx, *anchor))))
    }
}

impl About {
    /// About a repo.
    pub(crate) fn repo(name: &RepoName) -> Self {
        Self {
            repo: Some(name.to_string()),
            ..Self::default()
        }
    }

    fn read(row: &mut Row) -> Result<Self> {
        Ok(Self {
            repo: row.take()?,
            lane: row.take()?,
            ask: row.take()?,
            session: row.take()?,
            run: row.take()?,
        })
    }
}
