//! `guildhall doctor`: checks what the server, its database and team sessions need.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use guildhall_config::{Settings, Workspace, process_env};
use guildhall_core::team::{RoleName, STANDARD_ROLES};
use guildhall_git::{Environment, Git};
use serde_json::{Value, json};

use crate::client::{Reply, Server, Target};
use crate::output::{CommandError, CommandResult, Fault, printable, say, say_json};
use crate::tmux::Tmux;
use crate::wiring;

/// Check the machine, the workspace, the server, its database and team sessions
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Also check the whole event log against its chains
    #[arg(long)]
    verify: bool,
    /// Print one JSON object: every check with its outcome
    #[arg(long)]
    json: bool,
}

/// How a check came out.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Verdict {
    Good,
    /// It is not for who asks.
    LeftOut,
    /// Something is missing that only some commands need.
    Warning,
    Broken,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::LeftOut => "left out",
            Self::Warning => "warning",
            Self::Broken => "broken",
        }
    }
}

struct Check {
    what: &'static str,
    verdict: Verdict,
    said: String,
}

impl Check {
    fn of(what: &'static str, outcome: Result<String, String>) -> Self {
        let (verdict, said) = match outcome {
            Ok(said) => (Verdict::Good, said),
            Err(said) => (Verdict::Broken, said),
        };
        Self {
            what,
            verdict,
            said,
        }
    }
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let workspace = args.target.workspace()?;
    let mut checks = vec![
        Check::of("git", git()),
        tmux(),
        Check::of("settings", settings(&workspace)),
    ];
    match Server::find(&args.target).await {
        Ok(server) => {
            let status = server.get("/api/status").await;
            checks.push(Check::of("server", version(status)));
            checks.push(database(&server, args.verify).await);
            checks.push(Check::of(
                "team sessions",
                sessions(&server, &workspace).await,
            ));
        }
        Err(error) => {
            let hints = error.hints.join(" ");
            let said = format!("{:#}. {hints}", error.error);
            checks.push(Check::of("server", Err(said.trim().to_owned())));
        }
    }
    checks.push(Check::of("state", state(&workspace.state_dir)));
    checks.push(Check::of("set-up texts", texts(&workspace).await));
    report(args.json, &checks)
}

fn report(as_json: bool, checks: &[Check]) -> CommandResult {
    let broken = checks.iter().any(|check| check.verdict == Verdict::Broken);
    if as_json {
        let checks: Vec<Value> = checks
            .iter()
            .map(|check| json!({ "check": check.what, "outcome": check.verdict.word(), "message": check.said }))
            .collect();
        say_json(&json!({ "ok": !broken, "checks": checks }))?;
    } else {
        for check in checks {
            let said = printable(&check.said).replace('\n', " ");
            say(&format!(
                "{:<8} {:<14} {said}",
                check.verdict.word(),
                check.what
            ))?;
        }
    }
    if broken {
        return Err(CommandError::said(Fault::Refused));
    }
    Ok(())
}

fn git() -> Result<String, String> {
    match Git::find(Environment::of_this_process()) {
        Ok(git) => Ok(format!("git {}", git.version())),
        Err(error) => Err(error.to_string()),
    }
}

fn tmux() -> Check {
    let (verdict, said) = match Tmux::find() {
        Some(tmux) => (Verdict::Good, format!("tmux {}", tmux.version())),
        None => (
            Verdict::Warning,
            "tmux is not installed; `guildhall team up` then prints the commands instead of running them".to_owned(),
        ),
    };
    Check {
        what: "tmux",
        verdict,
        said,
    }
}

fn settings(workspace: &Workspace) -> Result<String, String> {
    let loaded = Settings::load(workspace, &process_env).map_err(|error| error.to_string())?;
    wiring::check(&loaded).map_err(|error| error.to_string())?;
    let root = workspace.root.display();
    match loaded.warnings.len() {
        0 => Ok(format!("those of {root} hold")),
        n => Ok(format!(
            "those of {root} hold, with {n} warnings: see `guildhall config check`"
        )),
    }
}

/// A server of another version may have tools that this command line does not know.
fn version(status: Result<Value, CommandError>) -> Result<String, String> {
    let status = status.map_err(|error| format!("{:#}", error.error))?;
    let (found, ours) = (
        status["version"].as_str().unwrap_or("?"),
        env!("CARGO_PKG_VERSION"),
    );
    if found == ours {
        Ok(format!("version {found} answers"))
    } else {
        Err(format!(
            "version {found} runs and this command is {ours}: stop it and start it again"
        ))
    }
}

