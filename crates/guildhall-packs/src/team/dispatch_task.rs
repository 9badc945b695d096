//! `devorch_dispatch_task`: the orchestrator gives a role a task.

use guildhall_store::team::Dispatch;
use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Coordination, SentAnswer, agent, bounded, refused, scope, who};

const NAME: &str = "devorch_dispatch_task";

/// Most files of one task.
const MOST_FILES: usize = 200;

#[derive(Clone, Copy, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

impl Priority {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Arguments {
    /// Such as myproject-1
    session: String,
    /// Yours: orchestrator
    from_role: String,
    /// Who is to do it
    to_role: String,
    /// Reports name it; used again, the task begins anew
    task_id: String,
    /// What is to be done, and when it is done
    summary: String,
    /// What to begin with
    next_action: Option<String>,
    /// Paths the task is about
    #[schemars(length(max = 200))]
    files: Option<Vec<String>>,
    /// Default: normal
    priority: Option<Priority>,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
    /// Makes a retry safe: the same key gives the first answer
    #[serde(skip_serializing)]
    idempotency_key: Option<String>,
}

pub(super) fn tool(coordination: Coordination) -> Tool {
    Tool::new(
        NAME,
        "Dispatch a task",
        "Give a role of your session a task. For the orchestrator: the task arrives in the role's inbox, and its reports in \
         yours.",
    )
    .handler(move |context: CallContext, arguments: Arguments| {
        let coordination = coordination.clone();
        async move { dispatch(&coordination, &context, arguments).await }
    })
}

async fn dispatch(
    coordination: &Coordination,
    context: &CallContext,
    mut arguments: Arguments,
) -> Result<SentAnswer, ToolError> {
    bounded("summary", Some(&arguments.summary))?;
    bounded("next_action", arguments.next_action.as_deref())?;
    let who = who(context, scope!(arguments), Some(&arguments.from_role))?;
    let to = agent(&arguments.to_role)?;
    let key = arguments.idempotency_key.take();
    let act = coordination.act(context, NAME, &who, key, &arguments)?;
    let files = arguments.files.take().unwrap_or_default();
    debug_assert!(files.len() <= MOST_FILES, "the schema says so");
    let priority = arguments.priority.unwrap_or_default();
    let body = text(&arguments.summary, &files, priority);
    bounded("summary' and 'files", Some(&body))?;
    coordination.saw(context, &who);
    let task = Dispatch {
        id: coordination.id("msg"),
        history_id: coordination.id("his"),
        to,
        task: arguments.task_id,
        summary: arguments.summary,
        next_action: arguments.next_action,
        files,
        priority: priority.as_str().to_owned(),
        body,
    };
    let sent = coordination.team.dispatch(act, who, task).await;
    Ok(sent.map_err(refused)?.into())
}

/// The task as its recipient reads it.
fn text(summary: &str, files: &[String], priority: Priority) -> String {
    let mut text = summary.to_owned();
    if !files.is_empty() {
        text.push_str("\nFiles: ");
        text.push_str(&files.join(", "));
    }
    if !matches!(priority, Priority::Normal) {
        text.push_str("\nPriority: ");
        text.push_str(priority.as_str());
    }
    text
}
