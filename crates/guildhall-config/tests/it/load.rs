//! What files mean.

use std::path::Path;

use guildhall_config::{Format, Level, Provider};

use crate::{Folder, problems, settings};

#[test]
fn without_a_file_everything_is_default() {
    let folder = Folder::empty();
    let loaded = folder.load().unwrap();
    let settings = &loaded.settings;
    assert_eq!(settings.tracker.kind, "local");
    assert_eq!(settings.active_tracker().provider, Provider::Local);
    assert_eq!(
        (settings.server.host.as_str(), settings.server.port),
        ("127.0.0.1", 4040)
    );
    assert!(!settings.server.mcp_sessions);
    assert_eq!(settings.tools.names().count(), 0);
    assert_eq!(
        (settings.logging.level, settings.logging.format),
        (Level::Info, Format::Text)
    );
    assert_eq!(
        settings.board().path,
        folder.workspace().root.join(".guildhall/board")
    );
    assert_eq!(settings.board().id_prefix, "BOARD-");
    assert_eq!(
        (loaded.prompt.as_str(), loaded.source, loaded.warnings),
        ("", None, vec![])
    );
}

#[test]
fn a_file_without_front_matter_is_all_prompt() {
    let loaded = Folder::with("Fix {{ issue.title }}.\n").load().unwrap();
    assert_eq!(loaded.prompt, "Fix {{ issue.title }}.\n");
    assert_eq!(loaded.settings.tracker.kind, "local");
    assert!(loaded.source.is_some());
}

#[test]
fn front_matter_that_is_never_closed_is_prompt_and_said_so() {
    let loaded = Folder::with("---\nserver: {port: 1}\n").load().unwrap();
    assert_eq!(loaded.settings.server.port, 4040);
    assert_eq!(loaded.prompt, "---\nserver: {port: 1}\n");
    assert_eq!(loaded.warnings.len(), 1);
    assert!(
        loaded.warnings[0]
            .message
            .contains("the whole file is taken as the prompt")
    );
}

#[test]
fn sections_are_read_and_the_prompt_is_kept_as_it_is() {
    let loaded = Folder::with(
        "---\nserver:\n  host: \"::1\"\n  port: \"8080\"\n  mcpSessions: true\n  allowed_hosts: [guild.example.com]\n  \
         allowed_origins: [\"https://tools.example.com\"]\n  max_request_bytes: 4096\nlogging:\n  level: Debug\n  \
         format: json\n  log_file: logs/a.log\n---\n\n  Do it.\n",
    );
    let root = loaded.workspace().root;
    let loaded = loaded.load().unwrap();
    let server = &loaded.settings.server;
    assert_eq!(
        (server.host.as_str(), server.port, server.mcp_sessions),
        ("::1", 8080, true)
    );
    assert_eq!(server.allowed_hosts, ["guild.example.com"]);
    assert_eq!(server.allowed_origins, ["https://tools.example.com"]);
    assert_eq!(server.max_request_bytes, 4096);
    assert_eq!(
        (
            loaded.settings.logging.level,
            loaded.settings.logging.format
        ),
        (Level::Debug, Format::Json)
    );
    assert_eq!(
        loaded.settings.logging.log_file,
        Some(root.join("logs/a.log"))
    );
    assert_eq!(loaded.prompt, "\n  Do it.\n");
}

#[test]
fn packs_keep_the_order_of_the_file() {
    let settings = settings("tools: {team: {}, git: {}, ladder: {}, code: {}, acme: {depth: 3}}");
    let names: Vec<_> = settings.tools.names().collect();
    assert_eq!(names, ["team", "git", "ladder", "code", "acme"]);
    let acme = settings.tools.pack("acme").unwrap();
    assert!(acme.option("depth").is_some());
    assert_eq!((acme.at.line, acme.at.column), (2, 50));
}

#[test]
fn the_board_is_the_packs_else_the_trackers_else_the_default() {
    let folder = Folder::empty();
    let root = folder.workspace().root;
    for (front_matter, path, id_prefix) in [
        ("", root.join(".guildhall/board"), "BOARD-"),
        (
            "tools: {local: {}}",
            root.join(".guildhall/board"),
            "BOARD-",
        ),
        (
            "trackers: {local: {provider: local, path: b, idPrefix: T-}}",
            root.join("b"),
            "T-",
        ),
        (
            "trackers: {local: {provider: local, path: b, id_prefix: T-}}\ntools: {local: {path: c}}",
            root.join("c"),
            "T-",
        ),
        (
            "tools: {local: {path: ~/board, id_prefix: P_}}",
            "/home/ada/board".into(),
            "P_",
        ),
        (
            "tools: {local: {path: \"$BOARDS/${NAME}\"}}",
            "/srv/web".into(),
            "BOARD-",
        ),
        // Another tracker's board is nobody's but its own.
        (
            "tracker: {kind: memory}\ntrackers: {x: {provider: local, path: b, id_prefix: T-}}\ntools: {local: {}}",
            root.join(".guildhall/board"),
            "BOARD-",
        ),
    ] {
        folder.write("WORKFLOW.md", &format!("---\n{front_matter}\n---\n"));
        let variables = [("HOME", "/home/ada"), ("BOARDS", "/srv"), ("NAME", "web")];
        let settings = folder.load_with(&variables).unwrap().settings;
        assert_eq!(
            (&settings.board().path, settings.board().id_prefix.as_str()),
            (&path, id_prefix),
            "{front_matter}"
        );
    }
}

