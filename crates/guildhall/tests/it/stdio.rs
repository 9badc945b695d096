//! MCP over standard input and output, line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::hosted::Bench;
use crate::support::{Place, wait};

/// `guildhall mcp` as an agent's client runs it.
struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command();
        command
            .arg("mcp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().expect("the program starts");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self {
            process,
            input,
            output,
        }
    }

    fn send(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("not closed yet");
        input
            .write_all(line)
            .and_then(|()| input.write_all(b"\n"))
            .and_then(|()| input.flush())
            .expect("it reads");
    }

    /// Every line of output must be one JSON-RPC message.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes UTF-8");
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message.to_string().as_bytes());
        self.read()
    }

    fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "Test Client", "version": "1" },
        });
        let answer = self.ask(&request(0, "initialize", params));
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    /// Closes the input and gives the exit code.
    fn finish(mut self) -> i32 {
        self.input = None;
        wait(&mut self.process)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "calls read best with the literal in place"
)]
fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn query(id: u64) -> Value {
    request(
        id,
        "tools/call",
        json!({ "name": "local_query", "arguments": { "count": true } }),
    )
}

#[test]
fn every_older_revision_is_spoken_and_an_unknown_one_is_not_echoed() {
    let place = Place::new();
    let _up = place.up(&[]);
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("banana", "2025-11-25"),
    ] {
        let mut client = Client::start(&place, &[]);
        assert_eq!(
            client.initialize(asked)["result"]["protocolVersion"],
            answered,
            "{asked}"
        );
        let listed = client.ask(&request(1, "tools/list", json!({})));
        assert_eq!(
            listed["result"]["tools"].as_array().map(Vec::len),
            Some(5),
            "{asked}: {listed}"
        );
        assert_eq!(
            client.ask(&request(2, "ping", json!({})))["result"],
            json!({}),
            "{asked}"
        );
        assert_eq!(client.finish(), 0);
    }
}

#[test]
fn a_stateless_client_needs_no_handshake() {
    let place = Place::new();
    let _up = place.up(&[]);
    let mut client = Client::start(&place, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "modern", "version": "1" },
    });
    let found = client.ask(&request(1, "server/discover", json!({ "_meta": meta })));
    assert!(
        found["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28")),
        "{found}"
    );
    let called = client.ask(&request(
        2,
        "tools/call",
        json!({ "_meta": meta, "name": "local_query", "arguments": { "count": true } }),
    ));
    assert_eq!(
        called["result"]["structuredContent"],
        json!({ "total": 0, "skipped": [] }),
        "{called}"
    );
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    // Both eras on one connection, as one client does it.
    assert_eq!(
        client.initialize("2025-11-25")["result"]["protocolVersion"],
        "2025-11-25"
    );
    assert_eq!(client.ask(&query(3))["result"]["isError"], false);
    assert!(place.state().join("agents/modern.token").exists());
}

#[test]
fn lines_that_are_no_messages_get_an_error_and_end_nothing() {
    let place = Place::new();
    let _up = place.up(&[]);
    let mut client = Client::start(&place, &["--agent", "tester"]);
    client.initialize("2025-11-25");
    for (line, code) in [
        (&b"{"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"{\"id\":\"\xc3\x28\"}", -32700),
        (b"[]", -32600),
        (
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            -32600,
        ),
        (b"7", -32600),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}",
            -32601,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
            -32602,
        ),
    ] {
        client.send(line);
        assert_eq!(
            client.read()["error"]["code"],
            code,
            "{}",
            String::from_utf8_lossy(line)
        );
    }
    client.send(b"");
    assert_eq!(client.ask(&query(9))["id"], 9);
    assert_eq!(client.finish(), 0);
}

