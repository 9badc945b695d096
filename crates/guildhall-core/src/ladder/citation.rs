//! The places in the code that a summary cites.

use std::collections::BTreeSet;

/// A place in a file: `src/lib.rs:40` or `src/lib.rs:40-52`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Citation<'a> {
    /// As it stands in the text.
    pub text: &'a str,
    /// The file.
    pub path: &'a str,
    /// The first line, from 1.
    pub first: u64,
    /// The last line, which is meant too.
    pub last: u64,
}

/// Most citations that are looked at in one text.
const MOST: usize = 500;

/// The citations in `text`, each once: a path with a `/` or a `.` in it, a colon, a line or two with a dash between them.
/// Addresses (`https://…`), times and version numbers are none.
pub fn citations(text: &str) -> Vec<Citation<'_>> {
    let mut found = BTreeSet::new();
    let ends = |c: char| c.is_whitespace() || "()[]{}<>`'\"|,;*".contains(c);
    for token in text.split(ends) {
        if let Some(citation) = read(token) {
            found.insert(citation);
        }
        if found.len() == MOST {
            break;
        }
    }
    found.into_iter().collect()
}

fn read(token: &str) -> Option<Citation<'_>> {
    let token = token.trim_end_matches(['.', ':', '!', '?']);
    if token.contains("://") {
        return None;
    }
    let (path, lines) = token.rsplit_once(':')?;
    let (first, last) = match lines.split_once(['-', '–']) {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(lines)?, number(lines)?),
    };
    let is_path =
        path.contains(['/', '.']) && path.contains(char::is_alphabetic) && !path.contains(':');
    is_path.then_some(Citation {
        text: token,
        path,
        first,
        last,
    })
}

/// Lines, also written `L40`.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('L').unwrap_or(text);
    let plain = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, u64, u64)]) {
        let found = citations(text);
        let found: Vec<_> = found.iter().map(|c| (c.path, c.first, c.last)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn places_in_files_are_found() {
        check("See src/lib.rs:40-52.", &[("src/lib.rs", 40, 52)]);
        check(
            "(`src/lib.rs:40`), **a/b:7**",
            &[("a/b", 7, 7), ("src/lib.rs", 40, 40)],
        );
        check(
            "Cargo.toml:3 and src/a.rs:L1-L9",
            &[("Cargo.toml", 3, 3), ("src/a.rs", 1, 9)],
        );
        check("[link](src/x.rs:9)", &[("src/x.rs", 9, 9)]);
        check("src/x.rs:9 src/x.rs:9", &[("src/x.rs", 9, 9)]);
        check(
            "src/x.rs:0 and 9-3: src/y.rs:9-3",
            &[("src/x.rs", 0, 0), ("src/y.rs", 9, 3)],
        );
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "https://example.com/a.rs:80",
            "at 12:30",
            "127.0.0.1:4040",
            "localhost:8080",
            "1.2:3",
            "src/lib.rs",
            "src/lib.rs:",
            "src/lib.rs:x",
            "a::b:3",
            "src/lib.rs:1-2-3",
            "note: 5",
        ] {
            check(text, &[]);
        }
    }
}
