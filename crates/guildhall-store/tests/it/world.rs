//! A database of one test, on either engine, and a way behind the store's back.

use guildhall_cluster::{Database, PgCluster};
use guildhall_core::{Principal, RepoName};
use guildhall_store::{Account, Act, NewRepo, Principals as _, Repo, Repos as _, Store};
use jiff::{SignedDuration, Timestamp};
use sqlx::Connection as _;
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// Connections of a test's store: enough to have changes run at once.
const CONNECTIONS: u32 = 6;

/// One database.
pub(crate) enum World {
    Sqlite(TempDir),
    Postgres(Database<'static>),
}

impl World {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    /// `None` where PostgreSQL is not installed. `cargo xtask test` installs it, so only a run by hand leaves it out.
    pub(crate) async fn postgres() -> Option<Self> {
        static TEMPLATE: OnceCell<String> = OnceCell::const_new();
        let cluster = PgCluster::shared()?;
        let template = TEMPLATE
            .get_or_init(|| async {
                let database = cluster.database().unwrap();
                let store = Store::open_postgres(&database.url(), 2).await.unwrap();
                store.close().await;
                database.name().to_owned()
            })
            .await;
        Some(Self::Postgres(cluster.copy_of(template).unwrap()))
    }

    /// A store on it: what another node would open, on PostgreSQL.
    pub(crate) async fn open(&self) -> Store {
        match self {
            Self::Sqlite(dir) => Store::open_sqlite(&dir.path().join("store.db")).await,
            Self::Postgres(database) => Store::open_postgres(&database.url(), CONNECTIONS).await,
        }
        .unwrap()
    }

    /// Waits until everything committed so far is in the feed. Transactions of other tests, in other databases of the same
    /// server, hold it back as those of other nodes do.
    pub(crate) async fn settle(&self) {
        let Self::Postgres(database) = self else {
            return;
        };
        let mut connection = sqlx::PgConnection::connect(&database.url()).await.unwrap();
        let end: i64 =
            sqlx::query_scalar("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
                .fetch_one(&mut connection)
                .await
                .unwrap();
        let settled = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= $1";
        while !sqlx::query_scalar::<_, bool>(settled)
            .bind(end)
            .fetch_one(&mut connection)
            .await
            .unwrap()
        {
            tokio::task::yield_now().await;
        }
    }

    /// Changes the database behind the store's back; gives how many rows it changed.
    pub(crate) async fn tamper(&self, sql: &'static str) -> u64 {
        match self {
            Self::Sqlite(dir) => {
                let connection = rusqlite::Connection::open(dir.path().join("store.db")).unwrap();
                connection.execute(sql, []).unwrap() as u64
            }
            Self::Postgres(database) => {
                let mut connection = sqlx::PgConnection::connect(&database.url()).await.unwrap();
                sqlx::query(sql)
                    .execute(&mut connection)
                    .await
                    .unwrap()
                    .rows_affected()
            }
        }
    }
}

/// A point in the tests' time, in seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-05-29T10:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs(seconds)
}

pub(crate) fn name(name: &str) -> Principal {
    name.parse().unwrap()
}

/// The person who operates the server.
pub(crate) const OPERATOR: &str = "owner@example.com";

/// An act of `by`.
pub(crate) fn by(by: &str, seconds: i64) -> Act {
    Act::new(name(by), at(seconds))
}

/// A store that has its operator.
pub(crate) async fn with_operator(world: &World) -> Store {
    let store = world.open().await;
    store.ensure_operator(at(0), name(OPERATOR)).await.unwrap();
    store
}

pub(crate) async fn add_user(store: &Store, user: &str) -> Account {
    store.add_user(by(OPERATOR, 1), name(user)).await.unwrap()
}

pub(crate) fn repo_name(name: &str) -> RepoName {
    name.parse().unwrap()
}

pub(crate) async fn add_repo(store: &Store, name: &str, public: bool) -> Repo {
    let repo = NewRepo {
        name: repo_name(name),
        public,
        default_branch: "main".to_owned(),
        head: None,
        origin: None,
    };
    store.add_repo(by(OPERATOR, 1), repo).await.unwrap()
}
