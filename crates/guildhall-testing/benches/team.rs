//! Fifty roles at full speed for thirty seconds through the doors of the real program: on one node over SQLite, and on
//! three over one PostgreSQL of which one is killed in the middle. Run as `cargo xtask bench team`.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a bench prints its figures and has nobody to report a failure to"
)]

use std::time::Duration;

use guildhall_cluster::PgCluster;
use guildhall_testing::Guildhall;
use guildhall_testing::team_load::{Load, Outcome};

const ROLES: usize = 50;
const TIME: Duration = Duration::from_secs(30);
const WAKE_UPS: usize = 50;

fn main() {
    let program = std::env::var("GUILDHALL_BENCH_PROGRAM")
        .expect("`cargo xtask bench team` names the program");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    println!(
        "{:<26} {:>9} {:>8} {:>8} {:>9} {:>9} {:>10} {:>10}",
        "", "messages", "reports", "refused", "p50 ms", "p99 ms", "wake p50", "wake max"
    );
    let node = Guildhall::start(&program);
    runtime.block_on(one(&node));
    drop(node);
    match PgCluster::start() {
        Ok(cluster) => {
            let database = cluster.database().expect("a database");
            let url = database.url();
            let start = || Guildhall::start_with(&program, &["--database-url", &url]);
            let nodes = [start(), start(), start()];
            runtime.block_on(three(nodes));
        }
        Err(error) => println!("three nodes, PostgreSQL    left out: {error}"),
    }
}

async fn one(node: &Guildhall) {
    let servers = vec![node.address().to_string()];
    let load = Load::prepare(servers, &node.token(), ROLES).await;
    let wake_ups = load.wake_ups(WAKE_UPS).await;
    let outcome = load.run(TIME, || {}).await;
    line("one node, SQLite", &outcome, &wake_ups);
}

async fn three(mut nodes: [Guildhall; 3]) {
    let servers = nodes
        .iter()
        .map(|node| node.address().to_string())
        .collect();
    let load = Load::prepare(servers, &nodes[0].token(), ROLES).await;
    let wake_ups = load.wake_ups(WAKE_UPS).await;
    let outcome = load.run(TIME, || nodes[2].kill()).await;
    line("three nodes, one killed", &outcome, &wake_ups);
}

fn line(name: &str, outcome: &Outcome, wake_ups: &[Duration]) {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let half = wake_ups
        .get(wake_ups.len() / 2)
        .copied()
        .unwrap_or_default();
    let longest = wake_ups.last().copied().unwrap_or_default();
    println!(
        "{name:<26} {:>9} {:>8} {:>8} {:>9.2} {:>9.2} {:>10.2} {:>10.2}",
        outcome.messages,
        outcome.reports,
        outcome.refused,
        ms(outcome.percentile(0.5)),
        ms(outcome.percentile(0.99)),
        ms(half),
        ms(longest),
    );
}
