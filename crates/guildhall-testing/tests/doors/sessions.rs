//! Sessions, where the settings turn them on.

use std::time::Duration;

use guildhall_core::Clock as _;
use guildhall_server::auth::TokenLimits;
use guildhall_testing::{Mounts, SetClock, Setup, TestServer};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use jiff::SignedDuration;
use serde_json::json;

use crate::support::{
    Call, LEGACY, MODERN, PATIENCE, Reply, messages, read_until, server_with_sessions,
};

async fn open(server: &TestServer, version: &str) -> (String, Reply) {
    open_as(server, version, server.token()).await
}

async fn open_as(server: &TestServer, version: &str, token: &str) -> (String, Reply) {
    let reply = Call::initialize(server, version).token(token).send().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let id = reply
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let accepted = Call::mcp(server, &notification)
        .token(token)
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", version)
        .send()
        .await;
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    (id, reply)
}

fn list(server: &TestServer, id: &str) -> Call {
    Call::legacy(server, "tools/list", &json!({})).with("mcp-session-id", id)
}

#[tokio::test]
async fn an_unknown_session_is_404_and_a_new_one_starts_beside_it() {
    let server = server_with_sessions().await;
    let stale = "5f0c7ae3-6a8e-4a4c-9a0d-1f3a8d2b7c11";
    let reply = list(&server, stale).send().await;
    assert_eq!((reply.status, reply.rpc_error()), (404, -32600));
    assert_eq!(
        reply.json()["error"]["message"],
        "Session not found: start a new one with `initialize`"
    );
    let reply = Call::initialize(&server, LEGACY)
        .with("mcp-session-id", stale)
        .send()
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let id = reply.header("mcp-session-id").unwrap();
    assert_ne!(id, stale);

    let reply = Call::legacy(&server, "tools/list", &json!({})).send().await;
    assert_eq!(
        reply.status, 400,
        "a request without a session: {}",
        reply.body
    );
    assert!(reply.rpc_error() < 0);
}

#[tokio::test]
async fn the_word_initialize_in_an_argument_starts_nothing() {
    let server = server_with_sessions().await;
    let (id, _) = open(&server, LEGACY).await;
    let params = json!({ "name": "probe_echo", "arguments": { "text": "initialize" } });
    let call = Call::legacy(&server, "tools/call", &params).with("mcp-session-id", &id);
    let reply = call.send().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.payload()["text"], "initialize");
}

#[tokio::test]
async fn a_session_that_was_ended_is_gone() {
    let server = server_with_sessions().await;
    let (id, _) = open(&server, LEGACY).await;
    assert_eq!(list(&server, &id).send().await.status, 200);
    let end = || {
        Call::new(&server, "DELETE", "/mcp")
            .with("mcp-session-id", &id)
            .with("mcp-protocol-version", LEGACY)
    };
    assert_eq!(end().send().await.status, 202);
    assert_eq!(list(&server, &id).send().await.status, 404);
    assert_eq!(end().send().await.status, 404);
}

#[tokio::test]
async fn a_session_is_its_owners_alone() {
    let server = server_with_sessions().await;
    let (id, _) = open(&server, LEGACY).await;
    let other = server.agent_token("claude").await;
    let stream = Call::new(&server, "GET", "/mcp")
        .with("accept", "text/event-stream")
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", LEGACY);
    let end = Call::new(&server, "DELETE", "/mcp")
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", LEGACY);
    for call in [list(&server, &id), stream, end] {
        assert_eq!(call.token(&other).send().await.status, 404);
    }
    // Not even where the revision has no sessions and the id is beside the point.
    let modern = Call::modern(&server, "tools/list", json!({}))
        .with("mcp-session-id", &id)
        .token(&other);
    assert_eq!(modern.send().await.status, 200);
    assert_eq!(list(&server, &id).send().await.status, 200);
}

