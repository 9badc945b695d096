//! What a commit changed, as git tells it.
//!
//! The changed paths, the renames, the hunks and their line numbers are those of `git diff-tree -r -M -p` with git's
//! defaults, for a reader compares them with what they see in a checkout. Neither attributes nor configuration have a say:
//! no external diff, no textconv, no filter.

mod changes;
mod compact;
mod hunks;
mod renames;
mod similarity;

use gix::ObjectId;
use gix::objs::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::GitError;
use crate::object::{Mode, is_binary};
use crate::path::RepoPath;
use crate::repository::{Reader, Repository};
use crate::text::noted;
use changes::Side;
pub(crate) use changes::{PathChange, TreeDiff};
use hunks::Cut;
pub(crate) use hunks::LineDiff;
use renames::Change;
pub(crate) use renames::renamed_from;

/// The largest file that is compared line by line, in bytes.
pub(crate) const LARGEST_FILE: u64 = 32 * 1024 * 1024;
/// The most lines of a file that is compared line by line.
const MOST_LINES: usize = 2_000_000;
/// What a file and a hunk count besides their text against [`DiffRequest::max_bytes`].
const OVERHEAD: usize = 120;

/// Which commit's changes are asked for.
#[derive(Clone, Debug)]
pub struct DiffRequest {
    /// The commit, by full or unambiguous short id, branch or tag.
    pub commit: String,
    /// What to compare with, named the same way; else the first parent, and for a root the empty tree.
    pub parent: Option<String>,
    /// Only files at or below these paths, by their new or their old name. The filter applies after renames are found.
    pub paths: Vec<String>,
    /// Unchanged lines shown around each change; git's default is 3.
    pub context: u32,
    /// The answer ends with the hunk, or inside the hunk, that fills so many bytes of text.
    pub max_bytes: usize,
    /// Where an earlier answer ended ([`Diff::next`]), with all else as it was.
    pub position: Option<DiffPosition>,
}

impl DiffRequest {
    /// The changes of `commit` against its first parent, with git's context and at most 1 MiB of text.
    pub fn of(commit: impl Into<String>) -> Self {
        Self {
            commit: commit.into(),
            parent: None,
            paths: Vec::new(),
            context: 3,
            max_bytes: 1024 * 1024,
            position: None,
        }
    }
}

/// A place in the changes between two commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffPosition {
    /// The full id of the commit, so that a branch that moves shifts nothing.
    pub commit: String,
    /// The full id of what it is compared with; none for the empty tree.
    pub parent: Option<String>,
    /// How many of the (filtered) files were given whole.
    pub file: usize,
    /// How many hunks of the next file were given whole.
    pub hunk: usize,
    /// How many lines of the next hunk were given.
    pub line: usize,
}

/// What a commit changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// The full id of the commit.
    pub commit: String,
    /// The full id of what it is compared with; none for the empty tree.
    pub parent: Option<String>,
    /// The files, in git's order.
    pub files: Vec<FileDiff>,
    /// How many files there are in all answers together.
    pub total_files: usize,
    /// Whether there were more changed files than are ever listed (250,000).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub files_cut: bool,
    /// Whether there was too much added and deleted to look for renames with changes; exact renames are found always.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub renames_cut: bool,
    /// Where the next answer begins; none on the last.
    #[serde(skip)]
    pub next: Option<DiffPosition>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is new.
    Added,
    /// Its content, its mode or both changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path, with or without changes.
    Renamed,
    /// A file became a link or a submodule, or the other way round.
    TypeChanged,
}

