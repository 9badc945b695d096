//! Files and directories as they were at a commit.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gix::ObjectId;
use gix::objs::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::GitError;
use crate::object::{Entries, Mode, lines};
use crate::path::RepoPath;
use crate::repository::{Reader, Repository};
use crate::text::noted;

/// The largest file that is opened to give out some of its lines, in bytes.
const LARGEST_OPENED: u64 = 64 * 1024 * 1024;
/// How deep directories are followed; deeper ones were made to exhaust a stack.
const DEEPEST: usize = 1024;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A file.
    File,
    /// A symbolic link; its content is the path it points to. It is never followed.
    Symlink,
    /// A commit of another repository; its content is the commit's id. It is never followed.
    Submodule,
    /// A directory.
    Directory,
}

impl EntryKind {
    fn of(mode: Mode) -> Self {
        if mode.is_tree() {
            Self::Directory
        } else if mode.is_symlink() {
            Self::Symlink
        } else if mode.is_submodule() {
            Self::Submodule
        } else {
            Self::File
        }
    }
}

/// How a content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    /// As it is.
    #[serde(rename = "utf-8")]
    Utf8,
    /// In base64, because it is not UTF-8.
    #[serde(rename = "base64")]
    Base64,
}

/// Which file is asked for.
#[derive(Clone, Debug)]
pub struct FileRequest {
    /// The path, relative to the root; as it stands or escaped as results show it.
    pub path: String,
    /// The commit; else the tip of the default branch.
    pub commit: Option<String>,
    /// The first line, from 1.
    pub start_line: Option<usize>,
    /// The last line, which is given too.
    pub end_line: Option<usize>,
    /// The most bytes given out.
    pub max_bytes: u64,
}

impl FileRequest {
    /// The whole file at the tip, up to 10 MiB.
    pub fn of(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            commit: None,
            start_line: None,
            end_line: None,
            max_bytes: 10 * 1024 * 1024,
        }
    }
}

/// A file, or the lines of it that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileContent {
    /// Where it stands.
    pub path: String,
    /// The full id of the commit.
    pub commit: String,
    /// What stands there.
    pub kind: EntryKind,
    /// Git's mode, such as `100644` or `100755`.
    pub mode: String,
    /// The size of the whole file in bytes.
    pub size: u64,
    /// How `content` is written.
    pub encoding: Encoding,
    /// The content.
    pub content: String,
    /// The first line given, when lines were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<usize>,
    /// The last line given, when lines were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// How many lines the file has, when lines were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<usize>,
    /// Which of the keys hold escaped text: bytes that are not UTF-8 as `\xNN`, backslashes doubled.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

/// Which directory is asked for.
#[derive(Clone, Debug)]
pub struct TreeRequest {
    /// The directory; else the root.
    pub path: Option<String>,
    /// The commit; else the tip of the default branch.
    pub commit: Option<String>,
    /// Whether what lies below its directories is listed too, in place of the directories themselves.
    pub recursive: bool,
    /// At most so many entries.
    pub limit: usize,
    /// Where an earlier listing ended ([`Tree::next`]), with all else as it was.
    pub position: Option<TreePosition>,
}

impl Default for TreeRequest {
    fn default() -> Self {
        Self {
            path: None,
            commit: None,
            recursive: false,
            limit: 10_000,
            position: None,
        }
    }
}

/// A place in the listing of one commit's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreePosition {
    /// The full id of the commit.
    pub commit: String,
    /// How many entries came before.
    pub offset: usize,
}

