//! From changes of files to a tree.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use super::objects::{Objects, Walk};
use super::path::{never, not_new};
use super::{Change, FileChange, FileMode};
use crate::diff::TreeDiff;
use crate::error::GitError;
use crate::object::Mode;
use crate::path::RepoPath;

/// What is done at each path, in the order of the paths.
pub(super) type Edits = BTreeMap<Vec<u8>, Edit>;

#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    Write(EntryKind, ObjectId),
    Remove,
}

/// What deleting a file means that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    Refused,
    Ignored,
}

/// The bytes of a path, and what is there.
type Place = (Vec<u8>, Option<(Mode, ObjectId)>);

/// The tree that files were changed from.
pub(super) struct Base<'a, 'r> {
    pub(super) objects: &'a Objects<'r>,
    pub(super) tree: ObjectId,
    pub(super) absent: Absent,
}

impl Base<'_, '_> {
    /// Checks every path and takes in every content.
    pub(super) fn edits(&self, files: &[FileChange]) -> Result<Edits, GitError> {
        let mut edits = Edits::new();
        for file in files {
            let (path, there) = self.place(&file.path)?;
            let mode = there.map(|(mode, _)| mode);
            let edit = match (&file.change, there) {
                (Change::Delete, None) if self.absent == Absent::Ignored => continue,
                (Change::Delete | Change::Mode(_), None) => {
                    return Err(refused(file, "there is no such file in `base_commit`"));
                }
                (Change::Delete, Some((mode, _))) if mode.is_tree() => {
                    return Err(refused(file, "it is a directory; name the files in it"));
                }
                (Change::Delete, Some(_)) => Edit::Remove,
                (Change::Mode(given), Some((mode, id))) if mode.is_file() => {
                    Edit::Write(kind(Some(*given), None), id)
                }
                (Change::Mode(_), Some(_)) => {
                    return Err(refused(file, "only a file has a `mode` to change"));
                }
                (Change::Write { .. }, Some((mode, _))) if mode.is_submodule() => {
                    return Err(refused(file, "a submodule is there"));
                }
                (Change::Write { mode: None, .. }, Some((mode, _))) if mode.is_symlink() => {
                    return Err(refused(
                        file,
                        "a symbolic link is there; give a `mode` to put a file in its place",
                    ));
                }
                (
                    Change::Write {
                        content,
                        mode: given,
                    },
                    _,
                ) => {
                    let id = self.objects.add(Kind::Blob, content.clone())?;
                    Edit::Write(kind(*given, mode), id)
                }
            };
            if edits.insert(path, edit).is_some() {
                return Err(refused(file, "the changeset names it twice"));
            }
        }
        Ok(edits)
    }

    /// The bytes that a path stands for, and what is there.
    fn place(&self, given: &str) -> Result<Place, GitError> {
        let parsed = RepoPath::parse(given)?;
        let refuse = |reason: String| GitError::RefusedPath {
            given: given.chars().take(80).collect(),
            reason,
        };
        if given.is_empty() || given.ends_with('/') {
            return Err(refuse("it names a directory, not a file".to_owned()));
        }
        let mut place = (parsed.readings()[0].clone(), None);
        for reading in parsed.readings() {
            if let Walk::Found(mode, id) = self.objects.walk(self.tree, reading)? {
                place = (reading.clone(), Some((mode, id)));
                break;
            }
        }
        let fault = never(&place.0).or_else(|| match place.1 {
            Some(_) => None,
            None => not_new(&place.0),
        });
        fault.map_or(Ok(place), |reason| Err(refuse(reason)))
    }
}

fn refused(file: &FileChange, reason: &str) -> GitError {
    GitError::RefusedPath {
        given: file.path.chars().take(80).collect(),
        reason: reason.to_owned(),
    }
}

/// The mode a file gets: the one given, else the one it has.
fn kind(given: Option<FileMode>, there: Option<Mode>) -> EntryKind {
    match (given, there) {
        (Some(FileMode::Executable), _) => EntryKind::BlobExecutable,
        (None, Some(mode)) if mode.is_executable() => EntryKind::BlobExecutable,
        (Some(FileMode::Regular) | None, _) => EntryKind::Blob,
    }
}

