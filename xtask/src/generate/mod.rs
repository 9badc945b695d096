//! `cargo xtask generate`: the pages under `docs/reference`, made by asking the built program about itself. They are
//! committed, so that a change to what people see is seen in review; `check` fails when they differ.

mod cli;
mod tools;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use tempfile::TempDir;

use crate::serve::Server;
use crate::sh;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Whether to write the pages or to fail when they differ
    #[arg(value_enum, default_value = "write")]
    mode: Mode,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// One page: where it stands, and the function that makes it.
struct Page {
    path: &'static str,
    make: fn(&Program) -> Result<String>,
}

const PAGES: &[Page] = &[
    Page {
        path: "docs/reference/cli.md",
        make: cli::page,
    },
    Page {
        path: "docs/reference/config.schema.json",
        make: config_schema,
    },
    Page {
        path: "docs/reference/tools.md",
        make: tools::page,
    },
    Page {
        path: "docs/reference/openapi.json",
        make: openapi,
    },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    pages(args.mode)
}

/// Writes or checks every page.
pub(crate) fn pages(mode: Mode) -> Result<()> {
    println!("\n# generate");
    let program = Program::build()?;
    let mut differ = Vec::new();
    for page in PAGES {
        let text =
            (page.make)(&program).with_context(|| format!("Could not make {}", page.path))?;
        let path = sh::root().join(page.path);
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            continue;
        }
        if mode == Mode::Check {
            differ.push(page.path);
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text)?;
        println!("Wrote {}", page.path);
    }
    if !differ.is_empty() {
        bail!(
            "Out of date: {}; run `cargo xtask generate write`",
            differ.join(", ")
        );
    }
    Ok(())
}

fn config_schema(program: &Program) -> Result<String> {
    let schema: serde_json::Value = serde_json::from_str(&program.output(&["config", "schema"])?)
        .context("The program did not print JSON")?;
    Ok(format!("{schema:#}\n"))
}

/// The description of a server with every pack mounted, for the person who operates it.
fn openapi(program: &Program) -> Result<String> {
    asked(program, &["tools", "--openapi"])
}

/// What mounts the packs that no tracker mounts by itself.
const SETTINGS: &str = "---\ntools:\n  git: {}\n---\n";

/// What a command prints that asks a server over an empty workspace.
fn asked(program: &Program, args: &[&str]) -> Result<String> {
    let (workspace, data) = (
        program.home.path().join("workspace"),
        program.home.path().join("data"),
    );
    fs::create_dir_all(&workspace)?;
    fs::write(workspace.join("WORKFLOW.md"), SETTINGS)?;
    let mut command = program.command();
    command
        .current_dir(&workspace)
        .arg("up")
        .arg(&workspace)
        .args(["--port", "0", "--data-dir"])
        .arg(&data)
        .stderr(Stdio::null());
    let server = Server::start(&mut command)?;
    sh::output(
        program
            .command()
            .args(args)
            .env("GUILDHALL_URL", server.origin())
            .env("GUILDHALL_TOKEN_FILE", data.join("owner.token")),
    )
}

/// The built program, run where no settings of this machine reach it.
pub(crate) struct Program {
    path: PathBuf,
    home: TempDir,
}

impl Program {
    fn build() -> Result<Self> {
        sh::run(sh::cargo().args(["build", "--quiet", "--package", "guildhall"]))?;
        Ok(Self {
            path: sh::target().join("debug/guildhall"),
            home: tempfile::tempdir()?,
        })
    }

    /// The program with a clean environment, in an empty folder.
    fn command(&self) -> std::process::Command {
        let mut command = sh::at_root(&self.path);
        command
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    fn output(&self, args: &[&str]) -> Result<String> {
        sh::output(self.command().args(args))
    }
}
