use std::path::{Path, PathBuf};

use futures::future::join_all;
use guildhall_core::{LaneRole, Principal, RepoRole, SystemClock, SystemIds};
use guildhall_git::{Environment, Git, Hosting, Source};
use guildhall_store::{
    Act, Answering, AskKind, AskRef, AskState, ChangedFile, Fresh, Held, LEASE, NewAsk,
    NewChangeset, NewRepo, Principals as _, Repo, Role, Roles as _, Store, Verdict,
};
use guildhall_testing::hermetic;
use guildhall_tools::{Answer, Caller, Door, RepoAccess, RepoResolver, WantedRepo};
use serde_json::{Value, json};

use guildhall_store as store;

use super::*;
use crate::under_test::UnderTest;

const OWNER: &str = "owner@example.com";
/// A contributor, with an agent.
const ANN: &str = "ann@example.com";
const ANN_A: &str = "ann@example.com[claude]";
/// A maintainer: reviews, and coordinates `_repo`.
const MIA: &str = "mia@example.com";
const MIA_A: &str = "mia@example.com[codex]";
const EVE: &str = "eve@example.com";

fn name() -> RepoName {
    "acme/site".parse().unwrap()
}

fn who(name: &str) -> Principal {
    name.parse().unwrap()
}

fn by(name: &str) -> Act {
    Act::new(who(name), SystemClock.now())
}

/// One turn at a time.
struct InTurn(Arc<Hosted>, Arc<tokio::sync::Mutex<()>>);

impl Turns for InTurn {
    fn turn<'a>(&'a self, _: &'a RepoName) -> BoxFuture<'a, Result<Turn, ToolError>> {
        Box::pin(async {
            let mine = Arc::clone(&self.1).lock_owned().await;
            Ok(Turn::new(Arc::clone(&self.0), mine))
        })
    }
}

/// The store, which once says where the branch was before another node landed something.
struct Late(Store, std::sync::Mutex<Option<Repo>>);

impl Repos for Late {
    fn repo(&self, name: RepoName) -> store::Answer<'_, Option<Repo>> {
        match self.1.lock().unwrap().take() {
            Some(before) => Box::pin(async { Ok(Some(before)) }),
            None => self.0.repo(name),
        }
    }

    fn repos(&self) -> store::Answer<'_, Vec<Repo>> {
        self.0.repos()
    }

    fn add_repo(&self, act: Act, repo: NewRepo) -> store::Answer<'_, Repo> {
        self.0.add_repo(act, repo)
    }

    fn move_head(
        &self,
        act: Act,
        name: RepoName,
        from: Option<String>,
        to: String,
    ) -> store::Answer<'_, Repo> {
        self.0.move_head(act, name, from, to)
    }

    fn set_public(&self, act: Act, name: RepoName, public: bool) -> store::Answer<'_, Repo> {
        self.0.set_public(act, name, public)
    }

    fn remove_repo(&self, act: Act, name: RepoName) -> store::Answer<'_, ()> {
        self.0.remove_repo(act, name)
    }
}

struct Resolver(Store);

impl RepoResolver for Resolver {
    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        _: WantedRepo<'a>,
    ) -> BoxFuture<'a, Result<RepoAccess, ToolError>> {
        Box::pin(async move {
            let user = who(caller.principal.user_address());
            let standing = self.0.standing(Some(user), name(), None).await?;
            let role = standing.repo;
            let role = role.ok_or_else(|| ToolError::not_found("There is no such repository"))?;
            Ok(RepoAccess {
                name: name(),
                role,
                coordinates: false,
            })
        })
    }
}

struct Bench {
    dir: tempfile::TempDir,
    store: Store,
    late: Arc<Late>,
    code: Code,
    tools: UnderTest,
}

