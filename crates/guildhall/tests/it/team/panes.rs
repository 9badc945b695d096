//! `guildhall team` with git worktrees and tmux panes, and a scripted agent in each pane.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guildhall_testing::hermetic;
use serde_json::Value;

use crate::support::{Place, Ran, eventually};

/// What stands on the path as `claude`: it does what a set-up agent does, through the tools, and says what it got.
const AGENT: &str = r#"#!/bin/sh
set -e
role="$GUILDHALL_ROLE" session="$GUILDHALL_SESSION"
say() { printf '%s\n' "$*" >> "$SCRATCH/$role.log"; }
say "asked: $1"
guildhall call devorch_get_setup_instructions session="$session" role="$role" agent=claude > "$SCRATCH/$role.setup"
if [ "$role" = orchestrator ]; then
  until guildhall call devorch_dispatch_task session="$session" from_role="$role" to_role=ai task_id=t1 \
    summary="Review the parser" > "$SCRATCH/dispatch" 2>&1; do sleep 0.2; done
  guildhall call devorch_inbox --json "{\"session\":\"$session\",\"role\":\"$role\",\"wait_seconds\":50}" > "$SCRATCH/reports"
else
  guildhall call devorch_inbox --json "{\"session\":\"$session\",\"role\":\"$role\",\"wait_seconds\":50}" > "$SCRATCH/inbox"
  guildhall call devorch_report_status session="$session" role="$role" status=complete task_id=t1 \
    summary="$(printf 'Done\033[2J\nand \302\2332Jmore')" > "$SCRATCH/report"
fi
say done
exec sleep 600
"#;

/// A workspace in a git repository, with the scripted agent, and a tmux of its own.
struct Team {
    place: Place,
    bin: PathBuf,
}

impl Team {
    /// `None` where tmux is not installed. `cargo xtask test` installs it, so only a run by hand leaves it out.
    fn new() -> Option<Self> {
        let tmux = Command::new("tmux")
            .arg("-V")
            .stdout(Stdio::null())
            .status();
        if !tmux.is_ok_and(|status| status.success()) {
            return None;
        }
        let place = Place::new();
        let bin = place.home().join("bin");
        std::fs::create_dir(&bin).expect("it is there");
        let program = Path::new(env!("CARGO_BIN_EXE_guildhall"));
        std::os::unix::fs::symlink(program, bin.join("guildhall")).expect("it is there");
        let team = Self { place, bin };
        team.agent(AGENT);
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "A"],
            &["config", "user.email", "a@example.com"],
            &["commit", "--quiet", "--allow-empty", "-m", "one"],
        ] {
            team.git(arguments);
        }
        Some(team)
    }

    fn agent(&self, script: &str) {
        let path = self.bin.join("claude");
        std::fs::write(&path, script).expect("it is there");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("it is there");
    }

    fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("PATH", format!("{}:{path}", self.bin.display()))
            .env("SCRATCH", self.place.home())
            .env("TMUX_TMPDIR", self.place.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.place.command();
        let command = self.environment(command.args(arguments));
        Ran::of(&command.output().expect("the program runs"))
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.place.workspace(), arguments)
    }

    fn git_in(&self, dir: &Path, arguments: &[&str]) -> String {
        let mut command = hermetic("git", self.place.home());
        let done = command.current_dir(dir).args(arguments).output();
        let done = done.expect("git runs");
        assert!(
            done.status.success(),
            "{arguments:?} {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).expect("it is there")
    }

    fn tmux(&self, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new("tmux");
        let done = self
            .environment(command.args(arguments))
            .output()
            .expect("tmux runs");
        done.status
            .success()
            .then(|| String::from_utf8(done.stdout).expect("it is there"))
    }

    fn said(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.home().join(name)).unwrap_or_default()
    }

    fn tree(&self, session: &str, role: &str) -> PathBuf {
        let root = std::fs::canonicalize(self.place.workspace()).expect("it is there");
        root.join(".guildhall/worktrees").join(session).join(role)
    }

    fn branches(&self) -> Vec<String> {
        let listed = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        listed.lines().map(str::to_owned).collect()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // The server of this test's own socket folder.
        let _ = self.tmux(&["kill-server"]);
    }
}

