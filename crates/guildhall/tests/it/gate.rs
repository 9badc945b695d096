//! Every route of the real program, asked by those who may not.

use std::time::Duration;

use guildhall_core::team::Binding;
use guildhall_core::{Clock as _, Principal, SystemClock, SystemIds};
use guildhall_server::auth::Token;
use guildhall_server::{Access, ROUTES, Reach, Route};
use guildhall_store::team::NewSession;
use guildhall_store::{Principals as _, Store, Team as _, Tokens as _};
use serde_json::{Value, json};

use crate::attacks::least;
use crate::hosted::{Bench, OTHER, OWNER, act, ask, bearer, token};
use crate::support::Up;

const AGENT: &str = "owner@localhost[claude]";
const DISABLED: &str = "owner@localhost[gone]";
/// The id of a token of the owner's that nobody else may revoke.
const OWNERS: &str = "tok-owners";
/// The team session that every route is asked about.
const SESSION: &str = "app-1";
/// The one that a token is bound to.
const OTHER_SESSION: &str = "tool-7";

/// A server of one private repository, and the tokens that are tried at it.
struct World {
    bench: Bench,
    up: Up,
    /// What nobody is let in with, each with what is wrong with it.
    bad: Vec<(&'static str, String)>,
    /// Another person's.
    strangers: String,
    /// The owner's, for another repository only.
    elsewhere: String,
    /// The owner's agent's.
    agents: String,
    /// The owner's, for the one tool `git_log`.
    narrow: String,
    /// The owner's agent's, bound to a role of another session than the one that is asked for.
    bound: String,
}

impl World {
    fn new() -> Self {
        let bench = Bench::new();
        bench
            .place
            .write("WORKFLOW.md", "---\ntools:\n  git: {}\n---\n");
        let up = bench.place.up(&[]);
        bench.add(&[]);
        assert_eq!(up.stop(), 0);
        let mistyped = mistyped(&bench.owner_token());
        let [
            expired,
            revoked,
            disabled,
            strangers,
            elsewhere,
            agents,
            narrow,
            bound,
        ] = bench.with_store(|store| async move { tokens(&store).await });
        let bad = vec![
            ("no token", "wrong".to_owned()),
            (
                "of another server",
                Token::new(&SystemIds).expose().to_owned(),
            ),
            ("mistyped", mistyped),
            ("expired", expired),
            ("revoked", revoked),
            ("of a revoked agent", disabled),
        ];
        let up = bench.place.up(&[]);
        Self {
            bench,
            up,
            bad,
            strangers,
            elsewhere,
            agents,
            narrow,
            bound,
        }
    }
}

/// `token` with another last character, and so with another checksum.
fn mistyped(token: &str) -> String {
    let mut token = token.to_owned();
    let last = if token.pop() == Some('0') { '1' } else { '0' };
    token.push(last);
    token
}

async fn tokens(store: &Store) -> [String; 8] {
    let expired = token(store, OWNER, "tok-expired", |new| {
        new.expires_at = Some(SystemClock.now() - Duration::from_secs(1));
    });
    let expired = expired.await;
    let revoked = token(store, OWNER, "tok-revoked", |_| {}).await;
    store
        .revoke(act(OWNER), "tok-revoked")
        .await
        .expect("it is revoked");
    for agent in [AGENT, DISABLED] {
        let agent: Principal = agent.parse().expect("a name");
        store.add_agent(act(OWNER), agent).await.expect("an agent");
    }
    let disabled = token(store, DISABLED, "tok-disabled", |_| {}).await;
    let gone = DISABLED.parse().expect("a name");
    store
        .disable(act(OWNER), gone)
        .await
        .expect("it is disabled");
    let other: Principal = OTHER.parse().expect("a name");
    store.add_user(act(OWNER), other).await.expect("a user");
    for id in [SESSION, OTHER_SESSION] {
        let session = NewSession {
            id: id.parse().expect("a session"),
            roles: vec!["ai".parse().expect("a role")],
            namespace: "default".to_owned(),
            repo: Some("acme/site".to_owned()),
            root: None,
            branch: None,
        };
        let made = store.make_session(act(OWNER), session).await;
        made.expect("a session");
    }
    let strangers = token(store, OTHER, "tok-stranger", |_| {}).await;
    let elsewhere = token(store, OWNER, OWNERS, |new| {
        new.repos = Some(vec!["acme/other".to_owned()]);
    });
    let elsewhere = elsewhere.await;
    let agents = token(store, AGENT, "tok-agent", |_| {}).await;
    let narrow = token(store, OWNER, "tok-narrow", |new| {
        new.tools = Some(vec!["git_log".to_owned()]);
    });
    let narrow = narrow.await;
    let bound = token(store, AGENT, "tok-bound", |new| {
        new.bound = Some(Binding {
            session: OTHER_SESSION.parse().expect("a session"),
            role: "ai".parse().expect("a role"),
        });
    });
    let bound = bound.await;
    [
        expired, revoked, disabled, strangers, elsewhere, agents, narrow, bound,
    ]
}

/// An address of the route.
fn address(route: &Route) -> String {
    let repo = match route.access {
        Access::Git => "site.git",
        Access::Open | Access::Token => "site",
    };
    let path = route
        .path
        .replace("{owner}", "acme")
        .replace("{repo}", repo)
        .replace("{packs}", "git")
        .replace("{tool}", "git_log")
        .replace("{name}", "claude")
        .replace("{id}", OWNERS)
        .replace("{session}", SESSION)
        .replace("{role}", "ai")
        .replace("{username}", "owner%40localhost");
    if path.ends_with("/info/refs") {
        path + "?service=git-upload-pack"
    } else {
        path
    }
}

/// What the route takes: a request that its owner would be granted.
fn body(route: &Route) -> Option<Value> {
    if route.method != "POST" {
        return None;
    }
    Some(match route.path {
        "/api/tools/{tool}" => json!({ "repo": "acme/site" }),
        "/api/agents" => json!({ "name": "codex" }),
        "/api/team/sessions" => json!({ "project": "mine" }),
        "/api/team/sessions/{session}/roles/{role}" => json!({ "action": "pause" }),
        "/api/team/sessions/{session}/roles/{role}/notes" => json!({ "message": "hello" }),
        "/api/team/sessions/{session}/roles/{role}/token" => json!({ "agent": "claude" }),
        "/api/users" => json!({ "username": "third@example.com" }),
        "/api/repos" => json!({ "repo": "acme/third", "path": "/" }),
        "/api/repos/{owner}/{repo}/mcp" | "/mcp" | "/mcp/{packs}" => {
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} })
        }
        _ => json!({}),
    })
}

