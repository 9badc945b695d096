use guildhall_store::{Account, Act, Error, Once, Principals as _, Repos as _, Store};

use crate::world::{OPERATOR, World, add_repo, at, by, name, repo_name, with_operator};

fn under(key: &str, arguments: u8, seconds: i64) -> Act {
    by(OPERATOR, seconds).once(Once {
        tool: "user_add".to_owned(),
        key: key.to_owned(),
        arguments: [arguments; 32],
        repo: None,
    })
}

async fn add(store: &Store, act: Act, user: &str) -> Result<Account, Error> {
    store.add_user(act, name(user)).await
}

pub(super) async fn a_key_gives_the_first_answer(world: &World) {
    let store = with_operator(world).await;
    let first = add(&store, under("k", 1, 10), "ann@example.com")
        .await
        .unwrap();
    let again = add(&store, under("k", 1, 20), "ann@example.com")
        .await
        .unwrap();
    assert_eq!(again, first);
    // A key belongs to one tool.
    let other = by(OPERATOR, 20).once(Once {
        tool: "user_add_again".to_owned(),
        key: "k".to_owned(),
        arguments: [1; 32],
        repo: None,
    });
    let other = add(&store, other, "ann@example.com").await;
    assert!(matches!(other, Err(Error::Taken { .. })));
}

pub(super) async fn a_key_with_other_arguments_is_refused(world: &World) {
    let store = with_operator(world).await;
    add(&store, under("k", 1, 10), "ann@example.com")
        .await
        .unwrap();
    let reused = add(&store, under("k", 2, 20), "bob@example.com").await;
    assert!(matches!(reused, Err(Error::KeyReused { .. })));
    assert_eq!(store.account(name("bob@example.com")).await.unwrap(), None);
}

pub(super) async fn a_refused_change_leaves_no_key(world: &World) {
    let store = with_operator(world).await;
    let refused = add(&store, under("k", 1, 10), "ann@example.com[x]").await;
    assert!(matches!(refused, Err(Error::Invalid(_))));
    add(&store, under("k", 2, 11), "ann@example.com")
        .await
        .unwrap();
}

pub(super) async fn a_key_lives_a_day(world: &World) {
    const DAY: i64 = 24 * 60 * 60;
    let store = with_operator(world).await;
    add(&store, under("k", 1, 0), "ann@example.com")
        .await
        .unwrap();
    let last = add(&store, under("k", 2, DAY - 1), "bob@example.com").await;
    assert!(matches!(last, Err(Error::KeyReused { .. })));
    add(&store, under("k", 2, DAY), "bob@example.com")
        .await
        .unwrap();
    let replaced = add(&store, under("k", 1, DAY), "ann@example.com").await;
    assert!(matches!(replaced, Err(Error::KeyReused { .. })));
    assert_eq!(store.sweep(at(2 * DAY - 1)).await.unwrap(), 0);
    assert_eq!(store.sweep(at(2 * DAY)).await.unwrap(), 1);
}

pub(super) async fn many_at_once_under_one_key_do_it_once(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    // Each move by itself would go through once only: the others get its answer.
    let tries = (0..16).map(|_| {
        let web = repo_name("acme/web");
        store.move_head(under("k", 1, 10), web, None, "c1".to_owned())
    });
    let answers = futures::future::try_join_all(tries).await.unwrap();
    assert!(
        answers
            .iter()
            .all(|repo| repo.head.as_deref() == Some("c1"))
    );
}

pub(super) async fn blank_and_long_keys_are_refused(world: &World) {
    let store = with_operator(world).await;
    for key in [String::new(), "  ".to_owned(), "k".repeat(201)] {
        let refused = add(&store, under(&key, 1, 10), "ann@example.com").await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{key:?}");
    }
    let longest = under(&"k".repeat(200), 1, 10);
    add(&store, longest, "ann@example.com").await.unwrap();
}
