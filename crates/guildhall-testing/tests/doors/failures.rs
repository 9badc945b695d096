//! How a call fails, and how its result is bounded, at both doors.

use std::sync::atomic::Ordering;

use guildhall_testing::{Mounts, Setup, TestServer};
use guildhall_tools::{Catalog, MCP_RESULT_BYTES};
use serde_json::{Value, json};

use crate::support::{Call, KINDS, LEGACY, Reply, Watch, probe, server};

async fn over_mcp(server: &TestServer, tool: &str, arguments: Value) -> Reply {
    let reply = Call::tool(server, tool, &arguments).send().await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply
}

async fn over_http(server: &TestServer, tool: &str, arguments: &Value) -> Reply {
    Call::new(server, "POST", &format!("/api/tools/{tool}"))
        .json(arguments)
        .send()
        .await
}

#[tokio::test]
async fn both_forms_of_a_result_are_whole() {
    let server = server().await;
    let arguments = json!({ "text": "hé", "tags": ["a"], "options": { "volume": 3 } });
    let reply = over_mcp(&server, "probe_echo", arguments.clone()).await;
    let result = reply.result();
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"], arguments);
    // Compact, in the order of the fields.
    assert_eq!(
        result["content"],
        json!([{ "type": "text", "text": arguments.to_string() }])
    );
    let reply = over_http(&server, "probe_echo", &arguments).await;
    assert_eq!(reply.json(), json!({ "result": arguments }));
    assert_eq!(reply.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn a_failed_call_is_data() {
    let server = server().await;
    for (kind, expected) in KINDS {
        let arguments = json!({ "kind": kind });
        let reply = over_mcp(&server, "probe_fail", arguments.clone()).await;
        let result = reply.result();
        assert_eq!(result["isError"], true, "{kind}");
        assert_eq!(result.get("structuredContent"), None, "{kind}");
        let payload = reply.payload();
        match kind {
            "internal" => assert!(payload["error"]["correlation_id"].is_string()),
            "upstream" => assert_eq!(payload, json!({ "errors": ["from the service"] })),
            _ => assert_eq!(
                payload,
                json!({ "error": { "message": "It said no", "hint": "Ask again." } })
            ),
        }

        let reply = over_http(&server, "probe_fail", &arguments).await;
        assert_eq!(reply.status, expected.status(), "{kind}");
        let body = reply.json();
        assert_eq!(body["code"], expected.code(), "{kind}");
        assert!(body["error"].is_string(), "{kind}");
        let retry = (kind == "rate_limited").then_some("7");
        assert_eq!(reply.header("retry-after"), retry, "{kind}");
        if kind == "upstream" {
            assert_eq!(body["result"], json!({ "errors": ["from the service"] }));
        }
    }
}

#[tokio::test]
async fn the_cause_of_a_fault_of_ours_stays_in_the_log() {
    let server = server().await;
    for (tool, arguments) in [
        ("probe_fail", json!({ "kind": "internal" })),
        ("probe_panic", json!({})),
    ] {
        let mcp = over_mcp(&server, tool, arguments.clone()).await;
        let http = over_http(&server, tool, &arguments).await;
        assert_eq!(http.status, 500);
        let id = http.json()["correlation_id"].as_str().unwrap().to_owned();
        assert!(http.json()["error"].as_str().unwrap().contains(&id));
        for body in [mcp.body, http.body] {
            assert!(!body.contains("secret"), "{body}");
        }
    }
    assert_eq!(
        over_mcp(&server, "probe_whoami", json!({})).await.status,
        200
    );
}

#[tokio::test]
async fn a_pack_keeps_the_shape_of_its_failures() {
    let server = server().await;
    let expected = |message: &str| json!({ "status": "error", "error": message });
    let reply = over_mcp(&server, "shaped_fail", json!({ "text": "a" })).await;
    assert_eq!(reply.payload(), expected("Taken"));
    // Also where the pipeline finds the fault.
    let reply = over_mcp(&server, "shaped_fail", json!({})).await;
    assert_eq!(reply.payload(), expected("'text' is required"));
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let server = server().await;
    for (arguments, message) in [
        (json!({}), "'text' is required"),
        (json!({ "text": "  " }), "'text' is required"),
        (json!({ "text": 5 }), "'text' is required"),
        (
            json!({ "text": "a", "tag": [] }),
            "Unknown argument 'tag': allowed are options, tags, text",
        ),
    ] {
        let reply = over_mcp(&server, "probe_echo", arguments.clone()).await;
        assert_eq!(reply.payload()["error"]["message"], message);
        let reply = over_http(&server, "probe_echo", &arguments).await;
        assert_eq!(reply.status, 400);
        assert_eq!(reply.json()["error"], message);
        assert_eq!(reply.json()["code"], "bad_arguments");
    }
    for (arguments, named) in [
        (json!({ "text": "a", "tags": [1] }), "'tags"),
        (
            json!({ "text": "a", "options": { "volume": -1 } }),
            "volume",
        ),
        (
            json!({ "text": "a", "options": { "volume": 1e300 } }),
            "volume",
        ),
    ] {
        let reply = over_http(&server, "probe_echo", &arguments).await;
        assert_eq!(reply.status, 400);
        assert!(
            reply.json()["error"].as_str().unwrap().contains(named),
            "{}",
            reply.body
        );
    }
    let reply = over_http(&server, "probe_echo", &json!({ "text": "a", "tag": [] })).await;
    assert!(
        reply.json()["hint"].as_str().unwrap().contains("tags"),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn arguments_that_arrive_as_strings_are_parsed() {
    let server = server().await;
    let arguments = json!({ "text": "[1]", "tags": "[\"a\"]", "options": "{\"volume\":3}" });
    let reply = over_mcp(&server, "probe_echo", arguments).await;
    assert_eq!(
        reply.payload(),
        json!({ "text": "[1]", "tags": ["a"], "options": { "volume": 3 } })
    );
}

#[tokio::test]
async fn a_result_over_the_budget_is_cut_and_says_so() {
    let server = server().await;
    let reply = over_mcp(&server, "probe_text", json!({})).await;
    let payload = reply.payload();
    assert!(payload.to_string().len() <= MCP_RESULT_BYTES);
    assert_eq!(payload["truncated"], true);
    let more = over_mcp(&server, "probe_text", json!({ "max_bytes": 65_536 })).await;
    assert_eq!(more.payload(), json!({ "text": "x".repeat(50_000) }));
    let whole = over_http(&server, "probe_text", &json!({})).await;
    assert_eq!(whole.json()["result"], more.payload());
    // What cannot be cut is a failure that says how to ask.
    let reply = over_mcp(&server, "probe_rows", json!({})).await;
    let error = &reply.payload()["error"];
    assert_eq!(
        error["message"],
        "Result of 47010 bytes is over the limit of 16384 bytes"
    );
    assert!(error["hint"].as_str().unwrap().contains("`max_bytes`"));
    let reply = over_http(&server, "probe_rows", &json!({ "max_bytes": 2000 })).await;
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (413, &json!("too_large"))
    );
}

#[tokio::test]
async fn what_a_caller_may_not_use_is_forbidden_and_not_unknown() {
    let server = server().await;
    let reply = over_mcp(&server, "probe_person", json!({})).await;
    assert_eq!(
        reply.payload()["error"]["message"],
        "`you@example.com[unnamed]` may not use probe_person"
    );
    let call = Call::new(&server, "POST", "/api/tools/probe_person");
    assert_eq!(call.send().await.status, 200);
    let agent = server.agent_token("claude").await;
    let call = Call::new(&server, "POST", "/api/tools/probe_person").token(&agent);
    let reply = call.send().await;
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (403, &json!("forbidden"))
    );
}

#[tokio::test]
async fn what_runs_on_the_agents_machine_is_refused_here() {
    let server = server().await;
    let message =
        "probe_local runs only on the agent's machine: use guildhall mcp or guildhall work";
    let reply = over_mcp(&server, "probe_local", json!({})).await;
    assert_eq!(reply.payload()["error"]["message"], message);
    let reply = over_http(&server, "probe_local", &json!({})).await;
    assert_eq!(
        (reply.status, &reply.json()["error"]),
        (400, &json!(message))
    );
}

#[tokio::test]
async fn an_unknown_tool_is_404_over_plain_http() {
    let server = server().await;
    let reply = over_http(&server, "no_such", &json!({})).await;
    assert_eq!(reply.status, 404);
    let body = reply.json();
    assert_eq!(body["error"], "Unsupported tool: \"no_such\".");
    assert!(body["supportedTools"].is_array());
}

#[tokio::test]
async fn no_body_means_no_arguments() {
    let server = server().await;
    for body in ["", " \n", "{}"] {
        let call = Call::new(&server, "POST", "/api/tools/probe_whoami").body(body);
        assert_eq!(call.send().await.status, 200, "{body:?}");
    }
}

/// A call that is refused before its tool runs changes nothing.
#[tokio::test]
async fn a_refused_call_writes_nothing() {
    let watch = Watch::default();
    let mounts = Mounts::new(Catalog::mount([probe(&watch)]).unwrap());
    let server = TestServer::start(Setup::of(mounts)).await;
    let write = || Call::tool(&server, "probe_write", &json!({}));
    for call in [
        write().without("authorization"),
        write().with("host", "evil.example.com"),
        write().with("origin", "http://evil.example.com"),
        write().with("mcp-name", "probe_echo"),
        write().without("mcp-method"),
        write().at("/mcp?access=read"),
        Call::tool(&server, "probe_write", &json!({ "unknown": 1 })),
        Call::legacy(&server, "tools/call", &json!({ "name": 5 })),
        Call::mcp(&server, &json!([])).with("mcp-protocol-version", LEGACY),
    ] {
        call.send().await;
    }
    assert_eq!(watch.written.load(Ordering::SeqCst), 0);
    write().send().await;
    assert_eq!(watch.written.load(Ordering::SeqCst), 1);
}
