//! `local_query`: the read-only query language over the board.

use guildhall_core::query::{Envelope, Shape};
use guildhall_local::{Board, Entry, Snapshot};
use guildhall_tools::{CallContext, JsonObject, Tool, ToolError, json_len};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::look_at;

/// The fields of a row where `select` is not given (Lorenz page, "local pack").
const DEFAULT_SELECT: [&str; 5] = ["id", "title", "state", "stateType", "labels"];

/// The part of the budget that `skipped` may take: a board full of broken files must not push its rows out.
const SKIPPED_SHARE: usize = 4;

#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "the query language reads them from the arguments itself; this is their schema"
)]
struct Arguments {
    /// {field, op, value} or {and|or: [...]} or {not: ...}; op: eq ne lt lte gt gte in nin contains (ci: true) exists
    r#where: Option<Map<String, Value>>,
    /// Fields: id identifier title description state stateType labels createdAt updatedAt comments origin
    select: Option<Vec<String>>,
    /// [{field, dir: asc|desc}]
    order_by: Option<Vec<Map<String, Value>>>,
    /// Default 100, at most 1000
    limit: Option<u64>,
    /// Rows to skip
    offset: Option<u64>,
    /// Only the total
    count: Option<bool>,
    /// Count per value of this field
    group_by: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<JsonObject>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<JsonObject>>,
    /// Matches before paging
    total: usize,
    /// Files that cannot be read as issues
    skipped: Vec<Skipped>,
    /// All of them, where not all fit
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_total: Option<usize>,
    /// `offset` to read on, where not all rows fit
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl Answer {
    /// The answer as it goes out; the rows move, they are not copied.
    fn into_object(self) -> JsonObject {
        let list =
            |objects: Vec<JsonObject>| objects.into_iter().map(Value::Object).collect::<Value>();
        let skipped = |file: Skipped| json!({ "id": file.id, "error": file.error });
        let mut object = JsonObject::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(key.to_owned(), value);
            }
        };
        put("rows", self.rows.map(list));
        put("groups", self.groups.map(list));
        put("total", Some(self.total.into()));
        put(
            "skipped",
            Some(self.skipped.into_iter().map(skipped).collect()),
        );
        put("skipped_total", self.skipped_total.map(Value::from));
        put("next_offset", self.next_offset.map(Value::from));
        object
    }
}

#[derive(JsonSchema, Serialize)]
struct Skipped {
    id: String,
    error: String,
}

pub(super) fn tool(board: Board) -> Tool {
    Tool::new(
        "local_query",
        "Query issues",
        "Find, filter, sort or count issues of the local board. Use it to choose work or to look for duplicates; select \
         only the fields you need.",
    )
    .read_only()
    .bounded()
    .sized_by_limit()
    .check(check)
    .object_handler::<Arguments, Answer, _, _>(move |context: CallContext, arguments| {
        let board = board.clone();
        async move {
            let envelope = parse(&arguments)?;
            let budget = context.budget.bytes();
            look_at(&board, move |board| Ok(answer(&envelope, &*board.snapshot()?, budget).into_object())).await
        }
    })
}

/// The messages of the query language are given letter for letter, so they come before the schema's.
fn check(arguments: &JsonObject) -> Result<(), ToolError> {
    parse(arguments).map(drop)
}

fn parse(arguments: &JsonObject) -> Result<Envelope, ToolError> {
    Envelope::parse(arguments).map_err(|error| ToolError::bad_arguments(error.to_string()))
}

fn answer(query: &Envelope, board: &Snapshot, budget: usize) -> Answer {
    // A board's identifier is its id, so a filter on either is a look-up.
    match query.lookup() {
        Some(lookup) => {
            let mut found: Vec<&Entry> = lookup
                .values
                .iter()
                .filter_map(|id| board.get(id))
                .collect();
            found.sort_by_key(|entry| entry.order());
            run(query, found.into_iter(), board, budget)
        }
        None => run(query, board.iter(), board, budget),
    }
}

fn run<'a>(
    query: &Envelope,
    entries: impl Iterator<Item = &'a Entry>,
    board: &Snapshot,
    budget: usize,
) -> Answer {
    let mut answer = Answer {
        rows: None,
        groups: None,
        total: 0,
        skipped: Vec::new(),
        skipped_total: None,
        // Counted at their full length while it is not known whether they will be there.
        next_offset: Some(usize::MAX),
    };
    let mut room = budget.saturating_sub(
        json_len(&answer) + r#","rows":[],"skipped_total":18446744073709551615"#.len(),
    );
    room -= fill_skipped(&mut answer, board, room / SKIPPED_SHARE);
    answer.next_offset = None;
    match query.shape() {
        Shape::Count => answer.total = query.count(entries),
        Shape::Groups(field) => {
            let groups = query.groups(field, entries);
            answer.total = groups.total;
            let objects = groups.groups.iter().map(|group| {
                Map::from_iter([
                    ("value".to_owned(), group.value.clone()),
                    ("count".to_owned(), group.count.into()),
                ])
            });
            let shown = fill(objects, room);
            if shown.len() < groups.groups.len() {
                answer.next_offset = Some(query.offset() + shown.len());
            }
            answer.groups = Some(shown);
        }
        Shape::Rows => {
            let page = query.run(entries);
            answer.total = page.total;
            let shown = fill(
                page.rows
                    .iter()
                    .map(|entry| query.project(*entry, &DEFAULT_SELECT)),
                room,
            );
            if shown.len() < page.rows.len() {
                answer.next_offset = Some(query.offset() + shown.len());
            }
            answer.rows = Some(shown);
        }
    }
    answer
}

/// As many of `objects` as fit `room`, at least one: paging must end. One that alone is too large is cut by the pipeline.
///
/// Measuring a row costs as much as writing it, so it is done only where the rows might not fit.
fn fill(objects: impl Iterator<Item = JsonObject>, mut room: usize) -> Vec<JsonObject> {
    let mut objects: Vec<JsonObject> = objects.collect();
    if objects.iter().map(object_at_most).sum::<usize>() <= room {
        return objects;
    }
    let fitting = objects
        .iter()
        .take_while(|object| {
            let size = json_len(object) + 1;
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .count();
    objects.truncate(fitting.max(1));
    objects
}

/// More bytes than `object` can take as JSON, with the comma behind it.
fn object_at_most(object: &JsonObject) -> usize {
    let entries = object.iter();
    entries
        .map(|(key, value)| key.len() * 6 + 4 + at_most(value))
        .sum::<usize>()
        + 3
}

fn at_most(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 32,
        // Escaping makes a byte six at the most.
        Value::String(text) => text.len() * 6 + 2,
        Value::Array(items) => items.iter().map(|item| at_most(item) + 1).sum::<usize>() + 2,
        Value::Object(object) => object_at_most(object),
    }
}

/// Puts as much of the board's skipped files into `answer` as fits `room`, and says how large that is.
fn fill_skipped(answer: &mut Answer, board: &Snapshot, room: usize) -> usize {
    let all = board.skipped();
    let count = all.len();
    let mut used = 0;
    for file in all {
        let file = Skipped {
            id: file.id,
            error: file.error,
        };
        let size = json_len(&file) + 1;
        if used + size > room {
            answer.skipped_total = Some(count);
            break;
        }
        used += size;
        answer.skipped.push(file);
    }
    used
}
