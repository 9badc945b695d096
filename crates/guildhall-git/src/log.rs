//! The log of the default branch.

use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::GitError;
use crate::history::Selection;
use crate::object::{CommitRef, Ident};
use crate::path::RepoPath;
use crate::repository::{Reader, Repository};
use crate::text::noted;

/// The longest message given out, in bytes; no person wrote a longer one.
const LONGEST_MESSAGE: usize = 1024 * 1024;

/// Where a log begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The order of `git log --reverse`.
    #[default]
    Oldest,
    /// The order of `git log`.
    Newest,
}

/// What of the log is asked for.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// Where to begin.
    pub order: Order,
    /// Only commits that changed this file or something below this directory. As in `git log -- <path>`, history is
    /// simplified: of a merge only the side that the path came from is followed.
    pub path: Option<String>,
    /// Only commits made at this time or later, by the committer's clock. Each commit is judged for itself, as with
    /// `git log --since-as-filter`.
    pub since: Option<Timestamp>,
    /// Only commits made at this time or earlier, by the committer's clock.
    pub until: Option<Timestamp>,
    /// Only commits whose author, as `Name <email>`, contains this; the case of ASCII letters does not matter.
    pub author: Option<String>,
    /// At most so many commits.
    pub limit: usize,
    /// The page ends after the commit that fills so many bytes, counted as git stores commits.
    pub max_bytes: usize,
    /// Where an earlier page ended ([`LogPage::next`]), with all else as it was.
    pub position: Option<LogPosition>,
}

impl Default for LogRequest {
    fn default() -> Self {
        Self {
            order: Order::Oldest,
            path: None,
            since: None,
            until: None,
            author: None,
            limit: 10_000,
            max_bytes: 64 * 1024 * 1024,
            position: None,
        }
    }
}

/// A place in the log of one tip: pages do not shift while commits arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// The full id of the tip that the first page was taken from.
    pub tip: String,
    /// How many commits came before.
    pub offset: usize,
}

/// A page of the log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LogPage {
    /// In the order asked for.
    pub commits: Vec<Commit>,
    /// How many commits there are in all pages together.
    pub total: usize,
    /// Where the next page begins; none on the last.
    #[serde(skip)]
    pub next: Option<LogPosition>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Commit {
    /// The full id.
    pub sha: String,
    /// The full ids of the parents; none for a root.
    pub parents: Vec<String>,
    /// Who wrote the change.
    pub author: Person,
    /// Who made the commit.
    pub committer: Person,
    /// The whole message as git stores it.
    pub message: String,
    /// When the change was written, RFC 3339 with the author's own offset; the same as `author.time`.
    pub time: String,
    /// Whether the message was longer than 1 MiB and was cut there.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub truncated: bool,
    /// Which of the keys hold escaped text: bytes that are not UTF-8 as `\xNN`, backslashes doubled.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

/// A name in a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Person {
    /// As the person configured it.
    pub name: String,
    /// As the person configured it.
    pub email: String,
    /// RFC 3339 with the person's own offset. A time that no calendar can show is `<seconds> <zone>`, as git stores it.
    pub time: String,
    /// Which of the keys hold escaped text.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escaped: Vec<&'static str>,
}

impl Person {
    pub(crate) fn of(ident: &Ident<'_>) -> Self {
        let mut escaped = Vec::new();
        Self {
            name: noted(ident.name, "name", &mut escaped),
            email: noted(ident.email, "email", &mut escaped),
            time: ident.rfc3339(),
            escaped,
        }
    }
}

impl Commit {
    fn of(id: ObjectId, parents: &[ObjectId], commit: &CommitRef<'_>) -> Self {
        let mut escaped = Vec::new();
        let author = Person::of(&commit.author);
        let truncated = commit.message.len() > LONGEST_MESSAGE;
        let message = &commit.message[..commit.message.len().min(LONGEST_MESSAGE)];
        Self {
            sha: id.to_string(),
            parents: parents.iter().map(ToString::to_string).collect(),
            time: author.time.clone(),
            author,
            committer: Person::of(&commit.committer),
            message: noted(message, "message", &mut escaped),
            truncated,
            escaped,
        }
    }
}

/// Which end of a day a bare date means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayEdge {
    /// Its first second, for `since`.
    Start,
    /// Its last second, for `until`.
    End,
}

/// Reads a time as callers give it: RFC 3339 with an offset, or a date, which is a day in UTC.
///
/// # Errors
/// [`GitError::BadArgument`] for everything else.
pub fn parse_moment(text: &str, edge: DayEdge) -> Result<Timestamp, GitError> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let day = text.parse::<Date>().ok().filter(|_| text.len() == 10);
    let moment = day.map(|day| match edge {
        DayEdge::Start => day.at(0, 0, 0, 0),
        DayEdge::End => day.at(23, 59, 59, 0),
    });
    let at = moment.and_then(|moment| Offset::UTC.to_timestamp(moment).ok());
    at.ok_or_else(|| {
        let given: String = text.chars().take(80).collect();
        GitError::BadArgument(format!(
            "`{given}` is no time; give RFC 3339 such as `2026-05-29T10:00:00Z`, or a date such as `2026-05-29`"
        ))
    })
}