impl Bench {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let origin = dir.path().join("origin");
        std::fs::create_dir(&origin).unwrap();
        git(&origin, &["init", "-q", "-b", "main"]);
        for file in ["a.txt", "b.txt"] {
            std::fs::write(origin.join(file), lines(file)).unwrap();
        }
        git(&origin, &["add", "-A"]);
        git(&origin, &["commit", "-q", "-m", "Begin"]);
        let found = Git::find(Environment::of_this_process()).unwrap();
        let hosting = Hosting::new(found, dir.path().join("hosted"));
        let source = Source::path(&origin).unwrap();
        let hosted = Arc::new(hosting.create(&name(), &source).unwrap());
        let path = dir.path().join("store.db");
        let store = Store::open_sqlite(&path).await.unwrap();
        let late = Arc::new(Late(store.clone(), std::sync::Mutex::default()));
        let code = Code {
            asks: Arc::new(store.clone()),
            repos: Arc::clone(&late) as _,
            turns: Arc::new(InTurn(hosted, Arc::default())),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        };
        let bench = Self {
            dir,
            late,
            tools: tools(&code, &store),
            code,
            store,
        };
        bench.people().await;
        bench
    }

    async fn people(&self) {
        let store = &self.store;
        let owner = store.ensure_operator(SystemClock.now(), who(OWNER)).await;
        owner.unwrap();
        let repo = NewRepo {
            name: name(),
            public: false,
            default_branch: "main".to_owned(),
            head: Some(self.git(&["rev-parse", "main"])),
            origin: None,
        };
        store.add_repo(by(OWNER), repo).await.unwrap();
        for (user, role) in [
            (ANN, Some(RepoRole::Contributor)),
            (MIA, Some(RepoRole::Maintainer)),
            (EVE, None),
        ] {
            store.add_user(by(OWNER), who(user)).await.unwrap();
            if let Some(role) = role {
                let role = Role::Repo(role);
                let given = store.grant(by(OWNER), name(), who(user), role);
                given.await.unwrap();
            }
        }
        for agent in [ANN_A, MIA_A] {
            let user = who(agent).user_address().to_owned();
            store.add_agent(by(&user), who(agent)).await.unwrap();
        }
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().join("hosted/acme/site.git")
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.repo(), arguments)
    }

    /// The store's row, with which the branch must agree.
    async fn row(&self) -> Repo {
        self.store.repo(name()).await.unwrap().unwrap()
    }

    async fn head(&self) -> String {
        let head = self.row().await.head.unwrap();
        assert_eq!(self.git(&["rev-parse", "main"]), head);
        head
    }

    /// Everything that a refused call must leave as it is.
    async fn state(&self) -> (Repo, String, usize) {
        let objects = self.git(&["count-objects", "-v"]);
        let listed = self.git(&["for-each-ref"]);
        (self.row().await, objects + &listed, self.events().await)
    }

    async fn events(&self) -> usize {
        use guildhall_store::{Lanes as _, Position};
        let start = Position::default();
        let lane = self.store.lane_history(name(), "_repo".into(), start, 1000);
        lane.await.unwrap().len()
    }

    async fn claim(&self, by_whom: &str, ask: &str) -> i64 {
        let ask = self.store.claim_ask(by(by_whom), asked(ask), LEASE).await;
        ask.unwrap().fence
    }

    async fn answer(
        &self,
        by_whom: &str,
        ask: &str,
        verdict: Verdict,
        changeset: Option<NewChangeset>,
    ) -> String {
        let answering = Answering {
            held: Held {
                ask: asked(ask),
                fence: None,
            },
            verdict,
            note: None,
            changeset,
            no_change: false,
            fresh: Fresh::draw(&SystemIds),
        };
        let ask = self.store.answer_ask(by(by_whom), answering).await.unwrap();
        posted(&ask.answer.unwrap().payload)
    }

    async fn work(&self, title: &str) -> String {
        let ask = NewAsk {
            repo: name(),
            fresh: Fresh::draw(&SystemIds),
            lane: "_repo".to_owned(),
            kind: "work".parse::<AskKind>().unwrap(),
            title: title.to_owned(),
            body: String::new(),
            depends_on: Vec::new(),
            priority: 0,
            scope: None,
            files: Vec::new(),
            changeset: None,
            most_open: 1000,
        };
        self.store.post_ask(by(ANN), ask).await.unwrap().id
    }

    /// Work of Ann's agent that Mia has granted: the work, and its submission, which Mia's agent holds.
    async fn granted(&self, files: Vec<ChangedFile>) -> (String, String) {
        let work = self.work("Change it").await;
        let base = self.head().await;
        let submit = self.reviewed(&work, &base, files).await;
        (work, submit)
    }

    async fn reviewed(&self, work: &str, base: &str, files: Vec<ChangedFile>) -> String {
        let changeset = NewChangeset {
            base_commit: Some(base.to_owned()),
            message: "Change it\n\nReviewed-by: nobody@example.com".to_owned(),
            files,
        };
        self.claim(ANN_A, work).await;
        let review = self
            .answer(ANN_A, work, Verdict::Complete, Some(changeset))
            .await;
        self.claim(MIA, &review).await;
        let submit = self.answer(MIA, &review, Verdict::Grant, None).await;
        self.claim(MIA_A, &submit).await;
        submit
    }

    async fn call(&self, caller: &str, arguments: Value) -> Answer {
        let tool = "commit_changeset";
        self.tools
            .call_by(caller, Door::Http, tool, arguments)
            .await
    }

    async fn ok(&self, caller: &str, arguments: Value) -> Value {
        let answer = self.call(caller, arguments).await;
        assert_eq!(answer.failure, None, "{}", answer.text);
        answer.payload
    }

    async fn refused(&self, caller: &str, arguments: Value) -> (u16, String) {
        let before = self.state().await;
        let refused = self.failed(caller, arguments).await;
        assert_eq!(self.state().await, before, "{refused:?}");
        refused
    }

    async fn failed(&self, caller: &str, arguments: Value) -> (u16, String) {
        let failure = self.call(caller, arguments).await.failure.unwrap();
        (failure.kind.status(), failure.message)
    }

    fn shown(&self, format: &str) -> String {
        self.git(&["log", "-1", &format!("--format={format}"), "main"])
    }

    fn at(&self, path: &str) -> String {
        self.git(&["show", &format!("main:{path}")])
    }
}

