use guildhall_core::{LaneRole, RepoRole};
use guildhall_store::{
    Act, Ask, AskFilter, AskScope, AskState, Asks as _, Error, Events as _, Held, LEASE,
    Lanes as _, NewAsk, OWN_LANE, Once, Role, Roles as _, Store, Stream, Verdict,
};
use jiff::SignedDuration;

use crate::lane_world::{
    ANN, ANN_A, ANN_B, BOB, BOB_A, EVE, OUT, REPO, answering, asked, claim, done, fresh, held,
    is_conflict, is_invalid, is_not_allowed, made, new_ask, next, on_lane, post, propose,
    with_people, work,
};
use crate::world::{OPERATOR, World, at, by, name, repo_name};

/// A lease that is over at once.
const SHORT: SignedDuration = SignedDuration::from_millis(1);

async fn claim_shortly(store: &Store, who: &str, ask: &str) -> Ask {
    let claimed = store.claim_ask(by(who, 20), asked(ask), SHORT).await;
    claimed.unwrap()
}

/// Claims what is held under a short lease, once that is over by the database's clock.
async fn claim_after(store: &Store, who: &str, ask: &str) -> Ask {
    loop {
        match claim(store, who, ask, 1000).await {
            Ok(ask) => return ask,
            Err(Error::Conflict(message)) => assert!(message.contains("is held by"), "{message}"),
            Err(error) => panic!("{error}"),
        }
    }
}

async fn titles(store: &Store, who: &str, lane: &str) -> Vec<String> {
    let claimable = store.claimable(name(who), at(30), repo_name(REPO), lane.to_owned(), 10);
    let claimable = claimable.await.unwrap();
    claimable.asks.into_iter().map(|ask| ask.title).collect()
}

async fn kinds(store: &Store, ask: &str) -> Vec<String> {
    let stream = Stream::ask(&repo_name(REPO), ask);
    let events = store.of_stream(&stream, 0, 100).await.unwrap();
    events.into_iter().map(|event| event.kind).collect()
}

pub(super) async fn one_of_many_claims_wins_and_the_fence_rises(world: &World) {
    let store = with_people(world).await;
    let ask = work(&store, "Search").await;
    assert_eq!((ask.state, ask.fence), (AskState::Open, 0));
    for round in 1..=3 {
        let tries = (0..16).map(|_| claim(&store, ANN_A, &ask.id, 20));
        let outcomes = futures::future::join_all(tries).await;
        let won: Vec<_> = outcomes.iter().flatten().collect();
        assert_eq!(won.len(), 1, "round {round}");
        assert_eq!(won[0].claim.as_ref().unwrap().fence, round);
        for lost in outcomes.into_iter().filter(Result::is_err) {
            is_conflict(lost, "is held by `ann@example.com[a]`");
        }
        store
            .release_ask(by(ANN_A, 21), held(&ask.id))
            .await
            .unwrap();
    }
    assert_eq!(kinds(&store, &ask.id).await.len(), 1 + 2 * 3);
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}

pub(super) async fn a_lease_that_ran_out_lets_others_claim(world: &World) {
    let store = with_people(world).await;
    let ask = work(&store, "Search").await;
    let first = claim_shortly(&store, ANN_A, &ask.id).await.claim.unwrap();
    assert_eq!(first.expires_at.duration_since(first.at), SHORT);
    let second = claim_after(&store, BOB, &ask.id).await.claim.unwrap();
    assert_eq!(second.fence, 2);
    assert!(second.at >= first.expires_at);
    assert_eq!(second.expires_at.duration_since(second.at), LEASE);
    is_conflict(claim(&store, ANN_A, &ask.id, 1001).await, "is held by");
}