/// Looking after the database is for who operates the server: to others it says nothing, good or bad.
async fn database(server: &Server, verify: bool) -> Check {
    let what = "database";
    let path = if verify {
        "/api/doctor?verify=true"
    } else {
        "/api/doctor"
    };
    let reply = match server.work_reply(http::Method::GET, path, None).await {
        Ok(reply) if reply.status == 403 => {
            return Check {
                what,
                verdict: Verdict::LeftOut,
                said: "this check is only for who operates the server".to_owned(),
            };
        }
        reply => reply.and_then(Reply::result),
    };
    let said = reply.map_err(|error| format!("{:#}", error.error));
    Check::of(what, said.and_then(|found| health(&found, verify)))
}

fn health(found: &Value, verify: bool) -> Result<String, String> {
    let kind = found["database"].as_str().unwrap_or("the database");
    let findings: Vec<_> = found["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !findings.is_empty() {
        return Err(format!(
            "{kind} answers, and its event log was changed: {}",
            findings.join("; ")
        ));
    }
    if verify {
        return Ok(format!(
            "{kind} answers; {} events are as they were written",
            found["events"]
        ));
    }
    Ok(format!("{kind} answers"))
}

/// The running sessions that were made here: their worktrees and token files.
async fn sessions(server: &Server, workspace: &Workspace) -> Result<String, String> {
    let ask = |error: CommandError| format!("{:#}", error.error);
    let listed = server.get("/api/team/sessions").await.map_err(ask)?;
    let mut running = 0;
    let mut wrong = Vec::new();
    for session in listed["sessions"].as_array().into_iter().flatten() {
        let id = session["session"].as_str().unwrap_or_default();
        let here = super::team::folder(&workspace.state_dir, id);
        if !session["stopped_at"].is_null() || !here.is_dir() {
            continue;
        }
        running += 1;
        let path = format!("/api/team/sessions/{}", crate::client::segment(id));
        let found = server.get(&path).await.map_err(ask)?;
        for role in found["roles"].as_array().into_iter().flatten() {
            wrong.extend(faults_of_role(id, role, &here));
        }
    }
    if wrong.is_empty() {
        return Ok(match running {
            0 => "none runs here".to_owned(),
            1 => "1 runs here, with all it needs".to_owned(),
            n => format!("{n} run here, with all they need"),
        });
    }
    Err(wrong.join("; "))
}

fn faults_of_role(session: &str, role: &Value, files: &Path) -> Vec<String> {
    let name = role["role"].as_str().unwrap_or_default();
    let mut faults = Vec::new();
    if let Some(worktree) = role["worktree"].as_str()
        && !Path::new(worktree).is_dir()
    {
        faults.push(format!(
            "{session} {name}: the worktree `{worktree}` is gone"
        ));
    }
    if let Err(fault) = private(&files.join(format!("{name}.token"))) {
        faults.push(format!("{session} {name}: {fault}"));
    }
    faults
}

/// Whether a file or folder is there and its owner's alone.
fn private(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let found = std::fs::metadata(path).map_err(|error| format!("`{shown}`: {error}"))?;
    let mode = found.permissions().mode() & 0o777;
    let others = mode & 0o077;
    if others == 0 {
        Ok(())
    } else {
        Err(format!(
            "`{shown}` can be read by others (mode {mode:o}): chmod go= it"
        ))
    }
}

fn state(dir: &Path) -> Result<String, String> {
    if !dir.exists() {
        return Ok(format!("{} is made at the first start", dir.display()));
    }
    private(dir)?;
    let token = dir.join("owner.token");
    if token.exists() {
        private(&token)?;
    }
    Ok(format!("{} is its owner's alone", dir.display()))
}

async fn texts(workspace: &Workspace) -> Result<String, String> {
    let roles: Vec<RoleName> = STANDARD_ROLES
        .iter()
        .filter_map(|role| role.parse().ok())
        .collect();
    let templates = guildhall_packs::team::templates(Some(workspace.root.clone()));
    match templates.check(&roles).await {
        Ok(()) => Ok("the templates of set-up can be used".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
