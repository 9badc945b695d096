use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use guildhall_core::{SystemClock, SystemIds};
use guildhall_local::BoardOptions;
use guildhall_tools::{Answer, Door, JsonObject};
use serde_json::{Value, json};

use super::*;
use crate::under_test::UnderTest;

/// A board of its own behind the real pipeline.
struct Bench {
    dir: tempfile::TempDir,
    tools: UnderTest,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in files {
            std::fs::write(dir.path().join(name), content).unwrap();
        }
        let options = BoardOptions::new(dir.path());
        let board = Board::open(options, Arc::new(SystemClock), Arc::new(SystemIds)).unwrap();
        Self {
            dir,
            tools: UnderTest::new(pack(&board), None),
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    async fn call_at(&self, door: Door, tool: &str, arguments: Value) -> Answer {
        self.tools.call(door, tool, arguments).await
    }

    /// The result of a call over MCP.
    async fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.tools.ok(Door::Mcp, tool, arguments).await
    }

    /// The message of a failed call over MCP.
    async fn refused(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call_at(Door::Mcp, tool, arguments.clone()).await;
        let failure = answer
            .failure
            .unwrap_or_else(|| panic!("{tool} {arguments} succeeded: {}", answer.text));
        assert_eq!(answer.payload["error"]["message"], failure.message);
        failure.message
    }
}

fn issue(status: &str, title: &str) -> String {
    format!("---\nstatus: {status}\n---\n\n# {title}\n")
}

#[tokio::test]
async fn an_issue_lives_from_creation_to_done() {
    let bench = Bench::new(&[]);
    let made = bench
        .ok(
            "local_create_issue",
            json!({ "title": "Fix it", "body": "All of it.", "status": " " }),
        )
        .await;
    let issue = &made["issue"];
    assert_eq!(
        (&issue["id"], &issue["identifier"]),
        (&json!("BOARD-1"), &json!("BOARD-1"))
    );
    assert_eq!(
        (&issue["state"], &issue["stateType"]),
        (&json!("Todo"), &json!("unstarted"))
    );
    let keys: Vec<&String> = issue.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "id",
            "identifier",
            "title",
            "description",
            "state",
            "stateType",
            "branchName",
            "url",
            "priority",
            "createdAt",
            "updatedAt",
            "labels",
            "blockers",
            "assigneeId"
        ]
    );
    let moved = bench
        .ok(
            "local_update_status",
            json!({ "issueId": "BOARD-1", "status": "In Progress" }),
        )
        .await;
    assert_eq!(moved["issue"]["stateType"], "started");
    assert_eq!(moved["issue"]["createdAt"], issue["createdAt"]);
    let said = bench
        .ok(
            "local_comment",
            json!({ "issueId": "BOARD-1", "body": "Half way\n- done?" }),
        )
        .await;
    assert_eq!(said, json!({ "ok": true }));
    let read = bench
        .ok("local_read_issue", json!({ "issueId": "BOARD-1" }))
        .await;
    assert_eq!(
        read["issue"],
        json!({ "id": "BOARD-1", "status": "In Progress", "title": "Fix it", "description": "All of it." })
    );
    let comments = read["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 1);
    assert!(
        comments[0]
            .as_str()
            .unwrap()
            .ends_with(" agent: Half way\n- done?"),
        "{comments:?}"
    );
    assert_eq!(
        read["origin"],
        json!({ "tracker": "local", "author": null, "trusted": false })
    );
    assert_eq!(read.get("next_cursor"), None);
    assert_eq!(read.get("truncated"), None);
}

