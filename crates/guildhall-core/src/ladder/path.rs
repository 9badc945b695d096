//! What a rung is called.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest path, in bytes.
const LONGEST: usize = 1024;

/// What a rung is about.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RungKind {
    /// The whole repository: `_repo`.
    Repo,
    /// A directory: `src/`.
    Directory,
    /// A file, a link or a submodule: `src/index.js`.
    File,
    /// A release: `release:<tag>`.
    Release,
    /// A change: `changeset:<sha>`.
    Changeset,
    /// An issue: `issue:<n>`.
    Issue,
    /// A pull request: `pull:<n>`.
    Pull,
    /// A lane: `lane:<id>`.
    Lane,
}

impl RungKind {
    /// Every kind, in the order in which a Ladder lists them.
    pub const ALL: [Self; 8] = [
        Self::Repo,
        Self::Directory,
        Self::File,
        Self::Release,
        Self::Changeset,
        Self::Issue,
        Self::Pull,
        Self::Lane,
    ];

    /// The name that arguments and results carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Repo => "repo",
            Self::Directory => "directory",
            Self::File => "file",
            Self::Release => "release",
            Self::Changeset => "changeset",
            Self::Issue => "issue",
            Self::Pull => "pull",
            Self::Lane => "lane",
        }
    }

    /// Whether a rung of this kind must cite the commit it was written at (zz page, "Ladder").
    pub const fn needs_anchor(self) -> bool {
        matches!(
            self,
            Self::Repo | Self::Directory | Self::File | Self::Release | Self::Changeset
        )
    }
}

impl fmt::Display for RungKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RungKind {
    type Err = RungPathError;

    fn from_str(text: &str) -> Result<Self, RungPathError> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            RungPathError(format!(
                "`{}` is no kind of rung: expected {}",
                excerpt(text),
                names.join(", ")
            ))
        })
    }
}

/// A path that names no rung, or a word that is no kind; the text says why.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct RungPathError(String);

/// The name of a rung, checked for its form. Whether there is such a file is for git to say.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct RungPath {
    text: String,
    kind: RungKind,
}

impl RungPath {
    /// The rung of the whole repository.
    pub const REPO: &'static str = "_repo";

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What the rung is about.
    pub fn kind(&self) -> RungKind {
        self.kind
    }

    /// The path in the repository's tree: empty for the repository itself, without the slash for a directory; `None` for
    /// what is not in the tree.
    pub fn in_tree(&self) -> Option<&str> {
        match self.kind {
            RungKind::Repo => Some(""),
            RungKind::Directory => Some(self.text.trim_end_matches('/')),
            RungKind::File => Some(&self.text),
            _ => None,
        }
    }

    /// What stands behind the colon: a tag, a number, an id; `None` for what is in the tree.
    pub fn name(&self) -> Option<&str> {
        if self.in_tree().is_some() {
            return None;
        }
        self.text.split_once(':').map(|(_, name)| name)
    }

    /// The directories that a file or directory is below, each with its slash, the outermost first.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        let path = match self.kind {
            RungKind::Directory | RungKind::File => self.text.as_str(),
            _ => "",
        };
        path.match_indices('/').map(|(at, _)| &path[..=at])
    }
}

impl FromStr for RungPath {
    type Err = RungPathError;

    fn from_str(text: &str) -> Result<Self, RungPathError> {
        let bad = |reason: &str| {
            RungPathError(format!("`{}` is no rung's path: {reason}", excerpt(text)))
        };
        if text.is_empty() || text.len() > LONGEST {
            return Err(bad(&format!("expected 1 to {LONGEST} bytes")));
        }
        if text.chars().any(char::is_control) {
            return Err(bad("it has a control character in it"));
        }
        let kind = match text.split_once(':') {
            Some((prefix, name)) if !prefix.contains('/') => match prefix {
                "release" => tag(name).map_err(bad)?,
                "changeset" => sha(name).map_err(bad)?,
                "issue" => number(name, RungKind::Issue).map_err(bad)?,
                "pull" => number(name, RungKind::Pull).map_err(bad)?,
                "lane" => lane(name).map_err(bad)?,
                _ => tree(text).map_err(bad)?,
            },
            _ => tree(text).map_err(bad)?,
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
        })
    }
}

impl TryFrom<String> for RungPath {
    type Error = RungPathError;

    fn try_from(text: String) -> Result<Self, RungPathError> {
        text.parse()
    }
}

impl From<RungPath> for String {
    fn from(path: RungPath) -> Self {
        path.text
    }
}

