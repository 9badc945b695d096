//! The data directory: one process owns it, and says where it listens.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use guildhall_core::Ids;
use serde::{Deserialize, Serialize};

/// Where the running server is; `server.json` in the data directory.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Running {
    /// Where it listens, such as `http://127.0.0.1:4040`.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
    /// Its version.
    pub(crate) version: String,
    /// The workspace it serves.
    pub(crate) workspace: PathBuf,
}

/// A data directory that this process owns until it is dropped.
pub(crate) struct Owned {
    dir: PathBuf,
    /// Released by the operating system when the process ends, however it ends.
    _lock: File,
}

/// What came of trying to own a data directory.
pub(crate) enum Claim {
    /// It is ours.
    Owned(Owned),
    /// Another process has it.
    Taken,
}

const SERVER: &str = "server.json";
const CURSOR_KEY: &str = "cursor.key";

/// Makes `dir` if need be, readable by its owner alone and ignored by git, and tries to own it.
pub(crate) fn claim(dir: &Path) -> anyhow::Result<Claim> {
    make(dir)?;
    let shown = dir.display();
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(dir.join("lock"))
        .with_context(|| format!("Cannot open the lock of the data directory `{shown}`"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Claim::Taken),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("Cannot lock the data directory `{shown}`"));
        }
    }
    let owned = Owned {
        dir: dir.to_owned(),
        _lock: lock,
    };
    // What an ended server left behind is not where we listen.
    owned.forget();
    write_if_missing(&dir.join(".gitignore"), b"*\n")?;
    Ok(Claim::Owned(owned))
}

/// Makes `dir` if need be, readable by its owner alone.
pub(crate) fn make(dir: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .with_context(|| format!("Cannot make the data directory `{}`", dir.display()))
}

/// Where the server that owns `dir` listens, or `None` where none says so. It may have ended since.
pub(crate) fn running(dir: &Path) -> Option<Running> {
    serde_json::from_slice(&std::fs::read(dir.join(SERVER)).ok()?).ok()
}

impl Owned {
    /// Says where this process listens. Whoever reads it gets all of it or nothing.
    pub(crate) fn announce(&self, running: &Running) -> anyhow::Result<()> {
        let mut file =
            tempfile::NamedTempFile::new_in(&self.dir).context("Cannot write server.json")?;
        file.write_all(&serde_json::to_vec_pretty(running)?)?;
        file.persist(self.dir.join(SERVER))
            .context("Cannot write server.json")?;
        Ok(())
    }

    fn forget(&self) {
        // Nothing to do about a failure: readers check that the server answers.
        let _ = std::fs::remove_file(self.dir.join(SERVER));
    }

    /// The key that cursors are signed with, made the first time.
    pub(crate) fn cursor_key(&self, ids: &dyn Ids) -> anyhow::Result<[u8; 32]> {
        let path = self.dir.join(CURSOR_KEY);
        let mut fresh = [0; 32];
        ids.fill(&mut fresh);
        write_if_missing(&path, &fresh)?;
        let mut key = [0; 32];
        File::open(&path)
            .and_then(|mut file| file.read_exact(&mut key))
            .with_context(|| {
                format!(
                    "Cannot read `{}`; delete it and a new one is made",
                    path.display()
                )
            })?;
        Ok(key)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.forget();
    }
}

fn write_if_missing(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    match OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(path)
    {
        Ok(mut file) => file.write_all(content).and_then(|()| file.sync_all()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
    .with_context(|| format!("Cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use guildhall_core::SystemIds;

    use super::*;

    fn owned(dir: &Path) -> Owned {
        match claim(dir).unwrap() {
            Claim::Owned(owned) => owned,
            Claim::Taken => panic!("nobody else has it"),
        }
    }

    #[test]
    fn one_owner_at_a_time_and_private() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("a/state");
        let first = owned(&dir);
        assert!(matches!(claim(&dir).unwrap(), Claim::Taken));
        assert_eq!(
            std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(
            std::fs::read_to_string(dir.join(".gitignore")).unwrap(),
            "*\n"
        );
        drop(first);
        owned(&dir);
    }

    #[test]
    fn what_an_ended_server_said_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let running = Running {
            url: "http://127.0.0.1:1".to_owned(),
            pid: 1,
            version: "0".to_owned(),
            workspace: dir.path().to_owned(),
        };
        let first = owned(dir.path());
        first.announce(&running).unwrap();
        assert_eq!(super::running(dir.path()), Some(running));
        drop(first);
        assert_eq!(super::running(dir.path()), None);
    }

    #[test]
    fn the_cursor_key_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let owned = owned(dir.path());
        let key = owned.cursor_key(&SystemIds).unwrap();
        assert_eq!(owned.cursor_key(&SystemIds).unwrap(), key);
        assert_ne!(key, [0; 32]);
    }
}
