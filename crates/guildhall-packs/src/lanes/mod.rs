//! The `lanes` pack: lanes, and the asks in them (zz page, "Lanes and Asks").
//!
//! The rules are the store's, each inside the transaction that relies on it; the tools say what there is and hand over.
//! Beyond the page there are `lane_close`, `lane_set`, `ask_get` and `ask_renew`.

mod add_related;
mod answer;
mod ask;
mod claim;
mod claimable;
mod close;
mod get;
mod list;
mod pages;
mod post;
mod propose;
mod release;
mod renew;
mod set;
mod view;

use std::sync::Arc;

use guildhall_core::{Clock, Ids, Principal, RepoRole};
use guildhall_store::{Ask, AskRef, Asks, Fresh, Held, LEASE, Lane, Lanes};
use guildhall_tools::{CallContext, JsonObject, Pack, Scope, ToolBuilder, ToolError};
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::repositories::Repositories;
use view::{AskView, LaneView};

/// What the tools work on.
#[derive(Clone)]
pub struct Queue {
    /// The lanes.
    pub lanes: Arc<dyn Lanes>,
    /// The asks.
    pub asks: Arc<dyn Asks>,
    /// Where the changesets of answers are checked.
    pub repositories: Arc<dyn Repositories>,
    /// When things happen.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// How long and how much.
    pub rules: Rules,
}

/// How long claims live, and how much one person and their agents may have open at once.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How long a claim lives that nobody renews.
    pub lease: SignedDuration,
    /// Most unanswered asks.
    pub most_open_asks: u32,
    /// Most open lanes.
    pub most_open_lanes: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            lease: LEASE,
            most_open_asks: 1000,
            most_open_lanes: 100,
        }
    }
}

impl Rules {
    /// Claims that live `lease_seconds`, and so many open asks and lanes.
    pub fn new(lease_seconds: u32, most_open_asks: u32, most_open_lanes: u32) -> Self {
        Self {
            lease: SignedDuration::from_secs(lease_seconds.into()),
            most_open_asks,
            most_open_lanes,
        }
    }
}

/// The pack over `queue`, the page's tools first.
pub fn pack(queue: &Queue) -> Pack {
    let queue = || queue.clone();
    Pack::new(
        "lanes",
        vec![
            propose::tool(queue()),
            get::tool(queue()),
            list::tool(queue()),
            add_related::tool(queue()),
            post::tool(queue()),
            claimable::tool(queue()),
            claim::tool(queue()),
            release::tool(queue()),
            answer::tool(queue()),
            close::tool(queue()),
            set::tool(queue()),
            ask::tool(queue()),
            renew::tool(queue()),
        ],
    )
}

/// What every reading tool of the pack promises.
const fn reads(tool: ToolBuilder) -> ToolBuilder {
    tool.read_only()
        .bounded()
        .scope(Scope::Repo(RepoRole::Reader))
}

/// What every tool does that the store refuses to whoever may not, lane by lane.
const fn writes(tool: ToolBuilder) -> ToolBuilder {
    tool.scope(Scope::Repo(RepoRole::Reader)).keyed_by_store()
}

/// The ask that a call is about.
#[derive(Deserialize, JsonSchema)]
struct Named {
    ask_id: String,
    /// Must be the ask's
    lane_id: Option<String>,
}

/// An ask that the caller holds.
#[derive(Deserialize, JsonSchema)]
struct Holding {
    ask_id: String,
    /// Must be the ask's
    lane_id: Option<String>,
    /// That of your claim; tells two runs under one name apart
    fence: Option<i64>,
}

impl Named {
    fn reference(self, context: &CallContext) -> Result<AskRef, ToolError> {
        Ok(AskRef {
            repo: context.repo()?.name.clone(),
            lane: given(self.lane_id),
            ask: self.ask_id.trim().to_owned(),
        })
    }
}

impl Holding {
    fn held(self, context: &CallContext) -> Result<Held, ToolError> {
        let named = Named {
            ask_id: self.ask_id,
            lane_id: self.lane_id,
        };
        Ok(Held {
            ask: named.reference(context)?,
            fence: self.fence,
        })
    }
}

impl Queue {
    fn fresh(&self) -> Fresh {
        Fresh::draw(&*self.ids)
    }
}

/// A result that is an ask.
#[derive(JsonSchema, Serialize)]
struct Touched {
    /// As `ask_get` shows it
    #[schemars(with = "JsonObject")]
    ask: AskView,
}

/// A result that is a lane.
#[derive(JsonSchema, Serialize)]
struct TouchedLane {
    /// As `lane_get` shows it
    #[schemars(with = "JsonObject")]
    lane: LaneView,
}

impl From<Lane> for TouchedLane {
    fn from(lane: Lane) -> Self {
        Self { lane: lane.into() }
    }
}

impl Touched {
    fn told_in(ask: Ask, context: &CallContext) -> Self {
        Self {
            ask: AskView::alone(ask, context.budget.bytes()),
        }
    }
}

/// Text that is blank is the same as not given.
fn given(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

/// People or agents that an argument names.
fn principals(key: &str, names: Option<Vec<String>>) -> Result<Vec<Principal>, ToolError> {
    let read = |name: String| {
        name.trim()
            .parse()
            .map_err(|error| ToolError::bad_arguments(format!("'{key}': {error}")))
    };
    names.unwrap_or_default().into_iter().map(read).collect()
}

#[cfg(test)]
mod tests;
