//! Checking both chains over the whole log.

use jiff::Timestamp;

use super::feed::Position;
use super::hash::{self, Content};
use super::seal::MOST;
use super::{About, Seal};
use crate::error::Result;
use crate::tx::Tx;
use crate::value::{Row, args};

/// Rows read at once.
const PAGE: i64 = 1000;

/// Findings kept: past this many, one more says nothing new.
const FINDINGS: usize = 100;

/// What a check of the log found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Verified {
    /// Events looked at.
    pub events: i64,
    /// Streams they are in.
    pub streams: i64,
    /// The newest seal: noted down elsewhere, it is what a later check can be held against.
    pub head: Option<Seal>,
    /// Events newer than it.
    pub unsealed: i64,
    /// What does not hold, at most 100; none in a log that nobody touched.
    pub findings: Vec<Finding>,
}

/// A place where the log is not what it was.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Finding {
    /// An event does not follow from the one before it: it was edited, or its neighbours were moved or dropped.
    #[error("Event {seq} of `{stream}` is not what was written there")]
    Event {
        /// Its stream.
        stream: String,
        /// Its number in it.
        seq: i64,
    },
    /// Events are missing before this one, or at the end of the stream.
    #[error("Events of `{stream}` are missing before number {seq}")]
    Gap {
        /// The stream.
        stream: String,
        /// The number after the missing ones.
        seq: i64,
    },
    /// The events that a seal covers are not the ones that were sealed.
    #[error("The events of seal {number} are not the ones that were sealed")]
    Seal {
        /// Its number.
        number: i64,
    },
    /// A seal is missing.
    #[error("Seal {number} is missing")]
    NoSeal {
        /// Its number.
        number: i64,
    },
    /// The seal that was noted down is not the log's.
    #[error("Seal {number} is not the one that was noted down")]
    Anchor {
        /// Its number.
        number: i64,
    },
}

impl Verified {
    fn find(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        }
    }
}

pub(super) async fn verify(tx: &mut Tx, anchor: Option<Seal>) -> Result<Verified> {
    let mut found = Verified::default();
    streams(tx, &mut found).await?;
    emptied(tx, &mut found).await?;
    let sealed = seals(tx, &mut found, anchor).await?;
    found.unsealed = found.events - sealed;
    Ok(found)
}

const EVENTS: &str = "SELECT e.stream, e.seq, e.at, e.actor, e.kind,
        e.repo, e.lane, e.ask, e.session, e.run, e.data, e.hash, s.length, s.hash
    FROM events e LEFT JOIN streams s ON s.stream = e.stream
    WHERE (e.stream, e.seq) > ($1, $2) ORDER BY e.stream, e.seq LIMIT $3";

/// An event with the end that its stream says it has.
struct Link {
    stream: String,
    seq: i64,
    at: Timestamp,
    actor: String,
    kind: String,
    about: About,
    data: String,
    hash: [u8; 32],
    end: (Option<i64>, Option<[u8; 32]>),
}

impl Link {
    fn read(mut row: Row) -> Result<Self> {
        Ok(Self {
            stream: row.take()?,
            seq: row.take()?,
            at: row.take()?,
            actor: row.take()?,
            kind: row.take()?,
            about: About::read(&mut row)?,
            data: row.take()?,
            hash: row.take()?,
            end: (row.take()?, row.take()?),
        })
    }

    fn digest(&self) -> [u8; 32] {
        Content {
            stream: &self.stream,
            at_ms: self.at.as_millisecond(),
            actor: &self.actor,
            kind: &self.kind,
            about: &self.about,
            data: &self.data,
        }
        .digest()
    }

    /// Whether the stream's own row says that it ends here.
    fn is_end(&self) -> bool {
        self.end == (Some(self.seq), Some(self.hash))
    }
}