#[tokio::test]
async fn wrong_arguments_get_the_stated_messages() {
    let bench = Bench::new(&[
        ("BOARD-1.md", &issue("Todo", "One")),
        ("BOARD-2.md", "no front matter"),
    ]);
    for (tool, arguments, message) in [
        ("local_read_issue", json!({}), "'issueId' is required"),
        (
            "local_read_issue",
            json!({ "issueId": "\t" }),
            "'issueId' is required",
        ),
        (
            "local_update_status",
            json!({ "issueId": "BOARD-1" }),
            "'status' is required",
        ),
        (
            "local_update_status",
            json!({ "issueId": "BOARD-1", "status": "" }),
            "'status' is required",
        ),
        (
            "local_comment",
            json!({ "issueId": "BOARD-1", "body": 5 }),
            "'body' is required",
        ),
        (
            "local_create_issue",
            json!({ "title": null }),
            "'title' is required",
        ),
        (
            "local_read_issue",
            json!({ "issueId": "x" }),
            "invalid board issue id: \"x\" (expected BOARD-<n>)",
        ),
        (
            "local_read_issue",
            json!({ "issueId": "../BOARD-1" }),
            "invalid board issue id: \"../BOARD-1\" (expected BOARD-<n>)",
        ),
        (
            "local_read_issue",
            json!({ "issueId": "BOARD-9" }),
            "Board issue BOARD-9 does not exist",
        ),
        (
            "local_read_issue",
            json!({ "issueId": "BOARD-2" }),
            "board issue BOARD-2 is missing required 'status'",
        ),
        (
            "local_query",
            json!({ "limit": 0 }),
            "limit must be a positive integer",
        ),
        (
            "local_query",
            json!({ "limit": "5" }),
            "limit must be a positive integer",
        ),
        (
            "local_query",
            json!({ "limit": null }),
            "limit must be a positive integer",
        ),
        (
            "local_query",
            json!({ "offset": -1 }),
            "offset must be a non-negative integer",
        ),
        (
            "local_query",
            json!({ "order_by": null }),
            "order_by must be an array",
        ),
        (
            "local_query",
            json!({ "select": "id" }),
            "select must be an array of field-name strings",
        ),
        (
            "local_query",
            json!({ "where": [] }),
            "filter: each node must be an object",
        ),
        (
            "local_query",
            json!({ "where": {} }),
            "filter: predicate 'field' must be a non-empty string",
        ),
        (
            "local_query",
            json!({ "wher": {} }),
            "Unknown argument 'wher': allowed are count, group_by, limit, max_bytes, offset, order_by, select, where",
        ),
    ] {
        assert_eq!(
            bench.refused(tool, arguments.clone()).await,
            message,
            "{tool} {arguments}"
        );
    }
}

#[tokio::test]
async fn a_query_gives_rows_total_and_skipped() {
    let bench = Bench::new(&[
        ("BOARD-1.md", &issue("Todo", "One")),
        ("BOARD-2.md", &issue("Done", "Two")),
        (
            "BOARD-10.md",
            "---\nstatus: Todo\nlabels:\n  - Backend\n---\n\n# Ten\n",
        ),
        ("BOARD-3.md", "nothing"),
        ("README.md", "not an issue"),
    ]);
    let skipped =
        json!([{ "id": "BOARD-3", "error": "board issue BOARD-3 is missing required 'status'" }]);
    assert_eq!(
        bench.ok("local_query", json!({})).await,
        json!({
            "rows": [
                { "id": "BOARD-1", "title": "One", "state": "Todo", "stateType": "unstarted", "labels": [] },
                { "id": "BOARD-2", "title": "Two", "state": "Done", "stateType": "completed", "labels": [] },
                { "id": "BOARD-10", "title": "Ten", "state": "Todo", "stateType": "unstarted", "labels": ["backend"] },
            ],
            "total": 3,
            "skipped": skipped,
        })
    );
    let filter = json!({ "field": "state", "op": "eq", "value": "Todo" });
    assert_eq!(
        bench
            .ok(
                "local_query",
                json!({ "where": filter, "select": ["id"], "limit": 1, "offset": 1 })
            )
            .await,
        json!({ "rows": [{ "id": "BOARD-10" }], "total": 2, "skipped": skipped })
    );
    assert_eq!(
        bench
            .ok(
                "local_query",
                json!({ "where": filter.to_string(), "count": true })
            )
            .await,
        json!({ "total": 2, "skipped": skipped })
    );
    assert_eq!(
        bench
            .ok("local_query", json!({ "group_by": "state" }))
            .await,
        json!({
            "groups": [{ "value": "Todo", "count": 2 }, { "value": "Done", "count": 1 }],
            "total": 3,
            "skipped": skipped,
        })
    );
}

