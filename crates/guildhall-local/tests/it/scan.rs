//! A change by another program a moment before is in the next answer, by notifications and by file times alike.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use guildhall_local::Board;

use crate::support::{World, ids, issue_file, open, skipped};

/// The two ways to notice a change.
fn both_ways(check: impl Fn(&World, &Board)) {
    for watch in [true, false] {
        let world = World::new();
        world.put("BOARD-1.md", issue_file("Todo", "one"));
        let mut options = world.options();
        options.watch = watch;
        let board = open(options);
        check(&world, &board);
    }
}

fn state(board: &Board, id: &str) -> Option<String> {
    let snapshot = board.snapshot().unwrap();
    snapshot.get(id).map(|entry| entry.state().to_owned())
}

#[test]
fn edits_in_place_renames_and_deletions_are_seen_at_once() {
    both_ways(|world, board| {
        for round in 0..200 {
            // In place, of the same length and within one tick of the clock: neither size nor inode nor time tells.
            let status = if round % 2 == 0 { "Done" } else { "Todo" };
            world.put("BOARD-1.md", issue_file(status, "one"));
            assert_eq!(state(board, "BOARD-1").as_deref(), Some(status));
            world.put("new", issue_file("Review", "one"));
            std::fs::rename(world.path("new"), world.path("BOARD-1.md")).unwrap();
            assert_eq!(state(board, "BOARD-1").as_deref(), Some("Review"));
            world.put("BOARD-2.md", issue_file("Todo", "two"));
            assert_eq!(ids(board), ["BOARD-1", "BOARD-2"]);
            std::fs::remove_file(world.path("BOARD-2.md")).unwrap();
            assert_eq!(ids(board), ["BOARD-1"]);
        }
    });
}

#[test]
fn a_file_that_is_mended_or_broken_moves_between_issues_and_skipped() {
    both_ways(|world, board| {
        world.put("BOARD-1.md", "broken");
        assert_eq!(ids(board), Vec::<String>::new());
        assert_eq!(skipped(board).len(), 1);
        world.put("BOARD-1.md", issue_file("Done", "one"));
        assert_eq!(state(board, "BOARD-1").as_deref(), Some("Done"));
        assert_eq!(skipped(board), []);
        world.put("BOARD-9007199254740992.md", issue_file("Done", "one"));
        assert_eq!(skipped(board).len(), 1);
        std::fs::remove_file(world.path("BOARD-9007199254740992.md")).unwrap();
        assert_eq!(skipped(board), []);
    });
}

#[test]
fn a_snapshot_never_changes_while_others_move_on() {
    both_ways(|world, board| {
        let before = board.snapshot().unwrap();
        for n in 2..600 {
            world.put(&format!("BOARD-{n}.md"), issue_file("Todo", "more"));
            if n % 37 == 0 {
                assert_eq!(board.snapshot().unwrap().len(), n);
            }
        }
        world.put("BOARD-1.md", issue_file("Done", "one"));
        let after = board.snapshot().unwrap();
        assert_eq!((before.len(), after.len()), (1, 599));
        assert_eq!(before.get("BOARD-1").unwrap().state(), "Todo");
        assert_eq!(after.get("BOARD-1").unwrap().state(), "Done");
        let numbers: Vec<usize> = after
            .iter()
            .map(|entry| entry.id().strip_prefix("BOARD-").unwrap().parse().unwrap())
            .collect();
        assert_eq!(numbers, (1..600).collect::<Vec<_>>());
        for n in (1..600).rev() {
            std::fs::remove_file(world.path(&format!("BOARD-{n}.md"))).unwrap();
            if n % 41 == 0 {
                assert_eq!(board.snapshot().unwrap().len(), n - 1);
            }
        }
        assert!(board.snapshot().unwrap().is_empty());
        assert_eq!(after.len(), 599);
    });
}

#[test]
fn notifications_that_overflow_lose_nothing() {
    let world = World::new();
    world.put("BOARD-1.md", issue_file("Todo", "one"));
    let board = world.open();
    let queue = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queue: usize = queue.trim().parse().unwrap();
    // Two names in turn, because equal notifications in a row are told once.
    for _ in 0..=queue / 2 {
        for name in ["BOARD-50.md", "BOARD-51.md"] {
            world.put(name, "");
        }
    }
    world.put("BOARD-1.md", issue_file("Done", "one"));
    world.put("BOARD-2.md", issue_file("Todo", "two"));
    assert_eq!(state(&board, "BOARD-1").as_deref(), Some("Done"));
    assert_eq!(ids(&board), ["BOARD-1", "BOARD-2"]);
    // And the watch goes on.
    world.put("BOARD-2.md", issue_file("Done", "two"));
    assert_eq!(state(&board, "BOARD-2").as_deref(), Some("Done"));
}
