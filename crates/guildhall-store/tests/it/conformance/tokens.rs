use guildhall_store::{Error, NewToken, Principals as _, Store, TokenInfo, Tokens as _};

use crate::world::{OPERATOR, World, add_user, at, by, name, with_operator};

const ANN: &str = "ann@example.com";
const CLAUDE: &str = "ann@example.com[claude]";

fn token(id: &str, hash: u8, principal: &str) -> NewToken {
    NewToken {
        id: id.to_owned(),
        hash: [hash; 32],
        principal: name(principal),
        expires_at: None,
        repos: None,
        tools: None,
        bound: None,
    }
}

async fn with_claude(world: &World) -> Store {
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    store.add_agent(by(ANN, 1), name(CLAUDE)).await.unwrap();
    store
}

async fn issue(store: &Store, token: NewToken) -> TokenInfo {
    store.issue(by(ANN, 2), token).await.unwrap()
}

pub(super) async fn a_token_is_found_by_its_hash_until_it_ends(world: &World) {
    let store = with_claude(world).await;
    let lasting = issue(&store, token("tok-1", 1, CLAUDE)).await;
    let expiring = NewToken {
        expires_at: Some(at(100)),
        ..token("tok-2", 2, CLAUDE)
    };
    let expiring = issue(&store, expiring).await;
    let found = |hash: u8, seconds| {
        let store = store.clone();
        async move {
            let bearer = store.bearer([hash; 32], at(seconds)).await.unwrap();
            bearer.map(|bearer| bearer.token)
        }
    };
    assert_eq!(found(1, 3).await, Some(lasting.clone()));
    assert_eq!(found(2, 99).await, Some(expiring.clone()));
    assert_eq!(found(2, 100).await, None);
    assert_eq!(found(3, 3).await, None);
    let revoked = store.revoke(by(ANN, 5), "tok-1").await.unwrap();
    assert_eq!(revoked.revoked_at, Some(at(5)));
    assert_eq!(found(1, 3).await, None);
    let twice = store.revoke(by(ANN, 6), "tok-1").await.unwrap();
    assert_eq!(twice, revoked);
    assert_eq!(
        store.tokens_of(name(CLAUDE)).await.unwrap(),
        [revoked, expiring]
    );
    let same = store.issue(by(ANN, 2), token("tok-2", 9, CLAUDE)).await;
    assert!(matches!(same, Err(Error::Taken { .. })));
}

pub(super) async fn limits_come_back_as_they_were_given(world: &World) {
    let store = with_claude(world).await;
    let limited = NewToken {
        repos: Some(vec!["acme/web".to_owned()]),
        tools: Some(Vec::new()),
        ..token("tok-1", 1, CLAUDE)
    };
    issue(&store, limited).await;
    let bearer = store.bearer([1; 32], at(3)).await.unwrap().unwrap();
    assert_eq!(bearer.token.repos, Some(vec!["acme/web".to_owned()]));
    assert_eq!(bearer.token.tools, Some(Vec::new()));
    assert!(!bearer.operator);
    let own = store.issue(by(OPERATOR, 2), token("tok-2", 2, OPERATOR));
    own.await.unwrap();
    assert!(
        store
            .bearer([2; 32], at(3))
            .await
            .unwrap()
            .unwrap()
            .operator
    );
}

pub(super) async fn who_is_disabled_has_no_token(world: &World) {
    let store = with_claude(world).await;
    add_user(&store, "bob@example.com").await;
    let bobs = name("bob@example.com[x]");
    store
        .add_agent(by("bob@example.com", 1), bobs.clone())
        .await
        .unwrap();
    issue(&store, token("tok-1", 1, CLAUDE)).await;
    let bob = token("tok-2", 2, "bob@example.com[x]");
    store.issue(by(OPERATOR, 2), bob).await.unwrap();
    // An agent by itself, and an agent by its user.
    store.disable(by(ANN, 3), name(CLAUDE)).await.unwrap();
    store
        .disable(by(OPERATOR, 3), name("bob@example.com"))
        .await
        .unwrap();
    assert_eq!(store.bearer([1; 32], at(4)).await.unwrap(), None);
    assert_eq!(store.bearer([2; 32], at(4)).await.unwrap(), None);
    for (id, who) in [("tok-3", CLAUDE), ("tok-4", "bob@example.com[x]")] {
        let made = store.issue(by(OPERATOR, 5), token(id, 9, who)).await;
        assert!(matches!(made, Err(Error::Missing { .. })), "{who}");
    }
}

pub(super) async fn every_token_is_listed_by_its_principal(world: &World) {
    let store = with_claude(world).await;
    let mut ids = Vec::new();
    for (id, hash, who) in [
        ("tok-1", 1, OPERATOR),
        ("tok-2", 2, CLAUDE),
        ("tok-3", 3, ANN),
    ] {
        let made = store.issue(by(OPERATOR, 2), token(id, hash, who)).await;
        ids.push((made.unwrap().principal, id.to_owned()));
    }
    ids.sort();
    let listed = store.all_tokens().await.unwrap();
    let listed: Vec<_> = listed
        .into_iter()
        .map(|token| (token.principal, token.id))
        .collect();
    assert_eq!(listed, ids);
}

pub(super) async fn only_the_user_in_person_or_an_operator_makes_tokens(world: &World) {
    let store = with_claude(world).await;
    add_user(&store, "bob@example.com").await;
    for who in [CLAUDE, "bob@example.com", "owner@example.com[x]"] {
        let made = store.issue(by(who, 2), token("tok-1", 1, CLAUDE)).await;
        assert!(matches!(made, Err(Error::NotAllowed(_))), "{who}");
    }
    issue(&store, token("tok-1", 1, CLAUDE)).await;
    for who in [CLAUDE, "bob@example.com"] {
        let revoked = store.revoke(by(who, 2), "tok-1").await;
        assert!(matches!(revoked, Err(Error::NotAllowed(_))), "{who}");
    }
    store.revoke(by(OPERATOR, 2), "tok-1").await.unwrap();
    let unknown = store.revoke(by(OPERATOR, 2), "tok-9").await;
    assert!(matches!(unknown, Err(Error::Missing { .. })));
}

pub(super) async fn the_last_use_is_written_once_a_minute(world: &World) {
    let store = with_claude(world).await;
    issue(&store, token("tok-1", 1, CLAUDE)).await;
    for (used, kept) in [(10, 10), (60, 10), (70, 70), (20, 70)] {
        store.used("tok-1", at(used)).await.unwrap();
        let bearer = store.bearer([1; 32], at(used)).await.unwrap().unwrap();
        assert_eq!(bearer.token.last_used_at, Some(at(kept)), "used at {used}");
    }
}
