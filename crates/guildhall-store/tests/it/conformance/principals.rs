use guildhall_store::{Error, NewToken, Principals as _, Tokens as _};

use crate::world::{OPERATOR, World, add_user, at, by, name, with_operator};

pub(super) async fn the_operator_is_made_once(world: &World) {
    let store = world.open().await;
    let first = store.ensure_operator(at(0), name(OPERATOR)).await.unwrap();
    assert!(first.operator);
    let again = store.ensure_operator(at(9), name(OPERATOR)).await.unwrap();
    assert_eq!(again, first);
    assert!(matches!(
        store.ensure_operator(at(0), name("a@b.c[x]")).await,
        Err(Error::Invalid(_))
    ));
    let disabled = store.disable(by(OPERATOR, 1), name(OPERATOR)).await;
    assert!(matches!(disabled, Err(Error::NotAllowed(_))));
}

pub(super) async fn only_operators_add_users(world: &World) {
    let store = with_operator(world).await;
    let ann = add_user(&store, "ann@example.com").await;
    assert_eq!(ann.created_by, name(OPERATOR));
    let bob = name("bob@example.com");
    for who in ["ann@example.com", "owner@example.com[claude]", "x@y.z"] {
        let added = store.add_user(by(who, 2), bob.clone()).await;
        assert!(matches!(added, Err(Error::NotAllowed(_))), "{who}");
    }
    let again = store
        .add_user(by(OPERATOR, 2), name("ann@example.com"))
        .await;
    assert!(matches!(again, Err(Error::Taken { .. })));
    let agent = store.add_user(by(OPERATOR, 2), name("ann@example.com[a]"));
    assert!(matches!(agent.await, Err(Error::Invalid(_))));
    assert_eq!(store.account(bob).await.unwrap(), None);
    let names: Vec<_> = store.users().await.unwrap();
    assert_eq!(names.len(), 2);
}

pub(super) async fn a_user_adds_their_own_agents(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, "ann@example.com").await;
    let claude = name("ann@example.com[claude]");
    let added = store
        .add_agent(by("ann@example.com", 2), claude.clone())
        .await
        .unwrap();
    assert_eq!(store.account(claude.clone()).await.unwrap(), Some(added));
    let codex = name("ann@example.com[codex]");
    store.add_agent(by(OPERATOR, 2), codex).await.unwrap();
    let listed = store.agents(name("ann@example.com")).await.unwrap();
    assert_eq!(
        listed
            .iter()
            .map(|a| a.principal.name())
            .collect::<Vec<_>>(),
        ["ann@example.com[claude]", "ann@example.com[codex]"]
    );
    for (who, agent) in [
        ("ann@example.com", "owner@example.com[x]"),
        ("ann@example.com[claude]", "ann@example.com[x]"),
    ] {
        let added = store.add_agent(by(who, 2), name(agent)).await;
        assert!(matches!(added, Err(Error::NotAllowed(_))), "{who} {agent}");
    }
    let unknown = store.add_agent(by(OPERATOR, 2), name("no@body.org[x]"));
    assert!(matches!(unknown.await, Err(Error::Missing { .. })));
}

pub(super) async fn a_disabled_user_takes_their_agents_along(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, "ann@example.com").await;
    let ann = name("ann@example.com");
    let by_herself = store.disable(by("ann@example.com", 2), ann.clone()).await;
    assert!(matches!(by_herself, Err(Error::NotAllowed(_))));
    let disabled = store.disable(by(OPERATOR, 3), ann.clone()).await.unwrap();
    assert_eq!(disabled.disabled_at, Some(at(3)));
    let twice = store.disable(by(OPERATOR, 4), ann).await.unwrap();
    assert_eq!(twice.disabled_at, Some(at(3)));
    let agent = store.add_agent(by(OPERATOR, 5), name("ann@example.com[x]"));
    assert!(matches!(agent.await, Err(Error::Missing { .. })));
}

pub(super) async fn an_agent_that_is_made_again_has_none_of_its_tokens(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, "ann@example.com").await;
    let (ann, claude) = ("ann@example.com", name("ann@example.com[claude]"));
    let first = store.add_agent(by(ann, 1), claude.clone()).await.unwrap();
    let token = |id: &str, hash: u8| NewToken {
        id: id.to_owned(),
        hash: [hash; 32],
        principal: claude.clone(),
        expires_at: None,
        repos: None,
        bound: None,
        tools: None,
    };
    store.issue(by(ann, 2), token("tok-1", 1)).await.unwrap();
    store.disable(by(ann, 3), claude.clone()).await.unwrap();
    let itself = store.add_agent(by("ann@example.com[claude]", 4), claude.clone());
    assert!(matches!(itself.await, Err(Error::NotAllowed(_))));
    let again = store.add_agent(by(ann, 4), claude.clone()).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(store.bearer([1; 32], at(5)).await.unwrap(), None);
    let kept = store.tokens_of(claude.clone()).await.unwrap();
    assert_eq!(kept[0].revoked_at, Some(at(4)));
    let told = super::events::whole_feed(world, &store).await;
    let told = told.iter().rev().take(2).map(|event| &*event.kind);
    assert_eq!(
        told.collect::<Vec<_>>(),
        ["principal.enabled", "token.revoked"]
    );
    store.issue(by(ann, 5), token("tok-2", 2)).await.unwrap();
    assert!(store.bearer([2; 32], at(6)).await.unwrap().is_some());
    let twice = store.add_agent(by(ann, 6), claude.clone()).await;
    assert!(matches!(twice, Err(Error::Taken { .. })));
    // An agent of a disabled user stays what it is.
    store.disable(by(ann, 7), claude.clone()).await.unwrap();
    store.disable(by(OPERATOR, 8), name(ann)).await.unwrap();
    let without_user = store.add_agent(by(OPERATOR, 9), claude).await;
    assert!(matches!(without_user, Err(Error::Missing { .. })));
}

pub(super) async fn names_are_taken_exactly_once_by_many_at_once(world: &World) {
    let store = with_operator(world).await;
    let tries = (0..16).map(|_| store.add_user(by(OPERATOR, 1), name("ann@example.com")));
    let outcomes = futures::future::join_all(tries).await;
    assert_eq!(outcomes.iter().filter(|done| done.is_ok()).count(), 1);
    let refused = |done: &Result<_, Error>| matches!(done, Err(Error::Taken { .. }));
    assert_eq!(outcomes.iter().filter(|done| refused(done)).count(), 15);
}
