//! Clients that are slow, silent or many.

use std::time::Duration;

use guildhall_server::Limits;
use guildhall_testing::{Setup, TestServer};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use guildhall_testing::Mounts;
use guildhall_tools::Catalog;

use crate::support::{Call, PATIENCE, Watch, mounts, one_of, probe, read_until, server};

async fn server_with(limits: Limits) -> TestServer {
    TestServer::start(Setup {
        limits,
        ..Setup::of(mounts())
    })
    .await
}

/// Reads until the server closes, which it does of itself.
async fn closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    let _ = tokio::time::timeout(PATIENCE, read)
        .await
        .expect("the server closes the connection");
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let server = server_with(Limits {
        header_timeout: Duration::from_millis(100),
        ..Limits::default()
    })
    .await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream
        .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ")
        .await
        .unwrap();
    closed(&mut stream).await;
}

#[tokio::test]
async fn idle_connections_make_room_for_others() {
    let server = server_with(Limits {
        header_timeout: Duration::from_millis(100),
        connections: 2,
        ..Limits::default()
    })
    .await;
    let idle = [
        TcpStream::connect(server.address()).await.unwrap(),
        TcpStream::connect(server.address()).await.unwrap(),
    ];
    let reply = Call::new(&server, "GET", "/health").send().await;
    assert_eq!(reply.status, 200);
    for mut stream in idle {
        closed(&mut stream).await;
    }
}

#[tokio::test]
async fn a_stream_that_is_not_read_harms_nobody() {
    let server = server().await;
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut unread = Vec::new();
    for _ in 0..50 {
        let call = Call::modern(&server, "subscriptions/listen", listen.clone());
        unread.push(call.open().await);
    }
    for _ in 0..10 {
        let reply = Call::tool(&server, "probe_rows", &json!({})).send().await;
        assert_eq!(reply.status, 200);
    }
    let mut last = unread.pop().unwrap().into_body();
    read_until(&mut last, "acknowledged").await;
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams() {
    let server = server().await;
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut stream = Call::modern(&server, "subscriptions/listen", listen)
        .open()
        .await
        .into_body();
    read_until(&mut stream, "acknowledged").await;
    tokio::time::timeout(PATIENCE, server.stop())
        .await
        .expect("it stops");
}

#[tokio::test]
async fn a_call_that_runs_when_the_server_stops_is_finished() {
    for sessions in [false, true] {
        let watch = Watch::default();
        let setup = Setup {
            sessions,
            ..Setup::of(Mounts::new(Catalog::mount([probe(&watch)]).unwrap()))
        };
        let server = TestServer::start(setup).await;
        let mut calls = vec![
            Call::tool(&server, "probe_hold", &json!({})),
            Call::new(&server, "POST", "/api/tools/probe_hold"),
        ];
        if sessions {
            let opened = Call::initialize(&server, "2025-11-25").send().await;
            let params = json!({ "name": "probe_hold", "arguments": {} });
            let call = Call::legacy(&server, "tools/call", &params)
                .with("mcp-session-id", opened.header("mcp-session-id").unwrap());
            calls.push(call);
        }
        let count = calls.len();
        let calls: Vec<_> = calls
            .into_iter()
            .map(|call| tokio::spawn(call.send()))
            .collect();
        for _ in 0..count {
            one_of(&watch.begun).await;
        }
        let stopped = tokio::spawn(server.stop());
        watch.go.add_permits(count);
        for call in calls {
            let reply = call.await.unwrap();
            assert_eq!(reply.status, 200, "{}", reply.body);
            assert!(reply.body.contains("let go"), "{}", reply.body);
        }
        stopped.await.unwrap();
    }
}
