//! How far the default branch has moved away from what a summary was written at: whether what stands at its path is
//! another object now, and how many commits touched it since.
//!
//! Both are git's own answers: `git diff --quiet <anchor> <tip> -- <path>` and the number of commits in
//! `git log <anchor>..<tip> -- <path>`, default history simplification included. Git would walk the history once for each
//! path. Here it is walked once for all of them: a commit is compared with each parent for every path in question in one
//! descent of the two trees, which stops where both have the same object. What was found of a commit is kept, for it
//! never changes; what was counted is kept for the tip it was counted to, and counted on from there when the branch has
//! moved forward in a line.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use gix::ObjectId;

use crate::error::GitError;
use crate::object::{Entries, Mode};
use crate::path::RepoPath;
use crate::repository::{Reader, Repository};

/// How many uninteresting commits git looks at once only such are left, in case a clock was wrong.
const SLOP: usize = 5;
/// Paths and commits that are remembered of one repository; beyond it, all is forgotten and begun anew.
const KEPT: usize = 4_000_000;

/// What stands at a path: the mode and the id, as `<mode> <id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathObject {
    mode: Mode,
    id: ObjectId,
}

impl PathObject {
    /// Whether it is a directory.
    pub fn is_directory(self) -> bool {
        self.mode.is_tree()
    }
}

impl std::fmt::Display for PathObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.mode, self.id)
    }
}

/// What stands at a place of a tree, if anything.
type Stands = Option<(Mode, ObjectId)>;

/// Something that was looked at in a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchored<'a> {
    /// The path, empty for the root.
    pub path: &'a str,
    /// The commit's full id.
    pub commit: &'a str,
}

/// How far the branch is from an anchor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Whether something else stands at the path now, or nothing.
    pub stale: bool,
    /// Commits since that touched it.
    pub behind: usize,
}

/// What is remembered between calls.
#[derive(Debug, Default)]
pub(crate) struct Drifts {
    /// Every path that was asked about so far, and its number.
    paths: HashMap<Vec<u8>, u32>,
    nodes: HashMap<ObjectId, Arc<Node>>,
    counts: HashMap<(u32, ObjectId), Counted>,
}

/// What was counted of a path from an anchor.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// Up to this commit.
    to: ObjectId,
    count: usize,
    /// Whether that commit reaches the anchor: then nothing on top of it is reached by the anchor.
    goes_on: bool,
}

/// What the walk needs of a commit.
#[derive(Debug)]
struct Node {
    seconds: u64,
    parents: Vec<ObjectId>,
    /// For each parent, or for a root against nothing: the numbers of the paths that differ, in order.
    differing: Vec<Vec<u32>>,
}

impl Node {
    /// Whether the path differs from what the parent has.
    fn differs(&self, parent: usize, path: u32) -> bool {
        self.differing[parent].binary_search(&path).is_ok()
    }
}

/// The paths in question, as a tree of names.
#[derive(Default)]
struct Trie {
    /// The number of the path that ends here.
    path: Option<u32>,
    below: HashMap<Vec<u8>, Trie>,
}

impl Trie {
    fn of(paths: &HashMap<Vec<u8>, u32>) -> Self {
        let mut root = Self::default();
        for (path, number) in paths {
            let mut at = &mut root;
            if !path.is_empty() {
                for name in path.split(|&byte| byte == b'/') {
                    at = at.below.entry(name.to_vec()).or_default();
                }
            }
            at.path = Some(*number);
        }
        root
    }
}

impl Repository {
    /// What stands at each path in a commit, `None` where nothing does. The root stands at the empty path.
    ///
    /// # Errors
    /// [`GitError::BadRevision`] for a commit that is not there; [`GitError::BadPath`] for a path that is none.
    pub fn objects_at(
        &self,
        commit: &str,
        paths: &[&str],
    ) -> Result<Vec<Option<PathObject>>, GitError> {
        let paths = paths
            .iter()
            .map(|path| RepoPath::parse(path))
            .collect::<Result<Vec<_>, _>>()?;
        self.read(|reader| {
            let commit = reader.resolve(commit)?;
            let mut buffer = Vec::new();
            let tree = reader.tree_of(&commit, &mut buffer)?;
            let at = |path: &RepoPath, buffer: &mut Vec<u8>| {
                for reading in path.readings() {
                    if let Some((mode, id)) = reader.entry_at(tree, reading, buffer)? {
                        return Ok(Some(PathObject { mode, id }));
                    }
                }
                Ok(None)
            };
            paths.iter().map(|path| at(path, &mut buffer)).collect()
        })
    }

