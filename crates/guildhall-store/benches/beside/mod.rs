//! What the benches share that measure the store beside a raw loop of the same statements.

use std::path::Path;
use std::time::{Duration, Instant};

use guildhall_cluster::PgCluster;
use tokio::runtime::Runtime;

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

// The statements that write an event, as the store has them.

pub(crate) const HEAD: &str = "SELECT length, hash FROM streams WHERE stream = $1";
pub(crate) const NEW_HEAD: &str = "INSERT INTO streams (stream, length, hash) VALUES ($1, $2, $3)
    ON CONFLICT (stream) DO UPDATE SET length = excluded.length, hash = excluded.hash";
pub(crate) const POSTGRES_EVENT: &str = "WITH head AS (
        INSERT INTO streams (stream, length, hash)
        VALUES ($1, 1, sha256($10 || $11))
        ON CONFLICT (stream) DO UPDATE
            SET length = streams.length + 1, hash = sha256(streams.hash || $11)
        RETURNING length, hash
    )
    INSERT INTO events (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    SELECT $1, head.length, $2, $3, $4, $5, $6, $7, $8, $9, $12, head.hash FROM head";

/// Measures each of `sizes` on SQLite, in a directory of its own, then on PostgreSQL, by the address of a database of its
/// own; each is printed by `line` as soon as it is there.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the measures are functions, as the others are"
)]
pub(crate) fn on_both<F>(
    sizes: &[usize],
    sqlite: impl Fn(&Runtime, &Path, usize) -> F,
    postgres: impl AsyncFn(&str, usize) -> F,
    line: impl Fn(&str, usize, &F),
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for &size in sizes {
        let dir = tempfile::tempdir().unwrap();
        line("SQLite", size, &sqlite(&runtime, dir.path(), size));
    }
    match PgCluster::start() {
        Ok(cluster) => {
            for &size in sizes {
                let database = cluster.database().unwrap();
                let figures = runtime.block_on(postgres(&database.url(), size));
                line("PostgreSQL", size, &figures);
            }
        }
        Err(error) => println!("PostgreSQL   left out: {error}"),
    }
}

/// Runs all of `work` at once; gives the sum of what each has done.
pub(crate) async fn at_once<W>(work: impl Iterator<Item = W>) -> u64
where
    W: Future<Output = u64> + Send + 'static,
{
    let tasks: Vec<_> = work.map(tokio::spawn).collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    done
}
