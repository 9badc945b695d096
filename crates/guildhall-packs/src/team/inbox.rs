//! `devorch_inbox`: what has arrived for a role, waiting for it where asked to.

use std::time::Duration;

use guildhall_store::team::{Message, Who};
use guildhall_tools::{CallContext, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Coordination, refused, scope, who, whole_seconds};

const NAME: &str = "devorch_inbox";

/// Messages of one answer where the call does not say.
const USUAL: u32 = 50;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as myproject-1
    session: String,
    /// Yours
    role: String,
    /// Only messages after the one with this id
    after: Option<String>,
    /// Default 50
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// Wait this long for something to arrive
    #[schemars(range(min = 0, max = 50))]
    wait_seconds: Option<u64>,
    /// What you sent instead, with what became of it
    sent: Option<bool>,
    repo_id: Option<String>,
    temporal_namespace: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Answer {
    status: &'static str,
    messages: Vec<View>,
    /// There are more: go on with after
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

#[derive(JsonSchema, Serialize)]
struct View {
    message_id: String,
    /// message, report, dispatch
    kind: &'static str,
    from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    message: String,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acknowledged_at: Option<String>,
}

pub(super) fn tool(coordination: Coordination) -> Tool {
    Tool::new(
        NAME,
        "Read your inbox",
        "Read the messages, tasks and reports that arrived for your role, oldest first; wait_seconds waits for the next. \
         Each comes again until devorch_ack_message.",
    )
    .idempotent()
    .bounded()
    .handler(move |context: CallContext, arguments: Arguments| {
        let coordination = coordination.clone();
        async move { read(&coordination, &context, arguments).await }
    })
}

async fn read(
    coordination: &Coordination,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Answer, ToolError> {
    let who = who(context, scope!(arguments), Some(&arguments.role))?;
    coordination.saw(context, &who);
    let limit = arguments.limit.unwrap_or(USUAL);
    let caller = context.caller.principal.clone();
    if arguments.sent == Some(true) {
        let sent = coordination
            .team
            .sent(caller, who, arguments.after, limit + 1)
            .await
            .map_err(refused)?;
        let newest = sent.len().saturating_sub(limit as usize);
        return Ok(fitted(&sent[newest..], true, newest > 0, context));
    }
    let wait = Duration::from_secs(arguments.wait_seconds.unwrap_or(0));
    let messages = wait_for(coordination, context, &who, arguments.after, limit, wait).await?;
    let more = messages.len() > limit as usize;
    let answer = fitted(
        &messages[..messages.len().min(limit as usize)],
        false,
        more,
        context,
    );
    note_read(
        coordination,
        context,
        who,
        &messages[..answer.messages.len()],
    )
    .await?;
    Ok(answer)
}

/// What has arrived, as soon as there is something, or nothing once `wait` is over. One more than `limit`, to see whether
/// there is more.
async fn wait_for(
    coordination: &Coordination,
    context: &CallContext,
    who: &Who,
    after: Option<String>,
    limit: u32,
    wait: Duration,
) -> Result<Vec<Message>, ToolError> {
    let team = &coordination.team;
    let look = || {
        let caller = context.caller.principal.clone();
        team.inbox(caller, who.clone(), after.clone(), limit + 1)
    };
    let messages = look().await.map_err(refused)?;
    let Some(role) = who
        .role
        .as_ref()
        .filter(|_| messages.is_empty() && !wait.is_zero())
    else {
        return Ok(messages);
    };
    let deadline = Instant::now() + wait;
    let mut waiter = team.waiter_of(&who.session, role);
    loop {
        let messages = look().await.map_err(refused)?;
        if !messages.is_empty() {
            return Ok(messages);
        }
        tokio::select! {
            () = waiter.changed() => {}
            () = tokio::time::sleep_until(deadline) => return Ok(messages),
            () = context.cancelled.cancelled() => return Ok(messages),
        }
        // Who waits is there.
        coordination.saw(context, who);
    }
}

/// As many messages as fit the budget, one at least.
fn fitted(messages: &[Message], sent: bool, more: bool, context: &CallContext) -> Answer {
    let mut room = context.budget.bytes().saturating_sub(64);
    let mut views = Vec::with_capacity(messages.len());
    for message in messages {
        let view = view(message, sent);
        let size = json_len(&view) + 1;
        if size > room && !views.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        views.push(view);
    }
    Answer {
        status: "ok",
        more: more || views.len() < messages.len(),
        messages: views,
    }
}

fn view(message: &Message, sent: bool) -> View {
    let time = |at: Option<jiff::Timestamp>| at.filter(|_| sent).map(whole_seconds);
    View {
        message_id: message.id.clone(),
        kind: message.kind.as_str(),
        from: message.from.clone(),
        to: sent.then(|| message.to.to_string()),
        message: message.body.clone(),
        at: whole_seconds(message.at),
        task_id: message.task.clone(),
        requested_action: message.requested_action.clone(),
        importance: message.importance.clone(),
        reply_to: message.reply_to.clone(),
        delivered_at: time(message.delivered_at),
        read_at: time(message.read_at),
        acknowledged_at: time(message.acknowledged_at),
    }
}

/// Notes what goes out now and went out never before; nothing is written where all of it was read already.
async fn note_read(
    coordination: &Coordination,
    context: &CallContext,
    who: Who,
    messages: &[Message],
) -> Result<(), ToolError> {
    let fresh = || messages.iter().filter(|message| message.read_at.is_none());
    let (Some(first), Some(last)) = (fresh().next(), fresh().next_back()) else {
        return Ok(());
    };
    let act = coordination.act(context, NAME, &who, None, &())?;
    let shown = coordination.team.shown(act, who, first.number, last.number);
    shown.await.map_err(refused)
}
