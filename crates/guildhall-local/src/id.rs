//! Issue ids: a prefix and a number, which is also the name of the file.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::BoardError;

/// The largest number an issue may have: beyond it a number is not exact in every JSON reader.
pub(crate) const MAX_NUMBER: u64 = 9_007_199_254_740_991;

/// The part of an issue's id before its number, `BOARD-` unless the settings say otherwise.
///
/// Matches `^[A-Za-z0-9][A-Za-z0-9_-]*$` and has at most 64 characters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IdPrefix(Arc<str>);

impl IdPrefix {
    /// Takes `prefix` if it is of the form.
    pub fn new(prefix: &str) -> Result<Self, BoardError> {
        let bytes = prefix.as_bytes();
        let formed = bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.len() <= 64
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if formed {
            Ok(Self(prefix.into()))
        } else {
            Err(BoardError::InvalidPrefix {
                prefix: prefix.chars().take(80).collect(),
            })
        }
    }

    /// The prefix itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of the id `id`, or why it is none.
    pub(crate) fn key(&self, id: &str) -> Result<Key, BoardError> {
        match self.read(id) {
            Some(Name::Issue(key)) => Ok(key),
            _ => Err(BoardError::InvalidId {
                id: id.chars().take(80).collect(),
                prefix: self.as_str().to_owned(),
            }),
        }
    }

    /// What the file name `name` is on this board.
    pub(crate) fn file(&self, name: &[u8]) -> Option<Name> {
        let stem = name.strip_suffix(b".md")?;
        self.read(std::str::from_utf8(stem).ok()?)
    }

    fn read(&self, id: &str) -> Option<Name> {
        let digits = id.strip_prefix(self.as_str())?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match (digits.parse(), u8::try_from(digits.len())) {
            (Ok(number), Ok(width)) if number <= MAX_NUMBER => {
                Some(Name::Issue(Key { number, width }))
            }
            _ => Some(Name::TooLarge),
        }
    }

    /// The id that `key` stands for.
    pub(crate) fn id(&self, key: Key) -> String {
        format!("{}{key}", self.as_str())
    }

    /// The name of the file that holds the issue `key`.
    pub(crate) fn file_name(&self, key: Key) -> String {
        let mut name = self.id(key);
        name.push_str(".md");
        name
    }
}

impl Default for IdPrefix {
    fn default() -> Self {
        Self("BOARD-".into())
    }
}

impl fmt::Display for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a file name of the form `<prefix><digits>.md` is.
pub(crate) enum Name {
    Issue(Key),
    /// The number is above [`MAX_NUMBER`].
    TooLarge,
}

/// An issue's number and how many digits it is written with: `BOARD-7` and `BOARD-007` are two issues.
///
/// Ordered by number, then by digits: the order of the board.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key {
    pub(crate) number: u64,
    width: u8,
}

impl Key {
    /// The key of a new issue, written without leading zeros.
    pub(crate) fn new(number: u64) -> Self {
        let digits = number.checked_ilog10().unwrap_or(0) + 1;
        Self {
            number,
            width: u8::try_from(digits).unwrap_or(u8::MAX),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = usize::from(self.width);
        f.write_fmt(format_args!("{:0width$}", self.number))
    }
}

/// The id that a file of too large a number would have, cut so that it can stand in a message.
pub(crate) fn shortened(name: &[u8]) -> String {
    let stem = name.strip_suffix(b".md").unwrap_or(name);
    let mut text = String::new();
    for (at, c) in String::from_utf8_lossy(stem).chars().enumerate() {
        if at == 80 {
            let _ = text.write_str("...");
            break;
        }
        text.push(c);
    }
    text
}
