//! Opaque cursors: where a long answer goes on.
//!
//! A cursor holds a position and the version it was read at, signed under the server's key together with the caller,
//! the tool and the other arguments. So it cannot be made up, carried over to another call, or go on in something that
//! has changed since; pages never shift.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use guildhall_core::Principal;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{JsonObject, ToolError};

/// Bytes of the signature that are kept: 128 bits are out of reach of guessing.
const SIGNATURE: usize = 16;
const LENGTH: usize = 8 + 8 + 8 + SIGNATURE;

/// The key that cursors are signed with. It is the server's, and the same on every node.
#[derive(Clone)]
pub struct CursorKey(Arc<[u8; 32]>);

impl CursorKey {
    /// The key of 256 random bits.
    pub fn new(key: [u8; 32]) -> Self {
        Self(Arc::new(key))
    }

    pub(crate) fn for_call(
        &self,
        principal: &Principal,
        tool: &str,
        arguments: &JsonObject,
    ) -> Cursors {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.0).expect("a key of any length signs");
        for part in [
            principal.name(),
            tool,
            &serde_json::to_string(arguments).unwrap_or_default(),
        ] {
            // The lengths keep two calls apart whose parts join to the same text.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Cursors(mac)
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey([REDACTED])")
    }
}

/// Where an answer goes on: item `item` of what is listed, from byte `offset` of its text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Position {
    /// Which item.
    pub item: u64,
    /// Where in its text, in bytes.
    pub offset: u64,
}

/// Makes and reads the cursors of one call: this caller, this tool, these arguments.
#[derive(Clone)]
pub struct Cursors(Hmac<Sha256>);

impl Cursors {
    /// The cursor that goes on at `position` of the version `pin` (a hash or counter that changes when what is listed
    /// does).
    pub fn seal(&self, position: Position, pin: u64) -> String {
        let mut bytes = Vec::with_capacity(LENGTH);
        for part in [position.item, position.offset, pin] {
            bytes.extend(part.to_be_bytes());
        }
        let signature = self.0.clone().chain_update(&bytes).finalize().into_bytes();
        bytes.extend(&signature[..SIGNATURE]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position of `cursor`, and the version it was made at.
    ///
    /// # Errors
    ///
    /// Wrong arguments, where it is not a cursor of this caller, tool and arguments.
    pub fn open(&self, cursor: &str) -> Result<(Position, u64), ToolError> {
        let refused = || {
            ToolError::bad_arguments("'cursor' is not one that this call gave out")
                .hint("Call again without it, or with the same arguments as before.")
        };
        let bytes = URL_SAFE_NO_PAD
            .decode(cursor)
            .ok()
            .filter(|bytes| bytes.len() == LENGTH)
            .ok_or_else(refused)?;
        let (content, signature) = bytes.split_at(LENGTH - SIGNATURE);
        self.0
            .clone()
            .chain_update(content)
            .verify_truncated_left(signature)
            .map_err(|_| refused())?;
        let mut numbers = content
            .chunks_exact(8)
            .map(|part| u64::from_be_bytes(part.try_into().expect("chunks are of eight bytes")));
        let mut next = || numbers.next().expect("the length was checked");
        Ok((
            Position {
                item: next(),
                offset: next(),
            },
            next(),
        ))
    }
}

impl fmt::Debug for Cursors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cursors")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cursors(principal: &str, tool: &str, arguments: &serde_json::Value) -> Cursors {
        let arguments = arguments.as_object().unwrap();
        CursorKey::new([7; 32]).for_call(&principal.parse().unwrap(), tool, arguments)
    }

    #[test]
    fn a_cursor_opens_in_the_call_it_was_made_for_and_in_no_other() {
        let arguments = json!({ "issueId": "BOARD-1" });
        let mine = cursors("you@example.com", "read", &arguments);
        let position = Position {
            item: 3,
            offset: 17,
        };
        let cursor = mine.seal(position, 99);
        assert_eq!(mine.open(&cursor).unwrap(), (position, 99));
        for other in [
            cursors("me@example.com", "read", &arguments),
            cursors("you@example.com", "list", &arguments),
            cursors("you@example.com", "read", &json!({ "issueId": "BOARD-2" })),
        ] {
            assert!(other.open(&cursor).is_err());
        }
    }

    #[test]
    fn a_changed_or_invented_cursor_is_refused() {
        let mine = cursors("you@example.com", "read", &json!({}));
        let cursor = mine.seal(Position::default(), 1);
        for index in 0..cursor.len() {
            let mut wrong = cursor.clone().into_bytes();
            wrong[index] = if wrong[index] == b'A' { b'B' } else { b'A' };
            assert!(
                mine.open(std::str::from_utf8(&wrong).unwrap()).is_err(),
                "at {index}"
            );
        }
        for wrong in ["", "AAAA", "not base64!", &format!("{cursor}A")] {
            assert!(mine.open(wrong).is_err(), "{wrong}");
        }
    }
}