impl fmt::Display for RungPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A path in the tree: what could leave the repository or name a device is none.
fn tree(text: &str) -> Result<RungKind, &'static str> {
    if text == RungPath::REPO {
        return Ok(RungKind::Repo);
    }
    if text.starts_with('/') {
        return Err("paths are relative to the repository's root");
    }
    let path = text.strip_suffix('/').unwrap_or(text);
    let is_drive = matches!(path.as_bytes(), [letter, b':', rest @ ..]
        if letter.is_ascii_alphabetic() && matches!(rest.first(), None | Some(b'\\' | b'/')));
    if is_drive || path.starts_with(r"\\") {
        return Err("drives and devices are not in a repository");
    }
    for name in path.split('/') {
        match name {
            "" => return Err("an empty name is in it"),
            "." | ".." => return Err("`.` and `..` are not names"),
            _ => {}
        }
        // `\` is a letter to git, and a way out of the folder to a program that reads the path on Windows.
        if name.split('\\').any(|part| matches!(part, "." | "..")) {
            return Err("`.` and `..` are not names");
        }
    }
    if text.ends_with('/') {
        Ok(RungKind::Directory)
    } else {
        Ok(RungKind::File)
    }
}

fn tag(name: &str) -> Result<RungKind, &'static str> {
    let wrong = name.is_empty()
        || name.starts_with(['-', '/', '.'])
        || name.ends_with(['/', '.'])
        || name.contains("..")
        || name.contains("//")
        || name.contains("@{")
        || name.contains([' ', '~', '^', ':', '?', '*', '[', '\\']);
    if wrong {
        return Err("expected `release:<tag>` with a name that git takes for a tag");
    }
    Ok(RungKind::Release)
}

fn sha(name: &str) -> Result<RungKind, &'static str> {
    let hex = name
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if hex && (4..=64).contains(&name.len()) {
        return Ok(RungKind::Changeset);
    }
    Err("expected `changeset:<sha>` with 4 to 64 of `0-9a-f`")
}

fn number(name: &str, kind: RungKind) -> Result<RungKind, &'static str> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    if digits && (1..=18).contains(&name.len()) && !name.starts_with('0') {
        return Ok(kind);
    }
    Err("expected a number from 1 behind the colon")
}

fn lane(name: &str) -> Result<RungKind, &'static str> {
    let id = name.strip_prefix("lane-").unwrap_or_default();
    let known = id.len() == 10
        && id
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if known || name == "_repo" {
        return Ok(RungKind::Lane);
    }
    Err("expected `lane:_repo` or `lane:lane-<10 hex digits>`")
}

fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_what_its_rung_is_about() {
        for (text, kind) in [
            ("_repo", RungKind::Repo),
            ("src/", RungKind::Directory),
            ("src/index.js", RungKind::File),
            ("a:b", RungKind::File),
            ("docs/release:1", RungKind::File),
            ("_repo/", RungKind::Directory),
            ("-x", RungKind::File),
            ("...", RungKind::File),
            ("release:v1.2", RungKind::Release),
            ("changeset:0a1b2c3", RungKind::Changeset),
            ("issue:12", RungKind::Issue),
            ("pull:7", RungKind::Pull),
            ("lane:lane-0123456789", RungKind::Lane),
            ("lane:_repo", RungKind::Lane),
        ] {
            let path: RungPath = text.parse().unwrap();
            assert_eq!((path.kind(), path.as_str()), (kind, text));
            assert_eq!(kind.as_str().parse::<RungKind>(), Ok(kind));
        }
        assert!("Files".parse::<RungKind>().is_err());
    }

    #[test]
    fn what_leaves_the_repository_or_is_of_no_form_is_refused() {
        let long = "a".repeat(1025);
        for text in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a/./b",
            "a//b",
            "./a",
            "C:",
            "C:/x",
            r"c:\x",
            r"\\server\share",
            r"a\..\b",
            "a\0b",
            "a\nb",
            "a\u{1b}[2J",
            "release:",
            "release:-d",
            "release:a..b",
            "release:a b",
            "changeset:",
            "changeset:xyz",
            "changeset:ABCDEF",
            "issue:0",
            "issue:1x",
            "issue:",
            "pull:-1",
            "lane:x",
            "lane:lane-xyz",
            long.as_str(),
        ] {
            let refused = text.parse::<RungPath>();
            assert!(refused.is_err(), "{text:?}: {refused:?}");
        }
    }

    #[test]
    fn the_tree_is_told_from_the_rest() {
        let path = |text: &str| text.parse::<RungPath>().unwrap();
        assert_eq!(path("_repo").in_tree(), Some(""));
        assert_eq!(path("a/b/").in_tree(), Some("a/b"));
        assert_eq!(path("a/b").in_tree(), Some("a/b"));
        assert_eq!(path("release:v1").in_tree(), None);
        assert_eq!(path("release:v1").name(), Some("v1"));
        assert_eq!(path("a:b").name(), None);
        let below = |text: &str| {
            path(text)
                .directories()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(below("a/b/c.rs"), ["a/", "a/b/"]);
        assert_eq!(below("a/b/"), ["a/", "a/b/"]);
        assert_eq!(below("_repo"), [""; 0]);
        assert_eq!(below("release:a/b"), [""; 0]);
    }
}