/// The tools as a server that has just started has them.
fn tools(code: &Code, store: &Store) -> UnderTest {
    UnderTest::new(pack(code), Some(Arc::new(Resolver(store.clone()))))
}

fn asked(ask: &str) -> AskRef {
    AskRef {
        repo: name(),
        lane: None,
        ask: ask.to_owned(),
    }
}

fn posted(payload: &Value) -> String {
    payload["posted"].as_str().unwrap_or_default().to_owned()
}

fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = hermetic("git", dir)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn lines(of: &str) -> String {
    let rows: Vec<String> = (1..=12).map(|row| format!("{of} {row}")).collect();
    rows.join("\n") + "\n"
}

fn file(path: &str, content: &str) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        content: Some(content.into()),
        deleted: false,
        mode: None,
    }
}

fn edited(path: &str, row: usize, to: &str) -> ChangedFile {
    let text = lines(path).replace(&format!("{path} {row}\n"), &format!("{to}\n"));
    file(path, &text)
}

#[tokio::test]
async fn a_reviewed_changeset_lands_with_who_made_it_and_who_agreed() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let (work, submit) = bench
        .granted(vec![
            edited("a.txt", 3, "three"),
            file("src/new.rs", "new\n"),
        ])
        .await;
    let landed = bench
        .ok(MIA_A, json!({ "ask_id": submit, "lane_id": "_repo" }))
        .await;
    let head = bench.head().await;
    assert_eq!(
        landed,
        json!({ "commit": head, "previous": base, "merged": false, "ask_id": submit, "lane_id": "_repo" })
    );
    assert_eq!(
        bench.shown("%an <%ae>"),
        "ann@example.com[claude] <ann@example.com>"
    );
    assert_eq!(
        bench.shown("%cn <%ce>"),
        "mia@example.com[codex] <mia@example.com>"
    );
    assert_eq!(
        bench.shown("%(trailers)"),
        format!("Lane: _repo\nAsk: {work}\nReviewed-by: mia@example.com <mia@example.com>")
    );
    assert_eq!(
        (bench.shown("%P"), bench.at("src/new.rs")),
        (base, "new".to_owned())
    );
    // Again, and the answer that whoever drives it by hand gives after it: the same.
    assert_eq!(bench.ok(MIA_A, json!({ "ask_id": submit })).await, landed);
    bench.answer(MIA_A, &submit, Verdict::Complete, None).await;
    assert_eq!(bench.head().await, head);
    let ask = bench.store.ask(name(), submit).await.unwrap().unwrap();
    assert_eq!(ask.state, AskState::Answered);
    assert_eq!(ask.answer.unwrap().payload["commit"], json!(head));
    bench.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn what_was_not_reviewed_does_not_land() {
    let bench = Bench::new().await;
    let (_, submit) = bench.granted(vec![file("a.txt", "new\n")]).await;
    let files = |content: &str| json!([{ "path": "a.txt", "content": content }]);
    for (key, value) in [
        ("files", files("other\n")),
        ("files", json!([{ "path": "a.txt", "delete": true }])),
        (
            "files",
            json!([{ "path": "a.txt", "content": "new\n" }, { "path": "c.txt", "content": "" }]),
        ),
        (
            "files",
            json!([{ "path": "a.txt", "content": "new\n", "mode": "executable" }]),
        ),
        ("message", json!("Something else")),
        ("base_commit", json!("0123456789")),
    ] {
        let (status, said) = bench
            .refused(MIA_A, json!({ "ask_id": submit, key: value }))
            .await;
        assert_eq!(status, 409);
        assert!(
            said.starts_with(&format!("'{key}' is not what was reviewed as `changeset-")),
            "{said}"
        );
    }
    let whole = json!({
        "ask_id": submit, "files": files("new\n"), "message": "Change it\n\nReviewed-by: nobody@example.com\n",
        "base_commit": bench.head().await[..12],
    });
    bench.ok(MIA_A, whole).await;
    assert_eq!(bench.at("a.txt"), "new");
}