pub(super) async fn a_late_holder_is_refused_by_the_fence(world: &World) {
    let store = with_people(world).await;
    let ask = post(&store, new_ask("triage", "Sort")).await;
    claim_shortly(&store, ANN_A, &ask.id).await;
    claim_after(&store, BOB, &ask.id).await;
    let before = store.ask(repo_name(REPO), ask.id.clone()).await.unwrap();
    let late = Held {
        fence: Some(1),
        ..held(&ask.id)
    };
    is_conflict(
        store
            .answer_ask(by(ANN_A, 1002), answering(&ask.id, Verdict::Complete))
            .await,
        "is held by `bob@example.com` (fence 2), not by `ann@example.com[a]`",
    );
    is_conflict(
        store.release_ask(by(ANN_A, 1002), late.clone()).await,
        "held",
    );
    is_conflict(
        store.renew_ask(by(ANN_A, 1002), late.clone(), LEASE).await,
        "held",
    );
    // Two runs under one name are told apart by the fence.
    is_conflict(
        store.renew_ask(by(BOB, 1002), late, LEASE).await,
        "The fence 1",
    );
    let after = store.ask(repo_name(REPO), ask.id.clone()).await.unwrap();
    assert_eq!(after, before);
    assert_eq!(kinds(&store, &ask.id).await.len(), 3);
}

pub(super) async fn an_expired_claim_nobody_replaced_still_answers(world: &World) {
    let store = with_people(world).await;
    for late in ["answer", "renew", "release"] {
        let ask = post(&store, new_ask("triage", late)).await;
        claim_shortly(&store, ANN_A, &ask.id).await;
        assert_eq!(
            expired(&store, &ask.id).await,
            late,
            "others see it as claimable"
        );
        match late {
            "answer" => {
                let given = answering(&ask.id, Verdict::Complete);
                let answered = store.answer_ask(by(ANN_A, 1000), given).await.unwrap();
                assert_eq!(answered.answer.unwrap().by, name(ANN_A));
            }
            "renew" => {
                let renewed = store.renew_ask(by(ANN_A, 1000), held(&ask.id), LEASE);
                assert_eq!(renewed.await.unwrap().claim.unwrap().fence, 1);
                is_conflict(claim(&store, BOB, &ask.id, 1001).await, "held");
            }
            _ => {
                let released = store.release_ask(by(ANN_A, 1000), held(&ask.id));
                assert_eq!(released.await.unwrap().state, AskState::Open);
            }
        }
    }
}

/// Waits until the lease of `ask` is over, as whoever may claim it sees it; gives its title.
async fn expired(store: &Store, ask: &str) -> String {
    loop {
        let lane = OWN_LANE.to_owned();
        let claimable = store.claimable(name(BOB), at(500), repo_name(REPO), lane, 100);
        let found = claimable.await.unwrap().asks;
        if let Some(found) = found.into_iter().find(|found| found.id == ask) {
            return found.title;
        }
    }
}

pub(super) async fn a_claim_is_renewed_and_given_up_by_its_holder_alone(world: &World) {
    let store = with_people(world).await;
    let ask = work(&store, "Search").await;
    let not_claimed = store.release_ask(by(ANN, 20), held(&ask.id)).await;
    is_conflict(not_claimed, "is not claimed");
    let first = claim(&store, ANN_A, &ask.id, 20).await.unwrap();
    for other in [ANN, ANN_B, BOB, OUT] {
        is_conflict(
            store.release_ask(by(other, 21), held(&ask.id)).await,
            "held",
        );
        is_conflict(
            store.renew_ask(by(other, 21), held(&ask.id), LEASE).await,
            "held",
        );
    }
    let holds = store.held_asks(name(ANN_A), repo_name(REPO), 10).await;
    assert_eq!(holds.unwrap(), std::slice::from_ref(&first));
    let holds = store.held_asks(name(ANN), repo_name(REPO), 10).await;
    assert_eq!(holds.unwrap(), []);
    let renewed = store.renew_ask(by(ANN_A, 60), held(&ask.id), LEASE);
    let renewed = renewed.await.unwrap().claim.unwrap();
    let first = first.claim.unwrap();
    assert!(renewed.expires_at >= first.expires_at);
    assert_eq!((renewed.fence, renewed.at), (first.fence, first.at));
    let elsewhere = Held {
        ask: guildhall_store::AskRef {
            lane: Some("lane-0000000000".to_owned()),
            ..asked(&ask.id)
        },
        fence: None,
    };
    is_invalid(
        store.release_ask(by(ANN_A, 61), elsewhere).await,
        "is in the lane `_repo`",
    );
    store
        .release_ask(by(ANN_A, 61), held(&ask.id))
        .await
        .unwrap();
    assert_eq!(
        kinds(&store, &ask.id).await,
        ["ask.posted", "ask.claimed", "ask.renewed", "ask.released"]
    );
}

