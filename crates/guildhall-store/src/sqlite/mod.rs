//! The store on SQLite: one file, one thread that writes, several connections that read.

mod readers;
pub(crate) mod statement;
mod writer;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::{Cause, Error, Result};
use crate::store::{Done, Work};

/// How long a statement waits for a lock. Only a checkpoint or a backup by another program can hold one.
const WAITS: Duration = Duration::from_secs(10);

/// Statements kept prepared per connection: more than the store has.
const STATEMENTS: usize = 512;

/// The open database.
pub(crate) struct Database {
    writer: writer::Writer,
    readers: readers::Readers,
}

impl Database {
    /// Opens the file at `path`, made where there is none, and brings its schema up to date. Blocks on the disk.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        make_private(path)?;
        let mut connection = connect(path)?;
        crate::migrate::sqlite(&mut connection)?;
        Ok(Self {
            writer: writer::Writer::start(connection)?,
            readers: readers::Readers::new(path),
        })
    }

    /// Runs `work` on the writing thread in a savepoint of its own. Its outcome is told once the commit it is part of is
    /// on the disk.
    pub(crate) async fn write<A, T>(&self, args: A, work: Work<A, T>) -> Result<Done<T>>
    where
        A: Send + 'static,
        T: Send + 'static,
    {
        self.writer.call(args, work).await
    }

    /// Runs `work` on a reading connection; with `snapshot`, all of its statements see one state.
    pub(crate) async fn read<A, T>(&self, args: A, work: Work<A, T>, snapshot: bool) -> Result<T>
    where
        A: Send + 'static,
        T: Send + 'static,
    {
        self.readers.call(args, work, snapshot).await
    }

    /// Ends the writing thread after the work it has, and waits until the file is closed.
    pub(crate) async fn close(&self) {
        self.writer.close().await;
    }
}

/// A connection with the settings that every one of ours has.
fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(WAITS)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is planned once, not anew for each value that is bound: planning takes as long as most of ours run.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // `fullfsync` is what macOS needs for a write to be on the disk; elsewhere it does nothing.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    Ok(connection)
}

/// Makes the file readable by its owner alone before anything is in it; the log files beside it take its mode.
fn make_private(path: &Path) -> Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(|error| Error::Unavailable(Cause::new(error)))
}

#[cfg(test)]
mod tests;
