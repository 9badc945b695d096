use guildhall_core::{LaneRole, Principal};
use guildhall_store::{
    Answering, Ask, AskKind, AskState, Asks as _, ChangedFile, ChangesetState, Conflicted,
    DirectCommit, Error, Events as _, FileMode, Held, Landing, Lanes as _, MOST_FILES, NewAsk,
    NewChangeset, OWN_LANE, Position, Repos as _, Store, Verdict,
};

use crate::lane_world::{
    ANN, ANN_A, ANN_B, BOB, BOB_A, EVE, OUT, REPO, answering, change, claim, done, file, fresh,
    held, is_conflict, is_invalid, is_not_allowed, made, new_ask, next, on_lane, post, propose,
    with_people, work,
};
use crate::world::{OPERATOR, World, by, name, repo_name};

/// Work by `who` in `_repo`, reviewed by Bob, with its submission held by Bob.
async fn submitting(store: &Store, who: &str, title: &str) -> Ask {
    let work = work(store, title).await;
    let review = next(store, &made(store, who, &work.id, "src/a.rs").await).await;
    let granted = done(store, BOB, &review.id, Verdict::Grant).await.unwrap();
    let submit = next(store, &granted).await;
    claim(store, BOB, &submit.id, 30).await.unwrap()
}

fn landing(ask: &Ask, from: Option<&str>, to: &str) -> Landing {
    Landing {
        held: held(&ask.id),
        from: from.map(str::to_owned),
        to: to.to_owned(),
        note: None,
    }
}

async fn head(store: &Store) -> Option<String> {
    let repo = store.repo(repo_name(REPO)).await.unwrap();
    repo.unwrap().head
}

async fn state(store: &Store, ask: &Ask) -> ChangesetState {
    let id = ask.changeset.clone().unwrap();
    let changeset = store.changeset(repo_name(REPO), id).await.unwrap();
    changeset.unwrap().state
}

pub(super) async fn work_is_reviewed_submitted_and_landed(world: &World) {
    let store = with_people(world).await;
    let new = NewAsk {
        priority: 7,
        ..new_ask("work", "Add search")
    };
    let work = post(&store, new).await;
    let answered = made(&store, ANN_A, &work.id, "src/a.rs").await;
    let review = next(&store, &answered).await;
    assert_eq!(review.kind, AskKind::ChangesetReview);
    assert_eq!(review.title, "Review: Add search");
    assert_eq!(
        (review.priority, review.follows.as_ref()),
        (7, Some(&work.id))
    );
    assert_eq!(review.files, ["src/a.rs"]);
    let id = review.changeset.clone().unwrap();
    assert_eq!(id.len(), "changeset-".len() + 32);
    let stored = store
        .changeset(repo_name(REPO), id.clone())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.files, [file("src/a.rs", "new\n")]);
    assert_eq!(
        (stored.author, stored.state),
        (name(ANN_A), ChangesetState::Reviewing)
    );

    let granted = done(&store, BOB, &review.id, Verdict::Grant).await.unwrap();
    let submit = next(&store, &granted).await;
    assert_eq!(submit.kind, AskKind::SubmitChangeset);
    assert_eq!(state(&store, &submit).await, ChangesetState::Granted);
    claim(&store, BOB_A, &submit.id, 30).await.unwrap();
    let submission = store
        .submission(name(BOB_A), held(&submit.id))
        .await
        .unwrap();
    assert_eq!(submission.changeset.work_author, name(ANN_A));
    assert_eq!(submission.changeset.work, work.id);
    assert_eq!(submission.changeset.reviewed_by, Some(name(BOB)));
    assert_eq!(submission.landed_as, None);
    // Only landing completes it.
    let early = store.answer_ask(by(BOB_A, 31), answering(&submit.id, Verdict::Complete));
    is_conflict(early.await, "commit_changeset");

    let landed = store
        .land(by(BOB_A, 32), landing(&submit, None, "c2"))
        .await
        .unwrap();
    assert_eq!(landed.answer.as_ref().unwrap().payload["commit"], "c2");
    assert_eq!(head(&store).await.as_deref(), Some("c2"));
    assert_eq!(state(&store, &submit).await, ChangesetState::Landed);
    // Completing it after that gives the same answer.
    let again = store.answer_ask(by(BOB_A, 33), answering(&submit.id, Verdict::Complete));
    assert_eq!(again.await.unwrap(), landed);
    let submission = store
        .submission(name(BOB_A), held(&submit.id))
        .await
        .unwrap();
    assert_eq!(submission.landed_as.as_deref(), Some("c2"));
    let other = store.answer_ask(by(BOB, 33), answering(&submit.id, Verdict::Complete));
    is_conflict(
        other.await,
        "was answered `complete` by `bob@example.com[a]`",
    );
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}