pub(super) async fn scopes_hold_at_claim_and_at_answer(world: &World) {
    let store = with_people(world).await;
    let lane = propose(&store, ANN, "Search").await;
    let in_lane = |kind: &str, scope: Option<AskScope>| NewAsk {
        lane: lane.id.clone(),
        scope,
        ..new_ask(kind, kind)
    };
    // Who may claim: a reader, a contributor who coordinates, a maintainer of the repo, a stranger.
    for (kind, scope, may) in [
        ("work", None, [false, true, true, false]),
        ("write_rung", None, [false, true, false, false]),
        ("triage", None, [false, true, true, false]),
        (
            "triage",
            Some(AskScope::Maintainer),
            [false, false, true, false],
        ),
        (
            "triage",
            Some(AskScope::Coordinator),
            [false, true, false, false],
        ),
    ] {
        for (who, may) in [EVE, ANN_A, BOB, OUT].into_iter().zip(may) {
            let ask = post(&store, in_lane(kind, scope)).await;
            let claimed = claim(&store, who, &ask.id, 20).await;
            assert_eq!(claimed.is_ok(), may, "{who} {kind} {scope:?}: {claimed:?}");
            if !may {
                is_not_allowed(claimed);
                assert_eq!(kinds(&store, &ask.id).await, ["ask.posted"]);
            }
        }
    }
    // The scope is looked at again when the answer comes.
    on_lane(&store, &lane.id, ANN, LaneRole::Maintainer).await;
    let ask = post(&store, in_lane("triage", Some(AskScope::Maintainer))).await;
    claim(&store, ANN_B, &ask.id, 20).await.unwrap();
    let role = Role::Lane {
        lane: lane.id.clone(),
        role: LaneRole::Maintainer,
    };
    let withdrawn = store.withdraw(by(OPERATOR, 21), repo_name(REPO), name(ANN), role);
    withdrawn.await.unwrap();
    let given = answering(&ask.id, Verdict::Complete);
    is_not_allowed(store.answer_ask(by(ANN_B, 22), given).await);
    is_not_allowed(store.post_ask(by(EVE, 10), new_ask("work", "x")).await);
    is_not_allowed(store.post_ask(by(OUT, 10), new_ask("work", "x")).await);
}

fn after(ids: &[&Ask]) -> NewAsk {
    NewAsk {
        depends_on: ids.iter().map(|ask| ask.id.clone()).collect(),
        ..new_ask("triage", "after")
    }
}

pub(super) async fn an_ask_waits_for_what_it_depends_on(world: &World) {
    let store = with_people(world).await;
    let (first, second) = (
        post(&store, new_ask("triage", "first")).await,
        post(&store, new_ask("triage", "second")).await,
    );
    let last = post(&store, after(&[&first, &second, &first])).await;
    assert_eq!((last.waits_for, last.blocked), (2, false));
    assert_eq!(last.depends_on, [first.id.as_str(), second.id.as_str()]);
    let refused = claim(&store, ANN, &last.id, 20).await;
    is_conflict(refused, &format!("`{}`, which is open", first.id));
    done(&store, ANN, &first.id, Verdict::Complete)
        .await
        .unwrap();
    claim(&store, ANN, &second.id, 20).await.unwrap();
    let refused = claim(&store, ANN, &last.id, 20).await;
    is_conflict(
        refused,
        &format!("depends on `{}`, which is claimed", second.id),
    );
    assert_eq!(titles(&store, ANN, OWN_LANE).await, [""; 0]);
    let given = answering(&second.id, Verdict::Complete);
    store.answer_ask(by(ANN, 22), given).await.unwrap();
    assert_eq!(titles(&store, ANN, OWN_LANE).await, ["after"]);
    claim(&store, ANN, &last.id, 23).await.unwrap();
    // One that depends on what is answered already waits for nothing.
    assert_eq!(post(&store, after(&[&first])).await.waits_for, 0);
    let unknown = NewAsk {
        depends_on: vec!["ask-ffffffffff".to_owned()],
        ..new_ask("work", "x")
    };
    let unknown = store.post_ask(by(ANN, 24), unknown).await;
    assert!(matches!(unknown, Err(Error::Missing { what: "ask", .. })));
    // However answers and posts meet, no dependent is left waiting.
    for _ in 0..4 {
        let needed = post(&store, new_ask("triage", "needed")).await;
        claim(&store, ANN, &needed.id, 20).await.unwrap();
        let posts = (0..6).map(|_| store.post_ask(by(ANN, 25), after(&[&needed])));
        let given = answering(&needed.id, Verdict::Complete);
        let (posted, answered) = tokio::join!(
            futures::future::join_all(posts),
            store.answer_ask(by(ANN, 25), given)
        );
        answered.unwrap();
        for ask in posted {
            let id = ask.unwrap().id;
            let ask = store.ask(repo_name(REPO), id).await.unwrap().unwrap();
            assert_eq!(ask.waits_for, 0);
        }
    }
}

