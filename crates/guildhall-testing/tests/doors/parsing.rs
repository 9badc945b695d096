//! Bodies and headers that are not what they should be.

use guildhall_testing::{Setup, TestServer};
use serde_json::json;

use crate::support::{Call, LEGACY, MODERN, message, meta, mounts, raw, server};

#[tokio::test]
async fn malformed_messages_are_json_rpc_errors() {
    let server = server().await;
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ("{\"jsonrpc\":\"2.0\",}", -32700),
        ("\u{feff}{}", -32700),
        ("[]", -32600),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            -32600,
        ),
        ("{}", -32600),
        ("null", -32600),
        ("5", -32600),
        ("{\"id\":1,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", -32600),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
            -32600,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}",
            -32600,
        ),
    ] {
        for version in [MODERN, LEGACY] {
            let reply = Call::new(&server, "POST", "/mcp")
                .with("content-type", "application/json")
                .with("mcp-protocol-version", version)
                .body(body)
                .send()
                .await;
            assert_eq!(
                (reply.status, reply.rpc_error()),
                (400, code),
                "{version} {body}: {}",
                reply.body
            );
        }
    }
}

#[tokio::test]
async fn params_that_do_not_fit_are_invalid_params() {
    let server = server().await;
    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "" }),
        json!({ "name": "probe_echo", "arguments": [] }),
        json!({ "name": "probe_echo", "arguments": "text" }),
    ] {
        let reply = Call::legacy(&server, "tools/call", &params).send().await;
        assert_eq!(reply.rpc_error(), -32602, "{params}");
        assert_eq!(reply.json()["id"], 1);
    }
}

