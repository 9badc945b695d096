use guildhall_store::{Error, Events as _, NewRepo, Repos as _, Stream};

use crate::world::{OPERATOR, World, add_repo, add_user, at, by, repo_name, with_operator};

pub(super) async fn a_name_is_exact_and_taken_in_any_case(world: &World) {
    let store = with_operator(world).await;
    let web = add_repo(&store, "acme/Web", false).await;
    assert_eq!(store.repo(repo_name("acme/Web")).await.unwrap(), Some(web));
    assert_eq!(store.repo(repo_name("acme/web")).await.unwrap(), None);
    let other = |name| NewRepo {
        name: repo_name(name),
        public: true,
        default_branch: "main".to_owned(),
        head: Some("c1".to_owned()),
        origin: Some("https://example.com/acme.git".to_owned()),
    };
    for taken in ["acme/Web", "ACME/web"] {
        let added = store.add_repo(by(OPERATOR, 2), other(taken)).await;
        assert!(matches!(added, Err(Error::Taken { .. })), "{taken}");
    }
    add_user(&store, "ann@example.com").await;
    let refused = store.add_repo(by("ann@example.com", 2), other("acme/api"));
    assert!(matches!(refused.await, Err(Error::NotAllowed(_))));
    let api = store
        .add_repo(by(OPERATOR, 2), other("acme/api"))
        .await
        .unwrap();
    assert_eq!((api.created_at, api.public), (at(2), true));
    let names: Vec<_> = store
        .repos()
        .await
        .unwrap()
        .into_iter()
        .map(|repo| repo.name.to_string())
        .collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"acme/api".to_owned()));
}

pub(super) async fn the_head_moves_only_from_where_it_is(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let web = repo_name("acme/web");
    let moves = |from: Option<&str>, to: &str| {
        let from = from.map(str::to_owned);
        store.move_head(by(OPERATOR, 2), web.clone(), from, to.to_owned())
    };
    assert_eq!(moves(None, "c1").await.unwrap().head.as_deref(), Some("c1"));
    for wrong in [None, Some("c0")] {
        match moves(wrong, "c2").await {
            Err(Error::Moved { found, .. }) => assert_eq!(found.as_deref(), Some("c1")),
            other => panic!("{wrong:?}: {other:?}"),
        }
    }
    moves(Some("c1"), "c2").await.unwrap();
    let missing = store.move_head(by(OPERATOR, 2), repo_name("acme/x"), None, "c".to_owned());
    assert!(matches!(missing.await, Err(Error::Missing { .. })));
}

pub(super) async fn one_of_many_moves_of_the_head_wins(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let tries = (0..16).map(|n| {
        store.move_head(
            by(OPERATOR, 2),
            repo_name("acme/web"),
            None,
            format!("c{n}"),
        )
    });
    let outcomes = futures::future::join_all(tries).await;
    let winners: Vec<_> = outcomes.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    let kept = store.repo(repo_name("acme/web")).await.unwrap();
    assert_eq!(kept.as_ref(), winners.first());
}

pub(super) async fn a_removed_repo_leaves_its_events(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let web = repo_name("acme/web");
    store
        .remove_repo(by(OPERATOR, 2), web.clone())
        .await
        .unwrap();
    assert_eq!(store.repo(web.clone()).await.unwrap(), None);
    let again = store.remove_repo(by(OPERATOR, 2), web.clone()).await;
    assert!(matches!(again, Err(Error::Missing { .. })));
    add_repo(&store, "acme/web", false).await;
    let events = store.of_stream(&Stream::repo(&web), 0, 10).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["repo.added", "repo.removed", "repo.added"]);
}