pub(super) async fn a_denied_dependency_blocks(world: &World) {
    let store = with_people(world).await;
    let needed = post(&store, new_ask("triage", "needed")).await;
    let before = post(&store, after(&[&needed])).await;
    done(&store, ANN, &needed.id, Verdict::Deny).await.unwrap();
    let later = post(&store, after(&[&needed])).await;
    for ask in [before, later] {
        let ask = store.ask(repo_name(REPO), ask.id).await.unwrap().unwrap();
        assert!(ask.blocked, "{}", ask.title);
        is_conflict(claim(&store, ANN, &ask.id, 30).await, "which is denied");
    }
    assert_eq!(titles(&store, ANN, OWN_LANE).await, [""; 0]);
}

pub(super) async fn circles_are_refused(world: &World) {
    let store = with_people(world).await;
    let first = post(&store, new_ask("triage", "a")).await;
    let second = post(&store, after(&[&first])).await;
    let third = post(&store, after(&[&second])).await;
    let depend =
        |ask: &Ask, needs: &Ask| store.depend(by(ANN, 30), asked(&ask.id), needs.id.clone());
    for (ask, needs) in [
        (&first, &third),
        (&first, &second),
        (&first, &first),
        (&second, &third),
    ] {
        is_invalid(depend(ask, needs).await, "circle");
    }
    let apart = post(&store, new_ask("triage", "d")).await;
    assert_eq!(depend(&first, &apart).await.unwrap().waits_for, 1);
    assert_eq!(depend(&first, &apart).await.unwrap().waits_for, 1);
    is_invalid(depend(&apart, &third).await, "circle");
    is_conflict(claim(&store, ANN, &first.id, 31).await, &apart.id);
    is_not_allowed(
        store
            .depend(by(EVE, 30), asked(&apart.id), first.id.clone())
            .await,
    );
    // Two edges that close a circle together: one of them is there in the end, whoever was first.
    for _ in 0..4 {
        let (one, other) = (
            post(&store, new_ask("triage", "x")).await,
            post(&store, new_ask("triage", "y")).await,
        );
        let (there, back) = tokio::join!(depend(&one, &other), depend(&other, &one));
        assert_eq!(usize::from(there.is_ok()) + usize::from(back.is_ok()), 1);
    }
}

