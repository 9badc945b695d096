//! What files on the board are read as, and how a change from outside is seen.

use std::os::unix::fs::symlink;

use guildhall_core::query::{FieldRef, Record as _};
use guildhall_local::{BoardError, IdPrefix};

use crate::support::{World, ids, issue_file, skipped};

#[test]
fn a_missing_directory_is_an_empty_board_until_the_first_write() {
    let world = World::new();
    std::fs::remove_dir(world.dir()).unwrap();
    let board = world.open();
    assert_eq!(ids(&board), Vec::<String>::new());
    std::fs::create_dir(world.dir()).unwrap();
    world.put("BOARD-3.md", issue_file("Todo", "three"));
    assert_eq!(ids(&board), ["BOARD-3"]);
}

#[test]
fn issues_stand_in_the_order_of_their_numbers() {
    let world = World::new();
    for name in ["BOARD-10", "BOARD-2", "BOARD-007", "BOARD-7", "BOARD-0"] {
        world.put(&format!("{name}.md"), issue_file("Todo", name));
    }
    for stray in [
        "README.md",
        "board-1.md",
        "BOARD-1.MD",
        "BOARD-.md",
        "BOARD-1x.md",
        "X-1.md",
        "BOARD-1.md.tmp",
    ] {
        world.put(stray, "stray");
    }
    let board = world.open();
    assert_eq!(
        ids(&board),
        ["BOARD-0", "BOARD-2", "BOARD-7", "BOARD-007", "BOARD-10"]
    );
    assert_eq!(skipped(&board), []);
}

#[test]
fn another_prefix_is_another_board() {
    let world = World::new();
    world.put("T_1-4.md", issue_file("Todo", "four"));
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let mut options = world.options();
    options.id_prefix = IdPrefix::new("T_1-").unwrap();
    let board = crate::support::open(options);
    assert_eq!(ids(&board), ["T_1-4"]);
    assert_eq!(
        board.read("BOARD-1").unwrap_err().to_string(),
        "invalid board issue id: \"BOARD-1\" (expected T_1-<n>)"
    );
    for prefix in ["", "-a", "_a", "a/b", "a.b", "ä", "a b"] {
        assert!(IdPrefix::new(prefix).is_err(), "{prefix:?}");
    }
}

#[test]
fn ids_that_are_no_ids_are_refused_before_anything_is_read() {
    let board = World::new().open();
    for id in [
        "",
        "BOARD-",
        "BOARD-1 ",
        " BOARD-1",
        "board-1",
        "BOARD-1a",
        "BOARD--1",
        "BOARD-+1",
        "../BOARD-1",
        "BOARD-1/../../etc/passwd",
        "BOARD-1\0",
        "BOARD-١",
        "/etc/passwd",
        "BOARD-99999999999999999999",
    ] {
        let error = board.read(id).unwrap_err();
        assert!(
            matches!(error, BoardError::InvalidId { .. }),
            "{id:?}: {error}"
        );
        assert!(matches!(
            board.set_status(id, "Done"),
            Err(BoardError::InvalidId { .. })
        ));
        assert!(matches!(
            board.comment(id, "agent", "hi"),
            Err(BoardError::InvalidId { .. })
        ));
    }
    assert_eq!(
        board.read("BOARD-1").unwrap_err().to_string(),
        "Board issue BOARD-1 does not exist"
    );
}

