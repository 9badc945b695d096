//! Starting, stopping, and everything in between.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Place, Ran, eventually, wait};

#[test]
fn a_second_start_points_at_the_first() {
    let place = Place::new();
    let up = place.up(&[]);
    let ran = place.run(&["up"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains(up.url()), "{ran:?}");
    let said = place.run(&["up", "--json"]).json();
    assert_eq!(
        (&said["url"], &said["pid"]),
        (&up.said["url"], &up.said["pid"])
    );
}

#[test]
fn a_port_that_was_asked_for_and_is_taken_is_refused_with_a_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let place = Place::new();
    let ran = place.run(&["up", "--port", &port]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(&format!("127.0.0.1:{port}")), "{ran:?}");
    assert!(ran.err.contains("--port 0"), "{ran:?}");
}

#[test]
fn what_the_machine_does_not_let_happen_is_no_fault_of_ours() {
    let place = Place::new();
    place.write("file", "");
    let unbound = "---\nserver:\n  host: 192.0.2.1\n---\n";
    let unlogged = "---\nlogging:\n  log_file: file/log\n---\n";
    let nobody = "postgres://nobody@127.0.0.1:1/none?sslmode=disable";
    for (settings, arguments, said) in [
        ("", &["up", "--data-dir", "file/state"][..], "file/state"),
        ("", &["tools", "--data-dir", "file/state"], "file/state"),
        ("", &["up", "--database-url", nobody], "--database-url"),
        (unbound, &["up"], "server.host"),
        (unbound, &["tools"], "server.host"),
        (unlogged, &["up"], "file/log"),
    ] {
        place.write("WORKFLOW.md", settings);
        let ran = place.run(arguments);
        assert_eq!(ran.code, 1, "{arguments:?} {settings} {ran:?}");
        assert!(ran.err.contains(said), "{arguments:?} {settings} {ran:?}");
    }
    // The database is a folder.
    let place = Place::new();
    std::fs::create_dir_all(place.state().join("guildhall.db")).unwrap();
    let ran = place.run(&["up"]);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn a_token_file_that_cannot_be_read_is_no_fault_of_ours() {
    let place = Place::new();
    let mut command = place.command();
    command
        .arg("tools")
        .env("GUILDHALL_URL", "http://127.0.0.1:9")
        .env("GUILDHALL_TOKEN_FILE", "missing.token");
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("missing.token"), "{ran:?}");
}

