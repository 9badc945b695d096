//! The board's directory, held open: every file is reached from its handle by name, never by a path.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::id::{IdPrefix, Key, Name, shortened};
use crate::publish::temp_name;

/// Which directory or file this is, whatever its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// What tells one content of a file from the next without reading it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    inode: u64,
    size: i64,
    kind: Kind,
    pub(crate) modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Whether both are of one file, whatever it held.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        self.inode == other.inode
    }

    /// Whether the file changed so shortly before `read_at` (seconds) that a later change could carry the same times.
    pub(crate) fn is_racy(&self, read_at: i64) -> bool {
        // The coarsest clock of a file system in use ticks every two seconds.
        self.modified.0.max(self.changed.0) >= read_at - 3
    }

    /// The last change of the content, or the start of 1970 where the file carries no time a clock can show.
    pub(crate) fn modified_at(&self) -> Timestamp {
        let nanos = i32::try_from(self.modified.1).unwrap_or(0);
        Timestamp::new(self.modified.0, nanos).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    File,
    Directory,
    Symlink,
    Other,
}

impl Kind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            _ => Self::Other,
        }
    }
}

/// A file that was read.
pub(crate) struct FileRead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
    /// When the file system says the file was made; where it does not know, when its content last changed.
    pub(crate) born: Timestamp,
    pub(crate) owner: Owner,
}

/// The rights of a file.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) mode: u32,
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// Why a name could not be read as a file.
pub(crate) enum ReadError {
    Kind(Kind),
    TooLarge { size: u64 },
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What a directory holds of a board.
pub(crate) struct Listing {
    /// Everything named like an issue, whatever it is.
    pub(crate) issues: Vec<Key>,
    /// Whether the directory itself told that each of these is a regular file.
    pub(crate) all_files: bool,
    /// Names like an issue's, but of too large a number.
    pub(crate) too_large: Vec<String>,
    /// Temporary files of this program.
    pub(crate) temps: Vec<String>,
}

/// An open directory.
pub(crate) struct BoardDir {
    handle: OwnedFd,
    pub(crate) identity: Identity,
}

impl BoardDir {
    /// Opens `path`, which was resolved before, without following a symbolic link; `None` where nothing is there.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let handle = match open_directory(path) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let identity = identity(&rustix::fs::fstat(&handle)?);
        Ok(Some(Self { handle, identity }))
    }

    /// Whether `path` still is this directory.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| identity(&stat) == self.identity)
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Reads the names in the directory.
    pub(crate) fn list(&self, prefix: &IdPrefix) -> io::Result<Listing> {
        let mut listing = Listing {
            issues: Vec::new(),
            all_files: true,
            too_large: Vec::new(),
            temps: Vec::new(),
        };
        for entry in rustix::fs::Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            match prefix.file(name) {
                Some(Name::Issue(key)) => {
                    listing.all_files &= entry.file_type() == FileType::RegularFile;
                    listing.issues.push(key);
                }
                Some(Name::TooLarge) => listing.too_large.push(shortened(name)),
                None => {
                    listing.temps.extend(temp_name(name));
                }
            }
        }
        listing.issues.sort_unstable();
        listing.too_large.sort_unstable();
        Ok(listing)
    }

    /// The stamp of the file `name`, or `None` where there is none.
    pub(crate) fn stamp(&self, name: &str) -> io::Result<Option<Stamp>> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stamp(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the file `name`, or tells why not; `None` where there is none. Only a regular file is ever opened.
    pub(crate) fn read(&self, name: &str, max: u64) -> Result<Option<FileRead>, ReadError> {
        // Opening a device can do things, so what is no file is not opened at all.
        match self.stamp(name)? {
            None => Ok(None),
            Some(stamp) if stamp.kind != Kind::File => Err(ReadError::Kind(stamp.kind)),
            Some(_) => self.read_listed(name, max),
        }
    }

    /// Reads the file `name`, which the directory or a look at it told to be a regular file a moment ago.
    pub(crate) fn read_listed(&self, name: &str, max: u64) -> Result<Option<FileRead>, ReadError> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => return Err(ReadError::Kind(Kind::Symlink)),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        // What was opened may be another file than the one that was looked at.
        let Facts { stamp, born, owner } = facts(&file)?;
        if stamp.kind != Kind::File {
            return Err(ReadError::Kind(stamp.kind));
        }
        let size = u64::try_from(stamp.size).unwrap_or(u64::MAX);
        if size > max {
            return Err(ReadError::TooLarge { size });
        }
        let bytes = read_bytes(&file, size, max)?;
        if bytes.len() as u64 > max {
            return Err(ReadError::TooLarge {
                size: bytes.len() as u64,
            });
        }
        Ok(Some(FileRead {
            bytes,
            stamp,
            born: born.unwrap_or_else(|| stamp.modified_at()),
            owner,
        }))
    }

    /// Opens the file that the board's lock is held on, making it where it is missing.
    pub(crate) fn open_lock(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(
            &self.handle,
            name,
            flags,
            Mode::from_raw_mode(0o666),
        )?);
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(file)
    }

    /// Whether the name `name` still is the open file `file`.
    pub(crate) fn is_same(&self, name: &str, file: &File) -> io::Result<bool> {
        let open = rustix::fs::fstat(file)?;
        Ok(
            match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(named) => identity(&named) == identity(&open),
                Err(_) => false,
            },
        )
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }
}