/// Every stream from its first event to its end.
async fn streams(tx: &mut Tx, found: &mut Verified) -> Result<()> {
    let mut before: Option<Link> = None;
    loop {
        let (stream, seq) = before
            .as_ref()
            .map_or(("", 0), |link| (&link.stream, link.seq));
        let page = tx.rows(EVENTS, args![stream, seq, PAGE]).await?;
        let last = page.is_empty();
        for row in page {
            let link = Link::read(row)?;
            found.events += 1;
            let same = before.take_if(|before| before.stream == link.stream);
            if same.is_none() {
                end(before.take(), found);
                found.streams += 1;
            }
            follow(same.as_ref(), &link, found);
            before = Some(link);
        }
        if last {
            end(before, found);
            return Ok(());
        }
    }
}

/// Checks one event against the one before it in its stream.
fn follow(before: Option<&Link>, link: &Link, found: &mut Verified) {
    let (seq, hash) = before.map_or((0, hash::START), |before| (before.seq, before.hash));
    let stream = link.stream.clone();
    if link.seq != seq + 1 {
        found.find(Finding::Gap {
            stream,
            seq: link.seq,
        });
    } else if hash::link(&hash, &link.digest()) != link.hash {
        found.find(Finding::Event {
            stream,
            seq: link.seq,
        });
    }
}

fn end(last: Option<Link>, found: &mut Verified) {
    if let Some(last) = last.filter(|last| !last.is_end()) {
        found.find(Finding::Gap {
            seq: last.seq + 1,
            stream: last.stream,
        });
    }
}

/// Streams that have an end and no event.
async fn emptied(tx: &mut Tx, found: &mut Verified) -> Result<()> {
    let sql = "SELECT s.stream, s.length FROM streams s
        WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.stream = s.stream) ORDER BY s.stream LIMIT $1";
    for mut row in tx.rows(sql, args![PAGE]).await? {
        found.find(Finding::Gap {
            stream: row.take()?,
            seq: row.take::<i64>()? + 1,
        });
    }
    Ok(())
}

const SEALS: &str = "SELECT number, at, last_tx, last_id, count, hash FROM seals
    WHERE number > $1 ORDER BY number LIMIT $2";

/// Every seal over the events it covers. Gives how many events are sealed.
async fn seals(tx: &mut Tx, found: &mut Verified, anchor: Option<Seal>) -> Result<i64> {
    let mut head = Seal {
        number: 0,
        hash: hash::START,
    };
    let mut start = Position::default();
    let (mut sealed, mut anchored) = (0, false);
    loop {
        let page = tx.rows(SEALS, args![head.number, PAGE]).await?;
        if page.is_empty() {
            break;
        }
        for mut row in page {
            let (number, at): (i64, i64) = (row.take()?, row.take()?);
            let end = Position {
                tx: row.take()?,
                id: row.take()?,
            };
            let (count, stored): (i64, [u8; 32]) = (row.take()?, row.take()?);
            if number != head.number + 1 {
                found.find(Finding::NoSeal {
                    number: head.number + 1,
                });
            }
            let events = covered(tx, start, end).await?;
            let whole = i64::try_from(events.len()) == Ok(count);
            if !whole || hash::seal(&head.hash, number, at, events.into_iter()) != stored {
                found.find(Finding::Seal { number });
            }
            sealed += count;
            start = end;
            head = Seal {
                number,
                hash: stored,
            };
            anchored |= anchor == Some(head);
        }
    }
    if let Some(anchor) = anchor.filter(|_| !anchored) {
        found.find(Finding::Anchor {
            number: anchor.number,
        });
    }
    found.head = (head.number > 0).then_some(head);
    Ok(sealed)
}

/// The links of the events after `start` up to `end`; one more than a seal can have, where somebody added some.
async fn covered(tx: &mut Tx, start: Position, end: Position) -> Result<Vec<[u8; 32]>> {
    let sql = tx.either(
        "SELECT hash FROM events WHERE id > $2 AND id <= $4 ORDER BY id LIMIT $5",
        "SELECT hash FROM events WHERE (tx, id) > ($1, $2) AND (tx, id) <= ($3, $4)
         ORDER BY tx, id LIMIT $5",
    );
    tx.rows(sql, args![start.tx, start.id, end.tx, end.id, MOST + 1])
        .await?
        .into_iter()
        .map(|mut row| row.take())
        .collect()
}
