//! The board: open, look, write.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_core::{Clock, Ids, Issue};
use jiff::Timestamp;

use crate::BoardError;
use crate::dir::{self, BoardDir, FileRead, Stamp};
use crate::format::{self, Change, FormatError};
use crate::id::{IdPrefix, Key};
use crate::index::{self, Index, format_message, next_number, read_for_change};
use crate::lock::BoardLock;
use crate::publish::Replaced;
use crate::snapshot::{Entry, Names, Snapshot};

/// How often a change is tried again when another program changed the issue at the same moment, and how many ids are
/// tried when another program takes the one that was next.
const TRIES: usize = 64;

/// Where a board is and what it allows.
#[derive(Clone, Debug)]
pub struct BoardOptions {
    /// The board's directory. It may be missing: then the board is empty, and the first write makes it.
    pub dir: PathBuf,
    /// What ids begin with.
    pub id_prefix: IdPrefix,
    /// How large things may be.
    pub limits: Limits,
    /// How long a write waits for another process that is writing.
    pub lock_patience: Duration,
    /// Whether to rely on the operating system's notifications. Without them, as on file systems that do not tell of
    /// every change, each answer looks at the times of every file.
    pub watch: bool,
}

impl BoardOptions {
    /// A board in `dir` with the ids `BOARD-<n>` and the usual limits.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            id_prefix: IdPrefix::default(),
            limits: Limits::default(),
            lock_patience: Duration::from_secs(10),
            watch: true,
        }
    }
}

/// How large the parts of an issue may be, in bytes of UTF-8.
///
/// What a caller gives beyond a limit is refused; a file beyond one is reported in `skipped`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A whole file, 4 MiB.
    pub file_bytes: u64,
    /// The front matter of a file, 64 KiB.
    pub front_matter_bytes: usize,
    /// A title that is given, 1,000.
    pub title_bytes: usize,
    /// A status that is given, 200.
    pub status_bytes: usize,
    /// A body that is given, 1 MiB.
    pub body_bytes: usize,
    /// A comment that is given, 256 KiB.
    pub comment_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 4 << 20,
            front_matter_bytes: 64 << 10,
            title_bytes: 1_000,
            status_bytes: 200,
            body_bytes: 1 << 20,
            comment_bytes: 256 << 10,
        }
    }
}

/// What a new issue is made of.
#[derive(Clone, Debug, Default)]
pub struct NewIssue {
    /// One line; line ends in it become spaces. Not blank.
    pub title: String,
    /// Markdown; blank is the same as none.
    pub body: Option<String>,
    /// The state's name, `Todo` where it is none or blank.
    pub status: Option<String>,
}

/// One issue as its file gives it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IssueFile {
    /// `BOARD-7`.
    pub id: String,
    /// The state's name.
    pub status: String,
    /// Blank where the file has no heading or an empty one.
    pub title: String,
    /// Blank where there is no text.
    pub description: String,
    /// `- <time> <author>: <text>`, one per comment, however many lines it has.
    pub comments: Vec<String>,
}

/// A local board: a directory with one Markdown file per issue.
///
/// Cheap to clone; clones share everything. Every call blocks for as long as the file system takes.
#[derive(Clone)]
pub struct Board {
    shared: Arc<Shared>,
}

struct Shared {
    options: BoardOptions,
    /// The directory with every symbolic link on the way resolved, once, when the board was opened.
    path: PathBuf,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    index: Mutex<Index>,
    /// As the index says it, for who does not hold it.
    quick: Arc<AtomicBool>,
    /// Held while this process writes: its threads wait here, not at the lock file.
    writing: Mutex<()>,
}

impl Board {
    /// Opens the board, reads every file of it and starts watching it.
    ///
    /// Symbolic links on the way to the directory are followed here and never again. A missing directory is an empty
    /// board; one that is no directory, or cannot be read, is an error.
    pub fn open(
        options: BoardOptions,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Self, BoardError> {
        index::check(&options.dir)?;
        let path = dir::resolve(&options.dir)
            .map_err(|error| BoardError::io("find the board directory", &error))?;
        let index = Index::new(path.clone(), &options);
        let board = Self {
            shared: Arc::new(Shared {
                options,
                path,
                clock,
                ids,
                quick: index.quick(),
                index: Mutex::new(index),
                writing: Mutex::new(()),
            }),
        };
        board.index().refresh()?;
        board.clean_up();
        Ok(board)
    }

    /// What ids begin with.
    pub fn id_prefix(&self) -> &IdPrefix {
        &self.shared.options.id_prefix
    }

    /// The board as it is now: a change any program finished before this call is in it.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, BoardError> {
        self.index().refresh().map(Arc::clone)
    }