/// `tree` with `edits` made: first everything that goes, then everything that comes.
pub(super) fn apply(
    objects: &Objects<'_>,
    tree: ObjectId,
    edits: &Edits,
) -> Result<ObjectId, GitError> {
    let removed: Vec<_> = edits
        .iter()
        .filter(|(_, edit)| matches!(edit, Edit::Remove))
        .collect();
    let cleared = edited(objects, tree, &removed)?;
    let written: Vec<_> = edits
        .iter()
        .filter(|(_, edit)| matches!(edit, Edit::Write(..)))
        .collect();
    for (path, _) in &written {
        let blocked = below_a_written_file(path, edits).or(match objects.walk(cleared, path)? {
            Walk::Blocked { at, mode } => Some((at, there(mode))),
            Walk::Found(mode, _) if mode.is_tree() => Some(((*path).clone(), there(mode))),
            _ => None,
        });
        if let Some((at, what)) = blocked {
            let at = at.to_str_lossy();
            return Err(GitError::RefusedPath {
                given: path.to_str_lossy().chars().take(80).collect(),
                reason: format!("`{at}` is {what}"),
            });
        }
    }
    edited(objects, cleared, &written)
}

/// The part of `path` that the same changeset writes as a file.
fn below_a_written_file(path: &[u8], edits: &Edits) -> Option<(Vec<u8>, &'static str)> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes
        .map(|(at, _)| &path[..at])
        .find(|above| matches!(edits.get(*above), Some(Edit::Write(..))))
        .map(|above| (above.to_vec(), "written as a file too"))
}

fn there(mode: Mode) -> &'static str {
    if mode.is_symlink() {
        "a symbolic link, and nothing is written through one"
    } else if mode.is_submodule() {
        "a submodule"
    } else if mode.is_tree() {
        "a directory with files that stay"
    } else {
        "a file that stays"
    }
}

fn edited(
    objects: &Objects<'_>,
    tree: ObjectId,
    edits: &[(&Vec<u8>, &Edit)],
) -> Result<ObjectId, GitError> {
    if edits.is_empty() {
        return Ok(tree);
    }
    let fault = |error: gix::Error| GitError::Damaged {
        what: format!("Tree {tree}"),
        reason: error.to_string(),
    };
    let root = objects.tree(tree)?;
    let mut editor = gix::objs::tree::Editor::new(root, objects, gix::hash::Kind::Sha1);
    for (path, edit) in edits {
        let names = path.split(|&byte| byte == b'/').map(ByteSlice::as_bstr);
        match edit {
            Edit::Write(kind, id) => editor.upsert(names, *kind, *id).map_err(fault)?,
            Edit::Remove => editor.remove_if_leaf(names).map_err(fault)?,
        };
    }
    editor.write(|tree| {
        let mut bytes = Vec::new();
        gix::objs::WriteTo::write_to(tree, &mut bytes).map_err(|error| GitError::Damaged {
            what: "A tree".to_owned(),
            reason: error.to_string(),
        })?;
        objects.add(Kind::Tree, bytes)
    })
}

/// The tree of the tip with `edits` made, where that is certainly what a merge comes to: both sides only wrote files, and
/// none that the other wrote. (Where something was deleted, git looks for renames, and only git knows what it finds.)
pub(super) fn disjoint(
    objects: &Objects<'_>,
    base: ObjectId,
    tip: ObjectId,
    edits: &Edits,
) -> Result<Option<ObjectId>, GitError> {
    if edits.values().any(|edit| matches!(edit, Edit::Remove)) {
        return Ok(None);
    }
    let moved = TreeDiff::between(objects.reader(), base, tip)?;
    let apart = |change: &crate::diff::PathChange| {
        change.new.is_some() && !edits.contains_key(&change.path)
    };
    if moved.cut || !moved.changes.iter().all(apart) {
        return Ok(None);
    }
    match apply(objects, tip, edits) {
        Ok(tree) => Ok(Some(tree)),
        // A file of one side is a directory of the other.
        Err(GitError::RefusedPath { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
