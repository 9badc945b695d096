//! Objects as git stores them, read without trusting them.

use std::ops::Range;

use gix::ObjectId;
use jiff::Timestamp;
use jiff::tz::Offset;

/// The name and address in a commit, with the time that belongs to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ident<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) email: &'a [u8],
    /// Seconds since 1970 and the zone, such as `1700000000 +0200`, as written; may be anything.
    pub(crate) when: &'a [u8],
}

impl<'a> Ident<'a> {
    /// Reads `Name <email> seconds zone`, with whatever people and programs have put there.
    fn parse(line: &'a [u8]) -> Self {
        let Some(open) = line.iter().position(|&byte| byte == b'<') else {
            return Self {
                name: line.trim_ascii(),
                ..Self::default()
            };
        };
        let name = line[..open].trim_ascii_end();
        let rest = &line[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'>');
        let last = line.iter().rposition(|&byte| byte == b'>');
        Self {
            name,
            email: &rest[..close.unwrap_or(rest.len())],
            when: last.map_or(&[][..], |last| line[last + 1..].trim_ascii()),
        }
    }

    /// Seconds since 1970, as git sorts by them: 0 where there is no number.
    pub(crate) fn seconds(&self) -> u64 {
        let digits = self.when.iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0u64, |sum, &digit| {
            sum.saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        })
    }

    /// RFC 3339 with the offset the person had, such as `2026-05-29T12:00:00+02:00`.
    ///
    /// A time that no calendar can show comes as git keeps it: `<seconds> <zone>`.
    pub(crate) fn rfc3339(&self) -> String {
        self.calendar()
            .unwrap_or_else(|| String::from_utf8_lossy(self.when).into_owned())
    }

    fn calendar(&self) -> Option<String> {
        let text = std::str::from_utf8(self.when).ok()?;
        let (seconds, zone) = text.split_once(' ').unwrap_or((text, "+0000"));
        let at = Timestamp::from_second(seconds.parse().ok()?).ok()?;
        let (sign, digits) = match zone.trim().split_at_checked(1)? {
            ("+", digits) => (1, digits),
            ("-", digits) => (-1, digits),
            _ => return None,
        };
        let hhmm: i32 = (digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
            .then(|| digits.parse().ok())??;
        let offset = Offset::from_seconds(sign * (hhmm / 100 * 3600 + hhmm % 100 * 60)).ok()?;
        if hhmm % 100 > 59 {
            return None;
        }
        let local = offset.to_datetime(at);
        let sign = if sign < 0 { '-' } else { '+' };
        Some(format!("{local}{sign}{:02}:{:02}", hhmm / 100, hhmm % 100))
    }
}

/// A commit, borrowed from its bytes.
#[derive(Debug)]
pub(crate) struct CommitRef<'a> {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Ident<'a>,
    pub(crate) committer: Ident<'a>,
    pub(crate) message: &'a [u8],
}

impl<'a> CommitRef<'a> {
    /// Reads a commit; `None` when it names no tree.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut tree = None;
        let mut parents = Vec::new();
        let (mut author, mut committer) = (None, None);
        let mut rest = bytes;
        let message = loop {
            let end = rest.iter().position(|&byte| byte == b'\n');
            let (line, after) = match end {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (rest, &[][..]),
            };
            if line.is_empty() {
                break after;
            }
            if let Some(hex) = line.strip_prefix(b"tree ") {
                tree = tree.or(ObjectId::from_hex(hex).ok());
            } else if let Some(hex) = line.strip_prefix(b"parent ") {
                parents.extend(ObjectId::from_hex(hex).ok());
            } else if let Some(ident) = line.strip_prefix(b"author ") {
                author = author.or(Some(Ident::parse(ident)));
            } else if let Some(ident) = line.strip_prefix(b"committer ") {
                committer = committer.or(Some(Ident::parse(ident)));
            }
            rest = after;
        };
        Some(Self {
            tree: tree?,
            parents,
            author: author.unwrap_or_default(),
            committer: committer.unwrap_or_default(),
            message,
        })
    }
}

/// The kind and permission of a tree's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode(u32);

impl Mode {
    pub(crate) const TREE: Self = Self(0o040_000);
    const SYMLINK: Self = Self(0o120_000);
    const SUBMODULE: Self = Self(0o160_000);

