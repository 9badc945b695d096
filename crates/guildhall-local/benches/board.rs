//! How fast a board answers, beside a reader that opens and parses every file for each query.
//!
//! Makes its boards in a temporary directory and prints one table: the median of the rounds, and the worst. Only what is
//! marked `target` has a goal. `cargo bench -p guildhall-local --bench board`; numbers after `--` are board sizes.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guildhall_core::query::Envelope;
use guildhall_core::{SystemClock, SystemIds};
use guildhall_local::{Board, BoardOptions, NewIssue, Snapshot};
use serde_json::{Map, Value, json};

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![10_000, 100_000]
    } else {
        sizes
    };
    println!(
        "{:>8}  {:<58} {:>10} {:>10} {:>10}",
        "issues", "case", "median ms", "worst ms", "target ms"
    );
    for size in sizes {
        let folder = tempfile::tempdir().expect("a temporary directory");
        make_board(folder.path(), size);
        measure(folder.path(), size);
    }
}

fn measure(dir: &Path, size: usize) {
    let small = size <= 10_000;
    let before = resident();
    row(
        size,
        "open: read and parse every file",
        small.then_some(300.0),
        5,
        || {
            black_box(open(dir));
        },
    );
    let board = open(dir);
    let held = resident().saturating_sub(before);
    let filtered = envelope(&json!({
        "where": { "and": [
            { "field": "stateType", "op": "eq", "value": "started" },
            { "field": "title", "op": "contains", "value": "thing" },
        ] },
        "order_by": [{ "field": "updatedAt", "dir": "desc" }, { "field": "title" }],
        "limit": 50,
    }));
    let target = Some(if small { 1.0 } else { 30.0 });
    row(size, "query: filter, sort, limit 50", target, 51, || {
        black_box(run(&board, &filtered));
    });
    let every = envelope(&json!({ "order_by": [{ "field": "title" }], "limit": 50 }));
    row(size, "query: sort all, limit 50", None, 51, || {
        black_box(run(&board, &every));
    });
    let words = envelope(&json!({
        "where": { "field": "description", "op": "contains", "value": "not there", "ci": true },
    }));
    row(
        size,
        "query: text search without case in every description",
        None,
        21,
        || {
            black_box(run(&board, &words));
        },
    );
    row(size, "snapshot: nothing changed", None, 501, || {
        black_box(board.snapshot().expect("a snapshot"));
    });
    // Files are read again until their times are old enough to be trusted.
    std::thread::sleep(Duration::from_secs(5));
    let unwatched = open_with(BoardOptions {
        watch: false,
        ..BoardOptions::new(dir)
    });
    row(
        size,
        "snapshot: nothing changed, by the times of all files",
        None,
        11,
        || {
            black_box(unwatched.snapshot().expect("a snapshot"));
        },
    );
    drop(unwatched);
    let middle = format!("BOARD-{}", size / 2);
    row(size, "look up one issue by id", None, 501, || {
        black_box(board.read(&middle).expect("the issue"));
    });
    edited_outside(dir, &board, size);
    row(size, "write: a comment, to the disk", None, 51, || {
        board
            .comment(&middle, "agent", "A comment")
            .expect("a comment");
    });
    row(size, "write: a new issue, to the disk", None, 51, || {
        black_box(board.create(&NewIssue {
            title: "Another".to_owned(),
            ..NewIssue::default()
        }))
        .expect("an issue");
    });
    let rounds = if small { 5 } else { 1 };
    row(
        size,
        "baseline: read and parse every file, then the query",
        None,
        rounds,
        || {
            black_box(filtered.answer(&read_every_file(dir), &["id", "title", "state"]));
        },
    );
    println!(
        "{size:>8}  resident memory of the open board: {:.1} MB",
        mega(held)
    );
}

/// Another program changes one file, and the next answer has it, while somebody still holds the answer before.
fn edited_outside(dir: &Path, board: &Board, size: usize) {
    let lookup = envelope(&json!({ "where": { "field": "id", "op": "eq", "value": "BOARD-77" } }));
    let mut round = 0;
    let mut held: Option<Arc<Snapshot>> = None;
    let mut times = Vec::new();
    for _ in 0..101 {
        round += 1;
        std::fs::write(dir.join("BOARD-77.md"), file(77, &format!("Round {round}")))
            .expect("an edit");
        let start = Instant::now();
        let snapshot = board.snapshot().expect("a snapshot");
        let entry = snapshot.get("BOARD-77").expect("the issue");
        assert_eq!(entry.state(), format!("Round {round}"));
        times.push(start.elapsed());
        held = Some(snapshot);
    }
    drop(held);
    print_row(
        size,
        "one issue edited by another program, then a snapshot",
        Some(1.0),
        times,
    );
    black_box(run(board, &lookup));
}