/// A directory's entries.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tree {
    /// The full id of the commit.
    pub commit: String,
    /// In git's order.
    pub entries: Vec<TreeEntry>,
    /// Where the next page begins; none on the last.
    #[serde(skip)]
    pub next: Option<TreePosition>,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TreeEntry {
    /// The whole path from the root.
    pub path: String,
    /// What stands there.
    pub kind: EntryKind,
    /// Git's mode.
    pub mode: String,
    /// The id of the file's content, the directory, or a submodule's commit.
    pub sha: String,
    /// The size in bytes, of files and links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Which of the keys hold escaped text.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

/// What was found at a path.
pub(crate) struct Found {
    pub(crate) path: Vec<u8>,
    pub(crate) mode: Mode,
    pub(crate) id: ObjectId,
}

impl Reader {
    /// The commit that is asked for, else the tip.
    pub(crate) fn commit_or_tip(&self, revision: Option<&str>) -> Result<ObjectId, GitError> {
        self.resolve(revision.unwrap_or("HEAD"))
    }

    /// What stands at `path` in `commit`, for the first reading of the path that names something.
    pub(crate) fn find_path(
        &self,
        commit: ObjectId,
        path: &RepoPath,
        kind: &'static str,
    ) -> Result<Found, GitError> {
        let mut buffer = Vec::new();
        let tree = self.tree_of(&commit, &mut buffer)?;
        for reading in path.readings() {
            if let Some((mode, id)) = self.entry_at(tree, reading, &mut buffer)? {
                let path = reading.clone();
                return Ok(Found { path, mode, id });
            }
        }
        Err(GitError::NotFound {
            kind,
            path: path.given().to_owned(),
            commit: commit.to_string(),
        })
    }

    /// The content of what was found; of a submodule its commit's id.
    pub(crate) fn content_of(&self, found: &Found, limit: u64) -> Result<Vec<u8>, GitError> {
        if found.mode.is_submodule() {
            return Ok(found.id.to_string().into_bytes());
        }
        if let Some((_, size)) = self.header(&found.id)?
            && size > limit
        {
            return Err(GitError::TooLarge {
                path: String::from_utf8_lossy(&found.path).into_owned(),
                size,
                limit,
                advice: "fetch the repository to read it",
            });
        }
        let mut bytes = Vec::new();
        self.expect(&found.id, Kind::Blob, &mut bytes)?;
        Ok(bytes)
    }
}

impl Repository {
    /// A file's content at a commit. What is asked for is given whole or refused.
    ///
    /// # Errors
    /// [`GitError::BadRevision`], [`GitError::BadPath`], [`GitError::NotFound`] (also for a directory),
    /// [`GitError::TooLarge`], and [`GitError::BadArgument`] for lines that the file does not have.
    pub fn show_file(&self, request: &FileRequest) -> Result<FileContent, GitError> {
        let path = RepoPath::parse(&request.path)?;
        self.read(|reader| {
            let commit = reader.commit_or_tip(request.commit.as_deref())?;
            let found = reader.find_path(commit, &path, "file")?;
            if found.mode.is_tree() {
                return Err(GitError::BadArgument(format!(
                    "`{}` is a directory in commit {commit}, not a file",
                    request.path
                )));
            }
            let bytes = reader.content_of(&found, LARGEST_OPENED)?;
            shown(commit, &found, &bytes, request)
        })
    }

    /// The entries of a directory at a commit.
    ///
    /// # Errors
    /// [`GitError::BadRevision`], [`GitError::BadPath`], [`GitError::NotFound`], and [`GitError::BadArgument`] for a path
    /// that is no directory.
    pub fn tree(&self, request: &TreeRequest) -> Result<Tree, GitError> {
        let path = RepoPath::parse(request.path.as_deref().unwrap_or(""))?;
        self.read(|reader| {
            let at = request.position.as_ref();
            let revision = at.map(|at| at.commit.as_str());
            let commit = reader.commit_or_tip(revision.or(request.commit.as_deref()))?;
            let found = reader.find_path(commit, &path, "directory")?;
            if !found.mode.is_tree() {
                return Err(GitError::BadArgument(format!(
                    "`{}` is a file in commit {commit}, not a directory",
                    path.given()
                )));
            }
            let offset = at.map_or(0, |at| at.offset);
            let mut entries = Vec::new();
            let mut seen = 0;
            let mut more = false;
            reader.walk_tree(&found, request.recursive, &mut |entry| {
                seen += 1;
                more = seen > offset && entries.len() == request.limit;
                if seen > offset && !more {
                    entries.push(listed(reader, entry)?);
                }
                Ok(!more)
            })?;
            Ok(Tree {
                commit: commit.to_string(),
                next: more.then(|| TreePosition {
                    commit: commit.to_string(),
                    offset: offset + entries.len(),
                }),
                entries,
            })
        })
    }
}

fn listed(reader: &Reader, entry: &Found) -> Result<TreeEntry, GitError> {
    let mut escaped = Vec::new();
    let has_size = !entry.mode.is_tree() && !entry.mode.is_submodule();
    let header = if has_size {
        reader.header(&entry.id)?
    } else {
        None
    };
    Ok(TreeEntry {
        path: noted(&entry.path, "path", &mut escaped),
        kind: EntryKind::of(entry.mode),
        mode: entry.mode.to_string(),
        sha: entry.id.to_string(),
        size: header.map(|(_, size)| size),
        escaped,
    })
}

impl Reader {
    /// Gives each entry below `directory` to `visit`, which says whether to go on.
    pub(crate) fn walk_tree(
        &self,
        directory: &Found,
        recursive: bool,
        visit: &mut dyn FnMut(&Found) -> Result<bool, GitError>,
    ) -> Result<bool, GitError> {
        let mut bytes = Vec::new();
        self.expect(&directory.id, Kind::Tree, &mut bytes)?;
        let depth = directory.path.split(|&byte| byte == b'/').count();
        for entry in Entries(&bytes) {
            let mut path = directory.path.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(entry.name);
            let found = Found {
                path,
                mode: entry.mode,
                id: entry.id,
            };
            let go_on = if recursive && entry.mode.is_tree() && depth < DEEPEST {
                self.walk_tree(&found, true, visit)?
            } else {
                visit(&found)?
            };
            if !go_on {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The answer for a file, cut to the lines asked for.
fn shown(
    commit: ObjectId,
    found: &Found,
    bytes: &[u8],
    request: &FileRequest,
) -> Result<FileContent, GitError> {
    let by_lines = request.start_line.is_some() || request.end_line.is_some();
    let (part, numbers) = if by_lines {
        let (part, start, end, total) = cut_lines(bytes, request.start_line, request.end_line)?;
        (part, Some((start, end, total)))
    } else {
        (bytes, None)
    };
    if part.len() as u64 > request.max_bytes {
        return Err(GitError::TooLarge {
            path: request.path.clone(),
            size: part.len() as u64,
            limit: request.max_bytes,
            advice: "ask for fewer lines with `start_line` and `end_line`",
        });
    }
    let (encoding, content) = match std::str::from_utf8(part) {
        Ok(text) => (Encoding::Utf8, text.to_owned()),
        Err(_) => (Encoding::Base64, BASE64_STANDARD.encode(part)),
    };
    let mut escaped = Vec::new();
    Ok(FileContent {
        path: noted(&found.path, "path", &mut escaped),
        commit: commit.to_string(),
        kind: EntryKind::of(found.mode),
        mode: found.mode.to_string(),
        size: bytes.len() as u64,
        encoding,
        content,
        start_line: numbers.map(|(start, _, _)| start),
        end_line: numbers.map(|(_, end, _)| end),
        total_lines: numbers.map(|(_, _, total)| total),
        escaped,
    })
}

/// The lines `start` to `end` of `bytes` with their numbers, and how many there are in all. An end past the last line is
/// the last line.
pub(crate) fn cut_lines(
    bytes: &[u8],
    start: Option<usize>,
    end: Option<usize>,
) -> Result<(&[u8], usize, usize, usize), GitError> {
    let all: Vec<_> = lines(bytes).collect();
    let total = all.len();
    let (start, end) = (start.unwrap_or(1), end.unwrap_or(total).min(total));
    if total == 0 && start <= 1 {
        return Ok((bytes, 0, 0, 0));
    }
    if start == 0 || start > end {
        return Err(GitError::BadArgument(format!(
            "Lines {start} to {end} were asked for; give numbers from 1 to {total}, the first not after the last"
        )));
    }
    Ok((
        &bytes[all[start - 1].start..all[end - 1].end],
        start,
        end,
        total,
    ))
}
