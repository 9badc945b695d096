//! The command line: one file per command.

mod agent;
mod ask;
mod call;
mod config;
mod connect;
mod credential;
mod doctor;
mod duration;
mod frame;
mod in_repo;
mod ladder;
mod lane;
mod login;
mod mcp;
mod repo;
mod table;
mod team;
mod token;
mod tools;
mod up;
mod user;
mod whoami;

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::output::CommandResult;

/// The one server that coding agents work through: trackers, code and each other
#[derive(Parser)]
#[command(name = "guildhall", version, styles = STYLES, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 the tool or the machine said no, 2 usage, 3 a fault of ours."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

#[derive(Subcommand)]
enum Command {
    Up(up::Args),
    Connect(connect::Args),
    Tools(tools::Args),
    Call(call::Args),
    Repo(repo::Args),
    Lane(lane::Args),
    Ask(ask::Args),
    Ladder(ladder::Args),
    Mcp(mcp::Args),
    Config(config::Args),
    Whoami(whoami::Args),
    Agent(agent::Args),
    Token(token::Args),
    User(user::Args),
    Login(login::Args),
    Credential(credential::Args),
    Team(team::Args),
    Doctor(doctor::Args),
    #[command(hide = true)]
    Reference,
}

/// Runs what the arguments ask for and gives the exit code.
pub(crate) fn run() -> ExitCode {
    // clap itself ends with 2 on wrong arguments, with 0 after help.
    let outcome = match Cli::parse().command {
        Command::Up(args) => up::run(&args),
        Command::Connect(args) => blocking(connect::run(&args)),
        Command::Tools(args) => blocking(tools::run(&args)),
        Command::Call(args) => blocking(call::run(&args)),
        Command::Repo(args) => blocking(repo::run(&args)),
        Command::Lane(args) => blocking(lane::run(&args)),
        Command::Ask(args) => blocking(ask::run(&args)),
        Command::Ladder(args) => blocking(ladder::run(&args)),
        Command::Mcp(args) => mcp::run(args),
        Command::Config(args) => config::run(&args),
        Command::Whoami(args) => blocking(whoami::run(&args)),
        Command::Agent(args) => blocking(agent::run(&args)),
        Command::Token(args) => blocking(token::run(&args)),
        Command::User(args) => blocking(user::run(&args)),
        Command::Login(args) => blocking(login::run(&args)),
        Command::Credential(args) => credential::run(&args),
        Command::Team(args) => blocking(team::run(&args)),
        Command::Doctor(args) => blocking(doctor::run(&args)),
        Command::Reference => reference(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.print(),
    }
}

/// Runs a command that asks the server something; one thread is enough for that.
fn blocking(command: impl Future<Output = CommandResult>) -> CommandResult {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(command)
}

/// Prints the page of every command, for `docs/reference/cli.md`.
fn reference() -> CommandResult {
    let mut root = Cli::command();
    root.build();
    let mut page = String::from(
        "# Command line\n\nMade from the program's own help by `cargo xtask generate`.\n",
    );
    describe(&root, "", &mut page);
    crate::output::say(page.trim_end())
}

fn describe(command: &clap::Command, parents: &str, page: &mut String) {
    use std::fmt::Write as _;
    let name = format!("{parents}{}", command.get_name());
    let help = command
        .clone()
        .bin_name(&name)
        .render_long_help()
        .to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(
        page,
        "\n## `{name}`\n\n```text\n{}\n```\n",
        help.join("\n").trim_end()
    );
    for child in command
        .get_subcommands()
        .filter(|child| !child.is_hide_set())
    {
        describe(child, &format!("{name} "), page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
        Cli::command().debug_assert();
    }
}
