//! Searching a million rungs over two hundred repos, beside the bare query of the same index through the same library; and
//! making the index of a repo of a hundred thousand rungs anew. Run as `cargo xtask bench ladder`; a number behind `--`
//! takes another count of rungs, `sqlite` or `postgres` one database alone.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its figures and has nobody to report a failure to"
)]

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use guildhall_cluster::PgCluster;
use guildhall_core::ladder::Query;
use guildhall_core::{Principal, RepoName, RepoRole};
use guildhall_store::{
    Act, Anchor, Ladder as _, NewRepo, NewRung, Principals as _, Repos as _, Role, Roles as _,
    Search, Store,
};
use jiff::Timestamp;
use sqlx::Connection as _;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const REPOS: usize = 200;

/// Rungs of the repo whose index is made anew.
const LARGE: usize = 100_000;

/// Words there are, and words of a summary.
const VOCABULARY: usize = 60_000;
const WORDS: usize = 60;

/// Rare words that are looked for, and runs of each other query.
const RARE: usize = 400;
const RUNS: usize = 30;

const OPERATOR: &str = "owner@example.com";
const HALF: &str = "half@example.com";
const ONE: &str = "one@example.com";

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let number = wanted.iter().find_map(|word| word.parse().ok());
    let rungs = number.unwrap_or(1_000_000);
    let only = |name: &str| {
        let other = if name == "sqlite" {
            "postgres"
        } else {
            "sqlite"
        };
        !wanted.iter().any(|word| word == other)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    if only("sqlite") {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        runtime.block_on(async {
            let store = Store::open_sqlite(&path).await.unwrap();
            measure("SQLite", &store, rungs, &mut Raw::sqlite(&path)).await;
            store.close().await;
        });
    }
    if !only("postgres") {
        return;
    }
    match PgCluster::start() {
        Ok(cluster) => {
            let database = cluster.database().unwrap();
            let url = database.url();
            runtime.block_on(async {
                let store = Store::open_postgres(&url, 10).await.unwrap();
                measure("PostgreSQL", &store, rungs, &mut Raw::postgres(&url).await).await;
                store.close().await;
            });
        }
        Err(error) => println!("PostgreSQL   left out: {error}"),
    }
}

async fn measure(database: &str, store: &Store, rungs: usize, raw: &mut Raw) {
    println!("\n{database}");
    let mut words = Words::new(rungs / 10);
    let start = Instant::now();
    people_and_repos(store).await;
    let each = rungs / REPOS;
    for n in 0..REPOS {
        load(store, &repo(n), each, &mut words).await;
    }
    let counts = std::mem::take(&mut words.counts);
    println!(
        "  {rungs} rungs over {REPOS} repos written in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    raw.tidy_up().await;

    rare_words(store, raw, rungs).await;
    for (who, user, only) in [
        ("all repos", OPERATOR, None),
        ("half of the repos", HALF, None),
        ("one repo, all they see", ONE, None),
        ("one repo, named", OPERATOR, Some(repo(REPOS / 2))),
    ] {
        any_query(store, who, user, only.as_ref(), &words, &counts).await;
    }

    let large: RepoName = "acme/large".parse().unwrap();
    add_repo(store, &large).await;
    load(store, &large, LARGE, &mut words).await;
    for (what, before) in [
        ("as it should be", None),
        ("that have no entry", Some(Tamper::Lost)),
        ("whose entry is of other words", Some(Tamper::Other)),
    ] {
        if let Some(tamper) = before {
            raw.tamper(&large, tamper).await;
        }
        let start = Instant::now();
        let done = store.reindex(act(), large.clone()).await.unwrap();
        assert_eq!(done, LARGE as u64);
        println!(
            "  reindex of {LARGE} rungs {what}: {:.2} s",
            start.elapsed().as_secs_f64()
        );
    }
}

/// Words that few rungs have: the store, which ranks, cuts snippets and looks at who may see what, beside the query alone.
async fn rare_words(store: &Store, raw: &mut Raw, rungs: usize) {
    let rare: Vec<String> = (0..RARE)
        .map(|n| rare_word(n * (rungs / 10) / RARE))
        .collect();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // Each word once before it counts, on both sides.
    for round in 0..2 {
        for word in &rare {
            let (start, found) = (
                Instant::now(),
                store.search(search(OPERATOR, word, None)).await.unwrap(),
            );
            let took = start.elapsed();
            let start = Instant::now();
            let count = raw.find(word).await;
            let took_bare = start.elapsed();
            assert_eq!(count, found.hits.len(), "{word}");
            if round == 1 {
                ours.push(took);
                bare.push(took_bare);
            }
        }
    }
    let (p50, p99) = quantiles(&mut ours);
    let (bare50, bare99) = quantiles(&mut bare);
    println!(
        "  rare words: p50 {} ms, p99 {} ms; bare query p50 {} ms, p99 {} ms; ratio p50 {:.2}, p99 {:.2}",
        ms(p50),
        ms(p99),
        ms(bare50),
        ms(bare99),
        p50.as_secs_f64() / bare50.as_secs_f64(),
        p99.as_secs_f64() / bare99.as_secs_f64()
    );
}

async fn any_query(
    store: &Store,
    who: &str,
    user: &str,
    only: Option<&RepoName>,
    words: &Words,
    counts: &[u32],
) {
    let total = f64::from(counts[0].max(1));
    // The word of a rank that a share of the rungs has.
    let share = |share: f64| {
        let n = (0..VOCABULARY).find(|&n| f64::from(counts[n]) < total * share);
        words.all[n.unwrap_or(VOCABULARY - 1)].clone()
    };
    let (half, tenth, hundredth) = (share(0.5), share(0.1), share(0.01));
    let (first, second) = (&words.all[0], &words.all[1]);
    let queries = [
        ("in every rung", "common".to_owned()),
        ("in most", first.clone()),
        ("in half", half.clone()),
        ("in a tenth", tenth.clone()),
        ("in a hundredth", hundredth.clone()),
        ("two common", format!("common {first}")),
        (
            "five common",
            format!("common every {first} {second} {half}"),
        ),
        (
            "common and rare",
            format!("common every {hundredth} {tenth}"),
        ),
        ("phrase in every", "\"common every\"".to_owned()),
        ("phrase in few", format!("\"{first} {second}\"")),
        ("beginning in every", "com*".to_owned()),
        ("beginning in many", format!("{}*", &first[..3])),
        ("two beginnings", format!("com* eve* {tenth}")),
        ("in none, then widened", "comm".to_owned()),
        ("in none", "nowhereatall".to_owned()),
    ];
    let mut worst: (Duration, &str) = (Duration::ZERO, "");
    let mut told = Vec::new();
    for (name, query) in &queries {
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            store.search(search(user, query, only)).await.unwrap();
            times.push(start.elapsed());
        }
        let (p50, p99) = quantiles(&mut times);
        told.push(format!("{name} {}/{}", ms(p50), ms(p99)));
        if p99 > worst.0 {
            worst = (p99, name);
        }
    }
    println!("  {who}: worst p99 {} ms ({})", ms(worst.0), worst.1);
    println!("    p50/p99 ms: {}", told.join(", "));
}

