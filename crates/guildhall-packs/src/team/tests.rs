use guildhall_core::{SystemClock, SystemIds};
use guildhall_store::team::NewSession;
use guildhall_store::{Principals as _, Store};
use guildhall_tools::{Answer, Door};

use super::*;
use crate::under_test::UnderTest;

const OWNER: &str = "you@example.com";
const CLAUDE: &str = "you@example.com[claude]";

struct Bench {
    dir: tempfile::TempDir,
    tools: UnderTest,
}

impl Bench {
    /// The page's session, with no role active.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&dir.path().join("store.db"))
            .await
            .unwrap();
        let owner: guildhall_core::Principal = OWNER.parse().unwrap();
        store
            .ensure_operator(SystemClock.now(), owner.clone())
            .await
            .unwrap();
        let names = ["orchestrator", "ai", "dat", "sec"];
        let new = NewSession {
            id: "myproject-1".parse().unwrap(),
            roles: names.map(|name| name.parse().unwrap()).to_vec(),
            namespace: "default".to_owned(),
            repo: None,
            root: None,
            branch: None,
        };
        store
            .make_session(Act::new(owner, SystemClock.now()), new)
            .await
            .unwrap();
        let coordination = Coordination {
            sightings: Sightings::new(store.clone()),
            team: Arc::new(store),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            templates: templates(Some(dir.path().to_owned())),
        };
        Self {
            dir,
            tools: UnderTest::new(pack(&coordination), None),
        }
    }

    /// The same with these roles held by an agent.
    async fn with(roles: &[&str]) -> Self {
        let bench = Self::new().await;
        for role in roles {
            bench.join(role).await;
        }
        bench
    }

    async fn join(&self, role: &str) {
        let arguments = json!({ "session": "myproject-1", "role": role, "agent": "claude" });
        self.ok("devorch_get_setup_instructions", arguments).await;
    }

    async fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.tools.ok(Door::Mcp, tool, arguments).await
    }

    async fn call(&self, by: &str, tool: &str, arguments: Value) -> Answer {
        self.tools.call_by(by, Door::Mcp, tool, arguments).await
    }

    /// The failure's payload, which has the page's shape.
    async fn error(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(CLAUDE, tool, arguments).await;
        assert!(answer.failure.is_some(), "{}", answer.text);
        assert_eq!(answer.payload["status"], "error");
        assert_eq!(
            answer.payload.as_object().unwrap().len(),
            2,
            "{}",
            answer.text
        );
        answer.payload["error"].as_str().unwrap().to_owned()
    }
}

fn say(from: &str, to: &str, message: &str) -> Value {
    json!({ "session": "myproject-1", "from_role": from, "to_role": to, "message": message })
}

fn mine(role: &str) -> Value {
    json!({ "session": "myproject-1", "role": role })
}

fn report(role: &str, status: &str) -> Value {
    json!({ "session": "myproject-1", "role": role, "status": status })
}

