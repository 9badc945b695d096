use guildhall_core::{SystemClock, SystemIds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{Annotations, Pack, Scope};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the pipeline reads them before the tool does")]
struct Arguments {
    text: String,
    limit: Option<u32>,
}

#[derive(JsonSchema, Serialize)]
struct Echo {
    text: String,
    budget: usize,
}

/// Two repositories: `acme/open`, which everybody reads, and `acme/mine`, which `you@example.com` owns.
struct Repos;

impl RepoResolver for Repos {
    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        wanted: WantedRepo<'a>,
    ) -> futures::future::BoxFuture<'a, Result<RepoAccess, ToolError>> {
        let owns = caller.principal.user_address() == "you@example.com";
        let access = |name: &str, role| RepoAccess {
            name: name.parse().unwrap(),
            role,
            coordinates: false,
        };
        let found = match wanted {
            WantedRepo::Named("acme/mine") | WantedRepo::Implied if owns => {
                Ok(access("acme/mine", RepoRole::Owner))
            }
            WantedRepo::Named("acme/open") => Ok(access("acme/open", RepoRole::Reader)),
            _ => Err(ToolError::not_found("There is no such repository")),
        };
        Box::pin(std::future::ready(found))
    }
}

fn catalog() -> Catalog {
    let echo = Tool::new("echo", "Echo", "Use it in tests.")
        .read_only()
        .bounded()
        .sized_by_limit()
        .handler(|context: CallContext, Arguments { text, .. }| async move {
            match text.as_str() {
                "panic" => panic!("a secret detail"),
                "internal" => Err(ToolError::internal("a secret detail")),
                "conflict" => Err(ToolError::conflict("Somebody was first").hint("Try again.")),
                "hang" => std::future::pending().await,
                _ => Ok(Echo {
                    text,
                    budget: context.budget.bytes(),
                }),
            }
        });
    let grant = Tool::new("grant", "Grant", "Use it in tests.")
        .scope(Scope::Person)
        .handler(|_, _: Arguments| async {
            Ok(Echo {
                text: String::new(),
                budget: 0,
            })
        });
    let sandbox = Tool::new("sandbox", "Sandbox", "Use it in tests.")
        .local_only()
        .handler(|_, _: Arguments| async {
            Ok(Echo {
                text: String::new(),
                budget: 0,
            })
        });
    let in_repo = |context: CallContext, Arguments { text, .. }| async move {
        let text = format!("{text} in {}", context.repo()?.name);
        Ok::<_, ToolError>(Echo { text, budget: 0 })
    };
    let read = Tool::new("repo_read", "Read", "Use it in tests.")
        .scope(Scope::Repo(RepoRole::Reader))
        .handler(in_repo);
    let write = Tool::new("repo_write", "Write", "Use it in tests.")
        .scope(Scope::Repo(RepoRole::Contributor))
        .handler(in_repo);
    let team = Tool::new("team", "Team", "Use it in tests.").handler(|_, _: Arguments| async {
        Err::<Echo, _>(ToolError::not_found("Session not found"))
    });
    Catalog::mount([
        Pack::new("test", vec![echo, grant, sandbox, read, write]),
        Pack::new("team", vec![team])
            .failure(|error| json!({ "error": error.message, "status": "error" })),
    ])
    .unwrap()
}

fn pipeline() -> Pipeline {
    Pipeline::new(PipelineParts {
        ids: Arc::new(SystemIds),
        clock: Arc::new(SystemClock),
        cursor_key: CursorKey::new([1; 32]),
        repos: Some(Arc::new(Repos)),
    })
}

async fn call_by(principal: &str, tool: &str, arguments: Value, door: Door) -> Answer {
    let catalog = catalog();
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let call = Call {
        catalog: &catalog,
        caller: Caller::new(principal.parse().unwrap()),
        tool,
        arguments,
        door,
        repo: None,
        cancelled: CancellationToken::new(),
        progress: Progress::default(),
    };
    pipeline().call(call).await
}

async fn call(tool: &str, arguments: Value) -> Answer {
    call_by("you@example.com[claude]", tool, arguments, Door::Mcp).await
}

