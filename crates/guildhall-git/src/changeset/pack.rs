//! Many objects as one pack.

use std::fs::File;

use gix::ObjectId;
use gix::objs::Kind;

use super::objects::{deflated, synced};
use crate::command::{Config, Limits};
use crate::error::GitError;
use crate::hosting::{Hosted, io_error};
use crate::repository::damaged;

/// Brings `objects` onto the disk as one pack, indexed by git.
pub(super) fn store(hosted: &Hosted, objects: &[(ObjectId, Kind, &[u8])]) -> Result<(), GitError> {
    let pack = packed(objects)?;
    let printed = hosted
        .git()
        .command(Config::Isolated, "index-pack")
        .repository(hosted.repository().dir())
        .args(["--stdin", "--threads=1"])
        .run_with_input(&Limits::LONG, pack)?;
    let text = String::from_utf8_lossy(&printed);
    let name = text.trim().rsplit('\t').next().unwrap_or("");
    if ObjectId::from_hex(name.as_bytes()).is_err() {
        return Err(damaged("The new pack")(format!("git printed {text:?}")));
    }
    let dir = hosted.repository().dir().join("objects/pack");
    for extension in ["pack", "idx"] {
        let path = dir.join(format!("pack-{name}.{extension}"));
        let done = File::open(&path).and_then(|file| file.sync_all());
        done.map_err(io_error("write", &path))?;
    }
    synced(&dir)
}

/// The bytes of a pack of whole objects (`gitformat-pack`).
fn packed(objects: &[(ObjectId, Kind, &[u8])]) -> Result<Vec<u8>, GitError> {
    let count = u32::try_from(objects.len()).map_err(|error| damaged("A pack")(error))?;
    let mut pack = Vec::new();
    pack.extend_from_slice(b"PACK\0\0\0\x02");
    pack.extend_from_slice(&count.to_be_bytes());
    for (id, kind, bytes) in objects {
        header(*kind, bytes.len(), &mut pack);
        let body = deflated(&[bytes]).map_err(|error| damaged(&id.to_string())(error))?;
        pack.extend_from_slice(&body);
    }
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(&pack);
    let sum = hasher.try_finalize();
    let sum = sum.map_err(|error| damaged("A pack")(error))?;
    pack.extend_from_slice(sum.as_slice());
    Ok(pack)
}

/// The kind in three bits and the size in the rest, seven bits a byte, the lowest first.
fn header(kind: Kind, size: usize, pack: &mut Vec<u8>) {
    let kind = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let low = |bits: usize, mask: usize| u8::try_from(bits & mask).unwrap_or(0);
    let mut byte = (kind << 4) | low(size, 0xf);
    let mut rest = size >> 4;
    while rest > 0 {
        pack.push(byte | 0x80);
        byte = low(rest, 0x7f);
        rest >>= 7;
    }
    pack.push(byte);
}