#[test]
fn a_bad_token_opens_no_route() {
    let world = World::new();
    for route in ROUTES.iter().filter(|route| route.access != Access::Open) {
        let challenge = match route.access {
            Access::Git => "Basic realm=\"guildhall\"",
            Access::Open | Access::Token => "Bearer realm=\"guildhall\"",
        };
        let bad = world
            .bad
            .iter()
            .map(|(what, token)| (*what, Some(bearer(token))));
        for (what, authorization) in bad.chain([("none", None)]) {
            let answered = ask(
                &world.up,
                route.method,
                &address(route),
                authorization.as_deref(),
                body(route),
            );
            assert_eq!(answered.status, 401, "{what}: {route:?} {}", answered.text);
            assert_eq!(answered.challenge.as_deref(), Some(challenge), "{route:?}");
            assert_eq!(answered.json()["code"], "unauthenticated", "{route:?}");
            // Whether what was asked for exists is not told.
            assert!(!answered.text.contains("acme"), "{}", answered.text);
        }
    }
}

/// What they are answered: another person, the owner's token for another repository, the owner's agent, the owner's token
/// for `git_log`, and the agent's token that is bound to a role of another session.
fn answers(route: &Route) -> [u16; 5] {
    match (route.method, route.path) {
        (
            "GET",
            "/metrics" | "/api/status" | "/api/openapi.json" | "/api/tools" | "/api/whoami"
            | "/api/repos",
        )
        | ("POST", "/mcp" | "/mcp/{packs}") => [200, 200, 200, 200, 200],
        ("GET" | "DELETE", "/mcp" | "/mcp/{packs}") => [405, 405, 405, 405, 405],
        // One's own sessions; another's is not there, nor one beyond the token's limits.
        ("GET", "/api/team/sessions") => [200, 200, 200, 403, 200],
        ("POST", "/api/team/sessions") => [200, 403, 403, 403, 403],
        ("GET", "/api/team/sessions/{session}") => [404, 404, 200, 403, 403],
        ("POST" | "DELETE", path) if path.starts_with("/api/team/sessions/{session}") => {
            [404, 403, 403, 403, 403]
        }
        // One's own agents and tokens; nobody names another's.
        ("GET", "/api/agents" | "/api/tokens") | ("POST" | "DELETE", "/api/agents/{name}") => {
            [200, 403, 403, 403, 403]
        }
        // The agent that was just revoked.
        ("POST", "/api/agents/{name}/tokens") => [409, 403, 403, 403, 403],
        ("GET", "/api/users" | "/api/doctor")
        | (
            "POST",
            "/api/agents"
            | "/api/users"
            | "/api/users/{username}/codes"
            | "/api/repos"
            | "/api/repos/{owner}/{repo}/sync"
            | "/api/repos/{owner}/{repo}/push"
            | "/{owner}/{repo}/git-receive-pack",
        )
        | ("DELETE", "/api/tokens/{id}" | "/api/users/{username}" | "/api/repos/{owner}/{repo}") => {
            [403, 403, 403, 403, 403]
        }
        ("GET", "/api/repos/{owner}/{repo}" | "/api/repos/{owner}/{repo}/tools")
        | (
            "POST",
            "/api/tools/{tool}"
            | "/api/repos/{owner}/{repo}/tools/{tool}"
            | "/api/repos/{owner}/{repo}/mcp",
        ) => [404, 404, 200, 200, 200],
        // What a clone tells is more than `git_log` does.
        ("GET", "/{owner}/{repo}/info/refs") | ("POST", "/{owner}/{repo}/git-upload-pack") => {
            [404, 404, 200, 403, 200]
        }
        ("GET" | "DELETE", "/api/repos/{owner}/{repo}/mcp") => [404, 404, 405, 405, 405],
        _ => panic!("nothing is said here of {route:?}"),
    }
}

