//! `kill -9` while rungs are written and the index is made anew: every rung is found by what it says now, and by nothing
//! that it said before.
//!
//! As in the other test of this kind, the test starts itself again as a program that works until it is killed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use guildhall_core::ladder::Query;
use guildhall_store::{Anchor, Ladder as _, NewRung, RungRange, Search, Store};

use crate::world::{OPERATOR, World, add_repo, by, name, repo_name, with_operator};

const KILLS: usize = 8;
const RUNGS: usize = 300;
const REPO: &str = "acme/web";

/// Tells the started program where its database is: a folder, or an address.
const SQLITE: &str = "GUILDHALL_LADDER_SQLITE";
const POSTGRES: &str = "GUILDHALL_LADDER_POSTGRES";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_finds_every_rung_by_what_it_says_now() {
    kill_again_and_again(&World::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_finds_every_rung_by_what_it_says_now() {
    if let Some(world) = World::postgres().await {
        kill_again_and_again(&world).await;
    }
}

/// What a rung says in a version: a word of its own.
fn word(rung: usize, version: i64) -> String {
    format!("r{rung}v{version}x")
}

async fn write(store: &Store, rung: usize, version: i64) {
    let new = NewRung {
        path: format!("f{rung}").parse().unwrap(),
        summary: format!("Always {}", word(rung, version)),
        anchor: Some(Anchor {
            commit: "c1".to_owned(),
            object: None,
        }),
        replaces: Some(version - 1),
    };
    let written = store.write_rungs(by(OPERATOR, 2), repo_name(REPO), vec![new]);
    assert_eq!(written.await.unwrap()[0].version, version);
}

async fn kill_again_and_again(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, REPO, false).await;
    for rung in 0..RUNGS {
        write(&store, rung, 1).await;
    }
    store.close().await;
    let mut acknowledged = vec![1; RUNGS];
    for round in 1..=KILLS {
        let exe = std::env::current_exe().unwrap();
        let mut command = Command::new(exe);
        match world {
            World::Sqlite(dir) => command.env(SQLITE, dir.path()),
            World::Postgres(database) => command.env(POSTGRES, database.url()),
        };
        let mut child = command
            .args(["--exact", "ladder_kill::works_until_it_is_killed"])
            .args(["--ignored", "--nocapture"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut seen = 0;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut take = |line: &str| {
            let Some((rung, version)) = line
                .strip_prefix("ack ")
                .and_then(|ack| ack.split_once(' '))
            else {
                return false;
            };
            if let (Ok(rung), Ok(version)) = (rung.parse::<usize>(), version.parse::<i64>()) {
                acknowledged[rung] = acknowledged[rung].max(version);
            }
            true
        };
        while seen < round * 11 {
            seen += usize::from(take(
                &lines.next().expect("it works until it is killed").unwrap(),
            ));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            // The last line may be cut short; a shorter number is only a weaker claim.
            take(&line);
        }
        let store = world.open().await;
        every_rung_is_found_by_what_it_says(&store, &acknowledged).await;
        store.close().await;
    }
}

async fn every_rung_is_found_by_what_it_says(store: &Store, acknowledged: &[i64]) {
    let range = RungRange {
        limit: 10_000,
        ..RungRange::default()
    };
    let rungs = store.rungs(repo_name(REPO), range).await.unwrap();
    assert_eq!(rungs.len(), RUNGS);
    for rung in rungs {
        let number: usize = rung.path.as_str()[1..].parse().unwrap();
        assert!(
            rung.version >= acknowledged[number],
            "{} is at {}",
            rung.path,
            rung.version
        );
        // PostgreSQL may still be finishing what the killed program had asked for: then both move on together.
        for version in [rung.version - 1, rung.version] {
            let found = find(store, &word(number, version)).await;
            let now = store
                .rung(repo_name(REPO), rung.path.clone())
                .await
                .unwrap()
                .unwrap();
            if now.version == rung.version {
                assert_eq!(
                    found,
                    usize::from(version == rung.version),
                    "{} v{version}",
                    rung.path
                );
            }
        }
    }
    assert_eq!(find(store, "always").await, RUNGS);
}

async fn find(store: &Store, word: &str) -> usize {
    let search = Search {
        query: Query::parse(&format!("\"{word}\"")).unwrap(),
        user: name(OPERATOR),
        only: None,
        kind: None,
        under: None,
        after: None,
        limit: 1,
    };
    store.search(search).await.unwrap().total
}

#[ignore = "started by the tests of this file"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_until_it_is_killed() {
    let opened = match (std::env::var_os(SQLITE), std::env::var(POSTGRES)) {
        (Some(dir), _) => Store::open_sqlite(&std::path::Path::new(&dir).join("store.db")).await,
        (None, Ok(url)) => Store::open_postgres(&url, 10).await,
        // Somebody runs all ignored tests: there is nothing to work on.
        (None, Err(_)) => return,
    };
    let store = opened.unwrap();
    let reindexing = store.clone();
    tokio::spawn(async move {
        loop {
            let done = reindexing.reindex(by(OPERATOR, 3), repo_name(REPO)).await;
            assert_eq!(done.unwrap(), RUNGS as u64);
        }
    });
    for rung in (0..RUNGS).cycle() {
        let path = format!("f{rung}").parse().unwrap();
        let now = store.rung(repo_name(REPO), path).await.unwrap().unwrap();
        write(&store, rung, now.version + 1).await;
        let mut output = std::io::stdout().lock();
        writeln!(output, "ack {rung} {}", now.version + 1).unwrap();
    }
}