#[tokio::test]
async fn hostile_json_is_refused_or_harmless() {
    let server = server().await;
    let at = |path: &'static str, body: Vec<u8>| {
        Call::new(&server, "POST", path)
            .with("content-type", "application/json")
            .with("mcp-protocol-version", LEGACY)
            .body(body)
    };
    let deep = "[".repeat(100_000);
    let deep_argument = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"probe_echo\",\"arguments\":{{\"text\":{}{}}}}}}}",
        "{\"a\":".repeat(100_000),
        "}".repeat(100_000)
    );
    let in_text = |text: &str| format!("{{\"text\":{text}}}").into_bytes();
    let mut invalid = in_text("\"a\"");
    invalid[9] = 0xff;
    for body in [
        deep.clone().into_bytes(),
        deep_argument.into_bytes(),
        in_text("1e400"),
        in_text("\"\\ud800\""),
        invalid,
    ] {
        for path in ["/mcp", "/api/tools/probe_echo", "/api/agents"] {
            let reply = at(path, body.clone()).send().await;
            assert_eq!(reply.status, 400, "{path}: {}", reply.body);
            assert!(reply.body.len() < 1000, "{path}: {}", reply.body);
        }
    }
    // Names that mean something in other languages are unknown arguments.
    for name in ["__proto__", "constructor", "TEXT", "Text"] {
        let body = json!({ "text": "a", name: {} }).to_string().into_bytes();
        let reply = at("/api/tools/probe_echo", body).send().await;
        assert_eq!(reply.status, 400, "{name}");
        assert!(reply.body.contains(name), "{}", reply.body);
    }
    let reply = at(
        "/api/tools/probe_echo",
        br#"{"text":"a","text":"b"}"#.to_vec(),
    );
    let reply = reply.send().await;
    assert_eq!(reply.json()["result"]["text"], "b");
    // Brackets in a string are no depth.
    let reply = at(
        "/api/tools/probe_echo",
        in_text(&format!("\"{}\"", "[".repeat(1000))),
    );
    assert_eq!(reply.send().await.status, 200);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413() {
    let setup = Setup {
        max_request_bytes: 1000,
        ..Setup::of(mounts())
    };
    let server = TestServer::start(setup).await;
    let text = "x".repeat(1000);
    let reply = Call::tool(&server, "probe_echo", &json!({ "text": text }))
        .send()
        .await;
    assert_eq!((reply.status, reply.rpc_error()), (413, -32600));
    for path in ["/api/tools/probe_echo", "/api/agents"] {
        let reply = Call::new(&server, "POST", path)
            .json(&json!({ "text": text }))
            .send()
            .await;
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (413, &json!("too_large"))
        );
    }
    // Also where the length is not told beforehand.
    let head = format!(
        "POST /api/tools/probe_echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        server.token()
    );
    let chunk = format!("800\r\n{}\r\n0\r\n\r\n", "x".repeat(0x800));
    let answer = raw(&server, format!("{head}{chunk}").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn headers_and_body_must_agree() {
    let server = server().await;
    let call = || Call::tool(&server, "probe_whoami", &json!({}));
    for call in [
        call().with("mcp-method", "tools/list"),
        call().with("mcp-method", "Tools/Call"),
        call().without("mcp-method"),
        call().with("mcp-name", "probe_write"),
        call().without("mcp-name"),
        call().with("mcp-name", "=?base64?!!!?="),
        call().with("mcp-protocol-version", LEGACY),
        call().without("mcp-protocol-version"),
    ] {
        let reply = call.send().await;
        assert_eq!(
            (reply.status, reply.rpc_error()),
            (400, -32020),
            "{}",
            reply.body
        );
        assert_eq!(reply.json()["id"], 1);
    }
    for call in [
        call(),
        call().with("mcp-name", "=?base64?cHJvYmVfd2hvYW1p?="),
    ] {
        assert_eq!(call.send().await.status, 200);
    }
}

#[tokio::test]
async fn a_mirrored_argument_must_agree_with_its_header() {
    let server = server().await;
    let call = || Call::tool(&server, "probe_region", &json!({ "region": "north" }));
    assert_eq!(
        call().with("mcp-param-region", "north").send().await.status,
        200
    );
    for call in [call(), call().with("mcp-param-region", "south")] {
        let reply = call.send().await;
        assert_eq!((reply.status, reply.rpc_error()), (400, -32020));
    }
    // Older clients do not mirror.
    let params = json!({ "name": "probe_region", "arguments": { "region": "north" } });
    let reply = Call::legacy(&server, "tools/call", &params).send().await;
    assert_eq!(reply.payload()["text"], "north");
}

#[tokio::test]
async fn a_modern_request_must_say_what_the_revision_demands() {
    let server = server().await;
    for missing in [
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ] {
        let mut meta = meta(&json!({}));
        meta.as_object_mut().unwrap().remove(missing);
        let body = message("tools/list", &json!({ "_meta": meta }));
        let reply = Call::mcp(&server, &body)
            .with("mcp-protocol-version", MODERN)
            .with("mcp-method", "tools/list")
            .send()
            .await;
        assert_eq!(
            (reply.status, reply.rpc_error()),
            (400, -32602),
            "{missing}"
        );
    }
    let mut meta = meta(&json!({}));
    meta.as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientInfo");
    let body = message("tools/list", &json!({ "_meta": meta }));
    let call = Call::mcp(&server, &body)
        .with("mcp-protocol-version", MODERN)
        .with("mcp-method", "tools/list");
    assert_eq!(call.send().await.status, 200);
}

#[tokio::test]
async fn malformed_requests_are_refused() {
    let server = server().await;
    let head = format!(
        "POST /api/tools/probe_whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n",
        server.token()
    );
    for (fault, rest) in [
        (
            "two lengths",
            "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x".to_owned(),
        ),
        (
            "a length that is none",
            "Content-Length: -1\r\n\r\n".to_owned(),
        ),
        (
            "a bare carriage return in a value",
            "X-A: a\rb\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "a space in a name",
            "X A: a\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "a NUL in a value",
            "X-A: \0\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "a line that goes on",
            "X-A: a\r\n b: c\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "two hosts",
            "Host: localhost\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
        ),
    ] {
        let answer = raw(&server, format!("{head}{rest}").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{fault}: {answer}");
    }
    // 431 says more than 400: it is the head that is too large (RFC 6585, section 5).
    let large = format!("{head}X-A: {}\r\n\r\n", "a".repeat(300_000));
    let answer = raw(&server, large.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let answer = raw(
        &server,
        format!("{head}Content-Length: 2\r\n\r\n{{}}").as_bytes(),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// What a value of the caller's brings along never becomes a header of the answer's.
#[tokio::test]
async fn a_line_break_in_a_path_splits_no_answer() {
    let server = server().await;
    let call = Call::new(&server, "POST", "/api/tools/a%0d%0aSet-Cookie:%20a=b");
    let reply = call.send().await;
    assert_eq!((reply.status, reply.header("set-cookie")), (404, None));
}