impl Repository {
    /// A page of the default branch's log.
    ///
    /// The order is exactly git's and is kept per tip, so that a further page costs only its own commits.
    ///
    /// # Errors
    /// [`GitError::BadPath`] for a path that is none, [`GitError::BadRevision`] for a position whose tip is gone.
    pub fn log(&self, request: &LogRequest) -> Result<LogPage, GitError> {
        let paths: Vec<Option<Vec<u8>>> =
            match request.path.as_deref().filter(|path| !path.is_empty()) {
                Some(path) => RepoPath::parse(path)?
                    .readings()
                    .iter()
                    .cloned()
                    .map(Some)
                    .collect(),
                None => vec![None],
            };
        self.read(|reader| {
            let tip = match &request.position {
                Some(position) => Some(reader.resolve(&position.tip)?),
                None => reader.tip()?,
            };
            let Some(tip) = tip else {
                return Ok(LogPage {
                    commits: Vec::new(),
                    total: 0,
                    next: None,
                });
            };
            let mut history = Arc::default();
            for path in paths {
                let author = request.author.clone().filter(|author| !author.is_empty());
                history = self.history(reader, tip, &Selection { path, author })?;
                if !history.ids.is_empty() {
                    break;
                }
            }
            let ids = within(&history.ids, &history.seconds, request);
            page(reader, tip, &ids, request)
        })
    }

    /// One commit by its id.
    ///
    /// # Errors
    /// [`GitError::BadRevision`] as [`Repository::resolve`].
    pub fn commit(&self, revision: &str) -> Result<Commit, GitError> {
        self.read(|reader| {
            let id = reader.resolve(revision)?;
            reader.full_commit(id, &mut Vec::new())
        })
    }
}

/// The commits between the times asked for; borrowed when all are.
fn within<'a>(
    ids: &'a [ObjectId],
    seconds: &[u64],
    request: &LogRequest,
) -> std::borrow::Cow<'a, [ObjectId]> {
    if request.since.is_none() && request.until.is_none() {
        return ids.into();
    }
    let since = request.since.map(Timestamp::as_second);
    let until = request.until.map(Timestamp::as_second);
    let fits = |at: u64| {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        since.is_none_or(|since| at >= since) && until.is_none_or(|until| at <= until)
    };
    let fitting = ids.iter().zip(seconds).filter(|(_, at)| fits(**at));
    fitting.map(|(id, _)| *id).collect()
}

fn page(
    reader: &Reader,
    tip: ObjectId,
    ids: &[ObjectId],
    request: &LogRequest,
) -> Result<LogPage, GitError> {
    let total = ids.len();
    let start = request
        .position
        .as_ref()
        .map_or(0, |position| position.offset.min(total));
    let mut commits = Vec::with_capacity(request.limit.min(total - start));
    let mut buffer = Vec::new();
    let mut bytes = 0;
    while commits.len() < request.limit
        && start + commits.len() < total
        && bytes < request.max_bytes
    {
        let at = start + commits.len();
        let id = match request.order {
            Order::Newest => ids[at],
            Order::Oldest => ids[total - 1 - at],
        };
        commits.push(reader.full_commit(id, &mut buffer)?);
        bytes += buffer.len();
    }
    let offset = start + commits.len();
    Ok(LogPage {
        commits,
        total,
        next: (offset < total).then(|| LogPosition {
            tip: tip.to_string(),
            offset,
        }),
    })
}

impl Reader {
    /// A commit with all that is shown of it; `buffer` holds its bytes afterwards.
    pub(crate) fn full_commit(
        &self,
        id: ObjectId,
        buffer: &mut Vec<u8>,
    ) -> Result<Commit, GitError> {
        let commit = self.commit(&id, buffer)?;
        let parents = self.parents_of(&id, commit.parents.clone());
        Ok(Commit::of(id, &parents, &commit))
    }

    /// The parents of `id` that this repository has: none at the edge of a shallow clone.
    pub(crate) fn parents_of(&self, id: &ObjectId, parents: Vec<ObjectId>) -> Vec<ObjectId> {
        if self.shallow.contains(id) {
            return Vec::new();
        }
        parents
    }

    /// The tree of the commit `id`.
    pub(crate) fn tree_of(
        &self,
        id: &ObjectId,
        buffer: &mut Vec<u8>,
    ) -> Result<ObjectId, GitError> {
        self.expect(id, Kind::Commit, buffer)?;
        Ok(self.commit(id, buffer)?.tree)
    }
}
