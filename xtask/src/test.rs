//! `cargo xtask test`: provisions what the tests need, runs them, and says what was left out.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::conformance;
use crate::sh;
use crate::tools::{self, JavaScript};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// `cargo test` over the workspace, the store on both databases
    Workspace,
    /// Real MCP clients against the built program
    Interop,
    /// The official MCP conformance suite
    Conformance,
    /// A fuzzer that reads the server's own OpenAPI description
    Openapi,
}

/// What was provisioned; an error says why a thing is missing.
struct Provisioned {
    javascript: Result<JavaScript>,
    python: Result<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);
    let mut left_out = Vec::new();

    if wanted(Part::Workspace) {
        workspace(&mut left_out)?;
    }
    if wanted(Part::Openapi) {
        openapi(&mut left_out)?;
    }
    if wanted(Part::Interop) || wanted(Part::Conformance) {
        let provisioned = provision();
        if wanted(Part::Interop) {
            interop(&provisioned, &mut left_out)?;
        }
        if wanted(Part::Conformance) {
            conformance(&provisioned, &mut left_out)?;
        }
    }
    summary(&left_out)
}

/// `cargo test`, with one PostgreSQL server for all test programs of the run. Without one they leave its tests out.
fn workspace(left_out: &mut Vec<String>) -> Result<()> {
    let mut command = sh::cargo();
    command.args(["test", "--workspace"]);
    let postgres = tools::postgres();
    match &postgres {
        Ok(cluster) => {
            command.env(guildhall_cluster::ENV, cluster.socket());
        }
        Err(reason) => left_out.push(format!("PostgreSQL: {reason:#}")),
    }
    if let Err(reason) = tools::tmux() {
        left_out.push(format!("Panes of tmux: {reason:#}"));
    }
    sh::run(&mut command)
}

fn provision() -> Provisioned {
    Provisioned {
        javascript: tools::javascript(),
        python: tools::python(),
    }
}

/// The tests that `cargo test` alone ignores because they need what was provisioned.
fn interop(provisioned: &Provisioned, left_out: &mut Vec<String>) -> Result<()> {
    let mut filters = Vec::new();
    let mut command = sh::cargo();
    command.args(["test", "--package", "guildhall", "--test", "it", "--"]);
    match &provisioned.javascript {
        Ok(javascript) => {
            command
                .env("GUILDHALL_TEST_NODE", &javascript.node)
                .env("GUILDHALL_TEST_NODE_MODULES", &javascript.modules);
            filters.push("interop::javascript::");
        }
        Err(reason) => left_out.push(format!("JavaScript clients: {reason:#}")),
    }
    match &provisioned.python {
        Ok(python) => {
            command.env("GUILDHALL_TEST_PYTHON", python);
            filters.push("interop::python::");
        }
        Err(reason) => left_out.push(format!("Python clients: {reason:#}")),
    }
    if filters.is_empty() {
        return Ok(());
    }
    sh::run(command.arg("--ignored").args(filters))
}

/// What schemathesis finds out about a running server, by the description that it serves.
fn openapi(left_out: &mut Vec<String>) -> Result<()> {
    match tools::python() {
        Ok(python) => {
            let mut command = sh::cargo();
            command.args(["test", "--package", "guildhall", "--test", "it", "--"]);
            command.args(["--ignored", "openapi::"]);
            sh::run(command.env("GUILDHALL_TEST_PYTHON", python))
        }
        Err(reason) => {
            left_out.push(format!("OpenAPI fuzzer: {reason:#}"));
            Ok(())
        }
    }
}

fn conformance(provisioned: &Provisioned, left_out: &mut Vec<String>) -> Result<()> {
    match &provisioned.javascript {
        Ok(javascript) => conformance::run(javascript)?,
        Err(reason) => left_out.push(format!("MCP conformance suite: {reason:#}")),
    }
    Ok(())
}

fn summary(left_out: &[String]) -> Result<()> {
    if left_out.is_empty() {
        println!("\nAll tests passed. Nothing was left out");
        return Ok(());
    }
    println!("\nThe tests that ran passed. Left out:");
    for line in left_out {
        println!("  - {line}");
    }
    if sh::is_ci() {
        bail!("A CI run may leave nothing out");
    }
    Ok(())
}