pub(super) async fn thousands_of_edges_take_bounded_time(world: &World) {
    // A ladder of layers, each ask after all of the layer below: walked path by path, it would take for ever.
    const WIDE: usize = 50;
    const LAYERS: usize = 3;
    let store = with_people(world).await;
    let mut below: Vec<Ask> = Vec::new();
    let mut first = None;
    for _ in 0..LAYERS {
        let mut layer = Vec::new();
        for _ in 0..WIDE {
            let new = after(&below.iter().collect::<Vec<_>>());
            layer.push(store.post_ask(by(ANN, 10), new).await.unwrap());
        }
        first.get_or_insert_with(|| layer[0].clone());
        below = layer;
    }
    let (first, last) = (first.unwrap(), below.pop().unwrap());
    assert_eq!(last.waits_for, i64::try_from(WIDE).unwrap());
    let circle = store.depend(by(ANN, 30), asked(&first.id), last.id.clone());
    is_invalid(circle.await, "circle");
    assert_eq!(titles(&store, ANN, OWN_LANE).await.len(), 10);
    is_conflict(claim(&store, ANN, &last.id, 31).await, "which is open");
    done(&store, ANN, &first.id, Verdict::Complete)
        .await
        .unwrap();
    let lane = AskFilter {
        state: Some(AskState::Open),
        kind: None,
    };
    let asks = store.asks_of_lane(repo_name(REPO), OWN_LANE.to_owned(), lane, None, 1000);
    let waiting: Vec<_> = asks
        .await
        .unwrap()
        .iter()
        .map(|ask| ask.waits_for)
        .collect();
    let wide = i64::try_from(WIDE).unwrap();
    assert_eq!(
        waiting.iter().filter(|waits| **waits == wide - 1).count(),
        WIDE
    );
    assert_eq!(waiting.iter().filter(|waits| **waits == wide).count(), WIDE);
}

pub(super) async fn the_best_ask_comes_first_with_who_touches_its_files(world: &World) {
    let store = with_people(world).await;
    let lane = OWN_LANE;
    for (title, priority, files) in [
        ("low", -1, vec![]),
        ("first", 0, vec!["src/a.rs", "src/b.rs"]),
        ("second", 0, vec!["src/b.rs"]),
        ("high", 5, vec!["src/a.rs"]),
    ] {
        let new = NewAsk {
            priority,
            files: files.into_iter().map(str::to_owned).collect(),
            ..new_ask("work", title)
        };
        let seconds = if title == "second" { 11 } else { 10 };
        store.post_ask(by(ANN, seconds), new).await.unwrap();
    }
    let hidden = NewAsk {
        scope: Some(AskScope::Maintainer),
        ..new_ask("triage", "for maintainers")
    };
    store.post_ask(by(ANN, 12), hidden).await.unwrap();
    assert_eq!(
        titles(&store, ANN, lane).await,
        ["high", "first", "second", "low"]
    );
    assert_eq!(
        titles(&store, BOB, lane).await,
        ["high", "first", "second", "for maintainers", "low"]
    );
    assert_eq!(titles(&store, EVE, lane).await, [""; 0]);
    let look = |limit| store.claimable(name(ANN), at(30), repo_name(REPO), lane.to_owned(), limit);
    let all = look(10).await.unwrap();
    assert!(!all.more);
    let overlaps = |n: usize| {
        let of_ask = all
            .overlaps
            .get(&all.asks[n].id)
            .cloned()
            .unwrap_or_default();
        let title = |id: &str| {
            all.asks
                .iter()
                .find(|ask| ask.id == id)
                .unwrap()
                .title
                .clone()
        };
        let mut named: Vec<_> = of_ask
            .iter()
            .map(|overlap| (title(&overlap.ask), overlap.files.join(" ")))
            .collect();
        named.sort();
        named
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(overlaps(0), [pair("first", "src/a.rs")]);
    assert_eq!(
        overlaps(1),
        [pair("high", "src/a.rs"), pair("second", "src/b.rs")]
    );
    assert_eq!(overlaps(3), []);
    let two = look(2).await.unwrap();
    assert_eq!((two.asks.len(), two.more), (2, true));
    // What is held is not claimable, and its files still are what others should know of.
    claim(&store, BOB, &all.asks[0].id, 20).await.unwrap();
    let rest = look(10).await.unwrap();
    assert_eq!(rest.asks[0].title, "first");
    let of_first = &rest.overlaps[&rest.asks[0].id];
    assert!(of_first.iter().any(|overlap| overlap.ask == all.asks[0].id));
}

pub(super) async fn files_that_everybody_touches_leave_every_ask_its_overlaps(world: &World) {
    let store = with_people(world).await;
    let files: Vec<String> = (0..40).map(|n| format!("src/{n:02}.rs")).collect();
    let posted = (0..60).map(|n| {
        let new = NewAsk {
            files: files.clone(),
            ..new_ask("work", &n.to_string())
        };
        store.post_ask(by(ANN, 10), new)
    });
    for posted in futures::future::join_all(posted).await {
        posted.unwrap();
    }
    // Touches one of them, and one that no other does.
    let new = NewAsk {
        files: vec!["docs/own.md".to_owned(), files[7].clone()],
        ..new_ask("work", "one")
    };
    let one = store.post_ask(by(ANN, 10), new).await.unwrap();
    let lane = OWN_LANE.to_owned();
    let found = store.claimable(name(ANN), at(30), repo_name(REPO), lane, 100);
    let found = found.await.unwrap();
    assert_eq!(found.asks.len(), 61);
    for ask in &found.asks {
        let overlaps = &found.overlaps[&ask.id];
        assert_eq!(overlaps.len(), 10, "{}", ask.title);
        assert!(overlaps.iter().all(|overlap| overlap.ask != ask.id));
        let shared: Vec<_> = overlaps.iter().map(|overlap| overlap.files.len()).collect();
        assert!(shared.is_sorted_by(|a, b| a >= b), "{shared:?}");
    }
    let of_one = &found.overlaps[&one.id];
    assert!(of_one.iter().all(|overlap| overlap.files == files[7..8]));
}

pub(super) async fn ones_own_reviews_hide_no_others(world: &World) {
    let store = with_people(world).await;
    let reviewed = async |who: &'static str, path: String| {
        let priority = i64::from(who == BOB);
        let work = NewAsk {
            priority,
            ..new_ask("work", &path)
        };
        let work = post(&store, work).await;
        next(&store, &made(&store, who, &work.id, &path).await).await
    };
    let theirs = reviewed(ANN, "theirs".to_owned()).await;
    for round in 0..30 {
        let own = (0..7).map(|n| reviewed(BOB, format!("own/{round}/{n}")));
        futures::future::join_all(own).await;
    }
    let overdue = reviewed(ANN, "overdue".to_owned()).await;
    for who in [BOB, BOB_A] {
        let lane = OWN_LANE.to_owned();
        let found = store.claimable(name(who), at(40), repo_name(REPO), lane, 100);
        let found = found.await.unwrap();
        let reviews: Vec<_> = found.asks.iter().map(|ask| &ask.id).collect();
        assert_eq!(reviews.len(), 2, "{who}");
        assert!(reviews.contains(&&theirs.id) && reviews.contains(&&overdue.id));
        assert!(!found.more);
    }
}