#[tokio::test]
async fn a_call_gives_its_result_and_the_same_as_text() {
    let answer = call(" echo ", json!({ "text": "hi" })).await;
    assert_eq!(answer.failure, None);
    assert_eq!(answer.text, r#"{"text":"hi","budget":16384}"#);
    assert_eq!(answer.payload.to_string(), answer.text);
}

#[tokio::test]
async fn the_budget_follows_the_door_and_the_arguments() {
    for (door, arguments, bytes) in [
        (Door::Mcp, json!({ "text": "hi" }), 16 << 10),
        (
            Door::Mcp,
            json!({ "text": "hi", "max_bytes": 100_000 }),
            100_000,
        ),
        (
            Door::Mcp,
            json!({ "text": "hi", "max_bytes": 10_000_000 }),
            256 << 10,
        ),
        (Door::Mcp, json!({ "text": "hi", "limit": 5 }), 256 << 10),
        (Door::Http, json!({ "text": "hi" }), 64 << 20),
        (Door::Http, json!({ "text": "hi", "max_bytes": 5000 }), 5000),
    ] {
        let answer = call_by("you@example.com", "echo", arguments.clone(), door).await;
        assert_eq!(answer.payload["budget"], bytes, "{door:?} {arguments}");
    }
}

#[tokio::test]
async fn a_result_that_ignores_its_budget_is_cut_and_says_so() {
    let answer = call("echo", json!({ "text": "x".repeat(100_000) })).await;
    assert!(answer.text.len() <= 16 << 10, "{}", answer.text.len());
    assert_eq!(answer.payload["truncated"], true);
}

#[tokio::test]
async fn an_unknown_tool_is_told_with_what_the_caller_may_use() {
    let answer = call("z\"z", json!({})).await;
    assert_eq!(
        answer.payload,
        json!({ "error": { "message": "Unsupported tool: \"z\\\"z\".", "supportedTools": ["echo", "repo_read", "repo_write", "team"] } })
    );
    assert_eq!(answer.failure.unwrap().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn what_a_caller_may_never_use_is_refused_as_not_allowed() {
    let answer = call("grant", json!({ "text": "x" })).await;
    assert_eq!(answer.failure.unwrap().kind, ErrorKind::Forbidden);
    let answer = call_by(
        "you@example.com",
        "grant",
        json!({ "text": "x" }),
        Door::Http,
    )
    .await;
    assert_eq!(answer.failure, None);
}

#[tokio::test]
async fn a_tool_of_the_agents_machine_is_refused_at_the_server() {
    let answer = call("sandbox", json!({ "text": "x" })).await;
    let failure = answer.failure.unwrap();
    assert_eq!(
        failure.message,
        "sandbox runs only on the agent's machine: use guildhall mcp or guildhall work"
    );
    assert_eq!(failure.kind.status(), 400);
}

#[tokio::test]
async fn faults_of_ours_show_an_id_and_never_the_cause() {
    for text in ["panic", "internal"] {
        let answer = call("echo", json!({ "text": text })).await;
        let failure = answer.failure.unwrap();
        assert_eq!(failure.kind, ErrorKind::Internal);
        assert!(!answer.text.contains("secret"), "{}", answer.text);
        let id = answer.payload["error"]["correlation_id"].as_str().unwrap();
        assert!(failure.message.contains(id));
    }
}

#[tokio::test]
async fn a_failures_hint_stands_beside_its_message() {
    let answer = call("echo", json!({ "text": "conflict" })).await;
    assert_eq!(
        answer.payload,
        json!({ "error": { "message": "Somebody was first", "hint": "Try again." } })
    );
}

#[tokio::test]
async fn a_packs_own_failure_shape_also_serves_for_what_the_pipeline_finds() {
    for (arguments, message) in [
        (json!({ "text": "x" }), "Session not found"),
        (json!({}), "'text' is required"),
    ] {
        let answer = call("team", arguments).await;
        assert_eq!(
            answer.payload,
            json!({ "error": message, "status": "error" })
        );
    }
}

#[tokio::test]
async fn a_cancelled_call_ends() {
    let catalog = catalog();
    let cancelled = CancellationToken::new();
    let Value::Object(arguments) = json!({ "text": "hang" }) else {
        unreachable!()
    };
    let call = Call {
        catalog: &catalog,
        caller: Caller::new("you@example.com".parse().unwrap()),
        tool: "echo",
        arguments,
        door: Door::Mcp,
        repo: None,
        cancelled: cancelled.clone(),
        progress: Progress::default(),
    };
    let pipeline = pipeline();
    let (answer, ()) = tokio::join!(pipeline.call(call), async { cancelled.cancel() });
    assert_eq!(answer.failure.unwrap().kind, ErrorKind::Conflict);
}

#[test]
fn a_tools_annotations_are_promises_it_makes_once() {
    let catalog = catalog();
    let read = catalog.tool("echo").unwrap().annotations();
    assert_eq!(
        read,
        Annotations {
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false
        }
    );
}

#[tokio::test]
async fn the_same_idempotency_key_gives_the_first_answer_and_runs_once() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let write = Tool::new("write", "Write", "Use it in tests.")
        .keyed()
        .handler(move |_, Arguments { text, .. }| {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                if text == "fail" && run == 0 {
                    Err(ToolError::conflict("Not yet"))
                } else {
                    Ok(Echo { text, budget: 0 })
                }
            }
        });
    let catalog = Catalog::mount([Pack::new("test", vec![write])]).unwrap();
    let pipeline = pipeline();
    let call = async |principal: &str, text: &str, key: &str| {
        let Value::Object(arguments) = json!({ "text": text, "idempotency_key": key }) else {
            unreachable!()
        };
        let call = Call {
            catalog: &catalog,
            caller: Caller::new(principal.parse().unwrap()),
            tool: "write",
            arguments,
            door: Door::Mcp,
            repo: None,
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
        };
        pipeline.call(call).await
    };
    let failed = call("you@example.com", "fail", "k0").await;
    assert_eq!(failed.failure.unwrap().message, "Not yet");
    assert_eq!(
        call("you@example.com", "fail", "k0").await.failure,
        None,
        "a failed call may be tried again"
    );
    let first = call("you@example.com", "a", "k1").await;
    assert_eq!(call("you@example.com", "a", "k1").await.text, first.text);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    let other = call("you@example.com", "b", "k1").await;
    assert_eq!(other.failure.unwrap().kind, ErrorKind::Conflict);
    assert_eq!(
        call("me@example.com", "b", "k1").await.failure,
        None,
        "keys belong to one principal"
    );
}

#[tokio::test]
async fn a_repo_tool_works_in_the_repo_that_is_named_or_implied() {
    for (arguments, text) in [
        (json!({ "text": "x" }), "x in acme/mine"),
        (
            json!({ "text": "x", "repo": "acme/open" }),
            "x in acme/open",
        ),
        (
            json!({ "text": "x", "actor": "you@example.com[claude]", "from": "you@example.com[claude]" }),
            "x in acme/mine",
        ),
        (
            json!({ "text": "x", "actor": null, "from": null, "repo": null }),
            "x in acme/mine",
        ),
    ] {
        let answer = call("repo_read", arguments.clone()).await;
        assert_eq!(answer.payload["text"], text, "{arguments}");
    }
}

#[tokio::test]
async fn a_repo_tool_refuses_other_names_unseen_repos_and_roles_that_are_too_little() {
    for (tool, arguments, kind) in [
        (
            "repo_read",
            json!({ "text": "x", "actor": "me@example.com" }),
            ErrorKind::Forbidden,
        ),
        (
            "repo_read",
            json!({ "text": "x", "from": "you@example.com" }),
            ErrorKind::Forbidden,
        ),
        (
            "repo_read",
            json!({ "text": "x", "actor": 5 }),
            ErrorKind::BadArguments,
        ),
        (
            "repo_read",
            json!({ "text": "x", "repo": "acme/none" }),
            ErrorKind::NotFound,
        ),
        (
            "repo_read",
            json!({ "text": "x", "repo": "../mine" }),
            ErrorKind::NotFound,
        ),
        (
            "repo_write",
            json!({ "text": "x", "repo": "acme/open" }),
            ErrorKind::Forbidden,
        ),
    ] {
        let answer = call(tool, arguments.clone()).await;
        assert_eq!(
            answer.failure.map(|failure| failure.kind),
            Some(kind),
            "{tool} {arguments}"
        );
    }
}

#[tokio::test]
async fn a_key_that_the_store_keeps_is_handed_on_and_not_kept_twice() {
    let keys = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let write = Tool::new("write", "Write", "Use it in tests.")
        .keyed_by_store()
        .handler(move |context: CallContext, Arguments { text, .. }| {
            seen.lock().unwrap().push(context.once);
            async { Ok(Echo { text, budget: 0 }) }
        });
    let catalog = Catalog::mount([Pack::new("test", vec![write])]).unwrap();
    let pipeline = pipeline();
    for arguments in [
        json!({ "text": "a", "limit": 1, "idempotency_key": "k" }),
        json!({ "idempotency_key": "k", "limit": 1, "text": "a" }),
        json!({ "text": "b", "limit": 1, "idempotency_key": "k" }),
        json!({ "text": "a" }),
    ] {
        let Value::Object(arguments) = arguments else {
            unreachable!()
        };
        let call = Call {
            catalog: &catalog,
            caller: Caller::new("you@example.com".parse().unwrap()),
            tool: "write",
            arguments,
            door: Door::Mcp,
            repo: None,
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
        };
        assert_eq!(pipeline.call(call).await.failure, None);
    }
    let keys = keys.lock().unwrap();
    let [Some(first), Some(same), Some(other), None] = &**keys else {
        panic!("{keys:?}")
    };
    assert_eq!((first.tool, first.key.as_str()), ("write", "k"));
    assert_eq!(first, same);
    assert_ne!(first.arguments, other.arguments);
}

/// One repository, which is there until it is removed.
#[derive(Default)]
struct Removable(std::sync::atomic::AtomicBool);

impl RepoResolver for Removable {
    fn resolve<'a>(
        &'a self,
        _: &'a Caller,
        _: WantedRepo<'a>,
    ) -> futures::future::BoxFuture<'a, Result<RepoAccess, ToolError>> {
        let is_gone = self.0.load(std::sync::atomic::Ordering::SeqCst);
        let found = if is_gone {
            Err(ToolError::not_found("There is no repository `acme/site`"))
        } else {
            Ok(RepoAccess {
                name: "acme/site".parse().unwrap(),
                role: RepoRole::Owner,
                coordinates: false,
            })
        };
        Box::pin(std::future::ready(found))
    }
}

