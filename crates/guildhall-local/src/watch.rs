//! Notifications of the operating system, drained without blocking before each answer.

use std::collections::BTreeSet;

use crate::dir::BoardDir;
use crate::id::{IdPrefix, Key};

/// What happened in the directory since the last look.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) keys: BTreeSet<Key>,
    /// Something may have been missed: only looking at every file helps.
    pub(crate) lost: bool,
}

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::OsStrExt as _;

    use inotify::{EventMask, Inotify, WatchMask};

    use super::{BoardDir, Changes, IdPrefix};
    use crate::id::Name;

    /// A watch on one directory.
    pub(crate) struct Watch {
        inotify: Inotify,
        buffer: Vec<u8>,
    }

    impl Watch {
        /// Watches `dir`, or `None` where the system gives no watch that sees every change.
        pub(crate) fn start(dir: &BoardDir) -> Option<Self> {
            if !sees_every_change(dir) {
                return None;
            }
            match Self::on(dir) {
                Ok(watch) => Some(watch),
                Err(error) => {
                    tracing::warn!(
                        error = %error,
                        "The board is not watched, every query looks at every file's times"
                    );
                    None
                }
            }
        }

        fn on(dir: &BoardDir) -> io::Result<Self> {
            let mask = WatchMask::CREATE
                | WatchMask::MODIFY
                | WatchMask::CLOSE_WRITE
                | WatchMask::ATTRIB
                | WatchMask::MOVE
                | WatchMask::DELETE
                | WatchMask::DELETE_SELF
                | WatchMask::ONLYDIR;
            let inotify = Inotify::init()?;
            // By its handle, so that it is this directory and not one that took its place.
            let path = format!("/proc/self/fd/{}", dir.handle().as_raw_fd());
            inotify.watches().add(path, mask)?;
            Ok(Self {
                inotify,
                buffer: vec![0; 16 * 1024],
            })
        }

        /// Takes every notification there is.
        pub(crate) fn drain(&mut self, prefix: &IdPrefix) -> Changes {
            let mut changes = Changes::default();
            loop {
                match self.inotify.read_events(&mut self.buffer) {
                    Ok(events) => {
                        for event in events {
                            let lost = EventMask::Q_OVERFLOW
                                | EventMask::IGNORED
                                | EventMask::DELETE_SELF
                                | EventMask::UNMOUNT;
                            changes.lost |= event.mask.intersects(lost);
                            match event.name.and_then(|name| prefix.file(name.as_bytes())) {
                                Some(Name::Issue(key)) => {
                                    changes.keys.insert(key);
                                }
                                // These are told only by listing the directory.
                                Some(Name::TooLarge) => changes.lost = true,
                                None => {}
                            }
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return changes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => {
                        changes.lost = true;
                        return changes;
                    }
                }
            }
        }
    }

    /// Whether the kernel tells of every change in this file system. Where another machine can change files too, it
    /// does not.
    fn sees_every_change(dir: &BoardDir) -> bool {
        const NFS: i64 = 0x6969;
        const SMB: i64 = 0x517B;
        const SMB2: i64 = 0xFE53_4D42;
        const CIFS: i64 = 0xFF53_4D42;
        const NINE_P: i64 = 0x0102_1997;
        const FUSE: i64 = 0x6573_5546;
        const CEPH: i64 = 0x00C3_6400;
        const AFS: i64 = 0x5346_414F;
        const VBOX: i64 = 0x786F_4256;
        let Ok(stat) = rustix::fs::fstatfs(dir.handle()) else {
            return false;
        };
        // The type of this number differs between machines; its low 32 bits are the name of the file system.
        let kind = crate::dir::number::<i64>(stat.f_type) & 0xFFFF_FFFF;
        ![NFS, SMB, SMB2, CIFS, NINE_P, FUSE, CEPH, AFS, VBOX].contains(&kind)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{BoardDir, Changes, IdPrefix};

    /// No watch: every answer looks at the times of every file.
    pub(crate) enum Watch {}

    impl Watch {
        pub(crate) fn start(_dir: &BoardDir) -> Option<Self> {
            None
        }

        pub(crate) fn drain(&mut self, _prefix: &IdPrefix) -> Changes {
            match *self {}
        }
    }
}

pub(crate) use system::Watch;