pub(super) async fn nobody_reviews_their_own(world: &World) {
    let store = with_people(world).await;
    let lane = propose(&store, BOB, "Search").await;
    on_lane(&store, &lane.id, ANN, LaneRole::Maintainer).await;
    let in_lane = || NewAsk {
        lane: lane.id.clone(),
        ..new_ask("work", "x")
    };
    // Author, and who of those who maintain the lane may review.
    for (author, reviewers) in [
        (
            ANN,
            [
                (ANN, false),
                (ANN_A, false),
                (ANN_B, false),
                (BOB, true),
                (BOB_A, true),
            ],
        ),
        (
            ANN_A,
            [
                (ANN, true),
                (ANN_A, false),
                (ANN_B, false),
                (BOB, true),
                (BOB_A, true),
            ],
        ),
        (
            BOB,
            [
                (ANN, true),
                (ANN_A, true),
                (ANN_B, true),
                (BOB, false),
                (BOB_A, false),
            ],
        ),
    ] {
        for (reviewer, may) in reviewers {
            let work = post(&store, in_lane()).await;
            let review = next(&store, &made(&store, author, &work.id, "a").await).await;
            let granted = done(&store, reviewer, &review.id, Verdict::Grant).await;
            assert_eq!(
                granted.is_ok(),
                may,
                "{reviewer} reviews {author}: {granted:?}"
            );
            let sees = store.claimable(
                name(reviewer),
                crate::world::at(40),
                repo_name(REPO),
                lane.id.clone(),
                100,
            );
            let sees = sees
                .await
                .unwrap()
                .asks
                .iter()
                .any(|ask| ask.id == review.id);
            assert!(!sees, "{reviewer} is offered what {author} wrote");
            if !may {
                is_not_allowed(granted);
                assert_eq!(state(&store, &review).await, ChangesetState::Reviewing);
            }
        }
    }
    // An owner in person can relax it.
    let allowed = store.allow_self_review(by(OPERATOR, 50), repo_name(REPO), lane.id.clone(), true);
    allowed.await.unwrap();
    let work = post(&store, in_lane()).await;
    let review = next(&store, &made(&store, ANN_A, &work.id, "a").await).await;
    done(&store, ANN_B, &review.id, Verdict::Grant)
        .await
        .unwrap();
}

