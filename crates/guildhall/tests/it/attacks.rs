//! Attacks on every tool that the program serves: its own listing says which arguments there are to attack with.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use crate::hosted::{Bench, OTHER, ask, bearer};
use crate::support::Up;

/// A server with a hosted repository and a board, and a secret in a file beside both.
struct World {
    bench: Bench,
    up: Up,
    owner: String,
}

const SECRET: &str = "what-nobody-may-read";

impl World {
    fn new() -> Self {
        let bench = Bench::new();
        bench
            .place
            .write("WORKFLOW.md", "---\ntools:\n  git: {}\n---\n");
        std::fs::write(bench.place.home().join("secret.md"), SECRET).expect("a file");
        let up = bench.place.up(&["--demo"]);
        bench.add(&[]);
        let owner = bearer(&bench.owner_token());
        Self { bench, up, owner }
    }

    /// Every tool at every door: where it is called, and what it takes.
    fn tools(&self) -> Vec<(String, Value)> {
        let mut tools = Vec::new();
        for door in ["/api/tools", "/api/repos/acme/site/tools"] {
            let listed = ask(&self.up, "GET", door, Some(&self.owner), None).json();
            let listed = listed["result"]["tools"].as_array().cloned();
            for tool in listed.expect("a list of tools") {
                let name = tool["name"].as_str().expect("a name");
                tools.push((format!("{door}/{name}"), tool["inputSchema"].clone()));
            }
        }
        assert!(tools.len() > 15, "{tools:?}");
        tools
    }

    fn call(&self, address: &str, arguments: &Map<String, Value>) -> (u16, String) {
        let body = Some(Value::Object(arguments.clone()));
        let answered = ask(&self.up, "POST", address, Some(&self.owner), body);
        assert!(!answered.text.contains(SECRET), "{address} {arguments:?}");
        assert_ne!(
            answered.status, 500,
            "{address} {arguments:?} {}",
            answered.text
        );
        (answered.status, answered.text)
    }

    /// Every file of the workspace and around it but the database and the log, with when it was last written.
    fn files(&self) -> Vec<(PathBuf, SystemTime)> {
        let mut files = Vec::new();
        collect(self.bench.place.home(), &mut files);
        files.sort();
        files
    }
}

fn collect(dir: &Path, files: &mut Vec<(PathBuf, SystemTime)>) {
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("guildhall.db") || name == "up.log" {
            continue;
        }
        let meta = path.symlink_metadata().expect("it is there");
        if meta.is_dir() {
            collect(&path, files);
        } else {
            files.push((path, meta.modified().expect("a time")));
        }
    }
}

/// Arguments that `schema` takes: its required ones with a word that fits, and nothing else.
pub(crate) fn least(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    required
        .iter()
        .filter_map(Value::as_str)
        .map(|name| {
            let property = &schema["properties"][name];
            let value = match (property["enum"].get(0), property["type"].as_str()) {
                (Some(first), _) => first.clone(),
                (None, Some("integer")) => json!(1),
                (None, Some("array")) => json!(["word"]),
                (None, Some("object")) => json!({}),
                (None, _) => json!("word"),
            };
            (name.to_owned(), value)
        })
        .collect()
}

/// The arguments of `schema` that are text or lists of text, each set to `payload` in turn.
fn attacked(schema: &Value, payload: &str) -> Vec<(String, Map<String, Value>)> {
    let properties = schema["properties"].as_object().cloned();
    properties
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(name, property)| {
            let value = match property["type"].as_str() {
                Some("string") if property.get("enum").is_none() => json!(payload),
                Some("array") if property["items"]["type"] == "string" => json!([payload]),
                _ => return None,
            };
            let mut arguments = least(schema);
            arguments.insert(name.clone(), value);
            Some((name, arguments))
        })
        .collect()
}