fn search(user: &str, query: &str, only: Option<&RepoName>) -> Search {
    Search {
        query: Query::parse(query).unwrap(),
        user: user.parse().unwrap(),
        only: only.map(|only| vec![only.clone()]),
        kind: None,
        under: None,
        after: None,
        limit: 20,
    }
}

/// The median, and what 99 of 100 stay below.
fn quantiles(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[(times.len() - 1) * 99 / 100])
}

fn ms(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

fn act() -> Act {
    Act::new(OPERATOR.parse().unwrap(), Timestamp::UNIX_EPOCH)
}

fn repo(n: usize) -> RepoName {
    format!("acme/r{n}").parse().unwrap()
}

async fn people_and_repos(store: &Store) {
    store.ensure_operator(act().at, act().by).await.unwrap();
    for user in [HALF, ONE] {
        store.add_user(act(), user.parse().unwrap()).await.unwrap();
    }
    for n in 0..REPOS {
        add_repo(store, &repo(n)).await;
        let users: &[&str] = match n {
            n if n == REPOS / 2 => &[HALF, ONE],
            n if n % 2 == 0 => &[HALF],
            _ => &[],
        };
        for user in users {
            let user: Principal = user.parse().unwrap();
            let role = Role::Repo(RepoRole::Reader);
            store.grant(act(), repo(n), user, role).await.unwrap();
        }
    }
}

async fn add_repo(store: &Store, name: &RepoName) {
    let new = NewRepo {
        name: name.clone(),
        public: false,
        default_branch: "main".to_owned(),
        head: Some("c1".to_owned()),
        origin: None,
    };
    store.add_repo(act(), new).await.unwrap();
}

/// Writes `count` rungs through the store.
async fn load(store: &Store, repo: &RepoName, count: usize, words: &mut Words) {
    let numbers: Vec<usize> = (0..count).collect();
    for part in numbers.chunks(1000) {
        let rungs = part.iter().map(|n| NewRung {
            path: format!("src/d{}/f{n}.rs", n / 50).parse().unwrap(),
            summary: words.summary(),
            anchor: Some(Anchor {
                commit: "c1".to_owned(),
                object: Some("100644 o1".to_owned()),
            }),
            replaces: None,
        });
        let rungs = rungs.collect();
        store.write_rungs(act(), repo.clone(), rungs).await.unwrap();
    }
}

/// A word that about ten rungs have.
fn rare_word(n: usize) -> String {
    format!("rare{n}x")
}

/// A made-up language, some of whose words are used much more than others.
struct Words {
    all: Vec<String>,
    /// How often each was used in a summary, the first use in each alone.
    counts: Vec<u32>,
    /// How many rare words there are; each rung has one.
    rare: usize,
    /// Sums of the weights.
    sums: Vec<f64>,
    random: u64,
}

impl Words {
    fn new(rare: usize) -> Self {
        let mut words = Self {
            rare,
            all: Vec::new(),
            counts: vec![0; VOCABULARY],
            sums: Vec::new(),
            random: 7,
        };
        let mut known = HashSet::new();
        while words.all.len() < VOCABULARY {
            let syllables = 2 + words.below(4);
            let word: String = (0..syllables)
                .map(|_| {
                    let syllable = [
                        "ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se",
                        "ti", "vo", "wu",
                    ];
                    syllable[words.below(syllable.len())]
                })
                .collect();
            if known.insert(word.clone()) {
                words.all.push(word);
            }
        }
        let mut sum = 0.0;
        for n in 0..u32::try_from(VOCABULARY).unwrap() {
            sum += 1.0 / f64::from(n + 1).powf(0.9);
            words.sums.push(sum);
        }
        words
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).unwrap() % bound
    }

    fn summary(&mut self) -> String {
        let mut text = "The common every ".to_owned();
        text.push_str(&rare_word(self.below(self.rare)));
        let mut used = Vec::with_capacity(WORDS);
        for n in 0..WORDS {
            let at =
                f64::from(u32::try_from(self.below(1 << 30)).unwrap()) / f64::from(1_u32 << 30);
            let at = at * self.sums[VOCABULARY - 1];
            let word = self
                .sums
                .partition_point(|sum| *sum < at)
                .min(VOCABULARY - 1);
            text.push_str(if n % 12 == 0 { ".\n" } else { " " });
            text.push_str(&self.all[word]);
            used.push(word);
        }
        used.sort_unstable();
        used.dedup();
        if !self.counts.is_empty() {
            for word in used {
                self.counts[word] += 1;
            }
        }
        text
    }
}