#[test]
fn a_foreign_token_gets_no_further_than_its_own() {
    let world = World::new();
    let head = world
        .bench
        .git(&world.bench.origin(), &["rev-parse", "HEAD"]);
    let tokens = [
        &world.strangers,
        &world.elsewhere,
        &world.agents,
        &world.narrow,
        &world.bound,
    ];
    let whose = [
        "a stranger",
        "one for elsewhere",
        "an agent",
        "one for git_log",
        "a bound one",
    ];
    for route in ROUTES.iter().filter(|route| route.access != Access::Open) {
        for (token, (who, status)) in tokens
            .into_iter()
            .zip(whose.into_iter().zip(answers(route)))
        {
            let (address, body) = (address(route), body(route));
            let answered = ask(
                &world.up,
                route.method,
                &address,
                Some(&bearer(token)),
                body,
            );
            assert_eq!(
                answered.status, status,
                "{who}: {route:?} {}",
                answered.text
            );
            if route.method == "GET" {
                let asked = ask(&world.up, "HEAD", &address, Some(&bearer(token)), None);
                assert_eq!(asked.status, status, "{who}: HEAD of {route:?}");
            }
            let secrets: &[&str] = match who {
                "an agent" => &[],
                "a bound one" => &[OWNERS, SESSION],
                "one for git_log" => &[OWNERS, AGENT, SESSION, OTHER_SESSION],
                _ => &[&head, OWNERS, AGENT, SESSION, OTHER_SESSION],
            };
            for secret in secrets {
                let told = answered.text.contains(secret);
                assert!(!told, "{who}: {route:?} {}", answered.text);
            }
            // What a route says of itself is what is enforced.
            let limited = !matches!(who, "a stranger" | "an agent");
            if limited && route.reach == Reach::Unlimited {
                assert_eq!(answered.status, 403, "{who}: {route:?}");
            }
        }
    }
    // All of it changed nothing.
    let owner = bearer(&world.bench.owner_token());
    let repo = ask(&world.up, "GET", "/api/repos/acme/site", Some(&owner), None);
    assert_eq!(repo.json()["result"]["head"], head);
    let agents = ask(&world.up, "GET", "/api/agents", Some(&owner), None);
    let agents = agents.json()["result"]["agents"].clone();
    assert_eq!(agents.as_array().map(Vec::len), Some(2), "{agents}");
    let users = ask(&world.up, "GET", "/api/users", Some(&owner), None);
    let users = users.json()["result"]["users"].clone();
    assert_eq!(users.as_array().map(Vec::len), Some(2), "{users}");
    let tokens = ask(&world.up, "GET", "/api/tokens", Some(&owner), None);
    let tokens = tokens.json()["result"]["tokens"].clone();
    let kept = tokens.as_array().into_iter().flatten();
    let mut kept = kept.filter(|token| token["id"] == OWNERS);
    assert!(
        kept.next()
            .is_some_and(|token| token["revoked_at"].is_null())
    );
}

