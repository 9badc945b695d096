//! Licences, bans and sources of all dependencies, by `cargo deny` in the one version that this file names.

use std::path::PathBuf;

use anyhow::Result;

use crate::sh;

const VERSION: &str = "0.20.2";

pub(crate) fn run() -> Result<()> {
    let deny = cargo_deny()?;
    // Advisories are left to a scheduled job: a change must not fail for what was found in a dependency overnight.
    sh::run(
        sh::at_root(deny)
            .args(["--all-features", "--log-level", "error", "check"])
            .args(["bans", "licenses", "sources"]),
    )
}

/// A `cargo-deny` of the right version: from the `PATH`, from an earlier run, or installed now.
fn cargo_deny() -> Result<PathBuf> {
    let folder = sh::tools().join("cargo");
    let ours = folder.join("bin/cargo-deny");
    let wanted = format!("cargo-deny {VERSION}");
    for candidate in [PathBuf::from("cargo-deny"), ours.clone()] {
        if sh::version_of(&candidate).is_some_and(|found| found == wanted) {
            return Ok(candidate);
        }
    }
    let build = sh::tools().join("cargo-build");
    sh::run(
        sh::cargo()
            .args(["install", "--locked", "--force", "--root"])
            .arg(&folder)
            .args(["--version", VERSION, "cargo-deny"])
            .env("CARGO_TARGET_DIR", &build),
    )?;
    // Only needed once and larger than everything else here.
    std::fs::remove_dir_all(&build).ok();
    Ok(ours)
}
