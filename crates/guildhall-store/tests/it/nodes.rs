//! What only PostgreSQL can show: several nodes, and connections that are lost.

use guildhall_store::{Events as _, Repos as _, Stream};

use crate::world::{OPERATOR, World, add_repo, add_user, by, repo_name, with_operator};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_goes_on_after_it_lost_every_connection() {
    let Some(world) = World::postgres().await else {
        return;
    };
    let store = with_operator(&world).await;
    // Fill the pool, then end all of it, as a restart of the server does.
    let users = (0..12).map(|n| format!("u{n}@example.com"));
    futures::future::join_all(users.map(|user| {
        let store = store.clone();
        async move { add_user(&store, &user).await }
    }))
    .await;
    for round in 0..2 {
        let ended = world
            .tamper(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )
            .await;
        assert!(ended >= 1, "There was no connection to end");
        if round == 0 {
            add_repo(&store, "acme/web", false).await;
        } else {
            store.repo(repo_name("acme/web")).await.unwrap().unwrap();
        }
    }
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_on_one_node_wakes_who_waits_on_another() {
    let Some(world) = World::postgres().await else {
        return;
    };
    let store = with_operator(&world).await;
    add_repo(&store, "acme/web", false).await;
    let other = world.open().await;
    let web = repo_name("acme/web");
    let mut head = None;
    // A waiter looks every second anyway, so one wake-up proves nothing: a second passes only if every hint is lost.
    let mut by_hint = 0;
    for n in 0..10 {
        let mut waiter = other.waiter(&Stream::repo(&web));
        let mut quiet = other.waiter(&Stream::repo(&repo_name("acme/api")));
        let to = n.to_string();
        let moved = store.move_head(by(OPERATOR, 2), web.clone(), head, to);
        head = moved.await.unwrap().head;
        tokio::select! {
            biased;
            () = quiet.changed() => {}
            () = waiter.changed() => by_hint += 1,
        }
    }
    assert!(by_hint > 0, "no hint ever came");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_move_one_head_and_lose_nothing() {
    const EACH: usize = 20;
    let Some(world) = World::postgres().await else {
        return;
    };
    let store = with_operator(&world).await;
    add_repo(&store, "acme/web", false).await;
    let nodes = [store.clone(), world.open().await];
    let moves = nodes.map(|node| async move {
        let web = repo_name("acme/web");
        let mut moved = 0;
        while moved < EACH {
            let head = node.repo(web.clone()).await.unwrap().unwrap().head;
            let next = head
                .as_deref()
                .map_or(0, |head| head.parse::<u64>().unwrap())
                + 1;
            let done = node.move_head(by(OPERATOR, 2), web.clone(), head, next.to_string());
            moved += usize::from(done.await.is_ok());
        }
    });
    futures::future::join_all(moves).await;
    let web = store.repo(repo_name("acme/web")).await.unwrap().unwrap();
    assert_eq!(web.head, Some((2 * EACH).to_string()));
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}
