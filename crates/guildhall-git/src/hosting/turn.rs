//! Taking turns at a repository, and what a process that died left in the way.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use super::{Hosted, io_error};
use crate::error::GitError;

/// The file whose lock is the right to change a repository. Git knows nothing of it.
const TURN: &str = "guildhall-turn";
/// How old a lock of git's must be to be taken for one whose process is gone: a git that a dead server started holds its
/// locks for moments, and a lock is not held while objects travel.
const STALE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The right to change a repository, among all processes that share its disk. Ends when dropped.
#[derive(Debug)]
pub struct Turn {
    _locked: File,
}

impl Hosted {
    /// Waits for the right to change this repository and removes the locks of git that nobody holds any more.
    ///
    /// # Errors
    /// [`GitError::Io`].
    pub fn turn(&self) -> Result<Turn, GitError> {
        let dir = self.repository.dir();
        let path = dir.join(TURN);
        let locked = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(io_error("lock", &path))?;
        let branch = self.default_branch()?;
        for name in [
            "HEAD.lock",
            "packed-refs.lock",
            "config.lock",
            "shallow.lock",
        ] {
            cleared(&dir.join(name))?;
        }
        cleared(&dir.join(format!("refs/heads/{branch}.lock")))?;
        Ok(Turn { _locked: locked })
    }

    /// As [`Hosted::turn`], for a start: looks for locks at every ref, and removes what was being written when a process
    /// died.
    ///
    /// # Errors
    /// [`GitError::Io`].
    pub fn first_turn(&self) -> Result<Turn, GitError> {
        let turn = self.turn()?;
        for lock in locks_below(&self.repository.dir().join("refs"))? {
            cleared(&lock)?;
        }
        let objects = self.repository.dir().join("objects");
        for path in left_behind(&objects, &["tmp_objdir-merge-"])? {
            fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
        }
        for path in left_behind(&objects.join("pack"), &["tmp_", ".tmp-"])? {
            fs::remove_file(&path).map_err(io_error("remove", &path))?;
        }
        Ok(turn)
    }
}

/// What is in `dir` under a name that begins in one of these ways, and too old for its writer to be alive.
fn left_behind(dir: &Path, beginnings: &[&str]) -> Result<Vec<PathBuf>, GitError> {
    let mut left = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error("read", dir))? {
        let entry = entry.map_err(io_error("read", dir))?;
        let is_ours = entry.file_name().to_str().is_some_and(|name| {
            beginnings
                .iter()
                .any(|beginning| name.starts_with(beginning))
        });
        if is_ours && is_stale(&entry.path()) {
            left.push(entry.path());
        }
    }
    Ok(left)
}

/// The lock files below `dir`.
fn locks_below(dir: &Path) -> Result<Vec<PathBuf>, GitError> {
    let mut locks = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).map_err(io_error("read", &dir))? {
            let entry = entry.map_err(io_error("read", &dir))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "lock")
            {
                locks.push(path);
            }
        }
    }
    Ok(locks)
}

/// Returns when no lock is at `path`: when its holder let go of it, or when it is too old to have one.
fn cleared(path: &Path) -> Result<(), GitError> {
    let mut waited = Duration::ZERO;
    while path.symlink_metadata().is_ok() {
        if waited >= STALE || is_stale(path) {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(io_error("remove", path)(error))
                }
                _ => Ok(()),
            };
        }
        thread::sleep(LOOK_AGAIN);
        waited += LOOK_AGAIN;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the age of a file is told by the clock that dated it"
)]
fn is_stale(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|about| about.modified());
    changed.is_ok_and(|changed| {
        SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|age| age >= STALE)
    })
}
