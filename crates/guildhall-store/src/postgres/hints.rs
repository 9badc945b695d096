//! Telling other nodes that a stream changed. Sent after the commit (inside it a NOTIFY halves the writes): at once by a
//! node that was quiet, gathered by a busy one, so that it sends few; what is lost costs a waiter at most a second.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::hints::{ANY, Hub};

const CHANNEL: &str = "guildhall";

/// The least time between two notifications: what changes in between is gathered into the second.
const GATHERS: Duration = Duration::from_millis(20);

/// PostgreSQL's limit is 8,000 bytes.
const LONGEST: usize = 7_900;

/// How long the listener waits before it connects again.
const RECONNECTS: Duration = Duration::from_secs(1);

/// The two tasks of a node; they end with the value.
pub(crate) struct Hints {
    send: mpsc::UnboundedSender<Vec<String>>,
    sender: JoinHandle<()>,
    listener: JoinHandle<()>,
}

impl Hints {
    pub(crate) fn start(pool: &PgPool, hub: Arc<Hub>) -> Self {
        let (send, streams) = mpsc::unbounded_channel();
        Self {
            send,
            sender: tokio::spawn(notify(pool.clone(), streams)),
            listener: tokio::spawn(listen(pool.clone(), hub)),
        }
    }

    pub(crate) fn send(&self, streams: Vec<String>) {
        // Without the task there is no node left to tell.
        let _ = self.send.send(streams);
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.sender.abort();
        self.listener.abort();
    }
}

async fn notify(pool: PgPool, mut streams: mpsc::UnboundedReceiver<Vec<String>>) {
    let mut next = Instant::now();
    while let Some(first) = streams.recv().await {
        tokio::time::sleep_until(next).await;
        next = Instant::now() + GATHERS;
        let mut gathered: BTreeSet<String> = first.into_iter().collect();
        while let Ok(more) = streams.try_recv() {
            gathered.extend(more);
        }
        let sent = sqlx::query("SELECT pg_notify($1, $2)")
            .bind(CHANNEL)
            .bind(payload(&gathered))
            .execute(&pool)
            .await;
        if let Err(error) = sent {
            tracing::debug!("A hint was not sent: {error}");
        }
    }
}

async fn listen(pool: PgPool, hub: Arc<Hub>) {
    loop {
        if let Err(error) = listen_once(&pool, &hub).await {
            tracing::debug!("The listener for hints lost its connection: {error}");
        }
        // Hints of the time in between are lost.
        hub.wake_all();
        tokio::time::sleep(RECONNECTS).await;
    }
}

async fn listen_once(pool: &PgPool, hub: &Hub) -> sqlx::Result<()> {
    // It stays out of the pool for good, which is why a store has two connections at least.
    let mut connection = PgListener::connect_with(pool).await?;
    connection.listen(CHANNEL).await?;
    while let Some(hint) = connection.try_recv().await? {
        match hint.payload() {
            ANY => hub.wake_all(),
            streams => hub.wake(streams.split('\n')),
        }
    }
    Ok(())
}

fn payload(streams: &BTreeSet<String>) -> String {
    let length: usize = streams.iter().map(|stream| stream.len() + 1).sum();
    if length > LONGEST {
        // Anything may have changed.
        return ANY.to_owned();
    }
    streams
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}
