//! Which deleted file an added one is, decided step for step as git decides it.
//!
//! First equal contents are paired, then files whose name (without directories) is unique on both sides and whose
//! contents are alike by three quarters, then what is left by likeness, the best pairs first.

use std::collections::HashMap;

use gix::ObjectId;
use gix::objs::Kind;

use super::changes::{PathChange, Side, TreeDiff};
use super::similarity::{ENOUGH, MOST, Pieces, score, sizes_fit};
use super::{LARGEST_FILE, Status};
use crate::error::GitError;
use crate::repository::Reader;

/// The score from which two files with one unique name are taken for a rename at once.
const ENOUGH_WITH_NAME: u64 = ENOUGH + (MOST - ENOUGH) / 2;
/// How many sources are remembered for each destination.
const CANDIDATES: usize = 4;
/// Of equal contents, how many are looked at for one with the same name.
const EQUAL_LOOKED_AT: usize = 100;
/// Git's limit: no search by likeness when there are more pairs than this squared.
const SIDE_LIMIT: usize = 1000;
/// What a search may read and compare, in bytes and pieces; far above what git's own limit leaves in practice.
const WORK: u64 = 2 * 1024 * 1024 * 1024;

/// A changed file after renames are found.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) status: Status,
    pub(super) path: Vec<u8>,
    pub(super) old_path: Option<Vec<u8>>,
    pub(super) old: Option<Side>,
    pub(super) new: Option<Side>,
    pub(super) similarity: Option<u8>,
}

impl Change {
    fn of(change: PathChange) -> Self {
        let status = match (&change.old, &change.new) {
            (None, _) => Status::Added,
            (_, None) => Status::Deleted,
            (Some(old), Some(new)) if old.mode.same_type(new.mode) => Status::Modified,
            _ => Status::TypeChanged,
        };
        Self {
            status,
            path: change.path,
            old_path: None,
            old: change.old,
            new: change.new,
            similarity: None,
        }
    }

    /// Whether the file is or was `path`, or lies or lay below it.
    pub(super) fn is_below(&self, path: &[u8]) -> bool {
        let below = |file: &Vec<u8>| match file.strip_prefix(path) {
            Some(rest) => path.is_empty() || rest.is_empty() || rest[0] == b'/',
            None => false,
        };
        below(&self.path) || self.old_path.as_ref().is_some_and(below)
    }
}

/// Pairs deleted with added files. The second value says whether the search by likeness was cut short.
pub(super) fn find(
    reader: &Reader,
    changes: Vec<PathChange>,
) -> Result<(Vec<Change>, bool), GitError> {
    let mut search = Search::new(reader, &changes);
    if !search.sources.is_empty() && !search.destinations.is_empty() {
        search.by_content();
        search.by_unique_name()?;
        search.by_likeness()?;
    }
    let (pairs, cut) = (search.pairs, search.cut);
    Ok((paired(changes, &pairs), cut))
}

/// The file that the new file at `path` was renamed from, when no other new file is considered.
pub(crate) fn renamed_from(
    reader: &Reader,
    listed: TreeDiff,
    path: &[u8],
) -> Result<Option<(Vec<u8>, ObjectId)>, GitError> {
    let mut changes = listed.changes;
    changes.retain(|change| change.new.is_none() || (change.old.is_none() && change.path == path));
    let (files, _) = find(reader, changes)?;
    let renamed = files.into_iter().find(|file| file.path == path);
    Ok(renamed.and_then(|file| Some((file.old_path?, file.old?.id))))
}

/// The changes with each pair standing as one rename in the place of its new file.
fn paired(changes: Vec<PathChange>, pairs: &HashMap<usize, (usize, u64)>) -> Vec<Change> {
    let sources: HashMap<usize, (Vec<u8>, Option<Side>)> = pairs
        .values()
        .map(|&(source, _)| {
            let change = &changes[source];
            (source, (change.path.clone(), change.old.clone()))
        })
        .collect();
    let mut files = Vec::with_capacity(changes.len() - pairs.len());
    for (at, change) in changes.into_iter().enumerate() {
        if sources.contains_key(&at) {
            continue;
        }
        let mut file = Change::of(change);
        if let Some((source, score)) = pairs.get(&at) {
            let (path, side) = sources[source].clone();
            file.status = Status::Renamed;
            file.old_path = Some(path);
            file.old = side;
            file.similarity = u8::try_from(score * 100 / MOST).ok();
        }
        files.push(file);
    }
    files
}

