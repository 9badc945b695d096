use guildhall_core::{RepoName, SystemClock};
use guildhall_store::{Act, NewRepo, Principals as _, Repos as _, Store};
use guildhall_tools::{Answer, Caller, Door, ErrorKind, RepoAccess, RepoResolver, WantedRepo};
use serde_json::{Value, json};

use super::*;
use crate::under_test::UnderTest;

const OWNER: &str = "you@example.com";
const OTHER: &str = "me@example.com";

/// The one repository, with what the store says of the caller.
struct One(Store);

impl RepoResolver for One {
    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        _: WantedRepo<'a>,
    ) -> futures::future::BoxFuture<'a, Result<RepoAccess, ToolError>> {
        Box::pin(async move {
            let repo: RepoName = "acme/site".parse().unwrap();
            let standing = self
                .0
                .standing(Some(caller.principal.clone()), repo.clone(), None)
                .await
                .unwrap();
            let role = standing.repo;
            let role = role.ok_or_else(|| ToolError::not_found("There is no such repository"))?;
            Ok(RepoAccess {
                name: repo,
                role,
                coordinates: false,
            })
        })
    }
}

struct Bench {
    _dir: tempfile::TempDir,
    store: Store,
    tools: UnderTest,
}

impl Bench {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&dir.path().join("store.db"))
            .await
            .unwrap();
        let owner: Principal = OWNER.parse().unwrap();
        let act = || Act::new(owner.clone(), SystemClock.now());
        store
            .ensure_operator(SystemClock.now(), owner.clone())
            .await
            .unwrap();
        store.add_user(act(), OTHER.parse().unwrap()).await.unwrap();
        let repo = NewRepo {
            name: "acme/site".parse().unwrap(),
            public: false,
            default_branch: "main".to_owned(),
            head: None,
            origin: None,
        };
        store.add_repo(act(), repo).await.unwrap();
        Self {
            _dir: dir,
            tools: tools(&store),
            store,
        }
    }

    async fn call(&self, by: &str, tool: &str, arguments: Value) -> Answer {
        self.tools.call_by(by, Door::Http, tool, arguments).await
    }

    async fn grants(&self) -> Vec<(String, String)> {
        let listed = self.call(OWNER, "role_list", json!({})).await.payload;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let grants = listed["grants"].as_array().unwrap();
        grants
            .iter()
            .map(|grant| (text(&grant["username"]), text(&grant["role"])))
            .collect()
    }
}

/// The tools over `store`, as a server that was just started has them.
fn tools(store: &Store) -> UnderTest {
    let granting = Granting {
        roles: Arc::new(store.clone()),
        clock: Arc::new(SystemClock),
    };
    UnderTest::new(pack(&granting), Some(Arc::new(One(store.clone()))))
}

fn kind(answer: &Answer) -> Option<ErrorKind> {
    answer.failure.as_ref().map(|failure| failure.kind)
}

#[tokio::test]
async fn an_owner_in_person_gives_replaces_and_takes_back() {
    let bench = Bench::new().await;
    let given = bench
        .call(
            OWNER,
            "role_grant",
            json!({ "username": OTHER, "role": "reader" }),
        )
        .await;
    assert_eq!(given.payload["grant"]["username"], OTHER, "{}", given.text);
    assert_eq!(given.payload["grant"]["granted_by"], OWNER);
    bench
        .call(
            OWNER,
            "role_grant",
            json!({ "username": OTHER, "role": "maintainer" }),
        )
        .await;
    assert_eq!(
        bench.grants().await,
        [(OTHER.to_owned(), "maintainer".to_owned())]
    );
    let wrong = bench
        .call(
            OWNER,
            "role_revoke",
            json!({ "username": OTHER, "role": "reader" }),
        )
        .await;
    assert_eq!(kind(&wrong), Some(ErrorKind::NotFound), "{}", wrong.text);
    let taken = bench
        .call(
            OWNER,
            "role_revoke",
            json!({ "username": OTHER, "role": "maintainer" }),
        )
        .await;
    assert_eq!(taken.payload, json!({ "ok": true }));
    assert_eq!(bench.grants().await, []);
}

