//! Limits on the texts that people and agents leave in lanes and asks.

use crate::error::{Error, Result};

/// Longest title, in bytes.
pub(crate) const LONGEST_TITLE: usize = 500;

/// Longest description, body or note, in bytes.
pub(crate) const LONGEST_TEXT: usize = 64 * 1024;

/// Refuses `text`, given as the argument `key`, unless it has `least` to `most` bytes. One that must have some must have
/// more than spaces.
pub(crate) fn check(key: &str, text: &str, least: usize, most: usize) -> Result<()> {
    if text.len() > most {
        return Err(Error::TooLarge(format!(
            "'{key}' has {} bytes; at most {most} are allowed",
            text.len()
        )));
    }
    if text.trim().len() < least {
        return Err(Error::Invalid(format!("'{key}' must not be blank")));
    }
    Ok(())
}
