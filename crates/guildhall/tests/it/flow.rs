//! From work to the default branch, driven over HTTP: who may take which step, what each leads to, and what a server that
//! is killed in the middle comes up with.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::hosted::{Answered, Bench, ask, bearer};
use crate::support::{Ran, Up, eventually};

/// Proposes the lane, and so coordinates it.
const PAT: &str = "pat@example.com";
/// Contributes.
const CON: &str = "con@example.com";
/// Maintains the repository.
const MIA: &str = "mia@example.com";
/// Is somebody, but nobody here.
const OUT: &str = "out@example.com";

/// A public repository and everybody who has to do with it, each with a token for themselves and for their agents.
struct World {
    bench: Bench,
    up: Option<Up>,
    tokens: Vec<(String, String)>,
}

impl World {
    fn new() -> Self {
        let bench = Bench::new();
        let up = bench.place.up(&[]);
        bench.add(&["--public"]);
        let mut world = Self {
            tokens: vec![("owner".to_owned(), bench.owner_token())],
            bench,
            up: Some(up),
        };
        for (user, role) in [
            (PAT, Some("contributor")),
            (CON, Some("contributor")),
            (MIA, Some("maintainer")),
            (OUT, None),
        ] {
            world.person(user, role);
        }
        world
    }

    fn person(&mut self, user: &str, role: Option<&str>) {
        let place = &self.bench.place;
        let added = place.run(&["user", "add", user, "--print-token", "--json"]);
        let token = text(&added.json(), "token").to_owned();
        for agent in ["a", "b"] {
            let mut command = place.command();
            command
                .args(["agent", "create", agent, "--json"])
                .env("GUILDHALL_URL", self.up().url())
                .env("GUILDHALL_TOKEN", &token);
            let made = Ran::of(&command.output().expect("the program runs")).json();
            let token = text(&made, "token").to_owned();
            self.tokens.push((format!("{user}[{agent}]"), token));
        }
        self.tokens.push((user.to_owned(), token));
        if let Some(role) = role {
            self.ok(
                "owner",
                "role_grant",
                json!({ "username": user, "role": role }),
            );
        }
    }

    fn up(&self) -> &Up {
        self.up.as_ref().expect("the server is up")
    }

    fn token(&self, who: &str) -> &str {
        let found = self.tokens.iter().find(|(name, _)| name == who);
        &found.unwrap_or_else(|| panic!("no token of {who}")).1
    }

    fn call(&self, who: &str, tool: &str, arguments: impl Into<Value>) -> Answered {
        let path = format!("/api/repos/acme/site/tools/{tool}");
        let authorization = bearer(self.token(who));
        ask(
            self.up(),
            "POST",
            &path,
            Some(&authorization),
            Some(arguments.into()),
        )
    }