#[tokio::test]
async fn a_repository_that_is_removed_while_a_call_runs_is_not_there() {
    for removed in [false, true] {
        let repos = Arc::new(Removable::default());
        let within = Arc::clone(&repos);
        let read = Tool::new("repo_read", "Read", "Use it in tests.")
            .scope(Scope::Repo(RepoRole::Reader))
            .handler(move |_, _: Arguments| {
                within.0.store(removed, std::sync::atomic::Ordering::SeqCst);
                async { Err::<Echo, _>(ToolError::internal("cannot be opened")) }
            });
        let catalog = Catalog::mount([Pack::new("test", vec![read])]).unwrap();
        let pipeline = Pipeline {
            repos: Some(repos),
            ..pipeline()
        };
        let Value::Object(arguments) = json!({ "text": "x" }) else {
            unreachable!()
        };
        let call = Call {
            catalog: &catalog,
            caller: Caller::new("you@example.com".parse().unwrap()),
            tool: "repo_read",
            arguments,
            door: Door::Http,
            repo: None,
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
        };
        let answer = pipeline.call(call).await;
        let failure = answer.failure.unwrap();
        if removed {
            assert_eq!(failure.kind, ErrorKind::NotFound);
            assert_eq!(failure.message, "There is no repository `acme/site`");
        } else {
            assert_eq!(failure.kind, ErrorKind::Internal);
        }
    }
}
