//! Durable claims through the store beside a raw loop of the same statements through the same library, and how long it
//! takes to say what is claimable, by the number of asks in the lane. Run as `cargo xtask bench asks`.
//!
//! Each of the claimers waits for its acknowledgement before it claims again, so as many claims as there are claimers
//! share a commit on SQLite, and as many as there are connections run at once on PostgreSQL; the raw loops do the same
//! with that number. A lease of no length lets the same asks be claimed again and again.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its figures and has nobody to report a failure to"
)]

mod beside;

use std::path::Path;
use std::time::{Duration, Instant};

use beside::{
    CONNECTIONS, HEAD, NEW_HEAD, POSTGRES_EVENT, TURN, TURNS, at_once, on_both, rate, raw_sqlite,
};
use guildhall_core::{Clock as _, Principal, RepoName, SystemClock};
use guildhall_store::{Act, AskRef, Asks as _, NewRepo, Principals as _, Repos as _, Store};
use jiff::SignedDuration;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::runtime::Runtime;

/// Claimers at once.
const CLAIMERS: usize = 64;

/// Looks at what is claimable.
const LOOKS: usize = 200;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

const OPERATOR: &str = "owner@example.com";
const REPO: &str = "acme/web";
const LANE: &str = "_repo";

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        SIZES.to_vec()
    } else {
        sizes
    };
    println!(
        "{:<12} {:>8} {:>12} {:>12} {:>7} {:>18} {:>10}",
        "", "asks", "claims /s", "raw /s", "ratio", "claimable p50 ms", "p99 ms"
    );
    on_both(&sizes, sqlite, postgres, line);
}

struct Figures {
    claims: f64,
    raw: f64,
    looks: Vec<Duration>,
}

fn line(database: &str, size: usize, figures: &Figures) {
    let at = |percent: usize| figures.looks[(LOOKS - 1) * percent / 100].as_secs_f64() * 1000.0;
    println!(
        "{database:<12} {size:>8} {:>12.0} {:>12.0} {:>7.2} {:>18.2} {:>10.2}",
        figures.claims,
        figures.raw,
        figures.claims / figures.raw,
        at(50),
        at(99),
    );
}

fn operator() -> Principal {
    OPERATOR.parse().unwrap()
}

fn repo() -> RepoName {
    REPO.parse().unwrap()
}

fn act() -> Act {
    Act::new(operator(), SystemClock.now())
}

async fn prepare(store: &Store) {
    let at = SystemClock.now();
    store.ensure_operator(at, operator()).await.unwrap();
    let new = NewRepo {
        name: repo(),
        public: false,
        default_branch: "main".to_owned(),
        head: None,
        origin: None,
    };
    store.add_repo(act(), new).await.unwrap();
}

/// The asks, straight into the table: posting a hundred thousand would take longer than all the rest.
const FILL: &str = "INSERT INTO asks
        (repo, id, lane, kind, title, body, depends_on, files, priority, scope, work, posted_by, posted_user,
         posted_at, changed_at, state, waits, blocked)
    SELECT 'acme/web', NAME, '_repo', 'work', 'Do one of many things', 'In a few words', '[]', '[]', n % 5,
         'contributor', NAME, 'owner@example.com', 'owner@example.com', n, n, 'open', 0, 0
    FROM ROWS";

fn fill(name: &str, rows: &str) -> String {
    FILL.replace("NAME", name).replace("ROWS", rows)
}

fn ask(n: usize) -> String {
    format!("ask-{n:010}")
}

/// The median and the worst of many looks at what is claimable.
async fn looks(store: &Store) -> Vec<Duration> {
    let mut looks = Vec::new();
    for _ in 0..LOOKS {
        let started = Instant::now();
        let now = SystemClock.now();
        let found = store.claimable(operator(), now, repo(), LANE.to_owned(), 100);
        assert_eq!(found.await.unwrap().asks.len(), 100);
        looks.push(started.elapsed());
    }
    looks.sort_unstable();
    looks
}

/// Claims a second through the store. Each claimer has asks of its own, so that none is refused.
async fn through_the_store(store: &Store, size: usize) -> f64 {
    let start = Instant::now();
    let claim = |claimer: usize| {
        let store = store.clone();
        async move {
            let mut done = 0;
            let own = size / CLAIMERS;
            while start.elapsed() < TURN {
                let asked = AskRef {
                    repo: repo(),
                    lane: None,
                    ask: ask(claimer * own + done % own),
                };
                let claimed = store.claim_ask(act(), asked, SignedDuration::ZERO);
                claimed.await.unwrap();
                done += 1;
            }
            done as u64
        }
    };
    rate(at_once((0..CLAIMERS).map(claim)).await, start)
}

