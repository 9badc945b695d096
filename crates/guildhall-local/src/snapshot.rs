//! What a board held at one moment, shared and never changed.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use guildhall_core::clock::rfc3339_millis;
use guildhall_core::query::{FieldRef, Record};
use guildhall_core::{Issue, StateType};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::dir::Stamp;
use crate::format::{IssueText, trim};
use crate::id::{IdPrefix, Key};

/// Issues stand in chunks of about this many, so that a change copies one chunk and not the board.
const CHUNK: usize = 128;

/// One issue of a snapshot.
///
/// Its texts lie in one allocation in the order id, creation, change, title, description; states and labels, of which a
/// board has few, are shared between issues. A clone shares everything.
#[derive(Clone, Debug)]
pub struct Entry {
    key: Key,
    stamp: Stamp,
    created: Timestamp,
    text: Arc<str>,
    /// Where the first four parts of the text end; the description runs to the end of it.
    ends: [u32; 4],
    state: Arc<str>,
    state_type: StateType,
    labels: Arc<[String]>,
    comments: Arc<[String]>,
}

impl Entry {
    pub(crate) fn new(
        key: Key,
        id: &str,
        stamp: Stamp,
        created: Timestamp,
        issue: IssueText,
        names: &mut Names,
    ) -> Self {
        let parts = [
            id,
            &rfc3339_millis(created),
            &rfc3339_millis(stamp.modified_at()),
            &issue.title,
            &issue.description,
        ];
        let mut text = String::with_capacity(parts.iter().map(|part| part.len()).sum());
        let mut ends = [0; 4];
        for (at, part) in parts.into_iter().enumerate() {
            text.push_str(part);
            if let Some(end) = ends.get_mut(at) {
                *end = u32::try_from(text.len()).unwrap_or(u32::MAX);
            }
        }
        Self {
            key,
            stamp,
            created,
            text: text.into(),
            ends,
            state_type: StateType::from_state_name(&issue.status).unwrap_or(StateType::Backlog),
            state: names.state(&issue.status),
            labels: names.labels(normal_labels(&issue.labels)),
            comments: issue.comments.into(),
        }
    }

    fn part(&self, range: Range<usize>) -> &str {
        let end = |at: usize| {
            self.ends
                .get(at)
                .map_or(self.text.len(), |end| *end as usize)
        };
        let start = range.start.checked_sub(1).map_or(0, end);
        &self.text[start..end(range.end - 1)]
    }

    /// The id, which is also the identifier: `BOARD-7`.
    pub fn id(&self) -> &str {
        self.part(0..1)
    }

    /// Where it stands among the board's issues.
    pub fn order(&self) -> impl Ord + Copy + use<> {
        self.key
    }

    /// The title, or the id where the file gives none.
    pub fn title(&self) -> &str {
        match self.raw_title() {
            "" => self.id(),
            title => title,
        }
    }

    /// The title as the file gives it, blank where it gives none.
    pub fn raw_title(&self) -> &str {
        self.part(3..4)
    }

    /// The text below the heading, or `None` where there is none.
    pub fn description(&self) -> Option<&str> {
        Some(self.part(4..5)).filter(|text| !text.is_empty())
    }

    /// The state's name, trimmed.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The kind of the state; a name that is not known counts as backlog.
    pub fn state_type(&self) -> StateType {
        self.state_type
    }

    /// The labels: trimmed, lower-case, in the file's order.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The comments, each as it stands in the file: `- <time> <author>: <text>`, its further lines without the indent.
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    /// When the issue was created: RFC 3339, UTC, milliseconds.
    pub fn created_at(&self) -> &str {
        self.part(1..2)
    }

    /// When its file last changed: RFC 3339, UTC, milliseconds.
    pub fn updated_at(&self) -> &str {
        self.part(2..3)
    }

