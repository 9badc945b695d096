//! Fifty roles at full speed.

use std::time::Duration;

use guildhall_cluster::PgCluster;
use guildhall_testing::Guildhall;
use guildhall_testing::team_load::Load;

const PROGRAM: &str = env!("CARGO_BIN_EXE_guildhall");
const ROLES: usize = 50;
const TIME: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_loses_doubles_and_reorders_nothing() {
    let node = Guildhall::start(PROGRAM);
    let load = Load::prepare(vec![node.address().to_string()], &node.token(), ROLES).await;
    let outcome = load.run(TIME, || {}).await;
    assert!(outcome.messages > 0 && outcome.reports > 0, "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_lose_double_and_reorder_nothing_while_one_is_killed() {
    let Some(cluster) = PgCluster::shared() else {
        return;
    };
    let database = cluster.database().expect("it is there");
    let url = database.url();
    let start = || Guildhall::start_with(PROGRAM, &["--database-url", &url]);
    let mut nodes = [start(), start(), start()];
    let servers = nodes
        .iter()
        .map(|node| node.address().to_string())
        .collect();
    let load = Load::prepare(servers, &nodes[0].token(), ROLES).await;
    let outcome = load.run(TIME, || nodes[2].kill()).await;
    assert!(outcome.messages > 0 && outcome.reports > 0, "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_that_waits_has_each_message_as_it_comes() {
    let node = Guildhall::start(PROGRAM);
    let load = Load::prepare(vec![node.address().to_string()], &node.token(), 3).await;
    assert_eq!(load.wake_ups(5).await.len(), 5);
}
