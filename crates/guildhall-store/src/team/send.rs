//! Sending: messages, notes and tasks.

use guildhall_core::team::RoleName;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::access::{Wants, Who, enter, speak};
use super::inbox::Kind;
use super::{bounded, named, record, state};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::tx::Tx;
use crate::value::args;

/// Messages that a role has not been shown, past which senders are refused.
pub const MOST_WAITING: i64 = 10_000;

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// Its id.
    pub id: String,
    /// The recipient.
    pub to: RoleName,
    /// Its text.
    pub body: String,
    /// The task it is about.
    pub task: Option<String>,
    /// What the recipient is asked to do.
    pub requested_action: Option<String>,
    /// How much it matters, in the sender's words.
    pub importance: Option<String>,
    /// The message it answers.
    pub reply_to: Option<String>,
}

/// A task to be given.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The id of the message that tells of it.
    pub id: String,
    /// The id of the entry in the session's history.
    pub history_id: String,
    /// The recipient.
    pub to: RoleName,
    /// The task.
    pub task: String,
    /// What is to be done.
    pub summary: String,
    /// What to begin with.
    pub next_action: Option<String>,
    /// The files it is about.
    pub files: Vec<String>,
    /// How much it matters: `low`, `normal`, `high`.
    pub priority: String,
    /// The text of the message.
    pub body: String,
}

/// What became of a message.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// The recipient.
    pub to: RoleName,
    /// Whether it was handed to a recipient that waited for it; else it waits to be fetched.
    pub delivered: bool,
}

/// What a message is besides its recipient.
struct Parts<'a> {
    id: &'a str,
    kind: Kind,
    sender: &'a str,
    body: &'a str,
    task: Option<&'a str>,
    requested_action: Option<&'a str>,
    importance: Option<&'a str>,
    reply_to: Option<&'a str>,
}

pub(super) async fn send(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    message: &NewMessage,
    awaited: bool,
) -> Result<Sent> {
    check(message)?;
    let from = who.role()?;
    speak(tx, &act.by, who, Wants::Change).await?;
    deliver(tx, act, who, from.as_str(), message, awaited).await
}

pub(super) async fn note(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    message: &NewMessage,
    awaited: bool,
) -> Result<Sent> {
    act.needs_person("leave a note")?;
    check(message)?;
    enter(tx, &act.by, who, Wants::Change).await?;
    deliver(tx, act, who, act.by.name(), message, awaited).await
}

fn check(message: &NewMessage) -> Result<()> {
    bounded("message", Some(&message.body))?;
    bounded("requested_action", message.requested_action.as_deref())?;
    named("task_id", message.task.as_deref())?;
    named("importance", message.importance.as_deref())?;
    named("reply_to", message.reply_to.as_deref())
}

async fn deliver(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    sender: &str,
    message: &NewMessage,
    awaited: bool,
) -> Result<Sent> {
    let parts = Parts {
        id: &message.id,
        kind: Kind::Message,
        sender,
        body: &message.body,
        task: message.task.as_deref(),
        requested_action: message.requested_action.as_deref(),
        importance: message.importance.as_deref(),
        reply_to: message.reply_to.as_deref(),
    };
    let delivered = put(tx, act, who, &message.to, &parts, awaited).await?;
    let data = json!({ "message": message.id, "from": sender, "to": message.to.as_str() });
    let to = message.to.as_str();
    record(tx, act, &who.session, to, "team.message_sent", data).await?;
    Ok(Sent {
        id: message.id.clone(),
        to: message.to.clone(),
        delivered,
    })
}

pub(super) async fn dispatch(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    dispatch: &Dispatch,
    awaited: bool,
) -> Result<Sent> {
    bounded("summary", Some(&dispatch.summary))?;
    bounded("message", Some(&dispatch.body))?;
    bounded("next_action", dispatch.next_action.as_deref())?;
    named("task_id", Some(&dispatch.task))?;
    let from = who.role()?;
    speak(tx, &act.by, who, Wants::Change).await?;
    if !from.leads() {
        return Err(Error::NotAllowed(format!(
            "`{from}` is not the orchestrator, who dispatches tasks"
        )));
    }
    let parts = Parts {
        id: &dispatch.id,
        kind: Kind::Dispatch,
        sender: from.as_str(),
        body: &dispatch.body,
        task: Some(&dispatch.task),
        requested_action: dispatch.next_action.as_deref(),
        importance: None,
        reply_to: None,
    };
    let to = &dispatch.to;
    let delivered = put(tx, act, who, to, &parts, awaited).await?;
    // A paused role gets no new task; the row is locked, so the pause holds until the commit.
    let given = tx
        .run(
            "UPDATE team_roles SET task = $3,
                status = CASE WHEN status IN ('active', 'idle') THEN 'busy' ELSE status END
             WHERE session = $1 AND role = $2 AND paused_at IS NULL",
            args![who.session.as_str(), to.as_str(), &dispatch.task],
        )
        .await?;
    if given == 0 {
        return Err(Error::NotAllowed(format!("`{to}` is paused")));
    }
    state::give(tx, act, &who.session, from, dispatch).await?;
    let entry = state::Entry {
        id: &dispatch.history_id,
        role: to.as_str(),
        event: "dispatch",
        summary: Some(&dispatch.summary),
        next_action: dispatch.next_action.as_deref(),
        task: Some(&dispatch.task),
        ..state::Entry::default()
    };
    state::note(tx, act, &who.session, entry).await?;
    let data = json!({
        "message": dispatch.id, "from": from.as_str(), "to": to.as_str(), "task": dispatch.task,
    });
    record(tx, act, &who.session, to.as_str(), "team.dispatched", data).await?;
    Ok(Sent {
        id: dispatch.id.clone(),
        to: to.clone(),
        delivered,
    })
}

