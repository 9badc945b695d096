//! How far the branch is from an anchor, beside what git says of the same path.

use std::collections::BTreeSet;
use std::path::Path;

use guildhall_git::{Anchored, Drift, GitError, Repository};

use crate::script::{Commit, Random, Script, file, git, long_history, plain_git};

fn lines(dir: &Path, args: &[&str]) -> Vec<String> {
    let out = String::from_utf8(git(dir, args)).unwrap();
    out.lines().map(str::to_owned).collect()
}

/// What git says.
fn by_git(dir: &Path, anchor: &Anchored<'_>, tip: &str) -> Drift {
    let path = if anchor.path.is_empty() {
        "."
    } else {
        anchor.path
    };
    let same = plain_git(dir)
        .args([
            "--literal-pathspecs",
            "diff",
            "--quiet",
            anchor.commit,
            tip,
            "--",
            path,
        ])
        .status()
        .unwrap();
    let range = format!("{}..{tip}", anchor.commit);
    let log = lines(
        dir,
        &[
            "--literal-pathspecs",
            "log",
            "--format=%H",
            &range,
            "--",
            path,
        ],
    );
    Drift {
        stale: !same.success(),
        behind: log.len(),
    }
}

/// Pairs of a path and a commit that has it.
fn some_anchors(
    dir: &Path,
    random: &mut Random,
    commits: &[String],
    count: usize,
) -> Vec<(String, String)> {
    let mut anchors = BTreeSet::new();
    while anchors.len() < count {
        let commit = random.pick(commits).clone();
        let paths = lines(dir, &["ls-tree", "-r", "-t", "--name-only", &commit]);
        for _ in 0..6 {
            let path = match random.below(8) {
                0 => String::new(),
                _ => random.pick(&paths).clone(),
            };
            anchors.insert((path, commit.clone()));
        }
    }
    anchors.into_iter().collect()
}

#[test]
fn drift_is_what_git_says_for_every_path_of_a_tangled_history() {
    for seed in 1..=3 {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        long_history(250, seed).into_repository(dir);
        let mut random = Random::new(seed);
        let all = lines(dir, &["rev-list", "--all"]);
        let on_main = lines(dir, &["rev-list", "--first-parent", "main"]);
        let repository = Repository::open(dir).unwrap();
        let anchors = some_anchors(dir, &mut random, &all, 60);
        let asked: Vec<_> = anchors
            .iter()
            .map(|(path, commit)| Anchored { path, commit })
            .collect();
        // Earlier tips first, so that what is kept is counted on from.
        for back in [40, 12, 3, 0] {
            let tip = &on_main[back];
            let told = repository.drift(tip, &asked).unwrap();
            for (anchor, told) in asked.iter().zip(told) {
                assert_eq!(
                    told,
                    by_git(dir, anchor, tip),
                    "seed {seed}, {anchor:?} to {tip}"
                );
            }
        }
        // As a later process would, with nothing kept.
        let fresh = Repository::open(dir).unwrap();
        let tip = &on_main[0];
        assert_eq!(
            fresh.drift(tip, &asked).unwrap(),
            repository.drift(tip, &asked).unwrap()
        );
    }
}

#[test]
fn files_that_turn_into_directories_and_back_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut script = Script::default();
    let mut marks: Vec<usize> = Vec::new();
    let steps: [&[(&str, &str)]; 6] = [
        &[("a", "1"), ("a.b", "1"), ("d/x", "1")],
        &[("a/in", "2")],
        &[("a-b", "3"), ("d/y/z", "3")],
        &[("a", "4")],
        &[("d", "5")],
        &[("a", "1"), ("d/x", "1")],
    ];
    for step in steps {
        script.pass(60);
        let changes: Vec<_> = step.iter().map(|(path, text)| file(path, *text)).collect();
        let commit = Commit {
            from: marks.last().copied(),
            ..Commit::default()
        };
        marks.push(script.commit(&commit, &changes));
    }
    script.into_repository(dir);
    let commits = lines(dir, &["rev-list", "--reverse", "main"]);
    let repository = Repository::open(dir).unwrap();
    for tip in &commits {
        let mut asked = Vec::new();
        for anchor in &commits {
            for path in [
                "", "a", "a.b", "a-b", "a/in", "d", "d/x", "d/y", "d/y/z", "none",
            ] {
                asked.push(Anchored {
                    path,
                    commit: anchor,
                });
            }
        }
        let told = repository.drift(tip, &asked).unwrap();
        for (anchor, told) in asked.iter().zip(told) {
            assert_eq!(told, by_git(dir, anchor, tip), "{anchor:?} to {tip}");
        }
    }
}

#[test]
fn what_stands_at_a_path_and_its_lines_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut script = Script::default();
    let changes = [file("src/a.rs", "one\ntwo\nthree"), file("empty", "")];
    script.commit(&Commit::default(), &changes);
    script.into_repository(dir);
    let repository = Repository::open(dir).unwrap();
    let found = repository
        .objects_at(
            "main",
            &["", "src", "src/", "src/a.rs", "src/b.rs", "src/a.rs/x"],
        )
        .unwrap();
    let directories: Vec<_> = found
        .iter()
        .map(|found| found.map(guildhall_git::PathObject::is_directory))
        .collect();
    let (directory, there) = (Some(true), Some(false));
    assert_eq!(
        directories,
        [directory, directory, directory, there, None, None]
    );
    let id = &lines(dir, &["rev-parse", "main:src/a.rs"])[0];
    assert_eq!(found[3].unwrap().to_string(), format!("100644 {id}"));
    for (path, count) in [
        ("src/a.rs", Some(3)),
        ("empty", Some(0)),
        ("src", None),
        ("none", None),
    ] {
        assert_eq!(repository.lines_at("main", path).unwrap(), count, "{path}");
    }
    for path in ["..", "/etc/passwd", "a/../b", "C:/x"] {
        let refused = repository.objects_at("main", &[path]);
        assert!(matches!(refused, Err(GitError::BadPath { .. })), "{path}");
    }
    let gone = Anchored {
        path: "src",
        commit: "0123456789012345678901234567890123456789",
    };
    let stale = Drift {
        stale: true,
        behind: 0,
    };
    assert_eq!(repository.drift("main", &[gone]).unwrap(), [stale]);
    let nowhere = repository.drift(gone.commit, &[]);
    assert!(matches!(nowhere, Err(GitError::BadRevision { .. })));
}
