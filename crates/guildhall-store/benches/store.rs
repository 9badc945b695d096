//! Acknowledged small writes through the store, beside a raw loop of the same statements through the same library: what
//! the store itself costs. Run as `cargo xtask bench store`.
//!
//! A write moves the head of a repo and records it. Each of the writers waits for its acknowledgement before it writes
//! again, so as many writes as there are writers share a commit on SQLite, and run at once on PostgreSQL; the raw loops
//! do the same with that number.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its figures and has nobody to report a failure to"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use guildhall_cluster::PgCluster;
use guildhall_core::{Principal, RepoName};
use guildhall_store::{Act, NewRepo, Principals as _, Repos as _, Store};
use jiff::Timestamp;
use sqlx::Connection as _;

/// How long each figure is measured.
const MEASURED: Duration = Duration::from_secs(3);

/// Writers at once: a single agent, a team, a busy server.
const WRITERS: [usize; 3] = [1, 16, 64];

/// A server of ours would have as many connections.
const CONNECTIONS: usize = 16;

const OPERATOR: &str = "owner@example.com";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    println!(
        "{:<12} {:>7} {:>12} {:>12} {:>7}",
        "", "writers", "store /s", "raw /s", "ratio"
    );
    for writers in WRITERS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let store = runtime.block_on(Store::open_sqlite(&path)).unwrap();
        let ours = runtime.block_on(through_the_store(&store, writers));
        runtime.block_on(store.close());
        let raw = raw_sqlite(&path, writers);
        line("SQLite", writers, ours, raw);
    }
    match PgCluster::start() {
        Ok(cluster) => {
            for writers in WRITERS {
                let database = cluster.database().unwrap();
                let (ours, raw) = runtime.block_on(postgres(&database.url(), writers));
                line("PostgreSQL", writers, ours, raw);
            }
        }
        Err(error) => println!("PostgreSQL   left out: {error}"),
    }
}

fn line(database: &str, writers: usize, ours: f64, raw: f64) {
    println!(
        "{database:<12} {writers:>7} {ours:>12.0} {raw:>12.0} {:>7.2}",
        ours / raw
    );
}

fn repo(n: usize) -> RepoName {
    format!("acme/r{n}").parse().unwrap()
}

/// Writes a second through the store.
async fn through_the_store(store: &Store, writers: usize) -> f64 {
    let operator: Principal = OPERATOR.parse().unwrap();
    let act = Act::new(operator.clone(), Timestamp::UNIX_EPOCH);
    store.ensure_operator(act.at, operator).await.unwrap();
    for n in 0..writers {
        let new = NewRepo {
            name: repo(n),
            public: false,
            default_branch: "main".to_owned(),
            head: Some("0".to_owned()),
            origin: None,
        };
        store.add_repo(act.clone(), new).await.unwrap();
    }
    let start = Instant::now();
    let write = |n: usize| {
        let (store, act) = (store.clone(), act.clone());
        async move {
            let mut done = 0_u64;
            while start.elapsed() < MEASURED {
                let (from, to) = (done.to_string(), (done + 1).to_string());
                store
                    .move_head(act.clone(), repo(n), Some(from), to)
                    .await
                    .unwrap();
                done += 1;
            }
            done
        }
    };
    let tasks: Vec<_> = (0..writers).map(|n| tokio::spawn(write(n))).collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    rate(done, start)
}

#[expect(clippy::cast_precision_loss, reason = "counts here are small")]
fn rate(done: u64, since: Instant) -> f64 {
    done as f64 / since.elapsed().as_secs_f64()
}

const MOVE: &str = "UPDATE repos SET head = $3 WHERE name = $1 AND head IS NOT DISTINCT FROM $2";
const REPO: &str = "SELECT name, public, default_branch, head, origin, created_at, created_by
    FROM repos WHERE name = $1";
const HEAD: &str = "SELECT length, hash FROM streams WHERE stream = $1";
const NEW_HEAD: &str = "INSERT INTO streams (stream, length, hash) VALUES ($1, $2, $3)
    ON CONFLICT (stream) DO UPDATE SET length = excluded.length, hash = excluded.hash";
