//! Under which account the server runs: PostgreSQL refuses root.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::ClusterError;

/// An unprivileged account, or our own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Account(Option<(u32, u32)>);

impl Account {
    /// Our own account, or, for root, `postgres` or else `nobody`.
    pub(crate) fn choose() -> Result<Self, ClusterError> {
        if !runs_as_root()? {
            return Ok(Self(None));
        }
        let passwd = std::fs::read_to_string("/etc/passwd").map_err(|source| ClusterError::Io {
            action: "read the list of accounts",
            source,
        })?;
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| ids_in(&passwd, name))
            .map(|ids| Self(Some(ids)))
            .ok_or(ClusterError::NoAccount)
    }

    /// Lets `command` run under this account.
    pub(crate) fn run(self, command: &mut Command) -> &mut Command {
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Gives `path` to this account.
    pub(crate) fn own(self, path: &Path) -> std::io::Result<()> {
        match self.0 {
            Some((uid, gid)) => std::os::unix::fs::chown(path, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }
}

/// Whether this process is root's. Whose a file is that we make: that is who we are.
///
/// # Errors
///
/// [`ClusterError::Io`] where no temporary file can be made.
pub fn runs_as_root() -> Result<bool, ClusterError> {
    use std::os::unix::fs::MetadataExt as _;
    let made = tempfile::tempfile().and_then(|file| file.metadata());
    Ok(made
        .map_err(|source| ClusterError::Io {
            action: "make a temporary file",
            source,
        })?
        .uid()
        == 0)
}

/// The user and group id of `name` in the text of a passwd file.
pub(crate) fn ids_in(passwd: &str, name: &str) -> Option<(u32, u32)> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some((uid, gid))
    })
}