    /// The issue in the form every tracker gives.
    pub fn to_issue(&self) -> Issue {
        Issue {
            id: self.id().to_owned(),
            identifier: self.id().to_owned(),
            title: self.title().to_owned(),
            description: self.description().map(ToOwned::to_owned),
            state: self.state().to_owned(),
            state_type: self.state_type,
            branch_name: None,
            url: None,
            priority: None,
            created_at: Some(self.created_at().to_owned()),
            updated_at: Some(self.updated_at().to_owned()),
            labels: self.labels.to_vec(),
            blockers: Vec::new(),
            assignee_id: None,
        }
    }

    pub(crate) fn key(&self) -> Key {
        self.key
    }

    pub(crate) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    pub(crate) fn created(&self) -> Timestamp {
        self.created
    }
}

impl Record for Entry {
    fn field(&self, name: &str) -> Option<FieldRef<'_>> {
        Some(match name {
            "id" | "identifier" => FieldRef::Text(self.id()),
            "title" => FieldRef::Text(self.title()),
            "description" => self.description().map_or(FieldRef::Null, FieldRef::Text),
            "state" => FieldRef::Text(self.state()),
            "stateType" => FieldRef::Text(self.state_type.as_str()),
            "labels" => FieldRef::Texts(self.labels()),
            "createdAt" => FieldRef::Text(self.created_at()),
            "updatedAt" => FieldRef::Text(self.updated_at()),
            "comments" => FieldRef::Texts(self.comments()),
            "origin" => FieldRef::Json(origin()),
            _ => return None,
        })
    }
}

/// Where the text of every issue of a board comes from: files that anybody with the directory can write, so its author
/// is not known and not trusted.
pub fn origin() -> &'static Value {
    static ORIGIN: LazyLock<Value> =
        LazyLock::new(|| json!({ "tracker": "local", "author": null, "trusted": false }));
    &ORIGIN
}

fn normal_labels(labels: &[String]) -> Vec<String> {
    labels
        .iter()
        .map(|label| trim(label).to_lowercase())
        .filter(|label| !label.is_empty())
        .collect()
}

/// The names that many issues share, each kept once.
#[derive(Default)]
pub(crate) struct Names {
    states: Vec<Arc<str>>,
    labels: Vec<Arc<[String]>>,
}

impl Names {
    /// More than these are not looked for: a board whose every issue has a state of its own gains nothing.
    const MAX: usize = 64;

    fn state(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.states.iter().find(|known| ***known == *name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        if self.states.len() < Self::MAX {
            self.states.push(Arc::clone(&new));
        }
        new
    }

    fn labels(&mut self, labels: Vec<String>) -> Arc<[String]> {
        if let Some(known) = self.labels.iter().find(|known| ***known == *labels) {
            return Arc::clone(known);
        }
        let new: Arc<[String]> = labels.into();
        if self.labels.len() < Self::MAX {
            self.labels.push(Arc::clone(&new));
        }
        new
    }
}

/// A file that is named like an issue and is none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Skipped {
    /// The id it would have.
    pub id: String,
    /// What is wrong, in words a person can act on; never a path.
    pub error: String,
}

/// A skipped file with what tells whether it changed.
#[derive(Clone, Debug)]
pub(crate) struct Bad {
    pub(crate) key: Key,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) skipped: Skipped,
}

/// What a board held at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    prefix: IdPrefix,
    chunks: Vec<Arc<Vec<Entry>>>,
    len: usize,
    bad: Arc<Vec<Bad>>,
    too_large: Arc<Vec<String>>,
}

impl Snapshot {
    pub(crate) fn empty(prefix: IdPrefix) -> Self {
        Self {
            prefix,
            ..Self::default()
        }
    }

