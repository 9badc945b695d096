use std::collections::{BTreeMap, BTreeSet};

use guildhall_core::ladder::{Query, RungPath};
use guildhall_core::{RepoName, RepoRole};
use guildhall_store::{
    Anchor, Asks as _, Error, Events as _, Found, Ladder as _, Lanes as _, MOST_RANKED, NewLane,
    NewRung, Repos as _, Role, Roles as _, RungRange, Search, Store, Stream,
};

use crate::lane_world::{
    ANN, ANN_A, ANN_B, REPO, claim, held, new_ask, new_lane, post, propose, with_people,
};
use crate::world::{OPERATOR, World, add_repo, add_user, at, by, name, repo_name, with_operator};

fn path(text: &str) -> RungPath {
    text.parse().unwrap()
}

fn rung(at: &str, summary: &str) -> NewRung {
    NewRung {
        path: path(at),
        summary: summary.to_owned(),
        anchor: Some(Anchor {
            commit: "c1".to_owned(),
            object: Some("100644 o1".to_owned()),
        }),
        replaces: None,
    }
}

async fn write(store: &Store, repo: &str, rungs: &[(&str, &str)]) {
    let rungs = rungs.iter().map(|(path, text)| rung(path, text)).collect();
    let written = store.write_rungs(by(OPERATOR, 2), repo_name(repo), rungs);
    written.await.unwrap();
}

async fn ladder(store: &Store, repo: &str) -> Vec<(String, i64)> {
    let range = RungRange {
        limit: 100_000,
        ..RungRange::default()
    };
    let rungs = store.rungs(repo_name(repo), range).await.unwrap();
    rungs
        .into_iter()
        .map(|rung| (rung.path.to_string(), rung.version))
        .collect()
}

fn search(user: &str, query: &str) -> Search {
    Search {
        query: Query::parse(query).unwrap(),
        user: name(user),
        only: None,
        kind: None,
        under: None,
        after: None,
        limit: 100,
    }
}

async fn find(store: &Store, user: &str, query: &str) -> Vec<String> {
    let found = store.search(search(user, query)).await.unwrap();
    assert_eq!(found.total, found.hits.len(), "{query}");
    shown(&found)
}

fn shown(found: &Found) -> Vec<String> {
    found
        .hits
        .iter()
        .map(|hit| format!("{}:{}", hit.repo.name(), hit.path))
        .collect()
}

pub(super) async fn rungs_are_written_all_or_none(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let web = repo_name("acme/web");
    write(&store, "acme/web", &[("_repo", "A site"), ("src/", "Code")]).await;
    let too_long = "x".repeat(32_001);
    let mut no_anchor = rung("docs/", "Docs");
    no_anchor.anchor = None;
    let mut other_version = rung("src/", "Other");
    other_version.replaces = Some(7);
    let mut new_that_is_there = rung("src/", "Other");
    new_that_is_there.replaces = Some(0);
    let mut old_that_is_not = rung("lib/", "Other");
    old_that_is_not.replaces = Some(1);
    for (wrong, conflicts) in [
        (rung("a", " \n"), false),
        (rung("a", &too_long), false),
        (rung("a", "a\0b"), false),
        (rung("new", "Twice"), false),
        (no_anchor, false),
        (other_version, true),
        (new_that_is_there, true),
        (old_that_is_not, true),
    ] {
        let said = format!("{wrong:.300?}");
        let rungs = vec![rung("new", "New"), wrong];
        match store.write_rungs(by(OPERATOR, 3), web.clone(), rungs).await {
            Err(Error::Moved { .. }) => assert!(conflicts, "{said}"),
            Err(Error::Invalid(_)) => assert!(!conflicts, "{said}"),
            other => panic!("{said}: {other:?}"),
        }
    }
    let none = store.write_rungs(by(OPERATOR, 3), web.clone(), Vec::new());
    assert!(matches!(none.await, Err(Error::Invalid(_))));
    let nowhere = store.write_rungs(by(OPERATOR, 3), repo_name("a/b"), vec![rung("x", "y")]);
    assert!(matches!(nowhere.await, Err(Error::Missing { .. })));
    let whole = [("_repo".to_owned(), 1), ("src/".to_owned(), 1)];
    assert_eq!(ladder(&store, "acme/web").await, whole);
    assert_eq!(find(&store, OPERATOR, "new").await, [""; 0]);
    let events = store.of_stream(&Stream::repo(&web), 0, 10).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["repo.added", "ladder.written"]);
}

