//! The parsed board, kept in step with its directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::BoardError;
use crate::board::Limits;
use crate::dir::{BoardDir, FileRead, Kind, Listing, ReadError, Stamp};
use crate::format::{self, FormatError};
use crate::id::{IdPrefix, Key, MAX_NUMBER};
use crate::snapshot::{Bad, Entry, Names, Skipped, Snapshot};
use crate::watch::Watch;

/// Fewer files than this are read by the asking thread alone.
const PARALLEL_FROM: usize = 64;

/// The board's issues and what is needed to know whether they still are what they were.
pub(crate) struct Index {
    path: PathBuf,
    prefix: IdPrefix,
    limits: Limits,
    snapshot: Arc<Snapshot>,
    source: Option<Source>,
    names: Names,
    /// Files that changed so shortly before they were read that their times alone cannot tell of another change.
    racy: BTreeSet<Key>,
    /// The highest number ever seen; it never falls, so that the id of a deleted issue is not given out again.
    highest: u64,
}

struct Source {
    dir: BoardDir,
    watch: Option<Watch>,
}

/// What a file turned out to be.
enum Read {
    Issue(Box<FoundIssue>),
    Bad(Bad),
    Gone,
}

struct FoundIssue {
    id: String,
    stamp: Stamp,
    born: Timestamp,
    text: format::IssueText,
}

impl Index {
    pub(crate) fn new(path: PathBuf, prefix: IdPrefix, limits: Limits) -> Self {
        Self {
            snapshot: Arc::new(Snapshot::empty(prefix.clone())),
            path,
            prefix,
            limits,
            source: None,
            names: Names::default(),
            racy: BTreeSet::new(),
            highest: 0,
        }
    }

    /// Brings the index in step with the directory and gives what it holds then.
    pub(crate) fn refresh(&mut self) -> Result<&Arc<Snapshot>, BoardError> {
        let same = self
            .source
            .as_ref()
            .is_some_and(|source| source.dir.is_at(&self.path));
        if !same {
            self.reopen()?;
        } else if let Some(source) = &mut self.source {
            match source.watch.as_mut().map(|watch| watch.drain(&self.prefix)) {
                Some(changes) if !changes.lost => {
                    if !changes.keys.is_empty() {
                        self.reread(&changes.keys.into_iter().collect::<Vec<_>>());
                    }
                }
                Some(_) => {
                    // A watch that lost something may also have ended, so it is begun anew before looking.
                    source.watch = Watch::start(&source.dir);
                    self.scan()?;
                }
                None => self.scan()?,
            }
        }
        Ok(&self.snapshot)
    }

    /// The highest number ever seen.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// The directory was made, replaced or removed.
    fn reopen(&mut self) -> Result<(), BoardError> {
        self.source = None;
        let opened = BoardDir::open(&self.path).map_err(|error| reading(&error))?;
        let Some(dir) = opened else {
            if !self.snapshot.is_empty() || !self.snapshot.bad().is_empty() {
                self.snapshot = Arc::new(Snapshot::empty(self.prefix.clone()));
            }
            self.racy.clear();
            return Ok(());
        };
        // The watch comes first: what changes while the files are read is then told by it.
        let watch = Watch::start(&dir);
        self.source = Some(Source { dir, watch });
        // Files of the directory that was there before say nothing about these.
        self.snapshot = Arc::new(Snapshot::empty(self.prefix.clone()));
        self.racy.clear();
        self.scan()
    }

    /// Looks at the times of every file, and reads those that changed.
    fn scan(&mut self) -> Result<(), BoardError> {
        let Some(source) = &self.source else {
            return Ok(());
        };
        let Listing {
            issues, too_large, ..
        } = source
            .dir
            .list(&self.prefix)
            .map_err(|error| reading(&error))?;
        let fresh = self.snapshot.is_empty() && self.snapshot.bad().is_empty();
        let mut changed: Vec<Key> = issues
            .iter()
            .copied()
            .filter(|key| fresh || self.differs(&source.dir, *key))
            .collect();
        let known = self.snapshot.iter().map(Entry::key);
        let gone = known
            .chain(self.snapshot.bad().iter().map(|bad| bad.key))
            .filter(|key| issues.binary_search(key).is_err());
        changed.extend(gone);
        changed.sort_unstable();
        changed.dedup();
        Arc::make_mut(&mut self.snapshot).set_too_large(too_large);
        self.reread(&changed);
        Ok(())
    }

