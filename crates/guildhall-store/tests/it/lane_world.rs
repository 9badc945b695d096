//! A repo with people in it, and the calls that the cases of lanes and asks make.

use guildhall_core::{LaneRole, Principal, RepoRole, SystemIds};
use guildhall_store::{
    Answering, Ask, AskKind, AskRef, Asks as _, ChangedFile, Error, Fresh, Held, LEASE, Lane,
    Lanes as _, NewAsk, NewChangeset, NewLane, OWN_LANE, Principals as _, Role, Roles as _, Store,
    Verdict,
};

use crate::world::{OPERATOR, World, add_repo, add_user, by, name, repo_name, with_operator};

/// A contributor, with two agents.
pub(crate) const ANN: &str = "ann@example.com";
pub(crate) const ANN_A: &str = "ann@example.com[a]";
pub(crate) const ANN_B: &str = "ann@example.com[b]";
/// A maintainer of the repo, with an agent.
pub(crate) const BOB: &str = "bob@example.com";
pub(crate) const BOB_A: &str = "bob@example.com[a]";
/// A reader.
pub(crate) const EVE: &str = "eve@example.com";
/// Nobody here.
pub(crate) const OUT: &str = "out@example.com";

pub(crate) const REPO: &str = "acme/web";

/// More than any case posts.
const MOST_OPEN: u32 = 10_000;

/// A store with the repo and everybody in it.
pub(crate) async fn with_people(world: &World) -> Store {
    let store = with_operator(world).await;
    add_repo(&store, REPO, false).await;
    for (user, role) in [
        (ANN, Some(RepoRole::Contributor)),
        (BOB, Some(RepoRole::Maintainer)),
        (EVE, Some(RepoRole::Reader)),
        (OUT, None),
    ] {
        add_user(&store, user).await;
        if let Some(role) = role {
            let granted = store.grant(
                by(OPERATOR, 1),
                repo_name(REPO),
                name(user),
                Role::Repo(role),
            );
            granted.await.unwrap();
        }
    }
    for agent in [ANN_A, ANN_B, BOB_A] {
        let agent: Principal = name(agent);
        let user = agent.user_address().to_owned();
        store.add_agent(by(&user, 1), agent).await.unwrap();
    }
    store
}

pub(crate) fn fresh() -> Fresh {
    Fresh::draw(&SystemIds)
}

pub(crate) fn new_lane(title: &str) -> NewLane {
    NewLane {
        repo: repo_name(REPO),
        fresh: fresh(),
        title: title.to_owned(),
        description: String::new(),
        coordinators: Vec::new(),
        maintainers: Vec::new(),
        related: Vec::new(),
        most_open: 100,
    }
}

pub(crate) async fn propose(store: &Store, who: &str, title: &str) -> Lane {
    let lane = store.propose_lane(by(who, 5), new_lane(title)).await;
    lane.unwrap()
}

/// Makes somebody a coordinator or maintainer of a lane.
pub(crate) async fn on_lane(store: &Store, lane: &str, user: &str, role: LaneRole) {
    let role = Role::Lane {
        lane: lane.to_owned(),
        role,
    };
    let granted = store.grant(by(OPERATOR, 2), repo_name(REPO), name(user), role);
    granted.await.unwrap();
}

pub(crate) fn new_ask(kind: &str, title: &str) -> NewAsk {
    NewAsk {
        repo: repo_name(REPO),
        fresh: fresh(),
        lane: OWN_LANE.to_owned(),
        kind: kind.parse::<AskKind>().unwrap(),
        title: title.to_owned(),
        body: String::new(),
        depends_on: Vec::new(),
        priority: 0,
        scope: None,
        files: Vec::new(),
        changeset: None,
        most_open: MOST_OPEN,
    }
}

pub(crate) async fn post(store: &Store, ask: NewAsk) -> Ask {
    store.post_ask(by(ANN, 10), ask).await.unwrap()
}

/// A piece of work in `_repo`.
pub(crate) async fn work(store: &Store, title: &str) -> Ask {
    post(store, new_ask("work", title)).await
}

pub(crate) fn asked(ask: &str) -> AskRef {
    AskRef {
        repo: repo_name(REPO),
        lane: None,
        ask: ask.to_owned(),
    }
}

pub(crate) fn held(ask: &str) -> Held {
    Held {
        ask: asked(ask),
        fence: None,
    }
}

pub(crate) async fn claim(store: &Store, who: &str, ask: &str, at: i64) -> Result<Ask, Error> {
    store.claim_ask(by(who, at), asked(ask), LEASE).await
}

pub(crate) fn answering(ask: &str, verdict: Verdict) -> Answering {
    Answering {
        held: held(ask),
        verdict,
        note: None,
        changeset: None,
        no_change: false,
        fresh: fresh(),
    }
}

/// Claims and answers in one go.
pub(crate) async fn done(
    store: &Store,
    who: &str,
    ask: &str,
    verdict: Verdict,
) -> Result<Ask, Error> {
    claim(store, who, ask, 20).await?;
    store.answer_ask(by(who, 21), answering(ask, verdict)).await
}

pub(crate) fn file(path: &str, content: &str) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        content: Some(content.as_bytes().to_vec()),
        deleted: false,
        mode: None,
    }
}

pub(crate) fn change(path: &str) -> NewChangeset {
    NewChangeset {
        base_commit: Some("c1".to_owned()),
        message: "Change it".to_owned(),
        files: vec![file(path, "new\n")],
    }
}

/// Claims `ask` and answers it with a changeset of one file.
pub(crate) async fn made(store: &Store, who: &str, ask: &str, path: &str) -> Ask {
    claim(store, who, ask, 20).await.unwrap();
    let made = Answering {
        changeset: Some(change(path)),
        ..answering(ask, Verdict::Complete)
    };
    store.answer_ask(by(who, 21), made).await.unwrap()
}

/// The ask that an answer posted.
pub(crate) async fn next(store: &Store, ask: &Ask) -> Ask {
    let answer = ask.answer.as_ref().unwrap();
    let posted = answer.payload["posted"].as_str().unwrap().to_owned();
    let next = store.ask(repo_name(REPO), posted).await.unwrap();
    next.unwrap()
}

#[track_caller]
pub(crate) fn is_conflict<T: std::fmt::Debug>(outcome: Result<T, Error>, words: &str) {
    match outcome {
        Err(Error::Conflict(message)) if message.contains(words) => {}
        other => panic!("expected a conflict about {words:?}, not {other:?}"),
    }
}

#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "cases hand over what a call gave, as to the others here"
)]
pub(crate) fn is_not_allowed<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    assert!(matches!(outcome, Err(Error::NotAllowed(_))), "{outcome:?}");
}

#[track_caller]
pub(crate) fn is_invalid<T: std::fmt::Debug>(outcome: Result<T, Error>, words: &str) {
    match outcome {
        Err(Error::Invalid(message)) if message.contains(words) => {}
        other => panic!("expected a refusal about {words:?}, not {other:?}"),
    }
}