pub(super) async fn only_who_owns_or_coordinates_writes(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", true).await;
    let web = repo_name("acme/web");
    add_user(&store, ANN).await;
    for (role, may) in [
        (None, false),
        (Some(RepoRole::Reader), false),
        (Some(RepoRole::Contributor), false),
        (Some(RepoRole::Maintainer), true),
        (Some(RepoRole::Owner), true),
    ] {
        if let Some(role) = role {
            let grant = store.grant(by(OPERATOR, 2), web.clone(), name(ANN), Role::Repo(role));
            grant.await.unwrap();
        }
        // An agent has its user's roles, whether it was ever registered or not.
        for caller in [ANN, "ann@example.com[claude]"] {
            let rungs = vec![rung("src/", "Code")];
            let written = store.write_rungs(by(caller, 3), web.clone(), rungs).await;
            let reindexed = store.reindex(by(caller, 3), web.clone()).await;
            if may {
                written.unwrap();
                reindexed.unwrap();
            } else {
                assert!(
                    matches!(written, Err(Error::NotAllowed(_))),
                    "{role:?} {caller}"
                );
                assert!(
                    matches!(reindexed, Err(Error::NotAllowed(_))),
                    "{role:?} {caller}"
                );
            }
        }
    }
}

pub(super) async fn who_holds_an_ask_for_it_writes(world: &World) {
    let store = with_people(world).await;
    let lane = propose(&store, ANN_A, "Summaries").await;
    let write =
        |who: &str| store.write_rungs(by(who, 20), repo_name(REPO), vec![rung("src/", "Code")]);
    let kinds = ["work", "write_rung"];
    for (kind, may) in kinds.into_iter().zip([false, true]) {
        let mut ask = new_ask(kind, "Sum it up");
        ask.lane.clone_from(&lane.id);
        let ask = post(&store, ask).await;
        claim(&store, ANN_A, &ask.id, 15).await.unwrap();
        assert_eq!(write(ANN_A).await.is_ok(), may, "{kind}");
        // Neither the person nor another agent of theirs holds it.
        for other in [ANN, ANN_B] {
            assert!(
                matches!(write(other).await, Err(Error::NotAllowed(_))),
                "{kind}"
            );
        }
        store
            .release_ask(by(ANN_A, 21), held(&ask.id))
            .await
            .unwrap();
        assert!(
            matches!(write(ANN_A).await, Err(Error::NotAllowed(_))),
            "{kind}"
        );
    }
}

