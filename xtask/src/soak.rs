//! `cargo xtask soak <what>`: tests that `cargo xtask test` runs a few rounds of, for as many as it takes to trust them.

use anyhow::Result;
use clap::ValueEnum;

use crate::{sh, tools};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to repeat
    #[arg(value_enum)]
    what: Soak,
    /// How often
    #[arg(long, default_value_t = 1000)]
    times: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Soak {
    /// `kill -9` of a process that writes to the store, on both databases
    Kill,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match args.what {
        Soak::Kill => kill(args.times),
    }
}

fn kill(times: u32) -> Result<()> {
    let postgres = tools::postgres()?;
    sh::run(
        sh::cargo()
            .args(["test", "--package", "guildhall-store", "--test", "it"])
            .args(["--", "kill::", "--nocapture"])
            .env(guildhall_cluster::ENV, postgres.socket())
            .env("GUILDHALL_KILLS", times.to_string()),
    )
}
