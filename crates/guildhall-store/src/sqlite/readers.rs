//! Connections that read. In WAL mode they neither wait for the writer nor hold it up.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::writer::run_now;
use crate::error::{Error, Result};
use crate::store::Work;
use crate::tx::{Session, Tx};

/// Connections that read at once.
const READERS: usize = 8;

pub(crate) struct Readers {
    shared: Arc<Shared>,
    free: Arc<Semaphore>,
}

struct Shared {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            shared: Arc::new(Shared {
                path: path.to_owned(),
                idle: Mutex::default(),
            }),
            free: Arc::new(Semaphore::new(READERS)),
        }
    }

    pub(crate) async fn call<A, T>(&self, args: A, work: Work<A, T>, snapshot: bool) -> Result<T>
    where
        A: Send + 'static,
        T: Send + 'static,
    {
        let permit = Arc::clone(&self.free)
            .acquire_owned()
            .await
            .map_err(|_| Error::fault("the store is closed"))?;
        let shared = Arc::clone(&self.shared);
        let read = move || {
            let _permit = permit;
            let connection = shared.take()?;
            let mut tx = Tx::new(Session::Sqlite(connection));
            let outcome = if snapshot {
                in_snapshot(&mut tx, work, &args)
            } else {
                run_now(work, &mut tx, &args)
            };
            shared.put(tx);
            outcome
        };
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| Error::fault(error.to_string()))?
    }
}

fn in_snapshot<A, T>(tx: &mut Tx, work: Work<A, T>, args: &A) -> Result<T> {
    let run = |tx: &Tx, sql| {
        let connection = tx.sqlite().expect("a reader's session is SQLite's");
        super::statement::run(connection, sql, &[])
    };
    run(tx, "BEGIN DEFERRED")?;
    let outcome = run_now(work, tx, args);
    run(tx, "ROLLBACK")?;
    outcome
}

impl Shared {
    fn take(&self) -> Result<Connection> {
        if let Some(idle) = self.idle().pop() {
            return Ok(idle);
        }
        let connection = super::connect(&self.path)?;
        connection.execute_batch("PRAGMA query_only = ON")?;
        Ok(connection)
    }

    /// Keeps the connection for the next read, unless a transaction was left open in it.
    fn put(&self, tx: Tx) {
        if let Session::Sqlite(connection) = tx.into_session()
            && connection.is_autocommit()
        {
            self.idle().push(connection);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