    /// How many lines the file at `path` has in `commit`; `None` where no file is.
    ///
    /// # Errors
    /// As [`Repository::objects_at`].
    pub fn lines_at(&self, commit: &str, path: &str) -> Result<Option<u64>, GitError> {
        /// No summary cites lines of a larger file.
        const LARGEST: u64 = 16 * 1024 * 1024;
        let path = RepoPath::parse(path)?;
        self.read(|reader| {
            let commit = reader.resolve(commit)?;
            let found = match reader.find_path(commit, &path, "file") {
                Ok(found) if found.mode.is_file() => found,
                Ok(_) | Err(GitError::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            let bytes = reader.content_of(&found, LARGEST)?;
            Ok(Some(crate::object::lines(&bytes).count() as u64))
        })
    }

    /// How far `tip` is from each anchor, in their order. A path is read as it stands, then unescaped, as everywhere. What
    /// was looked at in a commit that is gone is stale.
    ///
    /// # Errors
    /// [`GitError::BadRevision`] for a tip that is not there; [`GitError::BadPath`] for a path that is none.
    pub fn drift(&self, tip: &str, anchors: &[Anchored<'_>]) -> Result<Vec<Drift>, GitError> {
        self.read(|reader| {
            let tip = reader.resolve(tip)?;
            let mut kept = self.drifts.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.nodes.len() + kept.counts.len() > KEPT {
                *kept = Drifts::default();
            }
            let mut asked = Vec::with_capacity(anchors.len());
            let mut commits: HashMap<&str, Option<ObjectId>> = HashMap::new();
            let mut objects = Objects::new(reader);
            for anchor in anchors {
                let commit = match commits.get(anchor.commit) {
                    Some(commit) => *commit,
                    None => {
                        let commit = reader.if_there(anchor.commit)?;
                        commits.insert(anchor.commit, commit);
                        commit
                    }
                };
                let path = RepoPath::parse(anchor.path)?;
                let Some(commit) = commit else {
                    asked.push(None);
                    continue;
                };
                let mut path_there = path.readings()[0].clone();
                let mut there = None;
                for reading in path.readings() {
                    there = objects.at(commit, reading)?;
                    if there.is_some() {
                        path_there.clone_from(reading);
                        break;
                    }
                }
                let stale = objects.at(tip, &path_there)? != there;
                asked.push(Some((path_there, commit, stale)));
            }
            kept.watch(asked.iter().flatten().map(|(path, ..)| path));
            let mut walk = Walk::new(reader, &mut kept, tip);
            asked
                .into_iter()
                .map(|asked| {
                    let Some((path, commit, stale)) = asked else {
                        return Ok(Drift {
                            stale: true,
                            behind: 0,
                        });
                    };
                    let path = walk.kept.paths[&path];
                    let behind = walk.behind(path, commit, tip)?;
                    Ok(Drift { stale, behind })
                })
                .collect()
        })
    }
}

impl Reader {
    fn if_there(&self, commit: &str) -> Result<Option<ObjectId>, GitError> {
        match self.resolve(commit) {
            Ok(id) => Ok(Some(id)),
            Err(GitError::BadRevision { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What stands at paths of commits, each tree of which is read once.
struct Objects<'a> {
    reader: &'a Reader,
    roots: HashMap<ObjectId, ObjectId>,
    found: HashMap<(ObjectId, Vec<u8>), Stands>,
    buffer: Vec<u8>,
}

impl<'a> Objects<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            roots: HashMap::new(),
            found: HashMap::new(),
            buffer: Vec::new(),
        }
    }

    fn at(&mut self, commit: ObjectId, path: &[u8]) -> Result<Stands, GitError> {
        let root = match self.roots.get(&commit) {
            Some(root) => *root,
            None => {
                let root = self.reader.tree_of(&commit, &mut self.buffer)?;
                self.roots.insert(commit, root);
                root
            }
        };
        if path.is_empty() {
            return Ok(Some((Mode::TREE, root)));
        }
        // The directory first, with all that is in it: the next path is likely its neighbour.
        let (directory, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&[][..], path),
        };
        let Some((mode, tree)) = self.directory(root, directory)? else {
            return Ok(None);
        };
        if !mode.is_tree() {
            return Ok(None);
        }
        if let Some(found) = self.found.get(&(tree, name.to_vec())) {
            return Ok(*found);
        }
        if self.found.contains_key(&(tree, Vec::new())) {
            return Ok(None);
        }
        self.reader
            .expect(&tree, gix::objs::Kind::Tree, &mut self.buffer)?;
        for entry in Entries(&self.buffer) {
            let object = Some((entry.mode, entry.id));
            self.found.insert((tree, entry.name.to_vec()), object);
        }
        // An entry without a name says that the tree was read.
        self.found.insert((tree, Vec::new()), None);
        Ok(self.found.get(&(tree, name.to_vec())).copied().flatten())
    }

    fn directory(&mut self, root: ObjectId, path: &[u8]) -> Result<Stands, GitError> {
        self.reader.entry_at(root, path, &mut self.buffer)
    }
}

impl Drifts {
    /// Makes sure that each of `paths` has a number, and forgets what was found of commits where some were not looked for.
    fn watch<'p>(&mut self, paths: impl Iterator<Item = &'p Vec<u8>>) {
        let before = self.paths.len();
        for path in paths {
            let next = u32::try_from(self.paths.len()).unwrap_or(u32::MAX);
            if !self.paths.contains_key(path) {
                self.paths.insert(path.clone(), next);
            }
        }
        if self.paths.len() > before {
            self.nodes.clear();
        }
    }
}

/// A walk with what is remembered.
struct Walk<'a> {
    reader: &'a Reader,
    kept: &'a mut Drifts,
    trie: Trie,
    buffers: Vec<Vec<u8>>,
    line: Line,
    since: HashMap<ObjectId, Since>,
}

/// What happened since an anchor.
#[derive(Default)]
struct Since {
    /// Every path at which some commit has something else than one of its parents.
    touched: HashSet<u32>,
    /// Whether the tip reaches the anchor.
    reaches: bool,
}

/// The commits from the tip down for as long as each has one parent: there, what git shows is what touches the path.
#[derive(Default)]
struct Line {
    /// How many commits lie on top of each.
    depths: HashMap<ObjectId, usize>,
    /// For a path, the depths of the commits that touched it, in order.
    touches: HashMap<u32, Vec<usize>>,
    /// The commit that comes next; none at the end of the line.
    next: Option<ObjectId>,
}

impl<'a> Walk<'a> {
    fn new(reader: &'a Reader, kept: &'a mut Drifts, tip: ObjectId) -> Self {
        Self {
            reader,
            trie: Trie::of(&kept.paths),
            kept,
            buffers: Vec::new(),
            line: Line {
                next: Some(tip),
                ..Line::default()
            },
            since: HashMap::new(),
        }
    }