#[test]
fn an_existing_board_of_the_original_is_used_where_there_is_no_other() {
    let folder = Folder::empty();
    folder.write(".lorenz/local/BOARD-1.md", "");
    let board = |folder: &Folder| folder.load().unwrap().settings.board().path.clone();
    assert!(board(&folder).ends_with(".lorenz/local"));
    folder.write(".guildhall/board/BOARD-1.md", "");
    assert!(board(&folder).ends_with(".guildhall/board"));
}

#[test]
fn a_tracker_may_have_any_name() {
    let settings = settings(
        "tracker: {kind: work}\ntrackers: {work: {provider: local, active_states: [Doing], terminal_states: []}}",
    );
    let tracker = settings.active_tracker();
    assert_eq!(tracker.provider, Provider::Local);
    assert_eq!(tracker.active_states, ["Doing"]);
    assert!(tracker.terminal_states.is_empty());
}

#[test]
fn the_memory_tracker_takes_its_issues_from_the_settings_else_from_the_environment() {
    let one = r#"[{"id":"1","identifier":"M-1","title":"One","state":"Done"}]"#;
    let variables = [("LORENZ_MEMORY_TRACKER_ISSUES_JSON", one)];
    let load = |front_matter: &str| {
        let folder = Folder::with(&format!("---\n{front_matter}\n---\n"));
        let settings = folder.load_with(&variables).unwrap().settings;
        let issues = settings.active_tracker().issues.clone().unwrap();
        issues
            .into_iter()
            .map(|issue| issue.identifier)
            .collect::<Vec<_>>()
    };
    assert_eq!(load("tracker: {kind: memory}"), ["M-1"]);
    assert_eq!(
        load("tracker: {kind: m}\ntrackers: {m: {provider: memory}}"),
        ["M-1"]
    );
    assert_eq!(
        load(
            "tracker: {kind: m}\ntrackers: {m: {provider: memory, issues: [{id: a, identifier: S-1, title: T, state: \
             Todo}]}}"
        ),
        ["S-1"]
    );
    assert!(load("tracker: {kind: m}\ntrackers: {m: {provider: memory, issues: []}}").is_empty());
}

