//! The connection loop: deadlines for slow clients, a cap on connections, a shutdown that lets calls finish.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;

/// How long a connection may be silent before the kernel asks whether the other side is still there, how often it then
/// asks, and how many times. One that does not answer is gone, and with it what it held.
const SILENT_FOR: Duration = Duration::from_mins(1);
const ASK_EVERY: Duration = Duration::from_secs(15);
const ASK_TIMES: u32 = 4;

/// What one client may take of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a client may take to send a request's head.
    pub header_timeout: Duration,
    /// How long a client may take nothing of an answer while more of it waits to be sent. An answer that has nothing to
    /// say yet, an event stream or a call that runs, may be silent for as long as it likes.
    pub write_timeout: Duration,
    /// Connections open at once; further ones wait in the kernel's queue.
    pub connections: usize,
    /// Largest head of a request, in bytes; up to twice as much passes where it arrives in few pieces.
    pub head_bytes: usize,
    /// How long running calls may take to finish once the server is to stop.
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_mins(1),
            connections: 10_000,
            head_bytes: 64 << 10,
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// The address a request comes from, beside every request: that of the proxy where one stands before the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Serves `router` on `listener` until `shutdown` is cancelled, then lets running calls finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    shutdown: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(limits.connections));
    loop {
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot.expect("the semaphore is never closed"),
            () = shutdown.cancelled() => break,
        };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => (stream, Peer(address.ip())),
                Err(error) => {
                    pause_after(&error).await;
                    continue;
                }
            },
            () = shutdown.cancelled() => break,
        };
        prepare(&stream);
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .max_buf_size(limits.head_bytes)
            .serve_connection(
                TokioIo::new(Box::pin(with_deadline(stream, limits.write_timeout))),
                service_fn(move |mut request| {
                    request.extensions_mut().insert(peer);
                    service.call(request)
                }),
            );
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that breaks off or breaks the protocol is no fault of ours; hyper has answered 400 if it could.
            if let Err(error) = connection.await {
                tracing::debug!("Connection ended: {error}");
            }
            drop(slot);
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.shutdown_grace, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(
            "Calls still running after {:?} were ended",
            limits.shutdown_grace
        );
    }
}

/// Sets what every connection has. None of it is worth refusing a client for.
fn prepare(stream: &TcpStream) {
    // Small answers must not wait for the client's delayed acknowledgement: 40 ms each without this.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("Cannot set TCP_NODELAY: {error}");
    }
    let keepalive = TcpKeepalive::new()
        .with_time(SILENT_FOR)
        .with_interval(ASK_EVERY)
        .with_retries(ASK_TIMES);
    if let Err(error) = SockRef::from(stream).set_tcp_keepalive(&keepalive) {
        tracing::debug!("Cannot set TCP keepalive: {error}");
    }
}

/// `stream`, whose writes fail once the client has taken nothing for `patience`. The connection ends then, and with it
/// the answer and whatever it holds: a process of git and its turn, a slot, buffers. Nothing else would end them, for
/// nobody asks an answer for its next bytes before the last ones are taken.
///
/// A socket takes more only once a good part of its buffer is free, so one byte now and then does not count.
fn with_deadline(stream: TcpStream, patience: Duration) -> TimeoutWriter<TcpStream> {
    let mut writer = TimeoutWriter::new(stream);
    writer.set_timeout(Some(patience));
    writer
}

/// A connection that was reset before it was accepted is nothing; being out of file descriptors passes, but not at once.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        tracing::error!("Cannot accept a connection: {error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
