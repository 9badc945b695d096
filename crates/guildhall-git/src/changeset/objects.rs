//! Objects that are being made, and how they get onto the disk.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use gix::ObjectId;
use gix::hash::Kind::Sha1;
use gix::objs::{Data, Kind};

use super::pack;
use crate::error::GitError;
use crate::hosting::{Hosted, io_error};
use crate::object::{CommitRef, Entries, Mode};
use crate::repository::{Reader, damaged};

/// The most objects that are written as a file each; more go into one pack, as git does with what is pushed.
const MOST_LOOSE: usize = 100;
/// How many files are brought to the disk at once: the file system does it in one go.
const SYNCED_AT_ONCE: usize = 8;

/// The objects of a repository and the new ones that are only in memory yet.
pub(super) struct Objects<'r> {
    reader: &'r Reader,
    new: RefCell<HashMap<ObjectId, (Kind, Vec<u8>)>>,
}

/// What stands at a path.
#[derive(Debug)]
pub(super) enum Walk {
    Found(Mode, ObjectId),
    Absent,
    /// Something that is no directory stands where a directory is needed.
    Blocked {
        at: Vec<u8>,
        mode: Mode,
    },
}

impl<'r> Objects<'r> {
    pub(super) fn new(reader: &'r Reader) -> Self {
        Self {
            reader,
            new: RefCell::default(),
        }
    }

    pub(super) fn reader(&self) -> &'r Reader {
        self.reader
    }

    /// Takes in an object.
    pub(super) fn add(&self, kind: Kind, bytes: Vec<u8>) -> Result<ObjectId, GitError> {
        let id = gix::objs::compute_hash(Sha1, kind, &bytes)
            .map_err(|error| damaged("An object")(error))?;
        self.new.borrow_mut().insert(id, (kind, bytes));
        Ok(id)
    }

    /// The content of `id`, which must be a `kind`, into `buffer`.
    pub(super) fn expect(
        &self,
        id: &ObjectId,
        kind: Kind,
        buffer: &mut Vec<u8>,
    ) -> Result<(), GitError> {
        if let Some((found, bytes)) = self.new.borrow().get(id)
            && *found == kind
        {
            buffer.clear();
            buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.reader.expect(id, kind, buffer)
    }

    pub(super) fn tree(&self, id: ObjectId) -> Result<gix::objs::Tree, GitError> {
        let mut bytes = Vec::new();
        self.expect(&id, Kind::Tree, &mut bytes)?;
        let tree = gix::objs::TreeRef::from_bytes(&bytes, Sha1);
        tree.map(Into::into)
            .map_err(|error| damaged(&id.to_string())(error))
    }

    /// What stands at `path` under the tree `root`.
    pub(super) fn walk(&self, root: ObjectId, path: &[u8]) -> Result<Walk, GitError> {
        let mut buffer = Vec::new();
        let mut found = (Mode::TREE, root);
        let mut at = 0;
        for name in path.split(|&byte| byte == b'/') {
            if !found.0.is_tree() {
                return Ok(Walk::Blocked {
                    at: path[..at - 1].to_vec(),
                    mode: found.0,
                });
            }
            self.expect(&found.1, Kind::Tree, &mut buffer)?;
            match Entries(&buffer).find(|entry| entry.name == name) {
                Some(entry) => found = (entry.mode, entry.id),
                None => return Ok(Walk::Absent),
            }
            at += name.len() + 1;
        }
        Ok(Walk::Found(found.0, found.1))
    }

    /// The new objects that `commit` needs, itself last.
    fn needed_by(&self, commit: ObjectId) -> Vec<ObjectId> {
        let new = self.new.borrow();
        let (mut needed, mut seen) = (Vec::new(), HashSet::new());
        let mut left = vec![commit];
        while let Some(id) = left.pop() {
            let Some((kind, bytes)) = new.get(&id).filter(|_| seen.insert(id)) else {
                continue;
            };
            needed.push(id);
            match kind {
                Kind::Commit => {
                    if let Some(commit) = CommitRef::parse(bytes) {
                        left.push(commit.tree);
                        left.extend(commit.parents);
                    }
                }
                Kind::Tree => left.extend(Entries(bytes).map(|entry| entry.id)),
                Kind::Blob | Kind::Tag => {}
            }
        }
        needed.reverse();
        needed
    }

    /// Brings `commit` and everything new that it needs onto the disk.
    pub(super) fn store(&self, hosted: &Hosted, commit: ObjectId) -> Result<(), GitError> {
        let needed = self.needed_by(commit);
        let new = self.new.borrow();
        let all: Vec<(ObjectId, Kind, &[u8])> = needed
            .iter()
            .filter_map(|id| new.get(id).map(|(kind, bytes)| (*id, *kind, &bytes[..])))
            .collect();
        if all.len() > MOST_LOOSE {
            return pack::store(hosted, &all);
        }
        let dir = hosted.repository().dir().join("objects");
        store_loose(&dir, &all)
    }

    /// Writes `commit` and everything new that it needs into a directory of objects that is only looked at once, so
    /// nothing waits for the disk.
    pub(super) fn write_aside(&self, dir: &Path, commit: ObjectId) -> Result<(), GitError> {
        let new = self.new.borrow();
        for id in self.needed_by(commit) {
            if let Some((kind, bytes)) = new.get(&id) {
                let path = loose_path(dir, &id);
                write_loose(&path, *kind, bytes, false).map_err(io_error("write", &path))?;
            }
        }
        Ok(())
    }

    /// Takes in what git wrote into a directory of objects.
    pub(super) fn take_in(&self, dir: &Path) -> Result<(), GitError> {
        let store = gix::odb::loose::Store::at(dir, Sha1);
        for id in store.iter() {
            let id = id.map_err(|error| damaged("A merged object")(error))?;
            if self.new.borrow().contains_key(&id) {
                continue;
            }
            let mut buffer = Vec::new();
            let found = store.try_find(&id, &mut buffer);
            let found = found.map_err(|error| damaged(&id.to_string())(error))?;
            if let Some(data) = found {
                let object = (data.kind, data.data.to_vec());
                self.new.borrow_mut().insert(id, object);
            }
        }
        Ok(())
    }
}