#[test]
fn what_was_asked_before_the_end_of_input_is_answered() {
    let place = Place::new();
    let _up = place.up(&[]);
    let mut client = Client::start(&place, &["--agent", "tester"]);
    for id in 1..=20 {
        client.send(query(id).to_string().as_bytes());
    }
    client.input = None;
    let mut ids: Vec<u64> = (0..20)
        .map(|_| client.read()["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=20).collect::<Vec<u64>>());
    assert_eq!(client.finish(), 0);
}

#[test]
fn it_starts_the_server_it_needs_and_finds_one_that_has_moved() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--agent", "tester"]);
    client.initialize("2025-11-25");
    assert_eq!(client.ask(&query(1))["result"]["isError"], false);
    let first = place.run(&["up", "--json"]).json();
    std::process::Command::new("kill")
        .args(["-9", &first["pid"].to_string()])
        .status()
        .unwrap();
    let up = place.up(&[]);
    assert_ne!(first["pid"], up.said["pid"]);
    assert_eq!(client.ask(&query(2))["result"]["isError"], false);
    drop(up);
    assert_eq!(
        client.ask(&query(3))["result"]["isError"],
        false,
        "it starts one where none runs any more"
    );
}

#[test]
fn a_restart_is_invisible_also_with_sessions() {
    let place = Place::new();
    place.write("WORKFLOW.md", "---\nserver:\n  mcp_sessions: true\n---\n");
    let up = place.up(&[]);
    let mut client = Client::start(&place, &["--agent", "tester"]);
    client.initialize("2025-11-25");
    assert_eq!(client.ask(&query(1))["result"]["isError"], false);
    drop(up);
    let _up = place.up(&[]);
    assert_eq!(client.ask(&query(2))["result"]["isError"], false);
}

#[test]
fn a_part_of_the_tools_can_be_served() {
    let place = Place::new();
    let _up = place.up(&[]);
    let mut client = Client::start(
        &place,
        &["--agent", "tester", "--packs", "local", "--read-only"],
    );
    client.initialize("2025-11-25");
    let listed = client.ask(&request(1, "tools/list", json!({})));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["local_read_issue", "local_query"]);
    let refused = client.ask(&request(
        2,
        "tools/call",
        json!({ "name": "local_comment", "arguments": {} }),
    ));
    assert_eq!(refused["result"]["isError"], true);
}

#[test]
fn a_call_is_about_the_repository_that_was_named_unless_it_names_one() {
    let bench = Bench::new();
    bench
        .place
        .write("WORKFLOW.md", "---\ntools:\n  git: {}\n---\n");
    let _up = bench.place.up(&[]);
    bench.add(&[]);
    bench.commit("more", "two\n");
    let origin = bench.origin();
    let path = origin.to_str().expect("it is text");
    bench
        .place
        .run(&["repo", "add", "acme/two", "--path", path])
        .ok();
    let commits = |answer: &Value| answer["commits"].as_array().map(Vec::len);

    let mut client = Client::start(&bench.place, &["--repo", "acme/two", "--read-only"]);
    client.initialize("2025-11-25");
    let mut call = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        client.ask(&request(1, "tools/call", params))["result"].take()
    };
    for (arguments, found) in [
        (json!({}), 2),
        (json!({ "repo": null }), 2),
        (json!({ "repo": "acme/site" }), 1),
    ] {
        let answer = call("git_log", arguments.clone());
        assert_eq!(
            commits(&answer["structuredContent"]),
            Some(found),
            "{arguments} {answer}"
        );
    }
    let answer = call("local_query", json!({ "count": true }));
    assert_eq!(answer["isError"], false, "{answer}");

    let call = |arguments: &[&str]| bench.place.run(&[&["call"], arguments].concat());
    for (arguments, found) in [
        (&["git_log", "--repo", "acme/two"][..], 2),
        (&["git_log", "--repo", "acme/two", "limit=1"], 1),
        (&["git_log", "--repo", "acme/two", "repo=acme/site"], 1),
        (
            &[
                "git_log",
                "--repo",
                "acme/site",
                "--json",
                "{\"repo\":\"acme/two\"}",
            ],
            2,
        ),
    ] {
        assert_eq!(
            commits(&call(arguments).json()),
            Some(found),
            "{arguments:?}"
        );
    }
    // Tools of a repository that no settings mount, and tools that work in none.
    assert!(call(&["lane_list", "--repo", "acme/two"]).json()["lanes"].is_array());
    call(&["local_query", "--repo", "acme/two", "count=true"]).ok();
    for (arguments, message) in [
        (["git_log", "--repo", "acme/none"], "There is no repository"),
        (
            ["nonsense", "--repo", "acme/two"],
            "Unsupported tool: \"nonsense\".",
        ),
    ] {
        let ran = call(&arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
        let payload: Value = serde_json::from_str(&ran.err).expect("a payload");
        let said = payload["error"]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with(message), "{ran:?}");
    }
    assert_eq!(
        bench.place.run(&["call", "git_log", "--repo", "two"]).code,
        2
    );
}
