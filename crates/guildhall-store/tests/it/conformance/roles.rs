use guildhall_core::{LaneRole, RepoRole};
use guildhall_store::{
    Error, Lanes as _, OWN_LANE, Position, Principals as _, Repos as _, Role, Roles as _, Standing,
    Store,
};

use crate::lane_world::new_lane;
use crate::world::{OPERATOR, World, add_repo, add_user, by, name, repo_name, with_operator};

const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";

async fn with_people(world: &World) -> Store {
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    add_user(&store, BOB).await;
    add_repo(&store, "acme/web", false).await;
    store
}

async fn grant(store: &Store, who: &str, user: &str, role: RepoRole) -> Result<(), Error> {
    let role = Role::Repo(role);
    let granted = store.grant(by(who, 2), repo_name("acme/web"), name(user), role);
    granted.await.map(drop)
}

async fn standing(store: &Store, who: &str, lane: Option<&str>) -> Standing {
    let lane = lane.map(str::to_owned);
    store
        .standing(Some(name(who)), repo_name("acme/web"), lane)
        .await
        .unwrap()
}

pub(super) async fn only_an_owner_in_person_grants(world: &World) {
    let store = with_people(world).await;
    for who in [ANN, "owner@example.com[claude]", "no@body.org"] {
        let granted = grant(&store, who, BOB, RepoRole::Reader).await;
        assert!(matches!(granted, Err(Error::NotAllowed(_))), "{who}");
    }
    grant(&store, OPERATOR, ANN, RepoRole::Maintainer)
        .await
        .unwrap();
    let maintainer = grant(&store, ANN, ANN, RepoRole::Owner).await;
    assert!(matches!(maintainer, Err(Error::NotAllowed(_))));
    grant(&store, OPERATOR, ANN, RepoRole::Owner).await.unwrap();
    grant(&store, ANN, BOB, RepoRole::Contributor)
        .await
        .unwrap();
    let agent = grant(&store, ANN, "bob@example.com[x]", RepoRole::Reader).await;
    assert!(matches!(agent, Err(Error::Invalid(_))));
    let unknown = grant(&store, ANN, "no@body.org", RepoRole::Reader).await;
    assert!(matches!(unknown, Err(Error::Missing { .. })));
}

pub(super) async fn an_agent_has_its_users_roles(world: &World) {
    let store = with_people(world).await;
    grant(&store, OPERATOR, ANN, RepoRole::Contributor)
        .await
        .unwrap();
    let agent = name("ann@example.com[claude]");
    store.add_agent(by(ANN, 2), agent.clone()).await.unwrap();
    let repo = standing(&store, agent.name(), None).await.repo;
    assert_eq!(repo, Some(RepoRole::Contributor));
    store.disable(by(ANN, 3), agent.clone()).await.unwrap();
    assert_eq!(
        standing(&store, agent.name(), None).await,
        Standing::default()
    );
    // An agent nobody made has nothing, whoever its user is.
    let made_up = standing(&store, "owner@example.com[x]", None).await;
    assert_eq!(made_up, Standing::default());
    let operator = standing(&store, OPERATOR, None).await.repo;
    assert_eq!(operator, Some(RepoRole::Owner));
}

pub(super) async fn a_repo_role_is_replaced_and_withdrawn(world: &World) {
    let store = with_people(world).await;
    grant(&store, OPERATOR, ANN, RepoRole::Owner).await.unwrap();
    grant(&store, OPERATOR, ANN, RepoRole::Reader)
        .await
        .unwrap();
    assert_eq!(
        standing(&store, ANN, None).await.repo,
        Some(RepoRole::Reader)
    );
    let withdraw = |role| {
        store.withdraw(
            by(OPERATOR, 3),
            repo_name("acme/web"),
            name(ANN),
            Role::Repo(role),
        )
    };
    let other = withdraw(RepoRole::Owner).await;
    assert!(matches!(other, Err(Error::Missing { .. })));
    withdraw(RepoRole::Reader).await.unwrap();
    assert_eq!(standing(&store, ANN, None).await, Standing::default());
    assert_eq!(store.grants(repo_name("acme/web")).await.unwrap(), []);
}

pub(super) async fn lane_roles_come_with_the_repos_and_by_grant(world: &World) {
    let store = with_people(world).await;
    let lane = |lane: &str, role| Role::Lane {
        lane: lane.to_owned(),
        role,
    };
    let nowhere = lane("lane-ffffffffff", LaneRole::Maintainer);
    let nowhere = store.grant(by(OPERATOR, 2), repo_name("acme/web"), name(ANN), nowhere);
    assert!(matches!(
        nowhere.await,
        Err(Error::Missing { what: "lane", .. })
    ));
    let proposed = store.propose_lane(by(OPERATOR, 2), new_lane("Search"));
    let one = proposed.await.unwrap().id;
    grant(&store, OPERATOR, ANN, RepoRole::Contributor)
        .await
        .unwrap();
    for role in [LaneRole::Coordinator, LaneRole::Maintainer] {
        let role = lane(&one, role);
        let granted = store.grant(by(OPERATOR, 2), repo_name("acme/web"), name(ANN), role);
        granted.await.unwrap();
    }
    assert_eq!(store.grants(repo_name("acme/web")).await.unwrap().len(), 4);
    let both = Standing {
        repo: Some(RepoRole::Contributor),
        coordinator: true,
        maintainer: true,
        coordinates: true,
    };
    assert_eq!(standing(&store, ANN, Some(&one)).await, both);
    let elsewhere = standing(&store, ANN, Some("lane-ffffffffff")).await;
    assert_eq!(
        (
            elsewhere.coordinator,
            elsewhere.maintainer,
            elsewhere.coordinates
        ),
        (false, false, true)
    );
    let history = store.lane_history(repo_name("acme/web"), one.clone(), Position::default(), 10);
    let kinds: Vec<_> = history
        .await
        .unwrap()
        .into_iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(kinds, ["lane.proposed", "role.granted", "role.granted"]);
    let own = lane(OWN_LANE, LaneRole::Maintainer);
    let own = store.grant(by(OPERATOR, 2), repo_name("acme/web"), name(ANN), own);
    assert!(matches!(own.await, Err(Error::Invalid(_))));

    grant(&store, OPERATOR, BOB, RepoRole::Maintainer)
        .await
        .unwrap();
    let on_lane = standing(&store, BOB, Some(&one)).await;
    assert_eq!((on_lane.coordinator, on_lane.maintainer), (false, true));
    let on_own = standing(&store, BOB, Some(OWN_LANE)).await;
    assert_eq!((on_own.coordinator, on_own.maintainer), (true, true));
}

