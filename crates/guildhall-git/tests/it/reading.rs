//! Files, directories, searches, names of commits and pages.

use guildhall_git::{
    DayEdge, DiffRequest, Encoding, EntryKind, FileRequest, GitError, GrepRequest, LogPosition,
    LogRequest, Order, Repository, Status, TreeRequest, parse_moment, unescape,
};
use std::path::Path;

use crate::agreement::{lines_of, odd};
use crate::script::{Change, Commit, Script, file, git, long_history, numbered};

/// A repository of one script, and the directory it lives in.
fn made(script: Script) -> (tempfile::TempDir, Repository) {
    let dir = tempfile::tempdir().unwrap();
    script.into_repository(dir.path());
    let repository = Repository::open(dir.path()).unwrap();
    (dir, repository)
}

fn one_commit(changes: &[Change]) -> (tempfile::TempDir, Repository) {
    let mut script = Script::default();
    script.commit(&Commit::default(), changes);
    made(script)
}

fn git_line(dir: &Path, args: &[&str]) -> String {
    lines_of(&git(dir, args)).remove(0)
}

#[test]
fn every_file_of_every_commit_is_shown_as_git_has_it() {
    let (_dir, repository) = odd();
    let dir = repository.dir();
    for commit in lines_of(&git(dir, ["rev-list", "--all"])) {
        let request = TreeRequest {
            commit: Some(commit.clone()),
            recursive: true,
            ..TreeRequest::default()
        };
        let tree = repository.tree(&request).unwrap();
        let expected = git(dir, ["ls-tree", "-r", "-z", "-l", &commit]);
        let mut listed = Vec::new();
        for entry in &tree.entries {
            let kind = if entry.kind == EntryKind::Submodule {
                "commit"
            } else {
                "blob"
            };
            let size = entry.size.map_or("-".to_owned(), |size| size.to_string());
            listed.extend(format!("{} {kind} {} {size:>7}\t", entry.mode, entry.sha).bytes());
            listed.extend(if entry.escaped.is_empty() {
                entry.path.clone().into_bytes()
            } else {
                unescape(&entry.path).unwrap()
            });
            listed.push(0);
            // The path works as an argument in the form in which it was given out.
            let shown = repository
                .show_file(&FileRequest {
                    commit: Some(commit.clone()),
                    ..FileRequest::of(&entry.path)
                })
                .unwrap();
            assert_eq!((shown.kind, &shown.mode), (entry.kind, &entry.mode));
            if entry.kind == EntryKind::Submodule {
                assert_eq!(shown.content, entry.sha);
                continue;
            }
            let content = git(dir, ["cat-file", "blob", &entry.sha]);
            assert_eq!(shown.size, content.len() as u64);
            match shown.encoding {
                Encoding::Utf8 => assert_eq!(shown.content.as_bytes(), content),
                Encoding::Base64 => {
                    assert!(std::str::from_utf8(&content).is_err());
                    let mut given = encoded_elsewhere(&content);
                    given.retain(|c| c != '\n');
                    assert_eq!(shown.content, given);
                }
            }
        }
        assert_eq!(listed, expected, "{commit}");
    }
}

