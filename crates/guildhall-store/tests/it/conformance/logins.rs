use guildhall_core::{Ids as _, SystemIds};
use guildhall_store::{
    Error, LoginToken, Logins as _, NewLogin, Principals as _, Redeemed, Store, Tokens as _,
};

use crate::world::{OPERATOR, World, add_user, at, by, name, with_operator};

const ANN: &str = "ann@example.com";
const DEVICE: [u8; 32] = [1; 32];
const TYPED: [u8; 32] = [2; 32];

fn login() -> NewLogin {
    NewLogin {
        device: DEVICE,
        typed: Some(TYPED),
        client: "guildhall on laptop".to_owned(),
        expires_at: at(600),
    }
}

fn token(id: &str, hash: u8) -> LoginToken {
    LoginToken {
        id: id.to_owned(),
        hash: [hash; 32],
        expires_at: None,
        repos: None,
        tools: Some(vec!["git_log".to_owned()]),
    }
}

/// Uses a login for a token of its own.
async fn redeem(store: &Store, device: [u8; 32], second: i64) -> Result<Redeemed, Error> {
    let id = SystemIds.hex(16);
    let mut token = token(&id, 0);
    token.hash[..32].copy_from_slice(id.as_bytes());
    store.redeem(device, at(second), token).await
}

pub(super) async fn a_login_is_approved_and_used_once(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    store.begin(at(2), login()).await.unwrap();
    let same = store.begin(at(2), login()).await;
    assert!(matches!(same, Err(Error::Taken { .. })));
    let waiting = store.waiting(TYPED, at(3)).await.unwrap().unwrap();
    assert_eq!(waiting.client, "guildhall on laptop");
    assert_eq!(redeem(&store, DEVICE, 3).await.unwrap(), Redeemed::Waiting);
    let agent = store.decide(by("ann@example.com[x]", 3), TYPED, true).await;
    assert!(matches!(agent, Err(Error::NotAllowed(_))));
    let unknown = store.decide(by(ANN, 3), [9; 32], true).await;
    assert!(matches!(unknown, Err(Error::Missing { .. })));
    store.decide(by(ANN, 4), TYPED, true).await.unwrap();
    let again = store.decide(by(OPERATOR, 4), TYPED, true).await;
    assert!(matches!(again, Err(Error::Missing { .. })));
    assert_eq!(store.waiting(TYPED, at(5)).await.unwrap(), None);
    let signed_in = redeem(&store, DEVICE, 5).await.unwrap();
    assert_eq!(signed_in, Redeemed::As(name(ANN)));
    assert_eq!(redeem(&store, DEVICE, 5).await.unwrap(), Redeemed::Gone);
    // The typed code is no device code.
    assert_eq!(redeem(&store, TYPED, 5).await.unwrap(), Redeemed::Gone);
}

pub(super) async fn a_login_is_denied(world: &World) {
    let store = with_operator(world).await;
    store.begin(at(2), login()).await.unwrap();
    store.decide(by(OPERATOR, 3), TYPED, false).await.unwrap();
    assert_eq!(redeem(&store, DEVICE, 4).await.unwrap(), Redeemed::Denied);
    let late = store.decide(by(OPERATOR, 5), TYPED, true).await;
    assert!(matches!(late, Err(Error::Missing { .. })));
}

pub(super) async fn a_login_ends_with_its_time(world: &World) {
    let store = with_operator(world).await;
    store.begin(at(2), login()).await.unwrap();
    let late = store.decide(by(OPERATOR, 600), TYPED, true).await;
    assert!(matches!(late, Err(Error::Missing { .. })));
    store.decide(by(OPERATOR, 599), TYPED, true).await.unwrap();
    assert_eq!(redeem(&store, DEVICE, 600).await.unwrap(), Redeemed::Gone);
    assert_eq!(store.sweep(at(599)).await.unwrap(), 0);
    assert_eq!(store.sweep(at(600)).await.unwrap(), 1);
    assert_eq!(redeem(&store, DEVICE, 599).await.unwrap(), Redeemed::Gone);
}

pub(super) async fn a_one_time_code_signs_its_user_in(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    let code = |device| NewLogin {
        device,
        typed: None,
        ..login()
    };
    let theirs = store
        .hand_out(by(ANN, 2), code([4; 32]), name(OPERATOR))
        .await;
    assert!(matches!(theirs, Err(Error::NotAllowed(_))));
    let handed = |device| store.hand_out(by(OPERATOR, 2), code(device), name(ANN));
    handed([4; 32]).await.unwrap();
    handed([5; 32]).await.unwrap();
    let signed_in = redeem(&store, [4; 32], 3).await.unwrap();
    assert_eq!(signed_in, Redeemed::As(name(ANN)));
    // Whoever was disabled in between is not signed in.
    store.disable(by(OPERATOR, 4), name(ANN)).await.unwrap();
    assert_eq!(redeem(&store, [5; 32], 5).await.unwrap(), Redeemed::Gone);
    let disabled = handed([6; 32]).await;
    assert!(matches!(disabled, Err(Error::Missing { .. })));
}

pub(super) async fn a_login_gives_its_token_or_is_not_used(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    store.begin(at(2), login()).await.unwrap();
    let waits = store.redeem(DEVICE, at(3), token("tok-1", 21)).await;
    assert_eq!(waits.unwrap(), Redeemed::Waiting);
    assert_eq!(store.tokens_of(name(ANN)).await.unwrap(), []);
    store.decide(by(ANN, 4), TYPED, true).await.unwrap();

    // A token that cannot be made leaves the login as it was.
    let taken = token("tok-1", 21).of(&name(OPERATOR));
    store.issue(by(OPERATOR, 5), taken).await.unwrap();
    let failed = store.redeem(DEVICE, at(6), token("tok-1", 22)).await;
    assert!(matches!(failed, Err(Error::Taken { .. })));

    let signed_in = store.redeem(DEVICE, at(7), token("tok-2", 23)).await;
    assert_eq!(signed_in.unwrap(), Redeemed::As(name(ANN)));
    let bearer = store.bearer([23; 32], at(8)).await.unwrap().unwrap();
    assert_eq!(bearer.token.principal, name(ANN));
    assert_eq!(bearer.token.created_by, name(ANN));
    assert_eq!(bearer.token.tools.unwrap(), ["git_log"]);
    let again = store.redeem(DEVICE, at(8), token("tok-3", 24)).await;
    assert_eq!(again.unwrap(), Redeemed::Gone);
    assert_eq!(store.bearer([24; 32], at(8)).await.unwrap(), None);
}

pub(super) async fn many_at_once_redeem_a_login_once(world: &World) {
    let store = with_operator(world).await;
    store.begin(at(2), login()).await.unwrap();
    store.decide(by(OPERATOR, 3), TYPED, true).await.unwrap();
    let tries = (0..16).map(|_| redeem(&store, DEVICE, 4));
    let outcomes = futures::future::try_join_all(tries).await.unwrap();
    let signed_in = |redeemed: &&Redeemed| **redeemed == Redeemed::As(name(OPERATOR));
    assert_eq!(outcomes.iter().filter(signed_in).count(), 1);
}
