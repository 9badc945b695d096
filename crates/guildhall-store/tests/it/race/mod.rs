//! Many callers on few asks: claims, releases, renewals, answers, leases that run out, callers that crash or come late,
//! calls whose answer is never heard. Every call is written down with its start, its end and the database's clock, and two
//! checks that share nothing look for what must not be: one by rules over intervals, one by searching for an order.
//!
//! `cargo xtask race` runs as many attempts as it is asked for and prints the figures.

mod callers;
mod history;
mod intervals;
mod search;

use std::sync::Arc;
use std::time::Instant;

use guildhall_store::Store;

use crate::world::World;
use callers::{Fault, Race};
use history::{History, VerifyFindings as _};

/// What `cargo xtask race` asks for.
const ATTEMPTS: &str = "GUILDHALL_RACE_ATTEMPTS";
const STORE: &str = "GUILDHALL_RACE_STORE";
const NODES: &str = "GUILDHALL_RACE_NODES";

/// Asks whose histories are searched; every ask is checked by rules.
const SAMPLE: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_callers_on_sqlite_never_hold_one_ask_twice() {
    race(Arc::new(World::sqlite()), 50_000, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_callers_on_three_nodes_never_hold_one_ask_twice() {
    if let Some(world) = World::postgres().await {
        race(Arc::new(world), 20_000, 3).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by `cargo xtask race`"]
async fn as_asked() {
    let number = |name: &str, usual| {
        std::env::var(name).map_or(usual, |given| given.parse::<usize>().unwrap())
    };
    let (attempts, nodes) = (number(ATTEMPTS, 50_000), number(NODES, 1));
    let world = match std::env::var(STORE).as_deref() {
        Ok("postgres") => World::postgres().await.expect("PostgreSQL is installed"),
        _ => World::sqlite(),
    };
    race(Arc::new(world), attempts, nodes).await;
}

/// Races over `nodes` stores of one database, and checks what came of it.
#[expect(clippy::print_stdout, reason = "figures for who runs it by hand")]
async fn race(world: Arc<World>, attempts: usize, nodes: usize) {
    let started = Instant::now();
    let (history, store) = run(&world, attempts, nodes, None).await;
    let took = started.elapsed();
    println!("{}", history.figures(attempts, took));
    let started = Instant::now();
    let problems = intervals::check(&history);
    assert!(problems.is_empty(), "{problems:#?}");
    let lost = history.lost(&store).await;
    assert!(lost.is_empty(), "{lost:#?}");
    println!(
        "By intervals: {} asks in {:.1?}",
        history.asks.len(),
        started.elapsed()
    );
    let started = Instant::now();
    let sample = history.sample(SAMPLE);
    for ask in &sample {
        search::check(ask).unwrap_or_else(|error| panic!("{error}"));
    }
    println!(
        "By search: {} asks in {:.1?}",
        sample.len(),
        started.elapsed()
    );
    assert_eq!(store.verify_findings().await, 0);
}

async fn run(
    world: &Arc<World>,
    attempts: usize,
    nodes: usize,
    fault: Option<Fault>,
) -> (History, Store) {
    let store = crate::lane_world::with_people(world).await;
    let mut stores = vec![store.clone()];
    for _ in 1..nodes {
        stores.push(world.open().await);
    }
    let race = Race::start(Arc::clone(world), stores, attempts, fault).await;
    let history = Arc::new(race).run().await;
    (history, store)
}

/// What each seeded fault does to a store, the checks must find.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_checks_find_a_lease_that_is_cut_short() {
    finds(Fault::LeaseCutShort).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_checks_find_a_fence_that_is_given_twice() {
    finds(Fault::FenceGivenTwice).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_checks_find_an_answer_by_a_replaced_holder() {
    finds(Fault::ReplacedHolderAnswers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledged_answer_that_is_gone_is_found() {
    let world = Arc::new(World::sqlite());
    let (history, store) = run(&world, 2000, 1, Some(Fault::AnswerLost)).await;
    assert!(!history.lost(&store).await.is_empty());
}

async fn finds(fault: Fault) {
    let (history, _) = run(&Arc::new(World::sqlite()), 2000, 1, Some(fault)).await;
    assert!(!intervals::check(&history).is_empty(), "by intervals");
    let found = history
        .sample(usize::MAX)
        .into_iter()
        .any(|ask| search::check(ask).is_err());
    assert!(found, "by search");
}
