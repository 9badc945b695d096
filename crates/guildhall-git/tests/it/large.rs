//! Commits and files made to exhaust whoever reads them.

use guildhall_git::{
    DiffRequest, FileRequest, GitError, GrepRequest, Repository, Status, TreeRequest,
};

use crate::script::{Change, Commit, Random, Script, file, numbered, program};

/// A repository of two commits: one with `before`, then one with `after`.
fn two_commits(before: &[Change], after: &[Change]) -> (tempfile::TempDir, Repository) {
    let mut script = Script::default();
    let from = Some(script.commit(&Commit::default(), before));
    script.commit(
        &Commit {
            from,
            ..Commit::default()
        },
        after,
    );
    let dir = tempfile::tempdir().unwrap();
    script.into_repository(dir.path());
    let repository = Repository::open(dir.path()).unwrap();
    (dir, repository)
}

#[test]
fn a_commit_of_a_hundred_thousand_files_comes_in_bounded_answers() {
    const FILES: usize = 100_000;
    let files: Vec<Change> = (0..FILES)
        .map(|n| file(&format!("d{}/f{n}", n % 300), "same\n"))
        .collect();
    let (_dir, repository) = two_commits(&[], &files);
    let mut request = DiffRequest {
        max_bytes: 64 * 1024,
        ..DiffRequest::of("main")
    };
    let first = repository.diff(&request).unwrap();
    assert_eq!(first.total_files, FILES);
    assert!(
        (100..1000).contains(&first.files.len()),
        "{}",
        first.files.len()
    );
    request.position = first.next;
    let second = repository.diff(&request).unwrap();
    for file in second.files.iter().filter(|file| !file.continued) {
        assert!(first.files.iter().all(|one| one.path != file.path));
    }
    let tree = repository
        .tree(&TreeRequest {
            recursive: true,
            limit: 10,
            ..TreeRequest::default()
        })
        .unwrap();
    assert_eq!((tree.entries.len(), tree.next.unwrap().offset), (10, 10));
    let found = repository
        .grep(&GrepRequest {
            limit: 5,
            ..GrepRequest::for_text("same")
        })
        .unwrap();
    assert_eq!((found.matches.len(), found.next.is_some()), (5, true));
}

#[test]
fn a_diff_of_a_million_lines_comes_in_bounded_answers() {
    const LINES: usize = 1_000_000;
    let (_dir, repository) = two_commits(
        &[file("f", numbered(LINES, 1))],
        &[file("f", numbered(LINES, 3))],
    );
    let request = DiffRequest {
        max_bytes: 64 * 1024,
        ..DiffRequest::of("main")
    };
    let diff = repository.diff(&request).unwrap();
    let given: usize = diff.files[0].hunks.iter().map(|hunk| hunk.text.len()).sum();
    assert!(given < 70 * 1024 && diff.next.is_some(), "{given}");
    let (added, deleted) = (
        diff.files[0].additions.unwrap(),
        diff.files[0].deletions.unwrap(),
    );
    assert!(added == deleted && added > LINES / 2, "{added} {deleted}");
}

#[test]
fn a_line_without_end_is_cut_and_said_to_be() {
    let (_dir, repository) = two_commits(
        &[file("f", "x\n")],
        &[file("f", "y".repeat(4 * 1024 * 1024))],
    );
    let diff = repository.diff(&DiffRequest::of("main")).unwrap();
    let hunk = &diff.files[0].hunks[0];
    assert!(
        hunk.lines_cut && hunk.text.len() < 300 * 1024,
        "{}",
        hunk.text.len()
    );
    let found = repository.grep(&GrepRequest::for_text("yyy")).unwrap();
    assert!(found.matches[0].truncated && found.matches[0].text.len() == 1000);
}

#[test]
fn a_file_too_large_to_compare_is_said_to_be_and_not_read() {
    let huge = vec![b'\n'; 40 * 1024 * 1024];
    let (_dir, repository) = two_commits(
        &[file("f", "x\n")],
        &[file("f", huge), file("g", "small\n")],
    );
    let diff = repository.diff(&DiffRequest::of("main")).unwrap();
    assert!(
        diff.files[0].too_large
            && diff.files[0].hunks.is_empty()
            && diff.files[0].additions.is_none()
    );
    assert_eq!(diff.files[1].additions, Some(1));
    let shown = repository.show_file(&FileRequest::of("f"));
    assert!(
        matches!(
            shown,
            Err(GitError::TooLarge {
                size: 41_943_040,
                ..
            })
        ),
        "{shown:?}"
    );
    let found = repository.grep(&GrepRequest::for_text("small")).unwrap();
    assert_eq!((found.matches.len(), found.too_large), (1, 1));
}

#[test]
fn an_object_that_claims_to_be_huge_is_not_unpacked() {
    // 260 MiB of zeros are a few hundred kilobytes in the repository.
    let bomb = vec![0; 260 * 1024 * 1024];
    let (_dir, repository) = two_commits(&[file("f", "x\n")], &[file("bomb", bomb)]);
    let diff = repository.diff(&DiffRequest::of("main")).unwrap();
    assert!(diff.files[0].too_large);
    assert!(matches!(
        repository.show_file(&FileRequest::of("bomb")),
        Err(GitError::TooLarge { .. })
    ));
}

#[test]
fn too_many_candidates_for_renames_are_not_compared_and_said_to_be() {
    let mut random = Random::new(5);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for n in 0..1100 {
        let lines = program(&mut random, 10);
        before.push(file(&format!("old/{n}"), lines.join("\n")));
        after.push(Change::Delete(format!("old/{n}").into()));
        after.push(file(&format!("new/x{n}"), lines.join("\n") + "\nmore\n"));
    }
    after.push(Change::Copy("old/7".into(), "exact".into()));
    // The copy is written before its source is deleted.
    after.rotate_right(1);
    let (_dir, repository) = two_commits(&before, &after);
    let diff = repository
        .diff(&DiffRequest {
            max_bytes: usize::MAX,
            ..DiffRequest::of("main")
        })
        .unwrap();
    assert!(diff.renames_cut);
    let renamed: Vec<&str> = diff
        .files
        .iter()
        .filter(|file| file.status == Status::Renamed)
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(renamed, ["exact"]);
    crate::agreement::check_diff(&repository, &diff.commit, None, 3);
}