#[test]
fn a_faulty_list_of_issues_in_the_environment_is_named() {
    let folder = Folder::with("---\ntracker: {kind: memory}\n---\n");
    for (value, expected) in [
        (
            "{",
            "LORENZ_MEMORY_TRACKER_ISSUES_JSON must be a JSON array of issues",
        ),
        (
            "[{}]",
            "LORENZ_MEMORY_TRACKER_ISSUES_JSON[0]: issue.state is required",
        ),
    ] {
        let error = folder.load_with(&[("LORENZ_MEMORY_TRACKER_ISSUES_JSON", value)]);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_file_of_the_original_loads_and_what_has_no_effect_is_said() {
    let folder = Folder::with(
        "---\ntracker: {kind: jira}\ntrackers:\n  jira:\n    provider: jira\n    base_url: https://x.atlassian.net\n    \
         email: ada@example.com\n    api_key: $JIRA_API_KEY\n    project_keys: [ENG]\n    issueType: Task\ndispatch: \
         {accept_unrouted: true}\npolling: {interval_ms: 30000}\nworkspace: {root: /tmp/w}\nhooks: {after_create: echo}\n\
         agent: {kind: codex, max_turns: 20}\nagents: {codex: {executor: acp}}\nstatus_overrides: {Todo: {agent: {kind: \
         claude}}}\nworker: {kind: local}\nworkers: {a: {driver: local}}\nobservability: {refresh_ms: 1000}\nserver: \
         {traceDir: /tmp/t, static_dir: /tmp/s}\ncodex: {command: codex}\nclaude: {model: x}\n---\nDo it.\n",
    );
    let loaded = folder.load_with(&[("JIRA_API_KEY", "k")]).unwrap();
    assert_eq!(loaded.settings.active_tracker().provider, Provider::Jira);
    let mut said: Vec<_> = loaded
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    said.sort_unstable();
    let mut expected: Vec<_> = [
        "dispatch",
        "polling",
        "workspace",
        "hooks",
        "agent",
        "agents",
        "status_overrides",
        "worker",
        "workers",
        "observability",
        "codex",
        "claude",
        "server.trace_dir",
        "server.static_dir",
        "trackers.jira.base_url",
        "trackers.jira.email",
        "trackers.jira.project_keys",
        "trackers.jira.issue_type",
    ]
    .map(|key| format!("{key} is not used by this version"))
    .into();
    expected.sort();
    assert_eq!(said, expected);
    assert!(
        loaded
            .warnings
            .iter()
            .all(|warning| warning.position.is_some())
    );
    let options = &loaded.settings.active_tracker().options;
    let keys: Vec<_> = options.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["base_url", "email", "project_keys", "issue_type"]);
    assert_eq!(options[1].1.as_text(), Some("ada@example.com"));
}

#[test]
fn a_file_that_was_named_must_exist_and_be_a_file() {
    let folder = Folder::empty();
    folder.write("folder/x", "");
    let load = |name: &str| {
        let workspace =
            folder
                .workspace()
                .with_overrides(None, Some(Path::new(name)), folder.path(), &|_| None);
        guildhall_config::Settings::load(&workspace, &|_| None)
            .unwrap_err()
            .to_string()
    };
    let path = |name: &str| folder.path().join(name).display().to_string();
    assert_eq!(
        load("none.md"),
        format!("missing_workflow_file: {} ENOENT", path("none.md"))
    );
    assert_eq!(
        load("folder"),
        format!("missing_workflow_file: {} EISDIR", path("folder"))
    );
    assert_eq!(
        load("folder/x/y.md"),
        format!("missing_workflow_file: {} ENOTDIR", path("folder/x/y.md"))
    );
    #[cfg(unix)]
    assert_eq!(
        load("/dev/null"),
        "missing_workflow_file: /dev/null not a regular file"
    );
    folder.write("big.md", &"x".repeat((4 << 20) + 1));
    assert_eq!(
        load("big.md"),
        format!(
            "missing_workflow_file: {} EFBIG: longer than 4194304 bytes",
            path("big.md")
        )
    );
}

#[test]
fn a_file_that_is_no_text_is_refused_with_its_line() {
    let folder = Folder::empty();
    std::fs::write(
        folder.path().join("WORKFLOW.md"),
        b"---\nserver: {}\n# \xff\n---\n",
    )
    .unwrap();
    let error = folder.load().unwrap_err();
    assert_eq!(
        error.to_string(),
        "workflow_parse_error: Line 3 is not UTF-8"
    );
}

#[test]
fn all_problems_are_reported_in_the_order_of_the_file() {
    assert_eq!(
        problems("server: {port: -1}\nlogging: {level: loud}\ntools: {local: {path: 1}}"),
        "WORKFLOW.md:2:16: server.port must be a whole number from 0 to 65535, not -1\n\
         WORKFLOW.md:3:18: logging.level must be one of off, error, warn, info, debug, trace, not \"loud\"\n\
         WORKFLOW.md:4:23: tools.local.path must be a string"
    );
}

#[test]
fn a_sections_empty_value_is_its_default() {
    let settings = settings("tracker:\ntrackers:\nserver:\nlogging:\ntools:");
    assert_eq!(settings.server.port, 4040);
    assert_eq!(settings.tools.names().count(), 0);
}

#[test]
fn paths_are_relative_to_the_file_and_not_to_the_workspace() {
    let folder = Folder::empty();
    folder.write("conf/team.md", "---\nlogging: {log_file: a.log}\n---\n");
    let workspace = folder
        .workspace()
        .with_overrides(None, None, folder.path(), &|name| {
            (name == "LORENZ_WORKFLOW").then(|| "conf/team.md".to_owned())
        });
    let loaded = guildhall_config::Settings::load(&workspace, &|_| None).unwrap();
    assert_eq!(
        loaded.settings.logging.log_file,
        Some(folder.path().join("conf/a.log"))
    );
    assert_eq!(
        loaded.settings.board().path,
        folder.path().join("conf/.guildhall/board")
    );
}

#[test]
fn what_only_the_catalog_knows_is_refused_with_its_place() {
    let loaded = Folder::with("---\ntools:\n  acme: {}\n---\n")
        .load()
        .unwrap();
    let pack = loaded.settings.tools.pack("acme").unwrap();
    let error = loaded.refusal("tools.acme", Some(pack.at), "unsupported tool pack: acme");
    assert_eq!(
        error.to_string(),
        "WORKFLOW.md:3:3: unsupported tool pack: acme"
    );
}
