//! The parsed board, kept in step with its directory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;

use crate::BoardError;
use crate::board::{BoardOptions, Limits};
use crate::dir::{BoardDir, FileRead, Kind, Listing, ReadError, Stamp};
use crate::format::{self, FormatError};
use crate::id::{IdPrefix, Key, MAX_NUMBER};
use crate::snapshot::{Bad, Entry, Names, Skipped, Snapshot};
use crate::watch::Watch;

/// Fewer files than this are read by the asking thread alone.
const PARALLEL_FROM: usize = 64;

/// How many issues are looked through in less than a millisecond.
const QUICK: usize = 10_000;

/// The board's issues and what is needed to know whether they still are what they were.
pub(crate) struct Index {
    path: PathBuf,
    prefix: IdPrefix,
    limits: Limits,
    watched: bool,
    snapshot: Arc<Snapshot>,
    source: Option<Source>,
    /// Files that changed so shortly before they were read that their times alone cannot tell of another change.
    racy: BTreeSet<Key>,
    /// The highest number ever seen; it never falls, so that the id of a deleted issue is not given out again.
    highest: u64,
    quick: Arc<AtomicBool>,
}

struct Source {
    dir: BoardDir,
    watch: Option<Watch>,
}

/// What a file turned out to be.
enum Read {
    Issue(Entry),
    Bad(Bad),
    Gone,
}

impl Index {
    /// How many issues were there at the last look.
    fn len(&self) -> usize {
        self.snapshot.len()
    }

    /// An index of the directory at `path`, which is the one the options name with its links resolved.
    pub(crate) fn new(path: PathBuf, options: &BoardOptions) -> Self {
        let prefix = options.id_prefix.clone();
        Self {
            snapshot: Arc::new(Snapshot::empty(prefix.clone())),
            path,
            prefix,
            limits: options.limits.clone(),
            watched: options.watch,
            source: None,
            racy: BTreeSet::new(),
            highest: 0,
            quick: Arc::default(),
        }
    }

    /// Whether the next look is likely a quick one: few issues, and no files are being read. It can be asked while another
    /// thread holds the index.
    pub(crate) fn quick(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.quick)
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
                        let keys: Vec<_> = changes.keys.into_iter().collect();
                        self.reread(&keys, false);
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
        self.quick.store(self.len() <= QUICK, Ordering::Relaxed);
        Ok(&self.snapshot)
    }

    /// The highest number ever seen.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// The directory was made, replaced or removed.
    fn reopen(&mut self) -> Result<(), BoardError> {
        self.quick.store(false, Ordering::Relaxed);
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
        let watch = self.watched.then(|| Watch::start(&dir)).flatten();
        self.source = Some(Source { dir, watch });
        // Files of the directory that was there before say nothing about these.
        self.snapshot = Arc::new(Snapshot::empty(self.prefix.clone()));
        self.racy.clear();
        self.scan()
    }

    /// Looks at the times of every file, and reads those that changed.
    fn scan(&mut self) -> Result<(), BoardError> {
        self.quick.store(false, Ordering::Relaxed);
        let Some(source) = &self.source else {
            return Ok(());
        };
        let Listing {
            issues,
            too_large,
            all_files,
            ..
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
        self.reread(&changed, all_files);
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

    /// Reads the files of `keys`, in order, and takes over what they hold. `files` tells that the directory just called
    /// each of them a regular file.
    fn reread(&mut self, keys: &[Key], files: bool) {
        self.quick.store(false, Ordering::Relaxed);
        let Some(source) = &self.source else {
            return;
        };
        let now = machine_seconds();
        let reads = self.reader(&source.dir, files).read_all(keys);
        for (key, read) in keys.iter().zip(&reads) {
            self.note_times(*key, read, now);
        }
        let bulk = keys.len() > 1_000 && keys.len() > self.snapshot.len() / 4;
        let snapshot = Arc::make_mut(&mut self.snapshot);
        if bulk {
            take_over_bulk(snapshot, keys, reads);
        } else {
            for (key, read) in keys.iter().zip(reads) {
                match read {
                    Read::Issue(entry) => snapshot.put(entry),
                    Read::Bad(bad) => snapshot.put_bad(bad),
                    Read::Gone => snapshot.remove(*key),
                }
            }
        }
        let highest = self.snapshot.highest().map_or(0, |key| key.number);
        self.highest = self.highest.max(highest);
    }

    fn reader<'a>(&'a self, dir: &'a BoardDir, files: bool) -> Reader<'a> {
        Reader {
            dir,
            prefix: &self.prefix,
            limits: &self.limits,
            known: &self.snapshot,
            files,
        }
    }

    /// Remembers whether the times of a file that was just read can be trusted.
    fn note_times(&mut self, key: Key, read: &Read, now: i64) {
        let stamp = match read {
            Read::Issue(entry) => Some(entry.stamp()),
            Read::Bad(bad) => bad.stamp.as_ref(),
            Read::Gone => None,
        };
        if stamp.is_some_and(|stamp| stamp.is_racy(now)) {
            self.racy.insert(key);
        } else {
            self.racy.remove(&key);
        }
    }
}

/// As one by one, but without moving the issues behind each.
fn take_over_bulk(snapshot: &mut Snapshot, keys: &[Key], reads: Vec<Read>) {
    let kept = |key: Key| keys.binary_search(&key).is_err();
    let mut entries = Vec::with_capacity(reads.len());
    entries.extend(snapshot.iter().filter(|entry| kept(entry.key())).cloned());
    let mut bad: Vec<Bad> = snapshot
        .bad()
        .iter()
        .filter(|bad| kept(bad.key))
        .cloned()
        .collect();
    for read in reads {
        match read {
            Read::Issue(entry) => entries.push(entry),
            Read::Bad(found) => bad.push(found),
            Read::Gone => {}
        }
    }
    entries.sort_by_key(Entry::key);
    bad.sort_by_key(|bad| bad.key);
    snapshot.replace_all(entries, bad);
}

/// Reads files of one directory.
#[derive(Clone, Copy)]
struct Reader<'a> {
    dir: &'a BoardDir,
    prefix: &'a IdPrefix,
    limits: &'a Limits,
    /// What was known of the issues before.
    known: &'a Snapshot,
    files: bool,
}