/// One changed file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileDiff {
    /// What happened to it.
    pub status: Status,
    /// Its path; for a deleted file, the path it had.
    pub path: String,
    /// The path a renamed file had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// The mode it had, such as `100644`, where the mode changed or the file is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<String>,
    /// The mode it has, where the mode changed or the file is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<String>,
    /// How alike a renamed file's two contents are, in percent, as git counts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u8>,
    /// Lines added; none for what is not compared by lines.
    pub additions: Option<usize>,
    /// Lines deleted; none for what is not compared by lines.
    pub deletions: Option<usize>,
    /// Whether one of the two contents is not text; such files have no hunks.
    pub binary: bool,
    /// Whether the file is too large to be compared by lines (32 MiB or two million lines); such files have no hunks.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub too_large: bool,
    /// Whether an earlier answer had the first part of this file.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub continued: bool,
    /// The changes with the lines around them.
    pub hunks: Vec<Hunk>,
    /// Which of the keys hold escaped text: bytes that are not UTF-8 as `\xNN`, backslashes doubled.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

/// One place of change, with the numbers of `@@ -old_start,old_lines +new_start,new_lines @@ section`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hunk {
    /// The first line in the old file, from 1; with no old lines, the line after which the new ones stand.
    pub old_start: usize,
    /// How many lines of the old file.
    pub old_lines: usize,
    /// The first line in the new file, from 1; with no new lines, the line after which the old ones stood.
    pub new_start: usize,
    /// How many lines of the new file.
    pub new_lines: usize,
    /// The last line before the hunk that looks like a heading, as git shows it after the second `@@`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The lines, each after a space (unchanged), `-` (old) or `+` (new), ends of lines as they are. A last line without
    /// an end is followed by `\ No newline at end of file`.
    pub text: String,
    /// Whether this is only a part of the hunk; the numbers are the part's own.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub partial: bool,
    /// Whether a line was longer than 256 KiB and was cut there.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub lines_cut: bool,
    /// Which of the keys hold escaped text.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

impl Repository {
    /// What a commit changed.
    ///
    /// # Errors
    /// [`GitError::BadRevision`], [`GitError::BadPath`], and [`GitError::Damaged`] for objects that are missing or broken.
    pub fn diff(&self, request: &DiffRequest) -> Result<Diff, GitError> {
        let mut paths = Vec::new();
        for path in &request.paths {
            paths.extend(RepoPath::parse(path)?.readings().iter().cloned());
        }
        self.read(|reader| {
            let (commit, parent) = ends(reader, request)?;
            let mut buffer = Vec::new();
            let new_tree = reader.tree_of(&commit, &mut buffer)?;
            let old_tree = match parent {
                Some(parent) => reader.tree_of(&parent, &mut buffer)?,
                None => ObjectId::empty_tree(gix::hash::Kind::Sha1),
            };
            let listed = TreeDiff::between(reader, old_tree, new_tree)?;
            let (mut files, renames_cut) = renames::find(reader, listed.changes)?;
            if !paths.is_empty() {
                files.retain(|file| paths.iter().any(|path| file.is_below(path)));
            }
            let mut diff = Diff {
                commit: commit.to_string(),
                parent: parent.map(|id| id.to_string()),
                files: Vec::new(),
                total_files: files.len(),
                files_cut: listed.cut,
                renames_cut,
                next: None,
            };
            fill(reader, &files, request, &mut diff)?;
            Ok(diff)
        })
    }
}

/// The commit and what it is compared with.
fn ends(reader: &Reader, request: &DiffRequest) -> Result<(ObjectId, Option<ObjectId>), GitError> {
    if let Some(position) = &request.position {
        let parent = position.parent.as_deref();
        return Ok((
            reader.resolve(&position.commit)?,
            parent.map(|id| reader.resolve(id)).transpose()?,
        ));
    }
    let commit = reader.resolve(&request.commit)?;
    let parent = if let Some(parent) = &request.parent {
        Some(reader.resolve(parent)?)
    } else {
        let mut buffer = Vec::new();
        let parents = reader.commit(&commit, &mut buffer)?.parents;
        reader.parents_of(&commit, parents).first().copied()
    };
    Ok((commit, parent))
}

