//! `guildhall team up`: makes a session, a worktree and a token for each role, and starts the agents. All of it or nothing.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use futures::FutureExt as _;
use guildhall_core::team::{RoleName, STANDARD_ROLES};
use guildhall_git::{Checkout, Worktree};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::agents::{self, KNOWN, Launch, folder};
use super::{Team, path_of, role_path, text};
use crate::cli::up::program;
use crate::client::Target;
use crate::output::{CommandError, CommandResult, note, printable, say, say_json};
use crate::tmux::Tmux;

/// Start a session: one worktree, branch, token and pane for each role
#[derive(clap::Args)]
pub(super) struct Args {
    /// The project: the session is called `<project>-<slot>`
    project: String,
    /// Which of the project's sessions [default: the next free one]
    slot: Option<u32>,
    /// The agent of every role that names none: claude, codex, gemini, opencode or goose
    #[arg(long, default_value = "claude", value_parser = KNOWN)]
    agent: String,
    /// The roles, each with an agent of its own if wanted, such as orchestrator,ai=codex [default: the nine standard ones]
    #[arg(long, value_delimiter = ',')]
    roles: Vec<String>,
    /// Where the agents run [default: tmux where it is installed]
    #[arg(long, value_enum)]
    layout: Option<Layout>,
    /// The repository on the server that the session belongs to; its contributors see it
    #[arg(long, value_name = "OWNER/NAME")]
    repo: Option<String>,
}

#[derive(Clone, Copy, Eq, PartialEq, clap::ValueEnum)]
enum Layout {
    /// A tmux session with a pane for each role
    Tmux,
    /// Nowhere: the commands are printed
    None,
}

/// A role that is wanted, with its agent.
struct Wanted {
    role: RoleName,
    agent: String,
}

/// A role that is ready to be started.
struct Ready {
    role: String,
    agent: String,
    dir: PathBuf,
    command: Vec<String>,
    pane: Option<String>,
}

pub(super) async fn run(team: &Team, target: &Target, args: &Args) -> CommandResult {
    let wanted = wanted(args)?;
    let tmux = tmux(args.layout)?;
    if tmux.is_some() {
        programs_are_there(&wanted)?;
    }
    let checkout = checkout(team)?;
    let mut building = Building {
        team,
        tmux: tmux.as_ref(),
        checkout: checkout.as_ref(),
        interrupt: signal(SignalKind::interrupt())?,
        session: String::new(),
        worktrees: Vec::new(),
        opened: false,
    };
    let built = building.build(target, args, &wanted).await;
    let ready = match built {
        Ok(ready) => ready,
        Err(error) => {
            building.undo().await;
            return Err(error);
        }
    };
    report(team, &building.session, &ready)
}

fn wanted(args: &Args) -> Result<Vec<Wanted>, CommandError> {
    let given: Vec<String> = if args.roles.is_empty() {
        STANDARD_ROLES.map(str::to_owned).to_vec()
    } else {
        args.roles.clone()
    };
    let mut wanted: Vec<Wanted> = Vec::with_capacity(given.len());
    for given in given {
        let (role, agent) = match given.split_once('=') {
            Some((role, agent)) => (role, agent.to_owned()),
            None => (given.as_str(), args.agent.clone()),
        };
        let role: RoleName = role.trim().parse().map_err(CommandError::usage)?;
        if !KNOWN.contains(&agent.as_str()) {
            return Err(CommandError::usage(format!(
                "`{agent}` is not an agent that can be started: use one of {}",
                KNOWN.join(", ")
            )));
        }
        if wanted.iter().any(|known| known.role == role) {
            return Err(CommandError::usage(format!(
                "The role `{role}` is named twice"
            )));
        }
        wanted.push(Wanted { role, agent });
    }
    Ok(wanted)
}

/// Where the agents run: in tmux, or nowhere.
fn tmux(layout: Option<Layout>) -> Result<Option<Tmux>, CommandError> {
    if layout == Some(Layout::None) {
        return Ok(None);
    }
    let found = Tmux::find();
    if found.is_none() {
        if layout == Some(Layout::Tmux) {
            return Err(CommandError::refused("tmux is not installed")
                .hint("Install it, or use `--layout none`, which prints the commands."));
        }
        note("tmux is not installed, so the commands to start the agents are printed");
    }
    Ok(found)
}

/// Refuses agents whose program is not there: a pane would open and be dead at once.
fn programs_are_there(wanted: &[Wanted]) -> CommandResult {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    let mut missing: Vec<&str> = wanted
        .iter()
        .map(|role| role.agent.as_str())
        .filter(|agent| !is_there(agent))
        .collect();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    Err(CommandError::refused(format!(
        "Not on the PATH: {}",
        missing.join(", ")
    ))
    .hint("Install it, name other agents (`--roles <role>=<agent>`), or use `--layout none`, which prints the commands."))
}

fn checkout(team: &Team) -> Result<Option<Checkout>, CommandError> {
    let Some(checkout) = team.checkout()? else {
        return Ok(None);
    };
    if !checkout.has_commit()? {
        return Err(CommandError::refused(format!(
            "The repository `{}` has no commit for worktrees to begin at",
            checkout.root().display()
        )));
    }
    Ok(Some(checkout))
}

