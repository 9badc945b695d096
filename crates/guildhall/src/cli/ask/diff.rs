//! A changed file as a unified diff, in colours.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use gix_imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

use crate::output::printable;

/// A file of a changeset beside what was there.
pub(super) struct File {
    pub(super) path: String,
    pub(super) mode: Option<String>,
    pub(super) deleted: bool,
    pub(super) before: Option<Content>,
    /// `None` where it stays what it is.
    pub(super) after: Option<Content>,
}

/// What a file holds.
pub(super) enum Content {
    Text(String),
    Binary,
}

/// The diff, ready for a terminal: nothing of the file can steer it. The colours go where the output is none.
pub(super) fn rendered(file: &File) -> String {
    let path = printable(&file.path).replace(['\n', '\t'], "\u{fffd}");
    let bold = Style::new().bold();
    let (old, new) = match (&file.before, file.deleted) {
        (None, _) => ("/dev/null".to_owned(), format!("b/{path}")),
        (Some(_), true) => (format!("a/{path}"), "/dev/null".to_owned()),
        (Some(_), false) => (format!("a/{path}"), format!("b/{path}")),
    };
    let mut out = format!("{bold}--- {old}{bold:#}\n{bold}+++ {new}{bold:#}\n");
    if let Some(mode) = &file.mode {
        let _ = writeln!(out, "mode {}", printable(mode));
    }
    let nothing = Content::Text(String::new());
    let before = file.before.as_ref().unwrap_or(&nothing);
    let after = if file.deleted {
        Some(&nothing)
    } else {
        file.after.as_ref()
    };
    match (before, after) {
        // Only the mode changes.
        (_, None) => {}
        (Content::Text(before), Some(Content::Text(after))) => out.push_str(&hunks(before, after)),
        _ => out.push_str("Binary files differ\n"),
    }
    out
}

fn hunks(before: &str, after: &str) -> String {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    let plain = diff
        .unified_diff(&printer, UnifiedDiffConfig::default(), &input)
        .to_string();
    plain.lines().fold(String::new(), |mut out, line| {
        let color = match line.as_bytes().first() {
            Some(b'+') => AnsiColor::Green,
            Some(b'-') => AnsiColor::Red,
            Some(b'@') => AnsiColor::Cyan,
            _ => {
                let _ = writeln!(out, "{}", printable(line));
                return out;
            }
        }
        .on_default();
        let _ = writeln!(out, "{color}{}{color:#}", printable(line));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(before: Option<&str>, after: Option<&str>) -> File {
        File {
            path: "src/a.rs".to_owned(),
            mode: None,
            deleted: after.is_none(),
            before: before.map(|text| Content::Text(text.to_owned())),
            after: after.map(|text| Content::Text(text.to_owned())),
        }
    }

    fn plain(file: &File) -> String {
        anstream::adapter::strip_str(&rendered(file)).to_string()
    }

    #[test]
    fn what_was_added_changed_and_deleted_is_told_apart() {
        assert_eq!(
            plain(&file(None, Some("a\nb\n"))),
            "--- /dev/null\n+++ b/src/a.rs\n@@ -1,0 +1,2 @@\n+a\n+b\n"
        );
        assert_eq!(
            plain(&file(Some("a\nb\nc\n"), Some("a\nx\nc\n"))),
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"
        );
        assert_eq!(
            plain(&file(Some("a\n"), None)),
            "--- a/src/a.rs\n+++ /dev/null\n@@ -1,1 +1,0 @@\n-a\n"
        );
        let binary = File {
            after: Some(Content::Binary),
            ..file(Some("a\n"), Some(""))
        };
        assert!(plain(&binary).ends_with("Binary files differ\n"));
    }

    #[test]
    fn lines_have_their_colour_and_cannot_steer_the_terminal() {
        let hostile = "a\u{1b}[2J\u{202e}b\r\n";
        let mut changed = file(Some("a\n"), Some(hostile));
        changed.path = "x\u{1b}]0;y\u{7}\n+++ z".to_owned();
        let shown = rendered(&changed);
        assert!(
            shown.contains("\u{1b}[32m+a\u{fffd}[2J\u{fffd}b"),
            "{shown:?}"
        );
        for line in anstream::adapter::strip_str(&shown).to_string().lines() {
            assert_eq!(printable(line), line);
        }
        assert!(
            shown.contains("x\u{fffd}]0;y\u{fffd}\u{fffd}+++ z"),
            "{shown:?}"
        );
    }
}
