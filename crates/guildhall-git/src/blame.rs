//! Who wrote each line of a file.

use std::collections::{BinaryHeap, HashMap};

use gix::ObjectId;
use gix::objs::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::diff::{LARGEST_FILE, LineDiff, TreeDiff, renamed_from};
use crate::error::GitError;
use crate::files::cut_lines;
use crate::object::{CommitRef, is_binary};
use crate::path::RepoPath;
use crate::repository::{Reader, Repository};
use crate::text::noted;

/// The most commits looked at.
const MOST_COMMITS: usize = 250_000;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct BlameRequest {
    /// The file.
    pub path: String,
    /// The commit in which it is looked at; else the tip of the default branch.
    pub commit: Option<String>,
    /// The first line, from 1.
    pub start_line: Option<usize>,
    /// The last line, which is answered too.
    pub end_line: Option<usize>,
}

/// The lines of a file and the commits they come from, as `git blame` finds them: through renames of the whole file, by
/// the side of each merge that had the line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Blame {
    /// The full id of the commit the file was looked at in.
    pub commit: String,
    /// How many lines the file has.
    pub total_lines: usize,
    /// Runs of lines that came together, in order.
    pub ranges: Vec<BlameRange>,
    /// Whether the history was longer than is ever followed (250,000 commits); the oldest lines then name the commit at
    /// which the search ended.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
}

/// Lines that one commit wrote side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlameRange {
    /// The first line.
    pub start_line: usize,
    /// The last line.
    pub end_line: usize,
    /// The full id of the commit that wrote them.
    pub sha: String,
    /// The path the file had in that commit.
    pub path: String,
    /// The number the first line had in that commit.
    pub original_line: usize,
    /// The author's name.
    pub author: String,
    /// When it was written, RFC 3339 with the author's own offset.
    pub time: String,
    /// The first line of the message.
    pub summary: String,
    /// Which of the keys hold escaped text: bytes that are not UTF-8 as `\xNN`, backslashes doubled.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

/// A file in a commit that may have written lines.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Suspect {
    commit: ObjectId,
    path: Vec<u8>,
    blob: ObjectId,
}

/// Lines that are looked for: where they stand in the file asked for, and where in the suspect.
#[derive(Clone, Copy)]
struct Run {
    asked: usize,
    own: usize,
    length: usize,
}

impl Repository {
    /// The commits that wrote the lines of a file.
    ///
    /// # Errors
    /// [`GitError::BadRevision`], [`GitError::BadPath`], [`GitError::NotFound`], [`GitError::TooLarge`], and
    /// [`GitError::BadArgument`] for what is no text file and for lines that it does not have.
    pub fn blame(&self, request: &BlameRequest) -> Result<Blame, GitError> {
        let path = RepoPath::parse(&request.path)?;
        self.read(|reader| {
            let commit = reader.commit_or_tip(request.commit.as_deref())?;
            let found = reader.find_path(commit, &path, "file")?;
            let no_text = || GitError::BadArgument(format!("`{}` is no text file", request.path));
            if !found.mode.is_file() {
                return Err(no_text());
            }
            let bytes = reader.content_of(&found, LARGEST_FILE)?;
            if is_binary(&bytes) {
                return Err(no_text());
            }
            let (_, start, end, total) = cut_lines(&bytes, request.start_line, request.end_line)?;
            let first = Suspect {
                commit,
                path: found.path,
                blob: found.id,
            };
            let mut search = Search::new(reader);
            if total > 0 {
                let run = Run {
                    asked: start - 1,
                    own: start - 1,
                    length: end + 1 - start,
                };
                search.suspect(first, vec![run])?;
            }
            search.run()?;
            Ok(Blame {
                commit: commit.to_string(),
                total_lines: total,
                ranges: search.ranges()?,
                cut: search.cut,
            })
        })
    }
}

struct Search<'a> {
    reader: &'a Reader,
    /// Newest first, so that a commit is looked at when all its children have passed their lines on.
    queue: BinaryHeap<(u64, Suspect)>,
    open: HashMap<Suspect, Vec<Run>>,
    guilty: Vec<(Suspect, Run)>,
    looked_at: usize,
    cut: bool,
}

