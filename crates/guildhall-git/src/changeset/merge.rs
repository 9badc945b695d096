//! Merging two commits, by git itself: `git merge-tree` finds the renames and settles the lines, without a working tree.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::objs::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use super::FileChange;
use super::objects::Objects;
use crate::command::{Config, Limits, Version};
use crate::error::GitError;
use crate::files::Encoding;
use crate::hosting::{Hosted, io_error};
use crate::object::Mode;
use crate::path::RepoPath;
use crate::repository::damaged;
use crate::text::noted;

/// The most conflicting paths that are told one by one.
const MOST_TOLD: usize = 100;
/// How much of a side is shown, in bytes.
const SIDE_SHOWN: usize = 16 * 1024;
/// A tree without entries: attributes are taken from it, so that none of the repository's own are.
const NO_ATTRIBUTES: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The first version with `git merge-tree --write-tree`.
const MERGES: Version = Version::new(2, 38, 0);

/// Why two commits cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conflicts {
    /// The full id of the commit the branch is at.
    pub head: String,
    /// The paths, at most a hundred of them.
    pub conflicts: Vec<Conflict>,
    /// How many there are.
    pub total: usize,
    #[serde(skip)]
    paths: BTreeSet<Vec<u8>>,
}

/// One path that cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Conflict {
    /// Where.
    pub path: String,
    /// What collides, in git's words, such as `contents`, `add/add`, `modify/delete` or `binary`.
    pub kind: String,
    /// The file both sides started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Side>,
    /// The file on the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Side>,
    /// The file of the changeset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<Side>,
    /// Which of the keys hold escaped text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escaped: Vec<&'static str>,
}

/// What a file is on one side of a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// Git's mode, such as `100644`.
    pub mode: String,
    /// The id of the content.
    pub sha: String,
    /// How many bytes it has.
    pub size: usize,
    /// How `content` is written.
    pub encoding: Encoding,
    /// The content, or how it begins.
    pub content: String,
    /// Whether there is more of it than is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl Conflicts {
    /// The paths, as results show them.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        self.paths
            .iter()
            .map(|path| noted(path, "path", &mut Vec::new()))
    }

    /// The conflicts that `files` say nothing about; `None` when they settle all.
    pub(super) fn not_settled_by(mut self, files: &[FileChange]) -> Option<Self> {
        let settled: BTreeSet<Vec<u8>> = files
            .iter()
            .filter_map(|file| RepoPath::parse(&file.path).ok())
            .flat_map(|path| path.readings().to_vec())
            .collect();
        self.paths.retain(|path| !settled.contains(path));
        let shown = |path: &[u8]| noted(path, "path", &mut Vec::new());
        let left: BTreeSet<String> = self.paths.iter().map(|path| shown(path)).collect();
        self.conflicts
            .retain(|conflict| left.contains(&conflict.path));
        self.total = self.paths.len();
        (self.total > 0).then_some(self)
    }
}

/// What a merge comes to.
pub(super) enum Merged {
    Clean(ObjectId),
    /// The tree holds the conflicting files with markers in them.
    Conflict {
        tree: ObjectId,
        conflicts: Conflicts,
    },
}

/// A merge to be made.
pub(super) struct Merge<'a, 'r> {
    pub(super) hosted: &'a Hosted,
    pub(super) objects: &'a mut Objects<'r>,
    /// A commit of the repository.
    pub(super) ours: ObjectId,
    /// A commit of the repository or a new one.
    pub(super) theirs: ObjectId,
    /// How many bytes of all sides together are shown.
    pub(super) shown: usize,
}

impl Merge<'_, '_> {
    /// Lets git merge in a directory of its own: what it writes is taken in only by who needs it.
    pub(super) fn run(self) -> Result<Merged, GitError> {
        let found = self.hosted.git().version();
        if found < MERGES {
            return Err(GitError::CannotMerge { found });
        }
        let objects = self.hosted.repository().dir().join("objects");
        let aside = tempfile::Builder::new()
            .prefix("tmp_objdir-merge-")
            .tempdir_in(&objects)
            .map_err(io_error("create a folder in", &objects))?;
        self.objects.write_aside(aside.path(), self.theirs)?;
        let (code, printed) = self.merge_tree(&objects, aside.path())?;
        self.objects.take_in(aside.path())?;
        let unreadable = || damaged("The merge")("git printed something unexpected");
        let printed = Printed::parse(&printed).ok_or_else(unreadable)?;
        if code == 0 {
            return Ok(Merged::Clean(printed.tree));
        }
        let conflicts = self.conflicts(&printed)?;
        Ok(Merged::Conflict {
            tree: printed.tree,
            conflicts,
        })
    }

    fn merge_tree(&self, objects: &Path, aside: &Path) -> Result<(i32, Vec<u8>), GitError> {
        self.hosted
            .git()
            .command(Config::Isolated, "merge-tree")
            .repository(self.hosted.repository().dir())
            .env("GIT_OBJECT_DIRECTORY", aside)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
            .env("GIT_ATTR_SOURCE", NO_ATTRIBUTES)
            .args(["--write-tree", "-z", "--messages", "--end-of-options"])
            .args([self.ours.to_string(), self.theirs.to_string()])
            // 1: there are conflicts.
            .run_to_code(&Limits::LONG, &[0, 1])
    }

