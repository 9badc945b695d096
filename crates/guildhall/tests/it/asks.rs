//! Lanes and asks from the command line.

use std::path::PathBuf;

use guildhall_testing::hermetic;
use serde_json::{Value, json};

use crate::support::{Place, Ran, Up};

struct Bench {
    place: Place,
    _up: Up,
    base: String,
}

impl Bench {
    /// A server with one repository of one commit.
    fn new() -> Self {
        let place = Place::new();
        let origin = place.home().join("origin");
        std::fs::create_dir(&origin).expect("a folder");
        std::fs::write(origin.join("README"), "one\ntwo\n").expect("a file");
        let git = |arguments: &[&str]| {
            let mut command = hermetic("git", place.home());
            command.current_dir(&origin).args([
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.com",
            ]);
            let ran = Ran::of(&command.args(arguments).output().expect("git runs"));
            ran.ok().trim().to_owned()
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "Begin"]);
        let base = git(&["rev-parse", "HEAD"]);
        let up = place.up(&[]);
        let path = origin.to_str().expect("it is text");
        place
            .run(&["repo", "add", "acme/site", "--path", path])
            .ok();
        Self {
            place,
            _up: up,
            base,
        }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.place.run(arguments)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).json()
    }

    fn post(&self, title: &str) -> String {
        let posted = self.json(&["ask", "post", title, "--file", "README"]);
        posted["id"].as_str().expect("an id").to_owned()
    }

    /// A file with a changeset of one file.
    fn changeset(&self, path: &str, content: &str) -> PathBuf {
        let changeset = json!({
            "base_commit": self.base, "message": "Change it", "files": [{ "path": path, "content": content }],
        });
        let file = self.place.home().join("changeset.json");
        std::fs::write(&file, changeset.to_string()).expect("a file");
        file
    }
}

#[test]
fn an_ask_is_posted_claimed_answered_and_shown_as_a_diff() {
    let bench = Bench::new();
    let lane = bench.json(&["lane", "propose", "Search", "--description", "Find things"]);
    let lane = lane["id"].as_str().expect("an id");
    let listed = bench.run(&["lane", "list"]).ok();
    assert!(
        listed.contains("_repo") && listed.contains(lane),
        "{listed}"
    );
    assert!(
        listed
            .lines()
            .next()
            .expect("heads")
            .contains("COORDINATORS"),
        "{listed}"
    );

    let (ask, other) = (bench.post("Say three"), bench.post("Say four"));
    let listed = bench.run(&["ask", "list"]).ok();
    assert!(listed.contains("Say three"), "{listed}");
    assert!(
        listed.contains(&format!("{ask} touches the same files as {other}: README")),
        "{listed}"
    );
    let claimed = bench.run(&["ask", "claim", &ask]).ok();
    assert!(
        claimed.contains("is yours until") && claimed.contains("(fence 1)"),
        "{claimed}"
    );
    let taken = bench.run(&["ask", "claim", &ask]);
    assert_eq!(taken.code, 1, "{taken:?}");
    assert!(taken.err.contains("is held by"), "{taken:?}");
    bench.run(&["ask", "release", &ask, "--fence", "1"]).ok();
    bench.run(&["ask", "claim", &ask]).ok();
    let file = bench.changeset("README", "one\nthree\n");
    let file = file.to_str().expect("it is text");
    let with_old_fence = bench.run(&[
        "ask",
        "answer",
        &ask,
        "complete",
        "--changeset",
        file,
        "--fence",
        "1",
    ]);
    assert_eq!(with_old_fence.code, 1, "{with_old_fence:?}");
    let answered = bench.json(&["ask", "answer", &ask, "complete", "--changeset", file]);
    let review = answered["answer"]["payload"]["posted"]
        .as_str()
        .expect("the review");
    let shown = bench.run(&["ask", "show", review]).ok();
    for line in [
        "Review: Say three",
        "--- a/README",
        "+++ b/README",
        "-two",
        "+three",
        " one",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    let all = bench.run(&["ask", "list", "--all"]).ok();
    assert!(
        all.contains("answered") && all.contains("changeset_review"),
        "{all}"
    );
    let whole = bench.run(&["lane", "show", "_repo"]).ok();
    assert!(
        whole.contains("ask.answered") && whole.contains("Coordinators  owner@localhost"),
        "{whole}"
    );
    let shown = bench.json(&["lane", "show", lane]);
    assert_eq!(shown["description"], "Find things");
}

#[test]
fn what_is_wrong_has_its_exit_code() {
    let bench = Bench::new();
    let ask = bench.post("Say three");
    for (arguments, code) in [
        (&["ask", "show", "ask-0000000000"][..], 1),
        (&["ask", "claim", &ask, "--repo", "acme/none"], 1),
        (&["lane", "show", "lane-0000000000"], 1),
        (&["ask", "answer", &ask, "perhaps"], 2),
        (&["ask", "claim"], 2),
        (&["ask", "claim", &ask, "--repo", "none"], 2),
        (
            &["ask", "answer", &ask, "complete", "--changeset", "/nowhere"],
            2,
        ),
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        assert!(
            !ran.err.is_empty() && ran.out.is_empty(),
            "{arguments:?}: {ran:?}"
        );
    }
}

#[test]
fn no_title_body_or_file_can_steer_the_terminal() {
    let bench = Bench::new();
    let hostile = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}y";
    let posted = bench.json(&["ask", "post", hostile, "--body", hostile]);
    let ask = posted["id"].as_str().expect("an id");
    bench.run(&["ask", "post", hostile]).ok();
    bench.run(&["ask", "claim", ask]).ok();
    let file = bench.changeset("a.txt", &format!("{hostile}\r\n"));
    let file = file.to_str().expect("it is text");
    let answered = bench.json(&[
        "ask",
        "answer",
        ask,
        "complete",
        "--changeset",
        file,
        "--note",
        hostile,
    ]);
    let review = answered["answer"]["payload"]["posted"]
        .as_str()
        .expect("the review");
    for arguments in [
        &["ask", "show", ask][..],
        &["ask", "show", review],
        &["ask", "list"],
        &["ask", "list", "--all"],
        &["lane", "show", "_repo"],
    ] {
        let shown = bench.run(arguments).ok();
        assert!(shown.contains("owned"), "{arguments:?}");
        assert!(
            !shown.chars().any(guildhall_core::text::steers),
            "{arguments:?}: {shown:?}"
        );
    }
}

#[test]
fn no_title_steers_the_terminal_of_who_asks_for_json() {
    let bench = Bench::new();
    let title = "a\u{9b}31mb\u{202e}c\u{2066}d\u{7f}ü";
    let run = |arguments: &[&str]| bench.run(&[arguments, &["--json"]].concat()).ok();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let lane = run(&["lane", "propose", title]);
    let id = parsed(&lane)["id"].as_str().expect("an id").to_owned();
    let ask = run(&["ask", "post", title, "--lane", &id]);
    let printed = [
        lane,
        run(&["lane", "list"]),
        run(&["lane", "show", &id]),
        ask,
        run(&["ask", "list", "--lane", &id]),
    ];
    for text in printed {
        let steers = text.chars().any(guildhall_core::text::steers);
        assert!(!steers, "{text:?}");
        // Escaped it is the same text.
        let read = parsed(&text).to_string();
        assert!(read.contains(title), "{read}");
    }
}