    /// How many commits of `anchor..tip` git's log shows for the path.
    fn behind(&mut self, path: u32, anchor: ObjectId, tip: ObjectId) -> Result<usize, GitError> {
        let known = self.kept.counts.get(&(path, anchor)).copied();
        if let Some(known) = known.filter(|known| known.to == tip) {
            return Ok(known.count);
        }
        let from_known = match known.filter(|known| known.goes_on) {
            Some(known) => self.on_top(known.to, path)?.map(|more| known.count + more),
            None => None,
        };
        let in_line = match from_known {
            Some(count) => Some(count),
            None => self.on_top(anchor, path)?,
        };
        let (count, goes_on) = match in_line {
            Some(count) => (count, true),
            None => self.counted(path, anchor, tip)?,
        };
        let counted = Counted {
            to: tip,
            count,
            goes_on,
        };
        self.kept.counts.insert((path, anchor), counted);
        Ok(count)
    }

    /// How many commits on top of `base` touch the path; `None` where they are not in a line with the tip.
    fn on_top(&mut self, base: ObjectId, path: u32) -> Result<Option<usize>, GitError> {
        while !self.line.depths.contains_key(&base) {
            let Some(id) = self.line.next else {
                return Ok(None);
            };
            let node = self.node(id)?;
            let depth = self.line.depths.len();
            self.line.depths.insert(id, depth);
            self.line.next = match node.parents[..] {
                [parent] => Some(parent),
                _ => None,
            };
            if self.line.next.is_some() {
                for path in &node.differing[0] {
                    self.line.touches.entry(*path).or_default().push(depth);
                }
            }
        }
        let depth = self.line.depths[&base];
        let touches = self.line.touches.get(&path);
        Ok(Some(touches.map_or(0, |touches| {
            touches.partition_point(|touch| *touch < depth)
        })))
    }