#[tokio::test]
async fn nobody_else_widens_what_anybody_may() {
    let bench = Bench::new().await;
    bench
        .call(
            OWNER,
            "role_grant",
            json!({ "username": OTHER, "role": "maintainer" }),
        )
        .await;
    let agent = format!("{OWNER}[claude]");
    for by in [agent.as_str(), OTHER, "me@example.com[codex]"] {
        for tool in ["role_grant", "role_revoke"] {
            let answer = bench
                .call(by, tool, json!({ "username": OTHER, "role": "owner" }))
                .await;
            assert_eq!(
                kind(&answer),
                Some(ErrorKind::Forbidden),
                "{by} {tool}: {}",
                answer.text
            );
        }
    }
    let stranger = bench
        .call("nobody@example.com", "role_list", json!({}))
        .await;
    assert_eq!(kind(&stranger), Some(ErrorKind::NotFound));
    assert_eq!(
        bench.grants().await,
        [(OTHER.to_owned(), "maintainer".to_owned())]
    );
}

#[tokio::test]
async fn wrong_roles_and_names_are_told_with_what_is_allowed() {
    let bench = Bench::new().await;
    for (arguments, message) in [
        (
            json!({ "username": OTHER, "role": "king" }),
            "'role' must be one of owner, maintainer, contributor, reader, not `king`",
        ),
        (
            json!({ "username": OTHER, "role": "reader", "lane_id": "lane-1" }),
            "'role' must be one of coordinator, maintainer on a lane, not `reader`",
        ),
        (
            json!({ "username": "me@example.com[codex]", "role": "reader" }),
            "`me@example.com[codex]` is an agent: roles are given to its user, `me@example.com`,",
        ),
        (
            json!({ "username": "x", "role": "reader" }),
            "`x` is not a name",
        ),
    ] {
        let answer = bench.call(OWNER, "role_grant", arguments.clone()).await;
        let failure = answer.failure.unwrap();
        assert_eq!(failure.kind, ErrorKind::BadArguments, "{arguments}");
        assert!(
            failure.message.starts_with(message),
            "{arguments}: {}",
            failure.message
        );
    }
    let unknown = bench
        .call(
            OWNER,
            "role_grant",
            json!({ "username": "no@example.com", "role": "reader" }),
        )
        .await;
    assert_eq!(
        kind(&unknown),
        Some(ErrorKind::NotFound),
        "{}",
        unknown.text
    );
}

#[tokio::test]
async fn a_key_outlives_the_server_and_gives_the_first_answer() {
    let mut bench = Bench::new().await;
    let reader = json!({ "username": OTHER, "role": "reader", "idempotency_key": "k1" });
    let first = bench.call(OWNER, "role_grant", reader.clone()).await;
    assert_eq!(first.failure, None, "{}", first.text);
    let taken = json!({ "username": OTHER, "role": "reader", "idempotency_key": "k2" });
    let revoked = bench.call(OWNER, "role_revoke", taken.clone()).await;
    assert_eq!(revoked.payload, json!({ "ok": true }));
    bench.tools = tools(&bench.store);
    // Sent again, and in another order, it is not done again.
    let again = json!({ "idempotency_key": "k1", "role": "reader", "username": OTHER });
    let again = bench.call(OWNER, "role_grant", again).await;
    assert_eq!(again.text, first.text);
    assert_eq!(bench.grants().await, []);
    let again = bench.call(OWNER, "role_revoke", taken).await;
    assert_eq!(again.payload, json!({ "ok": true }));
    let other = json!({ "username": OTHER, "role": "owner", "idempotency_key": "k1" });
    let other = bench.call(OWNER, "role_grant", other).await;
    assert_eq!(kind(&other), Some(ErrorKind::Conflict), "{}", other.text);
    let blank = json!({ "username": OTHER, "role": "owner", "idempotency_key": " " });
    let blank = bench.call(OWNER, "role_grant", blank).await;
    assert_eq!(
        kind(&blank),
        Some(ErrorKind::BadArguments),
        "{}",
        blank.text
    );
}