pub(super) async fn a_public_repo_is_read_by_anybody(world: &World) {
    let store = with_people(world).await;
    let anybody = || store.standing(None, repo_name("acme/web"), None);
    assert_eq!(anybody().await.unwrap(), Standing::default());
    let set = |who| store.set_public(by(who, 2), repo_name("acme/web"), true);
    assert!(matches!(set(ANN).await, Err(Error::NotAllowed(_))));
    assert!(set(OPERATOR).await.unwrap().public);
    assert_eq!(anybody().await.unwrap().repo, Some(RepoRole::Reader));
    assert_eq!(
        standing(&store, ANN, None).await.repo,
        Some(RepoRole::Reader)
    );
    let nowhere = store.standing(Some(name(OPERATOR)), repo_name("acme/x"), None);
    assert_eq!(nowhere.await.unwrap(), Standing::default());
}

pub(super) async fn of_grants_at_once_one_holds(world: &World) {
    let store = with_people(world).await;
    let roles = [
        RepoRole::Reader,
        RepoRole::Maintainer,
        RepoRole::Contributor,
        RepoRole::Owner,
    ];
    for _ in 0..8 {
        let grants = roles.map(|role| grant(&store, OPERATOR, ANN, role));
        futures::future::try_join_all(grants).await.unwrap();
        let held = store.grants(repo_name("acme/web")).await.unwrap();
        assert_eq!(held.len(), 1, "{held:?}");
    }
}

pub(super) async fn lanes_are_for_who_contributes(world: &World) {
    let store = with_people(world).await;
    let proposed = store.propose_lane(by(OPERATOR, 2), new_lane("Search"));
    let lane = proposed.await.unwrap().id;
    let on_lane = |role| {
        let role = Role::Lane {
            lane: lane.clone(),
            role,
        };
        store.grant(by(OPERATOR, 3), repo_name("acme/web"), name(ANN), role)
    };
    grant(&store, OPERATOR, ANN, RepoRole::Reader)
        .await
        .unwrap();
    let refused = on_lane(LaneRole::Maintainer).await;
    assert!(matches!(refused, Err(Error::NotAllowed(_))), "{refused:?}");
    grant(&store, OPERATOR, ANN, RepoRole::Contributor)
        .await
        .unwrap();
    for role in [LaneRole::Maintainer, LaneRole::Coordinator] {
        on_lane(role).await.unwrap();
    }
    let both = |standing: Standing| (standing.maintainer, standing.coordinator);
    assert_eq!(both(standing(&store, ANN, Some(&lane)).await), (true, true));
    // Whoever no longer contributes keeps no part in a lane.
    grant(&store, OPERATOR, ANN, RepoRole::Reader)
        .await
        .unwrap();
    assert_eq!(
        both(standing(&store, ANN, Some(&lane)).await),
        (false, false)
    );
}

pub(super) async fn what_somebody_may_read_is_told_at_once(world: &World) {
    let store = with_people(world).await;
    add_repo(&store, "acme/open", true).await;
    add_repo(&store, "acme/secret", false).await;
    grant(&store, OPERATOR, ANN, RepoRole::Contributor)
        .await
        .unwrap();
    let readable = |user: Option<&str>| {
        let told = store.readable(user.map(name));
        async {
            let told = told.await.unwrap().into_iter();
            told.map(|(repo, role)| (repo.name.name().to_owned(), role))
                .collect::<Vec<_>>()
        }
    };
    let of = |list: &[(&str, RepoRole)]| -> Vec<(String, RepoRole)> {
        list.iter()
            .map(|(n, role)| ((*n).to_owned(), *role))
            .collect()
    };
    let (contributor, owner, reader) = (RepoRole::Contributor, RepoRole::Owner, RepoRole::Reader);
    let all = of(&[("open", owner), ("secret", owner), ("web", owner)]);
    assert_eq!(readable(Some(OPERATOR)).await, all);
    let anns = of(&[("open", reader), ("web", contributor)]);
    assert_eq!(readable(Some(ANN)).await, anns);
    for nobody in [Some(BOB), Some("no@body.org"), None] {
        assert_eq!(readable(nobody).await, of(&[("open", reader)]));
    }
    store.disable(by(OPERATOR, 9), name(ANN)).await.unwrap();
    assert_eq!(readable(Some(ANN)).await, of(&[("open", reader)]));
}
