use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use futures::future::BoxFuture;
use guildhall_core::{Principal, RepoName, RepoRole, SystemClock};
use guildhall_store::{NewRepo, Principals as _, Role, Roles as _, Store};
use guildhall_testing::hermetic;
use guildhall_tools::{Answer, Caller, Door, ErrorKind, RepoResolver, WantedRepo};
use serde_json::{Value, json};

use super::*;
use crate::under_test::UnderTest;

const OWNER: &str = "you@example.com";
const CONTRIBUTOR: &str = "me@example.com";

/// One repository on disk under every name, with what the store says of the caller.
struct Hosted {
    store: Store,
    repository: Arc<Repository>,
    /// Which is removed in the moment it is to be opened.
    going: Arc<Mutex<Option<RepoName>>>,
}

impl Repositories for Hosted {
    fn open(&self, repo: &RepoAccess) -> Result<Arc<Repository>, ToolError> {
        let going = self.going.lock().unwrap().clone();
        if going.is_some_and(|going| going == repo.name) {
            let act = Act::new(OWNER.parse().unwrap(), SystemClock.now());
            let removed = self.store.remove_repo(act, repo.name.clone());
            // The second time it is gone already.
            let _ = tokio::runtime::Handle::current().block_on(removed);
            return Err(ToolError::internal("it is gone"));
        }
        Ok(Arc::clone(&self.repository))
    }
}

impl RepoResolver for Hosted {
    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        wanted: WantedRepo<'a>,
    ) -> BoxFuture<'a, Result<RepoAccess, ToolError>> {
        Box::pin(async move {
            let name: RepoName = match wanted {
                WantedRepo::Named(name) => name.parse().unwrap(),
                WantedRepo::Implied => "acme/site".parse().unwrap(),
            };
            let user = Principal::user(caller.principal.user_address()).unwrap();
            let standing = self.store.standing(Some(user), name.clone(), None).await?;
            let unseen = || ToolError::not_found(format!("There is no repository `{name}`"));
            let role = standing.repo.ok_or_else(unseen)?;
            Ok(RepoAccess {
                name,
                role,
                coordinates: false,
            })
        })
    }
}

struct Bench {
    _dir: tempfile::TempDir,
    git_dir: PathBuf,
    store: Store,
    tools: UnderTest,
    going: Arc<Mutex<Option<RepoName>>>,
}

impl Bench {
    /// The repositories `acme/site` and `acme/other` over the one at `git_dir`.
    async fn over(dir: tempfile::TempDir, git_dir: PathBuf) -> Self {
        let store = Store::open_sqlite(&dir.path().join("store.db"))
            .await
            .unwrap();
        let owner: Principal = OWNER.parse().unwrap();
        let act = || Act::new(owner.clone(), SystemClock.now());
        store
            .ensure_operator(SystemClock.now(), owner.clone())
            .await
            .unwrap();
        let contributor: Principal = CONTRIBUTOR.parse().unwrap();
        store.add_user(act(), contributor.clone()).await.unwrap();
        let repository = Arc::new(Repository::open(&git_dir).unwrap());
        let head = repository.tip().unwrap().map(|tip| tip.to_string());
        for name in ["acme/site", "acme/other"] {
            let repo = NewRepo {
                name: name.parse().unwrap(),
                public: false,
                default_branch: "main".to_owned(),
                head: head.clone(),
                origin: None,
            };
            store.add_repo(act(), repo).await.unwrap();
        }
        let role = Role::Repo(RepoRole::Contributor);
        let granted = store.grant(act(), "acme/site".parse().unwrap(), contributor, role);
        granted.await.unwrap();
        let going = Arc::<Mutex<_>>::default();
        let hosted = Arc::new(Hosted {
            store: store.clone(),
            repository,
            going: Arc::clone(&going),
        });
        let summaries = Summaries {
            ladder: Arc::new(store.clone()),
            repos: Arc::new(store.clone()),
            repositories: hosted.clone(),
            clock: Arc::new(SystemClock),
        };
        Self {
            _dir: dir,
            git_dir,
            store,
            tools: UnderTest::new(pack(&summaries), Some(hosted)),
            going,
        }
    }

