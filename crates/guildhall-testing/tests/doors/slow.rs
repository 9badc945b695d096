//! Clients that are slow, silent or many.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use guildhall_server::Limits;
use guildhall_testing::{Setup, TestServer};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use guildhall_server::mcp;
use guildhall_testing::Mounts;
use guildhall_tools::Catalog;

use crate::support::{
    Call, OnDrop, PATIENCE, Watch, catalog, mounts, one_of, probe, read_until, server,
};

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

/// A server with a route `/endless` beside its own, whose answer never ends and adds a permit to `ended` once it is let go.
async fn server_with_endless(mounts: Arc<Mounts>, ended: &Arc<Semaphore>) -> TestServer {
    let endless = {
        let ended = Arc::clone(ended);
        get(move || {
            let held = OnDrop(Arc::clone(&ended));
            let bytes = stream::repeat(Bytes::from(vec![0; 1 << 16]));
            async move {
                Body::from_stream(bytes.map(move |bytes| {
                    let _held = &held;
                    Ok::<_, std::io::Error>(bytes)
                }))
            }
        })
    };
    let setup = Setup {
        limits: Limits {
            write_timeout: Duration::from_millis(100),
            ..Limits::default()
        },
        ..Setup::of(mounts)
    };
    TestServer::start_with(setup, |app, _| {
        guildhall_server::router(Arc::clone(app), &mcp::endpoint(app))
            .merge(Router::new().route("/endless", endless))
    })
    .await
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_given_up_and_what_it_held_is_free() {
    let ended = Arc::new(Semaphore::new(0));
    let server = server_with_endless(mounts(), &ended).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream
        .write_all(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    // The client is there, with its connection open, and reads no more than the beginning.
    stream.read_exact(&mut [0; 15]).await.unwrap();
    one_of(&ended).await;
    closed(&mut stream).await;
}

#[tokio::test]
async fn an_answer_that_has_nothing_to_say_yet_is_never_cut() {
    let (watch, ended) = (Watch::default(), Arc::new(Semaphore::new(0)));
    let mounts = Mounts::new(Catalog::mount([probe(&watch)]).unwrap());
    let server = server_with_endless(Arc::clone(&mounts), &ended).await;
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut events = Call::modern(&server, "subscriptions/listen", listen)
        .open()
        .await
        .into_body();
    read_until(&mut events, "acknowledged").await;
    let held = tokio::spawn(Call::tool(&server, "probe_hold", &json!({})).send());
    one_of(&watch.begun).await;

    // Whoever came later and does not read is cut meanwhile.
    let unread = Call::new(&server, "GET", "/endless").open().await;
    one_of(&ended).await;
    drop(unread);

    watch.go.add_permits(1);
    let reply = held.await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
    mounts.mount(catalog());
    read_until(&mut events, "list_changed").await;
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