    /// Whether the file of `key` may hold something else than what was read from it.
    fn differs(&self, dir: &BoardDir, key: Key) -> bool {
        let known = match self.snapshot.find(key) {
            Some(entry) => Some(*entry.stamp()),
            None => self.snapshot.find_bad(key).and_then(|bad| bad.stamp),
        };
        if self.racy.contains(&key) {
            return true;
        }
        match dir.stamp(&self.prefix.file_name(key)) {
            Ok(stamp) => stamp != known || known.is_none(),
            Err(_) => true,
        }
    }

    /// Reads the files of `keys`, in order, and takes over what they hold.
    fn reread(&mut self, keys: &[Key]) {
        let Some(source) = &self.source else {
            return;
        };
        let now = machine_seconds();
        let reads = read_all(&source.dir, &self.prefix, &self.limits, keys);
        let bulk = keys.len() > 1_000 && keys.len() > self.snapshot.len() / 4;
        if bulk {
            self.take_over_bulk(keys, reads, now);
        } else {
            for (key, read) in keys.iter().zip(reads) {
                match self.note(*key, read, now) {
                    Noted::Entry(entry) => Arc::make_mut(&mut self.snapshot).put(entry),
                    Noted::Bad(bad) => Arc::make_mut(&mut self.snapshot).put_bad(bad),
                    Noted::Gone => Arc::make_mut(&mut self.snapshot).remove(*key),
                }
            }
        }
        let highest = self.snapshot.highest().map_or(0, |key| key.number);
        self.highest = self.highest.max(highest);
    }

    /// As one by one, but without moving the issues behind each.
    fn take_over_bulk(&mut self, keys: &[Key], reads: Vec<Read>, now: i64) {
        let kept = |key: Key| keys.binary_search(&key).is_err();
        let old = Arc::clone(&self.snapshot);
        let mut entries: Vec<Entry> = Vec::with_capacity(reads.len());
        entries.extend(old.iter().filter(|entry| kept(entry.key())).cloned());
        let mut bad: Vec<Bad> = old
            .bad()
            .iter()
            .filter(|bad| kept(bad.key))
            .cloned()
            .collect();
        for (key, read) in keys.iter().zip(reads) {
            match self.note(*key, read, now) {
                Noted::Entry(entry) => entries.push(entry),
                Noted::Bad(found) => bad.push(found),
                Noted::Gone => {}
            }
        }
        entries.sort_by_key(Entry::key);
        bad.sort_by_key(|bad| bad.key);
        drop(old);
        Arc::make_mut(&mut self.snapshot).replace_all(entries, bad);
    }

    /// Turns what was read into what the snapshot holds, and remembers whether its times can be trusted.
    fn note(&mut self, key: Key, read: Read, now: i64) -> Noted {
        let stamp = match &read {
            Read::Issue(found) => Some(found.stamp),
            Read::Bad(bad) => bad.stamp,
            Read::Gone => None,
        };
        if stamp.is_some_and(|stamp| stamp.is_racy(now)) {
            self.racy.insert(key);
        } else {
            self.racy.remove(&key);
        }
        match read {
            Read::Issue(found) => {
                let created = self.created(key, &found);
                let FoundIssue {
                    id, stamp, text, ..
                } = *found;
                Noted::Entry(Entry::new(key, &id, stamp, created, text, &mut self.names))
            }
            Read::Bad(bad) => Noted::Bad(bad),
            Read::Gone => Noted::Gone,
        }
    }

    /// When the issue was created: what its file says, else the earliest birth of a file of its id that was seen. An
    /// editor that saves by replacing the file does not make the issue younger.
    fn created(&self, key: Key, found: &FoundIssue) -> Timestamp {
        found.text.created_at.unwrap_or_else(|| {
            let known = self.snapshot.find(key).map(Entry::created);
            known.map_or(found.born, |known| known.min(found.born))
        })
    }
}

enum Noted {
    Entry(Entry),
    Bad(Bad),
    Gone,
}

