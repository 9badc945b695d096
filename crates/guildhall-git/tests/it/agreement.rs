//! What git says is right: logs, diffs and files are compared with the program's own output.

use std::path::Path;

use guildhall_git::{
    BlameRequest, Diff, DiffRequest, FileDiff, Hunk, LogRequest, Order, Repository, Status,
    unescape,
};

use crate::script::{Change, Commit, Script, file, git, long_history, numbered};

/// The bytes behind a text that may be escaped.
fn bytes(text: &str, escaped: bool) -> Vec<u8> {
    if escaped {
        unescape(text).unwrap()
    } else {
        text.as_bytes().to_vec()
    }
}

pub(crate) fn lines_of(output: &[u8]) -> Vec<String> {
    String::from_utf8(output.to_vec())
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// A file of a diff in the form both sides are brought to.
#[derive(Debug, PartialEq, Eq, Default)]
struct Told {
    status: String,
    old_path: Option<Vec<u8>>,
    path: Vec<u8>,
    modes: Option<(String, String)>,
    counts: Option<(usize, usize)>,
}

/// What `git diff-tree` says: the files and all hunks, header lines and text, one after the other.
fn as_git_tells(
    dir: &Path,
    commit: &str,
    parent: Option<&str>,
    context: u32,
) -> (Vec<Told>, Vec<u8>) {
    const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let parent = parent.unwrap_or(EMPTY_TREE);
    let context = format!("-U{context}");
    let output = git(
        dir,
        [
            "diff-tree",
            "-r",
            "-M",
            "-z",
            "--raw",
            "--numstat",
            "-p",
            &context,
            parent,
            commit,
        ],
    );
    let mut rest = &output[..];
    let mut files = Vec::new();
    while let Some(record) = rest.strip_prefix(b":") {
        let (meta, after) = until(record, 0);
        let meta = String::from_utf8(meta.to_vec()).unwrap();
        let fields: Vec<&str> = meta.split(' ').collect();
        let (first, after) = until(after, 0);
        let mut told = Told {
            status: fields[4].to_owned(),
            path: first.to_vec(),
            ..Told::default()
        };
        if fields[0] != fields[1] {
            told.modes = Some((fields[0].to_owned(), fields[1].to_owned()));
        }
        rest = after;
        if told.status.starts_with('R') {
            let (second, after) = until(rest, 0);
            told.old_path = Some(std::mem::replace(&mut told.path, second.to_vec()));
            rest = after;
        }
        files.push(told);
    }
    for told in &mut files {
        let (record, mut after) = until(rest, 0);
        let text = String::from_utf8_lossy(record).into_owned();
        let mut fields = text.split('\t');
        let counts = (fields.next().unwrap(), fields.next().unwrap());
        if told.old_path.is_some() {
            after = until(until(after, 0).1, 0).1;
        }
        rest = after;
        // Git counts a change of type as if it were a change of content, though it shows it as two.
        if told.status != "T" && counts.0 != "-" {
            told.counts = Some((counts.0.parse().unwrap(), counts.1.parse().unwrap()));
        }
    }
    (files, hunks_of(rest))
}

fn until(bytes: &[u8], end: u8) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|&byte| byte == end).unwrap();
    (&bytes[..at], &bytes[at + 1..])
}

/// The hunks in a patch, without the lines that name the files.
fn hunks_of(patch: &[u8]) -> Vec<u8> {
    let mut hunks = Vec::new();
    let (mut old, mut new) = (0usize, 0usize);
    let mut in_hunk = false;
    for line in patch.split_inclusive(|&byte| byte == b'\n') {
        if old == 0 && new == 0 {
            if in_hunk && line.starts_with(b"\\ ") {
                hunks.extend_from_slice(line);
                continue;
            }
            in_hunk = line.starts_with(b"@@ ");
            if in_hunk {
                let text = String::from_utf8_lossy(line).into_owned();
                let numbers: Vec<&str> = text.split(' ').collect();
                let count = |field: &str| {
                    field
                        .split_once(',')
                        .map_or(1, |(_, count)| count.parse().unwrap())
                };
                (old, new) = (count(numbers[1]), count(numbers[2]));
                hunks.extend_from_slice(line);
            }
            continue;
        }
        hunks.extend_from_slice(line);
        match line[0] {
            b' ' => (old, new) = (old - 1, new - 1),
            b'-' => old -= 1,
            b'+' => new -= 1,
            _ => {}
        }
    }
    hunks
}

