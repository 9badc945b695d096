//! `guildhall team`: sessions of several agents, each in a worktree and a pane of its own.

mod agents;
mod down;
mod status;
mod steer;
mod up;

use clap::Subcommand;
use guildhall_config::Workspace;
use guildhall_core::text::steers;
use guildhall_git::{Checkout, Environment, Git};
use serde_json::Value;

use crate::client::{Server, Target, segment};
use crate::output::{CommandError, CommandResult};

pub(in crate::cli) use agents::folder;

/// Start, watch, steer and end sessions of several agents
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    target: Target,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    Up(up::Args),
    Status(status::Args),
    Note(steer::NoteArgs),
    /// Hold a role's deliveries and refuse new tasks for it
    Pause(steer::RoleArgs),
    /// Let a role's deliveries go on
    Resume(steer::RoleArgs),
    /// Take a role over: its agent is refused until it is released
    Takeover(steer::RoleArgs),
    /// Give a role back to its agent
    Release(steer::RoleArgs),
    /// Bring a role back after a failure: no pause, nobody holding it, and any agent may claim it
    Recover(steer::RoleArgs),
    Down(down::Args),
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let team = Team {
        workspace: args.target.workspace()?,
        server: Server::find(&args.target).await?,
        json: args.json,
    };
    match &args.action {
        Action::Up(wanted) => up::run(&team, &args.target, wanted).await,
        Action::Status(wanted) => status::run(&team, wanted).await,
        Action::Note(note) => steer::note(&team, note).await,
        Action::Pause(role) => steer::run(&team, role, "pause").await,
        Action::Resume(role) => steer::run(&team, role, "resume").await,
        Action::Takeover(role) => steer::run(&team, role, "takeover").await,
        Action::Release(role) => steer::run(&team, role, "release").await,
        Action::Recover(role) => steer::run(&team, role, "recover").await,
        Action::Down(wanted) => down::run(&team, wanted).await,
    }
}

/// What every one of these commands works on.
struct Team {
    workspace: Workspace,
    server: Server,
    json: bool,
}

impl Team {
    /// The checkout the workspace is in, if it is in one.
    fn checkout(&self) -> Result<Option<Checkout>, CommandError> {
        let git = Git::find(Environment::of_this_process())?;
        Ok(Checkout::around(git, &self.workspace.root)?)
    }

    /// One session with its roles.
    async fn session(&self, id: &str) -> Result<Value, CommandError> {
        self.server.get(&path_of(id)).await
    }

    /// The sessions of ours that run.
    async fn running(&self) -> Result<Vec<String>, CommandError> {
        let listed = self.server.get("/api/team/sessions").await?;
        let sessions = listed["sessions"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let running = sessions
            .iter()
            .filter(|session| session["stopped_at"].is_null());
        Ok(running
            .filter_map(|session| session["session"].as_str().map(str::to_owned))
            .collect())
    }
}

fn path_of(session: &str) -> String {
    format!("/api/team/sessions/{}", segment(session))
}

fn role_path(session: &str, role: &str) -> String {
    format!("{}/roles/{}", path_of(session), segment(role))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// `text` on one line, without anything that steers a terminal: it stands in a table.
fn line(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if steers(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}
