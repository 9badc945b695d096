//! Every route of the real program, asked by those who may not.

use std::time::Duration;

use guildhall_core::{Clock as _, Principal, SystemClock, SystemIds};
use guildhall_server::auth::Token;
use guildhall_server::{Access, ROUTES, Route};
use guildhall_store::team::NewSession;
use guildhall_store::{Principals as _, Store, Team as _, Tokens as _};
use serde_json::{Value, json};

use crate::hosted::{Bench, OTHER, OWNER, act, ask, bearer, token};
use crate::support::Up;

const AGENT: &str = "owner@localhost[claude]";
const DISABLED: &str = "owner@localhost[gone]";
/// The id of a token of the owner's that nobody else may revoke.
const OWNERS: &str = "tok-owners";

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
        let [expired, revoked, disabled, strangers, elsewhere, agents] =
            bench.with_store(|store| async move { tokens(&store).await });
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

async fn tokens(store: &Store) -> [String; 6] {
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
    let session = NewSession {
        id: "app-1".parse().expect("a session"),
        roles: vec!["ai".parse().expect("a role")],
        namespace: "default".to_owned(),
        repo: None,
        root: None,
        branch: None,
    };
    store
        .make_session(act(OWNER), session)
        .await
        .expect("a session");
    let strangers = token(store, OTHER, "tok-stranger", |_| {}).await;
    let elsewhere = token(store, OWNER, OWNERS, |new| {
        new.repos = Some(vec!["acme/other".to_owned()]);
    });
    let elsewhere = elsewhere.await;
    let agents = token(store, AGENT, "tok-agent", |_| {}).await;
    [expired, revoked, disabled, strangers, elsewhere, agents]
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
        .replace("{session}", "app-1")
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

/// What another person, the owner's token for another repository, and the owner's agent are answered.
fn answers(route: &Route) -> [u16; 3] {
    match (route.method, route.path) {
        (
            "GET",
            "/metrics" | "/api/status" | "/api/openapi.json" | "/api/tools" | "/api/whoami"
            | "/api/repos" | "/api/team/sessions",
        )
        | ("POST", "/mcp" | "/mcp/{packs}") => [200, 200, 200],
        ("GET" | "DELETE", "/mcp" | "/mcp/{packs}") => [405, 405, 405],
        // One's own sessions; another's is not there.
        ("POST", "/api/team/sessions") => [200, 403, 403],
        ("GET", "/api/team/sessions/{session}") => [404, 200, 200],
        ("POST" | "DELETE", path) if path.starts_with("/api/team/sessions/{session}") => {
            [404, 403, 403]
        }
        // One's own agents and tokens; nobody names another's.
        ("GET", "/api/agents" | "/api/tokens") | ("POST" | "DELETE", "/api/agents/{name}") => {
            [200, 403, 403]
        }
        // The agent that was just revoked.
        ("POST", "/api/agents/{name}/tokens") => [409, 403, 403],
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
            [403, 403, 403]
        }
        (
            "GET",
            "/api/repos/{owner}/{repo}"
            | "/api/repos/{owner}/{repo}/tools"
            | "/{owner}/{repo}/info/refs",
        )
        | (
            "POST",
            "/api/tools/{tool}"
            | "/api/repos/{owner}/{repo}/tools/{tool}"
            | "/api/repos/{owner}/{repo}/mcp"
            | "/{owner}/{repo}/git-upload-pack",
        ) => [404, 404, 200],
        ("GET" | "DELETE", "/api/repos/{owner}/{repo}/mcp") => [404, 404, 405],
        _ => panic!("nothing is said here of {route:?}"),
    }
}

#[test]
fn a_foreign_token_gets_no_further_than_its_own() {
    let world = World::new();
    let head = world
        .bench
        .git(&world.bench.origin(), &["rev-parse", "HEAD"]);
    let tokens = [&world.strangers, &world.elsewhere, &world.agents];
    for route in ROUTES.iter().filter(|route| route.access != Access::Open) {
        for (token, (who, status)) in tokens.into_iter().zip(
            ["a stranger", "one for elsewhere", "an agent"]
                .into_iter()
                .zip(answers(route)),
        ) {
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
            let is_agent = who == "an agent";
            for secret in [&*head, OWNERS, AGENT] {
                let told = answered.text.contains(secret);
                assert!(is_agent || !told, "{who}: {route:?} {}", answered.text);
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