/// A deleted or an added file.
struct Candidate<'a> {
    /// Its place among all changes.
    at: usize,
    path: &'a [u8],
    side: &'a Side,
    taken: bool,
}

impl Candidate<'_> {
    fn name(&self) -> &[u8] {
        let start = self.path.iter().rposition(|&byte| byte == b'/');
        &self.path[start.map_or(0, |slash| slash + 1)..]
    }
}

/// A pair that may be a rename.
#[derive(Clone, Copy)]
struct Pair {
    source: usize,
    destination: usize,
    score: u64,
    same_name: bool,
}

impl Pair {
    /// The better pair has the larger key.
    fn rank(&self) -> (u64, bool) {
        (self.score, self.same_name)
    }
}

struct Search<'a> {
    reader: &'a Reader,
    sources: Vec<Candidate<'a>>,
    destinations: Vec<Candidate<'a>>,
    /// Destination to source and score, by their places among all changes.
    pairs: HashMap<usize, (usize, u64)>,
    contents: HashMap<ObjectId, Content>,
    work: u64,
    cut: bool,
}

/// What is known of a file's content.
struct Content {
    size: u64,
    /// Read when a pair of fitting sizes comes up.
    pieces: Option<Pieces>,
}

impl<'a> Search<'a> {
    fn new(reader: &'a Reader, changes: &'a [PathChange]) -> Self {
        let candidates = |wanted: fn(&PathChange) -> Option<&Side>| {
            let wanted = changes.iter().enumerate().filter_map(move |(at, change)| {
                wanted(change).map(|side| Candidate {
                    at,
                    path: &change.path,
                    side,
                    taken: false,
                })
            });
            wanted.collect::<Vec<_>>()
        };
        Self {
            reader,
            sources: candidates(|change| change.old.as_ref().filter(|_| change.new.is_none())),
            destinations: candidates(|change| change.new.as_ref().filter(|_| change.old.is_none())),
            pairs: HashMap::new(),
            contents: HashMap::new(),
            work: WORK,
            cut: false,
        }
    }

    fn pair(&mut self, source: usize, destination: usize, score: u64) {
        self.sources[source].taken = true;
        self.destinations[destination].taken = true;
        let at = self.destinations[destination].at;
        self.pairs.insert(at, (self.sources[source].at, score));
    }

    /// Pairs equal contents; of several, one with the same name is preferred.
    fn by_content(&mut self) {
        let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for (at, source) in self.sources.iter().enumerate() {
            by_id.entry(source.side.id).or_default().push(at);
        }
        for destination in 0..self.destinations.len() {
            let new = &self.destinations[destination];
            let Some(equal) = by_id.get(&new.side.id) else {
                continue;
            };
            let fits = |source: &&usize| {
                let old = &self.sources[**source];
                let both_files = old.side.mode.is_file() && new.side.mode.is_file();
                !old.taken && (both_files || old.side.mode == new.side.mode)
            };
            let fitting = || equal.iter().filter(fits).take(EQUAL_LOOKED_AT);
            let named = fitting().find(|source| self.sources[**source].name() == new.name());
            if let Some(source) = named.or_else(|| fitting().next()).copied() {
                self.pair(source, destination, MOST);
            }
        }
    }

    /// Pairs files whose name is the only one of its kind among what is left on either side.
    fn by_unique_name(&mut self) -> Result<(), GitError> {
        let olds = unique_names(&self.sources);
        let news = unique_names(&self.destinations);
        let mut found: Vec<(usize, usize)> = olds
            .iter()
            .filter_map(|(name, old)| Some(((*old)?, (*news.get(name)?)?)))
            .collect();
        found.sort_unstable();
        for (source, destination) in found {
            let score = self.likeness(source, destination)?;
            if score >= ENOUGH_WITH_NAME {
                self.pair(source, destination, score);
            }
        }
        Ok(())
    }