#[tokio::test]
async fn one_principal_cannot_hold_sessions_without_end() {
    let server = server_with_sessions().await;
    let mut last = String::new();
    for _ in 0..100 {
        last = open(&server, LEGACY).await.0;
    }
    let reply = Call::initialize(&server, LEGACY).send().await;
    assert_eq!((reply.status, reply.rpc_error()), (429, -32600));
    assert_eq!(
        reply.json()["error"]["message"],
        "`you@example.com[unnamed]` has 100 MCP sessions open, the most there may be"
    );
    // However the message is written.
    let body = Call::initialize(&server, LEGACY).body(
        r#"{"jsonrpc":"2.0","id":1,"method":"\u0069nitialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
    );
    assert_eq!(body.send().await.status, 429);
    // Others are not in the way of it, nor are clients without sessions.
    let other = server.agent_token("claude").await;
    let reply = Call::initialize(&server, LEGACY).token(&other).send().await;
    assert_eq!(reply.status, 200);
    let reply = Call::modern(&server, "tools/list", json!({})).send().await;
    assert_eq!(reply.status, 200);
    // And one that is ended makes room.
    let end = Call::new(&server, "DELETE", "/mcp").with("mcp-session-id", &last);
    assert_eq!(end.send().await.status, 202);
    let reply = Call::initialize(&server, LEGACY).send().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn only_clients_that_know_priming_events_get_them() {
    let server = server_with_sessions().await;
    for (version, primed) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", false),
        (LEGACY, true),
        (MODERN, true),
    ] {
        let negotiated = if version == MODERN { LEGACY } else { version };
        let (id, opened) = open(&server, negotiated).await;
        let reply = list(&server, &id)
            .with("mcp-protocol-version", negotiated)
            .send()
            .await;
        assert_eq!(reply.status, 200, "{version}: {}", reply.body);
        let empty = reply.body.lines().any(|line| {
            line.strip_prefix("data:")
                .is_some_and(|data| data.trim().is_empty())
        });
        assert_eq!(empty, primed, "{version}: {}", reply.body);
        assert_eq!(messages(&reply.body).len(), 1, "{version}");
        assert_eq!(messages(&opened.body).len(), 1, "{version}");
    }
}

#[tokio::test]
async fn a_session_hears_of_changed_tools() {
    let mounts = crate::support::mounts();
    let setup = Setup {
        sessions: true,
        ..Setup::of(mounts.clone())
    };
    let server = TestServer::start(setup).await;
    let (id, _) = open(&server, LEGACY).await;
    let mut stream = Call::new(&server, "GET", "/mcp")
        .with("accept", "text/event-stream")
        .with("mcp-session-id", &id)
        .with("mcp-protocol-version", LEGACY)
        .open()
        .await
        .into_body();
    mounts.mount(crate::support::catalog());
    let told = read_until(&mut stream, "list_changed").await;
    assert_eq!(
        messages(&told)[0]["method"],
        "notifications/tools/list_changed"
    );
    // A server that stops does not wait for its listeners.
    tokio::time::timeout(PATIENCE, server.stop()).await.unwrap();
}

/// Waits until `count` listen for changed tools.
async fn listeners(mounts: &Mounts, count: usize) {
    let come_to = async {
        while mounts.listeners() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, come_to)
        .await
        .unwrap_or_else(|_| panic!("{} listen, not {count}", mounts.listeners()));
}

#[tokio::test]
async fn a_session_that_was_ended_leaves_nothing_that_listens() {
    let mounts = crate::support::mounts();
    let setup = Setup {
        sessions: true,
        ..Setup::of(mounts.clone())
    };
    let server = TestServer::start(setup).await;
    let mut ids = Vec::new();
    for version in [LEGACY, "2025-06-18", "2024-11-05"] {
        ids.push(open(&server, version).await.0);
    }
    listeners(&mounts, ids.len()).await;
    for id in ids {
        let ended = Call::new(&server, "DELETE", "/mcp")
            .with("mcp-session-id", &id)
            .with("mcp-protocol-version", LEGACY)
            .send()
            .await;
        assert!(ended.status < 300, "{}: {}", ended.status, ended.body);
    }
    listeners(&mounts, 0).await;
}

