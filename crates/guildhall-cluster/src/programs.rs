//! Where PostgreSQL's programs are: Debian keeps `initdb` and `postgres` off the PATH.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of PostgreSQL's programs.
#[derive(Clone, Debug)]
pub struct Programs {
    dir: PathBuf,
}

impl Programs {
    /// The newest of Debian's folders, else the one that `pg_config` names, else the one on the PATH.
    pub fn find() -> Option<Self> {
        debian()
            .into_iter()
            .chain(pg_config())
            .chain(on_path())
            .find(|dir| is_complete(dir))
            .map(|dir| Self { dir })
    }

    /// The program `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

fn is_complete(dir: &Path) -> bool {
    ["initdb", "postgres", "createdb", "dropdb"]
        .iter()
        .all(|name| dir.join(name).is_file())
}

fn debian() -> Vec<PathBuf> {
    let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = versions
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, dir)| dir).collect()
}

fn pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let dir = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(dir.trim()))
}

fn on_path() -> Vec<PathBuf> {
    std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default()
}
