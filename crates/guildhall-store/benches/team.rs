//! Acknowledged messages through the store, beside a raw loop of the same statements through the same library with the
//! same number of messages in a commit. Run as `cargo xtask bench team`.
//!
//! Each role of a session sends to the next one and waits for the acknowledgement before it sends again: as many messages
//! as there are senders share a commit on SQLite, and run at once on PostgreSQL; the raw loops do the same.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its figures and has nobody to report a failure to"
)]

mod beside;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use beside::{
    CONNECTIONS, HEAD, NEW_HEAD, POSTGRES_EVENT, TURN, TURNS, at_once, on_both, rate, raw_sqlite,
};
use guildhall_core::team::{RoleName, SessionId};
use guildhall_store::team::{Claim, NewMessage, NewSession, Who};
use guildhall_store::{Act, Principals as _, Store, Team as _};
use jiff::Timestamp;
use sqlx::Connection as _;
use tokio::runtime::Runtime;

/// Senders at once: one agent, and a full team.
const SENDERS: [usize; 2] = [1, 50];

const OPERATOR: &str = "owner@example.com";
const SESSION: &str = "bench-1";

/// An ordinary message.
const BODY: &str = "API endpoint implements OAuth. Please review security.";
const ACTION: &str = "Verify token validation and rate limiting";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// An id as long as a real one.
fn id() -> String {
    format!("msg-{:032x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn main() {
    println!(
        "{:<12} {:>7} {:>12} {:>12} {:>7}",
        "messages", "senders", "store /s", "raw /s", "ratio"
    );
    on_both(&SENDERS, sqlite, postgres, line);
}

fn line(database: &str, senders: usize, &(ours, raw): &(f64, f64)) {
    println!(
        "{database:<12} {senders:>7} {ours:>12.0} {raw:>12.0} {:>7.2}",
        ours / raw
    );
}

fn act() -> Act {
    Act::new(OPERATOR.parse().unwrap(), Timestamp::UNIX_EPOCH)
}

fn role(n: usize) -> String {
    format!("r{n}")
}

/// A session of which every role is active.
async fn make_team(store: &Store, senders: usize) {
    let act = act();
    store.ensure_operator(act.at, act.by.clone()).await.unwrap();
    let roles: Vec<RoleName> = (0..senders.max(2))
        .map(|n| role(n).parse().unwrap())
        .collect();
    let id: SessionId = SESSION.parse().unwrap();
    let new = NewSession {
        id: id.clone(),
        roles: roles.clone(),
        namespace: "default".to_owned(),
        repo: None,
        root: None,
        branch: None,
    };
    store.make_session(act.clone(), new).await.unwrap();
    for role in roles {
        let claim = Claim {
            agent: "claude".to_owned(),
            takeover: false,
            id: self::id(),
        };
        let who = Who::new(id.clone(), role);
        store.set_up(act.clone(), who, claim).await.unwrap();
    }
}

/// To whom the `n`th sender writes. One alone writes to another, so that nobody writes to themselves.
fn recipient(n: usize, senders: usize) -> usize {
    (n + 1) % senders.max(2)
}

/// Sends for a turn through the store. What arrives is taken off the count of waiting messages, as reading it does.
async fn through_the_store(store: &Store, senders: usize) -> f64 {
    let start = Instant::now();
    let write = |n: usize| {
        let store = store.clone();
        async move {
            let mut done = 0;
            let who = Who::new(SESSION.parse().unwrap(), role(n).parse().unwrap());
            let to: RoleName = role(recipient(n, senders)).parse().unwrap();
            while start.elapsed() < TURN {
                let message = NewMessage {
                    id: id(),
                    to: to.clone(),
                    body: BODY.to_owned(),
                    task: None,
                    requested_action: Some(ACTION.to_owned()),
                    importance: None,
                    reply_to: None,
                };
                match store.send(act(), who.clone(), message).await {
                    Ok(_) => done += 1,
                    Err(guildhall_store::Error::TooMany(_)) => {
                        let reader = Who::new(SESSION.parse().unwrap(), to.clone());
                        store.shown(act(), reader, 1, i64::MAX).await.unwrap();
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            done
        }
    };
    rate(at_once((0..senders).map(write)).await, start)
}

const ENTER: &str = "SELECT s.project, s.namespace, s.repo, s.owner, s.stopped_at,
        r.role, r.status, r.holder, r.held_by, r.paused_at, r.seen_at, w.at
    FROM team_sessions s
    LEFT JOIN team_roles r ON r.session = s.id AND r.role = $2
    LEFT JOIN team_seen w ON w.session = s.id AND w.role = $2
    WHERE s.id = $1";
const RAISE: &str = "UPDATE team_roles SET last_number = last_number + 1, waiting = waiting + 0
    WHERE session = $1 AND role = $2 AND status IS NOT NULL AND stopped = 0 AND waiting < 1000000
    RETURNING last_number, paused_at";
const INSERT: &str = "INSERT INTO team_messages
        (session, role, number, id, kind, sender, body, task, requested_action, importance, reply_to, at, delivered_at)
    VALUES ($1, $2, $3, $4, 'message', $5, $6, NULL, $7, NULL, NULL, 0, NULL)";
const EVENT: &str = "INSERT INTO events
        (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    VALUES ($1, $2, 0, 'owner@example.com', 'team.message_sent', NULL, NULL, NULL, $3, NULL, $4, $5)";

fn data(id: &str, from: &str, to: &str) -> String {
    format!(r#"{{"message":"{id}","from":"{from}","to":"{to}"}}"#)
}

fn stream(to: &str) -> String {
    format!("session:{SESSION}/{to}")
}

/// Sends for a turn by the statements alone, `group` in a commit.
fn raw_sqlite_turn(connection: &rusqlite::Connection, group: usize) -> f64 {
    let start = Instant::now();
    let mut done = 0;
    while start.elapsed() < TURN {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        for n in 0..group {
            raw_send(connection, &role(n), &role(recipient(n, group)));
        }
        connection.execute_batch("COMMIT").unwrap();
        done += group as u64;
    }
    rate(done, start)
}

fn raw_send(connection: &rusqlite::Connection, from: &str, to: &str) {
    let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
        connection
            .prepare_cached(sql)
            .unwrap()
            .execute(params)
            .unwrap()
    };
    let entered: Option<String> = connection
        .prepare_cached(ENTER)
        .unwrap()
        // SQLite numbers `$n` by first appearance.
        .query_row([from, SESSION], |row| row.get(6))
        .unwrap();
    assert!(entered.is_some());
    let number: i64 = connection
        .prepare_cached(RAISE)
        .unwrap()
        .query_row([SESSION, to], |row| row.get(0))
        .unwrap();
    let id = id();
    run(
        INSERT,
        &[&SESSION, &to, &number, &id, &from, &BODY, &ACTION],
    );
    let stream = stream(to);
    let (length, hash): (i64, Vec<u8>) = connection
        .prepare_cached(HEAD)
        .unwrap()
        .query_row([&stream], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap_or((0, vec![0; 32]));
    run(NEW_HEAD, &[&stream, &(length + 1), &hash]);
    let data = data(&id, from, to);
    run(EVENT, &[&stream, &(length + 1), &SESSION, &data, &hash]);
}

/// Sends for some turns through the store, and by the statements alone.
fn sqlite(runtime: &Runtime, dir: &Path, senders: usize) -> (f64, f64) {
    let path = dir.join("store.db");
    let store = runtime.block_on(Store::open_sqlite(&path)).unwrap();
    runtime.block_on(make_team(&store, senders));
    let connection = raw_sqlite(&path);
    let mut best = (0.0_f64, 0.0_f64);
    for _ in 0..TURNS {
        let ours = runtime.block_on(through_the_store(&store, senders));
        let raw = raw_sqlite_turn(&connection, senders);
        best = (best.0.max(ours), best.1.max(raw));
    }
    best
}

/// The same on PostgreSQL, the statements alone over as many connections.
async fn postgres(url: &str, senders: usize) -> (f64, f64) {
    let connections = senders.min(CONNECTIONS);
    // As many as a server has, however few send: one of them sends the hints to other nodes.
    let pool = u32::try_from(CONNECTIONS + 1).unwrap();
    let store = Store::open_postgres(url, pool).await.unwrap();
    make_team(&store, senders).await;
    let mut best = (0.0_f64, 0.0_f64);
    for _ in 0..TURNS {
        let ours = through_the_store(&store, senders).await;
        let raw = raw_postgres(url, connections, senders).await;
        best = (best.0.max(ours), best.1.max(raw));
    }
    store.close().await;
    best
}

async fn raw_postgres(url: &str, connections: usize, senders: usize) -> f64 {
    let mut ready = Vec::new();
    for _ in 0..connections {
        ready.push(sqlx::PgConnection::connect(url).await.unwrap());
    }
    let start = Instant::now();
    let writers = ready.into_iter().enumerate();
    let work = writers.map(|(n, connection)| raw_postgres_sender(connection, n, senders, start));
    rate(at_once(work).await, start)
}

async fn raw_postgres_sender(
    mut connection: sqlx::PgConnection,
    n: usize,
    senders: usize,
    start: Instant,
) -> u64 {
    let (from, to) = (role(n), role(recipient(n, senders)));
    let mut done = 0;
    while start.elapsed() < TURN {
        let mut transaction = connection.begin().await.unwrap();
        sqlx::query(ENTER)
            .bind(SESSION)
            .bind(&from)
            .fetch_one(&mut *transaction)
            .await
            .unwrap();
        let (number, _): (i64, Option<i64>) = sqlx::query_as(RAISE)
            .bind(SESSION)
            .bind(&to)
            .fetch_one(&mut *transaction)
            .await
            .unwrap();
        let id = id();
        sqlx::query(INSERT)
            .bind(SESSION)
            .bind(&to)
            .bind(number)
            .bind(&id)
            .bind(&from)
            .bind(BODY)
            .bind(ACTION)
            .execute(&mut *transaction)
            .await
            .unwrap();
        sqlx::query(POSTGRES_EVENT)
            .bind(stream(&to))
            .bind(0_i64)
            .bind(OPERATOR)
            .bind("team.message_sent")
            .bind(None::<String>)
            .bind(None::<String>)
            .bind(None::<String>)
            .bind(SESSION)
            .bind(None::<String>)
            .bind([0_u8; 32].as_slice())
            .bind([1_u8; 32].as_slice())
            .bind(data(&id, &from, &to))
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
        done += 1;
    }
    done
}
