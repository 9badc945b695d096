//! Text as the board keeps it: trimmed, with Unix line ends, and with the comments marker made harmless.

use std::borrow::Cow;

/// The line that parts an issue's text from its comments.
pub(crate) const MARKER: &str = "<!-- lorenz:comments -->";

const MARKER_OPEN: &str = "<!-- ";
const MARKER_REST: &str = "lorenz:comments -->";

/// Trims as the format does: what Unicode calls white space and the byte order mark, but not U+0085.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// `bytes` as text with `\n` line ends; what is no UTF-8 becomes U+FFFD.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        text
    }
}

/// A caller's text with every line end as `\n`, so that a lone carriage return cannot pass for one later.
pub(crate) fn unix_lines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A caller's text on one line: each run of line ends and the space around it becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let breaks = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    text.split(breaks)
        .map(trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Puts a backslash into every marker, and one more into each that has some already.
pub(crate) fn escape_marker(text: &str) -> Cow<'_, str> {
    each_marker(text, |slashes, out| {
        out.extend(std::iter::repeat_n('\\', slashes + 1));
    })
}

/// Takes away what [`escape_marker`] put in.
pub(crate) fn unescape_marker(text: &str) -> Cow<'_, str> {
    each_marker(text, |slashes, out| {
        out.extend(std::iter::repeat_n('\\', slashes.saturating_sub(1)));
    })
}

/// Rewrites the backslashes of every `<!-- \\\lorenz:comments -->`.
fn each_marker(text: &str, write: impl Fn(usize, &mut String)) -> Cow<'_, str> {
    if !text.contains(MARKER_REST) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find(MARKER_REST) {
        let before = &rest[..at];
        let plain = before.trim_end_matches('\\');
        out.push_str(plain);
        if plain.ends_with(MARKER_OPEN) {
            write(before.len() - plain.len(), &mut out);
        } else {
            out.push_str(&before[plain.len()..]);
        }
        out.push_str(MARKER_REST);
        rest = &rest[at + MARKER_REST.len()..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Where `needle` first stands in `bytes` at or after `from`.
pub(crate) fn find(bytes: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(step) = bytes.get(at..)?.iter().position(|byte| *byte == needle[0]) {
        at += step;
        if bytes[at..].starts_with(needle) {
            return Some(at);
        }
        at += 1;
    }
    None
}
