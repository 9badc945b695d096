//! The load generator: a fixed number of kept-open connections, each with one request under way at a time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// As many agents as a busy team has at work at once.
pub(crate) const CONNECTIONS: usize = 16;

/// One POST, sent again and again.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) path: &'static str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What one run measured.
pub(crate) struct Figures {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// Sends `request` over all connections until `duration` is over. Fails when an answer is not 200 or differs in length
/// from the first: a fast refusal must not count as speed.
pub(crate) async fn run(
    address: SocketAddr,
    request: &Request,
    duration: Duration,
) -> Result<Figures> {
    let length = once(address, request).await?.len();
    let mut connections = JoinSet::new();
    let started = Instant::now();
    for _ in 0..CONNECTIONS {
        let request = request.clone();
        connections.spawn(async move {
            let mut connection = connect(address).await?;
            let mut latencies = Vec::new();
            while started.elapsed() < duration {
                let sent = Instant::now();
                let body = send(&mut connection, &request).await?;
                latencies.push(sent.elapsed());
                ensure!(
                    body.len() == length,
                    "An answer of {} bytes where the first had {length}: {}",
                    body.len(),
                    String::from_utf8_lossy(&body)
                );
            }
            Ok(latencies)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = connections.join_next().await {
        all.extend(done??);
    }
    let elapsed = started.elapsed();
    Ok(figures(all, elapsed))
}

/// Sends `request` once and returns the answer's body.
pub(crate) async fn once(address: SocketAddr, request: &Request) -> Result<Bytes> {
    send(&mut connect(address).await?, request).await
}

async fn connect(address: SocketAddr) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("Could not connect to {address}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn send(connection: &mut SendRequest<Full<Bytes>>, request: &Request) -> Result<Bytes> {
    let mut message = http::Request::post(request.path).body(Full::new(request.body.clone()))?;
    *message.headers_mut() = request.headers.clone();
    connection.ready().await?;
    let answer = connection.send_request(message).await?;
    let status = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    ensure!(
        status == StatusCode::OK,
        "Answered {status}: {}",
        String::from_utf8_lossy(&body)
    );
    Ok(body)
}

fn figures(mut latencies: Vec<Duration>, elapsed: Duration) -> Figures {
    latencies.sort_unstable();
    let at = |percent: usize| {
        let index = (latencies.len() * percent / 100).min(latencies.len() - 1);
        latencies[index].as_secs_f64() * 1000.0
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of seconds-long runs are small"
    )]
    let count = latencies.len() as f64;
    Figures {
        per_second: count / elapsed.as_secs_f64(),
        p50_ms: at(50),
        p99_ms: at(99),
    }
}