    /// As git reads it: only the kind and the executable bit count.
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(match bits & 0o170_000 {
            0o040_000 => Self::TREE.0,
            0o120_000 => Self::SYMLINK.0,
            0o100_000 if bits & 0o100 != 0 => 0o100_755,
            0o100_000 => 0o100_644,
            _ => Self::SUBMODULE.0,
        })
    }

    pub(crate) fn is_tree(self) -> bool {
        self == Self::TREE
    }

    pub(crate) fn is_symlink(self) -> bool {
        self == Self::SYMLINK
    }

    pub(crate) fn is_submodule(self) -> bool {
        self == Self::SUBMODULE
    }

    pub(crate) fn is_file(self) -> bool {
        self.0 & 0o170_000 == 0o100_000
    }

    pub(crate) fn is_executable(self) -> bool {
        self.0 == 0o100_755
    }

    /// Whether both are files, both links, and so on.
    pub(crate) fn same_type(self, other: Self) -> bool {
        self.0 & 0o170_000 == other.0 & 0o170_000
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:06o}", self.0)
    }
}

/// One entry of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) mode: Mode,
    pub(crate) name: &'a [u8],
    pub(crate) id: ObjectId,
}

/// The entries of a tree in the order they are stored; ends at the first that cannot be read.
pub(crate) struct Entries<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        const ID: usize = 20;
        let space = self.0.iter().position(|&byte| byte == b' ')?;
        let bits = self.0[..space].iter().try_fold(0u32, |bits, &digit| {
            matches!(digit, b'0'..=b'7').then(|| (bits << 3) | u32::from(digit - b'0'))
        })?;
        let rest = &self.0[space + 1..];
        let nul = rest.iter().position(|&byte| byte == 0)?;
        let id = rest.get(nul + 1..nul + 1 + ID)?;
        self.0 = &rest[nul + 1 + ID..];
        Some(Entry {
            mode: Mode::from_bits(bits),
            name: &rest[..nul],
            id: ObjectId::from_bytes_or_panic(id),
        })
    }
}

/// Where each line of `bytes` lies, its end included; the last may lack one.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(rest.len(), |at| at + 1);
        let line = start..start + length;
        start += length;
        Some(line)
    })
}

/// Whether git takes `bytes` for something other than text: a NUL among the first 8,000.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 8000;
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ident_is_read_whatever_stands_in_it() {
        let check = |line: &str, name: &str, email: &str, seconds: u64, time: &str| {
            let ident = Ident::parse(line.as_bytes());
            assert_eq!(ident.name, name.as_bytes(), "{line}");
            assert_eq!(ident.email, email.as_bytes(), "{line}");
            assert_eq!(ident.seconds(), seconds, "{line}");
            assert_eq!(ident.rfc3339(), time, "{line}");
        };
        check(
            "A B <a@b> 1700000000 +0530",
            "A B",
            "a@b",
            1_700_000_000,
            "2023-11-15T03:43:20+05:30",
        );
        check("A <a> 0 -0800", "A", "a", 0, "1969-12-31T16:00:00-08:00");
        check("A <a> 0 -0000", "A", "a", 0, "1970-01-01T00:00:00-00:00");
        check("A <a> b> 5 +0000", "A", "a", 5, "1970-01-01T00:00:05+00:00");
        check(" <> 5", "", "", 5, "1970-01-01T00:00:05+00:00");
        check("nobody", "nobody", "", 0, "");
        check(
            "A <a> 99999999999999999999 +0000",
            "A",
            "a",
            u64::MAX,
            "99999999999999999999 +0000",
        );
        check("A <a> 5 +9999", "A", "a", 5, "5 +9999");
        check("A <a> 5 é", "A", "a", 5, "5 é");
    }

    #[test]
    fn lines_keep_their_ends() {
        let bytes = b"a\r\n\nb";
        let cut: Vec<&[u8]> = lines(bytes).map(|line| &bytes[line]).collect();
        assert_eq!(cut, [&b"a\r\n"[..], b"\n", b"b"]);
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn a_broken_tree_ends_and_does_not_panic() {
        for bytes in [
            &b"100644"[..],
            b"100644 a",
            b"100644 a\0short",
            b"999 a\0",
            b" \0",
        ] {
            assert_eq!(Entries(bytes).count(), 0);
        }
    }
}