/// The server's answer to a call of `tool`.
fn call(world: &World, token: &str, tool: &str, arguments: Value) -> (u16, Value) {
    let path = format!("/api/tools/{tool}");
    let answered = ask(
        &world.up,
        "POST",
        &path,
        Some(&bearer(token)),
        Some(arguments),
    );
    (answered.status, answered.json())
}

#[test]
fn no_tool_of_the_team_reaches_past_a_tokens_limits() {
    let world = World::new();
    let owner = bearer(&world.bench.owner_token());
    let listed = ask(&world.up, "GET", "/api/tools", Some(&owner), None).json();
    let listed = listed["result"]["tools"].as_array().cloned();
    let mut tried = 0;
    for tool in listed.expect("a list of tools") {
        let name = tool["name"].as_str().expect("a name");
        if !name.starts_with("devorch_") {
            continue;
        }
        tried += 1;
        let mut arguments = least(&tool["inputSchema"]);
        arguments.insert("session".to_owned(), json!(SESSION));
        for role in ["role", "from_role", "to_role"] {
            if arguments.contains_key(role) {
                arguments.insert(role.to_owned(), json!("ai"));
            }
        }
        let arguments = Value::Object(arguments);
        let (status, answer) = call(&world, &world.elsewhere, name, arguments.clone());
        assert_eq!(
            (status, &answer["error"]),
            (404, &json!("Session not found")),
            "{name}"
        );
        let (status, answer) = call(&world, &world.bound, name, arguments.clone());
        assert_eq!(
            (status, &answer["error"]),
            (403, &json!("Permission denied")),
            "{name}"
        );
        let (status, _) = call(&world, &world.narrow, name, arguments);
        assert_eq!(status, 403, "{name}");
    }
    assert_eq!(tried, 7);
    let (status, _) = call(
        &world,
        &world.agents,
        "devorch_get_setup_instructions",
        json!({ "session": SESSION, "role": "ai", "agent": "claude" }),
    );
    assert_eq!(status, 200, "the role was free all along");
}

#[test]
fn a_clone_takes_the_tools_that_tell_as_much() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&[]);
    assert_eq!(up.stop(), 0);
    let [some, all] = bench.with_store(|store| async move {
        let limited = async |id: &str, tools: &[&str]| {
            let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
            token(&store, OWNER, id, |new| new.tools = Some(tools)).await
        };
        [
            limited("tok-some", &["git_log", "git_diff"]).await,
            limited("tok-all", &["git_log", "git_diff", "git_show_file"]).await,
        ]
    });
    let up = bench.place.up(&[]);
    let address = format!("{}/acme/site.git", up.url());
    let home = bench.place.home();
    let refused = bench.git_with(&some, home, &["clone", &address, "some"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("403"), "{}", refused.err);
    assert!(!home.join("some/README").exists());
    bench.git_with(&all, home, &["clone", &address, "all"]).ok();
    assert!(home.join("all/README").exists());
}