/// The event stream of the session `id`.
async fn stream(server: &TestServer, id: &str, token: &str) -> Incoming {
    let call = Call::new(server, "GET", "/mcp")
        .with("accept", "text/event-stream")
        .with("mcp-session-id", id)
        .with("mcp-protocol-version", LEGACY)
        .token(token);
    call.open().await.into_body()
}

/// What a stream that ends by itself has said.
async fn to_its_end(stream: Incoming) -> String {
    let whole = tokio::time::timeout(PATIENCE, stream.collect()).await;
    let whole = whole.expect("it ends").expect("it ends well");
    String::from_utf8_lossy(&whole.to_bytes()).into_owned()
}

#[tokio::test]
async fn a_session_ends_with_the_token_that_opened_it() {
    let (mounts, clock) = (crate::support::mounts(), SetClock::new());
    let setup = Setup {
        sessions: true,
        clock: clock.clone(),
        ..Setup::of(mounts.clone())
    };
    let server = TestServer::start(setup).await;
    let (accounts, owner) = (server.accounts(), server.accounts().owner().clone());
    let agent = owner.agent("claude").unwrap();
    accounts.add_agent(&owner, agent.clone()).await.unwrap();
    let token = async |hours: Option<i64>| {
        let limits = TokenLimits {
            expires_at: hours.map(|hours| clock.now() + SignedDuration::from_hours(hours)),
            ..TokenLimits::default()
        };
        let (token, kept) = accounts.issue(&owner, agent.clone(), limits).await.unwrap();
        (token.expose().to_owned(), kept.id)
    };
    let opened = async |token: &str| {
        let session = open_as(&server, LEGACY, token).await.0;
        let told = stream(&server, &session, token).await;
        (session, told)
    };
    let (revoked, revoked_id) = token(None).await;
    let (short, _) = token(Some(1)).await;
    let (kept, _) = token(None).await;
    let (first, hears_first) = opened(&revoked).await;
    let (second, hears_second) = opened(&short).await;
    let (third, mut hears_third) = opened(&kept).await;
    // A stream ends with its own token too, where another one of the same agent opened the session.
    let (beside, beside_id) = token(None).await;
    let (fourth, _) = opened(&kept).await;
    let hears_beside = stream(&server, &fourth, &beside).await;
    listeners(&mounts, 4).await;

    accounts.revoke(&owner, &revoked_id).await.unwrap();
    assert!(!to_its_end(hears_first).await.contains("list_changed"));
    listeners(&mounts, 3).await;
    clock.pass(Duration::from_hours(2));
    assert!(!to_its_end(hears_second).await.contains("list_changed"));
    listeners(&mounts, 2).await;
    accounts.revoke(&owner, &beside_id).await.unwrap();
    assert!(!to_its_end(hears_beside).await.contains("list_changed"));

    // Their sessions are gone, and those of others go on.
    for (session, status) in [(&first, 404), (&second, 404), (&third, 200), (&fourth, 200)] {
        let reply = list(&server, session).token(&kept).send().await;
        assert_eq!(reply.status, status, "{}", reply.body);
    }
    mounts.mount(crate::support::catalog());
    read_until(&mut hears_third, "list_changed").await;
}

#[tokio::test]
async fn a_subscription_ends_with_its_token() {
    let mounts = crate::support::mounts();
    let server = TestServer::start(Setup::of(mounts.clone())).await;
    let (accounts, owner) = (server.accounts(), server.accounts().owner().clone());
    let token = server.agent_token("claude").await;
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let mut told = Call::modern(&server, "subscriptions/listen", wanted)
        .token(&token)
        .open()
        .await
        .into_body();
    read_until(&mut told, "acknowledged").await;
    accounts
        .disable(&owner, owner.agent("claude").unwrap())
        .await
        .unwrap();
    let rest = to_its_end(told).await;
    assert!(!rest.contains("list_changed"), "{rest}");
    listeners(&mounts, 0).await;
}