/// Base64 as another program writes it.
fn encoded_elsewhere(bytes: &[u8]) -> String {
    use std::io::Write as _;
    let mut child = std::process::Command::new("base64")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn links_and_submodules_are_shown_and_never_followed() {
    let (_dir, repository) = one_commit(&[
        Change::File("120000", "passwd".into(), "/etc/passwd".into()),
        Change::File("120000", "up".into(), "../..".into()),
        file("real/file", "x"),
        Change::File("120000", "alias".into(), "real".into()),
        Change::Submodule("sub".into(), "1111111111111111111111111111111111111111"),
    ]);
    let show = |path: &str| repository.show_file(&FileRequest::of(path));
    let link = show("passwd").unwrap();
    assert_eq!(
        (link.content.as_str(), link.kind, link.mode.as_str()),
        ("/etc/passwd", EntryKind::Symlink, "120000")
    );
    let sub = show("sub").unwrap();
    assert_eq!(
        (sub.kind, sub.mode.as_str()),
        (EntryKind::Submodule, "160000")
    );
    for path in ["alias/file", "up/x", "sub/x", "passwd/x"] {
        assert!(
            matches!(show(path), Err(GitError::NotFound { .. })),
            "{path}"
        );
    }
    assert_eq!(
        repository
            .grep(&GrepRequest::for_text("root"))
            .unwrap()
            .matches,
        []
    );
}

#[test]
fn lines_are_cut_exactly_and_wrong_ones_refused() {
    let (_dir, repository) = one_commit(&[file("f", "1\n2\r\n3"), file("empty", "")]);
    let show = |start_line, end_line| {
        repository.show_file(&FileRequest {
            start_line,
            end_line,
            ..FileRequest::of("f")
        })
    };
    assert_eq!(show(None, None).unwrap().content, "1\n2\r\n3");
    let part = show(Some(2), Some(2)).unwrap();
    assert_eq!(
        (
            part.content.as_str(),
            part.start_line,
            part.end_line,
            part.total_lines
        ),
        ("2\r\n", Some(2), Some(2), Some(3))
    );
    assert_eq!(show(Some(2), Some(99)).unwrap().content, "2\r\n3");
    assert_eq!(show(None, Some(1)).unwrap().content, "1\n");
    for (start, end) in [(0, 1), (4, 9), (3, 2), (1, 0)] {
        let refused = show(Some(start), Some(end)).unwrap_err();
        assert!(
            refused.is_callers_fault() && refused.to_string().contains("from 1 to 3"),
            "{refused}"
        );
    }
    let empty = repository
        .show_file(&FileRequest {
            start_line: Some(1),
            end_line: Some(10),
            ..FileRequest::of("empty")
        })
        .unwrap();
    assert_eq!((empty.content.as_str(), empty.total_lines), ("", Some(0)));
}

#[test]
fn a_file_past_the_limit_is_refused_with_its_size_and_never_cut() {
    let (_dir, repository) = one_commit(&[file("big", "0123456789\n".repeat(100))]);
    let request = FileRequest {
        max_bytes: 1000,
        ..FileRequest::of("big")
    };
    let refused = repository.show_file(&request).unwrap_err();
    assert!(
        matches!(
            refused,
            GitError::TooLarge {
                size: 1100,
                limit: 1000,
                ..
            }
        ),
        "{refused}"
    );
    let part = FileRequest {
        start_line: Some(90),
        ..request
    };
    assert_eq!(repository.show_file(&part).unwrap().content.len(), 121);
}

#[test]
fn commits_go_by_full_id_short_id_branch_and_tag() {
    let (_dir, repository) = odd();
    let dir = repository.dir();
    for (name, rev) in [
        ("main", "main"),
        ("v1.0", "v1.0^{commit}"),
        ("HEAD", "HEAD"),
        ("refs/heads/side", "side"),
        ("refs/tags/v1.0", "v1.0^{commit}"),
    ] {
        let expected = git_line(dir, &["rev-parse", rev]);
        assert_eq!(repository.resolve(name).unwrap().to_string(), expected);
        assert_eq!(repository.resolve(&expected).unwrap().to_string(), expected);
        assert_eq!(
            repository.resolve(&expected[..12]).unwrap().to_string(),
            expected
        );
        assert_eq!(
            repository
                .resolve(&expected.to_uppercase())
                .unwrap()
                .to_string(),
            expected
        );
    }
}

#[test]
fn what_is_no_name_of_a_commit_is_refused_and_never_run() {
    let (_dir, repository) = odd();
    let dir = repository.dir();
    let tree = git_line(dir, &["rev-parse", "main^{tree}"]);
    let owned = dir.join("owned");
    let output = format!("--output={}", owned.display());
    let long = "a".repeat(300);
    let payloads = [
        "",
        &long,
        "-",
        "--all",
        "-n1",
        &output,
        "--upload-pack=touch owned",
        "HEAD~1",
        "main^",
        "main..side",
        "@{u}",
        ":/Merge",
        "main:README",
        "HEAD@{0}",
        "../HEAD",
        "refs/../HEAD",
        "absent",
        "abc",
        "zzzz",
        "0000",
        &tree,
        "0000000000000000000000000000000000000000",
        "main\0",
        "main\n--all",
        "refs/heads/",
        "\u{202e}main",
        "$(touch owned)",
        "config",
    ];
    for given in payloads {
        let refused = repository.resolve(given);
        assert!(
            matches!(&refused, Err(error @ GitError::BadRevision { .. }) if error.is_callers_fault()),
            "{given}: {refused:?}"
        );
        let diff = repository.diff(&DiffRequest::of(given));
        assert!(matches!(diff, Err(GitError::BadRevision { .. })), "{given}");
    }
    assert!(!owned.exists());
}

#[test]
fn a_ref_named_like_an_option_or_an_id_is_only_a_ref() {
    let mut script = Script::default();
    let root = script.commit(&Commit::default(), &[file("f", "1")]);
    script.commit(
        &Commit {
            from: Some(root),
            ..Commit::default()
        },
        &[file("f", "2")],
    );
    let (dir, repository) = made(script);
    let (tip, root) = (
        git_line(dir.path(), &["rev-parse", "main"]),
        git_line(dir.path(), &["rev-parse", "main~1"]),
    );
    std::fs::write(
        dir.path().join("refs/heads/--output=owned"),
        format!("{root}\n"),
    )
    .unwrap();
    std::fs::write(
        dir.path().join("refs/heads").join(&tip[..8]),
        format!("{root}\n"),
    )
    .unwrap();
    assert!(matches!(
        repository.resolve("--output=owned"),
        Err(GitError::BadRevision { .. })
    ));
    assert_eq!(
        repository
            .resolve("refs/heads/--output=owned")
            .unwrap()
            .to_string(),
        root
    );
    // As in git, a branch goes before a short id; the full id is always the id.
    assert_eq!(repository.resolve(&tip[..8]).unwrap().to_string(), root);
    assert_eq!(repository.resolve(&tip).unwrap().to_string(), tip);
}

#[test]
fn a_short_id_of_several_commits_is_ambiguous() {
    let mut script = Script::default();
    let mut from = None;
    for n in 0..2000 {
        script.pass(n);
        from = Some(script.commit(
            &Commit {
                from,
                ..Commit::default()
            },
            &[],
        ));
    }
    let (dir, repository) = made(script);
    let mut ids = lines_of(&git(dir.path(), ["rev-list", "main"]));
    ids.sort();
    let twin = ids
        .windows(2)
        .find(|pair| pair[0][..4] == pair[1][..4])
        .expect("2,000 ids share four digits somewhere");
    let refused = repository.resolve(&twin[0][..4]).unwrap_err();
    assert!(
        refused.to_string().contains("give more digits"),
        "{refused}"
    );
    assert_eq!(
        repository.resolve(&twin[0][..20]).unwrap().to_string(),
        twin[0]
    );
}

#[test]
fn pages_of_a_log_do_not_shift_while_commits_arrive() {
    let (dir, repository) = made(long_history(60, 3));
    for order in [Order::Oldest, Order::Newest] {
        let whole = LogRequest {
            order,
            ..LogRequest::default()
        };
        let expected = repository.log(&whole).unwrap().commits;
        let mut request = LogRequest { limit: 7, ..whole };
        let mut got = Vec::new();
        loop {
            let page = repository.log(&request).unwrap();
            assert_eq!(page.total, expected.len());
            got.extend(page.commits);
            let tree = git_line(dir.path(), &["rev-parse", "main^{tree}"]);
            let new = git_line(
                dir.path(),
                &["commit-tree", "-p", "main", "-m", "later", &tree],
            );
            git(dir.path(), ["update-ref", "refs/heads/main", &new]);
            request.position = page.next;
            if request.position.is_none() {
                break;
            }
        }
        assert_eq!(got, expected);
    }
    // The order known for the earlier tip was extended, not lost: it is still git's.
    let ids: Vec<String> = repository
        .log(&LogRequest {
            order: Order::Newest,
            ..LogRequest::default()
        })
        .unwrap()
        .commits
        .into_iter()
        .map(|commit| commit.sha)
        .collect();
    assert_eq!(ids, lines_of(&git(dir.path(), ["rev-list", "main"])));
}

#[test]
fn a_page_ends_when_it_has_enough_bytes_and_always_moves_on() {
    let (_dir, repository) = made(long_history(20, 4));
    let request = LogRequest {
        max_bytes: 1,
        ..LogRequest::default()
    };
    let page = repository.log(&request).unwrap();
    assert_eq!((page.commits.len(), page.next.unwrap().offset), (1, 1));
}

#[test]
fn a_position_with_a_strange_tip_is_refused() {
    let (_dir, repository) = odd();
    for tip in ["--all", "ffffffffffffffffffffffffffffffffffffffff"] {
        let position = Some(LogPosition {
            tip: tip.to_owned(),
            offset: 3,
        });
        let page = repository.log(&LogRequest {
            position,
            ..LogRequest::default()
        });
        assert!(matches!(page, Err(GitError::BadRevision { .. })), "{tip}");
    }
}

#[test]
fn moments_are_read_strictly() {
    let start = |text| parse_moment(text, DayEdge::Start).map(|at| at.to_string());
    assert_eq!(
        start("2026-05-29T10:00:00+02:00").unwrap(),
        "2026-05-29T08:00:00Z"
    );
    assert_eq!(start("2026-05-29").unwrap(), "2026-05-29T00:00:00Z");
    let end = parse_moment("2026-05-29", DayEdge::End).unwrap();
    assert_eq!(end.to_string(), "2026-05-29T23:59:59Z");
    for text in [
        "",
        "-1",
        "--since=x",
        "yesterday",
        "2026-05-32",
        "1700000000",
        "2026-05-29T10:00",
    ] {
        let refused = start(text).unwrap_err();
        assert!(
            refused.is_callers_fault() && refused.to_string().contains("RFC 3339"),
            "{text}: {refused}"
        );
    }
}

#[test]
fn a_large_diff_comes_in_parts_that_make_the_whole() {
    let mut script = Script::default();
    let root = script.commit(
        &Commit::default(),
        &[file("a", numbered(4000, 1)), file("b", "x\n")],
    );
    script.commit(
        &Commit {
            from: Some(root),
            ..Commit::default()
        },
        &[
            file("a", numbered(4000, 7)),
            file("b", "y\n"),
            file("c", numbered(4000, 3)),
        ],
    );
    let (_dir, repository) = made(script);
    let whole = repository
        .diff(&DiffRequest {
            max_bytes: usize::MAX,
            ..DiffRequest::of("main")
        })
        .unwrap();
    let mut request = DiffRequest {
        max_bytes: 3000,
        ..DiffRequest::of("main")
    };
    let mut texts = vec![String::new(); whole.files.len()];
    let mut parts = 0;
    loop {
        let part = repository.diff(&request).unwrap();
        parts += 1;
        assert_eq!(part.total_files, whole.files.len());
        let size: usize = part
            .files
            .iter()
            .flat_map(|file| &file.hunks)
            .map(|hunk| hunk.text.len())
            .sum();
        assert!(size < 3000 + 200, "{size}");
        for file in &part.files {
            let at = whole
                .files
                .iter()
                .position(|other| other.path == file.path)
                .unwrap();
            assert_eq!(
                (file.additions, file.deletions),
                (whole.files[at].additions, whole.files[at].deletions)
            );
            assert_eq!(file.continued, !texts[at].is_empty());
            for hunk in &file.hunks {
                let count = |mark: char| {
                    hunk.text
                        .lines()
                        .filter(|line| line.starts_with([' ', mark]))
                        .count()
                };
                assert_eq!((hunk.old_lines, hunk.new_lines), (count('-'), count('+')));
                texts[at].push_str(&hunk.text);
            }
        }
        request.position = part.next;
        if request.position.is_none() {
            break;
        }
    }
    assert!(parts > 20);
    for (text, file) in texts.iter().zip(&whole.files) {
        assert_eq!(
            *text,
            file.hunks
                .iter()
                .map(|hunk| hunk.text.as_str())
                .collect::<String>()
        );
    }
}

#[test]
fn answers_go_on_however_little_room_there_is() {
    let mut script = Script::default();
    let changes = [file("a", "1\n2\n"), file("b", "1\n"), file("empty", "")];
    script.commit(&Commit::default(), &changes);
    let (_dir, repository) = made(script);
    let mut request = DiffRequest {
        max_bytes: 1,
        ..DiffRequest::of("main")
    };
    let mut lines = Vec::new();
    for _ in 0..10 {
        let part = repository.diff(&request).unwrap();
        for file in &part.files {
            lines.extend(
                file.hunks
                    .iter()
                    .map(|hunk| format!("{}{}", file.path, hunk.text)),
            );
        }
        request.position = part.next;
        if request.position.is_none() {
            break;
        }
    }
    assert_eq!(request.position, None);
    assert_eq!(lines, ["a+1\n", "a+2\n", "b+1\n"]);
}

#[test]
fn a_filter_of_paths_shows_a_rename_by_either_name() {
    let mut script = Script::default();
    let root = script.commit(
        &Commit::default(),
        &[file("src/old.rs", "1\n2\n3\n4\n"), file("other", "x")],
    );
    script.commit(
        &Commit {
            from: Some(root),
            ..Commit::default()
        },
        &[
            Change::Rename("src/old.rs".into(), "lib/new.rs".into()),
            file("other", "y"),
        ],
    );
    let (_dir, repository) = made(script);
    for path in ["src", "src/old.rs", "lib/", "lib/new.rs"] {
        let diff = repository
            .diff(&DiffRequest {
                paths: vec![path.to_owned()],
                ..DiffRequest::of("main")
            })
            .unwrap();
        assert_eq!(diff.files.len(), 1, "{path}");
        assert_eq!(diff.files[0].status, Status::Renamed);
    }
    let none = repository
        .diff(&DiffRequest {
            paths: vec!["sr".to_owned()],
            ..DiffRequest::of("main")
        })
        .unwrap();
    assert_eq!(none.total_files, 0);
}

#[test]
fn a_search_finds_what_git_grep_finds() {
    let (dir, repository) = made(long_history(300, 11));
    for (pattern, regex, ignore_case) in [
        ("call(a1", false, false),
        ("RETURN;", false, true),
        ("^fn f[0-9]+", true, false),
        ("b[34]\\);$", true, false),
        ("absent", false, false),
    ] {
        let request = GrepRequest {
            regex,
            ignore_case,
            limit: usize::MAX,
            ..GrepRequest::for_text(pattern)
        };
        let found = repository.grep(&request).unwrap();
        let got: Vec<String> = found
            .matches
            .iter()
            .map(|found| format!("main:{}:{}:{}", found.path, found.line, found.text))
            .collect();
        let mut args = vec!["grep", "-n", if regex { "-E" } else { "-F" }];
        args.extend(ignore_case.then_some("-i"));
        args.extend(["-e", pattern, "main"]);
        let output = crate::script::plain_git(dir.path())
            .args(args)
            .output()
            .unwrap();
        assert_eq!(got, lines_of(&output.stdout), "{pattern}");
        let mut request = GrepRequest {
            limit: 3,
            ..request
        };
        let mut paged = Vec::new();
        loop {
            let page = repository.grep(&request).unwrap();
            paged.extend(page.matches);
            request.position = page.next;
            if request.position.is_none() {
                break;
            }
        }
        assert_eq!(paged, found.matches);
    }
}

#[test]
fn an_expression_made_to_run_for_ever_does_not() {
    let (_dir, repository) = one_commit(&[file("f", "a".repeat(100_000) + "!\n")]);
    for pattern in ["(a+)+$", "(a|a)*b", "(.*)*x"] {
        let request = GrepRequest {
            regex: true,
            ..GrepRequest::for_text(pattern)
        };
        assert_eq!(
            repository.grep(&request).unwrap().matches.len(),
            0,
            "{pattern}"
        );
    }
    for pattern in ["(", "a{9999}{9999}", "(?=x)", r"(a)\1", ""] {
        let request = GrepRequest {
            regex: true,
            ..GrepRequest::for_text(pattern)
        };
        let refused = repository.grep(&request).unwrap_err();
        assert!(refused.is_callers_fault(), "{pattern}: {refused}");
    }
}
