//! What a change of the status makes of every way to write it.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use guildhall_local::format::{Change, change};

use crate::laws;

/// Changes the status of `front` to `Done` and gives the front matter after it.
fn done(front: &str) -> String {
    let text = format!("---\n{front}\n---\n# T\n");
    laws::hold_for_bytes(text.as_bytes());
    let at = "2026-05-29T10:00:00.000Z".parse().unwrap();
    let after = change(text.as_bytes(), &Change::Status("Done"), at, 1 << 16)
        .unwrap()
        .unwrap();
    let after = String::from_utf8(after).unwrap();
    let front = after
        .strip_prefix("---\n")
        .and_then(|text| text.strip_suffix("\n---\n# T\n"));
    front.unwrap().to_owned()
}

#[test]
fn every_way_to_write_a_status_is_replaced_in_its_place() {
    const AT: &str = "created_at: 2026-05-29T10:00:00.000Z";
    for (before, after) in [
        ("status: Todo", format!("status: Done\n{AT}")),
        (
            "status:   'Todo'   # why",
            format!("status:   Done   # why\n{AT}"),
        ),
        (
            "x: 1\nstatus: \"To do\"\ny: 2",
            format!("x: 1\nstatus: Done\n{AT}\ny: 2"),
        ),
        (
            "status: In\n  Progress\ny: 2",
            format!("status: Done\n{AT}\ny: 2"),
        ),
        ("status: !!str 12", format!("status: !!str Done\n{AT}")),
        ("status: &s Todo", format!("status: &s Done\n{AT}")),
        (
            "status: &s Todo\nwas: *s\nis: *s",
            format!("status:  Done\n{AT}\nwas: &s Todo\nis: *s"),
        ),
        (
            "status: &s !x |\n  12\nwas: *s",
            format!("{AT}\nstatus:  !x Done\nwas: &s !x \"12\\n\""),
        ),
        (
            "a: &s Todo\nstatus: *s",
            format!("a: &s Todo\nstatus: Done\n{AT}"),
        ),
        (
            "status: | # note\n  Todo\n\n# c\ny: 1",
            format!("{AT}\nstatus: Done # note\n# c\ny: 1"),
        ),
        (
            "y: 1\nstatus: >-\n  In\n  Progress",
            format!("y: 1\n{AT}\nstatus: Done"),
        ),
        (
            "? status\n: Todo\n? y\n: 2",
            format!("? status\n: Done\n{AT}\n? y\n: 2"),
        ),
        (
            "  status: Todo\n  y: 1",
            format!("  status: Done\n  {AT}\n  y: 1"),
        ),
        (
            "status:\n  Todo\ny: 1",
            format!("status:\n  Done\n{AT}\ny: 1"),
        ),
        (
            "{status: Todo, y: [1]}",
            "{status: Done, created_at: \"2026-05-29T10:00:00.000Z\", y: [1]}".to_owned(),
        ),
        (
            "{\"status\":\"Todo\"}",
            "{\"status\":Done, created_at: \"2026-05-29T10:00:00.000Z\"}".to_owned(),
        ),
        (
            "created_at: no\nstatus: Todo",
            "created_at: no\nstatus: Done\ncreatedAt: 2026-05-29T10:00:00.000Z".to_owned(),
        ),
        (
            "createdAt: 2026-01-01\nstatus: Todo",
            "createdAt: 2026-01-01\nstatus: Done".to_owned(),
        ),
        (
            "created_at: a\ncreatedAt: b\nstatus: Todo",
            "created_at: a\ncreatedAt: b\nstatus: Done".to_owned(),
        ),
        (
            "note: |\n  text\n\nstatus: Todo",
            format!("note: |\n  text\n\nstatus: Done\n{AT}"),
        ),
    ] {
        assert_eq!(done(before), after, "{before:?}");
    }
}
