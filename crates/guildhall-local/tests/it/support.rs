//! A board in a temporary directory, with a clock that stands still.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::path::PathBuf;
use std::sync::Arc;

use guildhall_core::{Clock, SystemIds};
use guildhall_local::{Board, BoardOptions};
use jiff::Timestamp;

/// The time of every write in these tests.
pub(crate) const NOW: &str = "2026-05-29T10:00:00.000Z";

struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        NOW.parse().unwrap()
    }
}

/// A directory that is removed in the end.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(world.dir()).unwrap();
        world
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("board")
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn options(&self) -> BoardOptions {
        BoardOptions::new(self.dir())
    }

    pub(crate) fn open(&self) -> Board {
        open(self.options())
    }
}

pub(crate) fn open(options: BoardOptions) -> Board {
    Board::open(options, Arc::new(StillClock), Arc::new(SystemIds)).unwrap()
}

pub(crate) fn ids(board: &Board) -> Vec<String> {
    let snapshot = board.snapshot().unwrap();
    snapshot.iter().map(|entry| entry.id().to_owned()).collect()
}

pub(crate) fn skipped(board: &Board) -> Vec<(String, String)> {
    let snapshot = board.snapshot().unwrap();
    snapshot
        .skipped()
        .into_iter()
        .map(|skipped| (skipped.id, skipped.error))
        .collect()
}

pub(crate) fn issue_file(status: &str, title: &str) -> String {
    format!("---\nstatus: {status}\n---\n\n# {title}\n")
}
