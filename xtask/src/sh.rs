//! Running other programs, and where things are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the workspace that this program was built from.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf()
}

/// Cargo's target folder, as cargo itself would choose it.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Where a task keeps the programs that it installs for itself.
pub(crate) fn tools() -> PathBuf {
    target().join("tools")
}

/// Whether this is a CI run, where nothing may be left out.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false" && value != "0")
}

/// The cargo that runs this program, started in the workspace root.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    at_root(cargo)
}

/// A program started in the workspace root, with no standard input.
pub(crate) fn at_root(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Says what runs, runs it, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = describe(command);
    println!("\n$ {line}");
    let status = command
        .status()
        .with_context(|| format!("Could not start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a program quietly and returns what it wrote on standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = describe(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("Could not start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not print UTF-8"))
}

/// The first line that `program --version` prints, or `None` where it does not run.
pub(crate) fn version_of(program: impl AsRef<std::ffi::OsStr>) -> Option<String> {
    version_by(program, "--version")
}

/// The first line of what a program prints for `argument`, or `None` where it does not run.
pub(crate) fn version_by(program: impl AsRef<std::ffi::OsStr>, argument: &str) -> Option<String> {
    let output = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The files that git tracks or would track, relative to the root.
pub(crate) fn tracked_files() -> Result<Vec<PathBuf>> {
    let list = output(at_root("git").args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let mut files: Vec<PathBuf> = list
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

fn describe(command: &Command) -> String {
    let mut line = short(command.get_program().as_ref());
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&short(arg.as_ref()));
    }
    line
}

/// A path as a reader would type it: relative to the root where it lies below it.
fn short(path: &Path) -> String {
    let text = match path.strip_prefix(root()) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.display().to_string(),
        _ => path.display().to_string(),
    };
    match text.rsplit_once('/') {
        Some((_, "cargo")) => "cargo".to_owned(),
        _ => text,
    }
}
