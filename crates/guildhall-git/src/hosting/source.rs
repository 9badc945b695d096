//! Where repositories come from.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::command::{Config, Git, Limits};
use crate::error::GitError;
use crate::repository::refuse_alternates;

/// What a local origin is read with. Git passes none of our settings on to it, so they are repeated; the operator named
/// the directory, so its owner does not matter.
pub(super) const UPLOAD_PACK: &str =
    "git -c safe.directory=* -c core.hooksPath=/dev/null -c core.fsmonitor=false upload-pack";
/// What a local origin is written with: no hook of it runs, and nothing is checked out in it.
pub(super) const RECEIVE_PACK: &str = "git -c safe.directory=* -c core.hooksPath=/dev/null -c core.fsmonitor=false \
     -c core.alternateRefsCommand=true -c receive.denyCurrentBranch=refuse -c receive.autogc=false receive-pack";

/// Where a repository comes from, and where it is pushed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A directory of this machine, which only its operator can name.
    Path(String),
    /// An address with one of the allowed protocols.
    Url { address: String, plain_http: bool },
}

impl Source {
    /// The directory of a repository: a checkout or a bare one.
    ///
    /// # Errors
    /// [`GitError::BadArgument`] when there is no such directory or its path is not UTF-8.
    pub fn path(dir: &Path) -> Result<Self, GitError> {
        let bad = |reason: &str| GitError::BadArgument(format!("`{}` {reason}", dir.display()));
        let full = dir
            .canonicalize()
            .ok()
            .filter(|full| full.is_dir())
            .ok_or_else(|| bad("is no directory"))?;
        match full.to_str() {
            Some(text) if !text.contains(['\n', '\0']) => Ok(Self(Kind::Path(text.to_owned()))),
            _ => Err(bad("cannot be used: its path is not plain UTF-8")),
        }
    }

    /// An address: `https://…`, `ssh://…`, `user@host:path`, or `http://…` of this machine itself.
    ///
    /// # Errors
    /// [`GitError::BadArgument`] for other protocols (`file`, `git`, `ext::` and every other helper), for addresses that hold
    /// a password or a token, and for what could be read as an option.
    pub fn url(address: &str) -> Result<Self, GitError> {
        let refused = |reason: &str| {
            let shown = crate::command::without_credentials(address);
            let shown: String = shown.chars().take(120).collect();
            Err(GitError::BadArgument(format!(
                "`{shown}` cannot be cloned: {reason}"
            )))
        };
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"'`<>|^{}".contains(&byte);
        if address.is_empty() || address.starts_with('-') || !address.bytes().all(plain) {
            return refused("it is no address");
        }
        let (scheme, rest) = match address.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => return scp_like(address).map_or_else(|| refused(PROTOCOLS), Ok),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if host.is_empty()
            || host.starts_with('-')
            || user.is_some_and(|user| user.starts_with('-'))
        {
            return refused("it names no host");
        }
        match scheme.as_str() {
            "ssh" if user.is_some_and(|user| user.contains(':')) => refused(CREDENTIALS),
            "https" | "http" if user.is_some() => refused(CREDENTIALS),
            "ssh" | "https" => Ok(Self::address_of(address, false)),
            "http" if is_loopback(host) => Ok(Self::address_of(address, true)),
            "http" => refused("plain http is only for this machine; use https"),
            _ => refused(PROTOCOLS),
        }
    }

    fn address_of(address: &str, plain_http: bool) -> Self {
        Self(Kind::Url {
            address: address.to_owned(),
            plain_http,
        })
    }

    /// What git is given.
    pub fn address(&self) -> &str {
        match &self.0 {
            Kind::Path(path) => path,
            Kind::Url { address, .. } => address,
        }
    }

    pub(super) fn is_path(&self) -> bool {
        matches!(self.0, Kind::Path(_))
    }