pub(super) async fn a_person_has_so_many_unanswered_asks(world: &World) {
    let store = with_people(world).await;
    let small = |title: &str| NewAsk {
        most_open: 2,
        ..new_ask("triage", title)
    };
    let first = store.post_ask(by(ANN_A, 5), small("1")).await.unwrap();
    store.post_ask(by(ANN_B, 5), small("2")).await.unwrap();
    let third = store.post_ask(by(ANN, 5), small("3")).await;
    assert!(
        matches!(&third, Err(Error::TooMany(message)) if message.starts_with("`ann@example.com` has 2 unanswered asks")),
        "{third:?}"
    );
    // Not by posting all at once, either.
    let many = (0..16).map(|n| {
        let mut new = small(&n.to_string());
        new.most_open = 8;
        store.post_ask(by(ANN, 5), new)
    });
    let posted = futures::future::join_all(many).await;
    assert_eq!(posted.iter().filter(|posted| posted.is_ok()).count(), 6);
    for posted in posted.into_iter().flatten() {
        done(&store, BOB, &posted.id, Verdict::Deny).await.unwrap();
    }
    store.post_ask(by(BOB, 5), small("4")).await.unwrap();
    done(&store, BOB, &first.id, Verdict::Deny).await.unwrap();
    store.post_ask(by(ANN, 7), small("5")).await.unwrap();
}

