use guildhall_core::LaneRole;
use guildhall_store::{
    Asks as _, Error, Events as _, LaneState, Lanes as _, NewAsk, NewLane, OWN_LANE, Position,
    Repos as _, Store,
};

use crate::lane_world::{
    ANN, ANN_A, BOB, EVE, OUT, REPO, is_invalid, is_not_allowed, new_ask, new_lane, on_lane,
    propose, with_people,
};
use crate::world::{OPERATOR, World, by, name, repo_name};

async fn people(store: &Store, lane: &str) -> (Vec<String>, Vec<String>) {
    let lane = store.lane(repo_name(REPO), lane.to_owned()).await;
    let lane = lane.unwrap().unwrap();
    let names = |people: Vec<guildhall_core::Principal>| {
        people
            .iter()
            .map(|user| user.name().to_owned())
            .collect::<Vec<_>>()
    };
    (names(lane.coordinators), names(lane.maintainers))
}

pub(super) async fn every_repo_has_its_own_lane(world: &World) {
    let store = with_people(world).await;
    let own = store.lane(repo_name(REPO), OWN_LANE.to_owned()).await;
    let own = own.unwrap().unwrap();
    assert_eq!(own.state, LaneState::Open);
    let both = vec![BOB.to_owned(), OPERATOR.to_owned()];
    assert_eq!(people(&store, OWN_LANE).await, (both.clone(), both));
    let close = store.close_lane(by(BOB, 2), repo_name(REPO), OWN_LANE.to_owned());
    is_invalid(close.await, "stays open");
    let removed = store.remove_repo(by(OPERATOR, 3), repo_name(REPO));
    removed.await.unwrap();
    let own = store.lane(repo_name(REPO), OWN_LANE.to_owned()).await;
    assert_eq!(own.unwrap(), None);
}

pub(super) async fn a_proposer_coordinates_and_only_an_owner_in_person_names_maintainers(
    world: &World,
) {
    let store = with_people(world).await;
    let lane = propose(&store, ANN_A, "Search").await;
    assert_eq!(lane.proposer, name(ANN_A));
    assert_eq!(lane.coordinators, [name(ANN)]);
    assert_eq!(lane.maintainers, [name(BOB), name(OPERATOR)]);
    assert_eq!(lane.id.len(), "lane-".len() + 10);
    for who in [EVE, OUT] {
        is_not_allowed(store.propose_lane(by(who, 5), new_lane("x")).await);
    }
    let with_maintainers = |maintainer: &str| NewLane {
        maintainers: vec![name(maintainer)],
        ..new_lane("x")
    };
    for who in [ANN, ANN_A, BOB, "owner@example.com[claude]"] {
        let named = store.propose_lane(by(who, 5), with_maintainers(ANN)).await;
        is_not_allowed(named);
    }
    let named = store.propose_lane(by(OPERATOR, 5), with_maintainers(ANN_A));
    let named = named.await.unwrap();
    assert_eq!(named.maintainers, [name(ANN), name(BOB), name(OPERATOR)]);
    // Whoever coordinates can submit: a contributor cannot make a reader one.
    for (other, allowed) in [(BOB, true), (EVE, false)] {
        let lane = NewLane {
            coordinators: vec![name(other)],
            ..new_lane("x")
        };
        let proposed = store.propose_lane(by(ANN, 5), lane).await;
        assert_eq!(proposed.is_ok(), allowed, "{other}");
    }
    for title in ["", "  ", &"x".repeat(501)] {
        let refused = store.propose_lane(by(ANN, 5), new_lane(title)).await;
        assert!(
            matches!(refused, Err(Error::Invalid(_) | Error::TooLarge(_))),
            "{title:?}"
        );
    }
}