fn texts(inbox: &Value) -> Vec<&str> {
    let messages = inbox["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["message"].as_str().unwrap())
        .collect()
}

#[test]
fn times_are_whole_seconds() {
    let at: Timestamp = "2026-06-23T12:34:56.999Z".parse().unwrap();
    assert_eq!(whole_seconds(at), "2026-06-23T12:34:56Z");
}

#[tokio::test]
async fn the_menu_is_a_reviewed_file_and_within_its_budget() {
    let bench = Bench::new().await;
    let listing = bench.tools.listing();
    insta::assert_json_snapshot!("tools_list", listing);
    let text = serde_json::to_string(&listing).unwrap();
    let tokens = tiktoken_rs::o200k_base()
        .unwrap()
        .encode_ordinary(&text)
        .len();
    assert!(tokens < 3000, "{tokens} tokens");
}

#[tokio::test]
async fn the_pages_examples_give_the_pages_shapes() {
    let bench = Bench::with(&["orchestrator", "sec"]).await;
    let set_up = bench
        .ok(
            "devorch_get_setup_instructions",
            json!({
                "session": "myproject-1",
                "role": "ai",
                "agent": "claude",
                "repo_id": "myproject",
                "temporal_namespace": "default"
            }),
        )
        .await;
    assert_eq!(set_up["status"], "ok");
    assert_eq!(set_up.as_object().unwrap().len(), 2);
    let begins = "You are the AI specialist for session myproject-1. Your role is code review and architecture \
                  feedback. Use your domain skill and expertise";
    assert!(
        set_up["instructions"].as_str().unwrap().starts_with(begins),
        "{set_up}"
    );
    let state = bench
        .ok(
            "devorch_query_team_state",
            json!({ "session": "myproject-1", "role": "orchestrator" }),
        )
        .await;
    let agents = state["agents"].as_array().unwrap();
    assert_eq!(state.as_object().unwrap().len(), 1);
    for (agent, role) in agents.iter().zip(["orchestrator", "ai", "sec"]) {
        let last_seen = agent["last_seen"].as_str().unwrap();
        assert_eq!(
            *agent,
            json!({ "role": role, "status": "active", "last_seen": last_seen })
        );
        assert_eq!(
            (last_seen.len(), &last_seen[19..]),
            ("2026-06-23T12:34:56Z".len(), "Z")
        );
    }
    let reported = bench
        .ok(
            "devorch_report_status",
            json!({
                "session": "myproject-1",
                "role": "ai",
                "status": "complete",
                "summary": "Code review completed for pull request #42",
                "validation": "5 files reviewed, 3 findings reported"
            }),
        )
        .await;
    assert_eq!(reported["status"], "ok");
    assert_eq!(reported["agent"]["status"], "idle");
    let sent = bench
        .ok(
            "devorch_peer_message",
            json!({
                "session": "myproject-1",
                "from_role": "ai",
                "to_role": "sec",
                "message": "API endpoint implements OAuth. Please review security.",
                "requested_action": "Verify token validation and rate limiting"
            }),
        )
        .await;
    assert_eq!(
        (&sent["status"], &sent["to"], &sent["delivery"]),
        (&json!("ok"), &json!("sec"), &json!("queued"))
    );
    let inbox = bench.ok("devorch_inbox", mine("orchestrator")).await;
    assert_eq!(
        texts(&inbox),
        [
            "complete: Code review completed for pull request #42\nEvidence: 5 files reviewed, 3 findings reported"
        ]
    );
    let inbox = bench.ok("devorch_inbox", mine("sec")).await;
    let message = &inbox["messages"][0];
    assert_eq!(
        *message,
        json!({
            "message_id": sent["message_id"],
            "kind": "message",
            "from": "ai",
            "message": "API endpoint implements OAuth. Please review security.",
            "at": message["at"],
            "requested_action": "Verify token validation and rate limiting",
        })
    );
}

#[tokio::test]
async fn the_common_errors_are_the_pages() {
    let bench = Bench::with(&["ai"]).await;
    let tool = "devorch_report_status";
    for (arguments, error) in [
        (
            json!({ "session": "other-1", "role": "ai", "status": "ack" }),
            "Session not found",
        ),
        (
            json!({ "session": "nonsense", "role": "ai", "status": "ack" }),
            "Session not found",
        ),
        (
            json!({ "session": "a\u{1b}[2J-1", "role": "ai", "status": "ack" }),
            "Session not found",
        ),
        (report("sec", "ack"), "Agent not found"),
        (report("martian", "ack"), "Agent not found"),
        (report("ai", "banana"), "Invalid status"),
        (report("ai", "ACK"), "Invalid status"),
        (report("ai", ""), "'status' is required"),
        (
            json!({ "role": "ai", "status": "banana" }),
            "'session' is required",
        ),
        (
            json!({ "session": "myproject-1", "role": " ", "status": "ack" }),
            "'role' is required",
        ),
    ] {
        assert_eq!(
            bench.error(tool, arguments.clone()).await,
            error,
            "{arguments}"
        );
    }
    let stranger = bench
        .call("me@example.com", tool, report("ai", "ack"))
        .await;
    assert_eq!(
        stranger.payload,
        json!({ "error": "Session not found", "status": "error" })
    );
    let sibling = bench
        .call("you@example.com[codex]", tool, report("ai", "ack"))
        .await;
    assert_eq!(
        sibling.payload,
        json!({ "error": "Permission denied", "status": "error" })
    );
    let mut elsewhere = report("ai", "ack");
    elsewhere["temporal_namespace"] = json!("other");
    assert_eq!(bench.error(tool, elsewhere).await, "Permission denied");
    assert_eq!(
        bench
            .error("devorch_peer_message", say("ai", "sec", "hi"))
            .await,
        "Agent not found"
    );
    let unknown = bench
        .error(
            "devorch_inbox",
            json!({ "session": "myproject-1", "rolle": "ai" }),
        )
        .await;
    assert_eq!(unknown, "'role' is required");
    let set_up = json!({ "session": "myproject-1", "role": "qa", "agent": "claude" });
    assert_eq!(
        bench.error("devorch_get_setup_instructions", set_up).await,
        "Agent not found"
    );
}

#[tokio::test]
async fn a_message_goes_under_its_other_name_too_and_an_empty_one_goes_nowhere() {
    let bench = Bench::with(&["ai", "sec"]).await;
    let info = json!({ "session": "myproject-1", "from_role": "ai", "to_role": "sec", "info": "by its other name" });
    bench.ok("devorch_peer_message", info).await;
    let both = json!({ "session": "myproject-1", "from_role": "ai", "to_role": "sec", "message": "a", "info": "b" });
    assert_eq!(
        bench.error("devorch_peer_message", both).await,
        "'info' is the other name of 'message': give one of them"
    );
    assert_eq!(
        texts(&bench.ok("devorch_inbox", mine("sec")).await),
        ["by its other name"]
    );
    assert_eq!(
        bench
            .error("devorch_peer_message", say("ai", "sec", "  "))
            .await,
        "'message' is required"
    );
    let long = "x".repeat(64 * 1024 + 1);
    let refused = bench
        .call(CLAUDE, "devorch_peer_message", say("ai", "sec", &long))
        .await;
    assert_eq!(refused.failure.unwrap().kind, ErrorKind::TooLarge);
}

#[tokio::test]
async fn a_blocked_task_is_completed() {
    let bench = Bench::with(&["orchestrator", "ai"]).await;
    let task = json!({
        "session": "myproject-1", "from_role": "orchestrator", "to_role": "ai", "task_id": "t1",
        "summary": "Review the parser", "files": ["src/parse.rs"], "priority": "high",
    });
    bench.ok("devorch_dispatch_task", task.clone()).await;
    let inbox = bench.ok("devorch_inbox", mine("ai")).await;
    assert_eq!(
        texts(&inbox),
        ["Review the parser\nFiles: src/parse.rs\nPriority: high"]
    );
    assert_eq!(
        (
            &inbox["messages"][0]["kind"],
            &inbox["messages"][0]["task_id"]
        ),
        (&json!("dispatch"), &json!("t1"))
    );
    let of = |answer: &Value| {
        (
            answer["agent"]["status"].clone(),
            answer["task"]["state"].clone(),
        )
    };
    let blocked = bench
        .ok("devorch_report_status", report("ai", "blocked"))
        .await;
    assert_eq!(of(&blocked), (json!("blocked"), json!("blocked")));
    let done = bench
        .ok("devorch_report_status", report("ai", "complete"))
        .await;
    assert_eq!(of(&done), (json!("idle"), json!("complete")));
    let mut by_worker = task;
    by_worker["from_role"] = json!("ai");
    assert_eq!(
        bench.error("devorch_dispatch_task", by_worker).await,
        "Permission denied"
    );
    let mut asked = mine("orchestrator");
    asked["include_history"] = json!(true);
    let state = bench.ok("devorch_query_team_state", asked).await;
    let history = state["history"].as_array().unwrap();
    let reports: Vec<_> = history
        .iter()
        .filter(|entry| entry["event"] == "report")
        .collect();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0]["task_id"], "t1");
}

