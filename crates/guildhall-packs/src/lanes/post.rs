//! `ask_post`: asks for something.

use guildhall_core::RepoRole;
use guildhall_store::{AskKind, AskScope, NewAsk};
use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Queue, Touched, given};
use crate::act::act;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as `_repo`
    lane_id: String,
    /// `work`, `write_rung`, or a word of your own
    kind: String,
    title: String,
    body: Option<String>,
    /// Asks to be resolved first
    depends_on: Option<Vec<String>>,
    /// Higher goes first; default 0
    priority: Option<i64>,
    /// Of a kind of your own: contributor (default), maintainer or coordinator
    scope: Option<String>,
    /// Paths it is going to touch
    files: Option<Vec<String>>,
    /// A stored changeset, to be reviewed, submitted or mended once more
    changeset_id: Option<String>,
}

pub(super) fn tool(queue: Queue) -> Tool {
    Tool::new(
        "ask_post",
        "Post an ask",
        "Ask for one item of work in a lane. Use it to hand work over or to split it.",
    )
    .scope(Scope::Repo(RepoRole::Contributor))
    .keyed_by_store()
    .handler(move |context: CallContext, arguments: Arguments| {
        let queue = queue.clone();
        async move {
            let act = act(&context, &*queue.clock);
            let ask = new(&queue, &context, arguments)?;
            let posted = queue.asks.post_ask(act, ask).await?;
            Ok::<_, ToolError>(Touched::told_in(posted, &context))
        }
    })
}

fn new(queue: &Queue, context: &CallContext, arguments: Arguments) -> Result<NewAsk, ToolError> {
    let kind: AskKind = arguments.kind.trim().parse()?;
    let scope = given(arguments.scope);
    Ok(NewAsk {
        repo: context.repo()?.name.clone(),
        fresh: queue.fresh(),
        lane: arguments.lane_id.trim().to_owned(),
        kind,
        title: arguments.title,
        body: arguments.body.unwrap_or_default(),
        depends_on: arguments.depends_on.unwrap_or_default(),
        priority: arguments.priority.unwrap_or_default(),
        scope: scope.map(|scope| scope.parse::<AskScope>()).transpose()?,
        files: arguments.files.unwrap_or_default(),
        changeset: given(arguments.changeset_id),
        most_open: queue.rules.most_open_asks,
    })
}