/// What was made so far, to be taken back where a later step fails.
struct Building<'a> {
    team: &'a Team,
    tmux: Option<&'a Tmux>,
    checkout: Option<&'a Checkout>,
    interrupt: Signal,
    /// Empty until it is made.
    session: String,
    worktrees: Vec<Worktree>,
    opened: bool,
}

impl Building<'_> {
    async fn build(
        &mut self,
        target: &Target,
        args: &Args,
        wanted: &[Wanted],
    ) -> Result<Vec<Ready>, CommandError> {
        self.make_session(args, wanted).await?;
        let server = mcp_command(self.team, target)?;
        let mut ready = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            self.go_on()?;
            ready.push(self.prepare(wanted, &server).await?);
        }
        if let Some(tmux) = self.tmux {
            self.launch(tmux, &mut ready).await?;
        }
        Ok(ready)
    }

    /// Ends the work where the person has pressed ctrl-c since the last step.
    fn go_on(&mut self) -> Result<(), CommandError> {
        match self.interrupt.recv().now_or_never() {
            Some(_) => Err(CommandError::refused(
                "Interrupted; what was begun is taken back",
            )),
            None => Ok(()),
        }
    }

    async fn make_session(&mut self, args: &Args, wanted: &[Wanted]) -> Result<(), CommandError> {
        let roles: Vec<_> = wanted.iter().map(|wanted| wanted.role.as_str()).collect();
        let branch = match self.checkout {
            Some(checkout) => checkout.branch()?,
            None => None,
        };
        let root = self
            .checkout
            .map_or(self.team.workspace.root.as_path(), Checkout::root);
        let body = json!({
            "project": args.project, "slot": args.slot, "roles": roles, "repo": args.repo,
            "root": root.display().to_string(), "branch": branch,
        });
        let made = self
            .team
            .server
            .post("/api/team/sessions", &body)
            .await?
            .result()?;
        text(&made, "session").clone_into(&mut self.session);
        if self.tmux.is_some_and(|tmux| tmux.has(&self.session)) {
            return Err(CommandError::refused(format!(
                "tmux has a session `{}` already",
                self.session
            )));
        }
        Ok(())
    }

    /// Makes a role's worktree, token and configuration.
    async fn prepare(&mut self, wanted: &Wanted, server: &[String]) -> Result<Ready, CommandError> {
        let (session, role) = (self.session.clone(), wanted.role.as_str());
        let worktree = self.worktree(role)?;
        let place = json!({
            "action": "place", "agent": wanted.agent,
            "worktree": worktree.as_ref().map(|tree| tree.path.display().to_string()),
            "branch": worktree.as_ref().map(|tree| &tree.branch),
        });
        let path = role_path(&session, role);
        self.team.server.post(&path, &place).await?.result()?;

        let files = folder(&self.team.workspace.state_dir, &session);
        make_private_folder(&files)?;
        let issued = self
            .team
            .server
            .post(&format!("{path}/token"), &json!({ "agent": wanted.agent }))
            .await?
            .result()?;
        let token_file = files.join(format!("{role}.token"));
        write_private(&token_file, text(&issued, "token"))?;
        let config_file = files.join(format!("{role}.mcp.json"));
        let url = guildhall_config::process_env(guildhall_config::env_vars::GUILDHALL_URL);
        let agent = Launch {
            session: &session,
            role,
            agent: &wanted.agent,
            token_file: &token_file,
            config_file: &config_file,
            server,
            url: url.as_deref(),
        };
        if let Some(config) = agent.config() {
            write_private(&config_file, &serde_json::to_string_pretty(&config)?)?;
        }
        Ok(Ready {
            role: role.to_owned(),
            agent: wanted.agent.clone(),
            dir: worktree.map_or_else(|| self.team.workspace.root.clone(), |tree| tree.path),
            command: agent.command(),
            pane: None,
        })
    }

    fn worktree(&mut self, role: &str) -> Result<Option<Worktree>, CommandError> {
        let Some(checkout) = self.checkout else {
            return Ok(None);
        };
        let (path, branch) = place_of(checkout, &self.session, role);
        let parent = path.parent().context("A worktree stands in a folder")?;
        std::fs::create_dir_all(parent)
            .with_context(|| format!("Cannot make `{}`", parent.display()))?;
        ignore_all(checkout)?;
        let added = checkout.add(&path, &branch)?;
        self.worktrees.push(added.clone());
        Ok(Some(added))
    }

    /// Starts the agents, each in its pane, and says that their roles are active.
    async fn launch(&mut self, tmux: &Tmux, ready: &mut [Ready]) -> Result<(), CommandError> {
        for ready in ready {
            self.go_on()?;
            let pane = if self.opened {
                tmux.split(&self.session, &ready.dir, &ready.command)?
            } else {
                let pane = tmux.open(&self.session, &ready.dir, &ready.command)?;
                self.opened = true;
                pane
            };
            tmux.title(&pane, &format!("{} {}", self.session, ready.role))?;
            let place =
                json!({ "action": "place", "agent": ready.agent, "active": true, "pane": pane });
            let path = role_path(&self.session, &ready.role);
            self.team.server.post(&path, &place).await?.result()?;
            ready.pane = Some(pane);
        }
        Ok(())
    }

    /// Takes everything back, the last first. What cannot be taken back is told.
    async fn undo(&mut self) {
        if self.opened
            && let Some(tmux) = self.tmux
            && let Err(error) = tmux.close(&self.session)
        {
            note(&format!(
                "The tmux session `{}` could not be closed: {error:#}",
                self.session
            ));
        }
        for worktree in self.worktrees.drain(..).rev() {
            if let Some(checkout) = self.checkout
                && let Err(error) = checkout.remove(&worktree)
            {
                note(&format!(
                    "The worktree `{}` could not be removed: {error}",
                    worktree.path.display()
                ));
            }
        }
        if self.session.is_empty() {
            return;
        }
        if let Some(checkout) = self.checkout {
            remove_empty(&place_of(checkout, &self.session, "x").0);
        }
        let _ = std::fs::remove_dir_all(folder(&self.team.workspace.state_dir, &self.session));
        let path = path_of(&self.session);
        let discarded = self.team.server.send(http::Method::DELETE, &path).await;
        if discarded.is_err() {
            // An agent was quick and has said something: that stays, and the session ends.
            let stopped = self
                .team
                .server
                .post(&format!("{path}/stop"), &json!({}))
                .await;
            if let Err(error) = stopped.and_then(crate::client::Reply::result) {
                note(&format!(
                    "The session `{}` could not be ended: {:#}",
                    self.session, error.error
                ));
            }
        }
    }
}

