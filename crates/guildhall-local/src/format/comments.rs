//! The comments section: one entry per comment, however many lines it has.
//!
//! An entry begins with `- ` at the start of a line. The lines below it belong to it. Those Guildhall writes are
//! indented by two spaces, as Markdown indents what belongs to a list item, so no line of a comment can begin another.

use std::borrow::Cow;

use super::text::{trim, trim_end, trim_start, unix_lines};

const HEADING: &str = "## Comments";
const INDENT: &str = "  ";

/// Splits the text after the marker into entries.
pub(super) fn read(section: &str) -> Vec<String> {
    let mut entries: Vec<Vec<&str>> = Vec::new();
    for line in trim(without_heading(section)).split('\n') {
        match entries.last_mut() {
            Some(entry) if !line.starts_with("- ") => entry.push(line),
            _ => entries.push(vec![line]),
        }
    }
    entries
        .iter()
        .map(|entry| trim_end(&join(entry)).to_owned())
        .filter(|entry| !entry.is_empty())
        .collect()
}

/// The section without its heading, which stands on its first line that is not blank.
fn without_heading(section: &str) -> &str {
    let text = trim_start(section);
    match text.strip_prefix(HEADING) {
        Some(rest) if rest.is_empty() || rest.starts_with('\n') => rest,
        Some(rest) if trim(rest.split('\n').next().unwrap_or_default()).is_empty() => rest,
        _ => section,
    }
}

/// Joins the lines of one entry. The indent goes only where every line has it: text that was written by other means
/// keeps its own.
fn join(lines: &[&str]) -> String {
    let rest = &lines[1..];
    let indented = rest
        .iter()
        .all(|line| line.starts_with(INDENT) || trim(line).is_empty());
    let mut text = lines[0].to_owned();
    for line in rest {
        text.push('\n');
        text.push_str(match line.strip_prefix(INDENT) {
            Some(line) if indented => line,
            _ => line,
        });
    }
    text
}

/// Whether the section after the marker still lacks its heading.
pub(super) fn is_blank(section: &str) -> bool {
    trim(section).is_empty()
}

/// A comment's text as it is kept: Unix line ends, no blank lines before it, no white space after it.
pub(super) fn tidy(body: &str) -> Cow<'_, str> {
    match unix_lines(body) {
        Cow::Borrowed(text) => Cow::Borrowed(tidy_lines(text)),
        Cow::Owned(text) => Cow::Owned(tidy_lines(&text).to_owned()),
    }
}

fn tidy_lines(text: &str) -> &str {
    let mut text = trim_end(text);
    while let Some((first, rest)) = text.split_once('\n') {
        if !trim(first).is_empty() {
            break;
        }
        text = rest;
    }
    text
}

/// The lines of one new entry, with `newline` between them and none at the end.
pub(super) fn write(at: &str, author: &str, body: &str, newline: &str) -> String {
    let mut lines = body.split('\n');
    let mut text = format!("- {at} {author}: {}", lines.next().unwrap_or_default());
    for line in lines {
        text.push_str(newline);
        if !line.is_empty() {
            text.push_str(INDENT);
            text.push_str(line);
        }
    }
    text
}

/// What stands between an issue's text and its first comment.
pub(super) fn heading(newline: &str) -> String {
    format!("{newline}{HEADING}")
}
