//! Receiving: what waits for a role, what it has read, and what it has acknowledged.

use guildhall_core::Principal;
use guildhall_core::team::{RoleName, SessionId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::access::{Wants, Who, speak};
use super::{record, word};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::tx::Tx;
use crate::value::{Row, args};

/// Most messages that one look at an inbox gives, and that one call acknowledges.
pub const MOST_MESSAGES: u32 = 500;

/// What a message tells.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What one role, or a person, tells another.
    Message,
    /// The status of a role, to the orchestrator.
    Report,
    /// A task.
    Dispatch,
}

impl Kind {
    /// How it stands in results and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Report => "report",
            Self::Dispatch => "dispatch",
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "message" => Ok(Self::Message),
            "report" => Ok(Self::Report),
            "dispatch" => Ok(Self::Dispatch),
            other => Err(format!("`{other}` is no kind of message")),
        }
    }
}

/// A message.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Message {
    /// Its number in the recipient's inbox.
    pub number: i64,
    /// Its id.
    pub id: String,
    /// What it tells.
    pub kind: Kind,
    /// The role that sent it, or a person by name.
    pub from: String,
    /// The recipient.
    pub to: RoleName,
    /// Its text.
    pub body: String,
    /// When it was sent.
    pub at: Timestamp,
    /// The task it is about.
    pub task: Option<String>,
    /// What the recipient is asked to do.
    pub requested_action: Option<String>,
    /// How much it matters, in the sender's words.
    pub importance: Option<String>,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// When the recipient was first shown it.
    pub delivered_at: Option<Timestamp>,
    /// When the recipient read it.
    pub read_at: Option<Timestamp>,
    /// When the recipient acknowledged it.
    pub acknowledged_at: Option<Timestamp>,
}

/// What was acknowledged.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Acknowledged {
    /// The messages, as they were given.
    pub ids: Vec<String>,
}

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT number, id, kind, sender, role, body, at, task, requested_action, importance, reply_to,
                delivered_at, read_at, acknowledged_at FROM team_messages ",
            $rest
        )
    };
}

fn read(mut row: Row) -> Result<Message> {
    Ok(Message {
        number: row.take()?,
        id: row.take()?,
        kind: word(&row.take::<String>()?)?,
        from: row.take()?,
        to: word(&row.take::<String>()?)?,
        body: row.take()?,
        at: row.take()?,
        task: row.take()?,
        requested_action: row.take()?,
        importance: row.take()?,
        reply_to: row.take()?,
        delivered_at: row.take()?,
        read_at: row.take()?,
        acknowledged_at: row.take()?,
    })
}

/// One more than a page has tells that there is another.
fn at_most(limit: u32) -> i64 {
    i64::from(limit.min(MOST_MESSAGES + 1))
}