    /// How many issues there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The issues in the order of the board: by number.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The issue `id`, found without looking at others.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.find(self.prefix.key(id).ok()?)
    }

    /// The files that are named like an issue and cannot be read as one, by number.
    pub fn skipped(&self) -> Vec<Skipped> {
        let too_large = self.too_large.iter().map(|id| Skipped {
            id: id.clone(),
            error: format!(
                "The number of {id} is above {}, the largest an issue can have",
                crate::id::MAX_NUMBER
            ),
        });
        self.bad
            .iter()
            .map(|bad| bad.skipped.clone())
            .chain(too_large)
            .collect()
    }

    pub(crate) fn find(&self, key: Key) -> Option<&Entry> {
        let chunk = &self.chunks[self.chunk_of(key)?];
        let at = chunk.binary_search_by_key(&key, Entry::key).ok()?;
        Some(&chunk[at])
    }

    pub(crate) fn find_bad(&self, key: Key) -> Option<&Bad> {
        let at = self.bad.binary_search_by_key(&key, |bad| bad.key).ok()?;
        Some(&self.bad[at])
    }

    pub(crate) fn bad(&self) -> &[Bad] {
        &self.bad
    }

    /// The highest key of any file, readable or not.
    pub(crate) fn highest(&self) -> Option<Key> {
        let entry = self.chunks.last().and_then(|chunk| chunk.last());
        entry
            .map(Entry::key)
            .max(self.bad.last().map(|bad| bad.key))
    }

    /// The chunk that holds `key`, or would.
    fn chunk_of(&self, key: Key) -> Option<usize> {
        let after = self
            .chunks
            .partition_point(|chunk| chunk.first().is_some_and(|first| first.key() <= key));
        (!self.chunks.is_empty()).then(|| after.saturating_sub(1))
    }

    /// A snapshot of `entries` and `bad`, both in order.
    pub(crate) fn replace_all(&mut self, entries: Vec<Entry>, bad: Vec<Bad>) {
        self.len = entries.len();
        self.chunks.clear();
        let mut entries = entries.into_iter();
        loop {
            let mut chunk = Vec::with_capacity(CHUNK.min(entries.len()));
            chunk.extend(entries.by_ref().take(CHUNK));
            if chunk.is_empty() {
                break;
            }
            self.chunks.push(Arc::new(chunk));
        }
        self.bad = Arc::new(bad);
    }

    pub(crate) fn set_too_large(&mut self, ids: Vec<String>) {
        if *self.too_large != ids {
            self.too_large = Arc::new(ids);
        }
    }

    pub(crate) fn put(&mut self, entry: Entry) {
        self.remove_bad(entry.key());
        let Some(at) = self.chunk_of(entry.key()) else {
            self.chunks.push(Arc::new(vec![entry]));
            self.len = 1;
            return;
        };
        let chunk = Arc::make_mut(&mut self.chunks[at]);
        match chunk.binary_search_by_key(&entry.key(), Entry::key) {
            Ok(found) => chunk[found] = entry,
            Err(place) => {
                chunk.insert(place, entry);
                self.len += 1;
                if chunk.len() > 2 * CHUNK {
                    let half = chunk.split_off(CHUNK);
                    self.chunks.insert(at + 1, Arc::new(half));
                }
            }
        }
    }

    pub(crate) fn put_bad(&mut self, bad: Bad) {
        self.remove_entry(bad.key);
        let all = Arc::make_mut(&mut self.bad);
        match all.binary_search_by_key(&bad.key, |bad| bad.key) {
            Ok(found) => all[found] = bad,
            Err(place) => all.insert(place, bad),
        }
    }

    pub(crate) fn remove(&mut self, key: Key) {
        self.remove_entry(key);
        self.remove_bad(key);
    }

    fn remove_entry(&mut self, key: Key) {
        let Some(at) = self.chunk_of(key) else {
            return;
        };
        let Ok(found) = self.chunks[at].binary_search_by_key(&key, Entry::key) else {
            return;
        };
        let chunk = Arc::make_mut(&mut self.chunks[at]);
        chunk.remove(found);
        self.len -= 1;
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
    }

    fn remove_bad(&mut self, key: Key) {
        if let Ok(found) = self.bad.binary_search_by_key(&key, |bad| bad.key) {
            Arc::make_mut(&mut self.bad).remove(found);
        }
    }
}
