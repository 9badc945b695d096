use guildhall_cluster::{Database, PgCluster};
use guildhall_core::ladder::RungPath;
use guildhall_core::{Principal, RepoName};

use super::*;
use crate::team::Who;
use crate::{
    Asks as _, Events as _, Ladder as _, Lanes as _, Position, Principals as _, Repos as _,
    Roles as _, Store, Team as _, Tokens as _,
};

/// The rows of each version, that the later ones meet.
const DATA: [&str; 9] = [
    include_str!("../../migrations/data/0001_principals.sql"),
    include_str!("../../migrations/data/0002_events.sql"),
    include_str!("../../migrations/data/0003_repos.sql"),
    include_str!("../../migrations/data/0004_lanes.sql"),
    include_str!("../../migrations/data/0005_team.sql"),
    include_str!("../../migrations/data/0006_ladder.sql"),
    include_str!("../../migrations/data/0007_indexed.sql"),
    include_str!("../../migrations/data/0008_of_repos.sql"),
    include_str!("../../migrations/data/0009_merging.sql"),
];

/// What landed: version, database, checksum. A line is added with its file and never changes.
const CHECKSUMS: &str = include_str!("../../migrations/CHECKSUMS");

fn empty_postgres() -> Option<Database<'static>> {
    PgCluster::shared().map(|cluster| cluster.database().unwrap())
}

/// The data of a version as PostgreSQL writes it.
fn for_postgres(data: &str) -> String {
    data.replace("x'", "'\\x")
}

/// Looks at every table through the store, after all migrations.
async fn everything_is_still_there(store: &Store) {
    let ann: Principal = "ann@example.com".parse().unwrap();
    assert_eq!(store.users().await.unwrap().len(), 3);
    assert_eq!(store.agents(ann.clone()).await.unwrap().len(), 1);
    let at = jiff::Timestamp::from_millisecond(20).unwrap();
    let bearer = store.bearer([1; 32], at).await.unwrap().unwrap();
    assert_eq!(bearer.token.tools, Some(vec!["git_log".to_owned()]));
    let events = store.feed(Position::default(), 10).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].data["principal"], "ann@example.com");
    let repos = store.repos().await.unwrap();
    assert_eq!(repos[0].head.as_deref(), Some("c1"));
    let grants = store.grants(repos[0].name.clone()).await.unwrap();
    assert_eq!(grants.len(), 2);
    the_ladder_is_still_there(store, &repos[0].name).await;
    let name = repos[0].name.clone();
    let lanes = store.lanes(name.clone(), None, 10).await.unwrap();
    let ids: Vec<_> = lanes.iter().map(|lane| lane.id.as_str()).collect();
    assert_eq!(ids, ["_repo", "lane-0000000000"]);
    assert_eq!(lanes[0].related, ["lane-0000000000"]);
    assert_eq!(lanes[1].coordinators, std::slice::from_ref(&ann));
    let review = store.ask(name.clone(), "ask-0000000002".to_owned());
    let review = review.await.unwrap().unwrap();
    let changeset = store.changeset(name, review.changeset.unwrap());
    assert_eq!(changeset.await.unwrap().unwrap().files.len(), 1);
    let bound = bearer.token.bound.unwrap();
    assert_eq!(bound.session.as_str(), "myproject-1");
    let (session, roles) = store.session(ann, Who::whole(bound.session)).await.unwrap();
    assert_eq!(session.repo.as_deref(), Some("acme/web"));
    assert_eq!(
        (roles[1].unread, roles[1].seen_at.unwrap().as_millisecond()),
        (1, 17)
    );
}

async fn the_ladder_is_still_there(store: &Store, repo: &RepoName) {
    let path: RungPath = "_repo".parse().unwrap();
    let rung = store.rung(repo.clone(), path.clone()).await.unwrap();
    assert_eq!(rung.unwrap().version, 2);
    let earlier = store
        .rung_versions(repo.clone(), path, 2, 10)
        .await
        .unwrap();
    assert_eq!(earlier[0].summary, "A site");
}

#[test]
fn a_landed_migration_is_never_edited() {
    let mut is = String::new();
    for (database, migrations) in [("sqlite", SQLITE), ("postgres", POSTGRES)] {
        for migration in migrations {
            let _ = writeln!(is, "{database}/{} {}", migration.name, migration.checksum());
        }
    }
    assert_eq!(
        is, CHECKSUMS,
        "write a new migration instead of editing one"
    );
}

#[test]
fn both_databases_have_the_same_migrations_and_data_for_each() {
    let names = |list: &[Migration]| list.iter().map(|m| (m.version, m.name)).collect::<Vec<_>>();
    assert_eq!(names(SQLITE), names(POSTGRES));
    assert_eq!(SQLITE.len(), DATA.len());
    assert!(SQLITE.iter().zip(1..).all(|(m, n)| m.version == n));
}

