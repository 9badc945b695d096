//! Searching the files of a commit.

use gix::objs::Kind;
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::GitError;
use crate::files::Found;
use crate::object::{Mode, is_binary, lines};
use crate::path::RepoPath;
use crate::repository::Repository;
use crate::text::noted;

/// Larger files are not searched, in bytes.
const LARGEST_SEARCHED: u64 = 8 * 1024 * 1024;
/// What one call reads before it hands back a position to go on from, in bytes.
const READ_PER_CALL: u64 = 256 * 1024 * 1024;
/// The longest line given out, in bytes.
const LONGEST_LINE: usize = 1000;
/// What a compiled expression may take, in bytes.
const EXPRESSION: usize = 1024 * 1024;
/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 4096;

/// What is searched for.
#[derive(Clone, Debug)]
pub struct GrepRequest {
    /// The text or the expression, looked for in each line by itself.
    pub pattern: String,
    /// Whether the pattern is a regular expression (in the syntax of the `regex` crate: no look-around, no back
    /// references, linear time) and not a text.
    pub regex: bool,
    /// Whether the case of letters does not matter.
    pub ignore_case: bool,
    /// Only files at or below these paths.
    pub paths: Vec<String>,
    /// The commit; else the tip of the default branch.
    pub commit: Option<String>,
    /// At most so many lines.
    pub limit: usize,
    /// Where an earlier search ended ([`Grep::next`]), with all else as it was.
    pub position: Option<GrepPosition>,
}

impl GrepRequest {
    /// Searches the tip for a text, for at most 200 lines.
    pub fn for_text(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            regex: false,
            ignore_case: false,
            paths: Vec::new(),
            commit: None,
            limit: 200,
            position: None,
        }
    }
}

/// A place in the search of one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepPosition {
    /// The full id of the commit.
    pub commit: String,
    /// How many files were searched whole.
    pub files: usize,
    /// The last line of the next file that was given.
    pub line: usize,
}

/// The lines found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Grep {
    /// The full id of the commit.
    pub commit: String,
    /// In the order of the tree.
    pub matches: Vec<GrepMatch>,
    /// How many files were not searched because they have more than 8 MiB.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub too_large: usize,
    /// Where to go on; none when everything was searched. A search may end before `limit` lines are found.
    #[serde(skip)]
    pub next: Option<GrepPosition>,
}

/// One line found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GrepMatch {
    /// The file.
    pub path: String,
    /// The line's number, from 1.
    pub line: usize,
    /// The line without its end, at most 1,000 bytes of it.
    pub text: String,
    /// Whether the line is longer.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub truncated: bool,
    /// Which of the keys hold escaped text: bytes that are not UTF-8 as `\xNN`, backslashes doubled.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl GrepRequest {
    fn compiled(&self) -> Result<Regex, GitError> {
        if self.pattern.is_empty() || self.pattern.len() > LONGEST_PATTERN {
            return Err(GitError::BadArgument(format!(
                "The pattern has {} bytes; give 1 to {LONGEST_PATTERN}",
                self.pattern.len()
            )));
        }
        let pattern = if self.regex {
            self.pattern.clone()
        } else {
            regex::escape(&self.pattern)
        };
        RegexBuilder::new(&pattern)
            .case_insensitive(self.ignore_case)
            .multi_line(true)
            .crlf(true)
            .size_limit(EXPRESSION)
            .dfa_size_limit(4 * EXPRESSION)
            .build()
            .map_err(|error| {
                GitError::BadArgument(format!("The pattern is not understood: {error}"))
            })
    }
}

impl Repository {
    /// The lines of a commit's text files that fit a pattern. Links, submodules and binary files are not searched.
    ///
    /// # Errors
    /// [`GitError::BadArgument`] for a pattern that is none, [`GitError::BadRevision`], [`GitError::BadPath`].
    pub fn grep(&self, request: &GrepRequest) -> Result<Grep, GitError> {
        let pattern = request.compiled()?;
        let mut paths = Vec::new();
        for path in &request.paths {
            paths.extend(RepoPath::parse(path)?.readings().iter().cloned());
        }
        self.read(|reader| {
            let start = request.position.as_ref();
            let revision = start.map(|at| at.commit.as_str());
            let commit = reader.commit_or_tip(revision.or(request.commit.as_deref()))?;
            let mut buffer = Vec::new();
            let root = Found {
                path: Vec::new(),
                mode: Mode::TREE,
                id: reader.tree_of(&commit, &mut buffer)?,
            };
            let mut grep = Grep {
                commit: commit.to_string(),
                matches: Vec::new(),
                too_large: 0,
                next: None,
            };
            let (mut files, mut read) = (0, 0);
            let (done, mut after) = start.map_or((0, 0), |at| (at.files, at.line));
            reader.walk_tree(&root, true, &mut |file| {
                if !file.mode.is_file() || !is_below_any(&file.path, &paths) {
                    return Ok(true);
                }
                files += 1;
                if files <= done {
                    return Ok(true);
                }
                let last = std::mem::take(&mut after);
                let here = |line| GrepPosition {
                    commit: commit.to_string(),
                    files: files - 1,
                    line,
                };
                if read > READ_PER_CALL {
                    grep.next = Some(here(last));
                    return Ok(false);
                }
                let size = reader.header(&file.id)?.map_or(0, |(_, size)| size);
                if size > LARGEST_SEARCHED {
                    grep.too_large += 1;
                    return Ok(true);
                }
                reader.expect(&file.id, Kind::Blob, &mut buffer)?;
                read += size;
                let full = search(
                    &pattern,
                    file,
                    &buffer,
                    last,
                    request.limit,
                    &mut grep.matches,
                );
                grep.next = full.map(here);
                Ok(grep.next.is_none())
            })?;
            Ok(grep)
        })
    }
}

fn is_below_any(file: &[u8], paths: &[Vec<u8>]) -> bool {
    paths.is_empty()
        || paths.iter().any(|path| {
            let rest = file.strip_prefix(path.as_slice());
            rest.is_some_and(|rest| path.is_empty() || rest.is_empty() || rest[0] == b'/')
        })
}

/// Adds the fitting lines after line `last`; gives the last line added when there are `limit` and more may follow.
fn search(
    pattern: &Regex,
    file: &Found,
    bytes: &[u8],
    last: usize,
    limit: usize,
    matches: &mut Vec<GrepMatch>,
) -> Option<usize> {
    if is_binary(bytes) {
        return None;
    }
    let (mut at, mut line, mut counted, mut given) = (0, 1, 0, last);
    while at < bytes.len() {
        let found = pattern.find_at(bytes, at)?;
        if found.start() >= bytes.len() {
            return None;
        }
        let start = bytes[..found.start()]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1);
        line += lines(&bytes[counted..start]).count();
        counted = start;
        let length = bytes[start..]
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(bytes.len() - start);
        let text = &bytes[start..start + length];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        at = start + length + 1;
        // An expression may reach over the end of a line; it counts only within one.
        if line <= last || !pattern.is_match(text) {
            continue;
        }
        if matches.len() == limit {
            return Some(given);
        }
        let mut escaped = Vec::new();
        matches.push(GrepMatch {
            path: noted(&file.path, "path", &mut escaped),
            line,
            text: noted(&text[..text.len().min(LONGEST_LINE)], "text", &mut escaped),
            truncated: text.len() > LONGEST_LINE,
            escaped,
        });
        given = line;
    }
    None
}
