//! What files are read as.

use guildhall_local::format::{FormatError, IssueText, read};

const MAX: usize = 64 << 10;

fn issue(text: &str) -> IssueText {
    read(text.as_bytes(), MAX).unwrap_or_else(|error| panic!("{text:?}: {error:?}"))
}

#[test]
fn status_follows_the_core_schema_of_yaml_1_2() {
    for (value, status) in [
        ("Todo", "Todo"),
        ("  In Progress  # why", "In Progress"),
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("!mine 12", "12"),
        ("'123'", "123"),
        ("\" Todo \"", "Todo"),
        ("\"a\\nb\"", "a\nb"),
        ("|\n  Todo", "Todo"),
        (">-\n  In\n  Progress", "In Progress"),
        ("&a Todo", "Todo"),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1.2.3", "1.2.3"),
        ("In\n  Progress", "In Progress"),
    ] {
        assert_eq!(
            issue(&format!("---\nstatus: {value}\n---\n")).status,
            status,
            "{value:?}"
        );
    }
    for value in [
        "", "~", "null", "Null", "5", "-5", "+1", "0x1F", "0o17", "1.5", "1e3", ".5", "5.",
        "-.inf", ".NaN", "true", "False", "''", "\"  \"", "[Todo]", "{a: b}", "!!int 5",
        "!!null x", "!!str",
    ] {
        let text = format!("---\nstatus: {value}\n---\n");
        assert_eq!(
            read(text.as_bytes(), MAX),
            Err(FormatError::NoStatus),
            "{value:?}"
        );
    }
}

#[test]
fn front_matter_runs_from_the_opening_line_to_the_first_closing_one() {
    for text in [
        "---\nstatus: Todo\n---\n# T\n",
        "----\nstatus: Todo\n----\n# T\n",
        "--- anything\nstatus: Todo\n--- trailing\n# T\n",
        "---\r\nstatus: Todo\r\n---\r\n# T\r\n",
        "---\n{status: Todo}\n---\n# T",
        "---\nx: &a Todo\nstatus: *a\n---\n# T",
        "---\n? status\n: Todo\n---\n# T",
    ] {
        let issue = issue(text);
        assert_eq!(
            (issue.status.as_str(), issue.title.as_str()),
            ("Todo", "T"),
            "{text:?}"
        );
    }
    for text in [
        "",
        "---",
        "---\n",
        "---\n---\n",
        "---\nstatus: Todo\n",
        "\u{feff}---\nstatus: Todo\n---\n",
        "\n---\nstatus: Todo\n---\n",
        "---\n# only a comment\n---\n",
        "---\n- status\n---\n",
        "---\nStatus: Todo\n---\n",
        "---\na:\n  status: Todo\n---\n",
    ] {
        assert_eq!(
            read(text.as_bytes(), MAX),
            Err(FormatError::NoStatus),
            "{text:?}"
        );
    }
    for text in [
        "---\nstatus: [\n---\n",
        "---\nstatus: Todo\nstatus: Done\n---\n",
        "---\nstatus: *missing\n---\n",
        "---\nstatus: a: b\n---\n",
        "---\nstatus: Todo\n...\nx: y\n---\n",
    ] {
        assert!(
            matches!(read(text.as_bytes(), MAX), Err(FormatError::FrontMatter(_))),
            "{text:?}"
        );
    }
}

#[test]
fn labels_are_the_strings_of_a_list() {
    for (value, labels) in [
        ("[a, 1, B b, ~, [x], 'true']", vec!["a", "B b", "true"]),
        ("\n  - a\n  - b", vec!["a", "b"]),
        ("a", vec![]),
        ("{a: b}", vec![]),
        ("[*s, c]", vec!["Todo", "c"]),
    ] {
        assert_eq!(
            issue(&format!("---\nstatus: &s Todo\nlabels: {value}\n---\n")).labels,
            labels,
            "{value:?}"
        );
    }
}

#[test]
fn the_creation_time_is_read_in_the_forms_people_write() {
    for (line, time) in [
        (
            "created_at: 2026-05-29T10:00:00.000Z",
            Some("2026-05-29T10:00:00Z"),
        ),
        (
            "created_at: '2026-05-29T12:00:00+02:00'",
            Some("2026-05-29T10:00:00Z"),
        ),
        (
            "createdAt: 2026-05-29 10:00:00",
            Some("2026-05-29T10:00:00Z"),
        ),
        ("createdAt: 2026-05-29", Some("2026-05-29T00:00:00Z")),
        (
            "created_at: yesterday\ncreatedAt: 2026-05-29",
            Some("2026-05-29T00:00:00Z"),
        ),
        (
            "created_at: 2026-05-28\ncreatedAt: 2026-05-29",
            Some("2026-05-28T00:00:00Z"),
        ),
        ("created_at: 12", None),
        ("created_at: [2026-05-29]", None),
        ("created: 2026-05-29", None),
    ] {
        let created = issue(&format!("---\nstatus: Todo\n{line}\n---\n")).created_at;
        assert_eq!(created, time.map(|time| time.parse().unwrap()), "{line:?}");
    }
}

