//! Ids of lanes, asks and changesets, drawn before the transaction that uses them.

use guildhall_core::Ids;

use crate::error::Error;

/// How often an id is drawn again on a clash: of a million lanes or asks of one repo, one draw in a million clashes.
const DRAWS: usize = 4;

/// Bytes of a short id, ten hex digits.
const SHORT: usize = 5;

/// Bytes of a long id, 32 hex digits.
const LONG: usize = 16;

/// Random ids for one change, which uses as many as it needs.
#[derive(Clone, Debug)]
pub struct Fresh {
    hex: String,
}

impl Fresh {
    /// Draws from `ids`.
    pub fn draw(ids: &dyn Ids) -> Self {
        Self {
            hex: ids.hex(DRAWS * SHORT + LONG),
        }
    }

    /// Candidates for an id that is unique in its repo, `prefix` and ten hex digits.
    pub(crate) fn short<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = String> + Send + 'a {
        (0..DRAWS).map(move |n| {
            let digits = &self.hex[2 * n * SHORT..][..2 * SHORT];
            format!("{prefix}{digits}")
        })
    }

    /// An id that is unique everywhere, `prefix` and 32 hex digits.
    pub(crate) fn long(&self, prefix: &str) -> String {
        format!("{prefix}{}", &self.hex[2 * DRAWS * SHORT..])
    }
}

/// What is left to say when every drawn id is taken.
pub(crate) fn spent() -> Error {
    Error::Busy
}

#[cfg(test)]
mod tests {
    use guildhall_core::SystemIds;

    use super::*;

    #[test]
    fn ids_have_the_lengths_of_their_kinds_and_differ() {
        let fresh = Fresh::draw(&SystemIds);
        let short: Vec<_> = fresh.short("ask-").collect();
        assert_eq!(short.len(), DRAWS);
        assert!(short.iter().all(|id| id.len() == "ask-".len() + 10));
        assert_ne!(short[0], short[1]);
        assert_eq!(fresh.long("changeset-").len(), "changeset-".len() + 32);
    }
}