#[test]
fn fields_of_a_record_are_those_of_the_page() {
    let world = World::new();
    world.put(
        "BOARD-2.md",
        "---\nstatus: In Progress\nlabels:\n  - Backend\n  - 12\n  - ' API '\ncreated_at: 2026-01-02\n---\n\n# Two\n\nText\n\n\
         <!-- lorenz:comments -->\n## Comments\n- 2026-05-29T10:00:00.000Z agent: hi\n  there\n",
    );
    let board = world.open();
    let snapshot = board.snapshot().unwrap();
    let entry = snapshot.get("BOARD-2").unwrap();
    let text = |name| match entry.field(name) {
        Some(FieldRef::Text(text)) => text.to_owned(),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(text("id"), "BOARD-2");
    assert_eq!(text("identifier"), "BOARD-2");
    assert_eq!(text("title"), "Two");
    assert_eq!(text("description"), "Text");
    assert_eq!(text("state"), "In Progress");
    assert_eq!(text("stateType"), "started");
    assert_eq!(text("createdAt"), "2026-01-02T00:00:00.000Z");
    assert_eq!(text("updatedAt").len(), 24);
    assert!(
        matches!(entry.field("labels"), Some(FieldRef::Texts(labels)) if labels == ["backend", "api"])
    );
    assert!(matches!(
        entry.field("comments"),
        Some(FieldRef::Texts(comments)) if comments == ["- 2026-05-29T10:00:00.000Z agent: hi\nthere"]
    ));
    assert!(entry.field("__proto__").is_none());
}

#[test]
fn malformed_files_are_skipped_with_a_reason_and_no_path() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "good"));
    world.put("BOARD-2.md", "no front matter");
    world.put("BOARD-3.md", "---\nstatus: 5\n---\n");
    world.put("BOARD-4.md", "---\nstatus: [\n---\n");
    std::fs::create_dir(world.path("BOARD-5.md")).unwrap();
    world.put("BOARD-9007199254740992.md", issue_file("Todo", "large"));
    let board = world.open();
    assert_eq!(ids(&board), ["BOARD-1"]);
    let skipped = skipped(&board);
    let of: Vec<_> = skipped.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(
        of,
        [
            "BOARD-2",
            "BOARD-3",
            "BOARD-4",
            "BOARD-5",
            "BOARD-9007199254740992"
        ]
    );
    assert_eq!(
        skipped[0].1,
        "board issue BOARD-2 is missing required 'status'"
    );
    assert_eq!(
        skipped[1].1,
        "board issue BOARD-3 is missing required 'status'"
    );
    assert!(
        skipped[2]
            .1
            .starts_with("Board issue BOARD-4 has front matter that cannot be read: "),
        "{}",
        skipped[2].1
    );
    assert_eq!(
        skipped[3].1,
        "Board issue BOARD-5 is a directory, not a file"
    );
    let dir = world.dir().display().to_string();
    assert!(skipped.iter().all(|(_, error)| !error.contains(&dir)));
    for (id, error) in &skipped[..4] {
        assert_eq!(board.read(id).unwrap_err().to_string(), *error);
        assert_eq!(
            board.set_status(id, "Done").unwrap_err().to_string(),
            *error
        );
    }
}