#[test]
fn title_and_description_are_split_at_the_first_heading() {
    for (body, title, description) in [
        ("# T\n\nText\n", "T", "Text"),
        (
            "before\n#no\n## two\n#  T  \nText\n# Other\n",
            "T",
            "Text\n# Other",
        ),
        ("Text\n\nmore", "", "Text\n\nmore"),
        ("# \nText", "", "Text"),
        ("\r\n# T\r\n\r\na\r\nb", "T", "a\nb"),
        (" # T", "", "# T"),
        (
            "# T\ntext with <!-- \\lorenz:comments --> in it",
            "T",
            "text with <!-- lorenz:comments --> in it",
        ),
        (
            "# T\n## Comments\nin the text",
            "T",
            "## Comments\nin the text",
        ),
    ] {
        let issue = issue(&format!("---\nstatus: Todo\n---\n{body}"));
        assert_eq!(
            (issue.title.as_str(), issue.description.as_str()),
            (title, description),
            "{body:?}"
        );
    }
}

#[test]
fn a_comment_is_what_begins_with_a_dash_and_all_lines_below_it() {
    for (section, comments) in [
        ("", vec![]),
        ("\n## Comments\n", vec![]),
        ("\n## Comments\n- a\n- b\n", vec!["- a", "- b"]),
        ("\n- a\n\n- b\n\n\n", vec!["- a", "- b"]),
        (
            "\n## Comments\n- a\n  more\n\n    code\n- b",
            vec!["- a\nmore\n\n  code", "- b"],
        ),
        (
            "\n- a\nnot indented\n  kept",
            vec!["- a\nnot indented\n  kept"],
        ),
        (
            "\nfree text\nof two lines\n- a",
            vec!["free text\nof two lines", "- a"],
        ),
        ("\n## Comments \r\n- a\r\n  b\r\n", vec!["- a\nb"]),
        ("\n## Comments on it\n- a", vec!["## Comments on it", "- a"]),
        (
            "\n- a <!-- lorenz:comments -->\n- b",
            vec!["- a <!-- lorenz:comments -->", "- b"],
        ),
        ("\n-a\n* b", vec!["-a\n* b"]),
    ] {
        let text = format!("---\nstatus: Todo\n---\n# T\n<!-- lorenz:comments -->{section}");
        let issue = issue(&text);
        assert_eq!(issue.comments, comments, "{section:?}");
        assert_eq!(issue.description, "", "{section:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    let issue = read(b"---\nstatus: T\xffdo\n---\n# \xc3\n\xf0\x9f", MAX).unwrap();
    assert_eq!(issue.status, "T\u{fffd}do");
    assert_eq!(issue.title, "\u{fffd}");
    assert_eq!(issue.description, "\u{fffd}");
}

#[test]
fn hostile_front_matter_is_bounded() {
    let bomb = (1..40).fold("a0: &a0 x\n".to_owned(), |text, n| {
        let before = n - 1;
        text + &format!("a{n}: &a{n} [*a{before}, *a{before}, *a{before}]\n")
    });
    // Aliases are not expanded, so this is a small file like any other.
    assert_eq!(
        issue(&format!("---\n{bomb}status: Todo\nlabels: *a39\n---\n")).status,
        "Todo"
    );
    let recursive = "---\nstatus: Todo\nlabels: &l [*l, a]\n---\n";
    assert_eq!(issue(recursive).labels, ["a"]);
    let merged = "---\nbase: &b {status: Done}\n<<: *b\nstatus: Todo\n---\n";
    assert_eq!(issue(merged).status, "Todo");
    let deep = "[".repeat(100_000);
    let wide = "x: [".to_owned() + &"1,".repeat(30_000) + "]";
    for front in [deep.as_str(), &wide, &"x".repeat(10 << 20)] {
        let text = format!("---\nstatus: Todo\n{front}\n---\n");
        for max in [MAX, usize::MAX] {
            match read(text.as_bytes(), max) {
                Err(FormatError::FrontMatter(reason)) => assert!(reason.len() < 300, "{reason}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
