//! `lane_propose`: opens a lane.

use guildhall_core::RepoRole;
use guildhall_store::NewLane;
use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Queue, TouchedLane, given, principals};
use crate::act::act;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    title: String,
    description: Option<String>,
    /// Beside you
    coordinators: Option<Vec<String>>,
    /// Only an owner in person may name them
    maintainers: Option<Vec<String>>,
    /// The lane it comes from
    related_to: Option<String>,
}

pub(super) fn tool(queue: Queue) -> Tool {
    Tool::new(
        "lane_propose",
        "Propose a lane",
        "Open a lane, a stream of work of its own. You become its coordinator.",
    )
    .scope(Scope::Repo(RepoRole::Contributor))
    .keyed_by_store()
    .handler(move |context: CallContext, arguments: Arguments| {
        let queue = queue.clone();
        async move {
            let act = act(&context, &*queue.clock);
            let lane = NewLane {
                repo: context.repo()?.name.clone(),
                fresh: queue.fresh(),
                title: arguments.title,
                description: arguments.description.unwrap_or_default(),
                coordinators: principals("coordinators", arguments.coordinators)?,
                maintainers: principals("maintainers", arguments.maintainers)?,
                related: given(arguments.related_to).into_iter().collect(),
                most_open: queue.rules.most_open_lanes,
            };
            let lane = queue.lanes.propose_lane(act, lane).await?;
            Ok::<_, ToolError>(TouchedLane::from(lane))
        }
    })
}