#[tokio::test]
async fn only_who_holds_the_submission_commits_it() {
    let bench = Bench::new().await;
    let (work, submit) = bench.granted(vec![file("a.txt", "new\n")]).await;
    // Nobody there, a contributor, the author's agent; a coordinator who does not hold it; a fence that was replaced.
    assert_eq!(bench.refused(EVE, json!({ "ask_id": submit })).await.0, 404);
    assert_eq!(bench.refused(ANN, json!({ "ask_id": submit })).await.0, 403);
    assert_eq!(
        bench.refused(ANN_A, json!({ "ask_id": submit })).await.0,
        403
    );
    assert_eq!(bench.refused(MIA, json!({ "ask_id": submit })).await.0, 409);
    assert_eq!(
        bench
            .refused(MIA_A, json!({ "ask_id": submit, "fence": 7 }))
            .await
            .0,
        409
    );
    assert_eq!(
        bench
            .refused(
                MIA_A,
                json!({ "ask_id": submit, "lane_id": "lane-0123456789" })
            )
            .await
            .0,
        400
    );
    assert_eq!(bench.refused(MIA_A, json!({ "ask_id": work })).await.0, 400);
    assert_eq!(
        bench
            .refused(MIA_A, json!({ "ask_id": "ask-0123456789" }))
            .await
            .0,
        404
    );
    // A changeset that nobody granted has no submission, and none can be posted for it.
    let pending = bench.work("Ungranted").await;
    bench.claim(ANN_A, &pending).await;
    let changeset = NewChangeset {
        base_commit: Some(bench.head().await),
        message: "m".to_owned(),
        files: vec![file("b.txt", "new\n")],
    };
    let review = bench
        .answer(ANN_A, &pending, Verdict::Complete, Some(changeset))
        .await;
    bench.claim(MIA, &review).await;
    assert_eq!(bench.refused(MIA, json!({ "ask_id": review })).await.0, 400);
    bench
        .ok(MIA_A, json!({ "ask_id": submit, "fence": 1 }))
        .await;
}

