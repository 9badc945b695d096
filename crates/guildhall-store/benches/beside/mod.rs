//! What the benches share that measure the store beside a raw loop of the same statements.

use std::path::Path;
use std::time::{Duration, Instant};

/// Both sides take turns, so that what else the machine does meets both; the best turn of each counts.
pub(crate) const TURNS: usize = 5;

/// How long a turn lasts.
pub(crate) const TURN: Duration = Duration::from_secs(1);

/// A server of ours has as many connections.
pub(crate) const CONNECTIONS: usize = 16;

/// How many of `done` a second.
#[expect(clippy::cast_precision_loss, reason = "counts here are small")]
pub(crate) fn rate(done: u64, since: Instant) -> f64 {
    done as f64 / since.elapsed().as_secs_f64()
}

/// A connection set as the store's is.
pub(crate) fn raw_sqlite(path: &Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
        .unwrap();
    let planned_once = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    connection.set_db_config(planned_once, true).unwrap();
    connection.set_prepared_statement_cache_capacity(64);
    connection
}
