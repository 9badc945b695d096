//! An opened repository.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;
use gix::prelude::{Find as _, Header as _};

use crate::drift::Drifts;
use crate::error::GitError;
use crate::history::Histories;
use crate::object::{CommitRef, Entries, Mode};

/// Settings of the reading library, ranked above whatever the repository says.
const SETTINGS: [&str; 2] = [
    // What one reader may keep of unpacked objects, so that a delta's base is not unpacked again and again.
    "core.deltaBaseCacheLimit=48m",
    // The largest object that is ever unpacked: a few bytes on disk can claim to be gigabytes.
    "gitoxide.objects.allocLimit=256m",
];
/// What one reader may keep of whole objects; trees and commits are read often.
const OBJECT_CACHE: usize = 24 * 1024 * 1024;
/// How many readers stay ready for the next call.
const IDLE_READERS: usize = 2;

/// A repository, opened isolated: neither the environment nor anybody's configuration but its own is read, nothing is
/// ever run, and it may borrow no objects from elsewhere.
///
/// It is shared between threads; each call takes a reader with caches of its own.
#[derive(Debug)]
pub struct Repository {
    dir: PathBuf,
    shared: gix::ThreadSafeRepository,
    idle: Mutex<Vec<gix::Repository>>,
    pub(crate) histories: Mutex<Histories>,
    pub(crate) drifts: Mutex<Drifts>,
}

impl Repository {
    /// Opens the repository at `dir`, which must itself be a git directory (bare, or the `.git` of a checkout).
    ///
    /// # Errors
    /// [`GitError::NotARepository`] and [`GitError::Alternates`].
    pub fn open(dir: &Path) -> Result<Self, GitError> {
        refuse_alternates(dir)?;
        let shared = gix::open::Options::isolated()
            .open_path_as_is(true)
            // Reduced trust: the library takes no setting from the repository's own configuration.
            .with(gix::sec::Trust::Reduced)
            .cli_overrides(SETTINGS)
            .open(dir)
            .map_err(|error| GitError::NotARepository {
                path: dir.to_owned(),
                reason: error.to_string(),
            })?;
        Ok(Self {
            dir: dir.to_owned(),
            shared,
            idle: Mutex::default(),
            histories: Mutex::default(),
            drifts: Mutex::default(),
        })
    }

    /// The directory it was opened at.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The tip of the default branch; `None` while that has no commit.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when the branch cannot be read.
    pub fn tip(&self) -> Result<Option<ObjectId>, GitError> {
        self.read(Reader::tip)
    }

    /// The name of the default branch, such as `main`; `None` when `HEAD` is detached.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when `HEAD` cannot be read.
    pub fn default_branch(&self) -> Result<Option<String>, GitError> {
        self.read(|reader| {
            let name = reader.repo.head_name().map_err(damaged("HEAD"))?;
            Ok(name.map(|name| name.shorten().to_string()))
        })
    }

    /// What the ref with this full name points to; `None` when there is none.
    pub(crate) fn ref_target(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        self.read(|reader| {
            let found = reader.repo.try_find_reference(name);
            let Some(mut reference) = found.map_err(damaged(name))? else {
                return Ok(None);
            };
            let id = reference.follow_to_object().map_err(damaged(name))?;
            Ok(Some(id.detach()))
        })
    }

    /// The refs whose name begins with `prefix`, with what they point to. Names that are not UTF-8 are left out.
    pub(crate) fn refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>, GitError> {
        self.read(|reader| {
            let all = reader.repo.references().map_err(damaged("The refs"))?;
            let mut refs = Vec::new();
            for reference in all.prefixed(prefix).map_err(damaged("The refs"))? {
                let reference = reference.map_err(damaged("A ref"))?;
                let name = std::str::from_utf8(reference.name().as_bstr());
                if let (Ok(name), Some(id)) = (name, reference.try_id()) {
                    refs.push((name.to_owned(), id.detach()));
                }
            }
            Ok(refs)
        })
    }

    /// Moves the ref `name` to the commit `new` if it is at `expected` (`None`: if there is no such ref).
    pub(crate) fn move_ref(
        &self,
        name: &str,
        expected: Option<ObjectId>,
        new: ObjectId,
    ) -> Result<(), GitError> {
        use gix::refs::Target;
        use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit};
        self.read(|reader| {
            match reader.header(&new)? {
                Some((Kind::Commit, _)) => {}
                _ => return Err(damaged(name)(format!("{new} is no commit here"))),
            }
            let change = Change::Update {
                log: LogChange::default(),
                expected: match expected {
                    Some(old) => PreviousValue::MustExistAndMatch(Target::Object(old)),
                    None => PreviousValue::MustNotExist,
                },
                new: Target::Object(new),
            };
            let name_of_ref = name.try_into().map_err(damaged(name))?;
            let edit = RefEdit::new(name_of_ref, change);
            let done = reader.repo.edit_references_as([edit], None);
            done.map(drop).map_err(damaged(name))
        })
    }

    /// Runs `work` with a reader that no other thread has.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Reader) -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let ready = self.idle().pop();
        let repo = ready.unwrap_or_else(|| {
            let mut repo = self.shared.to_thread_local();
            repo.object_cache_size(OBJECT_CACHE);
            repo
        });
        let shallow = repo.shallow_commits().map_err(damaged("shallow"))?;
        let reader = Reader {
            shallow: shallow.map_or_else(Vec::new, |edge| edge.iter().copied().collect()),
            repo,
        };
        let answer = work(&reader);
        let mut idle = self.idle();
        if idle.len() < IDLE_READERS {
            idle.push(reader.repo);
        }
        answer
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<gix::Repository>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A repository that takes objects from another would show what its owner was never given.
pub(crate) fn refuse_alternates(dir: &Path) -> Result<(), GitError> {
    for name in ["alternates", "http-alternates"] {
        let path = dir.join("objects/info").join(name);
        if path.symlink_metadata().is_ok() {
            return Err(GitError::Alternates { path });
        }
    }
    Ok(())
}