    /// Over a repository of three commits.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        std::fs::create_dir_all(work.join("src/deep")).unwrap();
        run(&work, &["init", "-q", "-b", "main"]);
        let commit = |path: &str, text: &str| {
            std::fs::write(work.join(path), text).unwrap();
            run(&work, &["add", "-A"]);
            run(&work, &["commit", "-q", "-m", &format!("Write {path}")]);
        };
        commit("src/lib.rs", "one\ntwo\nthree\n");
        commit("src/deep/a.rs", "a\n");
        run(&work, &["tag", "v1"]);
        commit("src/lib.rs", "one\ntwo\nthree\nfour\n");
        Self::over(dir, work.join(".git")).await
    }

    fn git(&self, arguments: &[&str]) -> String {
        run(&self.git_dir, arguments)
    }

    async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let arguments = arguments.as_object().unwrap().clone();
        let answer = self
            .call_by(OWNER, Door::Http, tool, Value::Object(arguments))
            .await;
        assert_eq!(answer.failure, None, "{tool}: {}", answer.text);
        answer.payload
    }

    async fn call_by(&self, by: &str, door: Door, tool: &str, arguments: Value) -> Answer {
        self.tools.call_by(by, door, tool, arguments).await
    }

    async fn refused(&self, tool: &str, arguments: Value) -> (ErrorKind, String) {
        let answer = self.call_by(OWNER, Door::Http, tool, arguments).await;
        let failure = answer.failure.unwrap_or_else(|| panic!("{}", answer.text));
        (failure.kind, failure.message)
    }

    async fn paths(&self, arguments: Value) -> Vec<String> {
        let tree = self.ok("ladder_tree", arguments).await;
        let rungs = tree["rungs"].as_array().unwrap();
        rungs
            .iter()
            .map(|rung| rung["path"].as_str().unwrap().to_owned())
            .collect()
    }

    /// A rung for everything that a commit has: the root, directories, files.
    async fn write_all(&self, commit: &str) {
        let rungs = [
            ("_repo", "A site\n\nIt has a library, `src/lib.rs:1-3`"),
            ("src/", "The library"),
            ("src/lib.rs", "Counts to three"),
            ("src/deep/", "Deep things"),
            ("src/deep/a.rs", "One letter"),
            ("release:v1", "The first release"),
        ];
        let mut rungs: Vec<Value> = rungs
            .iter()
            .map(|(path, summary)| json!({ "path": path, "summary": summary, "anchor_commit": commit }))
            .collect();
        rungs.push(json!({ "path": "issue:7", "summary": "It counts wrong" }));
        self.ok("ladder_write_rung", json!({ "rungs": rungs }))
            .await;
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
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn the_menu_is_a_reviewed_file() {
    insta::assert_json_snapshot!("tools_list", Bench::new().await.tools.listing());
}

#[tokio::test]
async fn a_ladder_is_written_and_read_back_with_how_far_the_code_moved_on() {
    let bench = Bench::new().await;
    let second = bench.git(&["rev-parse", "main~1"]);
    bench.write_all("v1").await;
    let tree = bench.ok("ladder_tree", json!({})).await;
    assert_eq!(tree["commit"], bench.git(&["rev-parse", "main"]).as_str());
    let told: Vec<_> = tree["rungs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rung| {
            let text = |key: &str| rung[key].as_str().unwrap_or_default().to_owned();
            (
                text("path"),
                text("kind"),
                rung["stale"] == true,
                rung["behind"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("_repo", "repo", true, 1),
        ("issue:7", "issue", false, 0),
        ("release:v1", "release", false, 0),
        ("src/", "directory", true, 1),
        ("src/deep/", "directory", false, 0),
        ("src/deep/a.rs", "file", false, 0),
        ("src/lib.rs", "file", true, 1),
    ]
    .map(|(path, kind, stale, behind)| (path.to_owned(), kind.to_owned(), stale, behind));
    assert_eq!(told, expected);
    assert_eq!(tree["rungs"][0]["anchor_commit"], second.as_str());
    assert_eq!(tree["rungs"][0]["author"], OWNER);
    assert_eq!(tree["rungs"][1].get("anchor_commit"), None);

    let read = bench
        .ok("ladder_read", json!({ "path": "src/lib.rs" }))
        .await;
    assert_eq!(
        (&read["rung"]["stale"], &read["rung"]["behind"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(read.get("history"), None);
    bench
        .ok("ladder_write_rung", json!({ "path": "src/lib.rs", "summary": "Counts to four", "anchor_commit": "main", "version": 1 }))
        .await;
    let read = bench
        .ok(
            "ladder_read",
            json!({ "path": "src/lib.rs", "history": true }),
        )
        .await;
    assert_eq!(
        (&read["rung"]["stale"], &read["rung"]["version"]),
        (&json!(false), &json!(2))
    );
    assert_eq!(read["history"][0]["summary"], "Counts to three");
    assert_eq!(read["history"].as_array().unwrap().len(), 1);

    // A tag that is moved makes the summary of its release stale.
    bench.git(&["tag", "-f", "v1", "main"]);
    let read = bench
        .ok("ladder_read", json!({ "path": "release:v1" }))
        .await;
    assert_eq!(read["rung"]["stale"], true);
}

#[tokio::test]
async fn a_tree_is_made_smaller_and_paged() {
    let bench = Bench::new().await;
    bench.write_all("main").await;
    assert_eq!(bench.paths(json!({ "depth": 0 })).await, ["_repo"]);
    assert_eq!(
        bench.paths(json!({ "depth": 1 })).await,
        ["_repo", "issue:7", "release:v1", "src/"]
    );
    for under in ["src/deep/", "src/deep"] {
        let arguments = json!({ "under": under });
        assert_eq!(bench.paths(arguments).await, ["src/deep/", "src/deep/a.rs"]);
    }
    assert_eq!(
        bench.paths(json!({ "under": "src/", "depth": 1 })).await,
        ["src/", "src/deep/", "src/lib.rs"]
    );
    let preview = bench
        .ok("ladder_tree", json!({ "preview": true, "depth": 0 }))
        .await;
    assert_eq!(
        (
            &preview["rungs"][0]["summary"],
            &preview["rungs"][0]["truncated"]
        ),
        (&json!("A site"), &json!(true))
    );

    let whole = bench.paths(json!({})).await;
    let (mut together, mut arguments, mut pages) = (Vec::new(), json!({ "max_bytes": 1024 }), 0);
    loop {
        let page = bench
            .tools
            .ok(Door::Mcp, "ladder_tree", arguments.clone())
            .await;
        assert!(guildhall_tools::json_len(&page) <= 1024);
        let rungs = page["rungs"].as_array().unwrap();
        together.extend(
            rungs
                .iter()
                .map(|rung| rung["path"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        match page.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(together, whole);
    assert!(pages > 1);
}

#[tokio::test]
async fn without_a_token_no_address_is_told_and_a_mebibyte_at_most() {
    let bench = Bench::new().await;
    let owner: Principal = OWNER.parse().unwrap();
    let act = Act::new(owner, SystemClock.now());
    let site: RepoName = "acme/site".parse().unwrap();
    bench.store.set_public(act, site, true).await.unwrap();
    let summary = "long ".repeat(6000);
    let rungs: Vec<Value> = (1..=40)
        .map(|n| json!({ "path": format!("issue:{n}"), "summary": summary }))
        .collect();
    bench
        .ok("ladder_write_rung", json!({ "rungs": rungs }))
        .await;
    let anybody = Caller::anybody();
    let name = anybody.principal.name().to_owned();
    let (mut arguments, mut count) = (json!({}), 0);
    loop {
        let page = bench
            .call_by(&name, Door::Http, "ladder_tree", arguments.clone())
            .await;
        assert_eq!(page.failure, None, "{}", page.text);
        assert!(page.text.len() <= 1 << 20 && !page.text.contains("example.com"));
        let rungs = page.payload["rungs"].as_array().unwrap();
        assert!(rungs.iter().all(|rung| rung["author"] == "you"));
        count += rungs.len();
        match page.payload.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(count, 40);
    let whole = bench.ok("ladder_tree", json!({})).await;
    assert_eq!(whole["rungs"].as_array().unwrap().len(), 40);
}

#[tokio::test]
async fn wrong_citations_are_told_when_written_and_when_read() {
    let bench = Bench::new().await;
    let summary = "Right: `src/lib.rs:1-3`, [too](src/lib.rs:4), v1.2:3, https://example.com/a/b:80, example.com:443.\n\
        Wrong: src/lib.rs:4-9, src/gone.rs:1, src/lib.rs:0, (src/lib.rs:3-2), ../etc/passwd:1";
    let given = json!({ "path": "_repo", "summary": summary, "anchor_commit": "main" });
    let written = bench.ok("ladder_write_rung", given).await;
    let read = bench.ok("ladder_read", json!({ "path": "_repo" })).await;
    assert_eq!(
        written["rungs"][0]["wrong_citations"],
        read["rung"]["wrong_citations"]
    );
    let wrong: BTreeMap<&str, &str> = read["rung"]["wrong_citations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|wrong| {
            (
                wrong["citation"].as_str().unwrap(),
                wrong["problem"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = BTreeMap::from([
        ("../etc/passwd:1", "There is no such file at the anchor"),
        ("src/gone.rs:1", "There is no such file at the anchor"),
        (
            "src/lib.rs:0",
            "Lines count from 1, the first not after the last",
        ),
        (
            "src/lib.rs:3-2",
            "Lines count from 1, the first not after the last",
        ),
        ("src/lib.rs:4-9", "The file has 4 lines at the anchor"),
    ]);
    assert_eq!(wrong, expected);
    // At the commit before, the fourth line was not there yet.
    let given = json!({ "path": "_repo", "summary": "src/lib.rs:4", "anchor_commit": "main~0", "version": 1 });
    assert_eq!(
        bench.refused("ladder_write_rung", given).await.0,
        ErrorKind::BadArguments
    );
    let given =
        json!({ "path": "_repo", "summary": "src/lib.rs:4", "anchor_commit": "v1", "version": 1 });
    let written = bench.ok("ladder_write_rung", given).await;
    assert_eq!(
        written["rungs"][0]["wrong_citations"][0]["problem"],
        "The file has 3 lines at the anchor"
    );
}

#[tokio::test]
async fn bad_rungs_are_refused_in_words_and_nothing_is_written() {
    let bench = Bench::new().await;
    bench.write_all("main").await;
    let before = bench.ok("ladder_tree", json!({})).await;
    let long = "x".repeat(32_001);
    let rung = |path: &str| json!({ "path": path, "summary": "New", "anchor_commit": "main" });
    let with = |path: &str, key: &str, value: Value| {
        let mut rung = rung(path);
        if value.is_null() {
            rung.as_object_mut().unwrap().remove(key);
        } else {
            rung[key] = value;
        }
        rung
    };
    let bad = ErrorKind::BadArguments;
    for (wrong, kind, says) in [
        (
            with(
                "src/",
                "anchor_commit",
                json!("0123456789012345678901234567890123456789"),
            ),
            bad,
            "names no commit: no commit has this id",
        ),
        (
            with("src/", "anchor_commit", json!("nonsense")),
            bad,
            "`nonsense` names no commit",
        ),
        (
            with("src/", "anchor_commit", json!("-x")),
            bad,
            "`-x` names no commit",
        ),
        (
            with("src/", "anchor_commit", Value::Null),
            bad,
            "'anchor_commit' is required for `src/`",
        ),
        (
            with("_repo", "anchor_commit", json!(" ")),
            bad,
            "'anchor_commit' is required for `_repo`",
        ),
        (
            with("release:v1", "anchor_commit", Value::Null),
            bad,
            "'anchor_commit' is required for `release:v1`",
        ),
        (
            with("changeset:0123abc", "anchor_commit", Value::Null),
            bad,
            "'anchor_commit' is required",
        ),
        (
            rung("src/gone.rs"),
            bad,
            "There is nothing at `src/gone.rs` in commit ",
        ),
        (rung("gone/"), bad, "There is nothing at `gone/` in commit "),
        (rung("src"), bad, "`src` is a directory in commit "),
        (
            rung("src/lib.rs/"),
            bad,
            "`src/lib.rs/` is a file in commit ",
        ),
        (
            rung("../etc/passwd"),
            bad,
            "`../etc/passwd` is no rung's path",
        ),
        (rung("/etc/passwd"), bad, "`/etc/passwd` is no rung's path"),
        (rung(r"C:\x"), bad, r"`C:\x` is no rung's path"),
        (
            rung("a\u{0}b"),
            bad,
            "is no rung's path: it has a control character in it",
        ),
        (rung("issue:x"), bad, "`issue:x` is no rung's path"),
        (
            with("src/", "summary", json!(long)),
            bad,
            "The summary of `src/` has 32001 bytes, and may have 32000",
        ),
        (
            with("src/", "summary", json!("a\u{0}")),
            bad,
            "contains the character U+0000",
        ),
        (
            with("src/", "version", json!(7)),
            ErrorKind::Conflict,
            "The version of `src/` is 1, not 7",
        ),
        (
            with("src/", "version", json!(0)),
            ErrorKind::Conflict,
            "The version of `src/` is 1, not 0",
        ),
        (
            with("README", "version", json!(1)),
            bad,
            "There is nothing at `README`",
        ),
        (rung("src/lib.rs"), bad, "`src/lib.rs` is given twice"),
    ] {
        let said = bench
            .refused(
                "ladder_write_rung",
                json!({ "rungs": [rung("src/lib.rs"), wrong] }),
            )
            .await;
        assert!(said.0 == kind && said.1.contains(says), "{says}: {said:?}");
    }
    for (wrong, says) in [
        (json!({}), "'path' is required"),
        (json!({ "path": "src/" }), "'summary' is required"),
        (json!({ "rungs": [] }), "'rungs' has 1 to 1000 rungs, not 0"),
        (
            json!({ "rungs": [rung("src/")], "path": "src/" }),
            "Give 'rungs', or the keys of one rung, not both",
        ),
        (json!({ "rungs": [{ "path": "src/" }] }), "summary"),
        (with("src/", "version", json!(-1)), "version"),
        (with("src/", "sumary", json!("x")), "sumary"),
    ] {
        let said = bench.refused("ladder_write_rung", wrong).await;
        assert!(said.0 == bad && said.1.contains(says), "{says}: {said:?}");
    }
    assert_eq!(bench.ok("ladder_tree", json!({})).await, before);
    assert_eq!(
        bench.ok("ladder_search", json!({ "query": "New" })).await["total"],
        0
    );
    let missing = bench
        .refused("ladder_read", json!({ "path": "src/gone.rs" }))
        .await;
    assert_eq!(
        missing,
        (
            ErrorKind::NotFound,
            "There is no rung `src/gone.rs` in acme/site".to_owned()
        )
    );
    assert_eq!(
        bench
            .refused("ladder_read", json!({ "path": ".." }))
            .await
            .0,
        bad
    );
    assert_eq!(
        bench
            .refused("ladder_tree", json!({ "under": "../.." }))
            .await
            .0,
        bad
    );
}

#[tokio::test]
async fn bad_queries_are_refused_in_words_and_operators_are_text() {
    let bench = Bench::new().await;
    bench.write_all("main").await;
    let mega = "a".repeat(1 << 20);
    for (query, says) in [
        (json!({ "query": "" }), "'query' is required"),
        (json!({ "query": " \n" }), "'query' is required"),
        (json!({}), "'query' is required"),
        (
            json!({ "query": mega }),
            "'query' may have 1000 characters, and this has 1048576",
        ),
        (
            json!({ "query": "x", "kind": "files" }),
            "`files` is no kind of rung",
        ),
        (
            json!({ "query": "x", "under": "../x" }),
            "'under' must be a directory",
        ),
        (
            json!({ "query": "x", "cursor": "AAAA" }),
            "'cursor' is not one that this call gave out",
        ),
    ] {
        let said = bench.refused("ladder_search", query).await;
        assert!(
            said.0 == ErrorKind::BadArguments && said.1.contains(says),
            "{says}: {said:?}"
        );
    }
    for (query, paths) in [
        ("library", vec!["src/", "_repo"]),
        ("\"the library\"", vec!["src/"]),
        ("libr*", vec!["src/", "_repo"]),
        ("count", vec!["src/lib.rs", "issue:7"]),
        ("library OR letter", vec![]),
        ("library NOT site", vec![]),
        ("NEAR(library site)", vec![]),
        ("summary:library", vec![]),
        ("\"unclosed library", vec![]),
        ("*", vec![]),
    ] {
        let found = bench.ok("ladder_search", json!({ "query": query })).await;
        let results = found["results"].as_array().unwrap();
        let got: BTreeSet<_> = results
            .iter()
            .map(|result| result["path"].as_str().unwrap())
            .collect();
        assert_eq!(got, paths.iter().copied().collect(), "{query}");
        assert_eq!(found["total"], paths.len(), "{query}");
    }
    let found = bench
        .ok(
            "ladder_search",
            json!({ "query": "library", "kind": "repo", "limit": 1 }),
        )
        .await;
    assert_eq!(
        found,
        json!({ "results": [{ "repo": "acme/site", "path": "_repo", "kind": "repo", "stale": false,
            "snippet": "A site It has a library, `src/lib.rs:1-3`" }], "total": 1 })
    );
}

#[tokio::test]
async fn only_who_may_writes_and_nobody_finds_what_they_cannot_see() {
    let bench = Bench::new().await;
    bench.write_all("main").await;
    let rung = json!({ "path": "src/", "summary": "Hidden", "anchor_commit": "main", "repo": "acme/other" });
    bench.ok("ladder_write_rung", rung).await;
    let agent = format!("{CONTRIBUTOR}[claude]");
    for by in [CONTRIBUTOR, agent.as_str()] {
        for (tool, arguments) in [
            // Who may not write is told so before anything is said of what they gave.
            (
                "ladder_write_rung",
                json!({ "path": "..", "summary": "Mine", "anchor_commit": "nonsense" }),
            ),
            ("ladder_reindex", json!({})),
        ] {
            let answer = bench.call_by(by, Door::Http, tool, arguments).await;
            assert_eq!(
                answer.failure.unwrap().kind,
                ErrorKind::Forbidden,
                "{by} {tool}"
            );
        }
        let found = bench
            .call_by(
                by,
                Door::Http,
                "ladder_search",
                json!({ "query": "hidden" }),
            )
            .await;
        assert_eq!(found.payload, json!({ "results": [], "total": 0 }));
        let hidden = json!({ "repo": "acme/other" });
        let answer = bench.call_by(by, Door::Http, "ladder_tree", hidden).await;
        assert_eq!(answer.failure.unwrap().kind, ErrorKind::NotFound);
    }
    let all = bench
        .ok("ladder_search", json!({ "query": "hidden" }))
        .await;
    assert_eq!(all["results"][0]["repo"], "acme/other");
    let here = bench
        .ok(
            "ladder_search",
            json!({ "query": "hidden", "this_repo": true }),
        )
        .await;
    assert_eq!(here["total"], 0);
    assert_eq!(
        bench.ok("ladder_reindex", json!({})).await,
        json!({ "rungs": 7 })
    );
    assert_eq!(
        bench
            .ok("ladder_search", json!({ "query": "library" }))
            .await["total"],
        2
    );
    bench.store.close().await;
}

#[tokio::test]
async fn a_repository_that_is_removed_during_a_search_is_left_out_of_it() {
    let bench = Bench::new().await;
    for repo in ["acme/site", "acme/other"] {
        bench
            .ok(
                "ladder_write_rung",
                json!({ "repo": repo, "path": "src/", "summary": "Holds the sources", "anchor_commit": "main" }),
            )
            .await;
    }
    let query = json!({ "query": "sources" });
    assert_eq!(bench.ok("ladder_search", query.clone()).await["total"], 2);
    *bench.going.lock().unwrap() = Some("acme/other".parse().unwrap());
    let found = bench.ok("ladder_search", query).await;
    assert_eq!(found["total"], 1, "{found}");
    assert_eq!(found["results"][0]["repo"], "acme/site", "{found}");
    assert_eq!(found["results"][1], Value::Null, "{found}");
    bench.store.close().await;
}

/// What `git` would say of this project's own history, for every rung of its Ladder: in a checkout without its history
/// there is nothing to compare.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ladder_of_this_project_reads_back_whole_and_agrees_with_git() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let Some(git_dir) = own_history(root) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::over(dir, git_dir).await;
    let commits = bench.git(&["rev-list", "--first-parent", "HEAD"]);
    let commits: Vec<&str> = commits.lines().collect();
    // Each path is summed up at one of a few commits along the way, some again later, as a team would have done it.
    let last = commits.len() - 1;
    let anchors: Vec<&str> = (0..6).map(|n| commits[last - last * n / 5]).collect();
    let mut rungs: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for (n, anchor) in anchors.iter().enumerate() {
        let listed = bench.git(&["ls-tree", "-r", "-t", "--full-tree", anchor]);
        let listed = listed.lines().filter_map(|line| {
            let (about, path) = line.split_once('\t')?;
            let slash = if about.contains(" tree ") { "/" } else { "" };
            (!path.starts_with('"')).then(|| format!("{path}{slash}"))
        });
        for (k, path) in listed.chain(["_repo".to_owned()]).enumerate() {
            if k % anchors.len() == n || !rungs.contains_key(&path) {
                let summary = format!("What `{path}` holds, as read at step {n}");
                rungs.insert(path, (summary, anchor));
            }
        }
    }
    let given: Vec<Value> = rungs
        .iter()
        .map(|(path, (summary, anchor))| json!({ "path": path, "summary": summary, "anchor_commit": anchor }))
        .collect();
    for part in given.chunks(500) {
        bench
            .ok("ladder_write_rung", json!({ "rungs": part }))
            .await;
    }
    let tree = bench.ok("ladder_tree", json!({})).await;
    assert_eq!(tree.get("next_cursor"), None);
    let told = tree["rungs"].as_array().unwrap();
    assert_eq!(told.len(), rungs.len());
    let tip = tree["commit"].as_str().unwrap();
    let by_git = by_git(&bench, &rungs, tip);
    let mut stale = 0;
    for rung in told {
        let path = rung["path"].as_str().unwrap();
        assert_eq!(rung["summary"], rungs[path].0);
        assert_eq!(
            (
                rung["stale"].as_bool().unwrap(),
                rung["behind"].as_u64().unwrap()
            ),
            by_git[path],
            "{path}"
        );
        stale += usize::from(rung["stale"] == true);
    }
    assert!(
        told.len() > 100 && stale > 10 && stale < told.len(),
        "{stale} of {} are stale",
        told.len()
    );
    let found = bench
        .ok(
            "ladder_search",
            json!({ "query": "\"crates/guildhall-store/src/lib.rs\"" }),
        )
        .await;
    assert_eq!(
        found["results"][0]["path"],
        "crates/guildhall-store/src/lib.rs"
    );
}

/// For each rung, whether `git diff --quiet <anchor> <tip> -- <path>` finds a difference, and how many commits
/// `git log <anchor>..<tip> -- <path>` shows; several at once, for each is a process of its own.
fn by_git(
    bench: &Bench,
    rungs: &BTreeMap<String, (String, &str)>,
    tip: &str,
) -> BTreeMap<String, (bool, u64)> {
    let all: Vec<(&String, &str)> = rungs
        .iter()
        .map(|(path, (_, anchor))| (path, *anchor))
        .collect();
    let ask = |path: &str, anchor: &str| {
        let path = if path == "_repo" {
            "."
        } else {
            path.trim_end_matches('/')
        };
        let git = |arguments: &[&str]| {
            hermetic("git", &bench.git_dir)
                .current_dir(&bench.git_dir)
                .args(["--literal-pathspecs"])
                .args(arguments)
                .output()
                .unwrap()
        };
        let same = git(&["diff", "--quiet", anchor, tip, "--", path])
            .status
            .success();
        let log = git(&[
            "log",
            "--format=%H",
            &format!("{anchor}..{tip}"),
            "--",
            path,
        ]);
        assert!(log.status.success());
        let count = String::from_utf8_lossy(&log.stdout).lines().count();
        (!same, count as u64)
    };
    std::thread::scope(|scope| {
        let parts: Vec<_> = all
            .chunks(all.len().div_ceil(4))
            .map(|part| {
                scope.spawn(move || {
                    let told = part
                        .iter()
                        .map(|(path, anchor)| ((*path).clone(), ask(path, anchor)));
                    told.collect::<Vec<_>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
}

/// The git directory of the checkout these tests are in. An export or a shallow clone has no history to compare with: that
/// is said, and in CI, which has it all, it is a failure.
fn own_history(root: &Path) -> Option<PathBuf> {
    let in_ci = std::env::var_os("CI").is_some();
    let asked = hermetic("git", root)
        .current_dir(root)
        .args(["rev-parse", "--git-common-dir", "--is-shallow-repository"])
        .output()
        .ok()
        .filter(|asked| asked.status.success() && root.join(".git").exists());
    let said = asked.map(|asked| String::from_utf8_lossy(&asked.stdout).into_owned());
    let whole = said.as_deref().and_then(|said| {
        let (dir, shallow) = said.trim().split_once('\n')?;
        (shallow == "false").then(|| root.join(dir))
    });
    if whole.is_none() {
        assert!(!in_ci, "CI needs a checkout with its history: {said:?}");
        eprintln!("left out: the Ladder of this project, whose history is not here");
    }
    whole
}
