use std::path::Path;

use futures::future::BoxFuture;
use guildhall_core::SystemClock;
use guildhall_core::SystemIds;
use guildhall_git::Repository;
use guildhall_store::{Act, NewRepo, Principals as _, Repos as _, Role, Roles as _, Store};
use guildhall_testing::hermetic;
use guildhall_tools::{
    Answer, Caller, Door, ErrorKind, RepoAccess, RepoResolver, WantedRepo, json_len,
};
use serde_json::{Value, json};

use super::*;
use crate::under_test::UnderTest;

const OWNER: &str = "you@example.com";
const MAINTAINER: &str = "max@example.com";
const WORKER: &str = "ann@example.com[claude]";
const SIBLING: &str = "ann@example.com[codex]";
const READER: &str = "eve@example.com";

/// The one repository, with what the store says of the caller.
struct One {
    store: Store,
    repository: Arc<Repository>,
}

impl Repositories for One {
    fn open(&self, _: &RepoAccess) -> Result<Arc<Repository>, ToolError> {
        Ok(Arc::clone(&self.repository))
    }
}

impl RepoResolver for One {
    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        _: WantedRepo<'a>,
    ) -> BoxFuture<'a, Result<RepoAccess, ToolError>> {
        Box::pin(async move {
            let name: guildhall_core::RepoName = "acme/site".parse().unwrap();
            let user = Principal::user(caller.principal.user_address()).unwrap();
            let standing = self.store.standing(Some(user), name.clone(), None).await?;
            let role = standing
                .repo
                .ok_or_else(|| ToolError::not_found("There is no repository `acme/site`"))?;
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
    tools: UnderTest,
    store: Store,
    base: String,
}

impl Bench {
    async fn new() -> Self {
        Self::with(Rules::default()).await
    }

    async fn with(rules: Rules) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = repository(dir.path());
        let store = Store::open_sqlite(&dir.path().join("store.db"))
            .await
            .unwrap();
        people(&store, &base).await;
        let repository = Repository::open(&dir.path().join("site/.git")).unwrap();
        let one = Arc::new(One {
            store: store.clone(),
            repository: Arc::new(repository),
        });
        let queue = Queue {
            lanes: Arc::new(store.clone()),
            asks: Arc::new(store.clone()),
            repositories: one.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            rules,
        };
        Self {
            _dir: dir,
            tools: UnderTest::new(pack(&queue), Some(one)),
            store,
            base,
        }
    }

    async fn answer(&self, by: &str, tool: &str, arguments: Value) -> Answer {
        self.tools.call_by(by, Door::Http, tool, arguments).await
    }

    /// The result of a call that must succeed and keep to the tool's own schema.
    async fn ok(&self, by: &str, door: Door, tool: &str, arguments: Value) -> Value {
        let answer = self.tools.call_by(by, door, tool, arguments.clone()).await;
        assert_eq!(answer.failure, None, "{by} {tool} {arguments}");
        let schema = self.tools.catalog.tool(tool).unwrap().output_schema();
        jsonschema::draft202012::new(&Value::Object((**schema).clone()))
            .unwrap()
            .validate(&answer.payload)
            .unwrap_or_else(|error| panic!("{tool}: {error}: {}", answer.text));
        answer.payload
    }

    async fn call(&self, by: &str, tool: &str, arguments: Value) -> Value {
        self.ok(by, Door::Http, tool, arguments).await
    }

    async fn refused(&self, by: &str, tool: &str, arguments: Value) -> (ErrorKind, String) {
        let answer = self.answer(by, tool, arguments.clone()).await;
        let failure = answer
            .failure
            .unwrap_or_else(|| panic!("{by} {tool} {arguments} went through"));
        (failure.kind, failure.message)
    }

    /// A new ask in `_repo`.
    async fn post(&self, kind: &str, more: Value) -> String {
        let mut arguments = json!({ "lane_id": "_repo", "kind": kind, "title": "Add search" });
        if let Value::Object(more) = more {
            arguments.as_object_mut().unwrap().extend(more);
        }
        let posted = self.call(WORKER, "ask_post", arguments).await;
        text(&posted["ask"]["id"])
    }

    fn changeset(&self) -> Value {
        json!({
            "base_commit": self.base, "message": "Add search",
            "files": [{ "path": "src/search.rs", "content": "fn search() {}\n" }],
        })
    }

    /// Work that was done; gives the id of its review.
    async fn made(&self) -> String {
        let work = self.post("work", json!({})).await;
        self.call(WORKER, "ask_claim", json!({ "ask_id": work }))
            .await;
        let answered =
            json!({ "ask_id": work, "verdict": "complete", "changeset": self.changeset() });
        let answered = self.call(WORKER, "ask_answer", answered).await;
        text(&answered["ask"]["answer"]["payload"]["posted"])
    }

    /// Every page of a call over MCP.
    async fn pages(&self, tool: &str, arguments: Value) -> Vec<Value> {
        self.pages_by(WORKER, tool, arguments).await
    }

    async fn pages_by(&self, by: &str, tool: &str, mut arguments: Value) -> Vec<Value> {
        let mut pages = Vec::new();
        loop {
            let page = self.ok(by, Door::Mcp, tool, arguments.clone()).await;
            assert!(json_len(&page) <= 16 << 10, "{tool}: {}", json_len(&page));
            let next = page.get("next_cursor").cloned();
            pages.push(page);
            match next {
                Some(cursor) => arguments["cursor"] = cursor,
                None => return pages,
            }
            assert!(pages.len() < 100, "paging does not end");
        }
    }
}

