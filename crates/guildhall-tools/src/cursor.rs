//! Opaque cursors: where a long answer goes on.
//!
//! A cursor holds a position and the version it was read at, in whatever form its tool needs, signed under the server's
//! key together with the caller, the tool and the other arguments. So it cannot be made up or carried over to another
//! call; the tool checks the version, so that pages never shift.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use guildhall_core::Principal;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use crate::{JsonObject, ToolError};

/// Bytes of the signature that are kept: 128 bits are out of reach of guessing.
const SIGNATURE: usize = 16;
/// Longest cursor that is read, in characters.
const MAX_LENGTH: usize = 4096;

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
        Cursors(Some(mac))
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey([REDACTED])")
    }
}

/// Makes and reads the cursors of one call: this caller, this tool, these arguments.
#[derive(Clone)]
pub struct Cursors(Option<Hmac<Sha256>>);

impl Cursors {
    /// The cursors of a call whose tool takes none: no signature is worth making for it.
    pub(crate) fn unused() -> Self {
        Self(None)
    }

    /// The cursor that goes on at `position`.
    pub fn seal(&self, position: &impl Serialize) -> String {
        let mut bytes = serde_json::to_vec(position).unwrap_or_default();
        if let Some(mac) = &self.0 {
            let signature = mac.clone().chain_update(&bytes).finalize().into_bytes();
            bytes.extend(&signature[..SIGNATURE]);
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position of `cursor`.
    ///
    /// # Errors
    ///
    /// Wrong arguments, where it is not a cursor of this caller, tool and arguments.
    pub fn open<T: DeserializeOwned>(&self, cursor: &str) -> Result<T, ToolError> {
        self.verified(cursor).ok_or_else(|| {
            ToolError::bad_arguments("'cursor' is not one that this call gave out")
                .hint("Call again without it, or with the same arguments as before.")
        })
    }

    /// The position of `cursor`, where one was given.
    ///
    /// # Errors
    ///
    /// Those of [`Cursors::open`].
    pub fn resume<T: DeserializeOwned>(
        &self,
        cursor: Option<&str>,
    ) -> Result<Option<T>, ToolError> {
        cursor.map(|cursor| self.open(cursor)).transpose()
    }

    fn verified<T: DeserializeOwned>(&self, cursor: &str) -> Option<T> {
        if cursor.len() > MAX_LENGTH {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (content, signature) = bytes.split_at_checked(bytes.len().checked_sub(SIGNATURE)?)?;
        self.0
            .as_ref()?
            .clone()
            .chain_update(content)
            .verify_truncated_left(signature)
            .ok()?;
        serde_json::from_slice(content).ok()
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
        let cursor = mine.seal(&(3, "main"));
        assert_eq!(
            mine.open::<(u64, String)>(&cursor).unwrap(),
            (3, "main".to_owned())
        );
        for other in [
            cursors("me@example.com", "read", &arguments),
            cursors("you@example.com", "list", &arguments),
            cursors("you@example.com", "read", &json!({ "issueId": "BOARD-2" })),
        ] {
            assert!(other.open::<(u64, String)>(&cursor).is_err());
        }
    }

    #[test]
    fn a_changed_or_invented_cursor_is_refused() {
        let mine = cursors("you@example.com", "read", &json!({}));
        let cursor = mine.seal(&(3, "main"));
        for index in 0..cursor.len() {
            let mut wrong = cursor.clone().into_bytes();
            // Another value of the six bits; the last character may have bits that do not count.
            wrong[index] = if wrong[index] == b'A' { b'Q' } else { b'A' };
            assert!(
                mine.open::<(u64, String)>(std::str::from_utf8(&wrong).unwrap())
                    .is_err(),
                "at {index}"
            );
        }
        for wrong in ["", "AAAA", "not base64!", &format!("{cursor}A")] {
            assert!(mine.open::<(u64, String)>(wrong).is_err(), "{wrong}");
        }
    }
}