fn run(board: &Board, envelope: &Envelope) -> Map<String, Value> {
    let snapshot = board.snapshot().expect("a snapshot");
    envelope.answer(
        snapshot.iter(),
        &["id", "title", "state", "stateType", "labels"],
    )
}

fn envelope(arguments: &Value) -> Envelope {
    Envelope::parse(arguments.as_object().expect("an object")).expect("a query")
}

fn open(dir: &Path) -> Board {
    open_with(BoardOptions::new(dir))
}

fn open_with(options: BoardOptions) -> Board {
    Board::open(options, Arc::new(SystemClock), Arc::new(SystemIds)).expect("a board")
}

fn row(size: usize, case: &str, target: Option<f64>, rounds: usize, mut run: impl FnMut()) {
    run();
    let times = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    print_row(size, case, target, times);
}

fn print_row(size: usize, case: &str, target: Option<f64>, mut times: Vec<Duration>) {
    times.sort_unstable();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let target = target.map_or_else(String::new, |target| format!("{target:.1}"));
    println!(
        "{size:>8}  {case:<58} {:>10.4} {:>10.4} {target:>10}",
        millis(times[times.len() / 2]),
        millis(times[times.len() - 1]),
    );
}

fn make_board(dir: &Path, size: usize) {
    for n in 1..=size {
        let state = ["Todo", "In Progress", "Done", "In Review"][mixed(n) % 4];
        std::fs::write(dir.join(format!("BOARD-{n}.md")), file(n, state)).expect("a file");
    }
}

/// The same figures in every run: a multiplicative walk through the residues.
fn mixed(n: usize) -> usize {
    n * 48_271 % 2_147_483_647
}

/// An issue of a usual size: some 700 bytes of text and two comments.
fn file(n: usize, state: &str) -> String {
    let mixed = mixed(n);
    let text = "The thing does what it should not, and not what it should. ".repeat(4 + mixed % 16);
    format!(
        "---\nstatus: {state}\nlabels:\n  - area-{}\n  - team-{}\nowner: someone\n---\n\n# Issue {mixed} about the thing\n\n{text}\n\n\
         <!-- lorenz:comments -->\n## Comments\n\
         - 2026-05-29T10:00:00.000Z agent: I looked at it and found that it is so.\n\
         - 2026-05-30T10:00:00.000Z human: Then let us change it.\n",
        mixed % 7,
        mixed % 3,
    )
}

/// Reads the board as one does who keeps nothing: list, stat, read and parse each file, one after the other.
fn read_every_file(dir: &Path) -> Vec<Map<String, Value>> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(dir).expect("the directory") {
        let path = entry.expect("an entry").path();
        let Some(id) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let modified = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
        let Some((front, body)) = text
            .strip_prefix("---\n")
            .and_then(|text| text.split_once("\n---"))
        else {
            continue;
        };
        let values: Map<String, Value> = serde_saphyr::from_str(front).expect("front matter");
        let state = values["status"].as_str().unwrap_or_default();
        let main = body
            .split("<!-- lorenz:comments -->")
            .next()
            .unwrap_or_default();
        let title = main
            .lines()
            .find_map(|line| line.strip_prefix("# "))
            .unwrap_or(id);
        let state_type = guildhall_core::StateType::from_state_name(state)
            .unwrap_or(guildhall_core::StateType::Backlog);
        let updated = modified
            .ok()
            .and_then(|at| at.try_into().ok())
            .map(guildhall_core::clock::rfc3339_millis);
        let record = json!({
            "id": id, "title": title, "state": state, "stateType": state_type.as_str(),
            "labels": values.get("labels"), "description": main, "updatedAt": updated,
        });
        if let Value::Object(record) = record {
            records.push(record);
        }
    }
    records
}

/// Resident memory of this process in bytes, 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|line| line.split_whitespace().next())
        .and_then(|kib| kib.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

#[expect(clippy::cast_precision_loss, reason = "a figure to look at")]
fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
