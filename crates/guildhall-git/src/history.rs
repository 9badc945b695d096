//! The order of a branch's commits, walked once and kept for as long as the tip stays.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use gix::ObjectId;

use crate::error::GitError;
use crate::object::{Ident, Mode};
use crate::repository::{Reader, Repository};

/// What the kept orders of one repository may take, in bytes: about a million commits.
const KEPT: usize = 32 * 1024 * 1024;
/// How many commits on top of a kept tip are looked at before a walk from the start is begun.
const ON_TOP: usize = 4096;

/// Which commits of a branch are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Only commits that changed this file or something below this directory, with git's history simplification.
    pub(crate) path: Option<Vec<u8>>,
    /// Only commits whose author (`Name <email>`) contains this, without regard to the case of ASCII letters.
    pub(crate) author: Option<String>,
}

/// Commits in the order of `git log`, newest first: 28 bytes each.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) ids: Vec<ObjectId>,
    /// The committer's time of each, in seconds.
    pub(crate) seconds: Vec<u64>,
}

impl History {
    fn push(&mut self, id: ObjectId, seconds: u64) {
        self.ids.push(id);
        self.seconds.push(seconds);
    }

    fn bytes(&self) -> usize {
        self.ids.len() * (size_of::<ObjectId>() + size_of::<u64>())
    }
}

/// The orders kept for one repository, the one used last at the end.
#[derive(Debug, Default)]
pub(crate) struct Histories(Vec<(ObjectId, Selection, Arc<History>)>);

impl Histories {
    fn get(&mut self, tip: &ObjectId, selection: &Selection) -> Option<Arc<History>> {
        let at = self
            .0
            .iter()
            .position(|(kept, what, _)| kept == tip && what == selection)?;
        let used = self.0.remove(at);
        let history = used.2.clone();
        self.0.push(used);
        Some(history)
    }

    fn tips_of(&self, selection: &Selection) -> HashSet<ObjectId> {
        let fitting = self.0.iter().filter(|(_, what, _)| what == selection);
        fitting.map(|(tip, _, _)| *tip).collect()
    }

    fn keep(&mut self, tip: ObjectId, selection: Selection, history: Arc<History>) {
        self.0
            .retain(|(kept, what, _)| *kept != tip || *what != selection);
        self.0.push((tip, selection, history));
        let mut bytes: usize = self.0.iter().map(|(_, _, history)| history.bytes()).sum();
        while bytes > KEPT && self.0.len() > 1 {
            bytes -= self.0.remove(0).2.bytes();
        }
    }
}

impl Repository {
    /// The commits of `selection` that `tip` reaches, from the cache where they are known.
    pub(crate) fn history(
        &self,
        reader: &Reader,
        tip: ObjectId,
        selection: &Selection,
    ) -> Result<Arc<History>, GitError> {
        let lock = || {
            self.histories
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = lock().get(&tip, selection) {
            return Ok(known);
        }
        let tips = lock().tips_of(selection);
        let mut walk = Walk::new(reader, selection);
        let mut history = History::default();
        let base = walk.down_to_a_known_tip(tip, &tips, &mut history)?;
        match base.and_then(|base| lock().get(&base, selection)) {
            Some(known) => {
                history.ids.extend_from_slice(&known.ids);
                history.seconds.extend_from_slice(&known.seconds);
            }
            None => history = walk.whole(tip)?,
        }
        let history = Arc::new(history);
        lock().keep(tip, selection.clone(), history.clone());
        Ok(history)
    }
}

/// What the walk knows of a commit.
#[derive(Clone)]
struct Node {
    seconds: u64,
    parents: Vec<ObjectId>,
    /// What the commit has at the selected path.
    at_path: Option<(Mode, ObjectId)>,
    selected_author: bool,
}

struct Walk<'a> {
    reader: &'a Reader,
    selection: &'a Selection,
    nodes: HashMap<ObjectId, Node>,
    buffer: Vec<u8>,
    tree_buffer: Vec<u8>,
}

