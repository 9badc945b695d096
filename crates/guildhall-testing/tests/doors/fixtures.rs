//! What the fixtures do that the conformance suite does not look at.

use std::sync::Arc;

use guildhall_server::mcp;
use guildhall_testing::fixture::{FixtureHandler, World};
use guildhall_testing::{Setup, TestServer};
use serde_json::{Value, json};

use crate::support::{Call, LEGACY, messages, read_until};

async fn fixtures(sessions: bool) -> TestServer {
    let world = World::new();
    let setup = Setup {
        sessions,
        ..Setup::of(Arc::clone(world.mounts()))
    };
    TestServer::start_with(setup, |app, _| {
        let endpoint = mcp::endpoint_with(app, move |handler| {
            FixtureHandler::new(handler, Arc::clone(&world))
        });
        guildhall_server::router(Arc::clone(app), &endpoint)
    })
    .await
}

#[tokio::test]
async fn the_gate_stands_before_the_fixtures_too() {
    let server = fixtures(false).await;
    let call = || Call::modern(&server, "prompts/list", json!({}));
    assert_eq!(call().without("authorization").send().await.status, 401);
    assert_eq!(
        call()
            .with("origin", "http://evil.example.com")
            .send()
            .await
            .status,
        403
    );
    assert_eq!(call().send().await.status, 200);
}

#[tokio::test]
async fn a_session_hears_of_a_resource_while_it_is_subscribed() {
    let server = fixtures(true).await;
    let opened = Call::initialize(&server, LEGACY).send().await;
    let id = opened.header("mcp-session-id").unwrap();
    let within = |call: Call| {
        call.with("mcp-session-id", id)
            .with("mcp-protocol-version", LEGACY)
    };
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    within(Call::mcp(&server, &notification)).send().await;
    let call = async |method: &str, params: Value| {
        let reply = within(Call::legacy(&server, method, &params)).send().await;
        assert!(reply.json()["result"].is_object(), "{}", reply.body);
    };
    let mut stream = within(Call::new(&server, "GET", "/mcp").with("accept", "text/event-stream"))
        .open()
        .await
        .into_body();

    let watched = json!({ "uri": "test://watched-resource" });
    let change = json!({ "name": "test_trigger_resource_change" });
    call("resources/subscribe", watched.clone()).await;
    call("tools/call", change.clone()).await;
    let told = read_until(&mut stream, "updated").await;
    let told = messages(&told);
    assert_eq!(told[0]["method"], "notifications/resources/updated");
    assert_eq!(told[0]["params"], watched);

    call("resources/unsubscribe", watched).await;
    call("tools/call", change).await;
    call(
        "tools/call",
        json!({ "name": "test_trigger_prompt_change" }),
    )
    .await;
    let told = read_until(&mut stream, "list_changed").await;
    assert_eq!(messages(&told).len(), 1, "{told}");
}

#[tokio::test]
async fn log_messages_come_at_the_level_that_is_asked_for() {
    let server = fixtures(false).await;
    for (level, count) in [
        (None, 0),
        (Some("info"), 3),
        (Some("debug"), 3),
        (Some("error"), 0),
    ] {
        let meta = match level {
            Some(level) => json!({ "io.modelcontextprotocol/logLevel": level }),
            None => json!({}),
        };
        let params = json!({ "name": "test_tool_with_logging", "arguments": {}, "_meta": meta });
        let reply = Call::modern(&server, "tools/call", params).send().await;
        let logged = reply.body.matches("notifications/message").count();
        assert_eq!(logged, count, "{level:?}: {}", reply.body);
    }
}