pub(super) async fn open(
    tx: &mut Tx,
    principal: &Principal,
    who: &Who,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Message>> {
    let role = who.role()?;
    let standing = speak(tx, principal, who, Wants::Read).await?;
    let after = match after {
        Some(id) => number_of(tx, &who.session, role, id).await?,
        None => 0,
    };
    let args = args![
        who.session.as_str(),
        role.as_str(),
        after,
        at_most(limit),
        standing.paused,
    ];
    let rows = tx
        .rows(
            columns!(
                "WHERE session = $1 AND role = $2 AND number > $3 AND acknowledged_at IS NULL
                    AND ($5 = 0 OR delivered_at IS NOT NULL)
                 ORDER BY number LIMIT $4"
            ),
            args,
        )
        .await?;
    rows.into_iter().map(read).collect()
}

async fn number_of(tx: &mut Tx, session: &SessionId, role: &RoleName, id: &str) -> Result<i64> {
    let sql = "SELECT number FROM team_messages WHERE session = $1 AND role = $2 AND id = $3";
    tx.row(sql, args![session.as_str(), role.as_str(), id])
        .await?
        .ok_or_else(|| Error::missing("message", id))?
        .take()
}

pub(super) async fn shown(tx: &mut Tx, act: &Act, who: &Who, first: i64, last: i64) -> Result<()> {
    let role = who.role()?;
    speak(tx, &act.by, who, Wants::Read).await?;
    deliver(tx, act, &who.session, role, first, last).await?;
    tx.run(
        "UPDATE team_messages SET read_at = $5
         WHERE session = $1 AND role = $2 AND number >= $3 AND number <= $4
            AND read_at IS NULL AND delivered_at IS NOT NULL",
        args![who.session.as_str(), role.as_str(), first, last, act.at],
    )
    .await?;
    Ok(())
}

/// Notes that the open messages with these numbers were shown; they no longer count as waiting. The role's row is locked
/// first, as a sender does.
pub(super) async fn deliver(
    tx: &mut Tx,
    act: &Act,
    session: &SessionId,
    role: &RoleName,
    first: i64,
    last: i64,
) -> Result<()> {
    lock(tx, session, role).await?;
    let delivered = tx
        .rows(
            "UPDATE team_messages SET delivered_at = $5
             WHERE session = $1 AND role = $2 AND number >= $3 AND number <= $4 AND delivered_at IS NULL
             RETURNING kind",
            args![session.as_str(), role.as_str(), first, last, act.at],
        )
        .await?;
    no_longer_wait(tx, session, role, delivered).await
}

/// Takes messages, given by their kinds, off the count that bounds the queue. Reports are not on it.
async fn no_longer_wait(
    tx: &mut Tx,
    session: &SessionId,
    role: &RoleName,
    kinds: Vec<Row>,
) -> Result<()> {
    let mut counted = 0_i64;
    for mut row in kinds {
        counted += i64::from(word::<Kind>(&row.take::<String>()?)? != Kind::Report);
    }
    if counted > 0 {
        tx.run(
            "UPDATE team_roles SET waiting = waiting - $3 WHERE session = $1 AND role = $2",
            args![session.as_str(), role.as_str(), counted],
        )
        .await?;
    }
    Ok(())
}

/// Holds the role's row until the end of the transaction.
pub(super) async fn lock(tx: &mut Tx, session: &SessionId, role: &RoleName) -> Result<()> {
    let sql = tx.either(
        // SQLite has one writer.
        "SELECT role FROM team_roles WHERE session = $1 AND role = $2",
        "SELECT role FROM team_roles WHERE session = $1 AND role = $2 FOR NO KEY UPDATE",
    );
    tx.row(sql, args![session.as_str(), role.as_str()]).await?;
    Ok(())
}

pub(super) async fn sent(
    tx: &mut Tx,
    principal: &Principal,
    who: &Who,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Message>> {
    let role = who.role()?;
    speak(tx, principal, who, Wants::Read).await?;
    let limit = at_most(limit);
    let rows = match after {
        Some(id) => {
            let sql = "SELECT at FROM team_messages WHERE session = $1 AND sender = $2 AND id = $3";
            let at = tx
                .row(sql, args![who.session.as_str(), role.as_str(), id])
                .await?
                .ok_or_else(|| Error::missing("message", id))?
                .take::<Timestamp>()?;
            tx.rows(
                columns!(
                    "WHERE session = $1 AND sender = $2 AND (at, id) > ($3, $4)
                     ORDER BY at, id LIMIT $5"
                ),
                args![who.session.as_str(), role.as_str(), at, id, limit],
            )
            .await?
        }
        None => {
            let mut newest = tx
                .rows(
                    columns!(
                        "WHERE session = $1 AND sender = $2 ORDER BY at DESC, id DESC LIMIT $3"
                    ),
                    args![who.session.as_str(), role.as_str(), limit],
                )
                .await?;
            newest.reverse();
            newest
        }
    };
    rows.into_iter().map(read).collect()
}

pub(super) async fn acknowledge(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    ids: &[String],
) -> Result<Acknowledged> {
    if !(1..=MOST_MESSAGES as usize).contains(&ids.len()) {
        return Err(Error::Invalid(format!(
            "'message_ids' has {} ids: allowed are 1 to {MOST_MESSAGES}",
            ids.len()
        )));
    }
    let role = who.role()?;
    speak(tx, &act.by, who, Wants::Change).await?;
    // Before the messages, as whoever shows them does.
    lock(tx, &who.session, role).await?;
    let mut fresh = Vec::new();
    for id in ids {
        if let Some(kind) = acknowledge_one(tx, act, who, role, id).await? {
            fresh.push(id.as_str());
            no_longer_wait(tx, &who.session, role, kind).await?;
        }
    }
    if !fresh.is_empty() {
        let data = json!({ "role": role.as_str(), "messages": fresh });
        record(
            tx,
            act,
            &who.session,
            role.as_str(),
            "team.acknowledged",
            data,
        )
        .await?;
    }
    Ok(Acknowledged { ids: ids.to_vec() })
}

/// Acknowledges one message. Gives its kind where it was not even shown before, nothing where it was acknowledged already.
async fn acknowledge_one(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    role: &RoleName,
    id: &str,
) -> Result<Option<Vec<Row>>> {
    let key = args![who.session.as_str(), role.as_str(), id, act.at];
    let unshown = tx
        .rows(
            "UPDATE team_messages SET delivered_at = $4, read_at = $4, acknowledged_at = $4
             WHERE session = $1 AND role = $2 AND id = $3 AND delivered_at IS NULL RETURNING kind",
            key,
        )
        .await?;
    if !unshown.is_empty() {
        return Ok(Some(unshown));
    }
    let shown = tx
        .run(
            "UPDATE team_messages SET acknowledged_at = $4, read_at = coalesce(read_at, $4)
             WHERE session = $1 AND role = $2 AND id = $3 AND acknowledged_at IS NULL",
            key,
        )
        .await?;
    if shown > 0 {
        return Ok(Some(Vec::new()));
    }
    number_of(tx, &who.session, role, id).await?;
    Ok(None)
}