/// Puts a message into an active role's inbox under the next number, unless its queue is full. Says whether it was handed
/// over. Locks the recipient's row until the commit.
async fn put(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    to: &RoleName,
    parts: &Parts<'_>,
    awaited: bool,
) -> Result<bool> {
    let raised = tx
        .row(
            "UPDATE team_roles SET last_number = last_number + 1,
                waiting = waiting + CASE WHEN $3 = 1 AND paused_at IS NULL THEN 0 ELSE 1 END
             WHERE session = $1 AND role = $2 AND status IS NOT NULL AND stopped = 0 AND waiting < $4
             RETURNING last_number, paused_at",
            args![who.session.as_str(), to.as_str(), awaited, MOST_WAITING],
        )
        .await?;
    let Some(mut raised) = raised else {
        return Err(refusal(tx, who, to).await?);
    };
    let number: i64 = raised.take()?;
    let paused = raised.take::<Option<jiff::Timestamp>>()?.is_some();
    let delivered = awaited && !paused;
    insert(tx, act, who, to.as_str(), number, parts, delivered).await?;
    Ok(delivered)
}

async fn insert(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    to: &str,
    number: i64,
    parts: &Parts<'_>,
    delivered: bool,
) -> Result<()> {
    tx.run(
        "INSERT INTO team_messages
            (session, role, number, id, kind, sender, body, task, requested_action, importance, reply_to, at,
             delivered_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        args![
            who.session.as_str(),
            to,
            number,
            parts.id,
            parts.kind.as_str(),
            parts.sender,
            parts.body,
            parts.task,
            parts.requested_action,
            parts.importance,
            parts.reply_to,
            act.at,
            delivered.then_some(act.at),
        ],
    )
    .await?;
    Ok(())
}

/// Puts a status report into the orchestrator's inbox, where it waits also while no orchestrator is active. A session
/// without one keeps it in its history alone.
pub(super) async fn tell_orchestrator(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    report: &super::NewReport,
    task: Option<&str>,
    awaited: bool,
) -> Result<()> {
    let orchestrator = guildhall_core::team::ORCHESTRATOR;
    let raised = tx
        .row(
            "UPDATE team_roles SET last_number = last_number + 1
             WHERE session = $1 AND role = $2 AND stopped = 0 RETURNING last_number, paused_at",
            args![who.session.as_str(), orchestrator],
        )
        .await?;
    let Some(mut raised) = raised else {
        return Ok(());
    };
    let number: i64 = raised.take()?;
    let paused = raised.take::<Option<jiff::Timestamp>>()?.is_some();
    let parts = Parts {
        id: &report.message_id,
        kind: Kind::Report,
        sender: who.role()?.as_str(),
        body: &report.body,
        task,
        requested_action: report.next_action.as_deref(),
        importance: None,
        reply_to: None,
    };
    let delivered = awaited && !paused;
    insert(tx, act, who, orchestrator, number, &parts, delivered).await?;
    let stream = crate::Stream::role(&who.session, orchestrator);
    tx.touched.push(stream.name().to_owned());
    Ok(())
}

/// Why a message could not be put into the inbox of `to`.
async fn refusal(tx: &mut Tx, who: &Who, to: &RoleName) -> Result<Error> {
    let sql = "SELECT status, stopped FROM team_roles WHERE session = $1 AND role = $2";
    let row = tx
        .row(sql, args![who.session.as_str(), to.as_str()])
        .await?;
    let Some(mut row) = row else {
        return Ok(Error::missing("agent", to));
    };
    if row.take::<Option<String>>()?.is_none() {
        return Ok(Error::missing("agent", to));
    }
    Ok(if row.take()? {
        Error::NotAllowed(format!("`{}` has ended", who.session))
    } else {
        Error::TooMany(format!(
            "The queue of `{to}` is full: {MOST_WAITING} messages wait for it to fetch them"
        ))
    })
}