    /// The count, and whether the tip reaches the anchor. All of the history since the anchor is looked at once; only a
    /// path that some commit of it touched is then followed by itself.
    fn counted(
        &mut self,
        path: u32,
        anchor: ObjectId,
        tip: ObjectId,
    ) -> Result<(usize, bool), GitError> {
        if !self.since.contains_key(&anchor) {
            let mut since = Since::default();
            for id in self.listed(None, anchor, tip)? {
                let node = self.node(id)?;
                since.reaches |= node.parents.contains(&anchor);
                since.touched.extend(node.differing.iter().flatten());
            }
            self.since.insert(anchor, since);
        }
        let since = &self.since[&anchor];
        let reaches = since.reaches;
        if !since.touched.contains(&path) {
            return Ok((0, reaches));
        }
        Ok((self.listed(Some(path), anchor, tip)?.len(), reaches))
    }

    /// The commits of `anchor..tip` that git's log shows, all of them without a path.
    ///
    /// The steps are git's own (`limit_list`), for what is shown can depend on when a commit was found to be reached by the
    /// anchor: commits by their time from the newest, marks handed down as commits are read, and of a merge only the side
    /// that has the path as the merge has it.
    fn listed(
        &mut self,
        path: Option<u32>,
        anchor: ObjectId,
        tip: ObjectId,
    ) -> Result<Vec<ObjectId>, GitError> {
        if anchor == tip {
            return Ok(Vec::new());
        }
        let mut marks = Marks::default();
        let mut queue = Queue::default();
        for id in [anchor, tip] {
            marks.parents.insert(id, self.node(id)?.parents.clone());
            marks.seen.insert(id);
        }
        marks.uninteresting.insert(anchor);
        marks.hand_down(anchor);
        queue.push(self.node(anchor)?.seconds, anchor);
        queue.push(self.node(tip)?.seconds, tip);
        let mut listed = Vec::new();
        let (mut slop, mut date) = (SLOP, u64::MAX);
        let mut still_interesting = None;
        while let Some(id) = queue.pop() {
            let node = self.node(id)?;
            marks.walked.insert(id);
            if marks.uninteresting.contains(&id) {
                for parent in marks.parents[&id].clone() {
                    marks.uninteresting.insert(parent);
                    self.read_parents(&mut marks, parent)?;
                    marks.hand_down(parent);
                    self.add(&mut marks, &mut queue, parent)?;
                }
                let Some(newest) = queue.newest() else {
                    break;
                };
                let open =
                    |id: &ObjectId| !marks.walked.contains(id) && !marks.uninteresting.contains(id);
                if !still_interesting.as_ref().is_some_and(open) {
                    still_interesting = queue.find(open);
                }
                if date <= newest || still_interesting.is_some() {
                    slop = SLOP;
                } else {
                    slop -= 1;
                    if slop == 0 {
                        break;
                    }
                }
                continue;
            }
            let shown = match path {
                Some(path) => self.simplify(&mut marks, id, anchor, path, &node)?,
                None => true,
            };
            for parent in marks.parents[&id].clone() {
                self.read_parents(&mut marks, parent)?;
                self.add(&mut marks, &mut queue, parent)?;
            }
            date = node.seconds;
            if shown {
                listed.push(id);
            }
        }
        listed.retain(|id| !marks.uninteresting.contains(id));
        Ok(listed)
    }

