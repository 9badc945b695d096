//! The store on PostgreSQL: any number of nodes on one database.

pub(crate) mod hints;
pub(crate) mod statement;

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

use crate::error::{Error, Result};
use crate::store::{Done, Work};
use crate::tx::{self, Tx};

/// How often a change is begun again after it lost against another (a deadlock).
const ATTEMPTS: u32 = 5;

/// How long a call waits for a free connection.
const ACQUIRES_WITHIN: Duration = Duration::from_secs(10);

/// What every connection is set to. `synchronous_commit` off would lose acknowledged writes; other values are the
/// operator's choice. The two limits free the locks of a node that was paused in a transaction, and bound waiting for them.
const SETTINGS: &str = "SELECT
    CASE WHEN current_setting('synchronous_commit') = 'off'
         THEN set_config('synchronous_commit', 'on', false) END,
    set_config('idle_in_transaction_session_timeout', '10s', false),
    set_config('lock_timeout', '10s', false),
    set_config('default_transaction_isolation', 'read committed', false)";

/// The open database.
pub(crate) struct Database {
    pool: PgPool,
    /// After a server restarted every pooled connection may be dead, and each is found out by using it.
    connections: u32,
}

/// What statements run in.
pub(crate) enum Session {
    /// A transaction.
    Transaction(Transaction<'static, Postgres>),
    /// A connection by itself, for reads of one statement.
    Connection(PoolConnection<Postgres>),
}

impl Session {
    fn connection(&mut self) -> &mut PgConnection {
        match self {
            Self::Transaction(transaction) => transaction,
            Self::Connection(connection) => connection,
        }
    }
}

impl Database {
    /// Connects to the database at `url` with at most `connections` connections, and brings its schema up to date.
    pub(crate) async fn open(url: &str, connections: u32) -> Result<Self> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|error| Error::Settings(format!("The database URL cannot be read: {error}")))?
            .application_name("guildhall")
            .statement_cache_capacity(512);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(ACQUIRES_WITHIN)
            // A ping before every use would double the round trips of a look-up; `begin` tries again instead.
            .test_before_acquire(false)
            .after_connect(|connection, _| {
                Box::pin(async move {
                    sqlx::query(SETTINGS).execute(connection).await?;
                    Ok(())
                })
            })
            .connect_with(options)
            .await?;
        crate::migrate::postgres(&mut *pool.acquire().await?).await?;
        Ok(Self { pool, connections })
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Runs `work` in a transaction. Where it loses against another (a deadlock), or the connection is lost before the
    /// commit, nothing was changed, and it is begun again.
    pub(crate) async fn write<A, T>(&self, args: A, work: Work<A, T>) -> Result<Done<T>>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let (mut lost, mut dead) = (0, 0);
        loop {
            let transaction = self.begin("BEGIN").await?;
            match attempt(transaction, &args, work).await {
                Err(Error::Busy) if lost < ATTEMPTS => lost += 1,
                Err(Error::Unavailable(_)) if dead < self.connections => dead += 1,
                done => return done,
            }
        }
    }

    /// Runs `work` on a connection; with `snapshot`, all of its statements see one state.
    pub(crate) async fn read<A, T>(&self, args: A, work: Work<A, T>, snapshot: bool) -> Result<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let mut dead = 0;
        loop {
            let session = if snapshot {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
                Session::Transaction(self.begin(begin).await?)
            } else {
                Session::Connection(self.pool.acquire().await?)
            };
            let mut tx = Tx::new(tx::Session::Postgres(session));
            match work(&mut tx, &args).await {
                Err(Error::Unavailable(_)) if dead < self.connections => dead += 1,
                done => return done,
            }
        }
    }

    /// Begins a transaction, on another connection where the one at hand turns out dead.
    async fn begin(&self, statement: &'static str) -> Result<Transaction<'static, Postgres>> {
        let mut dead = 0;
        loop {
            match self.pool.begin_with(statement).await {
                // Where no connection can be had at all, waiting longer is the caller's choice.
                Err(error @ (sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)) => {
                    return Err(error.into());
                }
                Err(error) => match Error::from(error) {
                    Error::Unavailable(_) if dead < self.connections => dead += 1,
                    error => return Err(error),
                },
                Ok(transaction) => return Ok(transaction),
            }
        }
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

async fn attempt<A, T>(
    transaction: Transaction<'static, Postgres>,
    args: &A,
    work: Work<A, T>,
) -> Result<Done<T>> {
    let mut tx = Tx::new(tx::Session::Postgres(Session::Transaction(transaction)));
    let outcome = work(&mut tx, args).await;
    let touched = std::mem::take(&mut tx.touched);
    let transaction = transaction_of(tx);
    match outcome {
        Ok(value) => {
            transaction.commit().await.map_err(of_commit)?;
            Ok(Done { value, touched })
        }
        Err(error) => {
            // Where this fails too, the connection is gone and the transaction with it.
            let _ = transaction.rollback().await;
            Err(error)
        }
    }
}

fn transaction_of(tx: Tx) -> Transaction<'static, Postgres> {
    match tx.into_session() {
        tx::Session::Postgres(Session::Transaction(transaction)) => transaction,
        _ => unreachable!("a change runs in a transaction of PostgreSQL"),
    }
}

/// A commit that the server refused did not happen; one whose answer was lost may have.
fn of_commit(error: sqlx::Error) -> Error {
    match Error::from(error) {
        Error::Unavailable(cause) => Error::Uncertain(cause),
        error => error,
    }
}