    /// Whether a look at the board is likely over sooner than another thread would begin it: few issues, and nobody in
    /// the middle of reading files. A caller inside a runtime then need not hand the look to a blocking thread.
    pub fn is_quick(&self) -> bool {
        self.shared.quick.load(Ordering::Relaxed)
    }

    /// One issue with its comments.
    pub fn read(&self, id: &str) -> Result<IssueFile, BoardError> {
        let key = self.id_prefix().key(id)?;
        let snapshot = self.snapshot()?;
        let Some(entry) = snapshot.find(key) else {
            return Err(match snapshot.find_bad(key) {
                Some(bad) => BoardError::BadFile {
                    id: bad.skipped.id.clone(),
                    message: bad.skipped.error.clone(),
                },
                None => BoardError::NotFound { id: id.to_owned() },
            });
        };
        Ok(IssueFile {
            id: entry.id().to_owned(),
            status: entry.state().to_owned(),
            title: entry.raw_title().to_owned(),
            description: entry.description().unwrap_or_default().to_owned(),
            comments: entry.comments().to_vec(),
        })
    }

    /// Makes an issue, with the number after the highest one there is or ever was given out.
    pub fn create(&self, new: &NewIssue) -> Result<Issue, BoardError> {
        let limits = &self.shared.options.limits;
        let title = format::one_line(&new.title);
        if title.is_empty() {
            return Err(BoardError::InvalidInput(
                "The title must not be empty".to_owned(),
            ));
        }
        bounded("title", title.len(), limits.title_bytes)?;
        let body = new.body.as_deref().unwrap_or_default();
        bounded("body", body.len(), limits.body_bytes)?;
        let status = match format::trim(new.status.as_deref().unwrap_or_default()) {
            "" => "Todo",
            status => status,
        };
        bounded("status", status.len(), limits.status_bytes)?;
        let created = self.shared.clock.now();
        let text = format::write(status, created, &title, body);

        let _writing = self.writing();
        let dir = self.directory_made()?;
        let mut lock = BoardLock::acquire(&dir, self.shared.options.lock_patience)?;
        let mut highest = lock.highest();
        for _ in 0..TRIES {
            let number = {
                let mut index = self.index();
                index.refresh()?;
                highest = highest.max(index.highest());
                next_number(highest)?
            };
            let key = Key::new(number);
            let name = self.id_prefix().file_name(key);
            let made = dir
                .publish_new(&name, text.as_bytes(), &self.random())
                .map_err(|error| self.write_failed(key, &error))?;
            if let Some(stamp) = made {
                lock.set_highest(number);
                return self.issue(key, stamp, text.as_bytes(), created);
            }
            // A program that does not know the lock took this number.
            highest = number;
        }
        Err(BoardError::InvalidInput(format!(
            "failed to allocate a board id after {TRIES} attempts"
        )))
    }

    /// Gives the issue another status, trimmed; any name is allowed.
    pub fn set_status(&self, id: &str, status: &str) -> Result<Issue, BoardError> {
        let key = self.id_prefix().key(id)?;
        let status = format::trim(status);
        if status.is_empty() {
            return Err(BoardError::InvalidInput(format!(
                "board issue {id} status must not be empty"
            )));
        }
        bounded(
            "status",
            status.len(),
            self.shared.options.limits.status_bytes,
        )?;
        self.change(key, &Change::Status(status))
    }

    /// Adds a comment by `author`: `agent`, or the name of whoever it is.
    pub fn comment(&self, id: &str, author: &str, body: &str) -> Result<(), BoardError> {
        let key = self.id_prefix().key(id)?;
        check_author(author)?;
        if format::trim(body).is_empty() {
            return Err(BoardError::InvalidInput(
                "The comment must not be empty".to_owned(),
            ));
        }
        bounded(
            "comment",
            body.len(),
            self.shared.options.limits.comment_bytes,
        )?;
        let at = self.shared.clock.now();
        self.change(key, &Change::Comment { at, author, body })?;
        Ok(())
    }

