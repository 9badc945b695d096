//! Splitting `WORKFLOW.md` into its front matter and its prompt.

/// The two parts of a file. Nothing is trimmed.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Parts<'a> {
    /// The YAML between the two lines `---`, which begins on line 2; `None` without front matter.
    pub(crate) yaml: Option<&'a str>,
    /// What follows it.
    pub(crate) prompt: &'a str,
    /// The first line is `---` and no other is: taken as prompt, but hardly meant so.
    pub(crate) unclosed: bool,
}

/// Splits `text`: the first line must be exactly `---` for there to be front matter, and so must its last.
pub(crate) fn split(text: &str) -> Parts<'_> {
    // An editor's byte order mark is not part of the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let whole = Parts {
        yaml: None,
        prompt: text,
        unclosed: false,
    };
    let Some(first) = lines.next().filter(|line| is_fence(line)) else {
        return whole;
    };
    let start = first.len();
    let mut at = start;
    for line in lines {
        if is_fence(line) {
            return Parts {
                yaml: Some(&text[start..at]),
                prompt: &text[at + line.len()..],
                unclosed: false,
            };
        }
        at += line.len();
    }
    Parts {
        unclosed: true,
        ..whole
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line) == "---"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_stands_between_two_exact_lines() {
        for (text, yaml, prompt, unclosed) in [
            (
                "---\na: 1\n---\nDo it.\n",
                Some("a: 1\n"),
                "Do it.\n",
                false,
            ),
            (
                "---\r\na: 1\r\n---\r\nDo it.",
                Some("a: 1\r\n"),
                "Do it.",
                false,
            ),
            ("\u{feff}---\na: 1\n---\n", Some("a: 1\n"), "", false),
            ("---\n---\nx", Some(""), "x", false),
            ("---\na: 1\n---", Some("a: 1\n"), "", false),
            (
                "Do it.\n---\na: 1\n---\n",
                None,
                "Do it.\n---\na: 1\n---\n",
                false,
            ),
            ("----\na: 1\n---\n", None, "----\na: 1\n---\n", false),
            ("--- \na: 1\n---\n", None, "--- \na: 1\n---\n", false),
            ("---\na: 1\n", None, "---\na: 1\n", true),
            ("", None, "", false),
        ] {
            let expected = Parts {
                yaml,
                prompt,
                unclosed,
            };
            assert_eq!(split(text), expected, "{text:?}");
        }
    }
}