/// What is wrong with an index before it is made anew.
#[derive(Clone, Copy)]
enum Tamper {
    Lost,
    Other,
}

/// The same index, asked without the store.
enum Raw {
    Sqlite(rusqlite::Connection),
    Postgres(sqlx::PgConnection),
}

impl Raw {
    fn sqlite(path: &Path) -> Self {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.busy_timeout(Duration::from_mins(1)).unwrap();
        Self::Sqlite(connection)
    }

    async fn postgres(url: &str) -> Self {
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        // Workers take longer to start than a rare word to be found.
        sqlx::raw_sql("SET max_parallel_workers_per_gather = 0")
            .execute(&mut connection)
            .await
            .unwrap();
        Self::Postgres(connection)
    }

    /// What the database does by itself once it has been quiet for a while.
    async fn tidy_up(&mut self) {
        if let Self::Postgres(connection) = self {
            for table in [
                "VACUUM ANALYZE rung_words",
                "VACUUM ANALYZE rungs",
                "ANALYZE",
            ] {
                sqlx::raw_sql(table)
                    .execute(&mut *connection)
                    .await
                    .unwrap();
            }
        }
    }

    /// The twenty best rungs with a word, as the database ranks.
    async fn find(&mut self, word: &str) -> usize {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection
                    .prepare_cached(
                        "SELECT r.repo, r.path, r.kind, r.summary, r.anchor_commit, r.anchor_object
                         FROM rung_words w JOIN rungs r ON r.id = w.rowid
                         WHERE rung_words MATCH ?1 ORDER BY rank LIMIT 20",
                    )
                    .unwrap();
                let rows = statement.query_map([word], |row| {
                    Ok((
                        row.get::<_, String>(0)?,
                        row.get::<_, String>(1)?,
                        row.get::<_, String>(3)?,
                    ))
                });
                rows.unwrap().map(Result::unwrap).count()
            }
            Self::Postgres(connection) => {
                let rows = sqlx::query(
                    "SELECT r.repo, r.path, r.kind, r.summary, r.anchor_commit, r.anchor_object
                     FROM rung_words w JOIN rungs r ON r.id = w.rung
                     WHERE w.words @@ CAST($1 AS TSQUERY)
                     ORDER BY ts_rank(w.words, CAST($1 AS TSQUERY)) DESC LIMIT 20",
                )
                .bind(word)
                .fetch_all(connection)
                .await;
                rows.unwrap().len()
            }
        }
    }

    async fn tamper(&mut self, repo: &RepoName, tamper: Tamper) {
        let (sqlite, postgres) = match tamper {
            Tamper::Lost => (
                "DELETE FROM rung_words WHERE rowid IN (SELECT id FROM rungs WHERE repo = ?1)",
                "DELETE FROM rung_words WHERE repo = $1",
            ),
            Tamper::Other => (
                "UPDATE rungs SET summary = summary || ' and more' WHERE repo = ?1",
                "UPDATE rungs SET summary = summary || ' and more' WHERE repo = $1",
            ),
        };
        match self {
            Self::Sqlite(connection) => {
                connection.execute(sqlite, [repo.as_str()]).unwrap();
            }
            Self::Postgres(connection) => {
                let query = sqlx::query(postgres).bind(repo.as_str());
                query.execute(connection).await.unwrap();
            }
        }
    }
}