#[tokio::test]
async fn the_search_index_is_merged_when_half_of_a_part_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    Store::open_sqlite(&path).await.unwrap().close().await;
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT v FROM rung_words_config WHERE k = 'deletemerge'";
    let percent: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(percent, 50);
}

#[tokio::test]
async fn sqlite_keeps_the_rows_of_every_version() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let mut connection = Connection::open(&path).unwrap();
    for (version, data) in DATA.iter().enumerate() {
        sqlite_to(&mut connection, &SQLITE[..=version]).unwrap();
        connection.execute_batch(data).unwrap();
    }
    drop(connection);
    let store = Store::open_sqlite(&path).await.unwrap();
    everything_is_still_there(&store).await;
}

#[tokio::test]
async fn postgres_keeps_the_rows_of_every_version() {
    let Some(database) = empty_postgres() else {
        return;
    };
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    for (version, data) in DATA.iter().enumerate() {
        postgres_to(&mut connection, &POSTGRES[..=version])
            .await
            .unwrap();
        sqlx::raw_sql(AssertSqlSafe(for_postgres(data)))
            .execute(&mut connection)
            .await
            .unwrap();
    }
    // As if restored on a server that has counted fewer transactions.
    sqlx::raw_sql("UPDATE events SET tx = tx + 1000000000000")
        .execute(&mut connection)
        .await
        .unwrap();
    let store = Store::open_postgres(&database.url(), 2).await.unwrap();
    // Transactions of other tests hold the feed back for a moment.
    while store.feed_end().await.unwrap() == Position::default() {
        tokio::task::yield_now().await;
    }
    everything_is_still_there(&store).await;
}

#[tokio::test]
async fn an_older_program_refuses_a_newer_schema_and_an_altered_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    Store::open_sqlite(&path).await.unwrap().close().await;
    let mut connection = Connection::open(&path).unwrap();
    assert!(matches!(
        sqlite_to(&mut connection, &SQLITE[..2]),
        Err(Error::Newer { found: 3, .. })
    ));
    let mut altered = SQLITE.to_vec();
    altered[1].sql = "SELECT 1";
    assert!(matches!(
        sqlite_to(&mut connection, &altered),
        Err(Error::Altered { version: 2, .. })
    ));
    let Some(database) = empty_postgres() else {
        return;
    };
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    postgres(&mut connection).await.unwrap();
    assert!(matches!(
        postgres_to(&mut connection, &POSTGRES[..2]).await,
        Err(Error::Newer { found: 3, .. })
    ));
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let broken = [Migration {
        version: 1,
        name: "broken",
        sql: "CREATE TABLE half (a BIGINT); CREATE TABEL",
    }];
    let mut connection = Connection::open_in_memory().unwrap();
    sqlite_to(&mut connection, &broken).unwrap_err();
    sqlite(&mut connection).unwrap();
    let half = connection.prepare("SELECT a FROM half");
    assert!(half.is_err());
    let Some(database) = empty_postgres() else {
        return;
    };
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    postgres_to(&mut connection, &broken).await.unwrap_err();
    postgres(&mut connection).await.unwrap();
    let half = sqlx::raw_sql("SELECT a FROM half");
    assert!(half.execute(&mut connection).await.is_err());
}

#[tokio::test]
async fn nodes_that_start_together_take_turns() {
    let Some(database) = empty_postgres() else {
        return;
    };
    let url = database.url();
    let opened = (0..4).map(|_| Store::open_postgres(&url, 2));
    futures::future::try_join_all(opened).await.unwrap();
}

/// All but the search index, which each has in its own form.
#[tokio::test]
async fn both_databases_have_the_same_columns() {
    let Some(database) = empty_postgres() else {
        return;
    };
    let mut postgres_connection = PgConnection::connect(&database.url()).await.unwrap();
    postgres(&mut postgres_connection).await.unwrap();
    let mut of_postgres: Vec<(String, String)> = sqlx::query_as(
        "SELECT table_name::text, column_name::text FROM information_schema.columns
         WHERE table_schema = 'public' AND (table_name, column_name) <> ('events', 'tx')
            AND table_name <> 'rung_words'",
    )
    .fetch_all(&mut postgres_connection)
    .await
    .unwrap();
    let mut connection = Connection::open_in_memory().unwrap();
    sqlite(&mut connection).unwrap();
    let mut of_sqlite: Vec<(String, String)> = connection
        .prepare(
            "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
             WHERE m.type = 'table' AND m.name NOT LIKE 'rung_words%' AND m.name NOT LIKE 'sqlite_%'",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    of_postgres.sort();
    of_sqlite.sort();
    assert_eq!(of_sqlite, of_postgres);
}
