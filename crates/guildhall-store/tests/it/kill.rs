//! `kill -9` under load: what was acknowledged is there, nothing is half done, and the log holds.
//!
//! The test starts itself again as a program that writes until it is killed and says each acknowledged write on its
//! standard output. For PostgreSQL it is a node that is killed, not the server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use guildhall_store::{Events as _, Repos as _, Store, Stream};

use crate::world::{OPERATOR, World, add_repo, at, by, repo_name, with_operator};

/// How often to kill; `cargo xtask soak kill` asks for more.
const KILLS: &str = "GUILDHALL_KILLS";
const USUAL_KILLS: usize = 30;

/// Tells the started program where its database is: a folder, or an address.
const SQLITE: &str = "GUILDHALL_KILL_SQLITE";
const POSTGRES: &str = "GUILDHALL_KILL_POSTGRES";

/// Repos written to at once, each by a writer of its own.
const WRITERS: usize = 8;

/// Rounds between two checks of the whole log, which takes the longer the more it holds.
const WHOLE_CHECK_EVERY: usize = 10;

/// The newest acknowledged write of each repo.
type Acknowledged = BTreeMap<String, u64>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_every_acknowledged_write() {
    kill_again_and_again(&World::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_keeps_every_acknowledged_write() {
    if let Some(world) = World::postgres().await {
        kill_again_and_again(&world).await;
    }
}

async fn kill_again_and_again(world: &World) {
    let kills = std::env::var(KILLS).map_or(USUAL_KILLS, |kills| kills.parse().unwrap());
    let store = with_operator(world).await;
    for writer in 0..WRITERS {
        add_repo(&store, &format!("acme/r{writer}"), false).await;
    }
    store.close().await;
    let mut acknowledged = Acknowledged::new();
    for round in 1..=kills {
        let mut child = start(world);
        // Every fifth time as early as can be, while it opens the database.
        let writes = if round % 5 == 0 { 0 } else { round * 7 % 60 };
        read_then_kill(&mut child, writes, &mut acknowledged);
        let store = world.open().await;
        nothing_acknowledged_is_lost(&store, &acknowledged).await;
        if round % WHOLE_CHECK_EVERY == 0 || round == kills {
            nothing_is_half_done(&store).await;
            let found = store.verify(None).await.unwrap();
            assert_eq!(found.findings, [], "after {round} kills");
        }
        store.close().await;
    }
    assert_eq!(acknowledged.len(), WRITERS, "some writer never wrote");
}

fn start(world: &World) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    match world {
        World::Sqlite(dir) => command.env(SQLITE, dir.path()),
        World::Postgres(database) => command.env(POSTGRES, database.url()),
    };
    command
        .args(["--exact", "kill::writes_until_it_is_killed"])
        .args(["--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills the program once it acknowledged `writes` writes, and takes in all that it had acknowledged by then.
fn read_then_kill(child: &mut Child, writes: usize, acknowledged: &mut Acknowledged) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut take = |line: std::io::Result<String>| {
        let line = line.unwrap();
        let Some((repo, number)) = line
            .strip_prefix("ack ")
            .and_then(|ack| ack.split_once(' '))
        else {
            return false;
        };
        // The last line may be cut short by the end; a shorter number is only a weaker claim.
        if let Ok(number) = number.parse::<u64>() {
            let newest = acknowledged.entry(repo.to_owned()).or_default();
            *newest = number.max(*newest);
        }
        true
    };
    let mut seen = 0;
    while seen < writes {
        let line = lines.next().expect("it writes until it is killed");
        seen += usize::from(take(line));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    lines.for_each(|line| {
        take(line);
    });
}

async fn nothing_acknowledged_is_lost(store: &Store, acknowledged: &Acknowledged) {
    for (repo, number) in acknowledged {
        let head = head(store, repo).await;
        assert!(
            head >= *number,
            "write {number} of {repo} was acknowledged, and it is at {head}"
        );
    }
}

/// Every repo is where its last event says it went.
async fn nothing_is_half_done(store: &Store) {
    for writer in 0..WRITERS {
        let repo = format!("acme/r{writer}");
        let stream = Stream::repo(&repo_name(&repo));
        // PostgreSQL may still be finishing what the killed node had asked for.
        for patience in (0..200).rev() {
            let head = i64::try_from(head(store, &repo).await).unwrap();
            let next = store.of_stream(&stream, head, 10).await.unwrap();
            // The first event is that the repo was added, the next that it went to 1.
            if next.len() == 1 && next[0].seq == head + 1 {
                break;
            }
            assert!(patience > 0, "{repo} is at {head} and its log at {next:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// How many writes a repo has seen.
async fn head(store: &Store, repo: &str) -> u64 {
    let repo = store.repo(repo_name(repo)).await.unwrap().unwrap();
    repo.head.map_or(0, |head| head.parse().unwrap())
}

#[ignore = "started by the tests of this file"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_it_is_killed() {
    let opened = match (std::env::var_os(SQLITE), std::env::var(POSTGRES)) {
        (Some(dir), _) => Store::open_sqlite(&std::path::Path::new(&dir).join("store.db")).await,
        (None, Ok(url)) => Store::open_postgres(&url, 10).await,
        // Somebody runs all ignored tests: there is nothing to write to.
        (None, Err(_)) => return,
    };
    let store = opened.unwrap();
    for writer in 0..WRITERS {
        tokio::spawn(write(store.clone(), format!("acme/r{writer}")));
    }
    loop {
        store.seal(at(3)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn write(store: Store, repo: String) {
    let mut number = head(&store, &repo).await;
    loop {
        let from = (number > 0).then(|| number.to_string());
        number += 1;
        store
            .move_head(by(OPERATOR, 2), repo_name(&repo), from, number.to_string())
            .await
            .unwrap();
        let mut output = std::io::stdout().lock();
        writeln!(output, "ack {repo} {number}").unwrap();
    }
}
