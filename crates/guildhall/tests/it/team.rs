//! Team sessions as people and agents run them.

mod doctor;
mod load;
mod panes;
mod starting;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::hosted::Bench;
use crate::support::{Place, Up};

/// The page's example calls, as they stand there.
const EXAMPLES: [(&str, &str); 4] = [
    (
        "devorch_report_status",
        r#"{
  "session": "myproject-1",
  "role": "ai",
  "status": "complete",
  "summary": "Code review completed for pull request #42",
  "validation": "5 files reviewed, 3 findings reported"
}"#,
    ),
    (
        "devorch_peer_message",
        r#"{
  "session": "myproject-1",
  "from_role": "ai",
  "to_role": "sec",
  "message": "API endpoint implements OAuth. Please review security.",
  "requested_action": "Verify token validation and rate limiting"
}"#,
    ),
    (
        "devorch_query_team_state",
        r#"{
  "session": "myproject-1",
  "role": "orchestrator"
}"#,
    ),
    (
        "devorch_get_setup_instructions",
        r#"{
  "session": "myproject-1",
  "role": "ai",
  "agent": "claude",
  "repo_id": "myproject",
  "temporal_namespace": "default"
}"#,
    ),
];

/// A server with the page's session, made by `team up` outside of a git repository.
fn with_session() -> (Place, Up) {
    let place = Place::new();
    let up = with_session_in(&place);
    (place, up)
}

fn with_session_in(place: &Place) -> Up {
    let up = place.up(&[]);
    let made = place
        .run(&["team", "up", "myproject", "1", "--layout", "none", "--json"])
        .json();
    assert_eq!(made["session"], "myproject-1");
    assert_eq!(made["roles"].as_array().expect("it is there").len(), 9);
    up
}

/// Calls tools over one of the doors. The text of a call goes out as it is given.
trait Agent {
    /// The payload, and whether the call failed.
    fn call(&mut self, tool: &str, arguments: &str) -> (Value, bool);

    fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let (payload, failed) = self.call(tool, &arguments.to_string());
        assert!(!failed, "{tool} {arguments}: {payload}");
        payload
    }
}

fn request(tool: &str, arguments: &str) -> String {
    // One line, as stdio needs it; what stands between the braces is the page's.
    let arguments: Vec<&str> = arguments.lines().map(str::trim).collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{}}}}}"#,
        arguments.concat()
    )
}

fn payload_of(answer: &Value) -> (Value, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {answer}"));
    let payload: Value = serde_json::from_str(text).expect("the text is JSON");
    let failed = result["isError"] == true;
    if failed {
        assert_eq!(result["structuredContent"], Value::Null);
    } else {
        assert_eq!(result["structuredContent"], payload);
    }
    (payload, failed)
}