const EVENT: &str = "INSERT INTO events
        (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    VALUES ($1, $2, 0, 'owner@example.com', 'repo.head_moved', $3, NULL, NULL, NULL, NULL, $4, $5)";
const DATA: &str = r#"{"from":"1000","to":"1001"}"#;

/// Writes a second by the statements alone, `group` in a commit.
fn raw_sqlite(path: &Path, group: usize) -> f64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON",
        )
        .unwrap();
    connection.set_prepared_statement_cache_capacity(64);
    connection
        .execute("UPDATE repos SET head = '0'", [])
        .unwrap();
    let start = Instant::now();
    let (mut done, mut number) = (0, 0_u64);
    while start.elapsed() < MEASURED {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        for n in 0..group {
            raw_write(&connection, &format!("acme/r{n}"), number);
        }
        connection.execute_batch("COMMIT").unwrap();
        number += 1;
        done += group as u64;
    }
    rate(done, start)
}

fn raw_write(connection: &rusqlite::Connection, repo: &str, number: u64) {
    let stream = format!("repo:{repo}");
    let (from, to) = (number.to_string(), (number + 1).to_string());
    let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
        connection
            .prepare_cached(sql)
            .unwrap()
            .execute(params)
            .unwrap()
    };
    assert_eq!(run(MOVE, &[&repo, &from, &to]), 1);
    let head: String = connection
        .prepare_cached(REPO)
        .unwrap()
        .query_row([repo], |row| row.get(3))
        .unwrap();
    assert_eq!(head, to);
    let (length, hash): (i64, Vec<u8>) = connection
        .prepare_cached(HEAD)
        .unwrap()
        .query_row([&stream], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    run(NEW_HEAD, &[&stream, &(length + 1), &hash]);
    run(EVENT, &[&stream, &(length + 1), &repo, &DATA, &hash]);
}

const POSTGRES_EVENT: &str = "WITH head AS (
        INSERT INTO streams (stream, length, hash)
        VALUES ($1, 1, sha256($10 || $11))
        ON CONFLICT (stream) DO UPDATE
            SET length = streams.length + 1, hash = sha256(streams.hash || $11)
        RETURNING length, hash
    )
    INSERT INTO events (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    SELECT $1, head.length, $2, $3, $4, $5, $6, $7, $8, $9, $12, head.hash FROM head";

/// Writes a second through the store, and by the statements alone over as many connections.
async fn postgres(url: &str, writers: usize) -> (f64, f64) {
    let connections = writers.min(CONNECTIONS);
    let pool = u32::try_from(connections + 1).unwrap();
    let store = Store::open_postgres(url, pool).await.unwrap();
    let ours = through_the_store(&store, writers).await;
    store.close().await;
    let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
    sqlx::query("UPDATE repos SET head = '0'")
        .execute(&mut connection)
        .await
        .unwrap();
    let start = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|n| tokio::spawn(raw_postgres(url.to_owned(), n, start)))
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    (ours, rate(done, start))
}

async fn raw_postgres(url: String, n: usize, start: Instant) -> u64 {
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    let repo = format!("acme/r{n}");
    let stream = format!("repo:{repo}");
    let mut done = 0_u64;
    while start.elapsed() < MEASURED {
        let mut transaction = connection.begin().await.unwrap();
        let moved = sqlx::query(MOVE)
            .bind(&repo)
            .bind(done.to_string())
            .bind((done + 1).to_string())
            .execute(&mut *transaction)
            .await
            .unwrap();
        assert_eq!(moved.rows_affected(), 1);
        sqlx::query(REPO)
            .bind(&repo)
            .fetch_one(&mut *transaction)
            .await
            .unwrap();
        sqlx::query(POSTGRES_EVENT)
            .bind(&stream)
            .bind(0_i64)
            .bind(OPERATOR)
            .bind("repo.head_moved")
            .bind(&repo)
            .bind(None::<String>)
            .bind(None::<String>)
            .bind(None::<String>)
            .bind(None::<String>)
            .bind([0_u8; 32].as_slice())
            .bind([1_u8; 32].as_slice())
            .bind(DATA)
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
        done += 1;
    }
    done
}
