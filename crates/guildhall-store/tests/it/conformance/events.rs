use std::collections::BTreeMap;

use guildhall_store::{
    Error, Event, Events as _, Finding, NewToken, Position, Principals as _, Repos as _, Seal,
    Store, Stream, Tokens as _, Verified,
};

use crate::world::{OPERATOR, World, add_repo, add_user, at, by, name, repo_name, with_operator};

pub(super) async fn whole_feed(world: &World, store: &Store) -> Vec<Event> {
    world.settle().await;
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map(|event| event.position);
        let page = store.feed(after.unwrap_or_default(), 7).await.unwrap();
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

async fn seal_log(world: &World, store: &Store, seconds: i64) -> Option<Seal> {
    world.settle().await;
    store.seal(at(seconds)).await.unwrap()
}

/// A store with a sealed log: two streams of a few events each.
async fn sealed(world: &World) -> (Store, Seal) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let mut head = None;
    for commit in ["c1", "c2", "c3"] {
        let moved = store.move_head(
            by(OPERATOR, 2),
            repo_name("acme/web"),
            head,
            commit.to_owned(),
        );
        head = moved.await.unwrap().head;
    }
    let seal = seal_log(world, &store, 3).await.unwrap();
    (store, seal)
}

async fn findings(store: &Store) -> Vec<Finding> {
    store.verify(None).await.unwrap().findings
}

fn web() -> String {
    Stream::repo(&repo_name("acme/web")).name().to_owned()
}

pub(super) async fn every_change_writes_its_event(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, "ann@example.com").await;
    let token = NewToken {
        id: "tok-1".to_owned(),
        hash: [1; 32],
        principal: name("ann@example.com"),
        expires_at: None,
        repos: None,
        tools: None,
        bound: None,
    };
    store.issue(by("ann@example.com", 5), token).await.unwrap();
    add_repo(&store, "acme/web", true).await;
    let events = whole_feed(world, &store).await;
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.kind.as_str(), event.actor.as_str(), event.seq))
        .collect();
    assert_eq!(
        told,
        [
            ("principal.added", OPERATOR, 1),
            ("principal.added", OPERATOR, 1),
            ("token.issued", "ann@example.com", 2),
            ("repo.added", OPERATOR, 1),
        ]
    );
    assert_eq!(events[2].at, at(5));
    assert_eq!(events[2].data["token"], "tok-1");
    assert_eq!(events[3].about.repo.as_deref(), Some("acme/web"));
    // What happens twice is told once.
    store
        .disable(by(OPERATOR, 6), name("ann@example.com"))
        .await
        .unwrap();
    store
        .disable(by(OPERATOR, 7), name("ann@example.com"))
        .await
        .unwrap();
    assert_eq!(whole_feed(world, &store).await.len(), 5);
}

pub(super) async fn a_refused_change_writes_none(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let before = whole_feed(world, &store).await;
    let wrong = Some("c9".to_owned());
    let moved = store.move_head(
        by(OPERATOR, 2),
        repo_name("acme/web"),
        wrong,
        "c1".to_owned(),
    );
    assert!(moved.await.is_err());
    // Beside changes that go through, in one group.
    let tries = ["ann@example.com", "ann@example.com[x]", "bob@example.com"]
        .map(|user| store.add_user(by(OPERATOR, 3), name(user)));
    let outcomes = futures::future::join_all(tries).await;
    assert_eq!(
        outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_eq!(whole_feed(world, &store).await.len(), before.len() + 2);
    assert_eq!(findings(&store).await, []);
}

pub(super) async fn the_feed_goes_on_where_it_was_left(world: &World) {
    let store = with_operator(world).await;
    assert_eq!(store.feed(Position::default(), 0).await.unwrap(), []);
    world.settle().await;
    let end = store.feed_end().await.unwrap();
    assert_eq!(store.feed(end, 10).await.unwrap(), []);
    add_user(&store, "ann@example.com").await;
    add_user(&store, "bob@example.com").await;
    world.settle().await;
    let first = store.feed(end, 1).await.unwrap();
    assert_eq!(first[0].data["principal"], "ann@example.com");
    let second = store.feed(first[0].position, 10).await.unwrap();
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].data["principal"], "bob@example.com");
    assert_eq!(store.feed_end().await.unwrap(), second[0].position);
    drop(store);
    let again = world.open().await;
    world.settle().await;
    assert_eq!(again.feed(end, 10).await.unwrap().len(), 2);
}