pub(super) async fn a_denied_review_reopens_the_work_with_its_note(world: &World) {
    let store = with_people(world).await;
    let new = NewAsk {
        body: "Find things".to_owned(),
        priority: 3,
        files: vec!["src/a.rs".to_owned()],
        ..new_ask("work", "Add search")
    };
    let work = post(&store, new).await;
    let review = next(&store, &made(&store, ANN, &work.id, "src/a.rs").await).await;
    claim(&store, BOB, &review.id, 20).await.unwrap();
    let denied = Answering {
        note: Some("Tests are missing".to_owned()),
        ..answering(&review.id, Verdict::Deny)
    };
    let denied = store.answer_ask(by(BOB, 21), denied).await.unwrap();
    assert_eq!(state(&store, &review).await, ChangesetState::Denied);
    let again = next(&store, &denied).await;
    assert_eq!(
        (again.kind.clone(), again.title.as_str()),
        (AskKind::Work, "Add search")
    );
    assert_eq!(
        (again.priority, again.files.as_slice()),
        (3, work.files.as_slice())
    );
    assert!(
        again
            .body
            .starts_with("Find things\n\nThe review of `changeset-"),
        "{}",
        again.body
    );
    assert!(
        again
            .body
            .ends_with("was denied by `bob@example.com`:\n\nTests are missing")
    );
    assert_eq!(again.work, again.id);
    // The denied changeset can be put under review again by hand, and by nobody twice.
    let by_hand = || NewAsk {
        changeset: review.changeset.clone(),
        ..new_ask("changeset_review", "Look again")
    };
    let second = post(&store, by_hand()).await;
    assert_eq!(
        (second.work.as_str(), second.files.len()),
        (work.id.as_str(), 1)
    );
    is_invalid(store.post_ask(by(ANN, 30), by_hand()).await, "is reviewing");
    let granted = done(&store, BOB, &second.id, Verdict::Grant).await.unwrap();
    assert_eq!(next(&store, &granted).await.kind, AskKind::SubmitChangeset);
}

pub(super) async fn a_denied_submission_reopens_the_work(world: &World) {
    let store = with_people(world).await;
    let submit = submitting(&store, ANN, "Add search").await;
    let denied = store.answer_ask(by(BOB, 31), answering(&submit.id, Verdict::Deny));
    let again = next(&store, &denied.await.unwrap()).await;
    assert_eq!(
        (again.kind, again.title.as_str()),
        (AskKind::Work, "Add search")
    );
    assert_eq!(state(&store, &submit).await, ChangesetState::Denied);
    is_conflict(
        store.land(by(BOB, 32), landing(&submit, None, "c2")).await,
        "answered `deny`",
    );
    assert_eq!(head(&store).await, None);
}

fn conflict(ask: &Ask) -> Conflicted {
    Conflicted {
        held: held(&ask.id),
        fresh: fresh(),
        head: Some("c9".to_owned()),
        paths: vec!["src/a.rs".to_owned()],
        told: "Both sides changed `src/a.rs`".to_owned(),
    }
}

pub(super) async fn a_conflict_is_resolved_by_a_changeset_of_its_own(world: &World) {
    let store = with_people(world).await;
    let submit = submitting(&store, ANN_A, "Add search").await;
    is_conflict(
        store
            .conflicted(by(ANN, 31), conflict(&submit))
            .await
            .map_err(|error| match error {
                Error::NotAllowed(message) => Error::Conflict(message),
                error => error,
            }),
        "coordinators",
    );
    let denied = store
        .conflicted(by(BOB, 31), conflict(&submit))
        .await
        .unwrap();
    let answer = denied.answer.clone().unwrap();
    assert_eq!(answer.verdict, Verdict::Deny);
    assert_eq!(answer.payload["conflicts"][0], "src/a.rs");
    assert_eq!(state(&store, &submit).await, ChangesetState::Conflicted);
    let resolve = next(&store, &denied).await;
    assert_eq!(resolve.kind, AskKind::ResolveConflict);
    assert_eq!(resolve.title, "Resolve conflict: Add search");
    assert!(resolve.body.ends_with("Both sides changed `src/a.rs`"));
    // A conflict has no `no_change`.
    claim(&store, BOB, &resolve.id, 32).await.unwrap();
    let nothing = Answering {
        no_change: true,
        note: Some("Done already".to_owned()),
        ..answering(&resolve.id, Verdict::Complete)
    };
    is_invalid(store.answer_ask(by(BOB, 33), nothing).await, "'changeset'");
    store
        .release_ask(by(BOB, 33), held(&resolve.id))
        .await
        .unwrap();
    let review = next(&store, &made(&store, BOB_A, &resolve.id, "src/a.rs").await).await;
    assert_eq!(review.kind, AskKind::ChangesetReview);
    let mended = store.changeset(repo_name(REPO), review.changeset.clone().unwrap());
    let mended = mended.await.unwrap().unwrap();
    assert_eq!(
        (mended.author, mended.work_author),
        (name(BOB_A), name(ANN_A))
    );
    assert_eq!(mended.work, submit.work);
    // Whoever wrote either of the two does not review.
    for (reviewer, may) in [(BOB_A, false), (OPERATOR, true)] {
        let claimed = claim(&store, reviewer, &review.id, 40).await;
        assert_eq!(claimed.is_ok(), may, "{reviewer}");
    }
    let given = answering(&review.id, Verdict::Grant);
    let granted = store.answer_ask(by(OPERATOR, 41), given).await.unwrap();
    let submit = next(&store, &granted).await;
    claim(&store, BOB, &submit.id, 42).await.unwrap();
    store
        .land(by(BOB, 43), landing(&submit, None, "c10"))
        .await
        .unwrap();
    assert_eq!(head(&store).await.as_deref(), Some("c10"));
}

