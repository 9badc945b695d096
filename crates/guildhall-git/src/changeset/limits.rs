//! How much one changeset may hold.

use crate::error::GitError;

use super::{Change, FileChange};

/// The most of each that a commit is made of; what is over is refused before anything is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangesetLimits {
    /// Files.
    pub files: usize,
    /// Bytes of one file.
    pub file_bytes: usize,
    /// Bytes of all files.
    pub bytes: usize,
}

impl Default for ChangesetLimits {
    /// 2,000 files of at most 8 MiB, 32 MiB together.
    fn default() -> Self {
        Self {
            files: 2_000,
            file_bytes: 8 << 20,
            bytes: 32 << 20,
        }
    }
}

impl ChangesetLimits {
    /// Refuses what is over.
    ///
    /// # Errors
    /// [`GitError::OverLimit`].
    pub fn check(&self, files: &[FileChange]) -> Result<(), GitError> {
        if files.len() > self.files {
            return Err(GitError::OverLimit(format!(
                "The changeset has {} files, more than the {} of one commit",
                files.len(),
                self.files
            )));
        }
        let mut all = 0;
        for file in files {
            let Change::Write { content, .. } = &file.change else {
                continue;
            };
            if content.len() > self.file_bytes {
                let path: String = file.path.chars().take(80).collect();
                return Err(GitError::OverLimit(format!(
                    "`{path}` has {} bytes, more than the {} of one file",
                    content.len(),
                    self.file_bytes
                )));
            }
            all += content.len();
        }
        if all > self.bytes {
            return Err(GitError::OverLimit(format!(
                "The changeset has {all} bytes, more than the {} of one commit",
                self.bytes
            )));
        }
        Ok(())
    }
}
