use std::path::Path;

use guildhall_testing::hermetic;
use guildhall_tools::{Answer, Caller, Door, ErrorKind, RepoAccess, RepoResolver, WantedRepo};
use serde_json::{Value, json};

use super::*;
use crate::under_test::UnderTest;

/// One repository, which everybody reads.
struct One(Arc<Repository>);

impl Repositories for One {
    fn open(&self, _: &RepoAccess) -> Result<Arc<Repository>, ToolError> {
        Ok(Arc::clone(&self.0))
    }
}

impl RepoResolver for One {
    fn resolve<'a>(
        &'a self,
        _: &'a Caller,
        wanted: WantedRepo<'a>,
    ) -> futures::future::BoxFuture<'a, Result<RepoAccess, ToolError>> {
        let known = matches!(wanted, WantedRepo::Implied | WantedRepo::Named("acme/site"));
        let access = RepoAccess {
            name: "acme/site".parse().unwrap(),
            role: RepoRole::Reader,
            coordinates: false,
        };
        let found = if known {
            Ok(access)
        } else {
            Err(ToolError::not_found("There is no such repository"))
        };
        Box::pin(std::future::ready(found))
    }
}

struct Bench {
    dir: tempfile::TempDir,
    tools: UnderTest,
}

impl Bench {
    /// A repository to which `script` has been done.
    fn new(script: impl FnOnce(&dyn Fn(&[&str]) -> String, &Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| run(dir.path(), arguments);
        git(&["init", "-q", "-b", "main"]);
        script(&git, dir.path());
        let repository = Arc::new(Repository::open(&dir.path().join(".git")).unwrap());
        let one = Arc::new(One(repository));
        let repositories: Arc<dyn Repositories> = one.clone();
        Self {
            dir,
            tools: UnderTest::new(pack(&repositories), Some(one)),
        }
    }

    async fn call(&self, door: Door, tool: &str, arguments: Value) -> Answer {
        self.tools.call(door, tool, arguments).await
    }

    async fn ok(&self, door: Door, tool: &str, arguments: Value) -> Value {
        let payload = self.tools.ok(door, tool, arguments.clone()).await;
        if door == Door::Mcp && arguments.get("limit").is_none() {
            let size = json_len(&payload);
            assert!(size <= 16 << 10, "{tool} {arguments}: {size} bytes");
        }
        payload
    }

    /// Every page of a call over MCP, each a valid answer of its own.
    async fn pages(&self, tool: &str, mut arguments: Value) -> Vec<Value> {
        let mut pages = Vec::new();
        loop {
            let page = self.ok(Door::Mcp, tool, arguments.clone()).await;
            let next = page.get("next_cursor").cloned();
            pages.push(page);
            match next {
                Some(cursor) => arguments["cursor"] = cursor,
                None => return pages,
            }
            assert!(pages.len() < 1000, "paging does not end");
        }
    }
}

fn run(dir: &Path, arguments: &[&str]) -> String {
    let output = hermetic("git", dir)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=You", "-c", "user.email=you@example.com"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A history of 120 commits over a long file, a wide line and a folder, put in as one stream: that is fast.
fn history(git: &dyn Fn(&[&str]) -> String, dir: &Path) {
    use std::fmt::Write as _;
    let mut stream = String::new();
    let mut commit = |number: usize, message: &str, files: &[(String, String)]| {
        let time = 1_700_000_000 + number;
        let author = format!("You <you@example.com> {time} +0200");
        let _ = write!(
            stream,
            "commit refs/heads/main\nauthor {author}\ncommitter {author}\n"
        );
        let _ = write!(stream, "data {}\n{message}", message.len());
        for (path, text) in files {
            let _ = write!(
                stream,
                "M 100644 inline {path}\ndata {}\n{text}",
                text.len()
            );
        }
    };
    for number in 0..120 {
        let long = format!("line {number}\n{}", "a longer line of text\n".repeat(1500));
        let files = [
            ("src/long.txt".to_owned(), long),
            (format!("many/{number}.txt"), format!("file {number}\n")),
        ];
        commit(
            number,
            &format!("change {number}\n\n{}\n", "why ".repeat(40)),
            &files,
        );
    }
    let last = [
        ("wide.min.js".to_owned(), "x".repeat(60_000)),
        (
            "src/long.txt".to_owned(),
            "every line is another\n".repeat(1500),
        ),
    ];
    commit(120, "the last\n", &last);
    std::fs::write(dir.join("stream"), stream).unwrap();
    git(&["-c", "alias.take=!git fast-import --quiet <stream", "take"]);
}

fn texts<'a>(pages: &'a [Value], list: &str, key: &str) -> Vec<&'a str> {
    pages
        .iter()
        .flat_map(|page| page[list].as_array().unwrap())
        .map(|item| item[key].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn the_log_is_gits_own_in_pages_and_whole() {
    let bench = Bench::new(history);
    let git = run(bench.dir.path(), &["log", "--reverse", "--format=%H"]);
    let expected: Vec<&str> = git.lines().collect();
    let whole = bench.ok(Door::Http, "git_log", json!({})).await;
    assert_eq!(
        texts(std::slice::from_ref(&whole), "commits", "sha"),
        expected
    );
    assert_eq!(whole.get("next_cursor"), None);
    let pages = bench.pages("git_log", json!({})).await;
    assert!(pages.len() > 2);
    assert_eq!(texts(&pages, "commits", "sha"), expected);
    assert!(pages.iter().all(|page| page["total"] == 121));
    let newest = bench
        .ok(
            Door::Mcp,
            "git_log",
            json!({ "order": "newest", "limit": 1 }),
        )
        .await;
    assert_eq!(newest["commits"][0]["message"], "the last\n");
    assert_eq!(newest["commits"][0]["author"]["email"], "you@example.com");
}

#[tokio::test]
async fn pages_do_not_shift_when_a_commit_arrives() {
    let bench = Bench::new(history);
    let first = bench
        .ok(Door::Mcp, "git_log", json!({ "order": "newest" }))
        .await;
    run(
        bench.dir.path(),
        &["commit", "-q", "--allow-empty", "-m", "new"],
    );
    let arguments = json!({ "order": "newest", "cursor": first["next_cursor"] });
    let second = bench.ok(Door::Mcp, "git_log", arguments).await;
    let (first, second) = (
        first["commits"].as_array().unwrap(),
        second["commits"].as_array().unwrap(),
    );
    assert_eq!(first.last().unwrap()["parents"][0], second[0]["sha"]);
}

#[tokio::test]
async fn a_diff_larger_than_the_budget_comes_in_parts_that_make_the_whole() {
    let bench = Bench::new(history);
    let arguments = json!({ "commit": "main", "paths": ["src"] });
    let whole = bench.ok(Door::Http, "git_diff", arguments.clone()).await;
    let parts = bench.pages("git_diff", arguments).await;
    assert!(parts.len() > 2);
    let text = |parts: &[Value]| {
        let files = parts
            .iter()
            .flat_map(|part| part["files"].as_array().unwrap().clone());
        let hunks = files.flat_map(|file| file["hunks"].as_array().unwrap().clone());
        hunks
            .map(|hunk| hunk["text"].as_str().unwrap().to_owned())
            .collect::<String>()
    };
    assert!(
        text(&parts) == text(std::slice::from_ref(&whole)),
        "the parts make the whole"
    );
    // One line that alone is over the budget is cut, and that is said; `git_show_file` reads it whole.
    let wide = json!({ "commit": "main", "paths": ["wide.min.js"] });
    assert_eq!(
        bench.ok(Door::Mcp, "git_diff", wide).await["truncated"],
        true
    );
}

#[tokio::test]
async fn a_file_is_whole_over_http_and_reads_on_over_mcp() {
    let bench = Bench::new(history);
    for path in ["src/long.txt", "wide.min.js"] {
        let whole = bench
            .ok(Door::Http, "git_show_file", json!({ "path": path }))
            .await;
        let parts = bench.pages("git_show_file", json!({ "path": path })).await;
        assert!(parts.len() > 1, "{path}");
        let joined: String = parts
            .iter()
            .map(|part| part["content"].as_str().unwrap())
            .collect();
        assert!(whole["content"] == json!(joined), "{path}");
        assert!(parts[0]["truncated"] == true && parts.last().unwrap().get("truncated").is_none());
    }
    let lines = json!({ "path": "src/long.txt", "start_line": 2, "end_line": 3 });
    let two = bench.ok(Door::Mcp, "git_show_file", lines).await;
    assert_eq!(
        two["content"],
        "every line is another\nevery line is another\n"
    );
}

#[tokio::test]
async fn a_tree_and_a_search_are_whole_page_by_page() {
    let bench = Bench::new(history);
    let git = run(bench.dir.path(), &["ls-tree", "-r", "--name-only", "HEAD"]);
    let pages = bench
        .pages("git_tree", json!({ "recursive": true, "limit": 50 }))
        .await;
    assert_eq!(
        texts(&pages, "entries", "path"),
        git.lines().collect::<Vec<_>>()
    );
    let found = bench
        .pages("git_grep", json!({ "pattern": "every line", "limit": 400 }))
        .await;
    assert_eq!(texts(&found, "matches", "path").len(), 1500);
}

#[tokio::test]
async fn blame_names_the_commit_of_each_line() {
    let bench = Bench::new(history);
    let last = run(bench.dir.path(), &["rev-parse", "main"]);
    let blame = bench
        .ok(Door::Mcp, "git_blame", json!({ "path": "src/long.txt" }))
        .await;
    assert_eq!(blame["total_lines"], 1500);
    assert_eq!(blame["ranges"].as_array().map(Vec::len), Some(1));
    assert_eq!(blame["ranges"][0]["sha"], last.trim());
    let first = bench
        .ok(
            Door::Mcp,
            "git_blame",
            json!({ "path": "many/0.txt", "start_line": 1, "end_line": 1 }),
        )
        .await;
    assert_eq!(first["ranges"][0]["summary"], "change 0");
}

#[tokio::test]
async fn what_does_not_resolve_or_looks_like_an_option_is_refused() {
    let bench = Bench::new(history);
    for (tool, arguments) in [
        ("git_diff", json!({ "commit": "--output=x" })),
        ("git_diff", json!({ "commit": "nonsense" })),
        ("git_diff", json!({ "commit": "main", "parent": "-p" })),
        ("git_show_file", json!({ "path": "../secret" })),
        ("git_show_file", json!({ "path": "/etc/passwd" })),
        ("git_show_file", json!({ "path": "a", "commit": "-" })),
        ("git_log", json!({ "since": "--all" })),
        ("git_log", json!({ "limit": 0 })),
        ("git_tree", json!({ "path": ".." })),
        ("git_grep", json!({ "pattern": "(", "regex": true })),
        ("git_log", json!({ "cursor": "AAAA" })),
    ] {
        let answer = bench.call(Door::Mcp, tool, arguments.clone()).await;
        let kind = answer.failure.map(|failure| failure.kind);
        assert_eq!(
            kind,
            Some(ErrorKind::BadArguments),
            "{tool} {arguments}: {}",
            answer.text
        );
        assert!(!bench.dir.path().join("x").exists());
    }
    let missing = bench
        .call(Door::Mcp, "git_show_file", json!({ "path": "no/such" }))
        .await;
    assert_eq!(
        missing.failure.map(|failure| failure.kind),
        Some(ErrorKind::NotFound)
    );
}

#[tokio::test]
async fn an_empty_repository_has_an_empty_log() {
    let bench = Bench::new(|_, _| {});
    assert_eq!(
        bench.ok(Door::Mcp, "git_log", json!({})).await,
        json!({ "commits": [], "total": 0 })
    );
}

#[test]
fn the_menu_is_a_reviewed_file() {
    let bench = Bench::new(|_, _| {});
    let listing = bench.tools.listing();
    insta::assert_json_snapshot!("tools_list", listing);
}
