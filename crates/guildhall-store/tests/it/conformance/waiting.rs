use guildhall_store::{Repos as _, Stream};

use crate::world::{OPERATOR, World, add_repo, by, repo_name, with_operator};

pub(super) async fn a_change_wakes_who_waits_for_it(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let web = repo_name("acme/web");
    // Made before the change and waited on after it: nothing is missed in between.
    let mut waiter = store.waiter(&Stream::repo(&web));
    let mut any = store.waiter_of_all();
    let mut other = store.waiter(&Stream::repo(&repo_name("acme/api")));
    let moved = store.move_head(by(OPERATOR, 2), web, None, "c1".to_owned());
    moved.await.unwrap();
    // The one that waits for another stream has only its second: it ends last.
    tokio::select! {
        biased;
        () = other.changed() => panic!("woken by another stream"),
        () = waiter.changed() => {}
    }
    tokio::select! {
        biased;
        () = other.changed() => panic!("woken by another stream"),
        () = any.changed() => {}
    }
}

pub(super) async fn a_waiter_looks_every_second(world: &World) {
    let store = with_operator(world).await;
    let mut waiter = store.waiter_of_all();
    waiter.changed().await;
    waiter.changed().await;
}
