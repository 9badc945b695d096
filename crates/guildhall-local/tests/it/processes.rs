//! Several processes on one board. The children are this test program, started again for one ignored test each.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use guildhall_local::{Board, BoardOptions, NewIssue};

use crate::support::{World, open, skipped};

const DIR: &str = "GUILDHALL_TEST_BOARD";
const NAME: &str = "GUILDHALL_TEST_CHILD";

fn child(test: &str, dir: &Path, name: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("processes::{test}"),
            "--ignored",
            "--nocapture",
        ])
        .env(DIR, dir)
        .env(NAME, name.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn board_of_this_child() -> (Board, String) {
    let dir = std::env::var_os(DIR).expect("started by another test");
    let name = std::env::var(NAME).expect("started by another test");
    (open(BoardOptions::new(dir)), name)
}

fn create(board: &Board, title: &str) -> String {
    let new = NewIssue {
        title: title.to_owned(),
        ..NewIssue::default()
    };
    board.create(&new).unwrap().id
}

/// What a child said it had done, one line each.
fn done(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("done ").map(|(_, what)| what.to_owned()))
}

fn all_done(mut children: Vec<Child>) -> Vec<String> {
    let mut said = Vec::new();
    for child in &mut children {
        said.extend(done(child));
        assert!(child.wait().unwrap().success());
    }
    said
}

#[test]
#[ignore = "a child of another test"]
fn child_that_comments() {
    let (board, name) = board_of_this_child();
    for n in 0..50 {
        board
            .comment("BOARD-1", "agent", &format!("{name}-{n}"))
            .unwrap();
    }
}

#[test]
#[ignore = "a child of another test"]
fn child_that_creates() {
    let (board, name) = board_of_this_child();
    for n in 0..25 {
        println!("\ndone {}", create(&board, &format!("{name}-{n}")));
    }
}

#[test]
#[ignore = "a child of another test"]
fn child_that_writes_until_it_is_killed() {
    let (board, name) = board_of_this_child();
    for n in 0_usize.. {
        let text = format!("{name}-{n}-{}", "x".repeat(n * 97 % 9_000));
        board.comment("BOARD-1", "agent", &text).unwrap();
        println!("\ndone comment {text}");
        board
            .set_status("BOARD-1", &format!("S {name} {n}"))
            .unwrap();
        println!(
            "\ndone issue {}",
            create(&board, &text[..20.min(text.len())])
        );
    }
}

#[test]
fn comments_of_four_processes_are_all_kept() {
    let world = World::new();
    let board = world.open();
    create(&board, "shared");
    all_done(
        (0..4)
            .map(|name| child("child_that_comments", &world.dir(), name))
            .collect(),
    );
    let comments: BTreeSet<String> = board
        .read("BOARD-1")
        .unwrap()
        .comments
        .into_iter()
        .collect();
    let expected: BTreeSet<String> = (0..4)
        .flat_map(|name| {
            (0..50).map(move |n| format!("- {} agent: {name}-{n}", crate::support::NOW))
        })
        .collect();
    assert_eq!(comments, expected);
}

#[test]
fn issues_of_four_processes_have_ids_of_their_own() {
    let world = World::new();
    let board = world.open();
    let made = all_done(
        (0..4)
            .map(|name| child("child_that_creates", &world.dir(), name))
            .collect(),
    );
    let ids: BTreeSet<&String> = made.iter().collect();
    assert_eq!((made.len(), ids.len()), (100, 100));
    let snapshot = board.snapshot().unwrap();
    let titles: BTreeSet<&str> = snapshot.iter().map(guildhall_local::Entry::title).collect();
    assert_eq!((snapshot.len(), titles.len()), (100, 100));
}

#[test]
fn a_process_killed_while_it_writes_harms_nobody() {
    let world = World::new();
    let board = world.open();
    create(&board, "shared");
    let mut acknowledged = Vec::new();
    for round in 0..30 {
        let mut child = child("child_that_writes_until_it_is_killed", &world.dir(), round);
        // Killed after some writes, wherever it is in the next one.
        acknowledged.extend(done(&mut child).take(1 + round % 4));
        child.kill().unwrap();
        child.wait().unwrap();
        // Nobody waits for the dead one's lock.
        board
            .comment("BOARD-1", "agent", &format!("parent-{round}"))
            .unwrap();
        acknowledged.push(format!("comment parent-{round}"));
    }
    assert_eq!(skipped(&board), []);
    let read = board.read("BOARD-1").unwrap();
    let comments: BTreeSet<&str> = read
        .comments
        .iter()
        .filter_map(|comment| comment.split_once("agent: ").map(|(_, text)| text))
        .collect();
    let snapshot = board.snapshot().unwrap();
    for what in &acknowledged {
        let (kind, what) = what.split_once(' ').unwrap();
        match kind {
            "comment" => assert!(comments.contains(what), "{what}"),
            _ => assert!(snapshot.get(what).is_some(), "{what}"),
        }
    }
    // What the dead left is removed by the next who opens the board.
    world.put(".guildhall-0123456789abcdef.tmp", "half");
    drop(world.open());
    let left: Vec<String> = std::fs::read_dir(world.dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("BOARD-"))
        .collect();
    assert_eq!(left, [".guildhall.lock"]);
}

#[test]
fn threads_of_one_process_lose_nothing_either() {
    let world = World::new();
    let board = world.open();
    create(&board, "shared");
    std::thread::scope(|scope| {
        for name in 0..4 {
            let board = board.clone();
            scope.spawn(move || {
                for n in 0..15 {
                    board
                        .comment("BOARD-1", "agent", &format!("{name}-{n}"))
                        .unwrap();
                    create(&board, &format!("{name}-{n}"));
                }
            });
        }
    });
    assert_eq!(board.read("BOARD-1").unwrap().comments.len(), 60);
    assert_eq!(board.snapshot().unwrap().len(), 61);
}

#[test]
fn an_edit_by_a_program_that_knows_no_lock_is_never_undone() {
    let world = World::new();
    let text = |n: usize| format!("---\nstatus: Todo\nn: {n}\n---\n# T\n");
    world.put("BOARD-1.md", text(0));
    let board = world.open();
    let edits = 2_000;
    std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            for n in 1..=edits {
                world.put("new", text(n));
                std::fs::rename(world.path("new"), world.path("BOARD-1.md")).unwrap();
            }
        });
        while !editor.is_finished() {
            match board.comment("BOARD-1", "agent", "hello") {
                Ok(()) | Err(guildhall_local::BoardError::Contended { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    assert!(
        world.get("BOARD-1.md").contains(&format!("\nn: {edits}\n")),
        "{}",
        world.get("BOARD-1.md")
    );
}