pub(super) async fn wrong_asks_are_refused_in_words(world: &World) {
    let store = with_people(world).await;
    let refused = |new: NewAsk| store.post_ask(by(ANN, 10), new);
    is_invalid(
        refused(new_ask("work", " ")).await,
        "'title' must not be blank",
    );
    let scoped = NewAsk {
        scope: Some(AskScope::Coordinator),
        ..new_ask("work", "x")
    };
    is_invalid(refused(scoped).await, "'scope' of a `work` is contributor");
    for kind in ["changeset_review", "submit_changeset", "resolve_conflict"] {
        is_invalid(refused(new_ask(kind, "x")).await, "'changeset_id'");
    }
    let made_up = NewAsk {
        changeset: Some("changeset-0".to_owned()),
        ..new_ask("submit_changeset", "x")
    };
    is_invalid(refused(made_up).await, "There is no changeset");
    let misplaced = NewAsk {
        changeset: Some("changeset-0".to_owned()),
        ..new_ask("work", "x")
    };
    is_invalid(refused(misplaced).await, "'changeset_id' is for");
    for new in [
        NewAsk {
            body: "x".repeat(64 * 1024 + 1),
            ..new_ask("work", "x")
        },
        NewAsk {
            files: vec!["x".to_owned(); 1001],
            ..new_ask("work", "x")
        },
        NewAsk {
            depends_on: vec!["x".to_owned(); 5001],
            ..new_ask("work", "x")
        },
    ] {
        let refused = refused(new).await;
        assert!(matches!(refused, Err(Error::TooLarge(_))), "{refused:?}");
    }
    let missing = claim(&store, ANN, "ask-ffffffffff", 20).await;
    assert!(matches!(missing, Err(Error::Missing { what: "ask", .. })));
    // A drawn id that is taken is drawn again.
    let taken = fresh();
    let twice = || NewAsk {
        fresh: taken.clone(),
        ..new_ask("work", "x")
    };
    let ids = [
        refused(twice()).await.unwrap().id,
        refused(twice()).await.unwrap().id,
    ];
    assert_ne!(ids[0], ids[1]);
}

pub(super) async fn a_closed_lane_takes_no_work(world: &World) {
    let store = with_people(world).await;
    let lane = propose(&store, ANN, "Search").await;
    let in_lane = |title: &str| NewAsk {
        lane: lane.id.clone(),
        ..new_ask("triage", title)
    };
    let (open, held_one) = (
        post(&store, in_lane("open")).await,
        post(&store, in_lane("held")).await,
    );
    claim(&store, ANN, &held_one.id, 20).await.unwrap();
    let closed = store.close_lane(by(ANN, 21), repo_name(REPO), lane.id.clone());
    closed.await.unwrap();
    is_conflict(claim(&store, ANN, &open.id, 22).await, "closed");
    is_conflict(store.post_ask(by(ANN, 22), in_lane("late")).await, "closed");
    assert_eq!(titles(&store, ANN, &lane.id).await, [""; 0]);
    let given = answering(&held_one.id, Verdict::Complete);
    store.answer_ask(by(ANN, 23), given).await.unwrap();
}

pub(super) async fn who_may_not_answer_any_more_does_not_keep_it(world: &World) {
    let store = with_people(world).await;
    let ask = work(&store, "Search").await;
    claim(&store, ANN_A, &ask.id, 20).await.unwrap();
    let reader = Role::Repo(RepoRole::Reader);
    let granted = store.grant(by(OPERATOR, 21), repo_name(REPO), name(ANN), reader);
    granted.await.unwrap();
    is_not_allowed(store.renew_ask(by(ANN_A, 22), held(&ask.id), LEASE).await);
    // To give it back is no harm.
    store
        .release_ask(by(ANN_A, 23), held(&ask.id))
        .await
        .unwrap();
}

pub(super) async fn a_key_claims_once(world: &World) {
    let store = with_people(world).await;
    let ask = work(&store, "Search").await;
    let act = |seconds| -> Act {
        by(ANN_A, seconds).once(Once {
            tool: "ask_claim".to_owned(),
            key: "k".to_owned(),
            arguments: [1; 32],
            repo: None,
        })
    };
    let tries = (0..8).map(|n| store.claim_ask(act(20 + n), asked(&ask.id), LEASE));
    let claims = futures::future::try_join_all(tries).await.unwrap();
    assert!(claims.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(claims[0].fence, 1);
    assert_eq!(kinds(&store, &ask.id).await, ["ask.posted", "ask.claimed"]);
}
