use guildhall_store::{Error, Logins as _, NewLogin, Principals as _, Redeemed};

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

pub(super) async fn a_login_is_approved_and_used_once(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    store.begin(at(2), login()).await.unwrap();
    let same = store.begin(at(2), login()).await;
    assert!(matches!(same, Err(Error::Taken { .. })));
    let waiting = store.waiting(TYPED, at(3)).await.unwrap().unwrap();
    assert_eq!(waiting.client, "guildhall on laptop");
    assert_eq!(
        store.redeem(DEVICE, at(3)).await.unwrap(),
        Redeemed::Waiting
    );
    let agent = store.decide(by("ann@example.com[x]", 3), TYPED, true).await;
    assert!(matches!(agent, Err(Error::NotAllowed(_))));
    let unknown = store.decide(by(ANN, 3), [9; 32], true).await;
    assert!(matches!(unknown, Err(Error::Missing { .. })));
    store.decide(by(ANN, 4), TYPED, true).await.unwrap();
    let again = store.decide(by(OPERATOR, 4), TYPED, true).await;
    assert!(matches!(again, Err(Error::Missing { .. })));
    assert_eq!(store.waiting(TYPED, at(5)).await.unwrap(), None);
    let signed_in = store.redeem(DEVICE, at(5)).await.unwrap();
    assert_eq!(signed_in, Redeemed::As(name(ANN)));
    assert_eq!(store.redeem(DEVICE, at(5)).await.unwrap(), Redeemed::Gone);
    // The typed code is no device code.
    assert_eq!(store.redeem(TYPED, at(5)).await.unwrap(), Redeemed::Gone);
}

pub(super) async fn a_login_is_denied(world: &World) {
    let store = with_operator(world).await;
    store.begin(at(2), login()).await.unwrap();
    store.decide(by(OPERATOR, 3), TYPED, false).await.unwrap();
    assert_eq!(store.redeem(DEVICE, at(4)).await.unwrap(), Redeemed::Denied);
    let late = store.decide(by(OPERATOR, 5), TYPED, true).await;
    assert!(matches!(late, Err(Error::Missing { .. })));
}

pub(super) async fn a_login_ends_with_its_time(world: &World) {
    let store = with_operator(world).await;
    store.begin(at(2), login()).await.unwrap();
    let late = store.decide(by(OPERATOR, 600), TYPED, true).await;
    assert!(matches!(late, Err(Error::Missing { .. })));
    store.decide(by(OPERATOR, 599), TYPED, true).await.unwrap();
    assert_eq!(store.redeem(DEVICE, at(600)).await.unwrap(), Redeemed::Gone);
    assert_eq!(store.sweep(at(599)).await.unwrap(), 0);
    assert_eq!(store.sweep(at(600)).await.unwrap(), 1);
    assert_eq!(store.redeem(DEVICE, at(599)).await.unwrap(), Redeemed::Gone);
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
    let signed_in = store.redeem([4; 32], at(3)).await.unwrap();
    assert_eq!(signed_in, Redeemed::As(name(ANN)));
    // Whoever was disabled in between is not signed in.
    store.disable(by(OPERATOR, 4), name(ANN)).await.unwrap();
    assert_eq!(store.redeem([5; 32], at(5)).await.unwrap(), Redeemed::Gone);
    let disabled = handed([6; 32]).await;
    assert!(matches!(disabled, Err(Error::Missing { .. })));
}

pub(super) async fn many_at_once_redeem_a_login_once(world: &World) {
    let store = with_operator(world).await;
    store.begin(at(2), login()).await.unwrap();
    store.decide(by(OPERATOR, 3), TYPED, true).await.unwrap();
    let tries = (0..16).map(|_| store.redeem(DEVICE, at(4)));
    let outcomes = futures::future::try_join_all(tries).await.unwrap();
    let signed_in = |redeemed: &&Redeemed| **redeemed == Redeemed::As(name(OPERATOR));
    assert_eq!(outcomes.iter().filter(signed_in).count(), 1);
}