impl<'a> Walk<'a> {
    fn new(reader: &'a Reader, selection: &'a Selection) -> Self {
        Self {
            reader,
            selection,
            nodes: HashMap::new(),
            buffer: Vec::new(),
            tree_buffer: Vec::new(),
        }
    }

    /// Follows single parents from `tip` until one of `tips`, and notes the selected commits on the way. Only then is
    /// the order of what lies below the same as the order known from there.
    fn down_to_a_known_tip(
        &mut self,
        tip: ObjectId,
        tips: &HashSet<ObjectId>,
        history: &mut History,
    ) -> Result<Option<ObjectId>, GitError> {
        let mut id = tip;
        if tips.is_empty() {
            return Ok(None);
        }
        for _ in 0..ON_TOP {
            if tips.contains(&id) {
                return Ok(Some(id));
            }
            let node = self.node(id)?;
            let [parent] = node.parents[..] else {
                return Ok(None);
            };
            let (shown, _) = self.simplify(&node)?;
            if shown {
                history.push(id, node.seconds);
            }
            id = parent;
        }
        Ok(None)
    }

    /// Everything `tip` reaches, by the time of commit, newest first; of those of one second the first found comes first.
    fn whole(&mut self, tip: ObjectId) -> Result<History, GitError> {
        let mut history = History::default();
        let mut seen = HashSet::from([tip]);
        let mut found = 0u64;
        let mut queue = BinaryHeap::from([(self.node(tip)?.seconds, Reverse(found), tip)]);
        while let Some((seconds, _, id)) = queue.pop() {
            let node = self.node(id)?;
            let (shown, parents) = self.simplify(&node)?;
            if self.selection.path.is_none() {
                // Without a path no commit is looked at again.
                self.nodes.remove(&id);
            }
            if shown {
                history.push(id, seconds);
            }
            for parent in parents {
                if seen.insert(parent) {
                    found += 1;
                    queue.push((self.node(parent)?.seconds, Reverse(found), parent));
                }
            }
        }
        Ok(history)
    }

    /// Whether the commit is shown, and which parents are followed.
    ///
    /// With a path this is git's default simplification: a parent that has the same there stands for all others, and a
    /// commit that has what such a parent has (or, as a root, has nothing) is not shown.
    fn simplify(&mut self, node: &Node) -> Result<(bool, Vec<ObjectId>), GitError> {
        if self.selection.path.is_none() {
            return Ok((node.selected_author, node.parents.clone()));
        }
        for parent in &node.parents {
            if self.node(*parent)?.at_path == node.at_path {
                return Ok((false, vec![*parent]));
            }
        }
        let changed = !node.parents.is_empty() || node.at_path.is_some();
        Ok((changed && node.selected_author, node.parents.clone()))
    }

    fn node(&mut self, id: ObjectId) -> Result<Node, GitError> {
        if let Some(known) = self.nodes.get(&id) {
            return Ok(known.clone());
        }
        let commit = self.reader.commit(&id, &mut self.buffer)?;
        let at_path = match &self.selection.path {
            Some(path) => self
                .reader
                .entry_at(commit.tree, path, &mut self.tree_buffer)?,
            None => None,
        };
        let author = self.selection.author.as_deref();
        let node = Node {
            seconds: commit.committer.seconds(),
            selected_author: author.is_none_or(|author| is_by(&commit.author, author)),
            parents: self.reader.parents_of(&id, commit.parents),
            at_path,
        };
        self.nodes.insert(id, node.clone());
        Ok(node)
    }
}

/// Whether `Name <email>` contains `wanted`.
fn is_by(author: &Ident<'_>, wanted: &str) -> bool {
    let full = [author.name, b" <", author.email, b">"].concat();
    full.windows(wanted.len())
        .any(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
}
