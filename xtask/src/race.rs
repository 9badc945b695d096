//! `cargo xtask race`: many callers on few asks, and two checks of what came of it, in release.

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::{sh, tools};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often the callers try to claim an ask
    #[arg(long, default_value_t = 50_000)]
    attempts: u32,
    /// The database
    #[arg(long, value_enum, default_value = "sqlite")]
    store: Store,
    /// Nodes on it; SQLite has one
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    nodes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    Sqlite,
    Postgres,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut command = sh::cargo();
    command
        .args(["test", "--release", "--package", "guildhall-store"])
        .args(["--test", "it", "--", "race::as_asked", "--exact"])
        .args(["--ignored", "--nocapture"])
        .env("GUILDHALL_RACE_ATTEMPTS", args.attempts.to_string())
        .env("GUILDHALL_RACE_NODES", args.nodes.to_string());
    if args.store == Store::Sqlite {
        if args.nodes > 1 {
            bail!(
                "SQLite has one node; use --store postgres for {}",
                args.nodes
            );
        }
        return sh::run(command.env("GUILDHALL_RACE_STORE", "sqlite"));
    }
    let postgres = tools::postgres()?;
    sh::run(
        command
            .env("GUILDHALL_RACE_STORE", "postgres")
            .env(guildhall_cluster::ENV, postgres.socket()),
    )
}