impl Reader<'_> {
    /// Reads the files of `keys` over all cores.
    fn read_all(self, keys: &[Key]) -> Vec<Read> {
        let some = |keys: &[Key]| -> Vec<Read> {
            let mut names = Names::default();
            keys.iter().map(|key| self.read(*key, &mut names)).collect()
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if keys.len() < PARALLEL_FROM || cores == 1 {
            return some(keys);
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = keys
                .chunks(keys.len().div_ceil(cores))
                .map(|part| scope.spawn(move || some(part)))
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

    fn read(self, key: Key, names: &mut Names) -> Read {
        let name = self.prefix.file_name(key);
        let id = name.strip_suffix(".md").unwrap_or(&name);
        let max = self.limits.file_bytes;
        let read = if self.files {
            self.dir.read_listed(&name, max)
        } else {
            self.dir.read(&name, max)
        };
        match read {
            Ok(None) => Read::Gone,
            Ok(Some(file)) => match format::read(&file.bytes, self.limits.front_matter_bytes) {
                Ok(text) => {
                    let created = self.created(key, text.created_at, file.born);
                    Read::Issue(Entry::new(key, id, file.stamp, created, text, names))
                }
                Err(error) => bad(key, Some(file.stamp), id, format_message(id, &error)),
            },
            Err(error) => {
                let stamp = self.dir.stamp(&name).ok().flatten();
                bad(key, stamp, id, read_message(id, &error, self.limits))
            }
        }
    }

    /// When the issue was created: what its file says, else the earliest birth of a file of its id that was seen. An
    /// editor that saves by replacing the file does not make the issue younger.
    fn created(self, key: Key, said: Option<Timestamp>, born: Timestamp) -> Timestamp {
        said.unwrap_or_else(|| {
            let known = self.known.find(key).map(Entry::created);
            known.map_or(born, |known| known.min(born))
        })
    }
}

fn bad(key: Key, stamp: Option<Stamp>, id: &str, error: String) -> Read {
    Read::Bad(Bad {
        key,
        stamp,
        skipped: Skipped {
            id: id.to_owned(),
            error,
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changed_a_moment_ago_is_read_again_although_its_times_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        std::fs::write(path.join("BOARD-1.md"), "---\nstatus: Todo\n---\n").unwrap();
        let mut options = BoardOptions::new(&path);
        options.watch = false;
        let mut index = Index::new(path, &options);
        assert_eq!(index.refresh().unwrap().len(), 1);
        let key = Key::new(1);
        let dir = &index.source.as_ref().unwrap().dir;
        assert!(index.racy.contains(&key));
        assert!(index.differs(dir, key));
        index.racy.clear();
        let dir = &index.source.as_ref().unwrap().dir;
        assert!(!index.differs(dir, key));
        assert!(index.differs(dir, Key::new(2)));
    }
}
