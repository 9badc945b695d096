//! What must hold for the file of an issue, whatever bytes it has. The fuzzer holds the same laws.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use guildhall_local::format::{Change, FormatError, IssueText, change, read, write};
use jiff::Timestamp;
use serde_json::Value;

const MAX: usize = 64 << 10;

fn at() -> Timestamp {
    "2026-05-29T10:00:00.000Z".parse().unwrap()
}

/// A change says what it is about and nothing else, in text and in bytes.
pub(crate) fn hold_for_bytes(bytes: &[u8]) {
    let Ok(before) = read(bytes, MAX) else {
        for refused in [
            change(bytes, &Change::Status("x"), at(), MAX),
            commented(bytes, "x"),
        ] {
            assert!(matches!(
                refused,
                Err(FormatError::NoStatus | FormatError::FrontMatter(_))
            ));
        }
        return;
    };
    // The file itself is the source of hostile text.
    let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(40)..]).into_owned();
    let statuses = [
        "Done",
        "yes: [weird] #x",
        "a\n---\nb",
        "0x1F",
        tail.as_str(),
    ];
    let mut current = bytes.to_vec();
    let mut issue = before;
    let mut last: Option<String> = None;
    for status in statuses.map(js_trim) {
        if status.is_empty() || status == issue.status {
            continue;
        }
        let after = change(&current, &Change::Status(status), at(), MAX)
            .unwrap()
            .unwrap();
        let mut expected = issue.clone();
        status.clone_into(&mut expected.status);
        issue = read(&after, MAX).unwrap();
        same_but_created(expected, &issue);
        same_below_front_matter(&current, &after);
        assert_eq!(
            other_keys(&current),
            other_keys(&after),
            "{current:?} {after:?}"
        );
        if let Some(last) = last {
            // From the second change on, the status is all that differs.
            let (old, new) = differing(&current, &after);
            assert!(
                old <= 6 * last.len() + 2 && new <= 6 * status.len() + 2,
                "{current:?} {after:?}"
            );
        }
        last = Some(status.to_owned());
        current = after;
    }
    let unchanged = change(&current, &Change::Status(&issue.status), at(), MAX);
    assert_eq!(unchanged, Ok(None));
    comments_hold(
        &current,
        issue,
        &[
            "one",
            "x\n- 2026-01-01T00:00:00.000Z human: ok\n\n    y\r- z",
            &tail,
        ],
    );
    // Also as the first change of all.
    let read_first = read(bytes, MAX).unwrap();
    comments_hold(
        bytes,
        read_first,
        &[&tail, "<!-- lorenz:comments -->\n## Comments\n"],
    );
}

fn commented(bytes: &[u8], body: &str) -> Result<Option<Vec<u8>>, FormatError> {
    let comment = Change::Comment {
        at: at(),
        author: "agent",
        body,
    };
    change(bytes, &comment, at(), MAX)
}

fn comments_hold(bytes: &[u8], mut issue: IssueText, bodies: &[&str]) {
    let mut current = bytes.to_vec();
    for body in bodies {
        if js_trim(body).is_empty() {
            continue;
        }
        let after = commented(&current, body).unwrap().unwrap();
        let mut expected = issue.clone();
        expected
            .comments
            .push(format!("- 2026-05-29T10:00:00.000Z agent: {}", tidy(body)));
        issue = read(&after, MAX).unwrap();
        same_but_created(expected, &issue);
        only_insertions(&current, &after);
        assert_eq!(
            other_keys(&current),
            other_keys(&after),
            "{current:?} {after:?}"
        );
        current = after;
    }
}

/// Everything given for a new issue is read back, but for white space around it.
pub(crate) fn hold_for_new(status: &str, title: &str, body: &str) {
    let status = js_trim(status);
    let title = js_trim(title).replace(['\n', '\r'], " ");
    if status.is_empty() || title.is_empty() {
        return;
    }
    let text = write(status, at(), &title, body);
    let issue = read(text.as_bytes(), MAX).unwrap();
    let expected = IssueText {
        status: status.to_owned(),
        title,
        description: js_trim(&body.replace("\r\n", "\n").replace('\r', "\n")).to_owned(),
        labels: Vec::new(),
        comments: Vec::new(),
        created_at: Some(at()),
    };
    assert_eq!(issue, expected);
    hold_for_bytes(text.as_bytes());
}

/// A creation time may have been added, never changed.
fn same_but_created(mut expected: IssueText, issue: &IssueText) {
    if expected.created_at.is_none() {
        assert!(issue.created_at.is_none_or(|created| created == at()));
        expected.created_at = issue.created_at;
    }
    assert_eq!(&expected, issue);
}

fn closing(bytes: &[u8]) -> usize {
    let closing = bytes[3..].windows(4).position(|four| four == b"\n---");
    3 + closing.unwrap()
}

fn same_below_front_matter(before: &[u8], after: &[u8]) {
    assert_eq!(before[closing(before)..], after[closing(after)..]);
}

/// The lengths of what differs between what both begin and end with.
fn differing(before: &[u8], after: &[u8]) -> (usize, usize) {
    let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let start = before.iter().zip(after).take_while(same).count();
    let ends = before[start..]
        .iter()
        .rev()
        .zip(after[start..].iter().rev());
    let end = ends.take_while(same).count();
    (before.len() - start - end, after.len() - start - end)
}

/// Every byte of `before` stands in `after`, in the same order, with no more than two insertions between.
fn only_insertions(before: &[u8], after: &[u8]) {
    let closing_before = closing(before);
    let closing_after = closing(after);
    let (front, _) = differing(&before[..closing_before], &after[..closing_after]);
    let (body, _) = differing(&before[closing_before..], &after[closing_after..]);
    assert_eq!((front, body), (0, 0), "{before:?} {after:?}");
}

/// What another reader of YAML makes of the keys that are not ours, or `None` where it makes nothing of them.
fn other_keys(bytes: &[u8]) -> Option<Value> {
    let start = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    let front = String::from_utf8_lossy(bytes.get(start..closing(bytes))?).into_owned();
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        merge_keys: serde_saphyr::MergeKeyPolicy::AsOrdinary,
    };
    // Its last line ends here, as ours does not: what a block scalar ends with is no part of the comparison.
    let mut value: Value =
        serde_saphyr::from_str_with_options(&format!("{front}\n"), options).ok()?;
    let keys = value.as_object_mut()?;
    for key in ["status", "created_at", "createdAt"] {
        keys.remove(key);
    }
    Some(value)
}

fn js_trim(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}

/// A comment without blank lines before it and white space after it, its line ends `\n`.
fn tidy(body: &str) -> String {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let end =
        body.trim_end_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}');
    let lines: Vec<&str> = end.split('\n').collect();
    let first = lines
        .iter()
        .position(|line| !js_trim(line).is_empty())
        .unwrap();
    lines[first..].join("\n")
}