pub(super) async fn many_writers_leave_a_whole_log_and_the_feed_misses_nothing(world: &World) {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    let store = with_operator(world).await;
    for writer in 0..WRITERS {
        add_repo(&store, &format!("acme/r{writer}"), false).await;
    }
    world.settle().await;
    let start = store.feed_end().await.unwrap();
    let write = |writer: usize| {
        let store = store.clone();
        async move {
            let mut head = None;
            for n in 0..EACH {
                let repo = repo_name(&format!("acme/r{writer}"));
                let moved = store.move_head(by(OPERATOR, 2), repo, head, format!("c{n}"));
                head = moved.await.unwrap().head;
            }
        }
    };
    let writers: Vec<_> = (0..WRITERS).map(|n| tokio::spawn(write(n))).collect();
    // Read along while they write, never going back.
    let mut seen: BTreeMap<String, i64> = BTreeMap::new();
    let (mut position, mut count) = (start, 0);
    let mut waiter = store.waiter_of_all();
    while count < WRITERS * EACH {
        let page = store.feed(position, 50).await.unwrap();
        if page.is_empty() {
            waiter.changed().await;
        }
        for event in page {
            assert!(event.position > position);
            position = event.position;
            let before = seen.insert(event.stream, event.seq);
            // Each repo's own first event lies before the start.
            assert_eq!(event.seq, before.unwrap_or(1) + 1);
            count += 1;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(store.feed(position, 50).await.unwrap(), []);
    seal_log(world, &store, 3).await.unwrap();
    assert_eq!(findings(&store).await, []);
}

pub(super) async fn a_log_nobody_touched_verifies(world: &World) {
    let (store, seal) = sealed(world).await;
    assert_eq!(seal_log(world, &store, 4).await, None);
    add_user(&store, "ann@example.com").await;
    let found = store.verify(Some(seal)).await.unwrap();
    let whole = Verified {
        events: 6,
        streams: 3,
        head: Some(seal),
        unsealed: 1,
        findings: Vec::new(),
    };
    assert_eq!(found, whole);
    let second = seal_log(world, &store, 5).await.unwrap();
    assert_eq!(second.number, 2);
    let found = store.verify(Some(seal)).await.unwrap();
    assert_eq!((found.head, found.unsealed), (Some(second), 0));
    assert_eq!(found.findings, []);
}

pub(super) async fn an_edited_row_is_found(world: &World) {
    for edit in [
        "UPDATE events SET data = '{\"from\":\"c1\",\"to\":\"cX\"}' WHERE kind = 'repo.head_moved' AND seq = 3",
        "UPDATE events SET actor = 'eve@example.com' WHERE stream = 'repo:acme/web' AND seq = 3",
        "UPDATE events SET at = at + 1 WHERE stream = 'repo:acme/web' AND seq = 3",
        "UPDATE events SET kind = 'repo.added' WHERE stream = 'repo:acme/web' AND seq = 3",
        "UPDATE events SET repo = NULL WHERE stream = 'repo:acme/web' AND seq = 3",
        "UPDATE events SET run = '' WHERE stream = 'repo:acme/web' AND seq = 3",
    ] {
        let (store, _) = sealed(world).await;
        assert_eq!(world.tamper(edit).await, 1, "{edit}");
        let event = Finding::Event {
            stream: web(),
            seq: 3,
        };
        assert_eq!(findings(&store).await, [event], "{edit}");
        forget(world, store).await;
    }
}

/// Empties the log and what it is about, for the next round of a test.
async fn forget(world: &World, store: Store) {
    store.close().await;
    for table in [
        "DELETE FROM repos",
        "DELETE FROM principals",
        "DELETE FROM events",
        "DELETE FROM seals",
        "DELETE FROM streams",
    ] {
        world.tamper(table).await;
    }
}

pub(super) async fn an_edited_chain_is_found(world: &World) {
    let (store, _) = sealed(world).await;
    // The last event of the stream with a hash that is right for what it now says would need the seal too.
    let edit = "UPDATE events SET hash = (SELECT hash FROM streams WHERE stream <> 'repo:acme/web' LIMIT 1)
        WHERE stream = 'repo:acme/web' AND seq = 4";
    assert_eq!(world.tamper(edit).await, 1);
    let found = findings(&store).await;
    assert!(found.contains(&Finding::Seal { number: 1 }), "{found:?}");
    assert!(
        found.contains(&Finding::Event {
            stream: web(),
            seq: 4
        }),
        "{found:?}"
    );
}

pub(super) async fn a_dropped_row_is_found(world: &World) {
    let (store, _) = sealed(world).await;
    let drop = "DELETE FROM events WHERE stream = 'repo:acme/web' AND seq = 2";
    assert_eq!(world.tamper(drop).await, 1);
    let gap = Finding::Gap {
        stream: web(),
        seq: 3,
    };
    assert_eq!(findings(&store).await, [gap, Finding::Seal { number: 1 }]);
}

pub(super) async fn a_dropped_end_is_found(world: &World) {
    let (store, _) = sealed(world).await;
    let drop = "DELETE FROM events WHERE stream = 'repo:acme/web' AND seq = 4";
    assert_eq!(world.tamper(drop).await, 1);
    let gap = Finding::Gap {
        stream: web(),
        seq: 4,
    };
    let found = findings(&store).await;
    assert_eq!(found, [gap, Finding::Seal { number: 1 }]);
    // Even where the stream's row was made to match.
    let cover = "UPDATE streams SET length = 3,
        hash = (SELECT hash FROM events WHERE stream = 'repo:acme/web' AND seq = 3)
        WHERE stream = 'repo:acme/web'";
    assert_eq!(world.tamper(cover).await, 1);
    assert_eq!(findings(&store).await, [Finding::Seal { number: 1 }]);
}

pub(super) async fn a_dropped_stream_is_found(world: &World) {
    let (store, _) = sealed(world).await;
    let drop = "DELETE FROM events WHERE stream = 'repo:acme/web'";
    assert_eq!(world.tamper(drop).await, 4);
    let gap = Finding::Gap {
        stream: web(),
        seq: 5,
    };
    assert_eq!(findings(&store).await, [gap, Finding::Seal { number: 1 }]);
    assert_eq!(
        world
            .tamper("DELETE FROM streams WHERE stream = 'repo:acme/web'")
            .await,
        1
    );
    assert_eq!(findings(&store).await, [Finding::Seal { number: 1 }]);
}

pub(super) async fn reordered_rows_are_found(world: &World) {
    let (store, _) = sealed(world).await;
    // Two events of one stream change places in it.
    for swap in [
        "UPDATE events SET seq = -2 WHERE stream = 'repo:acme/web' AND seq = 2",
        "UPDATE events SET seq = 2 WHERE stream = 'repo:acme/web' AND seq = 3",
        "UPDATE events SET seq = 3 WHERE stream = 'repo:acme/web' AND seq = -2",
    ] {
        assert_eq!(world.tamper(swap).await, 1);
    }
    let found = findings(&store).await;
    assert!(
        found.contains(&Finding::Event {
            stream: web(),
            seq: 2
        }),
        "{found:?}"
    );
    forget(world, store).await;

    // Two events of different streams change places in the log.
    let (store, _) = sealed(world).await;
    let swaps = match world {
        World::Sqlite(_) => [
            "UPDATE events SET id = -1 WHERE stream = 'repo:acme/web' AND seq = 1",
            "UPDATE events SET id = id + 1 WHERE stream LIKE 'principal:%'",
            "UPDATE events SET id = (SELECT min(id) - 1 FROM events WHERE id > 0) WHERE id = -1",
        ],
        World::Postgres(_) => [
            "UPDATE events SET tx = -1 WHERE stream = 'repo:acme/web' AND seq = 1",
            "UPDATE events SET tx = tx WHERE stream LIKE 'principal:%'",
            "UPDATE events SET tx = (SELECT min(tx) - 1 FROM events WHERE tx > 0) WHERE tx = -1",
        ],
    };
    for swap in swaps {
        assert_eq!(world.tamper(swap).await, 1, "{swap}");
    }
    assert_eq!(findings(&store).await, [Finding::Seal { number: 1 }]);
}

pub(super) async fn a_dropped_seal_is_found(world: &World) {
    let (store, _) = sealed(world).await;
    add_user(&store, "ann@example.com").await;
    seal_log(world, &store, 5).await.unwrap();
    assert_eq!(world.tamper("DELETE FROM seals WHERE number = 1").await, 1);
    let found = findings(&store).await;
    assert!(found.contains(&Finding::NoSeal { number: 1 }), "{found:?}");
}

pub(super) async fn a_rewritten_log_is_found_by_its_anchor(world: &World) {
    let (store, seal) = sealed(world).await;
    forget(world, store).await;
    let (store, _) = sealed(world).await;
    // Times and content are the same in both, so it is the same log.
    assert_eq!(store.verify(Some(seal)).await.unwrap().findings, []);
    forget(world, store).await;

    let store = with_operator(world).await;
    add_repo(&store, "acme/api", false).await;
    seal_log(world, &store, 3).await.unwrap();
    assert_eq!(findings(&store).await, []);
    let held = store.verify(Some(seal)).await.unwrap().findings;
    assert_eq!(held, [Finding::Anchor { number: 1 }]);
}

pub(super) async fn two_nodes_seal_one_chain(world: &World) {
    let store = with_operator(world).await;
    let second = match world {
        World::Sqlite(_) => store.clone(),
        World::Postgres(_) => world.open().await,
    };
    for round in 0..10 {
        add_user(&store, &format!("u{round}@example.com")).await;
        world.settle().await;
        let seals = futures::future::join_all([store.seal(at(2)), second.seal(at(2))]).await;
        let made = seals.into_iter().filter_map(Result::unwrap).count();
        assert!(made <= 1, "{made} seals over the same events");
        seal_log(world, &store, 2).await;
    }
    let found = second.verify(None).await.unwrap();
    assert_eq!((found.unsealed, found.findings), (0, Vec::new()));
    assert_eq!(found.head.unwrap().number, 10);
}

pub(super) async fn text_with_a_zero_character_is_refused(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let zero = store.move_head(
        by(OPERATOR, 2),
        repo_name("acme/web"),
        None,
        "c\0".to_owned(),
    );
    assert!(matches!(zero.await, Err(Error::Invalid(_))));
}
