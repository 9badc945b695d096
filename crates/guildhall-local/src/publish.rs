//! New content for a board's directory: written aside, made safe on the disk, put in its place in one step.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::dir::{BoardDir, FileRead, Identity, Owner, ReadError, Stamp, identity, stamp_of};

/// How temporary files begin and end. They are made only under the board's lock.
const TEMP_START: &str = ".guildhall-";
const TEMP_END: &str = ".tmp";

/// `name` if it is that of a temporary file of this program.
pub(crate) fn temp_name(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let ours = name.starts_with(TEMP_START) && name.ends_with(TEMP_END);
    ours.then(|| name.to_owned())
}

/// The outcome of putting a new content in an issue's place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Replaced {
    Yes(Stamp),
    /// Somebody else changed the file since it was read; theirs stands.
    Changed,
}

impl BoardDir {
    /// Writes `bytes` as the new file `name`; `None` where something of that name is there already.
    pub(crate) fn publish_new(
        &self,
        name: &str,
        bytes: &[u8],
        random: &str,
    ) -> io::Result<Option<Stamp>> {
        let (temp, file) = self.write_temp(bytes, random, None)?;
        match rustix::fs::renameat_with(
            self.handle(),
            &temp.name,
            self.handle(),
            name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => temp.keep(),
            Err(Errno::EXIST) => return Ok(None),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match rustix::fs::linkat(
                    self.handle(),
                    &temp.name,
                    self.handle(),
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
        let replaced = match self.swap_in(&temp, name, old) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                self.rename_over(temp, name, old)?
            }
            outcome => outcome?,
        };
        if replaced {
            Ok(Replaced::Yes(stamp_of(&file)?))
        } else {
            Ok(Replaced::Changed)
        }
    }

    /// Exchanges the temporary file and the one read as `old`; `false`, and everything as it was, where another stood
    /// there.
    fn swap_in(&self, temp: &Temp<'_>, name: &str, old: &FileRead) -> rustix::io::Result<bool> {
        match self.exchange(&temp.name, name) {
            Err(Errno::NOENT) => return Ok(false),
            exchanged => exchanged?,
        }
        let theirs = self.still_holds(&temp.name, old);
        if !matches!(theirs, Ok(true)) {
            self.put_back(temp, name)?;
        }
        self.sync()?;
        theirs
    }

    /// Replaces the file read as `old` where the file system cannot exchange: what is written between the comparison
    /// and the renaming is lost, as with any editor.
    fn rename_over(&self, temp: Temp<'_>, name: &str, old: &FileRead) -> rustix::io::Result<bool> {
        if !self.still_holds(name, old)? {
            return Ok(false);
        }
        rustix::fs::renameat(self.handle(), &temp.name, self.handle(), name)?;
        temp.keep();
        self.sync()?;
        Ok(true)
    }

    /// Exchanges until the file that comes out is the one that this program put in last, so that the newest content of
    /// another program stands in the end.
    fn put_back(&self, temp: &Temp<'_>, name: &str) -> rustix::io::Result<()> {
        let mut put_in = temp.identity;
        for _ in 0..16 {
            let theirs = self.identity_of(&temp.name)?;
            match self.exchange(&temp.name, name) {
                Ok(()) => {}
                // It was deleted meanwhile; the deletion stands.
                Err(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(error),
            }
            if self.identity_of(&temp.name)? == put_in {
                return Ok(());
            }
            put_in = theirs;
        }
        Ok(())
    }

    fn identity_of(&self, name: &str) -> rustix::io::Result<Identity> {
        let stat = rustix::fs::statat(self.handle(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(identity(&stat))
    }

    fn exchange(&self, a: &str, b: &str) -> rustix::io::Result<()> {
        rustix::fs::renameat_with(self.handle(), a, self.handle(), b, RenameFlags::EXCHANGE)
    }

    /// Whether the file `name` is the file that was read as `old`, with the same bytes.
    fn still_holds(&self, name: &str, old: &FileRead) -> rustix::io::Result<bool> {
        match self.read(name, old.bytes.len() as u64) {
            Ok(Some(now)) => Ok(now.stamp.is_same_file(&old.stamp) && now.bytes == old.bytes),
            Ok(None) | Err(ReadError::Kind(_) | ReadError::TooLarge { .. }) => Ok(false),
            Err(ReadError::Io(error)) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
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
        let handle = rustix::fs::openat(self.handle(), &name, flags, Mode::from_raw_mode(0o666))?;
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

    /// Makes what was renamed last through a power cut.
    fn sync(&self) -> rustix::io::Result<()> {
        rustix::fs::fsync(self.handle())
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

#[cfg(test)]
mod tests;
