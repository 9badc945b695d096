//! The handle on a database, and the three ways into it: a change, a look, a look at one state.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::act::{self, Act};
use crate::error::Result;
use crate::hints::{Hub, Waiter};
use crate::ladder::FoundOften;
use crate::tx::Tx;
use crate::{Stream, postgres, sqlite};

/// What a method of the store gives: boxed, so that the traits can be used without naming the store.
pub type Answer<'a, T> = BoxFuture<'a, Result<T>>;

/// Work over a transaction. A plain function, so that it can run on another thread and be begun again.
pub(crate) type Work<A, T> = for<'t> fn(&'t mut Tx, &'t A) -> BoxFuture<'t, Result<T>>;

/// Work of somebody.
pub(crate) type Deed<A, T> = for<'t> fn(&'t mut Tx, &'t Act, &'t A) -> BoxFuture<'t, Result<T>>;

/// What a change gave, and the streams it wrote an event to.
pub(crate) struct Done<T> {
    pub(crate) value: T,
    pub(crate) touched: Vec<String>,
}

/// An open database. Cloning gives another handle on it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    hub: Arc<Hub>,
    found_often: FoundOften,
}

enum Engine {
    Sqlite(sqlite::Database),
    Postgres {
        hints: postgres::hints::Hints,
        database: postgres::Database,
    },
}

impl Store {
    /// Opens the SQLite file at `path`, made where there is none, and brings its schema up to date. Only one process may
    /// have it open: whoever calls this holds the lock of the data directory.
    ///
    /// # Errors
    ///
    /// [`Error::Newer`](crate::Error::Newer) and [`Error::Altered`](crate::Error::Altered) where the schema is not ours to
    /// use; the errors of the disk.
    pub async fn open_sqlite(path: &Path) -> Result<Self> {
        let path = path.to_owned();
        let database = tokio::task::spawn_blocking(move || sqlite::Database::open(&path))
            .await
            .map_err(|error| crate::Error::fault(error.to_string()))??;
        Ok(Self::new(Engine::Sqlite(database), Arc::default()))
    }

    /// Connects to the PostgreSQL database at `url` (`postgres://user:password@host/database`) with at most
    /// `connections` connections, one of them for hints, and brings its schema up to date. Any number of nodes may.
    ///
    /// # Errors
    ///
    /// [`Error::Newer`](crate::Error::Newer) and [`Error::Altered`](crate::Error::Altered) where the schema is not ours to
    /// use, [`Error::Settings`](crate::Error::Settings) for an address that is none,
    /// [`Error::Unavailable`](crate::Error::Unavailable) where nothing answers.
    pub async fn open_postgres(url: &str, connections: u32) -> Result<Self> {
        let database = postgres::Database::open(url, connections.max(2)).await?;
        let hub = Arc::<Hub>::default();
        let hints = postgres::hints::Hints::start(database.pool(), Arc::clone(&hub));
        Ok(Self::new(Engine::Postgres { hints, database }, hub))
    }

    fn new(engine: Engine, hub: Arc<Hub>) -> Self {
        Self {
            inner: Arc::new(Inner {
                engine,
                hub,
                found_often: FoundOften::default(),
            }),
        }
    }

    /// Which database it is: `SQLite` or `PostgreSQL`.
    pub fn kind(&self) -> &'static str {
        match &self.inner.engine {
            Engine::Sqlite(_) => "SQLite",
            Engine::Postgres { .. } => "PostgreSQL",
        }
    }

    /// What this node remembers of the searches it has answered.
    pub(crate) fn found_often(&self) -> &FoundOften {
        &self.inner.found_often
    }

    /// Finishes the changes that were begun and closes the database. Later calls fail.
    pub async fn close(&self) {
        match &self.inner.engine {
            Engine::Sqlite(database) => database.close().await,
            Engine::Postgres { database, .. } => database.close().await,
        }
    }

    /// Waits for changes of `stream`. Make it before you look at the data.
    pub fn waiter(&self, stream: &Stream) -> Waiter {
        self.inner.hub.waiter(stream.name())
    }

    /// Whether anybody on this node waits for changes of `stream`.
    pub(crate) fn is_waited_for(&self, stream: &Stream) -> bool {
        self.inner.hub.is_waited_for(stream.name())
    }

    /// Waits for changes of any stream.
    pub fn waiter_of_all(&self) -> Waiter {
        self.inner.hub.waiter(crate::hints::ANY)
    }

    /// A change: `work` is done as a whole or not at all, and is on the disk when this returns.
    pub(crate) async fn write<A, T>(&self, args: A, work: Work<A, T>) -> Result<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let done = match &self.inner.engine {
            Engine::Sqlite(database) => database.write(args, work).await?,
            Engine::Postgres { database, .. } => database.write(args, work).await?,
        };
        self.tell(done.touched);
        Ok(done.value)
    }

    /// A change by somebody, which happens once for an idempotency key: later calls give the first answer.
    pub(crate) async fn change<A, T>(&self, act: Act, args: A, deed: Deed<A, T>) -> Result<T>
    where
        A: Send + Sync + 'static,
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        struct Change<A, T> {
            act: Act,
            args: A,
            deed: Deed<A, T>,
        }
        let change = Change { act, args, deed };
        self.write(change, |tx, change| {
            Box::pin(act::once(tx, &change.act, &change.args, change.deed))
        })
        .await
    }

    /// A look at the data. Each statement of `work` sees what is committed when it begins.
    pub(crate) async fn read<A, T>(&self, args: A, work: Work<A, T>) -> Result<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.inner.engine {
            Engine::Sqlite(database) => database.read(args, work, false).await,
            Engine::Postgres { database, .. } => database.read(args, work, false).await,
        }
    }

    /// A look at one state of the data: all statements of `work` see the same.
    pub(crate) async fn snapshot<A, T>(&self, args: A, work: Work<A, T>) -> Result<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        match &self.inner.engine {
            Engine::Sqlite(database) => database.read(args, work, true).await,
            Engine::Postgres { database, .. } => database.read(args, work, true).await,
        }
    }

    /// Wakes who waits, here and on other nodes.
    fn tell(&self, touched: Vec<String>) {
        if touched.is_empty() {
            return;
        }
        self.inner.hub.wake(touched.iter().map(String::as_str));
        if let Engine::Postgres { hints, .. } = &self.inner.engine {
            hints.send(touched);
        }
    }
}