pub(super) async fn a_coordinator_relates_and_closes(world: &World) {
    let store = with_people(world).await;
    let (lane, child) = (
        propose(&store, ANN, "Search").await,
        propose(&store, BOB, "Index").await,
    );
    let relate = |who, related: &str| {
        store.relate_lane(
            by(who, 6),
            repo_name(REPO),
            lane.id.clone(),
            related.to_owned(),
        )
    };
    // Not even an owner of the repo, unless they coordinate this lane.
    for who in [BOB, OPERATOR, EVE] {
        is_not_allowed(relate(who, &child.id).await);
    }
    for _ in 0..2 {
        let related = relate(ANN_A, &child.id).await.unwrap();
        assert_eq!(related.related, [child.id.as_str()]);
    }
    is_invalid(relate(ANN, &lane.id).await, "itself");
    let missing = relate(ANN, "lane-ffffffffff").await;
    assert!(matches!(missing, Err(Error::Missing { .. })));
    let close = |who| store.close_lane(by(who, 7), repo_name(REPO), lane.id.clone());
    is_not_allowed(close(BOB).await);
    for _ in 0..2 {
        assert_eq!(close(ANN).await.unwrap().state, LaneState::Closed);
    }
    let history = store.lane_history(repo_name(REPO), lane.id.clone(), Position::default(), 10);
    let kinds: Vec<_> = history
        .await
        .unwrap()
        .into_iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(kinds, ["lane.proposed", "lane.related", "lane.closed"]);
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}

pub(super) async fn an_owner_in_person_allows_self_review(world: &World) {
    let store = with_people(world).await;
    let lane = propose(&store, ANN, "Search").await;
    on_lane(&store, &lane.id, ANN, LaneRole::Maintainer).await;
    let allow =
        |who, allow| store.allow_self_review(by(who, 6), repo_name(REPO), lane.id.clone(), allow);
    for who in [ANN, ANN_A, BOB, "owner@example.com[claude]", EVE] {
        is_not_allowed(allow(who, true).await);
    }
    assert!(allow(OPERATOR, true).await.unwrap().allow_self_review);
    assert!(!allow(OPERATOR, false).await.unwrap().allow_self_review);
}

pub(super) async fn a_person_has_so_many_open_lanes(world: &World) {
    let store = with_people(world).await;
    let small = |title: &str| NewLane {
        most_open: 2,
        ..new_lane(title)
    };
    let first = store.propose_lane(by(ANN_A, 5), small("1")).await.unwrap();
    store.propose_lane(by(ANN, 5), small("2")).await.unwrap();
    let third = store.propose_lane(by(ANN, 5), small("3")).await;
    assert!(
        matches!(&third, Err(Error::TooMany(message)) if message.starts_with("`ann@example.com` has 2 open lanes")),
        "{third:?}"
    );
    // Nobody else is held up, and a closed one makes room.
    store.propose_lane(by(BOB, 5), small("4")).await.unwrap();
    let closed = store.close_lane(by(ANN, 6), repo_name(REPO), first.id);
    closed.await.unwrap();
    store.propose_lane(by(ANN, 7), small("5")).await.unwrap();
}

pub(super) async fn lanes_come_in_pages_with_their_people(world: &World) {
    let store = with_people(world).await;
    for n in 0..5 {
        propose(&store, if n % 2 == 0 { ANN } else { BOB }, &n.to_string()).await;
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = store.lanes(repo_name(REPO), after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        seen.extend(page);
    }
    assert_eq!(seen.len(), 6);
    assert_eq!(seen[0].id, OWN_LANE);
    for lane in &seen[1..] {
        let coordinator = if lane.title.parse::<u8>().unwrap() % 2 == 0 {
            ANN
        } else {
            BOB
        };
        assert_eq!(lane.coordinators, [name(coordinator)], "{}", lane.title);
    }
    let whole = store.lanes(repo_name(REPO), None, 100).await.unwrap();
    assert_eq!(whole, seen);
    // The lane that an ask is posted to must be there.
    let nowhere = NewAsk {
        lane: "lane-ffffffffff".to_owned(),
        ..new_ask("work", "x")
    };
    let nowhere = store.post_ask(by(ANN, 8), nowhere).await;
    assert!(matches!(nowhere, Err(Error::Missing { what: "lane", .. })));
}
