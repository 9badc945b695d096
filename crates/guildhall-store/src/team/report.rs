//! Status reports.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::access::{Wants, Who, speak};
use super::inbox::lock;
use super::state::{self, Task};
use super::{Status, bounded, named, record, send, word};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::tx::Tx;
use crate::value::args;

/// What a report says of the role (team page, "The four tools").
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// A task was taken.
    Ack,
    /// A task is done.
    Complete,
    /// It cannot go on.
    Blocked,
    /// It gave up.
    Failed,
    /// It goes on, and not as it should.
    Degraded,
    /// It goes on as it should again.
    Recovered,
}

impl Report {
    /// Every report.
    pub const ALL: [Self; 6] = [
        Self::Ack,
        Self::Complete,
        Self::Blocked,
        Self::Failed,
        Self::Degraded,
        Self::Recovered,
    ];

    /// How it stands in calls and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Complete => "complete",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Degraded => "degraded",
            Self::Recovered => "recovered",
        }
    }

    /// The state of the role from now on; `None` for a recovery, which depends on whether it has a task.
    const fn status(self) -> Option<Status> {
        match self {
            Self::Ack => Some(Status::Busy),
            Self::Complete => Some(Status::Idle),
            Self::Blocked => Some(Status::Blocked),
            Self::Failed => Some(Status::Failed),
            Self::Degraded => Some(Status::Degraded),
            Self::Recovered => None,
        }
    }

    /// The state of the task from now on.
    const fn of_task(self) -> &'static str {
        match self {
            Self::Ack | Self::Recovered => "acknowledged",
            Self::Complete => "complete",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Degraded => "degraded",
        }
    }
}

/// A report to be taken.
#[derive(Clone, Debug)]
pub struct NewReport {
    /// Its id.
    pub id: String,
    /// The id of the message that tells the orchestrator.
    pub message_id: String,
    /// What it says of the role.
    pub report: Report,
    /// A short message.
    pub summary: Option<String>,
    /// Evidence: test results, logs.
    pub validation: Option<String>,
    /// What should be done next.
    pub next_action: Option<String>,
    /// The task it is about; without one, the role's own.
    pub task: Option<String>,
    /// The text of the message to the orchestrator.
    pub body: String,
}

/// What a report came to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Reported {
    /// The report.
    pub id: String,
    /// The state of the role from now on.
    pub status: Status,
    /// When it was last seen: now.
    pub last_seen: Timestamp,
    /// The task it was about, if it is one of the role's.
    pub task: Option<Task>,
}

pub(super) async fn take(
    tx: &mut Tx,
    act: &Act,
    who: &Who,
    report: &NewReport,
    awaited: bool,
) -> Result<Reported> {
    bounded("summary", report.summary.as_deref())?;
    bounded("validation", report.validation.as_deref())?;
    bounded("next_action", report.next_action.as_deref())?;
    named("task_id", report.task.as_deref())?;
    let role = who.role()?;
    // Whoever is let speak below is not replaced before the report is in.
    lock(tx, &who.session, role).await?;
    speak(tx, &act.by, who, Wants::Change).await?;
    let mut row = tx
        .row(
            "UPDATE team_roles SET
                status = coalesce($3, CASE WHEN task IS NULL THEN 'active' ELSE 'busy' END),
                summary = coalesce($4, summary), seen_at = $5
             WHERE session = $1 AND role = $2 AND stopped = 0 RETURNING status, task",
            args![
                who.session.as_str(),
                role.as_str(),
                report.report.status().map(Status::as_str),
                &report.summary,
                act.at,
            ],
        )
        .await?
        .ok_or_else(|| Error::NotAllowed(format!("`{}` has ended", who.session)))?;
    let status: Status = word(&row.take::<String>()?)?;
    let own: Option<String> = row.take()?;
    let about = report.task.as_deref().or(own.as_deref());
    let task = match about {
        Some(task) => {
            let state = report.report.of_task();
            state::move_task(tx, act, &who.session, role, task, state).await?
        }
        None => None,
    };
    let follows = follow(tx, who, report.report, own.as_deref(), task.as_ref()).await?;
    let status = if follows && report.report == Report::Recovered {
        Status::Busy
    } else {
        status
    };
    let entry = state::Entry {
        id: &report.id,
        role: role.as_str(),
        event: "report",
        status: Some(report.report.as_str()),
        summary: report.summary.as_deref(),
        validation: report.validation.as_deref(),
        next_action: report.next_action.as_deref(),
        task: about,
    };
    state::note(tx, act, &who.session, entry).await?;
    let data = json!({
        "report": report.id, "role": role.as_str(), "status": report.report.as_str(), "task": about,
    });
    record(tx, act, &who.session, role.as_str(), "team.reported", data).await?;
    if !role.leads() {
        send::tell_orchestrator(tx, act, who, report, about, awaited).await?;
    }
    Ok(Reported {
        id: report.id.clone(),
        status,
        last_seen: act.at,
        task,
    })
}

/// Puts the role at the task it reports about, or away from the one it has done. Says whether it is at a task now.
async fn follow(
    tx: &mut Tx,
    who: &Who,
    report: Report,
    own: Option<&str>,
    task: Option<&Task>,
) -> Result<bool> {
    let Some(task) = task else {
        return Ok(false);
    };
    let is_own = own == Some(task.id.as_str());
    let next = match report {
        Report::Complete if is_own => None,
        Report::Complete => return Ok(own.is_some()),
        _ => Some(task.id.as_str()),
    };
    tx.run(
        "UPDATE team_roles SET task = $3, status = CASE WHEN $4 = 1 THEN 'busy' ELSE status END
         WHERE session = $1 AND role = $2",
        args![
            who.session.as_str(),
            who.role()?.as_str(),
            next,
            report == Report::Recovered,
        ],
    )
    .await?;
    Ok(next.is_some())
}