impl<'a> Search<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            queue: BinaryHeap::new(),
            open: HashMap::new(),
            guilty: Vec::new(),
            looked_at: 0,
            cut: false,
        }
    }

    fn suspect(&mut self, suspect: Suspect, runs: Vec<Run>) -> Result<(), GitError> {
        if runs.is_empty() {
            return Ok(());
        }
        if let Some(open) = self.open.get_mut(&suspect) {
            open.extend(runs);
            return Ok(());
        }
        let mut buffer = Vec::new();
        let commit = self.reader.commit(&suspect.commit, &mut buffer)?;
        self.queue
            .push((commit.committer.seconds(), suspect.clone()));
        self.open.insert(suspect, runs);
        Ok(())
    }

    fn run(&mut self) -> Result<(), GitError> {
        while let Some((_, suspect)) = self.queue.pop() {
            let Some(mut runs) = self.open.remove(&suspect) else {
                continue;
            };
            self.looked_at += 1;
            self.cut |= self.looked_at > MOST_COMMITS;
            if !self.cut {
                self.pass_on(&suspect, &mut runs)?;
            }
            let rest = runs.into_iter().map(|run| (suspect.clone(), run));
            self.guilty.extend(rest);
        }
        Ok(())
    }

    /// Gives the lines that a parent had already to that parent; what is left in `runs` the suspect wrote.
    fn pass_on(&mut self, suspect: &Suspect, runs: &mut Vec<Run>) -> Result<(), GitError> {
        let mut buffer = Vec::new();
        let commit = self.reader.commit(&suspect.commit, &mut buffer)?;
        let tree = commit.tree;
        let parents = self.reader.parents_of(&suspect.commit, commit.parents);
        let mut earlier: Vec<Option<Suspect>> = vec![None; parents.len()];
        for by_rename in [false, true] {
            for (at, parent) in parents.iter().enumerate() {
                if earlier[at].is_some() {
                    continue;
                }
                let Some(candidate) = self.in_parent(suspect, tree, *parent, by_rename)? else {
                    continue;
                };
                if candidate.blob == suspect.blob {
                    return self.suspect(candidate, std::mem::take(runs));
                }
                let known = earlier
                    .iter()
                    .flatten()
                    .any(|other| other.blob == candidate.blob);
                if !known {
                    earlier[at] = Some(candidate);
                }
            }
        }
        for candidate in earlier.into_iter().flatten() {
            let passed = self.unchanged(&candidate, suspect, runs)?;
            self.suspect(candidate, passed)?;
        }
        Ok(())
    }

    /// The file in the parent: under the same path, or (`by_rename`) under the path it was renamed from.
    fn in_parent(
        &self,
        suspect: &Suspect,
        tree: ObjectId,
        parent: ObjectId,
        by_rename: bool,
    ) -> Result<Option<Suspect>, GitError> {
        let mut buffer = Vec::new();
        let parent_tree = self.reader.tree_of(&parent, &mut buffer)?;
        let same = self
            .reader
            .entry_at(parent_tree, &suspect.path, &mut buffer)?;
        let there = |path: Vec<u8>, blob| Suspect {
            commit: parent,
            path,
            blob,
        };
        match (same, by_rename) {
            (Some((mode, id)), false) if mode.is_file() => {
                Ok(Some(there(suspect.path.clone(), id)))
            }
            (None, true) => {
                let listed = TreeDiff::between(self.reader, parent_tree, tree)?;
                let from = renamed_from(self.reader, listed, &suspect.path)?;
                Ok(from.map(|(path, id)| there(path, id)))
            }
            _ => Ok(None),
        }
    }

    /// Takes the lines out of `runs` that `earlier` has unchanged, and gives them as lines of `earlier`.
    fn unchanged(
        &self,
        earlier: &Suspect,
        suspect: &Suspect,
        runs: &mut Vec<Run>,
    ) -> Result<Vec<Run>, GitError> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        self.reader.expect(&earlier.blob, Kind::Blob, &mut old)?;
        self.reader.expect(&suspect.blob, Kind::Blob, &mut new)?;
        let Some(diff) = LineDiff::between(&old, &new, 0) else {
            return Ok(Vec::new());
        };
        let (mut passed, mut kept) = (Vec::new(), Vec::new());
        for run in runs.drain(..) {
            let end = run.own + run.length;
            let add = |to: &mut Vec<Run>, from: usize, until: usize, own: usize| {
                if from < until {
                    to.push(Run {
                        asked: run.asked + (from - run.own),
                        own,
                        length: until - from,
                    });
                }
            };
            let mut at = run.own;
            // How far the lines after the last change stand apart in the two files.
            let (mut old_end, mut new_end) = (0, 0);
            for (olds, news) in diff.changes() {
                if at >= end {
                    break;
                }
                let until = news.start.clamp(at, end);
                add(
                    &mut passed,
                    at,
                    until,
                    (at + old_end).saturating_sub(new_end),
                );
                at = at.max(until);
                let until = news.end.clamp(at, end);
                add(&mut kept, at, until, at);
                at = at.max(until);
                (old_end, new_end) = (olds.end, news.end);
            }
            add(&mut passed, at, end, (at + old_end).saturating_sub(new_end));
        }
        *runs = kept;
        Ok(passed)
    }

    /// The answer: runs in order, neighbours of one origin together.
    fn ranges(&mut self) -> Result<Vec<BlameRange>, GitError> {
        self.guilty.sort_by_key(|(_, run)| run.asked);
        let mut merged: Vec<(Suspect, Run)> = Vec::new();
        for (suspect, run) in self.guilty.drain(..) {
            match merged.last_mut() {
                Some((last, before))
                    if *last == suspect
                        && before.asked + before.length == run.asked
                        && before.own + before.length == run.own =>
                {
                    before.length += run.length;
                }
                _ => merged.push((suspect, run)),
            }
        }
        let mut buffer = Vec::new();
        let described = merged.iter().map(|(suspect, run)| {
            let commit = self.reader.commit(&suspect.commit, &mut buffer)?;
            Ok(range(suspect, *run, &commit))
        });
        described.collect()
    }
}

fn range(suspect: &Suspect, run: Run, commit: &CommitRef<'_>) -> BlameRange {
    let mut escaped = Vec::new();
    let summary = commit.message.split(|&byte| byte == b'\n').next();
    BlameRange {
        start_line: run.asked + 1,
        end_line: run.asked + run.length,
        sha: suspect.commit.to_string(),
        path: noted(&suspect.path, "path", &mut escaped),
        original_line: run.own + 1,
        author: noted(commit.author.name, "author", &mut escaped),
        time: commit.author.rfc3339(),
        summary: noted(summary.unwrap_or_default(), "summary", &mut escaped),
        escaped,
    }
}
