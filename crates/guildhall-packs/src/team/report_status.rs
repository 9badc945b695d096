//! `devorch_report_status`: an agent's status, to the orchestrator.

use guildhall_store::team::{NewReport, Report, Reported};
use guildhall_tools::{CallContext, JsonObject, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Coordination, TaskView, bounded, has_text, refused, scope, who, whole_seconds};

const NAME: &str = "devorch_report_status";

#[derive(Clone, Copy, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ack,
    Complete,
    Blocked,
    Failed,
    Degraded,
    Recovered,
}

impl From<Status> for Report {
    fn from(status: Status) -> Self {
        match status {
            Status::Ack => Self::Ack,
            Status::Complete => Self::Complete,
            Status::Blocked => Self::Blocked,
            Status::Failed => Self::Failed,
            Status::Degraded => Self::Degraded,
            Status::Recovered => Self::Recovered,
        }
    }
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Arguments {
    /// Such as myproject-1
    session: String,
    /// Yours
    role: String,
    /// ack: task taken; complete; blocked; failed; degraded: going on, not as it should; recovered
    status: Status,
    /// One or two sentences
    summary: Option<String>,
    /// Evidence: test results, error logs
    validation: Option<String>,
    /// What should be done next
    next_action: Option<String>,
    /// Default: the task you are at
    task_id: Option<String>,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
    /// Makes a retry safe: the same key gives the first answer
    #[serde(skip_serializing)]
    idempotency_key: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Answer {
    status: &'static str,
    report_id: String,
    agent: AgentView,
    /// Where the task is one of yours
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskView>,
}

#[derive(JsonSchema, Serialize)]
struct AgentView {
    role: String,
    status: &'static str,
    last_seen: String,
}

/// The page's literal text for a status that is none; the required ones come first.
fn check(arguments: &JsonObject) -> Result<(), ToolError> {
    let status = arguments.get("status").and_then(serde_json::Value::as_str);
    let known = |status| Report::ALL.iter().any(|report| report.as_str() == status);
    let others = ["session", "role"];
    match status {
        Some(status)
            if !status.trim().is_empty()
                && !known(status)
                && others.iter().all(|key| has_text(arguments, key)) =>
        {
            let all = Report::ALL.map(Report::as_str).join(", ");
            Err(ToolError::bad_arguments("Invalid status").hint(format!("Use one of: {all}.")))
        }
        _ => Ok(()),
    }
}

pub(super) fn tool(coordination: Coordination) -> Tool {
    Tool::new(
        NAME,
        "Report status",
        "Report your status to the orchestrator: when you take a task, finish it, are stuck, or fail.",
    )
    .check(check)
    .handler(move |context: CallContext, arguments: Arguments| {
        let coordination = coordination.clone();
        async move { take(&coordination, &context, arguments).await }
    })
}

async fn take(
    coordination: &Coordination,
    context: &CallContext,
    mut arguments: Arguments,
) -> Result<Answer, ToolError> {
    bounded("summary", arguments.summary.as_deref())?;
    bounded("validation", arguments.validation.as_deref())?;
    bounded("next_action", arguments.next_action.as_deref())?;
    let who = who(context, scope!(arguments), Some(&arguments.role))?;
    let key = arguments.idempotency_key.take();
    let act = coordination.act(context, NAME, &who, key, &arguments)?;
    let role = arguments.role.trim().to_owned();
    let report = NewReport {
        id: coordination.id("rep"),
        message_id: coordination.id("msg"),
        report: arguments.status.into(),
        body: text(&arguments),
        summary: arguments.summary,
        validation: arguments.validation,
        next_action: arguments.next_action,
        task: arguments.task_id,
    };
    let taken = coordination.team.report(act, who, report).await;
    Ok(answer(role, taken.map_err(refused)?))
}

fn answer(role: String, reported: Reported) -> Answer {
    Answer {
        status: "ok",
        report_id: reported.id,
        agent: AgentView {
            role,
            status: reported.status.as_str(),
            last_seen: whole_seconds(reported.last_seen),
        },
        task: reported.task.map(TaskView::from),
    }
}

/// The report as the orchestrator reads it.
fn text(arguments: &Arguments) -> String {
    let mut text = Report::from(arguments.status).as_str().to_owned();
    if let Some(summary) = &arguments.summary {
        text.push_str(": ");
        text.push_str(summary);
    }
    if let Some(validation) = &arguments.validation {
        text.push_str("\nEvidence: ");
        text.push_str(validation);
    }
    text
}