#[test]
fn links_pipes_and_devices_are_never_opened() {
    let world = World::new();
    let secret = world.outside("secret.md");
    std::fs::write(&secret, issue_file("Todo", "secret")).unwrap();
    symlink(&secret, world.path("BOARD-1.md")).unwrap();
    symlink("/dev/zero", world.path("BOARD-2.md")).unwrap();
    symlink("missing", world.path("BOARD-3.md")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(world.path("BOARD-4.md"))
        .status()
        .unwrap();
    assert!(made.success());
    let board = world.open();
    assert_eq!(ids(&board), Vec::<String>::new());
    assert_eq!(
        skipped(&board),
        [
            (
                "BOARD-1".to_owned(),
                "Board issue BOARD-1 is a symbolic link, which is not followed".to_owned()
            ),
            (
                "BOARD-2".to_owned(),
                "Board issue BOARD-2 is a symbolic link, which is not followed".to_owned()
            ),
            (
                "BOARD-3".to_owned(),
                "Board issue BOARD-3 is a symbolic link, which is not followed".to_owned()
            ),
            (
                "BOARD-4".to_owned(),
                "Board issue BOARD-4 is not a regular file".to_owned()
            ),
        ]
    );
    for id in ["BOARD-1", "BOARD-2", "BOARD-3", "BOARD-4"] {
        assert!(matches!(
            board.comment(id, "agent", "hi"),
            Err(BoardError::BadFile { .. })
        ));
        assert!(matches!(
            board.set_status(id, "Done"),
            Err(BoardError::BadFile { .. })
        ));
    }
    assert_eq!(
        std::fs::read_to_string(secret).unwrap(),
        issue_file("Todo", "secret")
    );
}

#[test]
fn a_board_that_is_deleted_and_made_again_is_followed() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let board = world.open();
    std::fs::remove_dir_all(world.dir()).unwrap();
    assert_eq!(ids(&board), Vec::<String>::new());
    std::fs::create_dir(world.dir()).unwrap();
    world.put("BOARD-4.md", issue_file("Todo", "four"));
    assert_eq!(ids(&board), ["BOARD-4"]);
    // Another directory put in its place by renaming.
    let other = world.outside("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("BOARD-9.md"), issue_file("Done", "nine")).unwrap();
    std::fs::rename(world.dir(), world.outside("old")).unwrap();
    std::fs::rename(&other, world.dir()).unwrap();
    assert_eq!(ids(&board), ["BOARD-9"]);
    world.put("BOARD-10.md", issue_file("Todo", "ten"));
    assert_eq!(ids(&board), ["BOARD-9", "BOARD-10"]);
}

#[test]
fn a_board_swapped_for_a_link_is_not_followed() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let elsewhere = world.outside("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("BOARD-2.md"), issue_file("Todo", "private")).unwrap();
    let board = world.open();
    std::fs::rename(world.dir(), world.outside("moved")).unwrap();
    symlink(&elsewhere, world.dir()).unwrap();
    assert!(matches!(board.snapshot(), Err(BoardError::Io { .. })));
    assert!(board.comment("BOARD-2", "agent", "hi").is_err());
    // A link that was there when the board was opened is where the board is.
    let board = world.open();
    assert_eq!(ids(&board), ["BOARD-2"]);
}

#[test]
fn a_directory_that_is_a_file_is_an_error_without_a_path() {
    let world = World::new();
    std::fs::remove_dir(world.dir()).unwrap();
    std::fs::write(world.dir(), "").unwrap();
    let error = guildhall_local::Board::open(
        world.options(),
        std::sync::Arc::new(guildhall_core::SystemClock),
        std::sync::Arc::new(guildhall_core::SystemIds),
    )
    .err()
    .unwrap()
    .to_string();
    assert_eq!(
        error,
        "Cannot read the board directory: Not a directory (os error 20)"
    );
}

#[test]
fn an_editor_that_replaces_the_file_does_not_make_the_issue_younger() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let board = world.open();
    let created = board
        .snapshot()
        .unwrap()
        .get("BOARD-1")
        .unwrap()
        .created_at()
        .to_owned();
    std::thread::sleep(std::time::Duration::from_millis(5));
    world.put("new", issue_file("Done", "one"));
    std::fs::rename(world.path("new"), world.path("BOARD-1.md")).unwrap();
    let snapshot = board.snapshot().unwrap();
    let entry = snapshot.get("BOARD-1").unwrap();
    assert_eq!(entry.state(), "Done");
    assert_eq!(entry.created_at(), created);
}

#[test]
fn a_board_is_a_tracker_of_the_kind_local() {
    use guildhall_core::tracker::{Tracker as _, TrackerFuture};
    use std::task::{Context, Poll, Waker};

    fn now<T>(mut future: TrackerFuture<'_, T>) -> T {
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(Ok(value)) => value,
            Poll::Ready(Err(error)) => panic!("{error}"),
            Poll::Pending => panic!("a board's answer is ready at once"),
        }
    }

    let world = World::new();
    world.put("BOARD-2.md", issue_file("Done", "two"));
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    world.put("BOARD-3.md", "broken");
    let board = world.open();
    assert_eq!(board.kind(), "local");
    let issues = now(board.issues());
    assert_eq!(
        issues
            .iter()
            .map(|issue| issue.id.as_str())
            .collect::<Vec<_>>(),
        ["BOARD-1", "BOARD-2"]
    );
    assert_eq!(now(board.issue("BOARD-2")).as_ref(), Some(&issues[1]));
    assert_eq!(now(board.issue("BOARD-3")), None);
    assert_eq!(now(board.issue("../BOARD-2")), None);
}
