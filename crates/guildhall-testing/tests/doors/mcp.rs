//! MCP over HTTP, old clients and new ones.

use guildhall_testing::{Mounts, Setup, TestServer};
use guildhall_tools::{Catalog, MountError, Pack, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{
    Call, LEGACY, MODERN, Watch, catalog, messages, mounts, one_of, probe, read_until, server,
};

#[tokio::test]
async fn the_server_says_who_it_is() {
    let server = server().await;
    let expected = json!({ "name": "mcp", "title": "Guildhall", "version": "0.0.0-test" });
    let result = Call::initialize(&server, LEGACY).send().await.result();
    assert_eq!(result["serverInfo"], expected);
    for method in ["server/discover", "tools/list"] {
        let result = Call::modern(&server, method, json!({}))
            .send()
            .await
            .result();
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(*info, expected, "{method}");
        assert_eq!(result["resultType"], "complete", "{method}");
        assert_eq!(result["cacheScope"], "private", "{method}");
        assert!(result["ttlMs"].is_u64(), "{method}");
    }
    let result = Call::tool(&server, "probe_whoami", &json!({}))
        .send()
        .await
        .result();
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(*info, expected);
}

#[tokio::test]
async fn a_version_is_negotiated_and_never_echoed() {
    let server = server().await;
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        (LEGACY, LEGACY),
        (MODERN, LEGACY),
        ("1999-01-01", LEGACY),
        ("2999-01-01", LEGACY),
        ("nonsense", LEGACY),
    ] {
        let result = Call::initialize(&server, asked).send().await.result();
        assert_eq!(result["protocolVersion"], answered, "{asked}");
    }
}

#[tokio::test]
async fn a_version_that_is_not_served_is_an_error_that_lists_those_that_are() {
    let server = server().await;
    let reply = Call::mcp(
        &server,
        &json!({
            "jsonrpc": "2.0", "id": 1, "method": "server/discover",
            "params": { "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2999-01-01",
                "io.modelcontextprotocol/clientCapabilities": {},
            } },
        }),
    )
    .with("mcp-protocol-version", "2999-01-01")
    .with("mcp-method", "server/discover")
    .send()
    .await;
    assert_eq!((reply.status, reply.rpc_error()), (400, -32022));
    let data = &reply.json()["error"]["data"];
    assert_eq!(data["requested"], "2999-01-01");
    let supported = data["supported"].as_array().unwrap();
    assert!(supported.contains(&json!(MODERN)) && supported.contains(&json!(LEGACY)));

    let reply = Call::legacy(&server, "tools/list", &json!({}))
        .with("mcp-protocol-version", "2999-01-01")
        .send()
        .await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn both_eras_are_served_on_one_url() {
    let server = server().await;
    let calls = [
        Call::modern(&server, "server/discover", json!({})),
        Call::initialize(&server, LEGACY),
        Call::legacy(&server, "tools/list", &json!({})),
        Call::modern(&server, "tools/list", json!({})),
        Call::legacy(&server, "tools/list", &json!({})).without("mcp-protocol-version"),
        Call::legacy(&server, "ping", &json!({})),
    ];
    for call in calls {
        let reply = call.send().await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(reply.json()["result"].is_object(), "{}", reply.body);
    }
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let reply = Call::mcp(&server, &notification)
        .with("mcp-protocol-version", LEGACY)
        .send()
        .await;
    assert_eq!((reply.status, reply.body.as_str()), (202, ""));
}