#[test]
fn no_path_leads_out_of_the_repository_or_the_board() {
    let world = World::new();
    let before = world.files();
    let outside = world.bench.place.home().join("secret.md");
    let mut tried = 0;
    for (address, schema) in world.tools() {
        for payload in [
            "../secret.md",
            "..",
            "a/../../secret.md",
            outside.to_str().expect("it is text"),
            "/etc/passwd",
            "C:\\Windows\\win.ini",
            "\\\\server\\share",
            "README\0.md",
            "/dev/zero",
            "CON",
            ".git/config",
            "..%2fsecret.md",
            "\u{2024}\u{2024}/secret.md",
        ] {
            for (name, arguments) in attacked(&schema, payload) {
                // What is text to be kept is kept; where it names a place it is refused.
                let names_a_place =
                    ["path", "paths", "under", "issueId", "commit"].contains(&name.as_str());
                if !names_a_place {
                    continue;
                }
                let (status, text) = world.call(&address, &arguments);
                let found_nothing = matches!(status, 400 | 404)
                    || (status == 200 && name != "issueId" && is_empty(&text));
                assert!(found_nothing, "{address} {arguments:?}: {status} {text}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
    assert_eq!(world.files(), before);
}

/// Whether a result is one of nothing found.
fn is_empty(text: &str) -> bool {
    let answer: Value = serde_json::from_str(text).expect("it is JSON");
    let result = answer["result"].as_object().cloned().unwrap_or_default();
    let mut lists = result.values().filter_map(Value::as_array).peekable();
    lists.peek().is_some() && lists.all(Vec::is_empty)
}

#[test]
fn nothing_that_looks_like_an_option_is_one() {
    let world = World::new();
    let marker = world.bench.place.home().join("ran");
    let write = format!("--output={}", marker.display());
    let run = format!("--upload-pack=touch {}", marker.display());
    let shell = format!("$(touch {})", marker.display());
    let piped = format!("-O|touch {}", marker.display());
    let mut tried = 0;
    for (address, schema) in world.tools() {
        for payload in [&*write, &run, &shell, &piped, "--no-index", "-", "--"] {
            for (name, arguments) in attacked(&schema, payload) {
                let (status, text) = world.call(&address, &arguments);
                if ["commit", "parent", "since", "until"].contains(&name.as_str()) {
                    assert_eq!(status, 400, "{address} {arguments:?}: {text}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 150, "{tried}");
    assert!(!marker.exists());
}

#[test]
fn only_the_exact_name_of_a_repository_is_it() {
    let world = World::new();
    let hosted = world.bench.hosted();
    let mut tried = 0;
    for (address, schema) in world.tools() {
        if schema["properties"].get("repo").is_none() {
            continue;
        }
        for payload in [
            "../acme/site",
            hosted.to_str().expect("it is text"),
            "/etc",
            "acme/site.git",
            "acme/site/",
            " acme/site",
            "acme//site",
            "acme/./site",
            "acme/../acme/site",
            "ACME/site",
            "acme/Site",
            "acme/s\u{456}te",
            "acme/site\u{200b}",
            "acme/\u{ff53}ite",
            "acme/site\0",
            "acme",
            "",
        ] {
            let mut arguments = least(&schema);
            arguments.insert("repo".to_owned(), payload.into());
            let (status, text) = world.call(&address, &arguments);
            // Beside an address that names one, every other is a contradiction.
            let refused = if address.starts_with("/api/repos/") {
                status == 400
            } else {
                matches!(status, 400 | 404)
            };
            assert!(refused, "{address} {payload:?}: {status} {text}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn no_argument_makes_a_caller_somebody_else() {
    let world = World::new();
    let mut tried = 0;
    for (address, schema) in world.tools() {
        for name in [
            "actor",
            "from",
            "author",
            "email",
            "principal",
            "user",
            "session",
            "role",
            "from_role",
            "on_behalf_of",
            "committer",
        ] {
            // `role` and `author` are arguments of some tools, and then name no caller.
            if schema["properties"].get(name).is_some() {
                continue;
            }
            let mut arguments = least(&schema);
            arguments.insert(name.to_owned(), OTHER.into());
            let (status, text) = world.call(&address, &arguments);
            let stands_for_the_caller =
                ["actor", "from"].contains(&name) && schema["properties"].get("repo").is_some();
            let expected = if stands_for_the_caller { 403 } else { 400 };
            assert_eq!(status, expected, "{address} {name}: {text}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}
