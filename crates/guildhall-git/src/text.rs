//! Bytes that are not always text, given out losslessly.
//!
//! Git keeps names, messages and contents as bytes. Where they are UTF-8 they are given as they are. Where they are not,
//! the text is *escaped*: each byte that is no part of valid UTF-8 becomes `\xNN`, and each backslash is doubled, so that
//! the bytes can be had back. The item that holds such a text names its key in `escaped`; a text that is not named there
//! is as it stands.

use std::borrow::Cow;

/// `bytes` as text, and whether the text is escaped.
pub(crate) fn lossless(bytes: &[u8]) -> (String, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (escape(bytes), true),
    }
}

/// As [`lossless`], for a key of an item: notes the key in `escaped` where the text is escaped.
pub(crate) fn noted(bytes: &[u8], key: &'static str, escaped: &mut Vec<&'static str>) -> String {
    let (text, is_escaped) = lossless(bytes);
    if is_escaped && !escaped.contains(&key) {
        escaped.push(key);
    }
    text
}

fn escape(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            let _ = write!(text, r"\x{byte:02x}");
        }
    }
    text
}

/// The bytes that an escaped `text` stands for; `None` when it holds a backslash that escapes nothing.
pub fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('\\') {
            bytes.push(b'\\');
            rest = after;
        } else {
            let digits = rest.strip_prefix('x')?.get(..2)?;
            if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[3..];
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

/// A path as a caller wrote it, and the bytes it may stand for: first as it stands, then unescaped.
pub(crate) fn readings(path: &str) -> Vec<Cow<'_, [u8]>> {
    let mut readings = vec![Cow::Borrowed(path.as_bytes())];
    if path.contains('\\')
        && let Some(bytes) = unescape(path)
        && bytes != path.as_bytes()
    {
        readings.push(Cow::Owned(bytes));
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_from_their_text() {
        let cases: [&[u8]; 5] = [
            b"caf\xe9",
            b"\\\xff\\x41",
            b"\xc3\x28 \xe2\x82",
            b"\xf0\x9f\x92",
            b"a\0\x80",
        ];
        for bytes in cases {
            let (text, escaped) = lossless(bytes);
            assert!(escaped);
            assert_eq!(unescape(&text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(lossless(b"caf\xe9"), (r"caf\xe9".to_owned(), true));
    }

    #[test]
    fn text_stays_as_it_is_backslashes_included() {
        assert_eq!(lossless(br"C:\xe9"), (r"C:\xe9".to_owned(), false));
        assert_eq!(lossless("é".as_bytes()), ("é".to_owned(), false));
    }

    #[test]
    fn a_backslash_that_escapes_nothing_is_no_escaped_text() {
        for text in [r"\", r"\x", r"\x4", r"\xg0", r"\n", r"\x+1", r"\xé"] {
            assert_eq!(unescape(text), None, "{text}");
        }
    }
}