/// `guildhall mcp`.
struct Pipe {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Pipe {
    fn start(place: &Place) -> Self {
        let mut process = place
            .command()
            .args(["mcp", "--packs", "team", "--agent", "claude"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let mut agent = Self { process, output };
        agent.ask(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        );
        agent
    }

    fn ask(&mut self, line: &str) -> Value {
        let input = self.process.stdin.as_mut().expect("its input");
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .expect("it reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no message: {answer:?}"))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Agent for Pipe {
    fn call(&mut self, tool: &str, arguments: &str) -> (Value, bool) {
        payload_of(&self.ask(&request(tool, arguments)))
    }
}

/// MCP over HTTP, with a token of one's own.
struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Http {
    fn new(up: &Up, token: String) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("it is there"),
            client: reqwest::Client::builder().build().expect("it is there"),
            url: up.url().to_owned(),
            token,
        }
    }

    fn post(&self, path: &str, body: String) -> (u16, Value) {
        self.runtime.block_on(async {
            let answer = self
                .client
                .post(format!("{}{path}", self.url))
                .bearer_auth(&self.token)
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .body(body)
                .send()
                .await
                .expect("the server answers");
            let status = answer.status().as_u16();
            let text = answer.text().await.expect("a body");
            (
                status,
                serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}")),
            )
        })
    }
}

impl Agent for Http {
    fn call(&mut self, tool: &str, arguments: &str) -> (Value, bool) {
        let (status, answer) = self.post("/mcp/team", request(tool, arguments));
        assert_eq!(status, 200, "{answer}");
        payload_of(&answer)
    }
}

/// A token of an agent of the owner's: `claude` is there since `team up`.
fn agent_token(place: &Place, name: &str) -> String {
    let action = if name == "claude" { "token" } else { "create" };
    let made = place.run(&["agent", action, name, "--json"]).json();
    made["token"].as_str().expect("a token").to_owned()
}

/// The page's four examples, after the roles they speak of are there.
fn examples(agent: &mut dyn Agent) {
    for role in ["orchestrator", "ai", "sec"] {
        agent.ok(
            "devorch_get_setup_instructions",
            &json!({ "session": "myproject-1", "role": role, "agent": "claude" }),
        );
    }
    for (tool, arguments) in EXAMPLES {
        let (payload, failed) = agent.call(tool, arguments);
        assert!(!failed, "{tool}: {payload}");
        match tool {
            "devorch_report_status" => {
                assert_eq!(payload["status"], "ok");
                assert_eq!(payload["agent"]["role"], "ai");
                assert_eq!(payload["agent"]["status"], "idle");
            }
            "devorch_peer_message" => {
                assert_eq!(
                    (&payload["status"], &payload["to"]),
                    (&json!("ok"), &json!("sec"))
                );
            }
            "devorch_query_team_state" => {
                let agents = payload["agents"].as_array().expect("it is there");
                let roles: Vec<_> = agents
                    .iter()
                    .map(|agent| agent["role"].as_str().expect("it is there"))
                    .collect();
                assert_eq!(roles, ["orchestrator", "ai", "sec"]);
                let seen = agents[0]["last_seen"].as_str().expect("it is there");
                let shape: String = seen
                    .chars()
                    .map(|c| if c.is_ascii_digit() { '0' } else { c })
                    .collect();
                assert_eq!(shape, "0000-00-00T00:00:00Z");
                assert_eq!(
                    agents[0],
                    json!({ "role": "orchestrator", "status": "active", "last_seen": seen, "unread": 1 })
                );
            }
            _ => {
                assert_eq!(payload["status"], "ok");
                assert_eq!(payload.as_object().expect("it is there").len(), 2);
                let text = payload["instructions"].as_str().expect("it is there");
                assert!(
                    text.starts_with(
                        "You are the AI specialist for session myproject-1. Your role is code review and \
                         architecture feedback. Use your domain skill and expertise"
                    ),
                    "{text}"
                );
            }
        }
    }
    common_errors(agent);
}

fn common_errors(agent: &mut dyn Agent) {
    let report = |session: &str, role: &str, status: &str| {
        json!({ "session": session, "role": role, "status": status }).to_string()
    };
    let wrong_namespace = json!({
        "session": "myproject-1", "role": "ai", "status": "ack", "temporal_namespace": "other",
    });
    for (arguments, error) in [
        (report("nothere-1", "ai", "ack"), "Session not found"),
        (report("myproject-1", "dat", "ack"), "Agent not found"),
        (report("myproject-1", "ai", "banana"), "Invalid status"),
        (wrong_namespace.to_string(), "Permission denied"),
        (
            json!({ "session": "myproject-1", "role": "ai" }).to_string(),
            "'status' is required",
        ),
    ] {
        let (payload, failed) = agent.call("devorch_report_status", &arguments);
        assert!(failed, "{arguments}");
        assert_eq!(payload, json!({ "error": error, "status": "error" }));
    }
}

#[test]
fn the_pages_examples_work_over_http() {
    let (place, up) = with_session();
    examples(&mut Http::new(&up, agent_token(&place, "claude")));
}

#[test]
fn the_pages_examples_work_over_stdio() {
    let (place, _up) = with_session();
    examples(&mut Pipe::start(&place));
}

#[test]
fn the_plain_door_answers_with_a_status_and_a_code() {
    let (place, up) = with_session();
    let http = Http::new(&up, agent_token(&place, "claude"));
    let tool = |tool: &str, arguments: Value| {
        http.post(&format!("/api/tools/{tool}"), arguments.to_string())
    };
    let begin = json!({ "session": "myproject-1", "role": "ai", "agent": "claude" });
    let (status, answer) = tool("devorch_get_setup_instructions", begin);
    assert_eq!((status, &answer["result"]["status"]), (200, &json!("ok")));
    for (session, role, word, status, error, code) in [
        (
            "nothere-1",
            "ai",
            "ack",
            404,
            "Session not found",
            "not_found",
        ),
        (
            "myproject-1",
            "sec",
            "ack",
            404,
            "Agent not found",
            "not_found",
        ),
        (
            "myproject-1",
            "ai",
            "banana",
            400,
            "Invalid status",
            "bad_arguments",
        ),
    ] {
        let (found, answer) = tool(
            "devorch_report_status",
            json!({ "session": session, "role": role, "status": word }),
        );
        assert_eq!(
            (found, &answer["error"], &answer["code"]),
            (status, &json!(error), &json!(code))
        );
    }
    let stranger = Http::new(&up, agent_token(&place, "codex"));
    let report = json!({ "session": "myproject-1", "role": "ai", "status": "ack" });
    let (status, answer) = stranger.post("/api/tools/devorch_report_status", report.to_string());
    assert_eq!(
        (status, &answer["error"]),
        (403, &json!("Permission denied"))
    );
    assert_eq!(
        answer["hint"],
        "`owner@localhost[codex]` has not claimed `ai` through set-up."
    );
}

#[test]
fn the_teams_tools_are_there_by_name_and_for_bound_tokens_and_not_on_the_usual_menu() {
    let bench = Bench::new();
    let (place, up) = (&bench.place, with_session_in(&bench.place));
    let origin = bench.origin();
    let origin = origin.to_str().expect("a text");
    place
        .run(&["repo", "add", "acme/site", "--path", origin])
        .ok();
    let names = |agent: &Http, path: &str| -> Vec<String> {
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        let (status, answer) = agent.post(path, list.to_owned());
        assert_eq!(status, 200, "{answer}");
        let tools = answer["result"]["tools"].as_array().expect("it is there");
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("it is there").to_owned())
            .collect()
    };
    let is_team = |name: &String| name.starts_with("devorch_");
    let free = Http::new(&up, agent_token(place, "codex"));
    let in_repo = "/api/repos/acme/site/mcp";
    for usual in ["/mcp", in_repo] {
        assert!(!names(&free, usual).iter().any(is_team), "{usual}");
    }
    assert!(names(&free, "/mcp/team").iter().all(is_team));
    let bound = std::fs::read_to_string(place.state().join("team/myproject-1/ai.token"))
        .expect("it is there");
    let bound = Http::new(&up, bound.trim().to_owned());
    for menu in ["/mcp", in_repo] {
        let names = names(&bound, menu);
        assert_eq!(
            names.iter().filter(|name| is_team(name)).count(),
            7,
            "{menu}"
        );
    }
    let begin = "/api/repos/acme/site/tools/devorch_get_setup_instructions";
    let mine = json!({ "session": "myproject-1", "role": "ai", "agent": "claude" }).to_string();
    assert_eq!(free.post(begin, mine.clone()).0, 404);
    let (status, answer) = bound.post(begin, mine);
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn a_token_of_a_role_speaks_for_nobody_else() {
    let (place, up) = with_session();
    let token = std::fs::read_to_string(place.state().join("team/myproject-1/ai.token"))
        .expect("it is there");
    let mut agent = Http::new(&up, token.trim().to_owned());
    let begin = json!({ "session": "myproject-1", "role": "ai", "agent": "claude" });
    agent.ok("devorch_get_setup_instructions", &begin);
    for arguments in [
        json!({ "session": "myproject-1", "role": "sec", "agent": "claude" }),
        json!({ "session": "myproject-2", "role": "ai", "agent": "claude" }),
    ] {
        let (payload, failed) =
            agent.call("devorch_get_setup_instructions", &arguments.to_string());
        assert_eq!(
            (failed, payload),
            (
                true,
                json!({ "error": "Permission denied", "status": "error" })
            )
        );
    }
    // It opens no way around: not to people's commands, and not to another token.
    let (status, _) = agent.post("/api/team/sessions/myproject-1/stop", "{}".to_owned());
    assert_eq!(status, 403);
    let (status, _) = agent.post(
        "/api/team/sessions/myproject-1/roles/sec/token",
        json!({ "agent": "claude" }).to_string(),
    );
    assert_eq!(status, 403);
    place.run(&["team", "down", "myproject-1"]).ok();
    let (status, _) = agent.post("/mcp/team", request("devorch_inbox", "{}"));
    assert_eq!(status, 401, "its token ends with the session");
}