    fn add(&mut self, marks: &mut Marks, queue: &mut Queue, id: ObjectId) -> Result<(), GitError> {
        if marks.seen.insert(id) {
            queue.push(self.node(id)?.seconds, id);
        }
        Ok(())
    }

    /// From here on the walk knows the parents of `id`.
    fn read_parents(&mut self, marks: &mut Marks, id: ObjectId) -> Result<(), GitError> {
        if let Entry::Vacant(unread) = marks.parents.entry(id) {
            unread.insert(self.node(id)?.parents.clone());
        }
        Ok(())
    }

    /// Whether the commit is shown for the path. Where a parent has the same there, that one alone is followed.
    fn simplify(
        &mut self,
        marks: &mut Marks,
        id: ObjectId,
        anchor: ObjectId,
        path: u32,
        node: &Node,
    ) -> Result<bool, GitError> {
        if node.parents.is_empty() {
            return Ok(node.differs(0, path));
        }
        let (mut any_relevant, mut relevant_change, mut other_change) = (false, false, false);
        for (n, parent) in node.parents.iter().enumerate() {
            let relevant = *parent == anchor || !marks.uninteresting.contains(parent);
            any_relevant |= relevant;
            self.read_parents(marks, *parent)?;
            match (node.differs(n, path), relevant) {
                (false, true) => {
                    marks.parents.insert(id, vec![*parent]);
                    return Ok(false);
                }
                (false, false) => {}
                (true, true) => relevant_change = true,
                (true, false) => other_change = true,
            }
        }
        Ok(if any_relevant {
            relevant_change
        } else {
            other_change
        })
    }

    fn node(&mut self, id: ObjectId) -> Result<Arc<Node>, GitError> {
        if let Some(known) = self.kept.nodes.get(&id) {
            return Ok(known.clone());
        }
        let mut buffer = self.buffers.pop().unwrap_or_default();
        let commit = self.reader.commit(&id, &mut buffer)?;
        let (seconds, tree) = (commit.committer.seconds(), commit.tree);
        let parents = self.reader.parents_of(&id, commit.parents);
        let mut differing = Vec::with_capacity(parents.len().max(1));
        for parent in &parents {
            let parent = self.reader.tree_of(parent, &mut buffer)?;
            differing.push(self.differing(Some(parent), tree)?);
        }
        if parents.is_empty() {
            differing.push(self.differing(None, tree)?);
        }
        self.buffers.push(buffer);
        let node = Arc::new(Node {
            seconds,
            parents,
            differing,
        });
        self.kept.nodes.insert(id, node.clone());
        Ok(node)
    }