/// Reads the files of `keys` over all cores.
fn read_all(dir: &BoardDir, prefix: &IdPrefix, limits: &Limits, keys: &[Key]) -> Vec<Read> {
    let one = |key: &Key| read_one(dir, prefix, limits, *key);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if keys.len() < PARALLEL_FROM || cores == 1 {
        return keys.iter().map(one).collect();
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = keys
            .chunks(keys.len().div_ceil(cores))
            .map(|part| scope.spawn(move || part.iter().map(one).collect::<Vec<_>>()))
            .collect();
        let mut reads = Vec::with_capacity(keys.len());
        for worker in workers {
            match worker.join() {
                Ok(part) => reads.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        reads
    })
}

fn read_one(dir: &BoardDir, prefix: &IdPrefix, limits: &Limits, key: Key) -> Read {
    let name = prefix.file_name(key);
    let id = prefix.id(key);
    match dir.read(&name, limits.file_bytes) {
        Ok(None) => Read::Gone,
        Ok(Some(file)) => match format::read(&file.bytes, limits.front_matter_bytes) {
            Ok(text) => Read::Issue(Box::new(FoundIssue {
                id,
                stamp: file.stamp,
                born: file.born,
                text,
            })),
            Err(error) => bad(key, Some(file.stamp), id, |id| format_message(id, &error)),
        },
        Err(error) => {
            let stamp = dir.stamp(&name).ok().flatten();
            bad(key, stamp, id, |id| read_message(id, &error, limits))
        }
    }
}

fn bad(key: Key, stamp: Option<Stamp>, id: String, message: impl Fn(&str) -> String) -> Read {
    let error = message(&id);
    Read::Bad(Bad {
        key,
        stamp,
        skipped: Skipped { id, error },
    })
}

/// Reads and understands the file of `key` for a change.
pub(crate) fn read_for_change(
    dir: &BoardDir,
    prefix: &IdPrefix,
    limits: &Limits,
    key: Key,
) -> Result<FileRead, BoardError> {
    let id = prefix.id(key);
    match dir.read(&prefix.file_name(key), limits.file_bytes) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(BoardError::NotFound { id }),
        Err(error) => Err(BoardError::BadFile {
            message: read_message(&id, &error, limits),
            id,
        }),
    }
}

/// Says what is wrong with a file that was read but is no issue.
pub(crate) fn format_message(id: &str, error: &FormatError) -> String {
    match error {
        FormatError::NoStatus => format!("board issue {id} is missing required 'status'"),
        FormatError::FrontMatter(reason) => {
            format!("Board issue {id} has front matter that cannot be read: {reason}")
        }
        FormatError::Unchangeable => format!(
            "Board issue {id} has front matter that cannot be changed safely, it has to be edited by hand"
        ),
    }
}

fn read_message(id: &str, error: &ReadError, limits: &Limits) -> String {
    match error {
        ReadError::Kind(Kind::Symlink) => {
            format!("Board issue {id} is a symbolic link, which is not followed")
        }
        ReadError::Kind(Kind::Directory) => format!("Board issue {id} is a directory, not a file"),
        ReadError::Kind(_) => format!("Board issue {id} is not a regular file"),
        ReadError::TooLarge { size } => format!(
            "Board issue {id} has {size} bytes, at most {} are read",
            limits.file_bytes
        ),
        ReadError::Io(error) => BoardError::io(format!("read board issue {id}"), error).to_string(),
    }
}

fn reading(error: &std::io::Error) -> BoardError {
    BoardError::io("read the board directory", error)
}

/// The next number after `highest`.
pub(crate) fn next_number(highest: u64) -> Result<u64, BoardError> {
    if highest < MAX_NUMBER {
        Ok(highest + 1)
    } else {
        Err(BoardError::NoNumberLeft { highest })
    }
}

/// Now by the clock that file times come from.
#[expect(
    clippy::disallowed_methods,
    reason = "compared with times the file system gave, which no test can set"
)]
fn machine_seconds() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok())
        .unwrap_or(i64::MAX)
}

/// Removes temporary files that a killed process left. The caller holds the board's lock, under which alone they are
/// made, so none is in use.
pub(crate) fn remove_stale_temps(dir: &BoardDir, temps: &[String]) {
    for name in temps {
        if let Err(error) = dir.remove(name) {
            tracing::debug!(error = %error, "A temporary file on the board could not be removed");
        }
    }
}

/// Whether `path` is there as a directory, which a board may also not be yet.
pub(crate) fn check(path: &Path) -> Result<(), BoardError> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => Err(reading(&std::io::Error::from_raw_os_error(
            rustix::io::Errno::NOTDIR.raw_os_error(),
        ))),
        _ => Ok(()),
    }
}