// The statements of a claim, as the store has them.

const LOOK: &str = "SELECT a.id, a.lane, a.kind, a.title, a.body, a.depends_on, a.waits, a.blocked, a.files, a.priority,
        a.scope, a.changeset, a.follows, a.work, a.posted_by, a.posted_at, a.changed_at, a.state, a.claimed_by,
        a.claimed_at, a.expires_at, a.fence, a.verdict, a.answered_by, a.answered_at, a.note, a.payload,
        l.closed_at, l.allow_self_review, c.author, c.work_author,
        CASE WHEN a.state = 'claimed' AND a.expires_at > NOW THEN 1 ELSE 0 END
    FROM asks a JOIN lanes l ON l.repo = a.repo AND l.id = a.lane
    LEFT JOIN changesets c ON c.id = a.changeset
    WHERE a.repo = $1 AND a.id = $2";
const STANDING: &str = "SELECT h.public, u.operator, g.lane, g.role FROM repos h
    LEFT JOIN principals p ON p.name = $4
    LEFT JOIN principals u ON u.name = $1 AND u.disabled_at IS NULL AND p.disabled_at IS NULL
    LEFT JOIN roles g ON g.user_name = u.name AND g.repo = h.name AND g.lane IN ('', $3)
    WHERE h.name = $2";
const TAKE: &str = "UPDATE asks SET state = 'claimed', claimed_by = $4, fence = fence + 1,
        claimed_at = LATER(NOW, changed_at), changed_at = LATER(NOW, changed_at),
        expires_at = LATER(NOW, changed_at) + $5
    WHERE repo = $1 AND id = $2 AND waits = 0
        AND (state = 'open' OR (state = 'claimed' AND expires_at <= NOW))
    RETURNING changed_at, expires_at, fence";
const EVENT: &str = "INSERT INTO events
        (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    VALUES ($1, $10, $2, $3, $4, $5, $6, $7, $8, $9, $12, $11)";
const DATA: &str = r#"{"claimed_at":"2026-05-29T10:00:00.000Z","expires_at":"2026-05-29T10:15:00.000Z","fence":1}"#;

/// For SQLite: it numbers `$n` by first appearance, and the raw loop binds by number.
fn numbered(sql: &str) -> String {
    sql.replace("NOW", "$3")
        .replace("LATER", "max")
        .replace('$', "?")
}

fn on_postgres(sql: &str) -> String {
    sql.replace(
        "NOW",
        "(extract(epoch FROM statement_timestamp()) * 1000)::bigint",
    )
    .replace("LATER", "greatest")
}

fn sqlite(runtime: &Runtime, dir: &Path, size: usize) -> Figures {
    let path = dir.join("store.db");
    let store = runtime.block_on(Store::open_sqlite(&path)).unwrap();
    runtime.block_on(prepare(&store));
    let raw = RawSqlite::open(&path);
    let rows = format!(
        "(WITH RECURSIVE rows (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM rows WHERE n < {})
          SELECT n FROM rows)",
        size - 1
    );
    raw.connection
        .execute_batch(&fill("printf('ask-%010d', n)", &rows))
        .unwrap();
    let looks = runtime.block_on(looks(&store));
    let mut figures = Figures {
        claims: 0.0,
        raw: 0.0,
        looks,
    };
    for _ in 0..TURNS {
        let claims = runtime.block_on(through_the_store(&store, size));
        figures.claims = figures.claims.max(claims);
        figures.raw = figures.raw.max(raw.turn(size));
    }
    figures
}

struct RawSqlite {
    connection: rusqlite::Connection,
    statements: [String; 6],
}

impl RawSqlite {
    /// A connection set as the store's is.
    fn open(path: &Path) -> Self {
        Self {
            connection: raw_sqlite(path),
            statements: [LOOK, STANDING, TAKE, HEAD, NEW_HEAD, EVENT].map(numbered),
        }
    }

    /// Claims a second by the statements alone, as many in a commit as there are claimers.
    fn turn(&self, size: usize) -> f64 {
        let start = Instant::now();
        let (mut done, own) = (0, size / CLAIMERS);
        while start.elapsed() < TURN {
            self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            for claimer in 0..CLAIMERS {
                self.claim(&ask(claimer * own + (done / CLAIMERS) % own));
                done += 1;
            }
            self.connection.execute_batch("COMMIT").unwrap();
        }
        rate(done as u64, start)
    }

