//! A fuzzer against the real program with a hosted repository, by the description that the server itself serves.
//!
//! `cargo xtask test` installs schemathesis and runs these tests; without it they are ignored.

use std::path::{Path, PathBuf};
use std::process::Command;

use guildhall_testing::hermetic;
use serde_json::{Value, json};

use crate::hosted::{ask, bearer};
use crate::support::{Place, Ran, Up};

const SETTINGS: &str = "---\nlogging:\n  level: warn\ntools:\n  git: {}\n---\n";

/// A server with issues, an agent and a repository of a few commits.
struct World {
    place: Place,
    up: Up,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        place.write("WORKFLOW.md", SETTINGS);
        let origin = place.home().join("origin");
        std::fs::create_dir_all(origin.join("src")).expect("a folder");
        let git = |arguments: &[&str]| {
            let mut command = hermetic("git", place.home());
            command.current_dir(&origin).args([
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.com",
            ]);
            Ran::of(&command.args(arguments).output().expect("git runs")).ok()
        };
        git(&["init", "-q", "-b", "main"]);
        for (name, text) in [("README", "one\n"), ("src/a.rs", "fn a() {}\n")] {
            std::fs::write(origin.join(name), text).expect("a file");
            git(&["add", "-A"]);
            git(&["commit", "-q", "-m", name]);
        }
        let up = place.up(&["--demo"]);
        let origin = origin.to_str().expect("it is text");
        place
            .run(&["repo", "add", "acme/site", "--path", origin])
            .ok();
        Self { place, up }
    }

    fn owner_token(&self) -> String {
        let file = self.place.state().join("owner.token");
        let token = std::fs::read_to_string(file).expect("the owner's token");
        token.trim().to_owned()
    }

    fn agent_token(&self) -> String {
        let made = self.place.run(&["agent", "create", "claude", "--json"]);
        made.json()["token"].as_str().expect("a token").to_owned()
    }

    /// What there is, by the names of the arguments and parameters that can name it, for a token of `caller`.
    fn known(&self, caller: &str) -> Value {
        let issues = self.place.run(&["call", "local_query", "limit=2"]).json();
        let issues: Vec<&Value> = issues["rows"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|row| &row["identifier"])
            .collect();
        assert!(!issues.is_empty());
        json!({
            "path": ["README", "src", "src/a.rs"],
            "commit": ["main", "HEAD"],
            "issueId": issues,
            "name": ["claude", "codex"],
            "tool": ["git_log", "local_query"],
            "username": ["me@example.com"],
            "actor": [caller],
            "from": [caller],
            "role": ["reader", "owner"],
            "method": ["tools/list", "tools/call", "ping"],
            "params": [{ "name": "local_query", "arguments": { "limit": 1 } }],
        })
    }

    /// Lets the fuzzer try `cases` of each kind on every operation that `token` of `caller` may see, and everything else that the
    /// description says of it.
    fn is_as_described(&self, caller: &str, token: &str, cases: u32) {
        let python = std::env::var_os("GUILDHALL_TEST_PYTHON")
            .expect("GUILDHALL_TEST_PYTHON is not set: run `cargo xtask test --only openapi`");
        let python = PathBuf::from(python);
        let fuzzer = python.with_file_name("schemathesis");
        // It finds what its settings name where it is started.
        let clients =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../guildhall-testing/clients/python");
        for name in ["openapi.toml", "openapi_hooks.py"] {
            let copied = std::fs::copy(clients.join(name), self.place.home().join(name));
            copied.expect("a file of the fuzzer");
        }
        let mut command: Command = hermetic(&fuzzer, self.place.home());
        command
            .current_dir(self.place.home())
            .env("GUILDHALL_TEST_KNOWN", self.known(caller).to_string())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .args(["--config-file", "openapi.toml", "run"])
            .arg(format!("{}/api/openapi.json", self.up.url()))
            .args(["--header", &format!("Authorization: Bearer {token}")])
            .args(["--max-examples", &cases.to_string(), "--no-color"]);
        let ran = Ran::of(&command.output().expect("the fuzzer runs"));
        assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
        assert!(ran.out.contains("No issues found"), "{}", ran.out);
        // It ends well too when there was nothing to try.
        let tried = ran
            .out
            .lines()
            .find_map(|line| line.trim().split_once(" generated, "))
            .and_then(|(count, _)| count.parse::<u32>().ok());
        assert!(tried.is_some_and(|tried| tried > 1000), "{}", ran.out);
        let log = self.place.log();
        assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
    }
}

#[test]
fn what_a_tool_of_a_repository_takes_and_asks_for_is_what_is_described() {
    let world = World::new();
    let owner = bearer(&world.owner_token());
    let described = ask(&world.up, "GET", "/api/openapi.json", Some(&owner), None).json();
    let open = json!([{}, { "token": [] }]);
    let mut without_token = Vec::new();
    for (path, item) in described["paths"].as_object().expect("paths") {
        let Some(tool) = path.strip_prefix("/api/repos/{owner}/{repo}/tools/") else {
            continue;
        };
        if item["post"]["security"] == open {
            without_token.push(tool);
        }
        let schema = &item["post"]["requestBody"]["content"]["application/json"]["schema"];
        let told = schema["properties"].as_object();
        let names_caller =
            told.is_some_and(|told| told.contains_key("actor") && told.contains_key("from"));
        assert!(names_caller || tool == "{tool}", "{tool} {schema}");
    }
    assert_eq!(without_token, ["ladder_tree", "lane_list"]);
    assert_eq!(
        described["paths"]["/api/tools/local_query"]["post"]["security"],
        json!([{ "token": [] }])
    );

    let arguments = json!({ "actor": "owner@localhost", "from": null, "limit": 1.0 });
    let log = "/api/repos/acme/site/tools/git_log";
    let answered = ask(&world.up, "POST", log, Some(&owner), Some(arguments));
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(
        answered.json()["result"]["commits"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    // As far as the number is read; that there is no such ask comes after.
    let arguments = json!({ "ask_id": "ask-0123456789", "verdict": "complete", "fence": 1.0 });
    let answer = "/api/repos/acme/site/tools/ask_answer";
    let answered = ask(&world.up, "POST", answer, Some(&owner), Some(arguments));
    assert_eq!(answered.status, 404, "{}", answered.text);
}

#[test]
#[ignore = "needs the fuzzer that `cargo xtask test` installs"]
fn the_server_does_what_its_description_says_for_who_operates_it() {
    let world = World::new();
    world.is_as_described("owner@localhost", &world.owner_token(), 15);
}

#[test]
#[ignore = "needs the fuzzer that `cargo xtask test` installs"]
fn the_server_does_what_its_description_says_for_an_agent() {
    let world = World::new();
    world.is_as_described("owner@localhost[claude]", &world.agent_token(), 10);
}
