//! Packing: every change leaves loose objects or a small pack behind, and a repository of many is slow to read and to clone.

use std::fs;
use std::io;
use std::path::Path;

use super::{Hosted, io_error};
use crate::command::{Config, Limits};
use crate::error::GitError;

/// Loose objects from which they are packed, and packs from which they are joined: git's own numbers (`gc.auto`,
/// `gc.autoPackLimit`).
const MANY_LOOSE: usize = 6700;
const MANY_PACKS: usize = 50;

/// The one of the 256 directories of loose objects that git counts too: ids are spread evenly.
const SAMPLE: &str = "17";

impl Hosted {
    /// Whether there are so many loose objects or packs that [`Hosted::pack_up`] is worth its time. Looks into two
    /// directories.
    ///
    /// # Errors
    /// [`GitError::Io`].
    pub fn is_scattered(&self) -> Result<bool, GitError> {
        let objects = self.repository.dir().join("objects");
        let loose = entries(&objects.join(SAMPLE), |_| true)? * 256;
        let is_pack = |path: &Path| path.extension().is_some_and(|end| end == "pack");
        let packs = entries(&objects.join("pack"), is_pack)?;
        Ok(loose >= MANY_LOOSE || packs >= MANY_PACKS)
    }

    /// Packs the loose objects and joins small packs. Nothing is thrown away, also not what no branch leads to: a change that
    /// is being written has no branch yet. The caller has the [turn](Hosted::turn); who reads or clones need not wait.
    ///
    /// # Errors
    /// What git says where it cannot.
    pub fn pack_up(&self) -> Result<(), GitError> {
        self.git
            .command(Config::Isolated, "repack")
            .repository(self.repository.dir())
            .args(["-q", "-d", "--geometric=2", "--no-write-bitmap-index"])
            .run(&Limits::LONG)?;
        Ok(())
    }
}

/// How many files in `dir` are `wanted`; none where there is no such directory.
fn entries(dir: &Path, wanted: impl Fn(&Path) -> bool) -> Result<usize, GitError> {
    let listed = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        listed => listed.map_err(io_error("read", dir))?,
    };
    let mut count = 0;
    for entry in listed {
        let entry = entry.map_err(io_error("read", dir))?;
        count += usize::from(wanted(&entry.path()));
    }
    Ok(count)
}