fn as_we_tell(diff: &Diff) -> (Vec<Told>, Vec<u8>) {
    let files = diff.files.iter().map(told).collect();
    let hunks = diff.files.iter().flat_map(|file| &file.hunks);
    (files, hunks.flat_map(rendered).collect())
}

fn told(file: &FileDiff) -> Told {
    let is_escaped = |key| file.escaped.contains(&key);
    let status = match file.status {
        Status::Added => "A".to_owned(),
        Status::Modified => "M".to_owned(),
        Status::Deleted => "D".to_owned(),
        Status::TypeChanged => "T".to_owned(),
        Status::Renamed => format!("R{:03}", file.similarity.unwrap()),
    };
    let none = || Some("000000".to_owned());
    let modes = (
        file.old_mode.clone().or_else(none),
        file.new_mode.clone().or_else(none),
    );
    let changed = file.old_mode.is_some() || file.new_mode.is_some();
    let counts = file.additions.zip(file.deletions);
    Told {
        counts: counts.filter(|_| status != "T"),
        status,
        old_path: file
            .old_path
            .as_ref()
            .map(|path| bytes(path, is_escaped("old_path"))),
        path: bytes(&file.path, is_escaped("path")),
        modes: changed.then(|| (modes.0.unwrap(), modes.1.unwrap())),
    }
}

fn rendered(hunk: &Hunk) -> Vec<u8> {
    let range = |start: usize, lines: usize| match lines {
        1 => start.to_string(),
        _ => format!("{start},{lines}"),
    };
    let mut text = format!(
        "@@ -{} +{} @@",
        range(hunk.old_start, hunk.old_lines),
        range(hunk.new_start, hunk.new_lines)
    )
    .into_bytes();
    if let Some(section) = &hunk.section {
        text.push(b' ');
        text.extend(bytes(section, hunk.escaped.contains(&"section")));
    }
    text.push(b'\n');
    text.extend(bytes(&hunk.text, hunk.escaped.contains(&"text")));
    text
}

/// The whole diff of a commit must be git's.
pub(crate) fn check_diff(
    repository: &Repository,
    commit: &str,
    parent: Option<&str>,
    context: u32,
) {
    let first = repository.commit(commit).unwrap().parents.first().cloned();
    let ours = repository
        .diff(&DiffRequest {
            parent: parent.map(str::to_owned),
            context,
            max_bytes: usize::MAX,
            ..DiffRequest::of(commit)
        })
        .unwrap();
    assert_eq!(ours.next, None);
    let (our_files, our_hunks) = as_we_tell(&ours);
    let (files, hunks) = as_git_tells(
        repository.dir(),
        commit,
        parent.or(first.as_deref()),
        context,
    );
    assert_eq!(our_files, files, "files of {commit}");
    if our_hunks != hunks {
        let (ours, theirs) = (
            String::from_utf8_lossy(&our_hunks),
            String::from_utf8_lossy(&hunks),
        );
        assert_eq!(ours, theirs, "hunks of {commit}");
    }
}

/// The same log in every field, newest first and oldest first.
fn check_log(repository: &Repository, request: &LogRequest, args: &[&str]) {
    let format = "--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x00";
    for (order, reverse) in [(Order::Newest, None), (Order::Oldest, Some("--reverse"))] {
        let request = LogRequest {
            order,
            ..request.clone()
        };
        let page = repository.log(&request).unwrap();
        let standing = ["log", "-z", "--no-mailmap", format];
        let all = standing.iter().chain(reverse.iter()).chain(args.iter());
        let expected = git(repository.dir(), all.map(|arg| arg as &&str));
        let mut got = Vec::new();
        for commit in &page.commits {
            let is_escaped = |key| commit.escaped.contains(&key);
            let mut fields = vec![
                commit.sha.clone().into_bytes(),
                commit.parents.join(" ").into_bytes(),
            ];
            for person in [&commit.author, &commit.committer] {
                let is_escaped = |key| person.escaped.contains(&key);
                fields.push(bytes(&person.name, is_escaped("name")));
                fields.push(bytes(&person.email, is_escaped("email")));
                fields.push(person.time.replace("+00:00", "Z").into_bytes());
            }
            fields.push(bytes(&commit.message, is_escaped("message")));
            got.extend(fields.join(&0));
            got.extend([0, 0]);
            assert_eq!(commit.time, commit.author.time);
        }
        assert_eq!(page.total, page.commits.len());
        assert!(
            got == expected,
            "{args:?} {order:?}:\n{}\nbut git says\n{}",
            String::from_utf8_lossy(&got),
            String::from_utf8_lossy(&expected)
        );
    }
}