impl gix::objs::Find for Objects<'_> {
    fn try_find<'a>(
        &self,
        id: &gix::oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::Result<Option<Data<'a>>> {
        if let Some((kind, bytes)) = self.new.borrow().get(id) {
            buffer.clear();
            buffer.extend_from_slice(bytes);
            return Ok(Some(Data::new(buffer, *kind, Sha1)));
        }
        gix::objs::Find::try_find(&self.reader.repo.objects, id, buffer)
    }
}

fn loose_path(objects: &Path, id: &ObjectId) -> PathBuf {
    let hex = id.to_string();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// Writes a file for each object and returns when all of them are on the disk, their names too.
fn store_loose(dir: &Path, objects: &[(ObjectId, Kind, &[u8])]) -> Result<(), GitError> {
    let mut folders: Vec<PathBuf> = objects
        .iter()
        .filter_map(|(id, _, _)| loose_path(dir, id).parent().map(Path::to_owned))
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let mut fresh = false;
    for folder in &folders {
        fresh |= made(folder).map_err(io_error("create", folder))?;
    }
    at_once(objects, |(id, kind, bytes)| {
        let path = loose_path(dir, id);
        // A file that is there already may be there since a moment ago: it is brought to the disk as well.
        let written = match File::open(&path) {
            Ok(there) => there.sync_all(),
            Err(_) => write_loose(&path, *kind, bytes, true),
        };
        written.map_err(io_error("write", &path))
    })?;
    at_once(&folders, |folder| synced(folder))?;
    if fresh {
        synced(dir)?;
    }
    Ok(())
}

/// Makes a folder that may be there, and says whether it was not.
fn made(folder: &Path) -> io::Result<bool> {
    match fs::create_dir(folder) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits until the names in `folder` are on the disk.
pub(super) fn synced(folder: &Path) -> Result<(), GitError> {
    let done = File::open(folder).and_then(|folder| folder.sync_all());
    done.map_err(io_error("write", folder))
}

/// Does `work` for every item on a few threads.
fn at_once<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> Result<(), GitError> + Sync,
) -> Result<(), GitError> {
    let share = items.len().div_ceil(SYNCED_AT_ONCE).max(1);
    thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = items
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().try_for_each(work)))
            .collect();
        running.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(damaged("An object")("writing it panicked")))
        })
    })
}

/// Writes one object's file beside its place and moves it there.
fn write_loose(path: &Path, kind: Kind, bytes: &[u8], durable: bool) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    if !durable {
        made(folder)?;
    }
    let mut file = tempfile::Builder::new()
        .prefix("tmp_obj_")
        .permissions(fs::Permissions::from_mode(0o444))
        .tempfile_in(folder)?;
    let header = gix::objs::encode::loose_header(kind, bytes.len() as u64);
    file.write_all(&deflated(&[&header, bytes])?)?;
    if durable {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The parts as one zlib stream.
pub(super) fn deflated(parts: &[&[u8]]) -> io::Result<Vec<u8>> {
    let fast = gix::zlib::Compression::BEST_SPEED;
    let mut stream = gix::zlib::stream::deflate::Write::new(Vec::new(), fast);
    for part in parts {
        stream.write_all(part)?;
    }
    stream.flush()?;
    Ok(stream.into_inner())
}