/// Where a role's worktree stands, and the name of its branch.
pub(super) fn place_of(checkout: &Checkout, session: &str, role: &str) -> (PathBuf, String) {
    let path = trees(checkout).join(session).join(role);
    (path, format!("{session}/{role}"))
}

fn trees(checkout: &Checkout) -> PathBuf {
    checkout.root().join(".guildhall/worktrees")
}

/// Keeps the worktrees out of what git sees of the main one.
fn ignore_all(checkout: &Checkout) -> anyhow::Result<()> {
    let path = trees(checkout).join(".gitignore");
    if path.exists() {
        return Ok(());
    }
    std::fs::write(&path, "*\n").with_context(|| format!("Cannot write `{}`", path.display()))
}

/// Removes the folder of a session's worktrees, and what is above it of ours, where nothing is left in them.
pub(super) fn remove_empty(tree: &Path) {
    let Some(session) = tree.parent() else { return };
    let _ = std::fs::remove_dir(session);
    let Some(trees) = session.parent() else {
        return;
    };
    let only_ours = std::fs::read_dir(trees).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".gitignore"))
    });
    if only_ours {
        let _ = std::fs::remove_dir_all(trees);
    }
}

/// The command that serves MCP to an agent of the workspace.
fn mcp_command(team: &Team, target: &Target) -> anyhow::Result<Vec<String>> {
    let root = team.workspace.root.display().to_string();
    let mut command = vec![program(), "mcp".to_owned(), "--workspace".to_owned(), root];
    if let Some(data_dir) = &target.data_dir {
        let data_dir = std::path::absolute(data_dir).context("Cannot tell the data directory")?;
        command.extend(["--data-dir".to_owned(), data_dir.display().to_string()]);
    }
    Ok(command)
}

fn make_private_folder(path: &Path) -> anyhow::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("Cannot make `{}`", path.display()))
}

/// Writes a new file that its owner alone can read.
fn write_private(path: &Path, content: &str) -> anyhow::Result<()> {
    std::fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| {
            file.write_all(content.as_bytes())?;
            file.write_all(b"\n")
        })
        .with_context(|| format!("Cannot write `{}`", path.display()))
}

fn report(team: &Team, session: &str, ready: &[Ready]) -> CommandResult {
    if team.json {
        let roles: Vec<Value> = ready
            .iter()
            .map(|ready| {
                json!({
                    "role": ready.role, "agent": ready.agent, "directory": ready.dir, "pane": ready.pane,
                    "command": ready.command,
                })
            })
            .collect();
        return say_json(&json!({ "session": session, "roles": roles }));
    }
    let roles = if ready.len() == 1 { "role" } else { "roles" };
    say(&format!(
        "Session {session} is up with {} {roles}",
        ready.len()
    ))?;
    if ready.iter().any(|ready| ready.pane.is_some()) {
        say(&format!(
            "\n  tmux attach -t {session}\n  guildhall team status {session}"
        ))?;
        return say(&format!("  guildhall team down {session}"));
    }
    say("\nStart each agent with its command:\n")?;
    for ready in ready {
        let command = agents::pasted(&ready.dir, &ready.command);
        say(&format!("# {}\n{}\n", ready.role, printable(&command)))?;
    }
    Ok(())
}
