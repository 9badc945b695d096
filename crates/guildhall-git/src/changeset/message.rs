//! The text of a commit: who, what for, and the trailers at its end.
//!
//! Messages and names come from outside. None of them can end a header early, begin a trailer of ours or pass for one.

use std::fmt::Write as _;

use gix::ObjectId;

use super::Signature;
use crate::error::GitError;

/// The longest message, in bytes.
const LONGEST: usize = 64 * 1024;

/// Keys of lines that only the server writes.
const OURS: [&str; 3] = ["lane", "ask", "reviewed-by"];

/// The message with `trailers` as its last paragraph.
///
/// The text is cleaned as `git commit` does it. A line that reads like one of our trailers, or like the line that ends a
/// message for `git am`, is indented by a space, so that neither a reader nor `git interpret-trailers` takes it for one.
pub(super) fn compose(
    text: &str,
    trailers: &[(&'static str, String)],
) -> Result<Vec<u8>, GitError> {
    if text.len() > LONGEST {
        return Err(GitError::OverLimit(format!(
            "The message has {} bytes, more than the {LONGEST} of one commit",
            text.len()
        )));
    }
    let mut message = String::with_capacity(text.len() + 200);
    let mut blank = 0;
    for line in lines(text) {
        let line = line.trim_end();
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if blank > 0 && !message.is_empty() {
            message.push('\n');
        }
        blank = 0;
        if passes_for_ours(line) {
            message.push(' ');
        }
        message.push_str(line);
        message.push('\n');
    }
    if message.is_empty() {
        return Err(GitError::BadArgument(
            "The message is empty; say what the change is for".to_owned(),
        ));
    }
    if !trailers.is_empty() {
        message.push('\n');
    }
    for (key, value) in trailers {
        let value: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(message, "{key}: {value}");
    }
    Ok(message.into_bytes())
}

/// The lines of `text`, whatever ends them, without the characters that steer a terminal.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let plain = text.replace("\r\n", "\n");
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    plain
        .split(ends)
        .map(|line| {
            line.chars()
                .filter(|c| *c == '\t' || !c.is_control())
                .collect()
        })
        .collect::<Vec<String>>()
        .into_iter()
}

fn passes_for_ours(line: &str) -> bool {
    if line.starts_with("---") {
        return true;
    }
    let Some((key, _)) = line.split_once(':') else {
        return false;
    };
    let key = key.trim_end();
    OURS.iter().any(|ours| ours.eq_ignore_ascii_case(key))
}

/// The bytes of a commit.
pub(super) fn commit(
    tree: ObjectId,
    parents: &[ObjectId],
    author: &Signature,
    committer: &Signature,
    message: &[u8],
) -> Vec<u8> {
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        let _ = writeln!(text, "parent {parent}");
    }
    for (role, who) in [("author", author), ("committer", committer)] {
        let (name, email) = (plain(&who.name), plain(&who.email));
        let name = if name.is_empty() { &email } else { &name };
        let seconds = who.at.as_second().max(0);
        let _ = writeln!(text, "{role} {name} <{email}> {seconds} +0000");
    }
    text.push('\n');
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(message);
    bytes
}

/// A name or an address as git writes it: without what would end it, and without the crumbs git drops at its ends.
fn plain(text: &str) -> String {
    let kept: String = text
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '<' | '>'))
        .collect();
    let crumb =
        |c: char| c.is_whitespace() || matches!(c, '.' | ',' | ':' | ';' | '"' | '\\' | '\'');
    kept.trim_matches(crumb).to_owned()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn composed(text: &str) -> String {
        let trailers = [
            ("Lane", "_repo".to_owned()),
            (
                "Reviewed-by",
                "M <m@example.com>\nReviewed-by: x".to_owned(),
            ),
        ];
        String::from_utf8(compose(text, &trailers).unwrap()).unwrap()
    }

    #[test]
    fn a_message_is_cleaned_and_the_trailers_are_its_last_paragraph() {
        assert_eq!(
            composed("\n\nFix it  \r\n\r\n\n\nBecause.\n\n"),
            "Fix it\n\nBecause.\n\nLane: _repo\nReviewed-by: M <m@example.com> Reviewed-by: x\n"
        );
    }

    #[test]
    fn no_line_of_a_message_passes_for_a_trailer_of_ours() {
        let forged =
            composed("Fix\n\nreviewed-BY : boss\nLane:x\rAsk: y\u{2028}Lane: z\n---\nCc: a");
        assert_eq!(
            forged,
            "Fix\n\n reviewed-BY : boss\n Lane:x\n Ask: y\n Lane: z\n ---\nCc: a\n\nLane: _repo\nReviewed-by: M <m@example.com> Reviewed-by: x\n"
        );
    }

    #[test]
    fn a_message_of_nothing_and_one_that_is_too_long_are_refused() {
        assert!(matches!(
            compose(" \n\t\n", &[]),
            Err(GitError::BadArgument(_))
        ));
        let long = "x".repeat(LONGEST + 1);
        assert!(matches!(compose(&long, &[]), Err(GitError::OverLimit(_))));
    }

    #[test]
    fn names_cannot_end_their_line() {
        let who = |name: &str, email: &str| Signature {
            name: name.to_owned(),
            email: email.to_owned(),
            at: Timestamp::from_second(1_700_000_000).unwrap(),
        };
        let tree = ObjectId::empty_tree(gix::hash::Kind::Sha1);
        let bytes = commit(
            tree,
            &[],
            &who("A\ncommitter B <b@x> 1 +0000\n\nforged", "a@x>\n"),
            &who(" .;", "c@example.com"),
            b"m\n",
        );
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text,
            "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
             author Acommitter B b@x 1 +0000forged <a@x> 1700000000 +0000\n\
             committer c@example.com <c@example.com> 1700000000 +0000\n\nm\n"
        );
    }
}