#[tokio::test]
async fn without_an_ask_only_an_owner_in_person_commits() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let direct = json!({
        "files": [{ "path": "a.txt", "content": "new\n" }], "message": "Straight", "base_commit": base,
    });
    let lane = Role::Lane {
        lane: "_repo".to_owned(),
        role: LaneRole::Coordinator,
    };
    let granted = bench.store.grant(by(OWNER), name(), who(ANN), lane).await;
    assert!(
        granted.is_err(),
        "`_repo` takes its roles from the repository"
    );
    for caller in [ANN, ANN_A, MIA, MIA_A] {
        assert_eq!(
            bench.refused(caller, direct.clone()).await.0,
            403,
            "{caller}"
        );
    }
    assert_eq!(bench.refused(EVE, direct.clone()).await.0, 404);
    for (key, status, said) in [
        ("files", 400, "'files' is required"),
        ("message", 400, "'message' is required"),
    ] {
        let mut without = direct.clone();
        without.as_object_mut().unwrap().remove(key);
        assert_eq!(
            bench.refused(OWNER, without).await,
            (status, said.to_owned())
        );
    }
    for (stray, value) in [("lane_id", json!("lane-0000000000")), ("fence", json!(1))] {
        let mut forgotten = direct.clone();
        forgotten[stray] = value;
        let (status, said) = bench.refused(OWNER, forgotten).await;
        assert_eq!(
            (status, said.starts_with(&format!("'{stray}' is given"))),
            (400, true),
            "{said}"
        );
    }
    let landed = bench.ok(OWNER, direct).await;
    assert_eq!(landed["previous"], json!(base));
    assert_eq!(
        bench.shown("%an|%cn|%B"),
        "owner@example.com|owner@example.com|Straight"
    );
    // On the old base once more, where others moved: merged, or told what collides.
    let again = json!({
        "files": [{ "path": "b.txt", "content": "new\n" }], "message": "Again", "base_commit": base,
    });
    assert_eq!(bench.ok(OWNER, again).await["merged"], json!(true));
    let against = json!({
        "files": [{ "path": "a.txt", "content": "other\n" }], "message": "Against", "base_commit": base,
    });
    let (status, said) = bench.refused(OWNER, against).await;
    assert_eq!(
        (status, said.as_str()),
        (
            409,
            "The default branch has moved, and the changeset conflicts with it in `a.txt`"
        )
    );
}

#[tokio::test]
async fn a_key_lands_one_commit_whatever_happened_since() {
    let mut bench = Bench::new().await;
    let base = bench.head().await;
    let mut direct = json!({
        "files": [{ "path": "a.txt", "content": "new\n" }], "message": "Straight", "base_commit": base,
        "idempotency_key": "k1",
    });
    let landed = bench.ok(OWNER, direct.clone()).await;
    let other = json!({
        "files": [{ "path": "b.txt", "content": "new\n" }], "message": "Other", "base_commit": base,
    });
    bench.ok(OWNER, other).await;
    bench.tools = tools(&bench.code, &bench.store);
    let tip = bench.head().await;
    assert_eq!(bench.ok(OWNER, direct.clone()).await, landed);
    assert_eq!(bench.head().await, tip);
    direct["message"] = json!("Crooked");
    assert_eq!(bench.refused(OWNER, direct).await.0, 409);
}

