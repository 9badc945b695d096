//! The form of a token: `gldh_`, 64 hex digits (256 random bits), 8 hex digits of their hash.
//!
//! The prefix lets secret scanners find one; the checksum tells a mistyped token from a revoked one without a look-up.

use std::fmt;

use guildhall_core::Ids;
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "gldh_";
const RANDOM: usize = 64;
const CHECKSUM: usize = 8;

/// A secret that says who is calling. Shown once, kept as a hash.
pub struct Token(String);

impl Token {
    /// A new one.
    pub fn new(ids: &dyn Ids) -> Self {
        let random = ids.hex(RANDOM / 2);
        let checksum = checksum(&random);
        Self(format!("{PREFIX}{random}{checksum}"))
    }

    /// The text itself, for the one place that shows or keeps it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }

    /// The hash of `text` if it has the form of a token.
    pub fn hash_of(text: &str) -> Option<[u8; 32]> {
        let hash = Self::hash_unchecked(text)?;
        Self::is_well_typed(text).then_some(hash)
    }

    /// The hash of `text` if it has the length and prefix of a token: good for finding one that is known already.
    pub(super) fn hash_unchecked(text: &str) -> Option<[u8; 32]> {
        let rest = text.strip_prefix(PREFIX)?;
        (rest.len() == RANDOM + CHECKSUM).then(|| Sha256::digest(text).into())
    }

    /// Whether the checksum of `text` is that of its random part.
    pub(super) fn is_well_typed(text: &str) -> bool {
        let rest = text.strip_prefix(PREFIX);
        let parts = rest.and_then(|rest| rest.split_at_checked(RANDOM));
        parts.is_some_and(|(random, given)| checksum(random) == given)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([REDACTED])")
    }
}

fn checksum(random: &str) -> String {
    hex(&Sha256::digest(random)[..CHECKSUM / 2])
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            use fmt::Write as _;
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use guildhall_core::SystemIds;

    use super::*;

    #[test]
    fn a_token_has_its_form_and_keeps_out_of_debug_output() {
        let token = Token::new(&SystemIds);
        assert_eq!(token.expose().len(), PREFIX.len() + RANDOM + CHECKSUM);
        assert_eq!(Token::hash_of(token.expose()), Some(token.hash()));
        assert!(!format!("{token:?}").contains(&token.expose()[8..]));
    }

    #[test]
    fn one_wrong_character_anywhere_is_no_token() {
        let token = Token::new(&SystemIds);
        let text = token.expose();
        for index in 0..text.len() {
            let mut wrong = text.as_bytes().to_vec();
            wrong[index] = if wrong[index] == b'0' { b'1' } else { b'0' };
            assert_eq!(
                Token::hash_of(std::str::from_utf8(&wrong).unwrap()),
                None,
                "at {index}"
            );
        }
        for wrong in [
            "",
            "gldh_",
            &text[1..],
            &format!("{text}0"),
            &text.to_uppercase(),
            &"é".repeat(77),
        ] {
            assert_eq!(Token::hash_of(wrong), None, "{wrong}");
        }
    }
}
