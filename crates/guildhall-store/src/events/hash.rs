//! What the chains are made of.

use sha2::{Digest as _, Sha256};

use super::About;

/// What stands before the first link of any chain.
pub(super) const START: [u8; 32] = [0; 32];

/// What an event says, as it stands in its row. Its place is not part of it: the chain it is in says where it stands.
pub(super) struct Content<'a> {
    pub(super) stream: &'a str,
    pub(super) at_ms: i64,
    pub(super) actor: &'a str,
    pub(super) kind: &'a str,
    pub(super) about: &'a About,
    pub(super) data: &'a str,
}

impl Content<'_> {
    /// The hash of all fields. Each is written with its length, so that no two events are the same bytes.
    pub(super) fn digest(&self) -> [u8; 32] {
        let about = self.about;
        let mut hasher = Sha256::new_with_prefix(b"guildhall event 1\n");
        hasher.update(self.at_ms.to_be_bytes());
        for field in [self.stream, self.actor, self.kind, self.data].map(Some) {
            add(&mut hasher, field);
        }
        for field in [
            &about.repo,
            &about.lane,
            &about.ask,
            &about.session,
            &about.run,
        ] {
            add(&mut hasher, field.as_deref());
        }
        hasher.finalize().into()
    }
}

/// A field that is absent differs from an empty one.
fn add(hasher: &mut Sha256, field: Option<&str>) {
    match field {
        Some(text) => {
            hasher.update([1]);
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text);
        }
        None => hasher.update([0]),
    }
}

/// The next link of a stream's chain. PostgreSQL makes it in the statement that writes the event, in the same way.
pub(super) fn link(before: &[u8; 32], digest: &[u8; 32]) -> [u8; 32] {
    Sha256::new()
        .chain_update(before)
        .chain_update(digest)
        .finalize()
        .into()
}

/// The next link of the chain of seals, over the links of the events it covers, in the order of the log.
pub(super) fn seal(
    before: &[u8; 32],
    number: i64,
    at_ms: i64,
    events: impl Iterator<Item = [u8; 32]>,
) -> [u8; 32] {
    let mut hasher = Sha256::new_with_prefix(b"guildhall seal 1\n");
    hasher.update(before);
    hasher.update(number.to_be_bytes());
    hasher.update(at_ms.to_be_bytes());
    events.for_each(|event| hasher.update(event));
    hasher.finalize().into()
}