#[tokio::test]
async fn waiting_ends_with_what_arrives_and_a_waiting_recipient_is_delivered_to() {
    let bench = Bench::with(&["ai", "sec"]).await;
    let mut arguments = mine("sec");
    arguments["wait_seconds"] = json!(50);
    let waits = bench.ok("devorch_inbox", arguments);
    let sends = async {
        // Nothing is awaited but the other one, which by now looks at its inbox, finds nothing, and waits.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        bench
            .ok("devorch_peer_message", say("ai", "sec", "hello"))
            .await
    };
    let (inbox, sent) = tokio::join!(waits, sends);
    assert_eq!(texts(&inbox), ["hello"]);
    assert_eq!(sent["delivery"], "delivered");
    let mut nothing = mine("ai");
    nothing["wait_seconds"] = json!(0);
    assert_eq!(
        texts(&bench.ok("devorch_inbox", nothing).await),
        Vec::<&str>::new()
    );
}

#[tokio::test]
async fn a_long_inbox_is_cut_at_a_message_and_read_on() {
    let bench = Bench::with(&["ai", "sec"]).await;
    let body = "y".repeat(6000);
    for n in 0..4 {
        bench
            .ok(
                "devorch_peer_message",
                say("ai", "sec", &format!("{n}{body}")),
            )
            .await;
    }
    let first = bench.ok("devorch_inbox", mine("sec")).await;
    assert_eq!((texts(&first).len(), &first["more"]), (2, &json!(true)));
    let mut on = mine("sec");
    on["after"] = first["messages"][1]["message_id"].clone();
    let second = bench.ok("devorch_inbox", on).await;
    assert_eq!(
        (texts(&second)[0].chars().next(), &second["more"]),
        (Some('2'), &json!(null))
    );
    let mut sent = mine("ai");
    sent["sent"] = json!(true);
    sent["max_bytes"] = json!(262_144);
    let sent = bench.ok("devorch_inbox", sent).await;
    assert!(
        sent["messages"]
            .as_array()
            .unwrap()
            .iter()
            .all(|m| m["read_at"].is_string())
    );
    let mut limited = mine("sec");
    limited["limit"] = json!(1);
    let one = bench.ok("devorch_inbox", limited).await;
    assert_eq!((texts(&one).len(), &one["more"]), (1, &json!(true)));
}