#[tokio::test]
async fn a_conflict_writes_nothing_and_asks_for_its_resolution() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let (_, first) = bench.granted(vec![edited("a.txt", 3, "first")]).await;
    let work = bench.work("Second").await;
    let second = bench
        .reviewed(
            &work,
            &base,
            vec![edited("a.txt", 3, "second"), file("c.txt", "c\n")],
        )
        .await;
    bench.ok(MIA_A, json!({ "ask_id": first })).await;
    let head = bench.head().await;
    let objects = bench.git(&["count-objects", "-v"]);
    let failure = bench
        .call(MIA_A, json!({ "ask_id": second }))
        .await
        .failure
        .unwrap();
    assert_eq!(failure.kind.status(), 409);
    assert_eq!(failure.details["head"], json!(head));
    let conflict = &failure.details["conflicts"][0];
    assert_eq!(
        (&conflict["path"], &conflict["kind"]),
        (&json!("a.txt"), &json!("contents"))
    );
    assert!(
        conflict["current"]["content"]
            .as_str()
            .unwrap()
            .contains("\nfirst\n")
    );
    assert!(
        conflict["proposed"]["content"]
            .as_str()
            .unwrap()
            .contains("\nsecond\n")
    );
    assert_eq!(bench.head().await, head);
    assert_eq!(bench.git(&["count-objects", "-v"]), objects);
    // The submission is over, and somebody is asked to resolve.
    let ask = bench
        .store
        .ask(name(), second.clone())
        .await
        .unwrap()
        .unwrap();
    let answer = ask.answer.unwrap();
    assert_eq!(
        (answer.verdict, &answer.payload["conflicts"]),
        (Verdict::Deny, &json!(["a.txt"]))
    );
    let resolve = posted(&answer.payload);
    assert_eq!(failure.details["posted"], json!(resolve));
    assert_eq!(
        bench.failed(MIA_A, json!({ "ask_id": second })).await.0,
        409
    );
    // The resolution gets a review of its own and lands as the work of whoever began it.
    let submit = bench
        .reviewed(
            &resolve,
            &head,
            vec![edited("a.txt", 3, "both"), file("c.txt", "c\n")],
        )
        .await;
    bench.ok(MIA_A, json!({ "ask_id": submit })).await;
    assert!(bench.at("a.txt").contains("\nboth\n"));
    assert!(
        bench
            .shown("%(trailers)")
            .contains(&format!("Ask: {work}\n"))
    );
}

#[tokio::test]
async fn what_others_changed_elsewhere_is_merged() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let (_, first) = bench.granted(vec![edited("a.txt", 2, "two")]).await;
    let work = bench.work("Second").await;
    let second = bench
        .reviewed(
            &work,
            &base,
            vec![edited("a.txt", 11, "eleven"), edited("b.txt", 1, "one")],
        )
        .await;
    bench.ok(MIA_A, json!({ "ask_id": first })).await;
    let before = bench.head().await;
    let landed = bench.ok(MIA_A, json!({ "ask_id": second })).await;
    assert_eq!(
        (&landed["merged"], &landed["previous"]),
        (&json!(true), &json!(before))
    );
    let text = bench.at("a.txt");
    assert!(
        text.contains("two\n") && text.contains("\neleven\n"),
        "{text}"
    );
    assert_eq!(bench.shown("%P"), before);
    assert_eq!(bench.ok(MIA_A, json!({ "ask_id": second })).await, landed);
}

#[tokio::test]
async fn a_branch_that_was_left_behind_is_brought_in_line_before_the_next_commit() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let (_, first) = bench.granted(vec![file("a.txt", "first\n")]).await;
    let work = bench.work("Second").await;
    let second = bench
        .reviewed(&work, &base, vec![file("b.txt", "second\n")])
        .await;
    bench.ok(MIA_A, json!({ "ask_id": first })).await;
    let landed = bench.head().await;
    // As a process leaves it that dies after the transaction, and a later one before it.
    bench.git(&["update-ref", "refs/heads/main", &base]);
    bench.git(&["commit-tree", "-m", "Nobody's", "main^{tree}"]);
    bench.ok(MIA_A, json!({ "ask_id": second })).await;
    assert_eq!(bench.shown("%P"), landed);
    assert_eq!(
        (bench.at("a.txt"), bench.at("b.txt")),
        ("first".to_owned(), "second".to_owned())
    );
    bench.head().await;
}