pub(super) async fn landing_compares_and_swaps_and_answers_once(world: &World) {
    let store = with_people(world).await;
    let submit = submitting(&store, ANN, "Add search").await;
    let moved = store
        .land(by(BOB, 31), landing(&submit, Some("c0"), "c2"))
        .await;
    assert!(
        matches!(&moved, Err(Error::Moved { found: None, .. })),
        "{moved:?}"
    );
    let ask = store.ask(repo_name(REPO), submit.id.clone()).await.unwrap();
    assert_eq!(ask.unwrap().state, AskState::Claimed);
    assert_eq!(state(&store, &submit).await, ChangesetState::Granted);
    for (who, may) in [(ANN, false), (EVE, false), (OUT, false), (BOB_A, false)] {
        let landed = store.land(by(who, 31), landing(&submit, None, "c2")).await;
        assert_eq!(landed.is_ok(), may, "{who}: {landed:?}");
    }
    let late = Landing {
        held: Held {
            fence: Some(9),
            ..held(&submit.id)
        },
        ..landing(&submit, None, "c2")
    };
    is_conflict(store.land(by(BOB, 31), late).await, "The fence 9");
    assert_eq!(head(&store).await, None);
    let first = store
        .land(by(BOB, 32), landing(&submit, None, "c2"))
        .await
        .unwrap();
    // The acknowledgement was lost, and the caller tries again with a commit that it made anew.
    let again = store
        .land(by(BOB, 33), landing(&submit, None, "c3"))
        .await
        .unwrap();
    assert_eq!(again, first);
    assert_eq!(head(&store).await.as_deref(), Some("c2"));
}

pub(super) async fn one_of_many_landings_wins(world: &World) {
    let store = with_people(world).await;
    let mut submits = Vec::new();
    for n in 0..6 {
        submits.push(submitting(&store, ANN, &n.to_string()).await);
    }
    let landings = submits
        .iter()
        .enumerate()
        .map(|(n, ask)| store.land(by(BOB, 31), landing(ask, None, &format!("c{n}"))));
    let outcomes = futures::future::join_all(landings).await;
    let won: Vec<_> = (0..6).filter(|n| outcomes[*n].is_ok()).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(head(&store).await, Some(format!("c{}", won[0])));
    for (n, ask) in submits.iter().enumerate() {
        let landed = state(&store, ask).await == ChangesetState::Landed;
        assert_eq!(landed, n == won[0]);
    }
    for lost in outcomes.into_iter().filter(Result::is_err) {
        assert!(matches!(lost, Err(Error::Moved { .. })), "{lost:?}");
    }
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}