#[tokio::test]
async fn a_look_up_by_id_answers_as_a_scan_would() {
    let bench = Bench::new(&[
        ("BOARD-2.md", &issue("Todo", "Two")),
        ("BOARD-10.md", &issue("Todo", "Ten")),
    ]);
    let ids = |answer: &Value| {
        answer["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].clone())
            .collect::<Vec<_>>()
    };
    for (filter, expected) in [
        (
            json!({ "field": "id", "op": "in", "value": ["BOARD-10", "BOARD-2", "BOARD-2", "x"] }),
            vec!["BOARD-2", "BOARD-10"],
        ),
        (
            json!({ "field": "identifier", "op": "eq", "value": "BOARD-10" }),
            vec!["BOARD-10"],
        ),
        (
            json!({ "field": "id", "op": "eq", "value": "BOARD-02" }),
            vec![],
        ),
    ] {
        let found = bench
            .ok("local_query", json!({ "where": filter, "select": ["id"] }))
            .await;
        assert_eq!(ids(&found), expected, "{filter}");
        let scanned = bench
            .ok(
                "local_query",
                json!({ "where": { "or": [filter] }, "select": ["id"] }),
            )
            .await;
        assert_eq!(found, scanned);
    }
}

#[tokio::test]
async fn an_issue_edited_by_another_program_is_in_the_next_answer() {
    let bench = Bench::new(&[("BOARD-1.md", &issue("Todo", "Before"))]);
    bench.ok("local_query", json!({})).await;
    std::fs::write(bench.path().join("BOARD-1.md"), issue("Done", "After")).unwrap();
    let rows = bench.ok("local_query", json!({})).await;
    assert_eq!(rows["rows"][0]["title"], "After");
}

#[tokio::test]
async fn a_long_issue_comes_whole_over_http_and_page_by_page_over_mcp() {
    let comments: String = (0..60).fold(String::new(), |text, n| {
        text + &format!(
            "- 2026-05-29T10:00:00.000Z agent: {n} {}\n",
            "c".repeat(500)
        )
    });
    let file = format!(
        "---\nstatus: Todo\n---\n\n# Long\n\n{}\n\n<!-- lorenz:comments -->\n## Comments\n{comments}",
        "d".repeat(20_000)
    );
    let bench = Bench::new(&[("BOARD-1.md", &file)]);
    let whole = bench
        .call_at(
            Door::Http,
            "local_read_issue",
            json!({ "issueId": "BOARD-1" }),
        )
        .await
        .payload;
    assert_eq!(whole["comments"].as_array().unwrap().len(), 60);
    assert_eq!(whole.get("next_cursor"), None);

    let (mut description, mut read, mut pages) = (String::new(), Vec::new(), 0);
    let mut arguments = json!({ "issueId": "BOARD-1" });
    loop {
        let answer = bench
            .call_at(Door::Mcp, "local_read_issue", arguments.clone())
            .await;
        assert_eq!(answer.failure, None);
        assert!(answer.text.len() <= 16 << 10, "{}", answer.text.len());
        let page = answer.payload;
        description += page["issue"]["description"].as_str().unwrap();
        read.extend(page["comments"].as_array().unwrap().iter().cloned());
        pages += 1;
        assert_eq!(
            page.get("truncated").is_some(),
            pages == 1,
            "only the description is cut"
        );
        match page.get("next_cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert!(
        whole["issue"]["description"] == json!(description),
        "the description is whole"
    );
    assert!(whole["comments"] == json!(read), "the comments are whole");
    assert!(pages > 2);
}

#[tokio::test]
async fn a_cursor_outlives_a_new_comment_and_not_an_edit_of_what_was_read() {
    let file = format!(
        "---\nstatus: Todo\n---\n\n# Long\n\n{}\n",
        "d".repeat(20_000)
    );
    let bench = Bench::new(&[("BOARD-1.md", &file)]);
    let cursor = bench
        .ok("local_read_issue", json!({ "issueId": "BOARD-1" }))
        .await["next_cursor"]
        .clone();
    bench
        .ok(
            "local_comment",
            json!({ "issueId": "BOARD-1", "body": "More" }),
        )
        .await;
    let rest = bench
        .ok(
            "local_read_issue",
            json!({ "issueId": "BOARD-1", "cursor": cursor }),
        )
        .await;
    assert_eq!(rest["comments"].as_array().unwrap().len(), 1);
    std::fs::write(bench.path().join("BOARD-1.md"), file.replace("ddd", "eee")).unwrap();
    let message = bench
        .refused(
            "local_read_issue",
            json!({ "issueId": "BOARD-1", "cursor": cursor }),
        )
        .await;
    assert_eq!(message, "BOARD-1 has changed since 'cursor' was given out");
    let message = bench
        .refused(
            "local_read_issue",
            json!({ "issueId": "BOARD-1", "cursor": "AAAA" }),
        )
        .await;
    assert_eq!(message, "'cursor' is not one that this call gave out");
}

#[tokio::test]
async fn a_wide_query_is_cut_at_a_row_and_says_where_it_goes_on() {
    let files: Vec<(String, String)> = (1..=100)
        .map(|n| (format!("BOARD-{n}.md"), issue("Todo", &"t".repeat(400))))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let bench = Bench::new(&files);
    let mut ids = BTreeSet::new();
    let mut offset = 0;
    loop {
        let answer = bench
            .call_at(Door::Mcp, "local_query", json!({ "offset": offset }))
            .await;
        assert!(answer.text.len() <= 16 << 10, "{}", answer.text.len());
        ids.extend(
            answer.payload["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["id"].to_string()),
        );
        match answer.payload.get("next_offset") {
            Some(next) => offset = next.as_u64().unwrap(),
            None => break,
        }
    }
    assert_eq!(ids.len(), 100);
    let with_limit = bench.ok("local_query", json!({ "limit": 100 })).await;
    assert_eq!(
        with_limit["rows"].as_array().unwrap().len(),
        100,
        "a limit says how much is wanted"
    );
}

#[tokio::test]
async fn no_message_holds_a_path_of_the_machine() {
    let bench = Bench::new(&[("BOARD-1.md", &issue("Todo", "One"))]);
    std::fs::create_dir(bench.path().join("BOARD-2.md")).unwrap();
    let dir = bench.path().to_string_lossy().into_owned();
    for arguments in [
        json!({ "issueId": "BOARD-2" }),
        json!({ "issueId": "BOARD-3" }),
    ] {
        assert!(
            !bench
                .refused("local_read_issue", arguments)
                .await
                .contains(&dir)
        );
    }
    assert!(
        !bench
            .ok("local_query", json!({}))
            .await
            .to_string()
            .contains(&dir)
    );
}

/// What a client with this mount pays at every start, in tokens.
const MENU_BUDGET: usize = 2_500;

#[test]
fn the_menu_is_a_reviewed_file_and_within_its_budget() {
    let bench = Bench::new(&[]);
    let listing = bench.tools.listing();
    insta::assert_json_snapshot!("tools_list", listing);
    let text = json!({ "tools": listing }).to_string();
    let tokens = tiktoken_rs::o200k_base()
        .unwrap()
        .encode_ordinary(&text)
        .len();
    assert!(
        tokens <= MENU_BUDGET,
        "{tokens} tokens, the budget is {MENU_BUDGET}"
    );
}

#[test]
fn every_schema_is_a_plain_object_that_compiles() {
    let bench = Bench::new(&[]);
    for tool in bench.tools.catalog.tools() {
        assert_eq!(
            guildhall_tools::lint::tool(tool),
            [""; 0],
            "{}",
            tool.name()
        );
        let schemas: [&Arc<JsonObject>; 2] = [tool.input_schema(), tool.output_schema()];
        for schema in schemas {
            jsonschema::draft202012::new(&Value::Object((**schema).clone())).unwrap();
        }
    }
}