    /// The numbers of the paths that differ between two trees, in order.
    fn differing(&mut self, old: Option<ObjectId>, new: ObjectId) -> Result<Vec<u32>, GitError> {
        let mut found = Vec::new();
        let Self {
            reader,
            trie,
            buffers,
            ..
        } = self;
        let tree = |id| (Mode::TREE, id);
        descend(
            reader,
            trie,
            old.map(tree),
            Some(tree(new)),
            buffers,
            &mut found,
        )?;
        found.sort_unstable();
        Ok(found)
    }
}

/// Adds to `found` what differs between `old` and `new` at and below the place in the tree that `trie` is for.
fn descend(
    reader: &Reader,
    trie: &Trie,
    old: Stands,
    new: Stands,
    buffers: &mut Vec<Vec<u8>>,
    found: &mut Vec<u32>,
) -> Result<(), GitError> {
    if old == new {
        return Ok(());
    }
    found.extend(trie.path);
    if trie.below.is_empty() {
        return Ok(());
    }
    let directory = |side: Stands| side.filter(|(mode, _)| mode.is_tree());
    let (old, new) = (directory(old), directory(new));
    let (mut old_bytes, mut new_bytes) = (
        buffers.pop().unwrap_or_default(),
        buffers.pop().unwrap_or_default(),
    );
    let entries = |side: Stands, bytes: &mut Vec<u8>| match side {
        Some((_, id)) => reader.expect(&id, gix::objs::Kind::Tree, bytes),
        None => {
            bytes.clear();
            Ok(())
        }
    };
    entries(old, &mut old_bytes)?;
    entries(new, &mut new_bytes)?;
    // What both have in the same form is of no interest; mostly that is all but one or two entries.
    let mut sides: HashMap<&[u8], [Stands; 2]> = HashMap::new();
    let (mut left, mut right) = (
        Entries(&old_bytes).peekable(),
        Entries(&new_bytes).peekable(),
    );
    while left.peek().is_some() || right.peek().is_some() {
        match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a.name == b.name => {
                if (a.mode, a.id) != (b.mode, b.id) {
                    sides.insert(a.name, [Some((a.mode, a.id)), Some((b.mode, b.id))]);
                }
                left.next();
                right.next();
            }
            // One has a name that the other lacks here; a file and a directory of one name stand apart, so it may still
            // come.
            (Some(a), Some(b)) if order(a.name, a.mode) < order(b.name, b.mode) => {
                sides.entry(a.name).or_default()[0] = Some((a.mode, a.id));
                left.next();
            }
            (Some(a), None) => {
                sides.entry(a.name).or_default()[0] = Some((a.mode, a.id));
                left.next();
            }
            (_, Some(b)) => {
                sides.entry(b.name).or_default()[1] = Some((b.mode, b.id));
                right.next();
            }
            (None, None) => {}
        }
    }
    for (name, [old, new]) in sides {
        if let Some(below) = trie.below.get(name) {
            if old.is_none() || new.is_none() {
                // All that was there is gone, or all is new.
                let side = old.or(new);
                descend(reader, below, None, side, buffers, found)?;
            } else {
                descend(reader, below, old, new, buffers, found)?;
            }
        }
    }
    buffers.push(old_bytes);
    buffers.push(new_bytes);
    Ok(())
}

/// The order of a tree's entries: a directory as if its name ended in a slash.
fn order(name: &[u8], mode: Mode) -> (Vec<u8>, bool) {
    let mut key = name.to_vec();
    if mode.is_tree() {
        key.push(b'/');
    }
    (key, mode.is_tree())
}

/// What a walk knows of the commits it met.
#[derive(Default)]
struct Marks {
    seen: HashSet<ObjectId>,
    /// What the anchor reaches, as far as it is known.
    uninteresting: HashSet<ObjectId>,
    /// Those that were looked at.
    walked: HashSet<ObjectId>,
    /// The parents of those that were read; of one that was simplified, the one that is followed.
    parents: HashMap<ObjectId, Vec<ObjectId>>,
}

impl Marks {
    /// Marks what `id` reaches, as far as it was read.
    fn hand_down(&mut self, id: ObjectId) {
        let mut open = self.parents.get(&id).cloned().unwrap_or_default();
        while let Some(id) = open.pop() {
            if self.uninteresting.insert(id)
                && let Some(parents) = self.parents.get(&id)
            {
                open.extend(parents);
            }
        }
    }
}

/// Commits by their time, the newest first; of those of one second the first that came.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<(u64, Reverse<u64>, ObjectId)>,
    pushed: u64,
}

impl Queue {
    fn push(&mut self, seconds: u64, id: ObjectId) {
        self.pushed += 1;
        self.heap.push((seconds, Reverse(self.pushed), id));
    }

    fn pop(&mut self) -> Option<ObjectId> {
        self.heap.pop().map(|(_, _, id)| id)
    }

    /// The time of the commit that comes next.
    fn newest(&self) -> Option<u64> {
        self.heap.peek().map(|(seconds, _, _)| *seconds)
    }

    fn find(&self, fits: impl Fn(&ObjectId) -> bool) -> Option<ObjectId> {
        self.heap.iter().map(|(_, _, id)| *id).find(fits)
    }
}