#[tokio::test]
async fn a_client_of_an_earlier_server_goes_on() {
    let first = server().await;
    let port = first.address().port();
    let call = Call::legacy(&first, "tools/list", &json!({}));
    assert_eq!(call.send().await.status, 200);
    first.stop().await;
    let setup = Setup {
        port,
        ..Setup::of(mounts())
    };
    let second = TestServer::start(setup).await;
    // No `initialize` anew, and an id from when the server had sessions: neither is in the way.
    let reply = Call::legacy(&second, "tools/list", &json!({}))
        .with("mcp-session-id", "5f0c7ae3-6a8e-4a4c-9a0d-1f3a8d2b7c11")
        .send()
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn an_unknown_method_is_answered_at_once() {
    let server = server().await;
    let reply = Call::modern(&server, "no/such", json!({})).send().await;
    assert_eq!((reply.status, reply.rpc_error()), (404, -32601));
    assert_eq!(reply.json()["id"], 1);
    for method in [
        "no/such",
        "prompts/list",
        "resources/list",
        "logging/setLevel",
    ] {
        let params = json!({ "level": "info" });
        let reply = Call::legacy(&server, method, &params).send().await;
        assert_eq!((reply.status, reply.rpc_error()), (200, -32601), "{method}");
    }
    for method in ["initialize", "ping", "resources/subscribe"] {
        let reply = Call::modern(&server, method, json!({})).send().await;
        assert_eq!((reply.status, reply.rpc_error()), (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn an_unknown_tool_is_a_failed_result() {
    let server = server().await;
    for call in [
        Call::tool(&server, "probe_ech\u{f6}", &json!({}))
            .with("mcp-name", "=?base64?cHJvYmVfZWNow7Y=?="),
        Call::legacy(&server, "tools/call", &json!({ "name": "probe_ech\u{f6}" })),
    ] {
        let reply = call.send().await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let result = reply.result();
        assert_eq!(result["isError"], true);
        let error = &reply.payload()["error"];
        assert_eq!(error["message"], "Unsupported tool: \"probe_ech\u{f6}\".");
        let supported = error["supportedTools"].as_array().unwrap();
        assert!(supported.contains(&json!("probe_echo")));
        for hidden in ["probe_person", "probe_local"] {
            assert!(!supported.contains(&json!(hidden)), "{hidden}");
        }
    }
}

#[tokio::test]
async fn one_accepted_type_is_enough() {
    let server = server().await;
    for (accept, kind) in [
        (None, "application/json"),
        (Some("*/*"), "application/json"),
        (Some("application/json"), "application/json"),
        (
            Some("application/json, text/event-stream"),
            "application/json",
        ),
        (Some("text/event-stream"), "text/event-stream"),
        (Some("Text/Event-Stream; q=0.5"), "text/event-stream"),
    ] {
        for call in [
            Call::modern(&server, "tools/list", json!({})),
            Call::legacy(&server, "tools/list", &json!({})),
            Call::initialize(&server, LEGACY),
        ] {
            let call = match accept {
                Some(accept) => call.with("accept", accept),
                None => call.without("accept"),
            };
            let reply = call.send().await;
            assert_eq!(reply.status, 200, "{accept:?}: {}", reply.body);
            let found = reply.header("content-type").unwrap();
            assert!(found.starts_with(kind), "{accept:?}: {found}");
            assert!(reply.json()["result"].is_object(), "{accept:?}");
        }
    }
    let reply = Call::modern(&server, "tools/list", json!({}))
        .with("accept", "text/html")
        .send()
        .await;
    assert_eq!((reply.status, reply.rpc_error()), (406, -32600));
}

#[tokio::test]
async fn another_body_type_is_refused_in_json_rpc() {
    let server = server().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let reply = Call::modern(&server, "tools/list", json!({}))
            .with("content-type", kind)
            .send()
            .await;
        assert_eq!((reply.status, reply.rpc_error()), (415, -32600), "{kind}");
    }
    let reply = Call::modern(&server, "tools/list", json!({}))
        .with("content-type", "application/json; charset=utf-8")
        .send()
        .await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_path_serves_the_packs_it_names() {
    let server = server().await;
    let names = async |path: &str| -> Vec<String> {
        let reply = Call::modern(&server, "tools/list", json!({}))
            .at(path)
            .send()
            .await;
        let tools = reply.result()["tools"].take();
        let tools = tools.as_array().unwrap().clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = names("/mcp").await;
    assert!(all.contains(&"probe_write".to_owned()) && all.contains(&"shaped_fail".to_owned()));
    // Neither what runs elsewhere nor what only people may use.
    assert!(!all.contains(&"probe_local".to_owned()) && !all.contains(&"probe_person".to_owned()));
    assert_eq!(names("/mcp/shaped").await, ["shaped_fail"]);
    assert_eq!(names("/mcp/shaped,probe").await, all);
    let read = names("/mcp?access=read").await;
    assert!(read.contains(&"probe_echo".to_owned()) && !read.contains(&"probe_write".to_owned()));

    let reply = Call::tool(&server, "probe_echo", &json!({ "text": "a" }))
        .at("/mcp/shaped")
        .send()
        .await;
    assert_eq!(
        reply.payload()["error"]["message"],
        "Unsupported tool: \"probe_echo\"."
    );
    let reply = Call::modern(&server, "tools/list", json!({}))
        .at("/mcp/prob")
        .send()
        .await;
    assert_eq!(reply.status, 404);
    assert_eq!(
        reply.json()["error"],
        "Pack `prob` is not mounted: mounted are probe, shaped"
    );
    let reply = Call::modern(&server, "tools/list", json!({}))
        .at("/mcp?access=write")
        .send()
        .await;
    assert_eq!(reply.status, 400);
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(JsonSchema, Serialize)]
struct Done {}

fn plain(name: &'static str) -> Tool {
    Tool::new(name, "A tool", "Does nothing.").handler(|_, Nothing {}| async { Ok(Done {}) })
}

#[tokio::test]
async fn tools_come_on_one_page() {
    let tools: Vec<Tool> = (0..300)
        .map(|number| plain(Box::leak(format!("tool_{number}").into_boxed_str())))
        .collect();
    let mounts = Mounts::new(Catalog::mount([Pack::new("many", tools)]).unwrap());
    let server = TestServer::start(Setup::of(mounts)).await;
    for params in [json!({}), json!({ "cursor": "" })] {
        let result = Call::modern(&server, "tools/list", params)
            .send()
            .await
            .result();
        assert_eq!(result["tools"].as_array().unwrap().len(), 300);
        assert_eq!(result.get("nextCursor"), None);
    }
    let reply = Call::modern(&server, "tools/list", json!({ "cursor": "other" }))
        .send()
        .await;
    assert_eq!(reply.rpc_error(), -32602);
}

#[test]
fn a_tool_that_would_break_clients_does_not_mount() {
    #[derive(Deserialize, JsonSchema)]
    struct Odd {
        #[serde(rename = "an odd key")]
        #[expect(dead_code, reason = "only its schema matters")]
        odd: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[schemars(extend("anyOf" = [{}]))]
    struct Either {}

    let named = |name| plain(name);
    for (tool, problem) in [
        (
            named("a_name_that_is_longer_than_forty_characters"),
            "the name must be 1 to 40",
        ),
        (named("dotted.name"), "the name must be 1 to 40"),
        (
            Tool::new("odd", "A tool", "Does nothing.").handler(|_, _: Odd| async { Ok(Done {}) }),
            "the key `an odd key`",
        ),
        (
            Tool::new("either", "A tool", "Does nothing.")
                .handler(|_, Either {}| async { Ok(Done {}) }),
            "the root must not have `anyOf`",
        ),
        (
            Tool::new("silent", "A tool", " ").handler(|_, Nothing {}| async { Ok(Done {}) }),
            "it has no description",
        ),
    ] {
        let refused = Catalog::mount([Pack::new("bad", vec![tool])]).unwrap_err();
        assert!(matches!(refused, MountError::Lint { .. }));
        assert!(refused.to_string().contains(problem), "{refused}");
    }
}

#[tokio::test]
async fn a_stream_is_not_buffered_by_proxies() {
    let server = server().await;
    let answer = Call::modern(&server, "subscriptions/listen", listen())
        .open()
        .await;
    assert_eq!(answer.headers()["x-accel-buffering"], "no");
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
}

fn listen() -> Value {
    json!({ "notifications": { "toolsListChanged": true } })
}

#[tokio::test]
async fn a_subscriber_hears_of_changed_tools() {
    let mounts = mounts();
    let server = TestServer::start(Setup::of(mounts.clone())).await;
    let mut stream = Call::modern(&server, "subscriptions/listen", listen())
        .open()
        .await
        .into_body();
    let begun = read_until(&mut stream, "acknowledged").await;
    let first = &messages(&begun)[0];
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"],
        json!({ "toolsListChanged": true })
    );
    mounts.mount(Catalog::mount([Pack::new("other", vec![plain("other")])]).unwrap());
    let told = read_until(&mut stream, "list_changed").await;
    let told = &messages(&told)[0];
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let id = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*id, 1);
    let result = Call::modern(&server, "tools/list", json!({}))
        .send()
        .await
        .result();
    assert_eq!(result["tools"][0]["name"], "other");
    // The server's end is the stream's regular end.
    let server_ends = tokio::spawn(server.stop());
    let end = read_until(&mut stream, "\"result\"").await;
    assert_eq!(messages(&end)[0]["result"]["resultType"], "complete");
    server_ends.await.unwrap();
}

#[tokio::test]
async fn a_tool_that_is_gone_is_a_clear_failure() {
    let mounts = Mounts::new(catalog());
    let server = TestServer::start(Setup::of(mounts.clone())).await;
    mounts.mount(Catalog::mount([Pack::new("other", vec![plain("other")])]).unwrap());
    let reply = Call::tool(&server, "probe_echo", &json!({ "text": "a" }))
        .send()
        .await;
    assert_eq!(
        reply.payload()["error"],
        json!({ "message": "Unsupported tool: \"probe_echo\".", "supportedTools": ["other"] })
    );
}

#[tokio::test]
async fn a_long_call_reports_progress() {
    let watch = Watch::default();
    let mounts = Mounts::new(Catalog::mount([probe(&watch)]).unwrap());
    let server = TestServer::start(Setup::of(mounts)).await;
    let params =
        json!({ "name": "probe_wait", "arguments": {}, "_meta": { "progressToken": "p1" } });
    let mut stream = Call::modern(&server, "tools/call", params)
        .open()
        .await
        .into_body();
    let told = read_until(&mut stream, "notifications/progress").await;
    let told = &messages(&told)[0]["params"];
    assert_eq!(told["progressToken"], "p1");
    assert_eq!(
        (&told["progress"], &told["total"]),
        (&json!(1.0), &json!(2.0))
    );
    drop(stream);
    one_of(&watch.dropped).await;
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let watch = Watch::default();
    let mounts = Mounts::new(Catalog::mount([probe(&watch)]).unwrap());
    let server = TestServer::start(Setup::of(mounts)).await;
    let calls = [
        Call::tool(&server, "probe_wait", &json!({})),
        Call::legacy(
            &server,
            "tools/call",
            &json!({ "name": "probe_wait", "arguments": {} }),
        ),
        Call::new(&server, "POST", "/api/tools/probe_wait").json(&json!({})),
    ];
    for call in calls {
        {
            let mut answer = Box::pin(call.open());
            tokio::select! {
                answer = &mut answer => panic!("an answer: {answer:?}"),
                () = one_of(&watch.begun) => {}
            }
        }
        one_of(&watch.dropped).await;
    }
}
