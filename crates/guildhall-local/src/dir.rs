//! The board's directory, held open: every file is reached from its handle by name, never by a path.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::id::{IdPrefix, Key, Name, shortened};

/// How temporary files begin and end. They are made only under the board's lock.
const TEMP_START: &str = ".guildhall-";
const TEMP_END: &str = ".tmp";

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
    owner: Owner,
}

#[derive(Clone, Copy)]
struct Owner {
    mode: u32,
    user: u32,
    group: u32,
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

/// The outcome of putting a new content in an issue's place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Replaced {
    Yes(Stamp),
    /// Somebody else changed the file since it was read; theirs stands.
    Changed,
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
                    if let Ok(name) = std::str::from_utf8(name)
                        && name.starts_with(TEMP_START)
                        && name.ends_with(TEMP_END)
                    {
                        listing.temps.push(name.to_owned());
                    }
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

    /// Writes `bytes` as the new file `name`; `None` where something of that name is there already.
    pub(crate) fn publish_new(
        &self,
        name: &str,
        bytes: &[u8],
        random: &str,
    ) -> io::Result<Option<Stamp>> {
        let (temp, file) = self.write_temp(bytes, random, None)?;
        match rustix::fs::renameat_with(
            &self.handle,
            &temp.name,
            &self.handle,
            name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => temp.keep(),
            Err(Errno::EXIST) => return Ok(None),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match rustix::fs::linkat(
                    &self.handle,
                    &temp.name,
                    &self.handle,
                    name,
                    AtFlags::empty(),
                ) {
                    Ok(()) => drop(temp),
                    Err(Errno::EXIST) => return Ok(None),
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.sync()?;
        Ok(Some(stamp_of(&file)?))
    }

    /// Puts `bytes` in the place of the file `name`, which was read as `old`.
    ///
    /// The new file and the old one change places in one step, so that what stood there at that moment can be looked
    /// at: if it is not what was read, it is put back. Where the file system cannot do that, the old file is compared
    /// once more and then replaced.
    pub(crate) fn replace(
        &self,
        name: &str,
        old: &FileRead,
        bytes: &[u8],
        random: &str,
    ) -> io::Result<Replaced> {
        let (temp, file) = self.write_temp(bytes, random, Some(old.owner))?;
        if !self.still_holds(name, old)? {
            return Ok(Replaced::Changed);
        }
        match self.exchange(&temp.name, name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Replaced::Changed),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::renameat(&self.handle, &temp.name, &self.handle, name)?;
                temp.keep();
                self.sync()?;
                return Ok(Replaced::Yes(stamp_of(&file)?));
            }
            Err(error) => return Err(error.into()),
        }
        if self.still_holds(&temp.name, old)? {
            self.sync()?;
            return Ok(Replaced::Yes(stamp_of(&file)?));
        }
        self.put_back(&temp, name)?;
        self.sync()?;
        Ok(Replaced::Changed)
    }

    /// Exchanges until the file that comes out is the one that this program put in last, so that the newest content of
    /// another program stands in the end.
    fn put_back(&self, temp: &Temp<'_>, name: &str) -> io::Result<()> {
        let mut put_in = temp.identity;
        for _ in 0..16 {
            let theirs = self.identity_of(&temp.name)?;
            match self.exchange(&temp.name, name) {
                Ok(()) => {}
                // It was deleted meanwhile; the deletion stands.
                Err(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            if self.identity_of(&temp.name)? == put_in {
                return Ok(());
            }
            put_in = theirs;
        }
        Ok(())
    }

    fn identity_of(&self, name: &str) -> io::Result<Identity> {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(identity(&stat))
    }

    fn exchange(&self, a: &str, b: &str) -> rustix::io::Result<()> {
        rustix::fs::renameat_with(&self.handle, a, &self.handle, b, RenameFlags::EXCHANGE)
    }

    /// Whether the file `name` is the file that was read as `old`, with the same bytes.
    fn still_holds(&self, name: &str, old: &FileRead) -> io::Result<bool> {
        match self.read(name, old.bytes.len() as u64) {
            Ok(Some(now)) => Ok(now.stamp.inode == old.stamp.inode && now.bytes == old.bytes),
            Ok(None) | Err(ReadError::Kind(_) | ReadError::TooLarge { .. }) => Ok(false),
            Err(ReadError::Io(error)) => Err(error),
        }
    }

    /// Writes a temporary file down to the disk.
    fn write_temp(
        &self,
        bytes: &[u8],
        random: &str,
        owner: Option<Owner>,
    ) -> io::Result<(Temp<'_>, File)> {
        let name = format!("{TEMP_START}{random}{TEMP_END}");
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.handle, &name, flags, Mode::from_raw_mode(0o666))?;
        let mut file = File::from(handle);
        let temp = Temp {
            dir: self,
            name,
            identity: identity(&rustix::fs::fstat(&file)?),
            keep: false,
        };
        if let Some(owner) = owner {
            take_over(&file, owner);
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok((temp, file))
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Makes what was renamed last through a power cut.
    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }
}

/// A temporary file, removed again unless it was kept.
struct Temp<'d> {
    dir: &'d BoardDir,
    name: String,
    identity: Identity,
    keep: bool,
}

impl Temp<'_> {
    /// The name is no longer the temporary file's.
    fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // One that stays is removed by a later opening of the board.
            let _ = self.dir.remove(&self.name);
        }
    }
}

/// Gives a new file the rights of the one it replaces, as far as this process may.
fn take_over(file: &File, owner: Owner) {
    let Ok(made) = file.metadata() else {
        return;
    };
    if (made.uid(), made.gid()) != (owner.user, owner.group) {
        let _ = rustix::fs::fchown(
            file,
            Some(rustix::fs::Uid::from_raw(owner.user)),
            Some(rustix::fs::Gid::from_raw(owner.group)),
        );
    }
    if made.mode() != owner.mode {
        let _ = rustix::fs::fchmod(file, Mode::from_raw_mode(owner.mode & 0o777));
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

fn identity(stat: &Stat) -> Identity {
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

fn stamp_of(file: &File) -> io::Result<Stamp> {
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
