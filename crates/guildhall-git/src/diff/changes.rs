//! Which paths two trees do not have in common.

use std::cmp::Ordering;

use gix::ObjectId;
use gix::objs::Kind;

use crate::error::GitError;
use crate::object::{Entries, Entry, Mode};
use crate::repository::Reader;

/// The most changed files that are listed.
const MOST_FILES: usize = 250_000;
/// How deep directories are followed; deeper ones were made to exhaust a stack.
const DEEPEST: usize = 1024;

/// What a path is in one of the trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) mode: Mode,
    pub(crate) id: ObjectId,
}

/// A path that differs.
#[derive(Clone, Debug)]
pub(crate) struct PathChange {
    pub(crate) path: Vec<u8>,
    pub(crate) old: Option<Side>,
    pub(crate) new: Option<Side>,
}

/// The differing paths of two trees, in git's order.
#[derive(Debug, Default)]
pub(crate) struct TreeDiff {
    pub(crate) changes: Vec<PathChange>,
    /// Whether there were more than are listed.
    pub(crate) cut: bool,
}

impl TreeDiff {
    /// Compares two trees and everything below them; equal subtrees are never opened.
    pub(crate) fn between(reader: &Reader, old: ObjectId, new: ObjectId) -> Result<Self, GitError> {
        let mut diff = Self::default();
        diff.directory(reader, Some(old), Some(new), &mut Vec::new(), 0)?;
        Ok(diff)
    }

    fn directory(
        &mut self,
        reader: &Reader,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), GitError> {
        if old == new {
            return Ok(());
        }
        if depth > DEEPEST {
            self.cut = true;
            return Ok(());
        }
        let (mut old_bytes, mut new_bytes) = (Vec::new(), Vec::new());
        if let Some(id) = old {
            reader.expect(&id, Kind::Tree, &mut old_bytes)?;
        }
        if let Some(id) = new {
            reader.expect(&id, Kind::Tree, &mut new_bytes)?;
        }
        let mut olds = Entries(&old_bytes).peekable();
        let mut news = Entries(&new_bytes).peekable();
        while !self.cut {
            let order = match (olds.peek(), news.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => tree_order(old, new),
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            self.entry(reader, old, new, path, depth)?;
        }
        Ok(())
    }

    /// Compares what has one name in both trees, or the one that has no partner.
    fn entry(
        &mut self,
        reader: &Reader,
        old: Option<Entry<'_>>,
        new: Option<Entry<'_>>,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), GitError> {
        let (Some(either), length) = (old.or(new), path.len()) else {
            return Ok(());
        };
        let side = |entry: Entry<'_>| Side {
            mode: entry.mode,
            id: entry.id,
        };
        let (old, new) = (old.map(side), new.map(side));
        if old == new {
            return Ok(());
        }
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(either.name);
        if either.mode.is_tree() {
            let id = |side: Option<Side>| side.map(|side| side.id);
            self.directory(reader, id(old), id(new), path, depth + 1)?;
        } else if self.changes.len() == MOST_FILES {
            self.cut = true;
        } else {
            self.changes.push(PathChange {
                path: path.clone(),
                old,
                new,
            });
        }
        path.truncate(length);
        Ok(())
    }
}

/// The order of a tree's entries: by name, where a directory's name ends with a slash.
fn tree_order(a: &Entry<'_>, b: &Entry<'_>) -> Ordering {
    fn bytes<'a>(entry: &Entry<'a>) -> impl Iterator<Item = u8> + use<'a> {
        let slash = entry.mode.is_tree().then_some(b'/');
        entry.name.iter().copied().chain(slash)
    }
    bytes(a).cmp(bytes(b))
}