/// Makes a [`GitError::Damaged`] of what could not be read.
pub(crate) fn damaged<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> GitError + '_ {
    move |error| GitError::Damaged {
        what: what.to_owned(),
        reason: error.to_string(),
    }
}

/// What a tag is of in the end.
pub(crate) enum Peeled {
    Commit(ObjectId),
    /// Something that is no commit.
    Other(Kind),
    /// The repository has no such object.
    Absent,
}

/// One thread's view of the repository.
pub(crate) struct Reader {
    pub(crate) repo: gix::Repository,
    /// The commits at the edge of a shallow clone, whose parents are not here.
    pub(crate) shallow: Vec<ObjectId>,
}

impl Reader {
    pub(crate) fn tip(&self) -> Result<Option<ObjectId>, GitError> {
        let head = self.repo.head().map_err(damaged("HEAD"))?;
        let id = head.id().map(gix::Id::detach);
        id.map(|id| self.peel_to_commit(id)).transpose()
    }

    /// The object `id`, into `buffer`; its kind, or `None` when it is absent.
    pub(crate) fn find(
        &self,
        id: &ObjectId,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Kind>, GitError> {
        if id.is_empty_tree() {
            buffer.clear();
            return Ok(Some(Kind::Tree));
        }
        let (kind, length) = match self.repo.objects.try_find(id, buffer) {
            Ok(found) => match found {
                Some(data) => (data.kind, data.data.len()),
                None => return Ok(None),
            },
            Err(error) => return Err(damaged(&id.to_string())(error)),
        };
        buffer.truncate(length);
        Ok(Some(kind))
    }

    /// The kind and size of `id` without its content, or `None` when it is absent.
    pub(crate) fn header(&self, id: &ObjectId) -> Result<Option<(Kind, u64)>, GitError> {
        let header = self.repo.objects.try_header(id);
        let header = header.map_err(|error| damaged(&id.to_string())(error))?;
        Ok(header.map(|header| (header.kind(), header.size())))
    }

    /// The content of `id`, which must be a `kind`, into `buffer`.
    pub(crate) fn expect(
        &self,
        id: &ObjectId,
        kind: Kind,
        buffer: &mut Vec<u8>,
    ) -> Result<(), GitError> {
        match self.find(id, buffer)? {
            Some(found) if found == kind => Ok(()),
            Some(found) => Err(damaged(&id.to_string())(format!(
                "it is a {found} where a {kind} belongs"
            ))),
            None => Err(damaged(&id.to_string())("it is missing")),
        }
    }

    /// The commit `id`, borrowed from `buffer`.
    pub(crate) fn commit<'a>(
        &self,
        id: &ObjectId,
        buffer: &'a mut Vec<u8>,
    ) -> Result<CommitRef<'a>, GitError> {
        self.expect(id, Kind::Commit, buffer)?;
        CommitRef::parse(buffer).ok_or_else(|| damaged(&id.to_string())("it names no tree"))
    }

    /// The commit that `id` is, or that it is a tag of.
    pub(crate) fn peel_to_commit(&self, id: ObjectId) -> Result<ObjectId, GitError> {
        match self.peel(id)? {
            Peeled::Commit(commit) => Ok(commit),
            Peeled::Other(kind) => Err(damaged(&id.to_string())(format!(
                "it is a {kind} where a commit belongs"
            ))),
            Peeled::Absent => Err(damaged(&id.to_string())("it is missing")),
        }
    }

    /// Follows tags from `id` to what they are of.
    pub(crate) fn peel(&self, id: ObjectId) -> Result<Peeled, GitError> {
        /// A chain of tags longer than this was made to waste time.
        const TAGS: usize = 16;
        let mut buffer = Vec::new();
        let mut current = id;
        for _ in 0..TAGS {
            match self.find(&current, &mut buffer)? {
                Some(Kind::Commit) => return Ok(Peeled::Commit(current)),
                Some(Kind::Tag) => {
                    let target = buffer
                        .strip_prefix(b"object ")
                        .and_then(|rest| rest.get(..40))
                        .and_then(|hex| ObjectId::from_hex(hex).ok());
                    current = target
                        .ok_or_else(|| damaged(&current.to_string())("the tag has no target"))?;
                }
                Some(kind) => return Ok(Peeled::Other(kind)),
                None if current == id => return Ok(Peeled::Absent),
                None => return Err(damaged(&current.to_string())("it is missing")),
            }
        }
        Err(damaged(&id.to_string())("the chain of tags is too long"))
    }

    /// The entry at `path` under the tree `root`; the root itself for an empty path. `None` when there is none.
    pub(crate) fn entry_at(
        &self,
        root: ObjectId,
        path: &[u8],
        buffer: &mut Vec<u8>,
    ) -> Result<Option<(Mode, ObjectId)>, GitError> {
        let mut found = (Mode::TREE, root);
        if path.is_empty() {
            return Ok(Some(found));
        }
        for name in path.split(|&byte| byte == b'/') {
            if !found.0.is_tree() {
                return Ok(None);
            }
            self.expect(&found.1, Kind::Tree, buffer)?;
            match Entries(buffer).find(|entry| entry.name == name) {
                Some(entry) => found = (entry.mode, entry.id),
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }
}
