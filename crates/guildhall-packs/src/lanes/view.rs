//! Lanes and asks as results show them.

use guildhall_core::Principal;
use guildhall_core::clock::rfc3339_millis;
use guildhall_store::{
    Ask, AskAnswer, Changeset, Claim, Event, FileMode, Lane, LaneState, Overlap, Position,
};
use guildhall_tools::{CallContext, Caller, JsonObject, json_len};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::changes::{Encoding, shown};
use crate::paged::longest_prefix;

#[derive(JsonSchema, Serialize)]
pub(super) struct LaneView {
    pub(super) id: String,
    title: String,
    description: String,
    state: &'static str,
    proposer: String,
    coordinators: Vec<String>,
    maintainers: Vec<String>,
    related_lanes: Vec<String>,
    allow_self_review: bool,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    /// In `lane_get`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<JsonObject>>")]
    pub(super) asks: Option<Vec<AskView>>,
    /// In `lane_get` and `lane_list`, oldest first
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history: Option<Vec<StepView>>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct AskView {
    pub(super) id: String,
    pub(super) lane_id: String,
    kind: String,
    title: String,
    /// In a page behind `next_cursor`, what follows of it
    pub(super) body: String,
    /// Its body or note is longer than is shown here
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub(super) truncated: bool,
    state: &'static str,
    scope: &'static str,
    priority: i64,
    pub(super) depends_on: Vec<String>,
    /// How many in all, where not all are shown here
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) depends_on_total: Option<usize>,
    /// How many of them are not resolved
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    waits_for: i64,
    /// One of them was denied
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    blocked: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) files: Vec<String>,
    /// How many in all, where not all are shown here
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changeset_id: Option<String>,
    /// The ask whose answer posted it
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<String>,
    /// The ask that began the work
    #[serde(skip_serializing_if = "Option::is_none")]
    work_ask_id: Option<String>,
    posted_by: String,
    posted_at: String,
    updated_at: String,
    claim: Option<ClaimView>,
    answer: Option<AnswerView>,
    /// Unanswered asks known to touch the same files
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) touches_same_files: Vec<OverlapView>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct ClaimView {
    by: String,
    at: String,
    expires_at: String,
    fence: i64,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct AnswerView {
    verdict: &'static str,
    by: String,
    at: String,
    note: Option<String>,
    payload: JsonObject,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct OverlapView {
    ask_id: String,
    files: Vec<String>,
    /// How many in all, where not all are shown here
    #[serde(skip_serializing_if = "Option::is_none")]
    files_total: Option<usize>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct StepView {
    at: String,
    by: String,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask_id: Option<String>,
    data: JsonObject,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct ChangesetView {
    id: String,
    state: &'static str,
    author: String,
    base_commit: Option<String>,
    message: String,
    /// Its message is longer than is shown here
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    truncated: bool,
    reviewed_by: Option<String>,
    landed_as: Option<String>,
    pub(super) files: Vec<FileView>,
}

#[derive(JsonSchema, Serialize)]
pub(super) struct FileView {
    pub(super) path: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    delete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    /// The whole content, or the next part of it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
    /// The content goes on behind `next_cursor`
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub(super) truncated: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "what serde calls takes a reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl From<Lane> for LaneView {
    fn from(lane: Lane) -> Self {
        Self {
            id: lane.id,
            title: lane.title,
            description: lane.description,
            state: match lane.state {
                LaneState::Open => "open",
                LaneState::Closed => "closed",
            },
            proposer: lane.proposer.name().to_owned(),
            coordinators: names(&lane.coordinators),
            maintainers: names(&lane.maintainers),
            related_lanes: lane.related,
            allow_self_review: lane.allow_self_review,
            created_at: rfc3339_millis(lane.created_at),
            closed_at: lane.closed_at.map(rfc3339_millis),
            asks: None,
            history: None,
        }
    }
}

impl LaneView {
    /// The lane with its people named as `caller` may read them. Its steps are told for themselves.
    pub(super) fn told_to(mut self, caller: &Caller) -> Self {
        let people = self.coordinators.iter_mut().chain(&mut self.maintainers);
        for name in people.chain([&mut self.proposer]) {
            *name = caller.shown(name);
        }
        self
    }
}

fn names(people: &[Principal]) -> Vec<String> {
    people.iter().map(|user| user.name().to_owned()).collect()
}

impl From<Ask> for AskView {
    fn from(ask: Ask) -> Self {
        Self {
            work_ask_id: (ask.work != ask.id).then_some(ask.work),
            id: ask.id,
            lane_id: ask.lane,
            kind: ask.kind.name().to_owned(),
            title: ask.title,
            body: ask.body,
            state: ask.state.name(),
            scope: ask.scope.name(),
            priority: ask.priority,
            depends_on: ask.depends_on,
            depends_on_total: None,
            truncated: false,
            waits_for: ask.waits_for,
            blocked: ask.blocked,
            files: ask.files,
            files_total: None,
            changeset_id: ask.changeset,
            follows: ask.follows,
            posted_by: ask.posted_by.name().to_owned(),
            posted_at: rfc3339_millis(ask.posted_at),
            updated_at: rfc3339_millis(ask.changed_at),
            claim: ask.claim.map(ClaimView::from),
            answer: ask.answer.map(AnswerView::from),
            touches_same_files: Vec::new(),
        }
    }
}

impl AskView {
    /// The ask as one among others in an answer of `budget` bytes. Over plain HTTP that leaves it whole.
    pub(super) fn in_list(ask: Ask, budget: usize) -> Self {
        Self::within(ask, budget, budget / 8)
    }

    /// The ask as what an answer of `budget` bytes is about.
    pub(super) fn alone(ask: Ask, budget: usize) -> Self {
        Self::within(ask, budget, budget / 2)
    }

    fn within(ask: Ask, budget: usize, body: usize) -> Self {
        let mut view = Self::from(ask).with_short_answer(budget);
        view.truncated |= cut(&mut view.body, body);
        view.depends_on_total = shorten(&mut view.depends_on, budget / 16);
        view.files_total = shorten(&mut view.files, budget / 16);
        view
    }

    /// The ask with as much of its answer as may stand beside the rest of it.
    pub(super) fn with_short_answer(mut self, budget: usize) -> Self {
        if let Some(answer) = &mut self.answer {
            let note = answer.note.as_mut();
            self.truncated |= note.is_some_and(|note| cut(note, budget / 8));
            shorten_lists(&mut answer.payload, budget / 16);
        }
        self
    }
}

impl OverlapView {
    /// The overlap in an answer of `budget` bytes.
    pub(super) fn within(Overlap { ask, mut files }: Overlap, budget: usize) -> Self {
        Self {
            ask_id: ask,
            files_total: shorten(&mut files, budget / 128),
            files,
        }
    }
}

/// Leaves the first of `list` that have room in `bytes` of JSON; says how many there were, if those are not all.
fn shorten<T: Serialize>(list: &mut Vec<T>, mut bytes: usize) -> Option<usize> {
    let all = list.len();
    let fit = list.iter().take_while(|item| {
        let left = bytes.checked_sub(json_len(item) + 1);
        bytes = left.unwrap_or_default();
        left.is_some()
    });
    let fit = fit.count();
    list.truncate(fit);
    (fit < all).then_some(all)
}

/// The same for every list in `object`: beside `key` stands `key_total`, where it is not whole.
fn shorten_lists(object: &mut JsonObject, bytes: usize) {
    let mut totals = Vec::new();
    for (key, value) in object.iter_mut() {
        match value {
            Value::Array(list) => {
                totals.extend(shorten(list, bytes).map(|all| (format!("{key}_total"), all.into())));
            }
            Value::Object(object) => shorten_lists(object, bytes),
            _ => {}
        }
    }
    object.extend(totals);
}

/// Cuts `text` to `bytes` of JSON; whether it was longer.
fn cut(text: &mut String, bytes: usize) -> bool {
    if json_len(text) <= bytes {
        return false;
    }
    let kept = longest_prefix(text, bytes.saturating_sub('…'.len_utf8())).len();
    text.truncate(kept);
    text.push('…');
    true
}

impl From<Claim> for ClaimView {
    fn from(claim: Claim) -> Self {
        Self {
            by: claim.by.name().to_owned(),
            at: rfc3339_millis(claim.at),
            expires_at: rfc3339_millis(claim.expires_at),
            fence: claim.fence,
        }
    }
}

impl From<AskAnswer> for AnswerView {
    fn from(answer: AskAnswer) -> Self {
        Self {
            verdict: answer.verdict.name(),
            by: answer.by.name().to_owned(),
            at: rfc3339_millis(answer.at),
            note: answer.note,
            payload: object(answer.payload),
        }
    }
}

impl From<Event> for StepView {
    fn from(event: Event) -> Self {
        Self {
            at: rfc3339_millis(event.at),
            by: event.actor,
            what: event.kind,
            ask_id: event.about.ask,
            data: object(event.data),
        }
    }
}

/// What people wrote stands under these keys of a step's data; any other that holds a name names somebody.
const WRITTEN: [&str; 2] = ["title", "note"];

impl StepView {
    /// The step in an answer to `context`'s call: everybody in it named as the caller may read them, and the first of long
    /// lists.
    pub(super) fn told_in(event: Event, context: &CallContext) -> Self {
        let (mut step, caller) = (Self::from(event), &context.caller);
        step.by = caller.shown(&step.by);
        for (key, value) in &mut step.data {
            if let Value::String(text) = value
                && !WRITTEN.contains(&key.as_str())
                && text.parse::<Principal>().is_ok()
            {
                *text = caller.shown(text);
            }
        }
        shorten_lists(&mut step.data, context.budget.bytes() / 16);
        step
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

impl ChangesetView {
    /// The changeset with as much of its message as may stand beside its files in an answer of `budget` bytes.
    pub(super) fn with_short_message(mut self, budget: usize) -> Self {
        self.truncated = cut(&mut self.message, budget / 8);
        self
    }

    /// The changeset without its files, and the files.
    pub(super) fn apart(changeset: Changeset) -> (Self, Vec<FileView>) {
        let files = changeset
            .files
            .into_iter()
            .map(|file| {
                let content = file.content.as_deref().map(shown);
                let (content, encoding) = content.unzip();
                FileView {
                    path: file.path,
                    delete: file.deleted,
                    mode: file.mode.map(FileMode::name),
                    content,
                    encoding: encoding.filter(|encoding| *encoding != Encoding::Utf8),
                    truncated: false,
                }
            })
            .collect();
        let view = Self {
            id: changeset.id,
            state: changeset.state.name(),
            author: changeset.author.name().to_owned(),
            base_commit: changeset.base_commit,
            message: changeset.message,
            truncated: false,
            reviewed_by: changeset.reviewed_by.map(|by| by.name().to_owned()),
            landed_as: changeset.landed_as,
            files: Vec::new(),
        };
        (view, files)
    }
}

/// A place in the log, as cursors keep it.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(super) struct Place {
    tx: i64,
    id: i64,
}

impl From<Position> for Place {
    fn from(Position { tx, id }: Position) -> Self {
        Self { tx, id }
    }
}

impl From<Place> for Position {
    fn from(Place { tx, id }: Place) -> Self {
        Self { tx, id }
    }
}
