//! The board's lock: one dot-file, locked by whoever writes.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::time::{Duration, Instant};

use crate::BoardError;
use crate::dir::BoardDir;

const LOCK_NAME: &str = ".guildhall.lock";

/// The lock, held until it is dropped. The operating system lets go of it when its process ends, however it ends.
///
/// The file also holds the highest number given out, so that the id of an issue that was deleted is not used again.
pub(crate) struct BoardLock {
    file: File,
}

impl BoardLock {
    /// Waits for the lock at most `patience`.
    pub(crate) fn acquire(dir: &BoardDir, patience: Duration) -> Result<Self, BoardError> {
        let deadline = Instant::now() + patience;
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(lock) = Self::try_acquire(dir)? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                return Err(BoardError::Locked);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    /// Takes the lock if nobody holds it.
    pub(crate) fn try_acquire(dir: &BoardDir) -> Result<Option<Self>, BoardError> {
        let failed = |error| BoardError::io("lock the board", &error);
        let file = dir.open_lock(LOCK_NAME).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // Somebody may have removed the file and another process locked the next one.
        let current = dir.is_same(LOCK_NAME, &file).map_err(failed)?;
        Ok(current.then_some(Self { file }))
    }

    /// The highest number given out on this board, 0 where none was.
    pub(crate) fn highest(&mut self) -> u64 {
        let mut text = String::new();
        let read = self
            .file
            .rewind()
            .and_then(|()| (&self.file).take(32).read_to_string(&mut text));
        match read {
            Ok(_) => text.trim().parse().unwrap_or(0),
            Err(_) => 0,
        }
    }

    /// Remembers that `number` was given out. Not being able to is no reason to take the issue back.
    pub(crate) fn set_highest(&mut self, number: u64) {
        // Of one length always, so that overwriting leaves no digits of the one before.
        let kept = self
            .file
            .rewind()
            .and_then(|()| self.file.write_all(format!("{number:020}\n").as_bytes()));
        if let Err(error) = kept {
            tracing::debug!(error = %error, "The board's highest number could not be kept");
        }
    }
}
