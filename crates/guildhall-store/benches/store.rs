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

mod beside;

use std::path::Path;
use std::time::Instant;

use beside::{
    CONNECTIONS, HEAD, NEW_HEAD, POSTGRES_EVENT, TURN, TURNS, at_once, on_both, rate, raw_sqlite,
};
use guildhall_core::RepoName;
use guildhall_store::{Act, NewRepo, Principals as _, Repos as _, Store};
use jiff::Timestamp;
use sqlx::Connection as _;
use tokio::runtime::Runtime;

/// Writers at once: a single agent, a team, a busy server.
const WRITERS: [usize; 3] = [1, 16, 64];

const OPERATOR: &str = "owner@example.com";

fn main() {
    println!(
        "{:<12} {:>7} {:>12} {:>12} {:>7}",
        "", "writers", "store /s", "raw /s", "ratio"
    );
    on_both(&WRITERS, sqlite, postgres, line);
}

fn line(database: &str, writers: usize, &(ours, raw): &(f64, f64)) {
    println!(
        "{database:<12} {writers:>7} {ours:>12.0} {raw:>12.0} {:>7.2}",
        ours / raw
    );
}

fn raw_repo(n: usize) -> String {
    format!("acme/raw{n}")
}

fn repo(n: usize) -> RepoName {
    format!("acme/r{n}").parse().unwrap()
}

/// Repos for the store and for the raw loop, one for each writer.
async fn add_repos(store: &Store, writers: usize) {
    let act = act();
    store.ensure_operator(act.at, act.by.clone()).await.unwrap();
    for name in (0..writers).flat_map(|n| [repo(n), raw_repo(n).parse().unwrap()]) {
        let new = NewRepo {
            name,
            public: false,
            default_branch: "main".to_owned(),
            head: Some("0-0".to_owned()),
            origin: None,
        };
        store.add_repo(act.clone(), new).await.unwrap();
    }
}

fn act() -> Act {
    Act::new(OPERATOR.parse().unwrap(), Timestamp::UNIX_EPOCH)
}

/// The commit a writer is at after `done` writes of a turn.
fn commit(turn: usize, done: u64) -> String {
    format!("{turn}-{done}")
}

/// Writes a second through the store.
async fn through_the_store(store: &Store, writers: usize, turn: usize) -> f64 {
    let start = Instant::now();
    let write = |n: usize| {
        let store = store.clone();
        async move {
            let mut done = 0;
            let head = store.repo(repo(n)).await.unwrap().unwrap().head;
            let mut from = head.unwrap();
            while start.elapsed() < TURN {
                let to = commit(turn, done + 1);
                let moved = store.move_head(act(), repo(n), Some(from), to.clone());
                moved.await.unwrap();
                (from, done) = (to, done + 1);
            }
            done
        }
    };
    rate(at_once((0..writers).map(write)).await, start)
}

/// The same statement: SQLite numbers `$n` by first appearance, and the raw loop binds by number.
const SQLITE_MOVE: &str =
    "UPDATE repos SET head = ?3 WHERE name = ?1 AND head IS NOT DISTINCT FROM ?2";
const MOVE: &str = "UPDATE repos SET head = $3 WHERE name = $1 AND head IS NOT DISTINCT FROM $2";
const REPO: &str = "SELECT name, public, default_branch, head, origin, created_at, created_by
    FROM repos WHERE name = $1";
const EVENT: &str = "INSERT INTO events
        (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    VALUES ($1, $2, 0, 'owner@example.com', 'repo.head_moved', $3, NULL, NULL, NULL, NULL, $4, $5)";
const DATA: &str = r#"{"from":"1000","to":"1001"}"#;

/// Writes a second by the statements alone, `group` in a commit.
fn raw_sqlite_turn(connection: &rusqlite::Connection, group: usize, turn: usize) -> f64 {
    let heads = "UPDATE repos SET head = ?1 WHERE name LIKE 'acme/raw%'";
    connection.execute(heads, [commit(turn, 0)]).unwrap();
    let start = Instant::now();
    let (mut done, mut number) = (0, 0);
    while start.elapsed() < TURN {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        for n in 0..group {
            let (from, to) = (commit(turn, number), commit(turn, number + 1));
            raw_write(connection, &raw_repo(n), &from, &to);
        }
        connection.execute_batch("COMMIT").unwrap();
        number += 1;
        done += group as u64;
    }
    rate(done, start)
}

fn raw_write(connection: &rusqlite::Connection, repo: &str, from: &str, to: &str) {
    let stream = format!("repo:{repo}");
    let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
        connection
            .prepare_cached(sql)
            .unwrap()
            .execute(params)
            .unwrap()
    };
    assert_eq!(run(SQLITE_MOVE, &[&repo, &from, &to]), 1);
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

/// Writes a second through the store, and by the statements alone.
fn sqlite(runtime: &Runtime, dir: &Path, writers: usize) -> (f64, f64) {
    let path = dir.join("store.db");
    let store = runtime.block_on(Store::open_sqlite(&path)).unwrap();
    runtime.block_on(add_repos(&store, writers));
    let connection = raw_sqlite(&path);
    let mut best = (0.0_f64, 0.0_f64);
    for turn in 0..TURNS {
        let ours = runtime.block_on(through_the_store(&store, writers, turn));
        let raw = raw_sqlite_turn(&connection, writers, turn);
        best = (best.0.max(ours), best.1.max(raw));
    }
    best
}

/// The same on PostgreSQL, the statements alone over as many connections.
async fn postgres(url: &str, writers: usize) -> (f64, f64) {
    let connections = writers.min(CONNECTIONS);
    let pool = u32::try_from(connections + 1).unwrap();
    let store = Store::open_postgres(url, pool).await.unwrap();
    add_repos(&store, writers).await;
    let mut best = (0.0_f64, 0.0_f64);
    for turn in 0..TURNS {
        let ours = through_the_store(&store, writers, turn).await;
        best = (
            best.0.max(ours),
            best.1.max(raw_postgres(url, connections, turn).await),
        );
    }
    store.close().await;
    best
}

async fn raw_postgres(url: &str, connections: usize, turn: usize) -> f64 {
    let mut ready = Vec::new();
    for n in 0..connections {
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        sqlx::query("UPDATE repos SET head = $1 WHERE name = $2")
            .bind(commit(turn, 0))
            .bind(raw_repo(n))
            .execute(&mut connection)
            .await
            .unwrap();
        ready.push(connection);
    }
    let start = Instant::now();
    let writers = ready.into_iter().enumerate();
    let work = writers.map(|(n, connection)| raw_postgres_writer(connection, n, turn, start));
    rate(at_once(work).await, start)
}

async fn raw_postgres_writer(
    mut connection: sqlx::PgConnection,
    n: usize,
    turn: usize,
    start: Instant,
) -> u64 {
    let repo = raw_repo(n);
    let stream = format!("repo:{repo}");
    let mut done = 0;
    while start.elapsed() < TURN {
        let mut transaction = connection.begin().await.unwrap();
        let moved = sqlx::query(MOVE)
            .bind(&repo)
            .bind(commit(turn, done))
            .bind(commit(turn, done + 1))
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
