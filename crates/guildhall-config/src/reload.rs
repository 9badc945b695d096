//! Noticing that the settings file has changed.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::problem::SettingsError;
use crate::{Env, Loaded, Settings, Workspace, load};

/// What a look at the folder tells about a file's content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Device, inode and time of the last change of either: tells a file that was put in the place of another.
    identity: [i64; 4],
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(metadata),
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    [
        metadata.dev().cast_signed(),
        metadata.ino().cast_signed(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ]
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> [i64; 4] {
    [0; 4]
}

/// A settings file as it was at some time.
#[derive(Clone, Debug)]
pub struct Seen {
    file: PathBuf,
    stamp: Option<Stamp>,
}

impl Seen {
    /// Whether it still is. Costs one `stat`.
    pub fn is_current(&self) -> bool {
        stamp(&self.file) == self.stamp
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(file).ok()?;
    Some(Stamp::of(&metadata))
}

/// Watches one settings file. Whoever drives it keeps the settings that hold: a file that cannot be used changes
/// nothing but the reason it gives.
#[derive(Clone, Debug)]
pub struct Reloader {
    workspace: Workspace,
    stamp: Option<Stamp>,
    fingerprint: String,
}

impl Reloader {
    /// Begins after `loaded`, which came from `workspace`.
    ///
    /// The file is from now on the one that was named, so that its removal is a fault and not a return to defaults.
    pub fn new(workspace: &Workspace, loaded: &Loaded) -> Self {
        let mut workspace = workspace.clone();
        workspace.workflow_named |= loaded.source.is_some();
        Self {
            workspace,
            stamp: loaded.stamp.clone(),
            fingerprint: loaded.fingerprint.clone(),
        }
    }

    /// The file as it was when it was last looked at.
    pub fn seen(&self) -> Seen {
        Seen {
            file: self.workspace.workflow.clone(),
            stamp: self.stamp.clone(),
        }
    }

    /// What the file says, if its content has changed since it was last asked; `None` else.
    ///
    /// Costs one `stat` while nothing has changed. A content that cannot be used is reported once.
    pub fn poll(&mut self, env: Env<'_>) -> Option<Result<Loaded, SettingsError>> {
        let stamp = stamp(&self.workspace.workflow);
        if stamp == self.stamp {
            return None;
        }
        self.stamp = stamp;
        if let Ok((bytes, stamp)) = load::read(&self.workspace.workflow) {
            let fingerprint = load::fingerprint(&bytes);
            self.stamp = Some(stamp);
            if fingerprint == self.fingerprint {
                return None;
            }
            self.fingerprint = fingerprint;
        } else {
            // What comes back after it was gone is news, whatever it says.
            self.fingerprint.clear();
        }
        let loaded = Settings::load(&self.workspace, env);
        if let Ok(loaded) = &loaded {
            self.stamp.clone_from(&loaded.stamp);
            self.fingerprint.clone_from(&loaded.fingerprint);
            self.workspace.workflow_named |= loaded.source.is_some();
        }
        Some(loaded)
    }
}