    fn claim(&self, ask: &str) {
        let [look, standing, take, head, new_head, event] = &self.statements;
        let now = SystemClock.now().as_millisecond();
        let stream = format!("ask:{REPO}/{ask}");
        let row = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
            let mut statement = self.connection.prepare_cached(sql).unwrap();
            let mut rows = statement.query(params).unwrap();
            let row = rows.next().unwrap().map(|row| {
                (
                    row.get::<_, rusqlite::types::Value>(0).unwrap(),
                    row.get::<_, rusqlite::types::Value>(1).unwrap(),
                )
            });
            // As the store does, to the end.
            while rows.next().unwrap().is_some() {}
            row
        };
        row(look, &[&REPO, &ask, &now]).unwrap();
        row(standing, &[&OPERATOR, &REPO, &LANE, &OPERATOR]).unwrap();
        row(take, &[&REPO, &ask, &now, &OPERATOR, &0]).unwrap();
        let (length, hash) = match row(head, &[&stream]) {
            Some((rusqlite::types::Value::Integer(length), rusqlite::types::Value::Blob(hash))) => {
                (length, hash)
            }
            _ => (0, vec![0; 32]),
        };
        let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
            let mut statement = self.connection.prepare_cached(sql).unwrap();
            statement.execute(params).unwrap();
        };
        run(new_head, &[&stream, &(length + 1), &hash]);
        let none = rusqlite::types::Null;
        run(
            event,
            &[
                &stream,
                &now,
                &OPERATOR,
                &"ask.claimed",
                &REPO,
                &LANE,
                &ask,
                &none,
                &none,
                &(length + 1),
                &hash,
                &DATA,
            ],
        );
    }
}

async fn postgres(url: &str, size: usize) -> Figures {
    let pool = u32::try_from(CONNECTIONS + 1).unwrap();
    let store = Store::open_postgres(url, pool).await.unwrap();
    prepare(&store).await;
    let mut connection = PgConnection::connect(url).await.unwrap();
    let rows = format!("generate_series(0, {}) AS n", size - 1);
    for sql in [
        fill("'ask-' || lpad(n::text, 10, '0')", &rows),
        "ANALYZE".to_owned(),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await
            .unwrap();
    }
    let looks = looks(&store).await;
    let mut figures = Figures {
        claims: 0.0,
        raw: 0.0,
        looks,
    };
    for _ in 0..TURNS {
        let claims = through_the_store(&store, size).await;
        figures.claims = figures.claims.max(claims);
        figures.raw = figures.raw.max(raw_postgres(url, size).await);
    }
    store.close().await;
    figures
}

/// Claims a second by the statements alone, over as many connections as the store has.
async fn raw_postgres(url: &str, size: usize) -> f64 {
    let mut ready = Vec::new();
    for _ in 0..CONNECTIONS {
        ready.push(PgConnection::connect(url).await.unwrap());
    }
    let statements = [LOOK, STANDING, TAKE, POSTGRES_EVENT].map(|sql| &*on_postgres(sql).leak());
    let start = Instant::now();
    let claimers = ready.into_iter().enumerate();
    let work = claimers.map(|(n, mut connection)| async move {
        let (mut done, own) = (0, size / CLAIMERS);
        while start.elapsed() < TURN {
            raw_claim(&mut connection, statements, &ask(n * own + done % own)).await;
            done += 1;
        }
        done as u64
    });
    rate(at_once(work).await, start)
}

async fn raw_claim(connection: &mut PgConnection, statements: [&'static str; 4], ask: &str) {
    let [look, standing, take, event] = statements;
    let now = SystemClock.now().as_millisecond();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query(look)
        .bind(REPO)
        .bind(ask)
        .fetch_all(&mut *transaction)
        .await
        .unwrap();
    sqlx::query(standing)
        .bind(OPERATOR)
        .bind(REPO)
        .bind(LANE)
        .bind(OPERATOR)
        .fetch_all(&mut *transaction)
        .await
        .unwrap();
    let taken = sqlx::query(take)
        .bind(REPO)
        .bind(ask)
        .bind(now)
        .bind(OPERATOR)
        .bind(0_i64)
        .fetch_all(&mut *transaction)
        .await
        .unwrap();
    assert_eq!(taken.len(), 1);
    sqlx::query(event)
        .bind(format!("ask:{REPO}/{ask}"))
        .bind(now)
        .bind(OPERATOR)
        .bind("ask.claimed")
        .bind(REPO)
        .bind(LANE)
        .bind(ask)
        .bind(None::<String>)
        .bind(None::<String>)
        .bind([0_u8; 32].as_slice())
        .bind([1_u8; 32].as_slice())
        .bind(DATA)
        .execute(&mut *transaction)
        .await
        .unwrap();
    transaction.commit().await.unwrap();
}
