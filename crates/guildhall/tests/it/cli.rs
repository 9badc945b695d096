//! The command line: what it prints, and with which exit code it ends.

use serde_json::{Value, json};

use crate::support::Place;

#[test]
fn the_first_minute_of_a_newcomer_works() {
    let place = Place::new();
    let up = place.up(&["--demo"]);
    assert_eq!(up.said["already_running"], false);
    let tools = place.run(&["tools"]).ok();
    for tool in [
        "local_update_status",
        "local_comment",
        "local_create_issue",
        "local_read_issue",
        "local_query",
    ] {
        assert!(tools.contains(tool), "{tools}");
    }
    let found = place
        .run(&[
            "call",
            "local_query",
            "limit=2",
            "select=[\"id\",\"state\"]",
        ])
        .json();
    assert_eq!(
        found,
        json!({
            "rows": [{ "id": "BOARD-1", "state": "In Progress" }, { "id": "BOARD-2", "state": "Todo" }],
            "total": 6,
            "skipped": [],
        })
    );
    let made = place
        .run(&["call", "local_create_issue", "--json", r#"{"title":"New"}"#])
        .json();
    assert_eq!(made["issue"]["id"], "BOARD-7");
    assert!(
        place
            .workspace()
            .join(".guildhall/board/BOARD-7.md")
            .is_file()
    );
    assert_eq!(up.stop(), 0);
}

#[test]
fn a_command_starts_the_server_it_needs() {
    let place = Place::new();
    let listed = place.run(&["tools", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(5 + 7));
    let running = place.run(&["up", "--json"]).json();
    assert_eq!(running["already_running"], true);
}

#[test]
fn exit_codes_tell_a_refusal_from_wrong_use() {
    let place = Place::new();
    let _up = place.up(&[]);
    for (arguments, code) in [
        (&["call", "local_read_issue", "issueId=BOARD-1"][..], 1),
        (&["call", "local_read_isue"], 1),
        (&["call", "local_read_isue", "issueId=BOARD-1"], 1),
        (&["call", "local_query", "--json", "{"], 2),
        (&["call", "local_query", "--json", "[]"], 2),
        (&["call", "local_query", "limit"], 2),
        (&["call"], 2),
        (&["nonsense"], 2),
        (&["up", "no/such/folder"], 2),
        (&["tools", "--workspace", "no/such/folder"], 2),
        (&["up", "--idle-exit", "soon"], 2),
        (&["connect", "nobody"], 2),
        (&["mcp", "--agent", "Not A Name"], 2),
        (&["config", "check", "missing.md"], 2),
        (&["--version"], 0),
        (&["help"], 2),
        (&["--help"], 0),
    ] {
        let ran = place.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        assert_eq!(ran.err.is_empty(), code == 0, "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_failed_call_prints_its_payload_on_standard_error_and_nothing_else() {
    let place = Place::new();
    let _up = place.up(&[]);
    let ran = place.run(&["call", "local_read_issue", "issueId=x"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let payload: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(
        payload["error"]["message"],
        "invalid board issue id: \"x\" (expected BOARD-<n>)"
    );
    for arguments in [&["a=1"][..], &[], &["--json", "{}"]] {
        let ran = place.run(&[&["call", "local_quer"], arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        let payload: Value = serde_json::from_str(&ran.err).unwrap();
        let error = &payload["error"];
        assert_eq!(error["message"], "Unsupported tool: \"local_quer\".");
        assert_eq!(error["hint"], "Did you mean `local_query`?");
        assert_eq!(
            error["supportedTools"].as_array().map(Vec::len),
            Some(5 + 7)
        );
    }
    // A pack's own shape of a failure is what is printed, as over MCP.
    let asked = ["call", "devorch_query_team_state", "session=none-1"];
    let ran = place.run(&asked);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(
        serde_json::from_str::<Value>(&ran.err).unwrap(),
        json!({ "error": "Session not found", "status": "error" })
    );
}

#[test]
fn a_server_that_cannot_be_reached_is_a_fault_and_says_where_it_was_looked_for() {
    let place = Place::new();
    let mut command = place.command();
    command
        .args(["tools"])
        .env("GUILDHALL_URL", "http://127.0.0.1:9")
        .env("GUILDHALL_TOKEN", "x");
    let ran = crate::support::Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, 3);
    assert!(
        ran.err
            .contains("Cannot reach the server at http://127.0.0.1:9"),
        "{ran:?}"
    );
}

#[test]
fn an_address_is_written_down_for_a_server_that_runs_alone() {
    let place = Place::new();
    let ran = place.run(&["connect", "claude", "--http", "--write"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("No server runs"), "{ran:?}");
    assert!(!place.workspace().join(".mcp.json").exists());
}

#[test]
fn connect_writes_a_clients_file_without_any_secret_and_makes_its_agent() {
    let place = Place::new();
    let _up = place.up(&[]);
    let made = place
        .run(&["connect", "claude", "--write", "--json"])
        .json();
    let text = std::fs::read_to_string(place.workspace().join(".mcp.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["mcpServers"]["lorenz_local"], made["entry"]);
    assert_eq!(made["entry"]["args"], json!(["mcp", "--agent", "claude"]));
    let token = std::fs::read_to_string(made["token_file"].as_str().unwrap()).unwrap();
    assert!(!text.contains(token.trim()));
    let owner = std::fs::read_to_string(place.state().join("owner.token")).unwrap();
    assert_ne!(token, owner);

    let http = place.run(&["connect", "codex", "--http", "--json"]).json();
    assert_eq!(http["entry"]["bearer_token_env_var"], "GUILDHALL_TOKEN");
    assert_eq!(http["written"], false);
    assert!(!place.home().join(".codex").exists());
}

#[test]
fn config_checks_shows_and_describes_the_settings() {
    let place = Place::new();
    assert!(
        place
            .run(&["config", "check"])
            .ok()
            .contains("every setting has its default")
    );
    let shown = place.run(&["config", "show", "--json"]).json();
    assert_eq!(shown["server"]["port"], 4040);
    assert_eq!(place.run(&["config", "schema"]).json()["type"], "object");

    place.write(
        "WORKFLOW.md",
        "---\ntracker:\n  kindd: local\ntools:\n  nonsense: {}\n---\n",
    );
    let ran = place.run(&["config", "check"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("WORKFLOW.md:3:3") && ran.err.contains("kind"),
        "{ran:?}"
    );
    let ran = place.run(&["config", "check", "--json"]);
    assert_eq!(ran.code, 2);
    let checked: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&checked["ok"], &checked["errors"][0]["line"]),
        (&json!(false), &json!(3))
    );

    place.write("WORKFLOW.md", "---\ntools:\n  nonsense: {}\n---\n");
    let ran = place.run(&["config", "check"]);
    assert!(
        ran.err
            .contains("unsupported tool pack: nonsense (known tool packs: local, git, ladder, lanes, code, roles, team)"),
        "{ran:?}"
    );
    let ran = place.run(&["up", "--port", "0"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn nothing_from_a_board_steers_the_terminal() {
    let place = Place::new();
    place.write(
        ".guildhall/board/BOARD-1.md",
        "---\nstatus: \"a\\u001b[2J\"\n---\n\n# \u{1b}]0;x\u{7}\u{202e}title\n",
    );
    let _up = place.up(&[]);
    let ran = place.run(&["call", "local_query"]);
    assert!(
        !ran.out.contains('\u{1b}') && !ran.out.contains('\u{7}'),
        "{:?}",
        ran.out
    );
    let ran = place.run(&["call", "local_read_issue", "issueId=\u{1b}[31m"]);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}
