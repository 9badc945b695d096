//! A machine that refuses: locked boards, full disks, names that are taken.

use std::process::Command;
use std::time::Duration;

use guildhall_local::{BoardError, NewIssue};

use crate::support::{World, issue_file, open};

#[test]
fn a_board_locked_by_another_says_so_and_serves_readers() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let mut options = world.options();
    options.lock_patience = Duration::from_millis(20);
    let board = open(options);
    board.comment("BOARD-1", "agent", "first").unwrap();
    let held = std::fs::File::open(world.path(".guildhall.lock")).unwrap();
    held.lock().unwrap();
    assert_eq!(
        board.comment("BOARD-1", "agent", "second"),
        Err(BoardError::Locked)
    );
    assert_eq!(board.read("BOARD-1").unwrap().comments.len(), 1);
    drop(held);
    board.comment("BOARD-1", "agent", "second").unwrap();
    assert_eq!(board.read("BOARD-1").unwrap().comments.len(), 2);
    // Somebody who cleans up takes the lock's file away: the next writer makes it anew.
    std::fs::remove_file(world.path(".guildhall.lock")).unwrap();
    board.comment("BOARD-1", "agent", "third").unwrap();
    assert_eq!(board.read("BOARD-1").unwrap().comments.len(), 3);
}

#[test]
fn a_lock_file_that_is_a_link_is_not_followed() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let target = world.outside("target");
    std::os::unix::fs::symlink(&target, world.path(".guildhall.lock")).unwrap();
    let board = world.open();
    let error = board.set_status("BOARD-1", "Done").unwrap_err().to_string();
    assert!(error.starts_with("Cannot lock the board: "), "{error}");
    assert!(!target.exists());
    assert_eq!(world.get("BOARD-1.md"), issue_file("Todo", "one"));
    std::fs::remove_file(world.path(".guildhall.lock")).unwrap();
    board.set_status("BOARD-1", "Done").unwrap();
}

#[test]
#[ignore = "a child of another test"]
fn child_with_a_full_disk() {
    let dir = std::env::var_os("GUILDHALL_TEST_BOARD").expect("started by another test");
    let board = open(guildhall_local::BoardOptions::new(dir));
    let large = "x".repeat(60_000);
    let refused = |error: BoardError| {
        let text = error.to_string();
        assert!(
            text.starts_with("Cannot write board issue BOARD-"),
            "{text}"
        );
        assert!(text.ends_with("(os error 27)"), "{text}");
    };
    refused(board.comment("BOARD-1", "agent", &large).unwrap_err());
    refused(
        board
            .create(&NewIssue {
                title: "large".to_owned(),
                body: Some(large),
                status: None,
            })
            .unwrap_err(),
    );
    board.comment("BOARD-1", "agent", "small").unwrap();
}

#[test]
fn a_write_that_does_not_fit_leaves_everything_as_it_was() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    // A limit on the size of files makes the same failure as a full disk: a write that ends half-way.
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "trouble::child_with_a_full_disk",
            "--ignored",
            "--nocapture",
        ])
        .env("GUILDHALL_TEST_BOARD", world.dir())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let board = world.open();
    assert_eq!(board.read("BOARD-1").unwrap().comments.len(), 1);
    assert_eq!(board.snapshot().unwrap().len(), 1);
    let left = std::fs::read_dir(world.dir()).unwrap().count();
    assert_eq!(left, 2, "the issue and the lock file");
}

#[test]
fn files_beyond_the_limits_are_reported_and_not_read() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let large = std::fs::File::create(world.path("BOARD-2.md")).unwrap();
    large.set_len(1 << 40).unwrap();
    world.put(
        "BOARD-3.md",
        format!("---\nstatus: Todo\nx: {}\n---\n", "x".repeat(10 << 20)),
    );
    world.put(
        "BOARD-4.md",
        format!("---\nstatus: Todo\nx: {}\n---\n", "x".repeat(100_000)),
    );
    world.put(
        "BOARD-5.md",
        format!("---\nstatus: Todo\nx: {}\n---\n", "[".repeat(10_000)),
    );
    let board = world.open();
    assert_eq!(crate::support::ids(&board), ["BOARD-1"]);
    let skipped = crate::support::skipped(&board);
    assert_eq!(
        skipped[0].1,
        "Board issue BOARD-2 has 1099511627776 bytes, at most 4194304 are read"
    );
    assert_eq!(
        skipped[1].1,
        "Board issue BOARD-3 has 10485785 bytes, at most 4194304 are read"
    );
    assert_eq!(
        skipped[2].1,
        "Board issue BOARD-4 has front matter that cannot be read: it has 100016 bytes, at most 65536 are read"
    );
    assert!(skipped[3].1.len() < 300, "{}", skipped[3].1);
    // An issue does not grow beyond what is read.
    let mut options = world.options();
    options.limits.file_bytes = 200;
    let board = open(options);
    let error = board
        .comment("BOARD-1", "agent", &"x".repeat(200))
        .unwrap_err();
    assert!(
        matches!(&error, BoardError::InvalidInput(text) if text.contains("at most 200 are allowed")),
        "{error}"
    );
    assert_eq!(world.get("BOARD-1.md"), issue_file("Todo", "one"));
}

#[test]
fn a_change_keeps_the_rights_of_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    std::fs::set_permissions(
        world.path("BOARD-1.md"),
        std::fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    world.open().set_status("BOARD-1", "Done").unwrap();
    let mode = std::fs::metadata(world.path("BOARD-1.md"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640);
}