#[test]
fn two_agents_in_panes_set_up_message_report_and_go_down_without_losing_work() {
    let Some(team) = Team::new() else { return };
    let _up = team.place.up(&[]);
    let up = team
        .run(&[
            "team",
            "up",
            "app",
            "--roles",
            "orchestrator,ai",
            "--layout",
            "tmux",
        ])
        .ok();
    assert!(up.contains("Session app-1 is up with 2 roles"), "{up}");
    let panes = team.tmux(&[
        "list-panes",
        "-s",
        "-t",
        "=app-1",
        "-F",
        "#{pane_title} #{pane_current_path}",
    ]);
    let panes = panes.expect("the session is there");
    for role in ["orchestrator", "ai"] {
        let expected = format!("app-1 {role} {}", team.tree("app-1", role).display());
        assert!(
            panes.lines().any(|line| line == expected),
            "{expected} in {panes}"
        );
    }

    eventually("both agents are done", || {
        ["orchestrator.log", "ai.log"]
            .iter()
            .all(|log| team.said(log).contains("done"))
    });
    assert!(
        team.said("ai.log")
            .contains("Call the tool devorch_get_setup_instructions with session \"app-1\"")
    );
    assert!(
        team.said("ai.setup")
            .contains("You are the AI specialist for session app-1.")
    );
    let inbox: Value = serde_json::from_str(&team.said("inbox")).expect("it is there");
    assert_eq!(inbox["messages"][0]["message"], "Review the parser");
    let reports: Value = serde_json::from_str(&team.said("reports")).expect("it is there");
    assert_eq!(reports["messages"][0]["kind"], "report");

    let status = team.run(&["team", "status", "app-1"]).ok();
    assert!(
        status.contains("orchestrator") && status.contains("idle"),
        "{status}"
    );
    assert!(status.contains("Done"), "{status}");
    assert!(!status.contains(['\u{1b}', '\u{9b}']), "{status:?}");

    let token = team.place.state().join("team/app-1/ai.token");
    assert_eq!(
        std::fs::metadata(&token)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
    let secret = std::fs::read_to_string(&token).expect("it is there");
    let processes = Command::new("ps")
        .args(["-eo", "args"])
        .output()
        .expect("it is there");
    assert!(!String::from_utf8_lossy(&processes.stdout).contains(secret.trim()));

    std::fs::write(team.tree("app-1", "ai").join("work.txt"), "not committed")
        .expect("it is there");
    let down = team.run(&["team", "down", "app-1"]).ok();
    assert!(
        down.contains("kept     ai") && down.contains("not committed: work.txt"),
        "{down}"
    );
    assert!(down.contains("removed  orchestrator"), "{down}");
    assert!(team.tree("app-1", "ai").join("work.txt").exists());
    assert!(!team.tree("app-1", "orchestrator").exists());
    assert_eq!(team.branches(), ["app-1/ai", "main"]);
    assert!(!token.exists());
    assert_eq!(team.tmux(&["has-session", "-t", "=app-1"]), None);

    let tree = team.tree("app-1", "ai");
    team.git_in(&tree, &["add", "work.txt"]);
    team.git_in(&tree, &["commit", "--quiet", "-m", "work"]);
    let again = team.run(&["team", "down", "app-1"]).ok();
    assert!(again.contains("1 commit is not merged"), "{again}");
    team.run(&["team", "down", "app-1", "--force", "ai"]).ok();
    assert!(!tree.exists());
    assert_eq!(team.branches(), ["main"]);
    assert_eq!(
        team.git(&["status", "--porcelain", "--", ":!.guildhall/state"]),
        ""
    );
}

#[test]
fn an_up_that_fails_halfway_leaves_nothing_behind() {
    let Some(team) = Team::new() else { return };
    let _up = team.place.up(&[]);
    // The second role's branch is taken.
    team.git(&["branch", "app-1/ai"]);
    let failed = team.run(&[
        "team",
        "up",
        "app",
        "1",
        "--roles",
        "orchestrator,ai,sec",
        "--layout",
        "tmux",
    ]);
    assert_eq!(failed.code, 3, "{failed:?}");
    assert!(failed.err.contains("app-1/ai"), "{failed:?}");
    assert_eq!(team.branches(), ["app-1/ai", "main"]);
    assert!(!team.place.workspace().join(".guildhall/worktrees").exists());
    assert!(!team.place.state().join("team/app-1").exists());
    assert_eq!(team.tmux(&["has-session", "-t", "=app-1"]), None);
    assert_eq!(team.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(
        team.run(&["team", "status"]).ok().trim(),
        "No session of yours runs"
    );
    // The slot is free again.
    team.git(&["branch", "-D", "--quiet", "app-1/ai"]);
    team.run(&[
        "team",
        "up",
        "app",
        "1",
        "--roles",
        "orchestrator,ai",
        "--layout",
        "none",
    ])
    .ok();
    team.run(&["team", "down", "--all"]).ok();
}

#[test]
fn a_session_is_told_from_one_whose_name_it_begins() {
    let Some(team) = Team::new() else { return };
    let _up = team.place.up(&[]);
    for slot in ["1", "10"] {
        team.run(&[
            "team", "up", "app", slot, "--roles", "ai", "--layout", "tmux",
        ])
        .ok();
    }
    team.run(&["team", "down", "app-1"]).ok();
    assert!(team.tmux(&["has-session", "-t", "=app-10"]).is_some());
    assert!(team.tree("app-10", "ai").exists());
    let several = team.run(&["team", "up", "app", "1", "--roles", "ai"]);
    assert_eq!(several.code, 1, "a slot is not used again: {several:?}");
    team.run(&["team", "down"]).ok();
    assert_eq!(team.tmux(&["has-session", "-t", "=app-10"]), None);
}

#[test]
fn people_pause_take_over_release_recover_and_leave_notes() {
    let Some(team) = Team::new() else { return };
    let _up = team.place.up(&[]);
    team.agent("#!/bin/sh\nexec sleep 600\n");
    team.run(&[
        "team",
        "up",
        "app",
        "--roles",
        "orchestrator,ai",
        "--layout",
        "tmux",
    ])
    .ok();
    for (action, shown) in [
        ("pause", "active, paused"),
        ("resume", "active"),
        ("takeover", "active, held by a@example.com"),
        ("release", "active"),
        ("recover", "active"),
    ] {
        team.run(&["team", action, "app-1", "ai"]).ok();
        let status = team.run(&["team", "status", "app-1"]).ok();
        let row = status
            .lines()
            .find(|line| line.trim_start().starts_with("ai "))
            .expect("it is there");
        assert!(row.contains(shown), "{action}: {status}");
    }
    let noted = team
        .run(&["team", "note", "app-1", "ai", "Look", "at\u{1b}[2J", "this"])
        .ok();
    assert!(noted.contains("queued"), "{noted}");
    let pane = team.run(&["team", "status", "app-1", "--json"]).json();
    let pane = pane["sessions"][0]["roles"][1]["pane"]
        .as_str()
        .expect("it is there")
        .to_owned();
    eventually("the pane is told", || {
        let shown = team
            .tmux(&["capture-pane", "-p", "-t", &pane])
            .expect("it is there");
        shown.contains("A note from a person has arrived")
    });
    let shown = team
        .tmux(&["capture-pane", "-p", "-t", &pane])
        .expect("it is there");
    assert!(
        !shown.contains("Look"),
        "the note itself is never typed: {shown}"
    );
    let unknown = team.run(&["team", "pause", "app-1", "martian"]);
    assert_eq!(
        (unknown.code, unknown.err.trim()),
        (1, "error: Agent not found")
    );
    let unknown = team.run(&["team", "pause", "app-7", "ai"]);
    assert_eq!(unknown.err.trim(), "error: Session not found");
    team.run(&["team", "down"]).ok();
}

#[test]
fn an_agent_that_is_not_installed_is_refused_before_anything_is_made() {
    let Some(team) = Team::new() else {
        return;
    };
    let _up = team.place.up(&[]);
    let ran = team.run(&["team", "up", "app", "1", "--roles", "ai,sec=goose"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("Not on the PATH: goose"), "{ran:?}");
    let sessions = team.run(&["team", "status", "--json"]).json();
    assert_eq!(sessions["sessions"], serde_json::json!([]), "{sessions}");
}
