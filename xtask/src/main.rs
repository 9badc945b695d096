//! The project's own tasks, called as `cargo xtask <task>`. One file per task.

#![expect(
    clippy::print_stdout,
    reason = "a developer tool talks to the terminal it was started from"
)]

mod bench;
mod check;
mod conformance;
mod generate;
mod race;
mod serve;
mod sh;
mod soak;
mod test;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of the Guildhall repository
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test: the workspace on both databases, real MCP clients, the MCP conformance suite
    Test(test::Args),
    /// Check format, lints, docs, dependencies, boundaries and generated files
    Check(check::Args),
    /// Run a named benchmark, or list them
    Bench(bench::Args),
    /// Repeat what takes long to show a fault
    Soak(soak::Args),
    /// Race many callers for few asks, and check every outcome
    Race(race::Args),
    /// Write or check the pages under docs/reference
    Generate(generate::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Check(args) => check::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Soak(args) => soak::run(&args),
        Task::Race(args) => race::run(&args),
        Task::Generate(args) => generate::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}