    fn change(&self, key: Key, change: &Change<'_>) -> Result<Issue, BoardError> {
        let _writing = self.writing();
        let prefix = self.id_prefix();
        let limits = &self.shared.options.limits;
        let not_found = || BoardError::NotFound { id: prefix.id(key) };
        let dir = self.directory()?.ok_or_else(not_found)?;
        // Told before the lock is taken, so that a board that cannot be written still says what is missing.
        read_for_change(&dir, prefix, limits, key)?;
        let _lock = BoardLock::acquire(&dir, self.shared.options.lock_patience)?;
        for _ in 0..TRIES {
            let old = read_for_change(&dir, prefix, limits, key)?;
            let created = self.created(key, &old)?;
            let changed = format::change(&old.bytes, change, created, limits.front_matter_bytes)
                .map_err(|error| self.bad_file(key, &error))?;
            let Some(bytes) = changed else {
                return self.issue(key, old.stamp, &old.bytes, created);
            };
            if bytes.len() as u64 > limits.file_bytes {
                return Err(BoardError::InvalidInput(format!(
                    "Board issue {} would have {} bytes, at most {} are allowed",
                    prefix.id(key),
                    bytes.len(),
                    limits.file_bytes
                )));
            }
            let replaced = dir
                .replace(&prefix.file_name(key), &old, &bytes, &self.random())
                .map_err(|error| self.write_failed(key, &error))?;
            if let Replaced::Yes(stamp) = replaced {
                return self.issue(key, stamp, &bytes, created);
            }
        }
        Err(BoardError::Contended { id: prefix.id(key) })
    }

    /// When the issue was created, for a file that may not say so itself.
    fn created(&self, key: Key, old: &FileRead) -> Result<Timestamp, BoardError> {
        let mut index = self.index();
        let known = index.refresh()?.find(key).map(Entry::created);
        Ok(known.unwrap_or(old.born))
    }

    /// The issue that `bytes` are, as a write of this process left it.
    fn issue(
        &self,
        key: Key,
        stamp: Stamp,
        bytes: &[u8],
        created: Timestamp,
    ) -> Result<Issue, BoardError> {
        let text = format::read(bytes, self.shared.options.limits.front_matter_bytes)
            .map_err(|error| self.bad_file(key, &error))?;
        let created = text.created_at.unwrap_or(created);
        let id = self.id_prefix().id(key);
        let mut names = Names::default();
        Ok(Entry::new(key, &id, stamp, created, text, &mut names).to_issue())
    }

    fn bad_file(&self, key: Key, error: &FormatError) -> BoardError {
        let id = self.id_prefix().id(key);
        BoardError::BadFile {
            message: format_message(&id, error),
            id,
        }
    }

    fn write_failed(&self, key: Key, error: &std::io::Error) -> BoardError {
        BoardError::io(
            format!("write board issue {}", self.id_prefix().id(key)),
            error,
        )
    }

    /// The directory as it is now, or `None` where it is missing.
    fn directory(&self) -> Result<Option<BoardDir>, BoardError> {
        BoardDir::open(&self.shared.path)
            .map_err(|error| BoardError::io("open the board directory", &error))
    }

    fn directory_made(&self) -> Result<BoardDir, BoardError> {
        if let Some(dir) = self.directory()? {
            return Ok(dir);
        }
        dir::create_all(&self.shared.path)
            .map_err(|error| BoardError::io("make the board directory", &error))?;
        self.directory()?.ok_or_else(|| {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            BoardError::io("open the board directory", &missing)
        })
    }

    /// Removes what killed processes left behind. A board that is being written, or may not be, is left as it is.
    fn clean_up(&self) {
        let Ok(Some(dir)) = self.directory() else {
            return;
        };
        let left = |dir: &BoardDir| {
            dir.list(self.id_prefix())
                .map_or_else(|_| Vec::new(), |listing| listing.temps)
        };
        if left(&dir).is_empty() {
            return;
        }
        if let Ok(Some(_lock)) = BoardLock::try_acquire(&dir) {
            index::remove_stale_temps(&dir, &left(&dir));
        }
    }

    fn random(&self) -> String {
        self.shared.ids.hex(8)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        // Every change of the index is complete in itself, so one after a panic goes on with what is there.
        self.shared
            .index
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, ()> {
        self.shared
            .writing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn bounded(what: &str, given: usize, allowed: usize) -> Result<(), BoardError> {
    if given <= allowed {
        Ok(())
    } else {
        Err(BoardError::InvalidInput(format!(
            "The {what} has {given} bytes, at most {allowed} are allowed"
        )))
    }
}

/// A name that stands before the colon of a comment has to end there.
fn check_author(author: &str) -> Result<(), BoardError> {
    let fits = !author.is_empty()
        && author.len() <= 200
        && format::trim(author) == author
        && !author.chars().any(char::is_control)
        && !author.contains(": ")
        && !author.ends_with(':');
    if fits {
        Ok(())
    } else {
        let shown: String = author.chars().take(80).collect();
        Err(BoardError::InvalidInput(format!(
            "{shown:?} is not an author's name: expected 1 to 200 bytes on one line without `: `"
        )))
    }
}