/// A repository where every kind of change and every odd name occurs, and the directory that goes with it.
pub(crate) fn odd() -> (tempfile::TempDir, Repository) {
    let dir = tempfile::tempdir().unwrap();
    odd_script().into_repository(dir.path());
    let repository = Repository::open(dir.path()).unwrap();
    (dir, repository)
}

fn odd_script() -> Script {
    let long = numbered(200, 1);
    let mut script = Script::default();
    let commit = |from| Commit {
        from,
        ..Commit::default()
    };
    let root = script.commit(
        &commit(None),
        &[
            file("README", "Hello\n"),
            file("empty", ""),
            file("crlf.txt", "a\r\nb\r\nc\r\n"),
            file("no-end", "one\ntwo"),
            file("bin", b"\0\x01\x02\xff".repeat(50)),
            file("src/a.rs", long.as_str()),
            file("src/b.rs", long.replace("line", "row")),
            file("mode", "#!/bin/sh\n"),
            Change::File("120000", "link".into(), "src/a.rs".into()),
            Change::Submodule("sub".into(), "1111111111111111111111111111111111111111"),
            Change::File("100644", b"caf\xe9 \xff".to_vec(), b"latin \xe9\n".to_vec()),
            Change::File(
                "100644",
                b"back\\slash \"quoted\"\tand\nlines".to_vec(),
                b"x\n".to_vec(),
            ),
            file("-option", "x\n"),
            file("dir/file", "in dir\n"),
            file("kind", "soon a link\n"),
        ],
    );
    script.pass(10);
    let second = script.commit(
        &Commit {
            author: b"J\xf6rg <j\xf6rg@example.com>",
            zone: "+0545",
            message: b"Gr\xfc\xdfe \\o/\n\n",
            ..commit(Some(root))
        },
        &[
            file("README", "Hello\nworld\n"),
            file("empty", "now something\n"),
            file("crlf.txt", "a\nb\r\nc\r\nd"),
            file("no-end", "one\ntwo\n"),
            file("bin", b"\0\x01\x03\xff".repeat(50)),
            Change::File("100755", "mode".into(), b"#!/bin/sh\n".to_vec()),
            Change::File("120000", "link".into(), "src/b.rs".into()),
            Change::Submodule("sub".into(), "2222222222222222222222222222222222222222"),
            Change::File("100644", b"caf\xe9 \xff".to_vec(), b"latin \xe8\n".to_vec()),
            Change::File("120000", "kind".into(), "README".into()),
            file("-option", "y\n"),
        ],
    );
    // The clock goes back, as it does on real machines.
    script.pass(-100);
    let third = script.commit(
        &Commit {
            message: b"",
            ..commit(Some(second))
        },
        &[
            Change::Rename("src/a.rs".into(), "lib/a.rs".into()),
            Change::Rename("src/b.rs".into(), "lib/other.rs".into()),
            file(
                "lib/other.rs",
                long.replace("line", "row")
                    .replace("row 7\n", "row seven\n"),
            ),
            Change::Rename("empty".into(), "still here".into()),
            Change::Delete("dir/file".into()),
            file("dir", "a file where a directory was\n"),
            Change::Submodule("kind".into(), "3333333333333333333333333333333333333333"),
            Change::Rename("link".into(), "moved-link".into()),
            Change::Rename("sub".into(), "moved-sub".into()),
            Change::Rename(b"caf\xe9 \xff".to_vec(), b"th\xe9".to_vec()),
        ],
    );
    script.pass(200);
    let copies = script.commit(
        &commit(Some(third)),
        &[
            Change::Copy("lib/a.rs".into(), "lib/copy.rs".into()),
            Change::Copy("lib/a.rs".into(), "deep/er/a.rs".into()),
            Change::Delete("lib/a.rs".into()),
            Change::Delete("mode".into()),
            file("dir.txt", "sorts between\n"),
            file("no-end", "two\nthree"),
        ],
    );
    let side = script.commit(
        &Commit {
            branch: "side",
            ..commit(Some(second))
        },
        &[file("side", "s\n"), file("README", "Hello\nside\n")],
    );
    script.pass(5);
    let merge = script.commit(
        &Commit {
            merge: &[side],
            message: b"Merge\n",
            ..commit(Some(copies))
        },
        &[file("README", "Hello\nboth\n"), file("side", "s\n")],
    );
    let other_root = script.commit(
        &Commit {
            branch: "other",
            ..commit(None)
        },
        &[file("other", "o\n")],
    );
    let octopus = script.commit(
        &Commit {
            merge: &[side, other_root],
            ..commit(Some(merge))
        },
        &[file("other", "o\n")],
    );
    script.pass(5);
    script.commit(&commit(Some(octopus)), &[]);
    script.commit(
        &Commit {
            author: b" <> ",
            ..commit(Some(octopus))
        },
        &[
            Change::Delete("README".into()),
            file("README/now/a/directory", "Hello\nboth\n"),
            file("bin", "text now\n"),
        ],
    );
    script.tag("v1.0", merge);
    script
}

