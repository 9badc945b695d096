//! How alike two contents are, in git's own measure, for what counts as a rename must be what git shows as one.
//!
//! A content is cut into pieces that end with a line or after 64 bytes; each piece is hashed. What two contents have in
//! common is the number of bytes in pieces with equal hashes.

use crate::object::is_binary;

/// The score of equal contents.
pub(super) const MOST: u64 = 60_000;
/// The score from which a pair counts as a rename: a half.
pub(super) const ENOUGH: u64 = MOST / 2;

/// The longest piece, in bytes.
const PIECE: u32 = 64;
/// The number of different hashes.
const HASHES: u32 = 107_927;

/// The pieces of a content: hash and bytes, sorted by hash, each hash once.
#[derive(Debug)]
pub(super) struct Pieces(Vec<(u32, u32)>);

impl Pieces {
    pub(super) fn of(content: &[u8]) -> Self {
        let is_text = !is_binary(content);
        let mut pieces = Vec::new();
        let (mut low, mut high, mut length) = (0u32, 0u32, 0u32);
        for (at, &byte) in content.iter().enumerate() {
            // A text with the other kind of line ends is the same text.
            if is_text && byte == b'\r' && content.get(at + 1) == Some(&b'\n') {
                continue;
            }
            let before = low;
            low = ((low << 7) ^ (high >> 25)).wrapping_add(u32::from(byte));
            high = (high << 7) ^ (before >> 25);
            length += 1;
            if length == PIECE || byte == b'\n' {
                pieces.push((hash(low, high), length));
                (low, high, length) = (0, 0, 0);
            }
        }
        if length > 0 {
            pieces.push((hash(low, high), length));
        }
        pieces.sort_unstable_by_key(|&(hash, _)| hash);
        pieces.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Self(pieces)
    }

    /// How many pieces; what a comparison costs.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The bytes that both have.
    fn shared(&self, other: &Self) -> u64 {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut shared = 0;
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            match left.0.cmp(&right.0) {
                std::cmp::Ordering::Less => {
                    a.next();
                }
                std::cmp::Ordering::Greater => {
                    b.next();
                }
                std::cmp::Ordering::Equal => {
                    shared += u64::from(left.1.min(right.1));
                    a.next();
                    b.next();
                }
            }
        }
        shared
    }
}

fn hash(low: u32, high: u32) -> u32 {
    low.wrapping_add(high.wrapping_mul(0x61)) % HASHES
}

/// Whether contents of these sizes can be alike enough at all.
pub(super) fn sizes_fit(old: u64, new: u64) -> bool {
    let (larger, smaller) = (old.max(new), old.min(new));
    larger * (MOST - ENOUGH) >= (larger - smaller) * MOST
}

/// The score of two contents of these sizes.
pub(super) fn score(old: &Pieces, old_size: u64, new: &Pieces, new_size: u64) -> u64 {
    if new_size == 0 {
        return 0;
    }
    old.shared(new) * MOST / old_size.max(new_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &[u8], new: &[u8], expected: u64) {
        let size = |bytes: &[u8]| bytes.len() as u64;
        let got = score(&Pieces::of(old), size(old), &Pieces::of(new), size(new));
        assert_eq!(got, expected);
    }

    #[test]
    fn equal_contents_score_most_and_unlike_ones_nothing() {
        check(b"a\nb\nc", b"a\nb\nc", MOST);
        check(b"a\nb\n", b"c\nd\n", 0);
        check(b"a\n", b"", 0);
    }

    #[test]
    fn the_score_is_the_shared_part_of_the_larger() {
        check(b"1234\n1234\n", b"1234\n", MOST / 2);
        check(b"1234\nabcd\n", b"abcd\nwxyz\n", MOST / 2);
    }

    #[test]
    fn line_ends_do_not_count_in_text() {
        check(b"ab\r\ncd\r\n", b"ab\ncd\n", 6 * MOST / 8);
        check(b"a\0\r\n", b"a\0\n", 0);
    }

    #[test]
    fn sizes_that_differ_too_much_rule_a_pair_out() {
        assert!(sizes_fit(100, 50) && !sizes_fit(100, 49) && sizes_fit(50, 100));
        assert!(sizes_fit(0, 0) && !sizes_fit(0, 1));
    }
}
