//! `cargo xtask test`: runs every test of the workspace.

use anyhow::Result;

use crate::sh;

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<()> {
    sh::run(sh::cargo().args(["test", "--workspace"]))
}