#[tokio::test]
async fn a_commit_that_another_node_outran_is_made_anew_on_what_it_landed() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let before = bench.row().await;
    let direct = |path: &str| {
        json!({
            "files": [{ "path": path, "content": "new\n" }], "message": "Straight", "base_commit": base,
        })
    };
    let first = bench.ok(OWNER, direct("a.txt")).await;
    *bench.late.1.lock().unwrap() = Some(before);
    let second = bench.ok(OWNER, direct("b.txt")).await;
    assert_eq!(second["previous"], first["commit"]);
    assert_eq!(bench.head().await, second["commit"]);
    assert_eq!(bench.at("a.txt"), "new");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commits_at_once_all_land_one_after_the_other() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let calls = (0..6).map(|n| {
        let files = json!([{ "path": format!("new/{n}.txt"), "content": "x\n" }]);
        bench.call(
            OWNER,
            json!({ "files": files, "message": format!("Add {n}"), "base_commit": base }),
        )
    });
    for answer in join_all(calls).await {
        assert_eq!(answer.failure, None, "{}", answer.text);
    }
    let range = format!("{base}..main");
    assert_eq!(
        bench.git(&["rev-list", "--count", "--first-parent", &range]),
        "6"
    );
    assert_eq!(bench.git(&["rev-list", "--merges", &range]), "");
    assert_eq!(
        bench
            .git(&["ls-tree", "--name-only", "main", "new/"])
            .lines()
            .count(),
        6
    );
    bench.head().await;
}

#[tokio::test]
async fn paths_and_sizes_that_no_commit_may_have_are_refused() {
    let bench = Bench::new().await;
    let base = bench.head().await;
    let direct = |files: Value| json!({ "files": files, "message": "m", "base_commit": base });
    for path in [
        "../x",
        "/etc/passwd",
        ".GIT/config",
        "git~1/x",
        "a.txt/x",
        "C:\\x",
        "nul",
        "x\u{200d}",
    ] {
        let files = json!([{ "path": "fine", "content": "" }, { "path": path, "content": "x" }]);
        assert_eq!(bench.refused(OWNER, direct(files)).await.0, 400, "{path:?}");
    }
    for (file, said) in [
        (
            json!({ "path": "x" }),
            "`x` must have either its 'content', 'delete' or a 'mode'",
        ),
        (
            json!({ "path": "x", "content": "", "delete": true }),
            "`x` must have either its 'content', 'delete' or a 'mode'",
        ),
        (
            json!({ "path": "x", "content": "?", "encoding": "base64" }),
            "The content of `x` is not base64: Invalid symbol 63, offset 0.",
        ),
    ] {
        assert_eq!(
            bench.refused(OWNER, direct(json!([file]))).await,
            (400, said.to_owned())
        );
    }
    let many: Vec<Value> = (0..2001)
        .map(|n| json!({ "path": format!("f{n}"), "content": "" }))
        .collect();
    assert_eq!(
        bench.refused(OWNER, direct(json!(many))).await,
        (
            413,
            "The changeset has 2001 files, more than the 2000 of one commit".to_owned()
        )
    );
    let bytes = json!([{ "path": "logo.png", "content": "AAH/", "encoding": "base64", "mode": "executable" }]);
    bench.ok(OWNER, direct(bytes)).await;
    assert!(
        bench
            .git(&["ls-tree", "main", "logo.png"])
            .starts_with("100755 blob")
    );
}

#[tokio::test]
async fn the_menu_is_a_reviewed_file() {
    let bench = Bench::new().await;
    insta::assert_json_snapshot!("tools_list", bench.tools.listing());
}