/// Adds files to `diff` from the position asked for until the answer is full.
fn fill(
    reader: &Reader,
    files: &[Change],
    request: &DiffRequest,
    diff: &mut Diff,
) -> Result<(), GitError> {
    let start = request.position.clone().unwrap_or(DiffPosition {
        commit: diff.commit.clone(),
        parent: diff.parent.clone(),
        file: 0,
        hunk: 0,
        line: 0,
    });
    let mut cut = Cut {
        hunk: start.hunk,
        line: start.line,
        room: request.max_bytes,
    };
    for (at, file) in files.iter().enumerate().skip(start.file) {
        if cut.room == 0 {
            diff.next = Some(DiffPosition {
                file: at,
                hunk: 0,
                line: 0,
                ..start
            });
            return Ok(());
        }
        let continued = cut.hunk > 0 || cut.line > 0;
        let (mut shown, whole) = show(reader, file, request.context as usize, &mut cut)?;
        shown.continued = continued;
        diff.files.push(shown);
        if !whole {
            diff.next = Some(DiffPosition {
                file: at,
                hunk: cut.hunk,
                line: cut.line,
                ..start
            });
            return Ok(());
        }
        cut.hunk = 0;
        cut.line = 0;
    }
    Ok(())
}

/// One file with as many of its hunks as there is room for, and whether those were all.
fn show(
    reader: &Reader,
    file: &Change,
    context: usize,
    cut: &mut Cut,
) -> Result<(FileDiff, bool), GitError> {
    let mut shown = described(file);
    cut.spend(OVERHEAD + shown.path.len());
    let old = content(reader, file.old.as_ref())?;
    let new = content(reader, file.new.as_ref())?;
    let (Some(old), Some(new)) = (old, new) else {
        shown.too_large = true;
        return Ok((shown, true));
    };
    if is_binary(&old) || is_binary(&new) {
        shown.binary = true;
        return Ok((shown, true));
    }
    // Git shows a change of type as the old thing gone and the new one come.
    let parts: Vec<(&[u8], &[u8])> = if file.status == Status::TypeChanged {
        vec![(&old, &[]), (&[], &new)]
    } else {
        vec![(&old, &new)]
    };
    let (mut additions, mut deletions, mut whole) = (0, 0, true);
    let mut skipped = cut.hunk;
    for (old, new) in parts {
        let Some(lines) = LineDiff::between(old, new, context) else {
            shown.too_large = true;
            return Ok((shown, true));
        };
        additions += lines.additions();
        deletions += lines.deletions();
        if whole {
            whole = lines.hunks(context, &mut skipped, cut, &mut shown.hunks);
        }
    }
    shown.additions = Some(additions);
    shown.deletions = Some(deletions);
    Ok((shown, whole))
}

/// What is known of a file without its content.
fn described(file: &Change) -> FileDiff {
    let mut escaped = Vec::new();
    let mode = |side: &Option<Side>| side.as_ref().map(|side| side.mode);
    let (old_mode, new_mode) = (mode(&file.old), mode(&file.new));
    let changed = |mode: Option<Mode>| {
        mode.filter(|_| old_mode != new_mode)
            .map(|mode| mode.to_string())
    };
    FileDiff {
        status: file.status,
        path: noted(&file.path, "path", &mut escaped),
        old_path: file
            .old_path
            .as_ref()
            .map(|path| noted(path, "old_path", &mut escaped)),
        old_mode: changed(old_mode),
        new_mode: changed(new_mode),
        similarity: file.similarity,
        additions: None,
        deletions: None,
        binary: false,
        too_large: false,
        continued: false,
        hunks: Vec::new(),
        escaped,
    }
}

/// The bytes of one side: of a submodule the line git shows for it; `None` when they are too many.
fn content(reader: &Reader, side: Option<&Side>) -> Result<Option<Vec<u8>>, GitError> {
    let Some(side) = side else {
        return Ok(Some(Vec::new()));
    };
    if side.mode.is_submodule() {
        return Ok(Some(
            format!("Subproject commit {}\n", side.id).into_bytes(),
        ));
    }
    if reader
        .header(&side.id)?
        .is_some_and(|(_, size)| size > LARGEST_FILE)
    {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    reader.expect(&side.id, Kind::Blob, &mut bytes)?;
    Ok(Some(bytes))
}