pub(super) async fn nothing_unreviewed_is_posted_by_hand(world: &World) {
    let store = with_people(world).await;
    let work = work(&store, "x").await;
    let review = next(&store, &made(&store, ANN, &work.id, "a").await).await;
    let by_hand = |kind: &str, who: &str| {
        let new = NewAsk {
            changeset: review.changeset.clone(),
            ..new_ask(kind, "x")
        };
        store.post_ask(by(who, 30), new)
    };
    for kind in ["changeset_review", "submit_changeset", "resolve_conflict"] {
        for who in [ANN_A, BOB, OPERATOR] {
            is_invalid(by_hand(kind, who).await, "is reviewing");
        }
    }
    done(&store, BOB, &review.id, Verdict::Grant).await.unwrap();
    is_invalid(by_hand("changeset_review", ANN).await, "is granted");
    is_invalid(by_hand("resolve_conflict", ANN).await, "is granted");
    let second = by_hand("submit_changeset", ANN).await.unwrap();
    let elsewhere = NewAsk {
        lane: propose(&store, ANN, "Search").await.id,
        changeset: review.changeset.clone(),
        ..new_ask("submit_changeset", "x")
    };
    is_invalid(
        store.post_ask(by(ANN, 30), elsewhere).await,
        "is in the lane",
    );
    claim(&store, BOB, &second.id, 31).await.unwrap();
    store
        .land(by(BOB, 32), landing(&second, None, "c2"))
        .await
        .unwrap();
    for kind in ["changeset_review", "submit_changeset", "resolve_conflict"] {
        is_invalid(by_hand(kind, BOB).await, "is landed");
    }
}

pub(super) async fn answers_come_with_what_their_kind_needs(world: &World) {
    let store = with_people(world).await;
    let work = work(&store, "x").await;
    claim(&store, ANN, &work.id, 20).await.unwrap();
    let plain = || answering(&work.id, Verdict::Complete);
    let answer = |given| store.answer_ask(by(ANN, 21), given);
    is_invalid(
        answer(plain()).await,
        "answered complete with a 'changeset', or with 'no_change'",
    );
    is_invalid(
        answer(answering(&work.id, Verdict::Grant)).await,
        "'verdict' of a `work` must be one of complete, deny, not `grant`",
    );
    let without_reason = Answering {
        no_change: true,
        note: Some("  ".to_owned()),
        ..plain()
    };
    is_invalid(answer(without_reason).await, "needs a reason");
    let both = Answering {
        no_change: true,
        changeset: Some(change("a")),
        ..plain()
    };
    is_invalid(answer(both).await, "exclude each other");
    let denied = Answering {
        changeset: Some(change("a")),
        ..answering(&work.id, Verdict::Deny)
    };
    is_invalid(answer(denied).await, "not for deny of `work`");
    let nothing = Answering {
        no_change: true,
        note: Some("It is there".to_owned()),
        ..plain()
    };
    let answered = answer(nothing).await.unwrap().answer.unwrap();
    assert_eq!(answered.payload, serde_json::json!({ "no_change": true }));
    assert_eq!(answered.note.as_deref(), Some("It is there"));
    is_conflict(answer(plain()).await, "was answered `complete`");
}