    fn conflicts(&self, printed: &Printed<'_>) -> Result<Conflicts, GitError> {
        let mut found: BTreeMap<Vec<u8>, (Stages, Option<&[u8]>)> = BTreeMap::new();
        for (path, stages) in &printed.stages {
            let place = found.entry(self.bare(path)).or_default();
            for (known, stage) in place.0.iter_mut().zip(stages) {
                *known = known.or(*stage);
            }
        }
        for (path, kind) in &printed.kinds {
            found.entry(self.bare(path)).or_default().1 = Some(kind);
        }
        let mut room = self.shown;
        let mut conflicts = Vec::new();
        for (path, (stages, said)) in found.iter().take(MOST_TOLD) {
            let [base, current, proposed] = *stages;
            let mut escaped = Vec::new();
            let mut side = |stage: Option<(Mode, ObjectId)>| {
                stage.map(|stage| self.side(stage, &mut room)).transpose()
            };
            conflicts.push(Conflict {
                path: noted(path, "path", &mut escaped),
                kind: kind(*said, stages),
                base: side(base)?,
                current: side(current)?,
                proposed: side(proposed)?,
                escaped,
            });
        }
        Ok(Conflicts {
            head: self.ours.to_string(),
            conflicts,
            total: found.len(),
            paths: found.into_keys().collect(),
        })
    }

    /// The path without what git adds to a file that has to make way for a directory: `~` and the side it is of.
    fn bare(&self, path: &[u8]) -> Vec<u8> {
        for side in [self.ours, self.theirs] {
            let mark = format!("~{side}");
            if let Some(at) = path.find(mark.as_bytes()) {
                return path[..at].to_vec();
            }
        }
        path.to_vec()
    }

    fn side(&self, (mode, id): (Mode, ObjectId), room: &mut usize) -> Result<Side, GitError> {
        let mut bytes = Vec::new();
        if mode.is_submodule() {
            bytes = id.to_string().into_bytes();
        } else {
            self.objects.expect(&id, Kind::Blob, &mut bytes)?;
        }
        let shown = shown_part(&bytes, SIDE_SHOWN.min(*room));
        *room -= shown.len();
        let (encoding, content) = match std::str::from_utf8(shown) {
            Ok(text) => (Encoding::Utf8, text.to_owned()),
            Err(_) => (Encoding::Base64, BASE64_STANDARD.encode(shown)),
        };
        Ok(Side {
            mode: mode.to_string(),
            sha: id.to_string(),
            size: bytes.len(),
            encoding,
            content,
            truncated: shown.len() < bytes.len(),
        })
    }
}

/// At most `most` bytes of the beginning, cut between two characters where it is text.
fn shown_part(bytes: &[u8], most: usize) -> &[u8] {
    let cut = &bytes[..most.min(bytes.len())];
    match std::str::from_utf8(cut) {
        Err(error) if error.error_len().is_none() && cut.len() < bytes.len() => {
            &cut[..error.valid_up_to()]
        }
        _ => cut,
    }
}

type Stages = [Option<(Mode, ObjectId)>; 3];

/// What collides, in git's words without its brackets.
fn kind(said: Option<&[u8]>, stages: &Stages) -> String {
    let said = said.map_or("contents".into(), |kind| String::from_utf8_lossy(kind));
    let bare = said
        .strip_prefix("CONFLICT (")
        .and_then(|rest| rest.strip_suffix(')'));
    let bare = bare.unwrap_or(&said);
    match (bare, stages) {
        ("contents", [None, Some(_), Some(_)]) => "add/add".to_owned(),
        _ => bare.to_owned(),
    }
}

/// What `git merge-tree --write-tree -z --messages` printed.
struct Printed<'a> {
    tree: ObjectId,
    /// The base, our and their side of each conflicting path.
    stages: BTreeMap<&'a [u8], Stages>,
    /// What git says collides at a path.
    kinds: HashMap<&'a [u8], &'a [u8]>,
}

impl<'a> Printed<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = bytes.split(|&byte| byte == 0);
        let mut printed = Self {
            tree: ObjectId::from_hex(fields.next()?).ok()?,
            stages: BTreeMap::new(),
            kinds: HashMap::new(),
        };
        for field in fields.by_ref().take_while(|field| !field.is_empty()) {
            printed.stage(field)?;
        }
        while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
            let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
            let paths: Vec<&[u8]> = fields.by_ref().take(count).collect();
            let (kind, _message) = (fields.next()?, fields.next()?);
            if kind.starts_with(b"CONFLICT") {
                for path in paths {
                    printed.kinds.entry(path).or_insert(kind);
                }
            }
        }
        Some(printed)
    }

    /// Reads `<mode> <id> <stage>\t<path>`.
    fn stage(&mut self, field: &'a [u8]) -> Option<()> {
        let tab = field.iter().position(|&byte| byte == b'\t')?;
        let (about, path) = (std::str::from_utf8(&field[..tab]).ok()?, &field[tab + 1..]);
        let mut parts = about.split(' ');
        let mode = Mode::from_bits(u32::from_str_radix(parts.next()?, 8).ok()?);
        let id = ObjectId::from_hex(parts.next()?.as_bytes()).ok()?;
        let stage: usize = parts.next()?.parse().ok()?;
        let stages = self.stages.entry(path).or_default();
        *stages.get_mut(stage.checked_sub(1)?)? = Some((mode, id));
        Some(())
    }
}