    /// Pairs what is left by likeness, the best pairs first.
    fn by_likeness(&mut self) -> Result<(), GitError> {
        let left = |candidates: &[Candidate<'_>]| -> Vec<usize> {
            let left = candidates.iter().enumerate().filter(|(_, one)| !one.taken);
            left.map(|(at, _)| at).collect()
        };
        let (sources, destinations) = (left(&self.sources), left(&self.destinations));
        if sources.len() * destinations.len() > SIDE_LIMIT * SIDE_LIMIT {
            self.cut = true;
            return Ok(());
        }
        let mut candidates: Vec<Pair> = Vec::new();
        for &destination in &destinations {
            let mut best: Vec<Pair> = Vec::with_capacity(CANDIDATES);
            for &source in &sources {
                let pair = Pair {
                    source,
                    destination,
                    score: self.likeness(source, destination)?,
                    same_name: self.sources[source].name() == self.destinations[destination].name(),
                };
                if self.cut {
                    return Ok(());
                }
                keep_if_better(&mut best, pair);
            }
            candidates.extend(best);
        }
        // A stable sort: of equals the one found first goes first.
        candidates.sort_by_key(|pair| std::cmp::Reverse(pair.rank()));
        for pair in candidates {
            if pair.score >= ENOUGH
                && !self.sources[pair.source].taken
                && !self.destinations[pair.destination].taken
            {
                self.pair(pair.source, pair.destination, pair.score);
            }
        }
        Ok(())
    }

    /// The score of a pair; 0 for what is no file or is too large.
    fn likeness(&mut self, source: usize, destination: usize) -> Result<u64, GitError> {
        let (old, new) = (
            self.sources[source].side,
            self.destinations[destination].side,
        );
        if !old.mode.is_file() || !new.mode.is_file() {
            return Ok(0);
        }
        let (old_size, new_size) = (self.size(old.id)?, self.size(new.id)?);
        if !sizes_fit(old_size, new_size) {
            return Ok(0);
        }
        if old_size.max(new_size) > LARGEST_FILE || self.work == 0 {
            self.cut |= self.work == 0;
            return Ok(0);
        }
        self.load(old.id)?;
        self.load(new.id)?;
        let pieces = |id| {
            self.contents
                .get(id)
                .and_then(|known| known.pieces.as_ref())
        };
        let (Some(old), Some(new)) = (pieces(&old.id), pieces(&new.id)) else {
            return Ok(0);
        };
        let score = score(old, old_size, new, new_size);
        self.work = self.work.saturating_sub((old.len() + new.len()) as u64);
        Ok(score)
    }

    fn size(&mut self, id: ObjectId) -> Result<u64, GitError> {
        if let Some(known) = self.contents.get(&id) {
            return Ok(known.size);
        }
        let size = self.reader.header(&id)?.map_or(0, |(_, size)| size);
        self.contents.insert(id, Content { size, pieces: None });
        Ok(size)
    }

    fn load(&mut self, id: ObjectId) -> Result<(), GitError> {
        let Some(content) = self.contents.get_mut(&id) else {
            return Ok(());
        };
        if content.pieces.is_none() {
            let mut bytes = Vec::new();
            self.reader.expect(&id, Kind::Blob, &mut bytes)?;
            content.pieces = Some(Pieces::of(&bytes));
            self.work = self.work.saturating_sub(content.size);
        }
        Ok(())
    }
}

/// The names of what is not taken yet, with the place of those that occur once.
fn unique_names(candidates: &[Candidate<'_>]) -> HashMap<Vec<u8>, Option<usize>> {
    let mut names = HashMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        if !candidate.taken {
            names
                .entry(candidate.name().to_vec())
                .and_modify(|place| *place = None)
                .or_insert(Some(at));
        }
    }
    names
}

/// Keeps the best few sources of one destination; of equals, those found first.
fn keep_if_better(best: &mut Vec<Pair>, pair: Pair) {
    if best.len() < CANDIDATES {
        best.push(pair);
        return;
    }
    let mut worst = 0;
    for at in 1..best.len() {
        if best[at].rank() < best[worst].rank() {
            worst = at;
        }
    }
    if best[worst].rank() < pair.rank() {
        best[worst] = pair;
    }
}