pub(super) async fn changesets_have_limits(world: &World) {
    let store = with_people(world).await;
    let work = work(&store, "x").await;
    claim(&store, ANN, &work.id, 20).await.unwrap();
    let answer = |files: Vec<ChangedFile>| {
        let changeset = NewChangeset {
            files,
            ..change("a")
        };
        let given = Answering {
            changeset: Some(changeset),
            ..answering(&work.id, Verdict::Complete)
        };
        store.answer_ask(by(ANN, 21), given)
    };
    is_invalid(answer(vec![]).await, "must name a file");
    is_invalid(
        answer(vec![file("a", "1"), file("a", "2")]).await,
        "has `a` twice",
    );
    is_invalid(answer(vec![file("", "1")]).await, "'path'");
    let both = ChangedFile {
        deleted: true,
        ..file("a", "1")
    };
    is_invalid(answer(vec![both]).await, "either");
    let many = (0..=MOST_FILES).map(|n| file(&n.to_string(), "")).collect();
    assert!(matches!(answer(many).await, Err(Error::TooLarge(_))));
    let large = file("a", &"x".repeat(guildhall_store::MOST_BYTES + 1));
    assert!(matches!(answer(vec![large]).await, Err(Error::TooLarge(_))));
    // Bytes that are no text, a deletion and a mode come back as they were.
    let files = vec![
        ChangedFile {
            content: Some(vec![0, 255, 10]),
            ..file("bin", "")
        },
        ChangedFile {
            content: None,
            deleted: true,
            ..file("old", "")
        },
        ChangedFile {
            content: None,
            mode: Some(FileMode::Executable),
            ..file("run.sh", "")
        },
    ];
    let answered = answer(files.clone()).await.unwrap();
    let review = next(&store, &answered).await;
    let stored = store
        .changeset(repo_name(REPO), review.changeset.unwrap())
        .await;
    assert_eq!(stored.unwrap().unwrap().files, files);
}

pub(super) async fn an_owner_in_person_commits_directly(world: &World) {
    let store = with_people(world).await;
    let commit = |who: &str, from: Option<&str>, to: &str| {
        let commit = DirectCommit {
            repo: repo_name(REPO),
            from: from.map(str::to_owned),
            to: to.to_owned(),
            merged: false,
            paths: vec!["a".to_owned()],
        };
        store.commit_directly(by(who, 20), commit)
    };
    for who in [ANN, BOB, EVE, OUT, "owner@example.com[claude]"] {
        is_not_allowed(commit(who, None, "c1").await);
    }
    commit(OPERATOR, None, "c1").await.unwrap();
    let moved = commit(OPERATOR, None, "c2").await;
    assert!(matches!(moved, Err(Error::Moved { .. })));
    assert_eq!(head(&store).await.as_deref(), Some("c1"));
    // What the repo and its origin have both moved to is merged by an ask that only an owner posts.
    let merge = || NewAsk {
        files: vec!["a".to_owned()],
        ..new_ask("resolve_conflict", "Merge with the origin")
    };
    is_not_allowed(store.post_merge(by(BOB, 21), merge()).await);
    let merge = store.post_merge(by(OPERATOR, 21), merge()).await.unwrap();
    let review = next(&store, &made(&store, ANN, &merge.id, "a").await).await;
    claim(&store, BOB, &review.id, 30).await.unwrap();
    let denied = store.answer_ask(by(BOB, 31), answering(&review.id, Verdict::Deny));
    let again = next(&store, &denied.await.unwrap()).await;
    assert_eq!(
        (again.kind, again.changeset),
        (AskKind::ResolveConflict, None)
    );
}

pub(super) async fn the_lane_shows_every_step(world: &World) {
    let store = with_people(world).await;
    let submit = submitting(&store, ANN_A, "Add search").await;
    store
        .land(by(BOB, 32), landing(&submit, None, "c2"))
        .await
        .unwrap();
    let history = store.lane_history(
        repo_name(REPO),
        OWN_LANE.to_owned(),
        Position::default(),
        100,
    );
    let history = history.await.unwrap();
    let steps: Vec<(String, Principal)> = history
        .iter()
        .map(|event| (event.kind.clone(), event.actor.parse().unwrap()))
        .collect();
    let step = |kind: &str, who: &str| (kind.to_owned(), name(who));
    assert_eq!(
        steps,
        [
            step("ask.posted", ANN),
            step("ask.claimed", ANN_A),
            step("ask.posted", ANN_A),
            step("ask.answered", ANN_A),
            step("ask.claimed", BOB),
            step("ask.posted", BOB),
            step("ask.answered", BOB),
            step("ask.claimed", BOB),
            step("ask.answered", BOB),
        ]
    );
    let tail = store.lane_history(repo_name(REPO), OWN_LANE.to_owned(), history[6].position, 1);
    assert_eq!(tail.await.unwrap(), history[7..8]);
}