/// A repository with one commit, whose id is given back.
fn repository(dir: &Path) -> String {
    let dir = dir.join("site");
    std::fs::create_dir(&dir).unwrap();
    let git = |arguments: &[&str]| {
        let output = hermetic("git", &dir)
            .current_dir(&dir)
            .args(["-c", "user.name=You", "-c", "user.email=you@example.com"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(dir.join("README.md"), "Site\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "Begin"]);
    git(&["rev-parse", "HEAD"])
}

async fn people(store: &Store, head: &str) {
    let owner: Principal = OWNER.parse().unwrap();
    let act = || Act::new(owner.clone(), SystemClock.now());
    let now = SystemClock.now();
    store.ensure_operator(now, owner.clone()).await.unwrap();
    let repo = NewRepo {
        name: "acme/site".parse().unwrap(),
        public: false,
        default_branch: "main".to_owned(),
        head: Some(head.to_owned()),
        origin: None,
    };
    let repo = store.add_repo(act(), repo).await.unwrap().name;
    for (user, role) in [
        ("ann@example.com", RepoRole::Contributor),
        (MAINTAINER, RepoRole::Maintainer),
        (READER, RepoRole::Reader),
    ] {
        let user: Principal = user.parse().unwrap();
        store.add_user(act(), user.clone()).await.unwrap();
        let role = Role::Repo(role);
        let granted = store.grant(act(), repo.clone(), user, role);
        granted.await.unwrap();
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value}"))
        .to_owned()
}

#[tokio::test]
async fn the_menu_is_a_reviewed_file() {
    let bench = Bench::new().await;
    insta::assert_json_snapshot!("listing", bench.tools.listing());
}

#[tokio::test]
async fn work_is_posted_found_claimed_answered_and_reviewed() {
    let bench = Bench::new().await;
    let work = bench
        .post("work", json!({ "priority": 2, "files": ["src/search.rs"] }))
        .await;
    let other = bench
        .post("work", json!({ "files": ["src/search.rs"] }))
        .await;
    let found = bench
        .call(WORKER, "ask_query_claimable", json!({ "lane_id": "_repo" }))
        .await;
    assert_eq!(text(&found["asks"][0]["id"]), work);
    assert_eq!(
        found["asks"][0]["touches_same_files"],
        json!([{ "ask_id": other, "files": ["src/search.rs"] }])
    );
    let arguments = json!({ "ask_id": work, "lane_id": "_repo", "actor": WORKER, "from": WORKER });
    let claimed = bench.call(WORKER, "ask_claim", arguments).await;
    assert_eq!(claimed["ask"]["claim"]["fence"], 1);
    assert_eq!(claimed["ask"]["claim"]["by"], WORKER);
    let answer = json!({
        "ask_id": work, "verdict": "complete", "fence": 1, "note": "Done", "changeset": bench.changeset(),
    });
    let answered = bench.call(WORKER, "ask_answer", answer).await["ask"].take();
    assert_eq!(answered["state"], "answered");
    assert_eq!(answered["answer"]["note"], "Done");
    let review = text(&answered["answer"]["payload"]["posted"]);
    let read = bench
        .call(MAINTAINER, "ask_get", json!({ "ask_id": review }))
        .await;
    assert_eq!(read["ask"]["kind"], "changeset_review");
    assert_eq!(read["ask"]["work_ask_id"], work);
    assert_eq!(read["changeset"]["base_commit"], bench.base);
    assert_eq!(
        read["changeset"]["files"],
        json!([{ "path": "src/search.rs", "content": "fn search() {}\n" }])
    );
    bench
        .call(MAINTAINER, "ask_claim", json!({ "ask_id": review }))
        .await;
    let granted = json!({ "ask_id": review, "verdict": "grant" });
    let granted = bench.call(MAINTAINER, "ask_answer", granted).await;
    let submit = text(&granted["ask"]["answer"]["payload"]["posted"]);
    bench
        .call(MAINTAINER, "ask_claim", json!({ "ask_id": submit }))
        .await;
    let early = json!({ "ask_id": submit, "verdict": "complete" });
    let (kind, message) = bench.refused(MAINTAINER, "ask_answer", early).await;
    assert_eq!(kind, ErrorKind::Conflict);
    assert!(message.contains("commit_changeset"), "{message}");
    let lane = bench
        .call(READER, "lane_get", json!({ "lane_id": "_repo" }))
        .await["lane"]
        .take();
    let kinds: Vec<_> = lane["asks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ask| text(&ask["kind"]))
        .collect();
    assert_eq!(
        kinds,
        ["work", "work", "changeset_review", "submit_changeset"]
    );
    let steps = lane["history"].as_array().unwrap();
    assert_eq!(steps.len(), 9);
    assert_eq!(steps[0]["what"], "ask.posted");
}

#[tokio::test]
async fn every_forbidden_step_is_refused_and_changes_nothing() {
    let bench = Bench::new().await;
    let review = bench.made().await;
    let work = bench.post("work", json!({})).await;
    let rung = bench.post("write_rung", json!({})).await;
    let lane = bench
        .call(WORKER, "lane_propose", json!({ "title": "Mine" }))
        .await;
    let lane = text(&lane["lane"]["id"]);
    let before = bench.call(OWNER, "lane_list", json!({})).await;
    let claim = |id: &str| ("ask_claim", json!({ "ask_id": id }));
    let in_lane = |tool, more: Value| {
        let mut arguments = json!({ "lane_id": lane });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        (tool, arguments)
    };
    for (by, (tool, arguments)) in [
        (READER, claim(&work)),
        (
            READER,
            (
                "ask_post",
                json!({ "lane_id": "_repo", "kind": "work", "title": "x" }),
            ),
        ),
        (READER, ("lane_propose", json!({ "title": "x" }))),
        (WORKER, claim(&rung)),
        (WORKER, claim(&review)),
        (SIBLING, claim(&review)),
        (
            WORKER,
            (
                "lane_propose",
                json!({ "title": "x", "maintainers": ["ann@example.com"] }),
            ),
        ),
        (
            MAINTAINER,
            (
                "lane_propose",
                json!({ "title": "x", "maintainers": [MAINTAINER] }),
            ),
        ),
        (MAINTAINER, in_lane("lane_close", json!({}))),
        (
            MAINTAINER,
            in_lane("lane_add_related", json!({ "related_lane_id": "_repo" })),
        ),
        (
            WORKER,
            in_lane("lane_set", json!({ "allow_self_review": true })),
        ),
        (
            MAINTAINER,
            in_lane("lane_set", json!({ "allow_self_review": true })),
        ),
        (
            "you@example.com[claude]",
            in_lane("lane_set", json!({ "allow_self_review": true })),
        ),
        (
            WORKER,
            ("ask_claim", json!({ "ask_id": work, "actor": OWNER })),
        ),
        (
            WORKER,
            (
                "ask_claim",
                json!({ "ask_id": work, "from": "ann@example.com" }),
            ),
        ),
    ] {
        let (kind, message) = bench.refused(by, tool, arguments.clone()).await;
        assert_eq!(
            kind,
            ErrorKind::Forbidden,
            "{by} {tool} {arguments}: {message}"
        );
    }
    assert_eq!(bench.call(OWNER, "lane_list", json!({})).await, before);
    let (kind, _) = bench
        .refused("out@example.com", "lane_list", json!({}))
        .await;
    assert_eq!(kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_late_holder_and_a_wrong_fence_are_refused() {
    let bench = Bench::with(Rules {
        lease: SignedDuration::from_millis(1),
        ..Rules::default()
    })
    .await;
    let ask = bench.post("triage", json!({})).await;
    bench
        .call(WORKER, "ask_claim", json!({ "ask_id": ask }))
        .await;
    while bench
        .answer(MAINTAINER, "ask_claim", json!({ "ask_id": ask }))
        .await
        .failure
        .is_some()
    {}
    let before = bench.call(OWNER, "ask_get", json!({ "ask_id": ask })).await;
    for (tool, more) in [
        ("ask_answer", json!({ "verdict": "complete" })),
        ("ask_answer", json!({ "verdict": "complete", "fence": 1 })),
        ("ask_release", json!({ "fence": 1 })),
        ("ask_renew", json!({})),
    ] {
        let mut arguments = json!({ "ask_id": ask });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (kind, message) = bench.refused(WORKER, tool, arguments).await;
        assert_eq!(kind, ErrorKind::Conflict, "{message}");
        assert!(message.contains("fence 2"), "{message}");
    }
    let old = json!({ "ask_id": ask, "verdict": "complete", "fence": 1 });
    let (kind, _) = bench.refused(MAINTAINER, "ask_answer", old).await;
    assert_eq!(kind, ErrorKind::Conflict);
    assert_eq!(
        bench.call(OWNER, "ask_get", json!({ "ask_id": ask })).await,
        before
    );
}

#[tokio::test]
async fn reading_an_ask_keeps_its_holders_claim_alive() {
    let bench = Bench::new().await;
    let ask = bench.post("triage", json!({})).await;
    let claimed = bench
        .call(WORKER, "ask_claim", json!({ "ask_id": ask }))
        .await;
    let expires = |answer: &Value| text(&answer["ask"]["claim"]["expires_at"]);
    let other = bench
        .call(SIBLING, "ask_get", json!({ "ask_id": ask }))
        .await;
    assert_eq!(expires(&other), expires(&claimed));
    let holder = bench
        .call(WORKER, "ask_get", json!({ "ask_id": ask }))
        .await;
    assert!(expires(&holder) >= expires(&claimed));
    let last = holder["history"].as_array().unwrap().last().unwrap();
    assert_eq!(last["what"], "ask.renewed");
    let renewed = bench
        .call(WORKER, "ask_renew", json!({ "ask_id": ask, "fence": 1 }))
        .await;
    assert!(expires(&renewed) >= expires(&holder));
    bench
        .call(WORKER, "ask_release", json!({ "ask_id": ask, "fence": 1 }))
        .await;
    let read = bench
        .call(WORKER, "ask_get", json!({ "ask_id": ask }))
        .await;
    assert_eq!(read["ask"]["claim"], Value::Null);
}

#[tokio::test]
async fn a_key_gives_the_first_answer_and_refuses_other_arguments() {
    let bench = Bench::new().await;
    let post = |title: &str| json!({ "lane_id": "_repo", "kind": "work", "title": title, "idempotency_key": "k" });
    let first = bench.call(WORKER, "ask_post", post("One")).await;
    assert_eq!(bench.call(WORKER, "ask_post", post("One")).await, first);
    let (kind, _) = bench.refused(WORKER, "ask_post", post("Two")).await;
    assert_eq!(kind, ErrorKind::Conflict);
    // The key is the caller's own.
    assert_ne!(bench.call(SIBLING, "ask_post", post("One")).await, first);
    let id = text(&first["ask"]["id"]);
    let claim = json!({ "ask_id": id, "idempotency_key": "k" });
    let claimed = bench.call(WORKER, "ask_claim", claim.clone()).await;
    assert_eq!(bench.call(WORKER, "ask_claim", claim).await, claimed);
}

#[tokio::test]
async fn a_changeset_that_git_would_not_take_is_refused_before_its_review() {
    let bench = Bench::new().await;
    let work = bench.post("work", json!({})).await;
    bench
        .call(WORKER, "ask_claim", json!({ "ask_id": work }))
        .await;
    let answer = |base: &str, file: Value| {
        json!({
            "ask_id": work, "verdict": "complete",
            "changeset": { "base_commit": base, "message": "x", "files": [file] },
        })
    };
    for path in [
        "../x",
        "/etc/passwd",
        ".git/config",
        ".GIT/config",
        "git~1/config",
        "a/.git./x",
        "a\u{200c}/../b",
        "C:x/..",
        "a\0b",
    ] {
        let file = json!({ "path": path, "content": "x" });
        let (kind, message) = bench
            .refused(WORKER, "ask_answer", answer(&bench.base, file))
            .await;
        assert_eq!(kind, ErrorKind::BadArguments, "{path:?}: {message}");
    }
    let file = json!({ "path": "a", "content": "x" });
    for (base, expected) in [
        ("--help", ErrorKind::BadArguments),
        (
            "0000000000000000000000000000000000000001",
            ErrorKind::NotFound,
        ),
    ] {
        let (kind, message) = bench
            .refused(WORKER, "ask_answer", answer(base, file.clone()))
            .await;
        assert!(
            kind == expected || kind == ErrorKind::BadArguments,
            "{base}: {message}"
        );
    }
    let (kind, message) = bench.refused(WORKER, "ask_answer", answer(" ", file)).await;
    assert_eq!(
        (kind, message.as_str()),
        (
            ErrorKind::BadArguments,
            "'changeset.base_commit' is required"
        )
    );
    let gone = json!({ "path": "not/there", "delete": true });
    let (kind, _) = bench
        .refused(WORKER, "ask_answer", answer(&bench.base, gone))
        .await;
    assert!(matches!(
        kind,
        ErrorKind::BadArguments | ErrorKind::NotFound
    ));
    let read = bench
        .call(OWNER, "ask_get", json!({ "ask_id": work }))
        .await;
    assert_eq!(read["ask"]["state"], "claimed");
}

#[tokio::test]
async fn long_lanes_and_changesets_are_whole_over_http_and_paged_over_mcp() {
    let bench = Bench::new().await;
    let body = "word ".repeat(200);
    for _ in 0..40 {
        bench.post("triage", json!({ "body": body })).await;
    }
    let whole = bench
        .call(WORKER, "lane_get", json!({ "lane_id": "_repo" }))
        .await["lane"]
        .take();
    assert_eq!(whole["asks"].as_array().unwrap().len(), 40);
    let pages = bench.pages("lane_get", json!({ "lane_id": "_repo" })).await;
    assert!(pages.len() > 3);
    for key in ["asks", "history"] {
        let parts: Vec<Value> = pages
            .iter()
            .filter_map(|page| page["lane"][key].as_array())
            .flatten()
            .cloned()
            .collect();
        assert_eq!(Value::from(parts), whole[key], "{key}");
    }
    let listed = bench.call(WORKER, "lane_list", json!({})).await;
    let pages = bench.pages("lane_list", json!({})).await;
    let steps: Vec<Value> = pages
        .iter()
        .flat_map(|page| page["lanes"].as_array().unwrap())
        .flat_map(|lane| lane["history"].as_array().unwrap())
        .cloned()
        .collect();
    assert_eq!(Value::from(steps), listed["lanes"][0]["history"]);

    let work = bench.post("work", json!({})).await;
    bench
        .call(WORKER, "ask_claim", json!({ "ask_id": work }))
        .await;
    let long = "line\n".repeat(6000);
    let files = json!([
        { "path": "a", "content": long }, { "path": "b", "content": "AP8=", "encoding": "base64" },
        { "path": "README.md", "delete": true },
    ]);
    let changeset = json!({ "base_commit": bench.base, "message": "x", "files": files });
    let answer = json!({ "ask_id": work, "verdict": "complete", "changeset": changeset });
    bench.call(WORKER, "ask_answer", answer).await;
    let whole = bench
        .call(WORKER, "ask_get", json!({ "ask_id": work }))
        .await;
    assert_eq!(
        whole["changeset"]["files"][0],
        json!({ "path": "README.md", "delete": true })
    );
    assert_eq!(whole["changeset"]["files"][1]["content"], long);
    assert_eq!(
        whole["changeset"]["files"][2],
        json!({ "path": "b", "content": "AP8=", "encoding": "base64" })
    );
    let pages = bench.pages("ask_get", json!({ "ask_id": work })).await;
    let parts: String = pages
        .iter()
        .flat_map(|page| {
            page["changeset"]["files"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        })
        .filter(|file| file["path"] == "a")
        .map(|file| text(&file["content"]))
        .collect();
    assert_eq!(parts, long);
    let (kind, _) = bench
        .refused(
            WORKER,
            "ask_get",
            json!({ "ask_id": work, "lane_id": "lane-0000000000" }),
        )
        .await;
    assert_eq!(kind, ErrorKind::BadArguments);
}

#[tokio::test]
async fn without_a_token_no_address_is_told_and_a_mebibyte_at_most() {
    let bench = Bench::new().await;
    let act = || Act::new(OWNER.parse().unwrap(), SystemClock.now());
    let site: guildhall_core::RepoName = "acme/site".parse().unwrap();
    bench
        .store
        .set_public(act(), site.clone(), true)
        .await
        .unwrap();
    let lane = json!({ "title": "Mine", "coordinators": ["ann@example.com", MAINTAINER] });
    let lane = bench.call(WORKER, "lane_propose", lane).await;
    let role = Role::Lane {
        lane: text(&lane["lane"]["id"]),
        role: guildhall_core::LaneRole::Maintainer,
    };
    let ann = "ann@example.com".parse().unwrap();
    bench.store.grant(act(), site, ann, role).await.unwrap();
    let note = "long ".repeat(12_000);
    for _ in 0..40 {
        let ask = bench.post("triage", json!({})).await;
        bench
            .call(WORKER, "ask_claim", json!({ "ask_id": ask }))
            .await;
        let answer = json!({ "ask_id": ask, "verdict": "complete", "note": note });
        bench.call(WORKER, "ask_answer", answer).await;
    }
    let whole = bench.call(OWNER, "lane_list", json!({})).await;
    assert!(json_len(&whole) > 2 << 20);
    let anybody = Caller::anybody();
    let (mut arguments, mut steps, mut lanes) = (json!({}), Vec::new(), Vec::new());
    loop {
        let page = bench
            .answer(anybody.principal.name(), "lane_list", arguments.clone())
            .await;
        assert_eq!(page.failure, None, "{}", page.text);
        assert!(page.text.len() <= 1 << 20 && !page.text.contains('@'));
        for lane in page.payload["lanes"].as_array().unwrap() {
            steps.extend(lane["history"].as_array().unwrap().clone());
            lanes.push(lane.clone());
        }
        match page.payload.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    let all = whole["lanes"].as_array().unwrap().iter();
    let all: Vec<_> = all
        .flat_map(|lane| lane["history"].as_array().unwrap())
        .collect();
    assert_eq!(steps.len(), all.len());
    let mine = lanes.iter().find(|lane| lane["title"] == "Mine").unwrap();
    assert_eq!(mine["proposer"], "ann[claude]");
    assert_eq!(mine["coordinators"], json!(["ann", "max"]));
    assert_eq!(mine["maintainers"], json!(["ann", "max", "you"]));
    let granted = steps
        .iter()
        .find(|step| step["data"]["user"] == "ann")
        .unwrap();
    assert_eq!(granted["by"], "you");
}

/// What stands under `pointer` on all of `pages` together.
fn together(pages: &[Value], pointer: &str) -> Vec<Value> {
    let parts = pages
        .iter()
        .filter_map(|page| page.pointer(pointer)?.as_array());
    parts.flatten().cloned().collect()
}

#[tokio::test]
async fn a_large_review_is_found_claimed_and_read_over_mcp() {
    let bench = Bench::new().await;
    let long = "line\n".repeat(6000);
    let path =
        |n: usize| format!("src/some/directory/that/has/a/long/name/and/many/files/{n:04}.rs");
    let mut files: Vec<Value> = (0..400)
        .map(|n| json!({ "path": path(n), "content": format!("fn f{n}() {{}}\n") }))
        .collect();
    files[200] = json!({ "path": path(200), "content": long });
    let changeset = json!({ "base_commit": bench.base, "message": "x", "files": files });
    let work = bench.post("work", json!({})).await;
    bench
        .call(WORKER, "ask_claim", json!({ "ask_id": work }))
        .await;
    let answer = json!({ "ask_id": work, "verdict": "complete", "changeset": changeset });
    let answered = bench.call(WORKER, "ask_answer", answer).await;
    let review = json!({ "ask_id": answered["ask"]["answer"]["payload"]["posted"] });
    let behind = bench.post("work", json!({ "files": [path(1)] })).await;

    let whole = bench.call(OWNER, "ask_get", review.clone()).await;
    assert_eq!(whole["ask"]["files"].as_array().unwrap().len(), 400);
    assert_eq!(whole["ask"].get("files_total"), None);
    let lane = json!({ "lane_id": "_repo" });
    let found = bench
        .ok(MAINTAINER, Door::Mcp, "ask_query_claimable", lane.clone())
        .await;
    let asks = found["asks"].as_array().unwrap();
    assert_eq!(asks.len(), 2);
    assert_eq!(asks[0]["files_total"], 400);
    let first: Vec<_> = asks[0]["files"].as_array().unwrap().iter().collect();
    assert!((1..50).contains(&first.len()) && first[0] == &whole["ask"]["files"][0]);
    assert_eq!(asks[1]["id"], behind);
    assert_eq!(asks[1].get("files_total"), None);
    let claimed = bench
        .ok(MAINTAINER, Door::Mcp, "ask_claim", review.clone())
        .await;
    assert_eq!(claimed["ask"]["files_total"], 400);
    bench.pages("lane_get", lane).await;

    let pages = bench.pages_by(MAINTAINER, "ask_get", review).await;
    assert!(pages.len() < 15, "{}", pages.len());
    assert_eq!(
        Value::from(together(&pages, "/ask/files")),
        whole["ask"]["files"]
    );
    let renewed = together(&pages, "/history");
    let renewed = renewed.iter().filter(|step| step["what"] == "ask.renewed");
    assert_eq!(renewed.count(), 1, "only by the first page");
    let mut read: Vec<Value> = Vec::new();
    for file in together(&pages, "/changeset/files") {
        match read.last_mut().filter(|last| last["path"] == file["path"]) {
            Some(last) => {
                let content = text(&last["content"]) + file["content"].as_str().unwrap();
                last["content"] = content.into();
            }
            None => read.push(json!({ "path": file["path"], "content": file["content"] })),
        }
    }
    assert!(read == files, "{} files", read.len());
}

#[tokio::test]
async fn long_bodies_notes_and_dependencies_are_read_on_over_mcp() {
    let bench = Bench::new().await;
    let mut needs = Vec::new();
    for _ in 0..150 {
        needs.push(bench.post("triage", json!({})).await);
    }
    let long = "é\"word-".repeat(6000);
    let posted = json!({
        "lane_id": "_repo", "kind": "triage", "title": "x", "body": long, "depends_on": needs,
    });
    let posted = bench.ok(WORKER, Door::Mcp, "ask_post", posted).await;
    assert_eq!(posted["ask"]["depends_on_total"], 150);
    assert_eq!(posted["ask"]["truncated"], true);
    let ask = json!({ "ask_id": posted["ask"]["id"] });
    let pages = bench.pages("ask_get", ask.clone()).await;
    let body: String = pages
        .iter()
        .map(|page| text(&page["ask"]["body"]))
        .collect();
    assert!(body == long, "{} of {}", body.len(), long.len());
    assert_eq!(
        Value::from(together(&pages, "/ask/depends_on")),
        json!(needs)
    );
    let step = &together(&pages, "/history")[0];
    assert_eq!(step["data"]["depends_on_total"], 150);
    bench.pages("lane_list", json!({})).await;

    let work =
        json!({ "ask_id": bench.post("work", json!({ "priority": 9, "body": long })).await });
    let lane = json!({ "lane_id": "_repo" });
    let found = bench
        .ok(WORKER, Door::Mcp, "ask_query_claimable", lane)
        .await;
    assert_eq!(found["asks"][0]["truncated"], true);
    assert!(found["asks"].as_array().unwrap().len() > 5);
    bench.call(WORKER, "ask_claim", work.clone()).await;
    let answer = json!({
        "ask_id": work["ask_id"], "verdict": "complete", "note": long, "changeset": bench.changeset(),
    });
    bench.call(WORKER, "ask_answer", answer).await;
    let pages = bench.pages("ask_get", work.clone()).await;
    assert!(pages.len() < 15, "{}", pages.len());
    let files = together(&pages, "/changeset/files");
    assert_eq!(Value::from(files), bench.changeset()["files"]);
    let whole = bench.call(WORKER, "ask_get", work).await;
    assert!(whole["ask"]["answer"]["note"] == long);
    assert_eq!(whole["ask"].get("truncated"), None);
}

#[tokio::test]
async fn one_who_floods_is_held_up_alone() {
    let bench = Bench::with(Rules {
        most_open_asks: 3,
        most_open_lanes: 2,
        ..Rules::default()
    })
    .await;
    for n in 0..3 {
        bench
            .post("triage", json!({ "title": n.to_string() }))
            .await;
    }
    for lane in ["a", "b"] {
        bench
            .call(SIBLING, "lane_propose", json!({ "title": lane }))
            .await;
    }
    for (by, tool, arguments, message) in [
        (
            SIBLING,
            "ask_post",
            json!({ "lane_id": "_repo", "kind": "work", "title": "x" }),
            "`ann@example.com` has 3 unanswered asks",
        ),
        (
            WORKER,
            "lane_propose",
            json!({ "title": "x" }),
            "`ann@example.com` has 2 open lanes",
        ),
    ] {
        let (kind, told) = bench.refused(by, tool, arguments).await;
        assert_eq!(kind, ErrorKind::RateLimited);
        assert!(told.starts_with(message), "{told}");
    }
    let post = json!({ "lane_id": "_repo", "kind": "work", "title": "x" });
    bench.call(MAINTAINER, "ask_post", post).await;
    bench
        .call(MAINTAINER, "lane_propose", json!({ "title": "x" }))
        .await;
}

#[tokio::test]
async fn what_is_required_is_told_and_nothing_else() {
    let bench = Bench::new().await;
    for (tool, arguments, missing) in [
        ("lane_propose", json!({}), "title"),
        ("lane_get", json!({}), "lane_id"),
        (
            "lane_add_related",
            json!({ "lane_id": "_repo" }),
            "related_lane_id",
        ),
        (
            "ask_post",
            json!({ "kind": "work", "title": "x" }),
            "lane_id",
        ),
        (
            "ask_post",
            json!({ "lane_id": "_repo", "title": "x" }),
            "kind",
        ),
        (
            "ask_post",
            json!({ "lane_id": "_repo", "kind": "work" }),
            "title",
        ),
        ("ask_query_claimable", json!({}), "lane_id"),
        ("ask_claim", json!({ "lane_id": "_repo" }), "ask_id"),
        (
            "ask_answer",
            json!({ "ask_id": "ask-0000000000" }),
            "verdict",
        ),
    ] {
        let (kind, message) = bench.refused(WORKER, tool, arguments).await;
        assert_eq!(
            (kind, message),
            (ErrorKind::BadArguments, format!("'{missing}' is required")),
            "{tool}"
        );
    }
    let lane = bench
        .call(
            WORKER,
            "lane_propose",
            json!({ "title": "Search", "related_to": "_repo", "coordinators": [WORKER] }),
        )
        .await["lane"]
        .take();
    assert_eq!(lane["coordinators"], json!(["ann@example.com"]));
    assert_eq!(lane["related_lanes"], json!(["_repo"]));
    let id = text(&lane["id"]);
    let allowed = json!({ "lane_id": id, "allow_self_review": true });
    let set = bench.call(OWNER, "lane_set", allowed).await;
    assert_eq!(set["lane"]["allow_self_review"], true);
    let closed = bench
        .call(SIBLING, "lane_close", json!({ "lane_id": id }))
        .await;
    assert_eq!(closed["lane"]["state"], "closed");
}
