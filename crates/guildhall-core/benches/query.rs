//! How fast the query language is beside a naive implementation of it, in one run and on one core.
//!
//! Prints a line for each case: the median and the worst of the rounds. `cargo bench -p guildhall-core --bench query`.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use guildhall_core::query::{Envelope, FieldRef, Record};
use serde_json::{Map, Value, json};

#[path = "../tests/query/naive.rs"]
mod naive;

const RECORDS: usize = 100_000;
const ROUNDS: usize = 21;
/// For 100,000 records filtered, sorted and cut to 50, in milliseconds on one core.
const TARGET: f64 = 30.0;

/// A record as a tracker keeps it.
struct Issue {
    id: String,
    title: String,
    state: &'static str,
    labels: Vec<String>,
    priority: f64,
    updated_at: String,
}

impl Record for Issue {
    fn field(&self, name: &str) -> Option<FieldRef<'_>> {
        Some(match name {
            "id" | "identifier" => FieldRef::Text(&self.id),
            "title" => FieldRef::Text(&self.title),
            "state" => FieldRef::Text(self.state),
            "labels" => FieldRef::Texts(&self.labels),
            "priority" => FieldRef::Number(self.priority),
            "updatedAt" => FieldRef::Text(&self.updated_at),
            _ => return None,
        })
    }
}

impl Issue {
    /// The same figures in every run: a multiplicative walk through the residues.
    fn numbered(n: usize) -> Self {
        let mixed = n * 48_271 % 2_147_483_647;
        Self {
            id: format!("BOARD-{n}"),
            title: format!("Issue {mixed} about the thing that does not work"),
            state: ["Todo", "In Progress", "Done", "Cancelled"][mixed % 4],
            labels: vec![
                format!("area-{}", mixed % 7),
                format!("team-{}", mixed % 11),
            ],
            priority: [1.0, 2.0, 3.0, 4.0][mixed / 4 % 4],
            updated_at: format!(
                "2026-{:02}-{:02}T{:02}:00:00.000Z",
                mixed % 12 + 1,
                mixed % 28 + 1,
                mixed % 24
            ),
        }
    }

    fn to_json(&self) -> Map<String, Value> {
        [
            "id",
            "identifier",
            "title",
            "state",
            "labels",
            "priority",
            "updatedAt",
        ]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), self.field(name)?.to_value())))
        .collect()
    }
}

fn main() {
    let issues: Vec<Issue> = (0..RECORDS).map(Issue::numbered).collect();
    let objects: Vec<Map<String, Value>> = issues.iter().map(Issue::to_json).collect();
    let default = ["id", "title", "state", "labels"];

    let mut slowest_target = 0.0_f64;
    for (name, arguments, on_target) in cases() {
        let arguments = arguments.as_object().expect("arguments are an object");
        let ours = || {
            let envelope = Envelope::parse(arguments).expect("the case is valid");
            envelope.answer(&issues, &default)
        };
        let ours_on_json = || {
            let envelope = Envelope::parse(arguments).expect("the case is valid");
            envelope.answer(&objects, &default)
        };
        let naive = || naive::answer(arguments, &objects, &default);
        assert_eq!(Value::Object(ours()), naive(), "{name}");

        println!("{name}");
        let median = report("guildhall, own records", ROUNDS, ours);
        report("guildhall, JSON objects", ROUNDS, ours_on_json);
        report("naive: clone all, sort all", 3, naive);
        if on_target {
            slowest_target = slowest_target.max(median);
        }
    }
    lookup(&issues, &default);
    let verdict = if slowest_target < TARGET {
        "met"
    } else {
        "missed"
    };
    println!(
        "target: filter + sort + limit 50 of {RECORDS} records under {TARGET} ms: {slowest_target:.2} ms, {verdict}"
    );
}

/// Name, arguments, and whether the target is about it.
fn cases() -> [(&'static str, Value, bool); 6] {
    let open = json!({"field": "state", "op": "in", "value": ["Todo", "In Progress"]});
    let latest = json!([{"field": "updatedAt", "dir": "desc"}]);
    [
        (
            "filter + sort by time + limit 50",
            json!({"where": open, "order_by": latest, "limit": 50}),
            true,
        ),
        (
            "filter + sort by priority, time, id + limit 50",
            json!({
                "where": {"and": [open, {"field": "labels", "op": "contains", "value": "area"}]},
                "order_by": [{"field": "priority"}, {"field": "updatedAt", "dir": "desc"}, {"field": "id"}],
                "limit": 50,
            }),
            true,
        ),
        (
            "no filter + sort by title + limit 50",
            json!({"order_by": [{"field": "title"}], "limit": 50}),
            true,
        ),
        (
            "contains, case ignored + sort + limit 50",
            json!({
                "where": {"field": "title", "op": "contains", "value": "NOT WORK", "ci": true},
                "order_by": latest,
                "limit": 50,
            }),
            true,
        ),
        (
            "sort by id + last page of 1000",
            json!({"order_by": [{"field": "id"}], "limit": 1000, "offset": 99_000}),
            false,
        ),
        (
            "filter only, limit 50",
            json!({"where": {"field": "priority", "op": "lte", "value": 2}, "limit": 50}),
            false,
        ),
    ]
}

/// By an index of the ids, as a board has one, against scanning for the same answer.
fn lookup(issues: &[Issue], default: &[&str]) {
    let index: std::collections::HashMap<&str, &Issue> = issues
        .iter()
        .map(|issue| (issue.id.as_str(), issue))
        .collect();
    let arguments = json!({"where": {"and": [
        {"field": "id", "op": "in", "value": ["BOARD-77777", "BOARD-5"]},
        {"field": "state", "op": "ne", "value": "Nowhere"},
    ]}});
    let arguments = arguments.as_object().expect("arguments are an object");
    println!("two ids of {RECORDS}");
    report("looked up", 1001, || {
        let envelope = Envelope::parse(arguments).expect("the case is valid");
        let lookup = envelope.lookup().expect("ids are pinned");
        let candidates = lookup.values.iter().filter_map(|id| index.get(id).copied());
        envelope.answer(candidates, default)
    });
    report("scanned", ROUNDS, || {
        let envelope = Envelope::parse(arguments).expect("the case is valid");
        envelope.answer(issues, default)
    });
}

/// Runs and prints; returns the median in milliseconds.
fn report<T>(name: &str, rounds: usize, mut work: impl FnMut() -> T) -> f64 {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (median, worst) = (
        milliseconds(times[rounds / 2]),
        milliseconds(times[rounds - 1]),
    );
    println!("  {name:28} median {median:10.4} ms   worst {worst:10.4} ms");
    median
}