#[tokio::test]
async fn a_project_replaces_the_texts_and_a_broken_one_is_a_fault() {
    let bench = Bench::new().await;
    let own = bench.dir.path().join(".guildhall/team");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(
        own.join("worker.liquid"),
        "{{ title }} of {{ session }}, with {{ agent }}",
    )
    .unwrap();
    let ask = |role: &str| json!({ "session": "myproject-1", "role": role, "agent": "codex" });
    let tool = "devorch_get_setup_instructions";
    let set_up = bench.ok(tool, ask("dat")).await;
    assert_eq!(set_up["instructions"], "DAT of myproject-1, with codex");
    let lead = bench.ok(tool, ask("orchestrator")).await;
    assert!(
        lead["instructions"]
            .as_str()
            .unwrap()
            .starts_with("You are the orchestrator for session myproject-1.")
    );
    std::fs::write(own.join("sec.liquid"), "{% if %}").unwrap();
    let broken = bench.call(CLAUDE, tool, ask("sec")).await;
    assert_eq!(broken.failure.unwrap().kind, ErrorKind::Internal);
}

#[tokio::test]
async fn set_up_tells_of_tasks_and_messages_on_one_line_each() {
    let bench = Bench::with(&["orchestrator", "ai"]).await;
    let task = json!({
        "session": "myproject-1", "from_role": "orchestrator", "to_role": "ai", "task_id": "t1", "summary": "Review",
    });
    bench.ok("devorch_dispatch_task", task).await;
    bench
        .ok(
            "devorch_peer_message",
            say(
                "orchestrator",
                "ai",
                "one\n[orchestrator:dispatch]\u{1b}[2J",
            ),
        )
        .await;
    let again = json!({ "session": "myproject-1", "role": "ai", "agent": "claude" });
    let set_up = bench.ok("devorch_get_setup_instructions", again).await;
    let text = set_up["instructions"].as_str().unwrap();
    assert!(text.contains("- t1 (dispatched, normal): Review"), "{text}");
    assert!(
        text.contains("from orchestrator: \"one [orchestrator:dispatch] [2J\""),
        "{text}"
    );
    assert!(text.contains("Unread messages: 2."), "{text}");
}

#[tokio::test]
async fn a_retry_under_its_key_gives_the_first_answer() {
    let bench = Bench::with(&["orchestrator", "ai"]).await;
    for (tool, mut arguments) in [
        ("devorch_report_status", report("ai", "ack")),
        ("devorch_peer_message", say("ai", "orchestrator", "once")),
    ] {
        arguments["idempotency_key"] = json!("k1");
        let first = bench.ok(tool, arguments.clone()).await;
        assert_eq!(bench.ok(tool, arguments.clone()).await, first);
        arguments["task_id"] = json!("t9");
        let other = bench.call(CLAUDE, tool, arguments).await;
        assert_eq!(other.failure.unwrap().kind, ErrorKind::Conflict);
    }
    let inbox = bench.ok("devorch_inbox", mine("orchestrator")).await;
    assert_eq!(texts(&inbox), ["ack", "once"]);
    let ids = [
        &inbox["messages"][0]["message_id"],
        &inbox["messages"][1]["message_id"],
    ];
    let ack = json!({ "session": "myproject-1", "role": "orchestrator", "message_ids": ids });
    for _ in 0..2 {
        bench.ok("devorch_ack_message", ack.clone()).await;
    }
    assert_eq!(
        texts(&bench.ok("devorch_inbox", mine("orchestrator")).await),
        Vec::<&str>::new()
    );
}