    /// The protocols git may use for it, wherever it is sent on to.
    pub(super) fn protocols(&self) -> &'static str {
        match &self.0 {
            Kind::Path(_) => "file",
            Kind::Url {
                plain_http: true, ..
            } => "http:https:ssh",
            Kind::Url { .. } => "https:ssh",
        }
    }

    /// Refuses a directory that borrows objects from another repository.
    pub(super) fn check(&self, git: &Git) -> Result<(), GitError> {
        let Kind::Path(path) = &self.0 else {
            return Ok(());
        };
        let printed = git
            .command(Config::Isolated, "rev-parse")
            .config("safe.directory=*")
            .inside(Path::new(path))
            .args(["--path-format=absolute", "--git-common-dir"])
            .run(&Limits::SHORT)?;
        let text = String::from_utf8_lossy(&printed);
        refuse_alternates(&PathBuf::from(text.trim_end_matches('\n')))
    }

    /// The source as one line of a file.
    pub(super) fn to_line(&self) -> String {
        match &self.0 {
            Kind::Path(path) => format!("path {path}\n"),
            Kind::Url { address, .. } => format!("url {address}\n"),
        }
    }

    /// Reads [`Source::to_line`], with the same checks as when it was given.
    pub(super) fn from_line(line: &str) -> Result<Self, GitError> {
        match line.trim_end_matches('\n').split_once(' ') {
            Some(("path", path)) if path.starts_with('/') => Ok(Self(Kind::Path(path.to_owned()))),
            Some(("url", address)) => Self::url(address),
            _ => Err(GitError::Damaged {
                what: "The record of the origin".to_owned(),
                reason: "it is neither a path nor an address".to_owned(),
            }),
        }
    }
}

const PROTOCOLS: &str =
    "use https, ssh, or http on this machine; a directory is taken in with `--path`";
const CREDENTIALS: &str =
    "no password or token belongs into an address; use git's credential helper";

/// `user@host:path`, the short form of ssh.
fn scp_like(address: &str) -> Option<Source> {
    let (authority, path) = address.split_once(':')?;
    let (user, host) = authority.split_once('@')?;
    let plain = |part: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !part.is_empty() && !part.starts_with('-') && part.bytes().all(fits)
    };
    (plain(user) && plain(host) && !path.is_empty() && !path.starts_with([':', '-']))
        .then(|| Source::address_of(address, false))
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inner, _)) => inner,
        None => host.split(':').next().unwrap_or(host),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_addresses_are_kept_as_they_are() {
        for address in [
            "https://example.com/a/b.git",
            "https://example.com:8443/a",
            "ssh://git@example.com/a",
            "ssh://example.com:22/a",
            "git@example.com:a/b.git",
            "http://localhost:3000/a",
            "http://127.0.0.1/a",
            "http://[::1]:80/a",
        ] {
            assert_eq!(Source::url(address).unwrap().address(), address);
        }
    }

    #[test]
    fn other_protocols_options_and_credentials_are_refused() {
        for address in [
            "",
            "ext::sh -c touch% /tmp/x",
            "ext::sh",
            "EXT::x",
            "file:///etc",
            "FILE:///etc",
            "/etc",
            "./x",
            "../x",
            "git://example.com/a",
            "ftp://example.com/a",
            "http://example.com/a",
            "http://10.0.0.1/a",
            "http://localhost.example.com/a",
            "--upload-pack=x",
            "-u",
            "ssh://-oProxyCommand=x/a",
            "ssh://-x@host/a",
            "-oProxyCommand=x@host:a",
            "x@-host:a",
            "a@b::c",
            "https:///a",
            "fd::17",
            "https::https://example.com",
            "https://example.com/a b",
            "https://exam\nple.com/a",
            "https://me:s3cret@example.com/a",
            "https://ghp_token@example.com/a",
            "ssh://git:s3cret@example.com/a",
            "http://127.0.0.1@example.com/a",
            "javascript:x",
        ] {
            let refused = Source::url(address).unwrap_err();
            assert!(refused.is_callers_fault(), "{address}");
            let text = refused.to_string();
            assert!(
                !text.contains("s3cret") && !text.contains("ghp_token"),
                "{text}"
            );
        }
    }
}