    /// Sends a call and leaves its answer to be read.
    fn send(&self, who: &str, tool: &str, arguments: &Value) -> TcpStream {
        let host = self
            .up()
            .url()
            .strip_prefix("http://")
            .expect("a plain address");
        let mut stream = TcpStream::connect(host).expect("a connection");
        let (body, token) = (arguments.to_string(), bearer(self.token(who)));
        write!(
            stream,
            "POST /api/repos/acme/site/tools/{tool} HTTP/1.1\r\nhost: {host}\r\nauthorization: {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .expect("a request");
        stream
    }

    fn ok(&self, who: &str, tool: &str, arguments: impl Into<Value>) -> Value {
        let arguments = arguments.into();
        let answered = self.call(who, tool, arguments.clone());
        assert_eq!(
            answered.status, 200,
            "{who} {tool} {arguments}: {}",
            answered.text
        );
        answered.json()["result"].take()
    }

    /// The names of the tools that somebody is offered.
    fn menu(&self, who: &str) -> Vec<String> {
        let path = "/api/repos/acme/site/tools";
        let listed = ask(self.up(), "GET", path, Some(&bearer(self.token(who))), None);
        let tools = listed.json()["result"]["tools"].take();
        let names = tools.as_array().expect("tools").iter();
        names.map(|tool| text(tool, "name").to_owned()).collect()
    }

    /// What must be as it was after a step that somebody may not take: every lane with everything that happened in it,
    /// the branch as the server and as git see it, and the objects on the disk.
    fn state(&self) -> Value {
        let lanes = self.ok("owner", "lane_list", json!({}))["lanes"].take();
        let ids: Vec<&str> = lanes
            .as_array()
            .expect("lanes")
            .iter()
            .map(|lane| text(lane, "id"))
            .collect();
        let whole: Vec<Value> = ids
            .iter()
            .map(|id| self.ok("owner", "lane_get", json!({ "lane_id": id })))
            .collect();
        let path = "/api/repos/acme/site";
        let shown = ask(
            self.up(),
            "GET",
            path,
            Some(&bearer(self.token("owner"))),
            None,
        )
        .json();
        let objects = self
            .bench
            .git(&self.bench.hosted(), &["count-objects", "-v"]);
        json!([whole, shown, objects, self.remote_head()])
    }

    /// Where the default branch is for git.
    fn remote_head(&self) -> String {
        let address = format!("{}/acme/site.git", self.up().url());
        let listed = self.bench.git_with(
            self.token(OUT),
            self.bench.place.home(),
            &["ls-remote", &address, "refs/heads/main"],
        );
        listed
            .ok()
            .split_whitespace()
            .next()
            .expect("a head")
            .to_owned()
    }

    /// A step that each of `who` may not take: 403, and nothing has changed.
    fn forbidden(&self, who: &[&str], tool: &str, arguments: &Value) {
        let before = self.state();
        for who in who {
            let answered = self.call(who, tool, arguments.clone());
            assert_eq!(
                answered.status, 403,
                "{who} {tool} {arguments}: {}",
                answered.text
            );
        }
        assert_eq!(self.state(), before, "{tool} {arguments}");
    }

    fn propose(&self, who: &str) -> String {
        let lane = self.ok(who, "lane_propose", json!({ "title": "A lane" }));
        text(&lane["lane"], "id").to_owned()
    }

    fn post(&self, who: &str, lane: &str) -> String {
        let ask = json!({ "lane_id": lane, "kind": "work", "title": "Write it" });
        text(&self.ok(who, "ask_post", ask)["ask"], "id").to_owned()
    }

    fn claim(&self, who: &str, ask: &str) {
        self.ok(who, "ask_claim", json!({ "ask_id": ask }));
    }

    /// Answers and gives the ask that this led to.
    fn answer(&self, who: &str, mut arguments: Value, ask: &str) -> String {
        arguments["ask_id"] = json!(ask);
        let answered = self.ok(who, "ask_answer", arguments);
        posted(&answered["ask"])
    }

    fn changeset(&self, files: &[(&str, &str)]) -> Value {
        changeset_on(&self.remote_head(), files)
    }

    /// Work by `author` on `changeset` that Mia granted, and that Pat's agent holds the submission of.
    fn granted(&self, lane: &str, author: &str, changeset: &Value) -> (String, String) {
        let work = self.post(PAT, lane);
        self.claim(author, &work);
        let answer = json!({ "verdict": "complete", "changeset": changeset });
        let review = self.answer(author, answer, &work);
        self.claim(MIA, &review);
        let submit = self.answer(MIA, json!({ "verdict": "grant" }), &review);
        self.claim("pat@example.com[a]", &submit);
        (work, submit)
    }

    fn clone_it(&self, into: &str) -> PathBuf {
        let address = format!("{}/acme/site.git", self.up().url());
        let dir = self.bench.place.home().join(into);
        let home = self.bench.place.home();
        self.bench
            .git_with(self.token(OUT), home, &["clone", "-q", &address, into])
            .ok();
        dir
    }

    fn restart(&mut self) {
        self.up = None;
        self.up = Some(self.bench.place.up(&[]));
    }
}

fn changeset_on(base: &str, files: &[(&str, &str)]) -> Value {
    let files: Vec<Value> = files
        .iter()
        .map(|(path, content)| json!({ "path": path, "content": content }))
        .collect();
    json!({ "base_commit": base, "message": "Write it", "files": files })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no text `{key}`: {value}"))
}

fn posted(ask: &Value) -> String {
    text(&ask["answer"]["payload"], "posted").to_owned()
}

#[test]
fn work_reaches_the_branch_by_the_steps_of_those_who_may_take_them() {
    let world = World::new();
    let (con_a, con_b, pat_a) = (
        "con@example.com[a]",
        "con@example.com[b]",
        "pat@example.com[a]",
    );
    let base = world.remote_head();
    world.forbidden(
        &[OUT, "out@example.com[a]"],
        "lane_propose",
        &json!({ "title": "Mine" }),
    );
    world.forbidden(
        &[PAT, CON, MIA, OUT],
        "lane_propose",
        &json!({ "title": "Mine", "maintainers": [CON] }),
    );
    let lane = world.propose(pat_a);
    // Con would review on this lane as well; what he may not review is his own.
    let maintainer = json!({ "username": CON, "role": "maintainer", "lane_id": lane });
    world.forbidden(&[PAT, CON, MIA, OUT, pat_a], "role_grant", &maintainer);
    world.ok("owner", "role_grant", maintainer);
    let ask = json!({ "lane_id": lane, "kind": "work", "title": "Write it" });
    world.forbidden(&[OUT], "ask_post", &ask);
    for kind in ["changeset_review", "submit_changeset", "resolve_conflict"] {
        let by_hand = json!({ "lane_id": lane, "kind": kind, "title": "Skip the line" });
        let before = world.state();
        assert_eq!(world.call(PAT, "ask_post", by_hand).status, 400, "{kind}");
        assert_eq!(world.state(), before);
    }
    let work = world.post(PAT, &lane);

    // The work.
    let held = json!({ "ask_id": work });
    world.forbidden(&[OUT, "out@example.com[a]"], "ask_claim", &held);
    world.claim(con_a, &work);
    let files = [("README", "two\n"), ("src/main.rs", "fn main() {}\n")];
    let answer =
        json!({ "ask_id": work, "verdict": "complete", "changeset": world.changeset(&files) });
    world.forbidden(&[OUT], "ask_answer", &answer);
    let review = world.answer(con_a, answer, &work);

    // The review: not by contributors, and not by whoever wrote it or a sibling of theirs.
    let held = json!({ "ask_id": review });
    world.forbidden(&[OUT, PAT, pat_a, con_a, con_b], "ask_claim", &held);
    let early = json!({ "ask_id": review, "verdict": "grant" });
    world.forbidden(&[OUT, PAT, pat_a, con_a, con_b], "ask_answer", &early);
    world.forbidden(
        &[OUT, PAT, CON, MIA, con_a, con_b],
        "commit_changeset",
        &json!({
            "files": [{ "path": "README", "content": "x" }], "message": "m", "base_commit": base,
        }),
    );
    world.claim("mia@example.com[a]", &review);
    // Another hand of hers does not hold it.
    assert_eq!(
        world
            .call("mia@example.com[b]", "ask_answer", early.clone())
            .status,
        409
    );
    let submit = world.answer("mia@example.com[a]", json!({ "verdict": "grant" }), &review);

    // The submission: the lane's coordinators alone, and nobody else has its tool on their menu.
    for (who, listed) in [
        (PAT, true),
        (pat_a, true),
        (MIA, true),
        (CON, false),
        (con_a, false),
    ] {
        let menu = world.menu(who);
        for tool in ["commit_changeset", "ladder_write_rung"] {
            assert_eq!(menu.contains(&tool.to_owned()), listed, "{who} {tool}");
        }
    }
    let held = json!({ "ask_id": submit });
    world.forbidden(&[OUT, CON, con_a, MIA], "ask_claim", &held);
    world.forbidden(&[OUT, CON, con_a, MIA], "commit_changeset", &held);
    world.claim(pat_a, &submit);
    world.forbidden(&[OUT, CON, con_a, MIA], "commit_changeset", &held);
    let before = world.state();
    for (who, arguments) in [
        (PAT, held.clone()),
        (pat_a, json!({ "ask_id": submit, "fence": 2 })),
        (
            pat_a,
            json!({ "ask_id": submit, "files": [{ "path": "README", "content": "other" }] }),
        ),
    ] {
        assert_eq!(
            world
                .call(who, "commit_changeset", arguments.clone())
                .status,
            409,
            "{arguments}"
        );
    }
    let complete = json!({ "ask_id": submit, "verdict": "complete" });
    assert_eq!(
        world.call(pat_a, "ask_answer", complete.clone()).status,
        409
    );
    assert_eq!(world.state(), before);
    let landed = world.ok(pat_a, "commit_changeset", held.clone());
    assert_eq!(world.ok(pat_a, "commit_changeset", held), landed);
    let answered = world.ok(pat_a, "ask_answer", complete);
    assert_eq!(
        answered["ask"]["answer"]["payload"]["commit"],
        landed["commit"]
    );

    // What anybody who clones sees.
    let clone = world.clone_it("seen");
    let shown = |format: &str| {
        world
            .bench
            .git(&clone, &["log", "-1", &format!("--format={format}")])
    };
    assert_eq!(
        shown("%H %P"),
        format!("{} {base}", text(&landed, "commit"))
    );
    assert_eq!(
        shown("%an <%ae>|%cn <%ce>"),
        "con@example.com[a] <con@example.com>|pat@example.com[a] <pat@example.com>"
    );
    assert_eq!(
        shown("%(trailers)"),
        format!("Lane: {lane}\nAsk: {work}\nReviewed-by: mia@example.com[a] <mia@example.com>")
    );
    assert_eq!(
        std::fs::read_to_string(clone.join("src/main.rs")).expect("a file"),
        "fn main() {}\n"
    );
    let history = world
        .ok("owner", "lane_get", json!({ "lane_id": lane }))
        .to_string();
    for (ask, step) in [
        (&work, "work"),
        (&review, "review"),
        (&submit, "submission"),
    ] {
        assert!(history.contains(ask.as_str()), "the {step} is in the lane");
    }
}

#[test]
fn a_denied_review_and_a_conflict_lead_back_to_work_and_then_to_the_branch() {
    let world = World::new();
    let (con_a, pat_a) = ("con@example.com[a]", "pat@example.com[a]");
    let lane = world.propose(PAT);
    let base = world.remote_head();
    // Denied: the work is there again, with what was said.
    let work = world.post(PAT, &lane);
    world.claim(con_a, &work);
    let first =
        json!({ "verdict": "complete", "changeset": world.changeset(&[("README", "one more\n")]) });
    let review = world.answer(con_a, first, &work);
    world.claim(MIA, &review);
    let again = world.answer(
        MIA,
        json!({ "verdict": "deny", "note": "Say why" }),
        &review,
    );
    let shown = world.ok(CON, "ask_get", json!({ "ask_id": again }));
    assert!(text(&shown["ask"], "body").contains("Say why"), "{shown}");
    assert_eq!(world.remote_head(), base);
    // Two changes of one line; the second has to be resolved.
    let mine = changeset_on(&base, &[("README", "mine\n")]);
    let (_, ours) = world.granted(&lane, con_a, &mine);
    let (second, theirs) = world.granted(
        &lane,
        con_a,
        &changeset_on(&base, &[("README", "theirs\n"), ("NEW", "n\n")]),
    );
    world.ok(pat_a, "commit_changeset", json!({ "ask_id": ours }));
    let head = world.remote_head();
    let refused = world.call(pat_a, "commit_changeset", json!({ "ask_id": theirs }));
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(
        refused.text.contains("mine") && refused.text.contains("theirs"),
        "{}",
        refused.text
    );
    assert_eq!(world.remote_head(), head);
    let denied = world.ok(CON, "ask_get", json!({ "ask_id": theirs }));
    assert_eq!(denied["ask"]["answer"]["verdict"], "deny");
    let resolve = posted(&denied["ask"]);
    world.forbidden(&[OUT], "ask_claim", &json!({ "ask_id": resolve }));
    world.claim("con@example.com[b]", &resolve);
    let both = json!({ "verdict": "complete", "changeset": world.changeset(&[("README", "both\n"), ("NEW", "n\n")]) });
    let review = world.answer("con@example.com[b]", both, &resolve);
    world.forbidden(
        &[con_a, "con@example.com[b]", PAT],
        "ask_claim",
        &json!({ "ask_id": review }),
    );
    world.claim(MIA, &review);
    let submit = world.answer(MIA, json!({ "verdict": "grant" }), &review);
    world.claim(pat_a, &submit);
    world.ok(pat_a, "commit_changeset", json!({ "ask_id": submit }));
    let clone = world.clone_it("resolved");
    assert_eq!(
        std::fs::read_to_string(clone.join("README")).expect("a file"),
        "both\n"
    );
    assert!(
        world
            .bench
            .git(&clone, &["log", "-1", "--format=%(trailers)"])
            .contains(&format!("Ask: {second}"))
    );
}

#[test]
fn what_was_landed_and_what_was_not_is_what_a_killed_server_comes_up_with() {
    let mut world = World::new();
    let lane = world.propose(PAT);
    let pat_a = "pat@example.com[a]";
    let mut unanswered = 0;
    for round in 0..6 {
        let file = format!("round-{round}");
        let (_, submit) = world.granted(
            &lane,
            "con@example.com[a]",
            &world.changeset(&[(&file, "x\n")]),
        );
        let before = world.remote_head();
        let objects = objects(&world);
        // A kill at another moment each time: as soon as the first object is there, or some moments later.
        let mut call = world.send(pat_a, "commit_changeset", &json!({ "ask_id": submit }));
        eventually("objects are written", || self::objects(&world) > objects);
        std::thread::sleep(std::time::Duration::from_millis(4 * round));
        world
            .up
            .as_mut()
            .expect("the server is up")
            .process
            .kill()
            .expect("it is killed");
        let mut answer = Vec::new();
        // A connection that the kill reset had no more to say.
        let _ = call.read_to_end(&mut answer);
        unanswered += usize::from(!answer.starts_with(b"HTTP/1.1 200"));
        world.restart();
        let ask = world.ok(PAT, "ask_get", json!({ "ask_id": submit }));
        let head = world.remote_head();
        let state = text(&ask["ask"], "state");
        match state {
            "answered" => assert_eq!(json!(head), ask["ask"]["answer"]["payload"]["commit"]),
            _ => assert_eq!((state, &head), ("claimed", &before)),
        }
        // Whoever was cut off asks again, and gets what there is or makes it.
        let landed = world.ok(pat_a, "commit_changeset", json!({ "ask_id": submit }));
        assert_eq!(text(&landed, "commit"), world.remote_head());
        if state == "answered" {
            assert_eq!(text(&landed, "commit"), head);
        }
        let hosted = world.bench.hosted();
        world
            .bench
            .git(&hosted, &["fsck", "--strict", "--no-dangling"]);
        let listed = world.bench.git(
            &hosted,
            &["rev-list", "--count", &format!("{before}..main")],
        );
        assert_eq!(listed, "1");
    }
    println!("{unanswered} of 6 calls were cut off");
}

fn objects(world: &World) -> usize {
    let listed = Command::new("find")
        .args([".", "-path", "./??/*", "-type", "f"])
        .current_dir(world.bench.hosted().join("objects"))
        .output();
    let listed = listed.expect("find runs").stdout;
    String::from_utf8_lossy(&listed).lines().count()
}

#[test]
fn a_branch_left_behind_by_a_dead_server_is_brought_in_line_when_it_comes_up() {
    let mut world = World::new();
    let lane = world.propose(PAT);
    let before = world.remote_head();
    let (_, submit) = world.granted(
        &lane,
        "con@example.com[a]",
        &world.changeset(&[("README", "x\n")]),
    );
    let landed = world.ok(
        "pat@example.com[a]",
        "commit_changeset",
        json!({ "ask_id": submit }),
    );
    world
        .up
        .as_mut()
        .expect("the server is up")
        .process
        .kill()
        .expect("it is killed");
    world.up = None;
    // What a power cut leaves that comes after the transaction and before the branch: an old branch, and a lock.
    let hosted = world.bench.hosted();
    world
        .bench
        .git(&hosted, &["update-ref", "refs/heads/main", &before]);
    let lock = std::fs::File::create(hosted.join("refs/heads/main.lock")).expect("a lock");
    let old = lock
        .metadata()
        .and_then(|about| about.modified())
        .expect("a time");
    lock.set_modified(old - std::time::Duration::from_mins(1))
        .expect("an old time");
    world.restart();
    assert_eq!(world.remote_head(), text(&landed, "commit"));
    assert!(!hosted.join("refs/heads/main.lock").exists());
}

#[test]
fn a_branch_and_an_origin_that_both_moved_are_merged_and_go_home() {
    let world = World::new();
    let (bench, con_a) = (&world.bench, "con@example.com[a]");
    let origin = bench.origin();
    // An origin that takes pushes has no checkout of the branch.
    bench.git(&origin, &["checkout", "-q", "--detach"]);
    let base = world.remote_head();
    let direct = changeset_on(&base, &[("README", "ours\n"), ("OURS", "x\n")]);
    world.ok("owner", "commit_changeset", direct);
    let head = world.remote_head();
    std::fs::write(origin.join("README"), "theirs\n").expect("a file");
    std::fs::write(origin.join("THEIRS"), "y\n").expect("a file");
    bench.git(&origin, &["add", "-A"]);
    bench.git(&origin, &["commit", "-q", "-m", "Elsewhere"]);
    bench.git(&origin, &["update-ref", "refs/heads/main", "HEAD"]);
    let theirs = bench.git(&origin, &["rev-parse", "HEAD"]);

    let refused = bench.repo("sync", &[]);
    assert!(
        refused.code == 1 && refused.err.contains("sync --merge"),
        "{refused:?}"
    );
    let asked = bench.repo("sync", &["--merge"]).json();
    assert_eq!((&asked["ahead"], &asked["behind"]), (&json!(1), &json!(1)));
    let resolve = text(&asked, "posted").to_owned();
    assert_eq!(
        bench.repo("sync", &["--merge"]).json()["posted"],
        json!(resolve)
    );
    let shown = world.ok(CON, "ask_get", json!({ "ask_id": resolve }));
    assert_eq!(
        (&shown["ask"]["kind"], &shown["ask"]["files"]),
        (&json!("resolve_conflict"), &json!(["README"]))
    );
    assert!(text(&shown["ask"], "body").contains(&head), "{shown}");

    // What leaves a conflict unsettled does not land; what is denied comes again and still merges.
    world.claim(con_a, &resolve);
    let review = world.answer(
        con_a,
        json!({ "verdict": "complete", "changeset": world.changeset(&[("README", "half\n")]) }),
        &resolve,
    );
    world.claim(MIA, &review);
    let again = world.answer(
        MIA,
        json!({ "verdict": "deny", "note": "Both, please" }),
        &review,
    );
    world.claim(con_a, &again);
    let review = world.answer(
        con_a,
        json!({ "verdict": "complete", "changeset": world.changeset(&[("README", "both\n")]) }),
        &again,
    );
    world.claim(MIA, &review);
    let submit = world.answer(MIA, json!({ "verdict": "grant" }), &review);
    world.claim("mia@example.com[a]", &submit);
    world.ok(
        "mia@example.com[a]",
        "commit_changeset",
        json!({ "ask_id": submit }),
    );
    let clone = world.clone_it("merged");
    assert_eq!(
        bench.git(&clone, &["log", "-1", "--format=%P"]),
        format!("{head} {theirs}")
    );
    for (file, content) in [("README", "both\n"), ("OURS", "x\n"), ("THEIRS", "y\n")] {
        assert_eq!(
            std::fs::read_to_string(clone.join(file)).expect("a file"),
            content
        );
    }
    assert_eq!(bench.repo("push", &[]).json()["ahead"], 2);
    assert_eq!(
        bench.git(&origin, &["rev-parse", "main"]),
        world.remote_head()
    );
}

#[test]
fn work_on_a_repository_that_is_being_removed_finds_it_not_there() {
    let world = World::new();
    // Removals wait for this lock, with the repository's turn in their hands and the repository still there.
    let path = world.bench.place.state().join("repos/lock");
    let lock = std::fs::File::options()
        .write(true)
        .open(path)
        .expect("a repository was taken in");
    lock.lock().expect("nobody holds it");
    let head = world.remote_head();
    let changeset = world.changeset(&[("NEW", "n\n")]);
    let mut calls: Vec<TcpStream> = Vec::new();
    std::thread::scope(|scope| {
        let removal = scope.spawn(|| {
            let owner = Some(bearer(world.token("owner")));
            ask(
                world.up(),
                "DELETE",
                "/api/repos/acme/site",
                owner.as_deref(),
                None,
            )
            .status
        });
        // Time to reach the turn, for the removal and then for the commits behind it. One that comes later finds the
        // repository gone from the start, which is the same answer.
        std::thread::sleep(std::time::Duration::from_millis(500));
        for _ in 0..2 {
            calls.push(world.send("owner", "commit_changeset", &changeset));
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
        lock.unlock().expect("it is ours");
        assert_eq!(removal.join().expect("it is answered"), 200);
    });
    for mut call in calls {
        let mut answer = String::new();
        call.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        assert!(
            answer.contains("There is no repository `acme/site`"),
            "{answer}"
        );
    }
    assert!(!world.bench.hosted().exists());
    // Nothing of it is in what is taken in under that name.
    world.bench.add(&["--public"]);
    assert_eq!(world.remote_head(), head);
}