#[test]
fn every_kind_of_change_is_told_as_git_tells_it() {
    let (_dir, repository) = odd();
    let repository = &repository;
    let all = lines_of(&git(repository.dir(), ["rev-list", "--all"]));
    assert!(all.len() >= 9);
    for commit in &all {
        for context in [0, 1, 3, 30] {
            check_diff(repository, commit, None, context);
        }
        for parent in repository.commit(commit).unwrap().parents {
            check_diff(repository, commit, Some(&parent), 3);
        }
    }
}

#[test]
fn an_odd_history_is_logged_as_git_logs_it() {
    let (_dir, repository) = odd();
    let repository = &repository;
    check_log(repository, &LogRequest::default(), &["main"]);
    for path in [
        "README", "src", "lib/a.rs", "side", "dir", "absent", "-option", "other",
    ] {
        let request = LogRequest {
            path: Some(path.to_owned()),
            ..LogRequest::default()
        };
        check_log(
            repository,
            &request,
            &["main", "--", &format!(":(literal){path}")],
        );
    }
}

#[test]
fn a_long_history_agrees_with_git_commit_for_commit() {
    const COMMITS: usize = 20_000;
    const SAMPLE: usize = 500;
    let dir = tempfile::tempdir().unwrap();
    long_history(COMMITS, 7).into_repository(dir.path());
    let repository = Repository::open(dir.path()).unwrap();
    let request = LogRequest {
        limit: COMMITS,
        ..LogRequest::default()
    };
    check_log(&repository, &request, &["main"]);
    let commits = lines_of(&git(dir.path(), ["rev-list", "main"]));
    assert!(commits.len() > COMMITS / 2);
    for commit in commits.iter().step_by(commits.len() / SAMPLE) {
        check_diff(&repository, commit, None, 3);
    }
    for commit in commits.iter().step_by(commits.len() / 50) {
        check_diff(&repository, commit, None, 0);
    }
}

/// Every line of a file must come from where git says.
fn check_blame(repository: &Repository, commit: &str, path: &str) {
    let request = BlameRequest {
        path: path.to_owned(),
        commit: Some(commit.to_owned()),
        start_line: None,
        end_line: None,
    };
    let blame = repository.blame(&request).unwrap();
    let mut ours = Vec::new();
    for range in &blame.ranges {
        for (at, line) in (range.start_line..=range.end_line).enumerate() {
            ours.push(format!(
                "{} {} {line} {}",
                range.sha,
                range.original_line + at,
                range.path
            ));
        }
    }
    assert_eq!(ours.len(), blame.total_lines);
    let told = git(
        repository.dir(),
        ["blame", "--line-porcelain", commit, "--", path],
    );
    let mut theirs: Vec<String> = Vec::new();
    for line in String::from_utf8_lossy(&told).lines() {
        let mut words = line.split(' ');
        let first = words.next().unwrap_or_default();
        if first.len() == 40 && first.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let numbers: Vec<&str> = words.take(2).collect();
            theirs.push(format!("{first} {}", numbers.join(" ")));
        } else if let (Some(name), Some(last)) = (line.strip_prefix("filename "), theirs.last_mut())
        {
            *last = format!("{last} {name}");
        }
    }
    assert_eq!(ours, theirs, "{path} in {commit}");
}

#[test]
fn every_line_is_blamed_as_git_blames_it() {
    let dir = tempfile::tempdir().unwrap();
    long_history(600, 5).into_repository(dir.path());
    let repository = Repository::open(dir.path()).unwrap();
    for commit in ["main", "main~100"] {
        let id = lines_of(&git(dir.path(), ["rev-parse", commit])).remove(0);
        let files = lines_of(&git(dir.path(), ["ls-tree", "-r", "--name-only", commit]));
        assert!(files.len() > 20);
        for path in files.iter().step_by(2) {
            check_blame(&repository, &id, path);
        }
    }
    let (_dir, odd) = odd();
    let tip = lines_of(&git(odd.dir(), ["rev-parse", "main"])).remove(0);
    for path in [
        "lib/other.rs",
        "crlf.txt",
        "no-end",
        "side",
        "deep/er/a.rs",
        "still here",
    ] {
        check_blame(&odd, &tip, path);
    }
}