pub(super) async fn what_is_replaced_is_kept(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let web = repo_name("acme/web");
    for (seconds, text) in [(2, "One"), (3, "Two"), (4, "Three")] {
        let mut new = rung("src/", text);
        new.replaces = Some(seconds - 2);
        let written = store.write_rungs(by(OPERATOR, seconds), web.clone(), vec![new]);
        assert_eq!(written.await.unwrap()[0].version, seconds - 1);
    }
    let now = store
        .rung(web.clone(), path("src/"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((now.summary.as_str(), now.version), ("Three", 3));
    assert_eq!((now.author, now.updated_at), (name(OPERATOR), at(4)));
    let earlier = store.rung_versions(web.clone(), path("src/"), now.version, 10);
    let earlier: Vec<_> = earlier
        .await
        .unwrap()
        .into_iter()
        .map(|rung| (rung.version, rung.summary, rung.at))
        .collect();
    assert_eq!(
        earlier,
        [(2, "Two".to_owned(), at(3)), (1, "One".to_owned(), at(2))]
    );
    assert_eq!(find(&store, OPERATOR, "two").await, [""; 0]);
    assert_eq!(find(&store, OPERATOR, "three").await, ["web:src/"]);
}

pub(super) async fn one_of_many_that_replace_a_version_wins(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let writes = (0..16).map(|n| {
        let mut new = rung("src/", &format!("Writer{n}"));
        new.replaces = Some(0);
        store.write_rungs(by(OPERATOR, 2), repo_name("acme/web"), vec![new])
    });
    let done = futures::future::join_all(writes).await;
    assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1);
    let lost = |done: &Result<_, Error>| matches!(done, Ok(_) | Err(Error::Moved { .. }));
    assert!(done.iter().all(lost), "{done:?}");
    assert_eq!(find(&store, OPERATOR, "writer*").await, ["web:src/"]);
}

pub(super) async fn words_phrases_and_beginnings_are_found_in_one_order(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    write(
        &store,
        "acme/web",
        &[
            ("_repo", "A site that sells shoes\n\nPayment and basket"),
            ("src/", "Basket, basket and more of the basket"),
            ("src/basket.js", "Keeps what is bought"),
            (
                "src/payment/",
                "Payment by card. See `src/payment/card.js:3`",
            ),
            (
                "src/payment/card.js",
                "Talks to the bank; ladder_write_rung",
            ),
            ("docs/日本.md", "日本語の文書 Übergrößen"),
            ("release:v1", "First release, with OR and NOT in it"),
        ],
    )
    .await;
    for (query, expected) in [
        ("basket", vec!["src/", "_repo"]),
        ("BASKET Payment", vec!["_repo"]),
        ("\"by card\"", vec!["src/payment/"]),
        ("\"card by\"", vec![]),
        ("card.js", vec!["src/payment/"]),
        ("write_rung", vec!["src/payment/card.js"]),
        ("pay*", vec!["src/payment/", "_repo"]),
        ("paym", vec!["src/payment/", "_repo"]),
        ("pa", vec![]),
        ("pa*", vec![]),
        ("日本", vec!["docs/日本.md"]),
        ("本語", vec!["docs/日本.md"]),
        ("übergrößen", vec!["docs/日本.md"]),
        ("with OR and NOT", vec!["release:v1"]),
        ("OR", vec!["release:v1"]),
        ("site AND shoes", vec!["_repo"]),
        ("shoes OR site", vec![]),
        ("nowhere", vec![]),
        ("\"\"", vec![]),
    ] {
        let expected: Vec<_> = expected.iter().map(|path| format!("web:{path}")).collect();
        assert_eq!(find(&store, OPERATOR, query).await, expected, "{query}");
    }
    let mut files = search(OPERATOR, "the");
    files.kind = Some("file".parse().unwrap());
    assert_eq!(
        shown(&store.search(files).await.unwrap()),
        ["web:src/payment/card.js"]
    );
    let mut below = search(OPERATOR, "payment");
    below.under = Some(path("src/payment/"));
    assert_eq!(
        shown(&store.search(below).await.unwrap()),
        ["web:src/payment/"]
    );
}

pub(super) async fn nothing_that_is_typed_is_an_error(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    write(&store, "acme/web", &[("a", "plain text near drop table")]).await;
    let many = "1 2 3 4 5 6 7 8 9 0 ".repeat(49);
    let different: Vec<String> = (0..200).map(|n| format!("w{n}")).collect();
    let different = different.join(" ");
    for query in [
        "\"",
        "*",
        "a*b",
        "NEAR(a b)",
        "a NEAR/3 b",
        "words : a",
        "{words} : a",
        "^a",
        "-a",
        "a -b",
        "(",
        ")",
        "a AND",
        "NOT a",
        "OR",
        "'; DROP TABLE rungs; --",
        "\\",
        "a:*",
        "a & | b",
        "!a",
        "a <-> b",
        "a <2> b",
        "'a'",
        "''",
        "$$",
        "%_",
        "\u{e000}rdeadbeef",
        "\u{0}",
        "a\u{0}b",
        "é\u{301}\u{202e}",
        "🦀",
        "a\u{7f}",
        &many,
        &different,
    ] {
        let found = store.search(search(OPERATOR, query)).await;
        assert!(found.is_ok(), "{query:?}: {found:?}");
    }
    for (query, there) in [
        ("plain:text", true),
        ("\"drop table\"", true),
        ("drop; table", true),
        ("plain NOT near", false),
    ] {
        assert_eq!(
            find(&store, OPERATOR, query).await.len(),
            usize::from(there),
            "{query}"
        );
    }
}

pub(super) async fn pages_follow_each_other_whatever_is_written(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let texts: Vec<(String, String)> = (0..95)
        .map(|n| {
            (
                format!("f{n:03}"),
                format!("alpha {}", "beta ".repeat(n % 7)),
            )
        })
        .collect();
    let rungs: Vec<(&str, &str)> = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    write(&store, "acme/web", &rungs).await;
    let whole = find(&store, OPERATOR, "alpha").await;
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let mut page = search(OPERATOR, "alpha");
        (page.after, page.limit) = (after, 10);
        let found = store.search(page).await.unwrap();
        pages.extend(shown(&found));
        // What comes in between moves nothing that is there.
        let new = format!("late{}", pages.len());
        write(&store, "acme/web", &[(&new, "alpha")]).await;
        match found.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    pages.retain(|path| !path.starts_with("web:late"));
    assert_eq!(pages, whole);
}

/// A number generator with the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

pub(super) async fn nobody_sees_a_rung_of_a_repo_they_cannot_see(world: &World) {
    const REPOS: usize = 30;
    const USERS: usize = 4;
    let store = with_operator(world).await;
    let mut random = Random(11);
    let user = |n: usize| format!("user{n}@example.com");
    for n in 0..USERS {
        add_user(&store, &user(n)).await;
    }
    let mut visible: Vec<BTreeSet<String>> = vec![BTreeSet::new(); USERS];
    for n in 0..REPOS {
        let (repo, public) = (format!("acme/r{n}"), random.below(6) == 0);
        add_repo(&store, &repo, public).await;
        // Enough of the common word that no first look takes all of it.
        let texts: Vec<(String, String)> = (0..60)
            .map(|k| {
                (
                    format!("d{}/f{k}", k % 5),
                    format!("common {}", ["rare", "seldom", "other"][k % 3]),
                )
            })
            .collect();
        let rungs: Vec<(&str, &str)> = texts
            .iter()
            .map(|(p, t)| (p.as_str(), t.as_str()))
            .collect();
        write(&store, &repo, &rungs).await;
        let lane = NewLane {
            repo: repo_name(&repo),
            ..new_lane("Anything")
        };
        let lane = store.propose_lane(by(OPERATOR, 2), lane).await.unwrap();
        for (who, sees) in visible.iter_mut().enumerate() {
            let role = match random.below(6) {
                0 => Some(Role::Repo(RepoRole::Reader)),
                1 => Some(Role::Repo(RepoRole::Contributor)),
                2 => Some(Role::Repo(RepoRole::Maintainer)),
                // A role on a lane opens no repo once the one on the repo is gone.
                3 => Some(Role::Lane {
                    lane: lane.id.clone(),
                    role: "coordinator".parse().unwrap(),
                }),
                _ => None,
            };
            if public || matches!(role, Some(Role::Repo(_))) {
                sees.insert(repo.clone());
            }
            let grant =
                |role| store.grant(by(OPERATOR, 2), repo_name(&repo), name(&user(who)), role);
            let contributor = Role::Repo(RepoRole::Contributor);
            let on_lane = matches!(role, Some(Role::Lane { .. }));
            if on_lane {
                grant(contributor.clone()).await.unwrap();
            }
            if let Some(role) = role {
                grant(role).await.unwrap();
            }
            if on_lane {
                let user = name(&user(who));
                let gone = store.withdraw(by(OPERATOR, 2), repo_name(&repo), user, contributor);
                gone.await.unwrap();
            }
        }
    }
    for (who, sees) in visible.iter().enumerate() {
        for query in [
            "common",
            "rare",
            "common seldom",
            "com*",
            "\"common other\"",
            "rar",
        ] {
            for limited in [false, true] {
                let mut wanted = search(&user(who), query);
                let only: BTreeSet<String> = (0..REPOS)
                    .filter(|_| random.below(2) == 0)
                    .map(|n| format!("acme/r{n}"))
                    .collect();
                if limited {
                    let keep = [1, 3, REPOS][random.below(3)];
                    let only: Vec<RepoName> =
                        only.iter().take(keep).map(|n| repo_name(n)).collect();
                    wanted.only = Some(only);
                }
                let may: BTreeSet<&String> = sees
                    .iter()
                    .filter(|repo| match &wanted.only {
                        Some(only) => only.iter().any(|name| name.as_str() == **repo),
                        None => true,
                    })
                    .collect();
                let each = if query.starts_with("com") && !query.contains(' ') {
                    60
                } else {
                    20
                };
                let (mut counts, mut total) = (BTreeMap::<String, usize>::new(), 0);
                loop {
                    let found = store.search(wanted.clone()).await.unwrap();
                    for hit in &found.hits {
                        *counts.entry(hit.repo.to_string()).or_default() += 1;
                    }
                    total = total.max(found.total);
                    match found.next {
                        Some(next) => wanted.after = Some(next),
                        None => break,
                    }
                }
                let expected: BTreeMap<String, usize> =
                    may.iter().map(|repo| ((*repo).clone(), each)).collect();
                assert_eq!(counts, expected, "{} {query} {:?}", user(who), wanted.only);
                assert_eq!(total, each * may.len());
            }
        }
    }
    let stranger = store
        .search(search("nobody@example.com", "common"))
        .await
        .unwrap();
    assert!(
        stranger
            .hits
            .iter()
            .all(|hit| visible.iter().all(|sees| sees.contains(hit.repo.as_str())))
    );
}

pub(super) async fn twenty_thousand_rungs_are_searched(world: &World) {
    const EACH: usize = 5000;
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    for repo in 0..4 {
        let repo = format!("acme/r{repo}");
        add_repo(&store, &repo, repo == "acme/r3").await;
        for part in 0..EACH / 1000 {
            let rungs = (0..1000).map(|n| {
                let n = part * 1000 + n;
                let mut text = format!("common word{n} part{part}");
                if n % 10 == 0 {
                    text += " tenth";
                }
                if n == 4321 {
                    text += " needle";
                }
                rung(&format!("src/d{}/f{n}.rs", n % 40), &text)
            });
            let written = store.write_rungs(by(OPERATOR, 2), repo_name(&repo), rungs.collect());
            written.await.unwrap();
        }
    }
    let found = |user: &'static str, query: &'static str| {
        let mut wanted = search(user, query);
        wanted.limit = 7;
        store.search(wanted)
    };
    let all = found(OPERATOR, "common").await.unwrap();
    assert_eq!((all.total, all.cut, all.hits.len()), (MOST_RANKED, true, 7));
    let mine = found(ANN, "common").await.unwrap();
    assert_eq!((mine.total, mine.cut), (EACH, false));
    assert!(mine.hits.iter().all(|hit| hit.repo.as_str() == "acme/r3"));
    for (query, total) in [
        ("needle", 4),
        ("tenth", 2000),
        ("common tenth part3", 400),
        ("\"common word4321\"", 4),
        ("word432*", 44),
        ("tent*", 2000),
        ("word43210", 0),
    ] {
        assert_eq!(
            found(OPERATOR, query).await.unwrap().total,
            total,
            "{query}"
        );
        assert_eq!(found(ANN, query).await.unwrap().total, total / 4, "{query}");
    }
    // Few repos, whose rungs are looked at; and more of them than are.
    for (repos, total) in [(1, 500), (3, 1500)] {
        let mut some = search(OPERATOR, "tent* common");
        let names = ["acme/r0", "acme/r2", "acme/r3"];
        some.only = Some(names[..repos].iter().map(|name| repo_name(name)).collect());
        assert_eq!(store.search(some).await.unwrap().total, total, "{repos}");
    }
    let mut below = search(OPERATOR, "common");
    below.under = Some(path("src/d7/"));
    assert_eq!(store.search(below).await.unwrap().total, 500);
    assert_eq!(
        store
            .reindex(by(OPERATOR, 3), repo_name("acme/r0"))
            .await
            .unwrap(),
        5000
    );
    assert_eq!(found(OPERATOR, "needle").await.unwrap().total, 4);
    store
        .remove_repo(by(OPERATOR, 4), repo_name("acme/r1"))
        .await
        .unwrap();
    assert_eq!(found(OPERATOR, "needle").await.unwrap().total, 3);
    assert_eq!(ladder(&store, "acme/r1").await, []);
}

pub(super) async fn a_lost_index_is_made_anew_beside_writers(world: &World) {
    let store = with_operator(world).await;
    for repo in ["acme/web", "acme/other"] {
        add_repo(&store, repo, false).await;
    }
    write(&store, "acme/other", &[("x", "alpha")]).await;
    let files: Vec<String> = (0..3000).map(|n| format!("f{n}")).collect();
    for part in files.chunks(1000) {
        let rungs = part.iter().map(|file| rung(file, "alpha first")).collect();
        let written = store.write_rungs(by(OPERATOR, 2), repo_name("acme/web"), rungs);
        written.await.unwrap();
    }
    assert!(world.tamper("DELETE FROM rung_words").await > 0);
    assert_eq!(find(&store, OPERATOR, "alpha").await, [""; 0]);
    let writer = async {
        for n in (0..3000).step_by(100) {
            write(&store, "acme/web", &[(&format!("f{n}"), "alpha second")]).await;
        }
    };
    let (reindexed, ()) = tokio::join!(
        store.reindex(by(OPERATOR, 3), repo_name("acme/web")),
        writer
    );
    assert_eq!(reindexed.unwrap(), 3000);
    let total =
        |query: &'static str| async { store.search(search(OPERATOR, query)).await.unwrap().total };
    assert_eq!(total("second").await, 30);
    assert_eq!(total("first").await, 2970);
    // The other repo's part is not made with it.
    assert_eq!(total("alpha").await, 3000);
    store
        .reindex(by(OPERATOR, 4), repo_name("acme/other"))
        .await
        .unwrap();
    assert_eq!(total("alpha").await, 3001);
    // What stands in the index of other words is replaced.
    world
        .tamper("UPDATE rungs SET summary = 'beta third' WHERE path IN ('f1', 'f2')")
        .await;
    assert_eq!((total("third").await, total("first").await), (0, 2970));
    store
        .reindex(by(OPERATOR, 5), repo_name("acme/web"))
        .await
        .unwrap();
    assert_eq!((total("third").await, total("first").await), (2, 2968));
    let events = store
        .of_stream(&Stream::repo(&repo_name("acme/other")), 0, 10)
        .await
        .unwrap();
    assert_eq!(events.last().unwrap().kind, "ladder.reindexed");
}