#[test]
fn a_port_that_the_settings_name_is_taken_or_refused_and_the_default_gives_way() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let place = Place::new();
    place.write(
        "WORKFLOW.md",
        &format!("---\nserver:\n  port: {port}\n---\n"),
    );
    let ran = place.run(&["up"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(&format!("127.0.0.1:{port}")), "{ran:?}");
    assert!(ran.err.contains("server.port: 0"), "{ran:?}");
    place.write("WORKFLOW.md", "");
    // Ours or another workspace's: it is taken.
    let _taken = std::net::TcpListener::bind("127.0.0.1:4040");
    let mut process = place
        .command()
        .args(["up", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(process.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    assert_ne!(said["url"], "http://127.0.0.1:4040");
}

#[test]
fn what_a_running_server_cannot_be_told_is_said() {
    let place = Place::new();
    let up = place.up(&[]);
    let again = place.run(&["up", "--demo", "--port", "0"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.out.contains(up.url()), "{again:?}");
    assert!(
        again.err.contains("--demo, --port changes nothing"),
        "{again:?}"
    );
    assert!(
        !place
            .workspace()
            .join(".guildhall/board/BOARD-1.md")
            .exists()
    );
}

#[test]
fn only_what_the_failing_start_said_is_shown() {
    let place = Place::new();
    for (wrong, other) in [("prot", "hots"), ("hots", "prot")] {
        place.write("WORKFLOW.md", &format!("---\nserver:\n  {wrong}: 1\n---\n"));
        let ran = place.run(&["tools"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.err.contains(wrong) && !ran.err.contains(other),
            "{ran:?}"
        );
    }
}

#[test]
fn a_stopped_server_leaves_nothing_that_looks_running() {
    let place = Place::new();
    let up = place.up(&[]);
    assert!(place.state().join("server.json").exists());
    assert_eq!(up.stop(), 0);
    assert!(!place.state().join("server.json").exists());
}

#[test]
fn a_killed_server_is_replaced_without_repair_and_its_tokens_hold() {
    let place = Place::new();
    let mut up = place.up(&["--demo"]);
    let made = place.run(&["connect", "claude", "--json"]).json();
    up.process.kill().unwrap();
    up.process.wait().unwrap();
    assert!(
        place.state().join("server.json").exists(),
        "a killed server cannot tidy up"
    );
    let up = place.up(&[]);
    let token = std::fs::read_to_string(made["token_file"].as_str().unwrap()).unwrap();
    let mut command = place.command();
    command
        .args(["call", "local_query", "count=true"])
        .env("GUILDHALL_URL", up.url())
        .env("GUILDHALL_TOKEN", token);
    assert_eq!(Ran::of(&command.output().unwrap()).json()["total"], 6);
}

#[test]
fn an_idle_server_stops_by_itself_and_a_used_one_stays() {
    let place = Place::new();
    let mut up = place.up(&["--idle-exit", "4s"]);
    for _ in 0..8 {
        place.run(&["call", "local_query"]).ok();
        std::thread::sleep(std::time::Duration::from_millis(600));
    }
    assert!(up.process.try_wait().unwrap().is_none(), "it was in use");
    assert_eq!(wait(&mut up.process), 0);
}

#[test]
fn ten_starts_at_once_end_in_one_server_that_all_agree_on() {
    let place = Place::new();
    let started: Vec<_> = (0..10)
        .map(|_| {
            let mut command = place.command();
            command
                .args(["tools", "--json"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for process in started {
        let ran = Ran::of(&process.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let urls: BTreeSet<String> = (0..3)
        .map(|_| {
            place.run(&["up", "--json"]).json()["url"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(urls.len(), 1);
}

#[test]
fn changed_settings_are_in_the_next_listing_and_bad_ones_change_nothing() {
    let place = Place::new();
    let _up = place.up(&[]);
    let tools = || {
        place
            .run(&["tools", "--json"])
            .json()
            .as_array()
            .map(Vec::len)
    };
    // Those of the team are there whatever the settings mount.
    assert_eq!(tools(), Some(5 + 7));
    place.write("WORKFLOW.md", "---\ntracker:\n  kind: memory\n---\n");
    assert_eq!(tools(), Some(7));
    place.write("WORKFLOW.md", "---\ntracker:\n  kind: nonsense\n---\n");
    assert_eq!(tools(), Some(7));
    eventually("the reason is logged", || {
        place.log().contains("Settings not reloaded")
    });
    place.write(
        "WORKFLOW.md",
        "---\ntools:\n  local:\n    path: elsewhere\n---\n",
    );
    assert_eq!(tools(), Some(5 + 7));
    place
        .run(&["call", "local_create_issue", "title=Moved"])
        .ok();
    assert!(place.workspace().join("elsewhere/BOARD-1.md").is_file());
}

#[test]
fn worktrees_of_a_repository_share_the_server_of_their_main_checkout() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let mut command = guildhall_testing::hermetic("git", place.home());
        command.current_dir(place.workspace()).args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=you@example.com",
        ]);
        let ran = Ran::of(&command.args(arguments).output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    git(&["init", "-q"]);
    git(&["config", "user.email", "you@example.com"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&["worktree", "add", "-q", "../side"]);
    let up = place.up(&["--demo"]);
    let mut command = place.command();
    command
        .current_dir(place.home().join("side"))
        .args(["up", "--json"]);
    let said = Ran::of(&command.output().unwrap()).json();
    assert_eq!(said["url"], up.said["url"]);
    eventually("the owner is git's user", || {
        place.run(&["call", "local_query"]).ok();
        place.log().contains("you@example.com")
    });
}