#[cfg(target_os = "linux")]
fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    ) {
        // Older than Linux 5.6, or not let through by a sandbox: only the last part of the path is checked.
        Err(Errno::NOSYS | Errno::PERM) => {
            rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Resolves the symbolic links on the way to `path` as far as it exists.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut missing = Vec::new();
    let mut known = path.as_path();
    loop {
        match known.canonicalize() {
            Ok(mut resolved) => {
                resolved.extend(missing.iter().rev());
                return Ok(resolved);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link whose target is missing is no place to make a directory in.
                if known.symlink_metadata().is_ok() {
                    return Err(error);
                }
                let (Some(parent), Some(name)) = (known.parent(), known.file_name()) else {
                    return Err(error);
                };
                missing.push(name.to_owned());
                known = parent;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Makes the directory `path` and the missing ones above it, each written down in its parent.
pub(crate) fn create_all(path: &Path) -> io::Result<()> {
    match std::fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().ok_or(error)?;
            create_all(parent)?;
            match std::fs::create_dir(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Err(error) => return Err(error),
    }
    if let Some(parent) = path.parent() {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

pub(crate) fn identity(stat: &Stat) -> Identity {
    Identity {
        device: number(stat.st_dev),
        inode: number(stat.st_ino),
    }
}

/// Reads a file of `size` bytes, and at most one byte more than `max` of one that grows meanwhile.
fn read_bytes(file: &File, size: u64, max: u64) -> io::Result<Vec<u8>> {
    let room = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    let mut bytes = vec![0; room];
    let mut read = 0;
    // A regular file gives less than what was asked for only at its end.
    loop {
        match (&*file).read(&mut bytes[read..]) {
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        break;
    }
    bytes.truncate(read);
    if read == room {
        file.take((max + 1).saturating_sub(read as u64))
            .read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// What is known of an open file.
struct Facts {
    stamp: Stamp,
    born: Option<Timestamp>,
    owner: Owner,
}

#[cfg(target_os = "linux")]
fn facts(file: &File) -> io::Result<Facts> {
    use rustix::fs::{StatxFlags, StatxTimestamp};
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let stat = match rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted) {
        Ok(stat) => stat,
        // Older than Linux 4.11, or not let through by a sandbox.
        Err(Errno::NOSYS | Errno::PERM) => return portable_facts(file),
        Err(error) => return Err(error.into()),
    };
    let time = |time: StatxTimestamp| (time.tv_sec, i64::from(time.tv_nsec));
    let born = stat.stx_btime;
    Ok(Facts {
        stamp: Stamp {
            inode: stat.stx_ino,
            size: number(stat.stx_size),
            kind: Kind::of(FileType::from_raw_mode(stat.stx_mode.into())),
            modified: time(stat.stx_mtime),
            changed: time(stat.stx_ctime),
        },
        born: (stat.stx_mask & StatxFlags::BTIME.bits() != 0)
            .then(|| Timestamp::new(born.tv_sec, number(born.tv_nsec)).ok())
            .flatten(),
        owner: Owner {
            mode: stat.stx_mode.into(),
            user: stat.stx_uid,
            group: stat.stx_gid,
        },
    })
}

#[cfg(not(target_os = "linux"))]
fn facts(file: &File) -> io::Result<Facts> {
    portable_facts(file)
}

fn portable_facts(file: &File) -> io::Result<Facts> {
    let metadata = file.metadata()?;
    Ok(Facts {
        stamp: stamp_of(file)?,
        born: metadata
            .created()
            .ok()
            .and_then(|time| Timestamp::try_from(time).ok()),
        owner: Owner {
            mode: metadata.mode(),
            user: metadata.uid(),
            group: metadata.gid(),
        },
    })
}

pub(crate) fn stamp_of(file: &File) -> io::Result<Stamp> {
    Ok(stamp(&rustix::fs::fstat(file)?))
}

fn stamp(stat: &Stat) -> Stamp {
    Stamp {
        inode: number(stat.st_ino),
        size: number(stat.st_size),
        kind: Kind::of(FileType::from_raw_mode(stat.st_mode)),
        modified: (number(stat.st_mtime), number(stat.st_mtime_nsec)),
        changed: (number(stat.st_ctime), number(stat.st_ctime_nsec)),
    }
}

/// The fields of a `stat` have other integer types on each system; none holds a number the other cannot.
pub(crate) fn number<T: Default>(value: impl TryInto<T>) -> T {
    value.try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_name_that_was_swapped_after_the_look_at_it_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let dir = BoardDir::open(&path.canonicalize().unwrap())
            .unwrap()
            .unwrap();
        symlink("/etc/passwd", path.join("link")).unwrap();
        std::fs::create_dir(path.join("directory")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(path.join("pipe"))
            .status();
        assert!(made.unwrap().success());
        for (name, kind) in [
            ("link", Kind::Symlink),
            ("directory", Kind::Directory),
            ("pipe", Kind::Other),
        ] {
            let read = dir.read_listed(name, 1_000);
            assert!(
                matches!(read, Err(ReadError::Kind(found)) if found == kind),
                "{name}"
            );
        }
        assert!(
            dir.read_listed("missing", 1_000)
                .unwrap_or_else(|_| panic!())
                .is_none()
        );
    }

    #[test]
    fn only_old_times_are_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        let stamp = stamp_of(&file).unwrap();
        let changed = stamp.changed.0;
        // Times of the content can be set to anything, those of the change cannot.
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let stamp = stamp_of(&file).unwrap();
        assert_eq!(stamp.modified, (0, 0));
        for (seconds_later, racy) in [(-60, true), (0, true), (3, true), (10, false)] {
            assert_eq!(
                stamp.is_racy(changed + seconds_later),
                racy,
                "{seconds_later}"
            );
        }
    }
}
