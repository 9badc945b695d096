//! Paths inside a repository, as callers write them.

use crate::error::GitError;
use crate::text::readings;

/// A checked path: relative, with `/` between names, without `.`, `..` and empty names.
///
/// Names that git itself would refuse to check out (such as `.git`) may be read all the same: nothing is ever opened on
/// disk by such a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepoPath {
    given: String,
    /// What the path may stand for, in the order in which it is tried.
    readings: Vec<Vec<u8>>,
}

impl RepoPath {
    /// Checks a path. A slash at its end is dropped; an empty path is the root.
    pub(crate) fn parse(given: &str) -> Result<Self, GitError> {
        let bad = |reason| GitError::BadPath {
            given: given.chars().take(80).collect(),
            reason,
        };
        if given.contains('\0') {
            return Err(bad("a NUL is in it"));
        }
        if given.starts_with('/') {
            return Err(bad("paths are relative to the repository's root"));
        }
        let path = given.strip_suffix('/').unwrap_or(given);
        let is_drive = matches!(path.as_bytes(), [letter, b':', rest @ ..]
            if letter.is_ascii_alphabetic() && matches!(rest.first(), None | Some(b'\\' | b'/')));
        if is_drive || path.starts_with(r"\\") {
            return Err(bad("drives and devices are not in a repository"));
        }
        for name in path.split('/') {
            match name {
                "" if !path.is_empty() => return Err(bad("an empty name is in it")),
                "." | ".." => return Err(bad("`.` and `..` are not names")),
                _ => {}
            }
        }
        let readings: Vec<Vec<u8>> = readings(path).into_iter().map(Into::into).collect();
        let refused = |reading: &Vec<u8>| {
            reading.contains(&0)
                || reading
                    .split(|&byte| byte == b'/')
                    .any(|name| matches!(name, b"." | b".."))
        };
        if readings.iter().any(refused) {
            return Err(bad("what it stands for has a NUL, `.` or `..` in it"));
        }
        Ok(Self {
            given: given.to_owned(),
            readings,
        })
    }

    /// As the caller wrote it.
    pub(crate) fn given(&self) -> &str {
        &self.given
    }

    /// What the path may stand for, first as it stands.
    pub(crate) fn readings(&self) -> &[Vec<u8>] {
        &self.readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_repository_or_name_a_device_are_refused() {
        for path in [
            "..",
            "../x",
            "a/../b",
            "a/..",
            "./a",
            "/etc/passwd",
            "//x",
            "a//b",
            "/",
            "a\0b",
            "C:",
            "C:/x",
            r"c:\x",
            r"\\.\nul",
            r"\\server\share",
            r"\x2e\x2e/\xff",
            r"a\x00",
            r"\x2e./x",
        ] {
            let refused = RepoPath::parse(path);
            assert!(
                matches!(refused, Err(GitError::BadPath { .. })),
                "{path}: {refused:?}"
            );
        }
    }

    #[test]
    fn names_that_only_look_odd_are_paths() {
        for path in [
            "a",
            "a/b",
            "...",
            "..a",
            "-x",
            "a:b",
            ":(glob)*",
            "*",
            "é",
            r"a\b",
            "a b",
            ".git/config",
            "CON",
        ] {
            assert_eq!(
                RepoPath::parse(path).unwrap().readings()[0],
                path.as_bytes()
            );
        }
        assert_eq!(RepoPath::parse("src/").unwrap().readings(), [b"src"]);
        assert_eq!(
            RepoPath::parse(r"caf\xe9").unwrap().readings()[1],
            b"caf\xe9"
        );
    }
}
