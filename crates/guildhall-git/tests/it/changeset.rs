//! Commits made from file contents: each merge is compared with what `git merge` makes of the same input in a checkout.

use std::collections::BTreeSet;
use std::path::Path;

use guildhall_core::RepoName;
use guildhall_git::{
    Change as To, ChangesetLimits, Composed, Conflicts, Environment, FileChange, FileMode, Git,
    GitError, Hosted, Hosting, NewCommit, Proposal, Signature, Source,
};
use jiff::Timestamp;

use crate::agreement::lines_of;
use crate::script::{Change, Commit, Random, Script, file, git, plain_git};

fn write(path: &str, content: impl Into<Vec<u8>>) -> FileChange {
    let change = To::Write {
        content: content.into(),
        mode: None,
    };
    FileChange {
        path: path.to_owned(),
        change,
    }
}

fn with_mode(path: &str, content: impl Into<Vec<u8>>, mode: FileMode) -> FileChange {
    let change = To::Write {
        content: content.into(),
        mode: Some(mode),
    };
    FileChange {
        path: path.to_owned(),
        change,
    }
}

fn delete(path: &str) -> FileChange {
    FileChange {
        path: path.to_owned(),
        change: To::Delete,
    }
}

fn signature(name: &str, email: &str) -> Signature {
    Signature {
        name: name.to_owned(),
        email: email.to_owned(),
        at: Timestamp::from_second(1_800_000_000).unwrap(),
    }
}

fn proposal<'a>(base: Option<&'a str>, files: &'a [FileChange]) -> Proposal<'a> {
    Proposal {
        base,
        merges: None,
        files,
        message: "Change it",
        trailers: &[],
        author: signature("Ada", "ada@example.com"),
        committer: signature("Cleo", "cleo@example.com"),
        limits: ChangesetLimits::default(),
        shown: 128 * 1024,
    }
}

/// A hosted repository whose `main` has a base and perhaps a commit on top.
struct World {
    dir: tempfile::TempDir,
    hosted: Hosted,
    base: String,
    tip: String,
}

impl World {
    fn new(base: &[Change], ours: &[Change]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        script(base, ours)
            .0
            .into_repository(&dir.path().join("origin"));
        let found = Git::find(Environment::of_this_process()).unwrap();
        let hosting = Hosting::new(found, dir.path().join("hosted"));
        let source = Source::path(&dir.path().join("origin")).unwrap();
        let name = RepoName::parse("acme/web").unwrap();
        let hosted = hosting.create(&name, &source).unwrap();
        let commits = lines_of(&git(hosted.repository().dir(), ["rev-list", "main"]));
        Self {
            base: commits.last().unwrap().clone(),
            tip: commits[0].clone(),
            hosted,
            dir,
        }
    }

    fn repo(&self) -> &Path {
        self.hosted.repository().dir()
    }

    fn compose(&self, files: &[FileChange]) -> Result<Composed, GitError> {
        let proposal = proposal(Some(&self.base), files);
        self.hosted.compose(Some(&self.tip), &proposal)
    }

    fn commit(&self, files: &[FileChange]) -> NewCommit {
        match self.compose(files).unwrap() {
            Composed::Commit(commit) => commit,
            Composed::Conflict(conflicts) => panic!("{conflicts:?}"),
        }
    }

    fn conflicts(&self, files: &[FileChange]) -> Conflicts {
        match self.compose(files).unwrap() {
            Composed::Commit(commit) => panic!("{commit:?}"),
            Composed::Conflict(conflicts) => conflicts,
        }
    }

    /// Every file below the repository's objects.
    fn stored(&self) -> BTreeSet<String> {
        let listed = std::process::Command::new("find")
            .args(["objects", "-type", "f"])
            .current_dir(self.repo())
            .output()
            .unwrap();
        lines_of(&listed.stdout).into_iter().collect()
    }

    fn refusal(&self, files: &[FileChange]) -> String {
        let before = self.stored();
        let error = self.compose(files).unwrap_err();
        assert!(error.is_callers_fault(), "{error:?}");
        assert_eq!(self.stored(), before, "{error}");
        error.to_string()
    }

    fn fsck(&self) {
        git(self.repo(), ["fsck", "--strict", "--no-dangling"]);
    }
}

fn script(base: &[Change], ours: &[Change]) -> (Script, usize) {
    let mut script = Script::default();
    let first = script.commit(&Commit::default(), base);
    if !ours.is_empty() {
        script.pass(10);
        let from = Some(first);
        script.commit(
            &Commit {
                from,
                ..Commit::default()
            },
            ours,
        );
    }
    (script, first)
}

/// What `git merge` makes of it: the tree, or the paths in conflict.
fn merged_by_git(
    dir: &Path,
    base: &[Change],
    ours: &[Change],
    theirs: &[FileChange],
) -> Result<String, BTreeSet<String>> {
    let (mut script, first) = script(base, ours);
    let commit = Commit {
        from: Some(first),
        branch: "side",
        ..Commit::default()
    };
    let executable = executable_at(dir);
    let theirs: Vec<Change> = theirs
        .iter()
        .map(|file| match &file.change {
            To::Mode(_) => unreachable!("told as a content with a mode"),
            To::Delete => Change::Delete(file.path.clone().into()),
            To::Write { content, mode } => {
                let kept = executable.contains(&file.path);
                let mode = match mode {
                    Some(FileMode::Executable) => "100755",
                    None if kept => "100755",
                    _ => "100644",
                };
                Change::File(mode, file.path.clone().into(), content.clone())
            }
        })
        .collect();
    script.pass(10);
    script.commit(&commit, &theirs);
    let checkout = dir.join("checkout");
    script.into_repository(&dir.join("same.git"));
    git(dir, ["clone", "--quiet", "same.git", "checkout"]);
    let status = plain_git(&checkout)
        .args(["merge", "--quiet", "--no-edit", "--no-ff", "origin/side"])
        .output()
        .unwrap();
    if status.status.success() {
        return Ok(lines_of(&git(&checkout, ["rev-parse", "HEAD^{tree}"])).remove(0));
    }
    let unmerged = git(&checkout, ["ls-files", "-u", "-z"]);
    let paths = unmerged
        .split(|&byte| byte == 0)
        .filter(|line| !line.is_empty());
    Err(paths
        .map(|line| {
            let line = String::from_utf8(line.to_vec()).unwrap();
            let (_, path) = line.split_once('\t').unwrap();
            let cut = ["~HEAD", "~origin/side", "~origin_side"]
                .iter()
                .find_map(|mark| path.find(mark));
            path[..cut.unwrap_or(path.len())].to_owned()
        })
        .collect())
}

/// The paths that can be run in the base commit of the repository at `dir`.
fn executable_at(dir: &Path) -> Vec<String> {
    let origin = dir.join("origin");
    let base = lines_of(&git(&origin, ["rev-list", "--reverse", "main"])).remove(0);
    lines_of(&git(&origin, ["ls-tree", "-r", &base]))
        .iter()
        .filter_map(|line| Some(line.strip_prefix("100755 ")?.split_once('\t')?.1.to_owned()))
        .collect()
}

/// Composes and lets git merge the same, and compares.
fn agree(base: &[Change], ours: &[Change], theirs: &[FileChange]) -> Result<String, Conflicts> {
    let world = World::new(base, ours);
    let before = world.stored();
    let git_says = merged_by_git(world.dir.path(), base, ours, theirs);
    match (world.compose(theirs).unwrap(), git_says) {
        (Composed::Commit(commit), Ok(tree)) => {
            assert_eq!(commit.tree, tree);
            assert_eq!(
                lines_of(&git(
                    world.repo(),
                    ["rev-parse", &format!("{}^@", commit.id)]
                )),
                std::slice::from_ref(&world.tip)
            );
            Ok(tree)
        }
        (Composed::Conflict(conflicts), Err(paths)) => {
            let ours: BTreeSet<String> =
                conflicts.conflicts.iter().map(|c| c.path.clone()).collect();
            // Beside the paths that stay unmerged git names where else the conflict touches (the old name of a rename).
            assert!(ours.is_superset(&paths), "{ours:?} {paths:?}");
            assert!(!paths.is_empty());
            assert_eq!(world.stored(), before, "a conflict writes nothing");
            Err(conflicts)
        }
        (ours, theirs) => panic!("ours: {ours:?}, git: {theirs:?}"),
    }
}

fn lines(from: usize, to: usize) -> String {
    let rows: Vec<String> = (from..=to).map(|number| format!("line {number}")).collect();
    rows.join(
        "
",
    ) + "
"
}

fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old));
    text.replacen(old, new, 1)
}

fn clean(base: &[Change], ours: &[Change], theirs: &[FileChange]) -> String {
    agree(base, ours, theirs).unwrap_or_else(|conflicts| panic!("{conflicts:?}"))
}

/// The paths and kinds of the conflict that it must come to.
fn conflicting(base: &[Change], ours: &[Change], theirs: &[FileChange]) -> Vec<(String, String)> {
    let conflicts = agree(base, ours, theirs).unwrap_err();
    assert_eq!(conflicts.total, conflicts.conflicts.len());
    conflicts
        .conflicts
        .into_iter()
        .map(|conflict| (conflict.path, conflict.kind))
        .collect()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}

#[test]
fn disjoint_files_go_through() {
    let base = [
        file("a", "a\n"),
        file("dir/b", "b\n"),
        file("dir/sub/c", "c\n"),
    ];
    clean(
        &base,
        &[file("dir/b", "B\n")],
        &[write("a", "A\n"), write("dir/new", "n\n")],
    );
    clean(
        &base,
        &[file("dir/sub/c", "C\n"), file("x/y", "y\n")],
        &[write("x/z", "z\n")],
    );
    clean(
        &base,
        &[file("dir/b", "B\n")],
        &[delete("a"), write("dir/sub/c", "C\n")],
    );
    clean(
        &base,
        &[Change::Delete(b"a".to_vec())],
        &[write("dir/b", "B\n")],
    );
}

#[test]
fn disjoint_hunks_of_one_file_are_both_kept() {
    let text = lines(1, 40);
    let base = [file("a", text.clone())];
    clean(
        &base,
        &[file("a", replaced(&text, "line 2\n", "two\n"))],
        &[write("a", replaced(&text, "line 38\n", "thirty-eight\n"))],
    );
}

#[test]
fn the_same_lines_changed_differently_are_a_conflict_with_both_sides() {
    let text = lines(1, 9);
    let (ours, theirs) = (
        replaced(&text, "line 5", "ours"),
        replaced(&text, "line 5", "theirs"),
    );
    let conflicts = agree(
        &[file("src/a", text.clone())],
        &[file("src/a", ours.clone())],
        &[write("src/a", theirs.clone()), write("other", "x")],
    )
    .unwrap_err();
    let [conflict] = &conflicts.conflicts[..] else {
        panic!("{conflicts:?}")
    };
    assert_eq!(
        (conflict.path.as_str(), conflict.kind.as_str()),
        ("src/a", "contents")
    );
    let content = |side: &Option<guildhall_git::Side>| side.clone().unwrap().content;
    assert_eq!(content(&conflict.base), text);
    assert_eq!(content(&conflict.current), ours);
    assert_eq!(content(&conflict.proposed), theirs);
}

#[test]
fn deleting_collides_with_editing_on_either_side() {
    let base = [file("a", lines(1, 9)), file("b", "b")];
    let edit = replaced(&lines(1, 9), "line 5", "five");
    let expected = pairs(&[("a", "modify/delete")]);
    assert_eq!(
        conflicting(&base, &[file("a", edit.clone())], &[delete("a")]),
        expected
    );
    assert_eq!(
        conflicting(&base, &[Change::Delete(b"a".to_vec())], &[write("a", edit)]),
        expected
    );
    clean(&base, &[Change::Delete(b"a".to_vec())], &[delete("a")]);
}

#[test]
fn an_edit_follows_a_rename() {
    let base = [file("a", lines(1, 40)), file("b", "b")];
    let edit = replaced(&lines(1, 40), "line 5\n", "five\n");
    clean(
        &base,
        &[Change::Rename(b"a".to_vec(), b"moved/a".to_vec())],
        &[write("a", edit.clone())],
    );
    clean(
        &base,
        &[file("a", edit.clone())],
        &[delete("a"), write("moved/a", lines(1, 40))],
    );
    // Both renamed, each elsewhere.
    let kinds = conflicting(
        &base,
        &[Change::Rename(b"a".to_vec(), b"one".to_vec())],
        &[delete("a"), write("two", lines(1, 40))],
    );
    assert!(
        kinds.contains(&("one".to_owned(), "rename/rename".to_owned())),
        "{kinds:?}"
    );
    // Renamed here, deleted there.
    let kinds = conflicting(
        &base,
        &[Change::Rename(b"a".to_vec(), b"one".to_vec())],
        &[delete("a")],
    );
    assert!(
        kinds.iter().any(|(_, kind)| kind == "rename/delete"),
        "{kinds:?}"
    );
    // A file added to a directory that was renamed meanwhile.
    let base = [
        file("old/a", lines(1, 40)),
        file("old/b", lines(50, 90)),
        file("z", "z"),
    ];
    let moved = [
        Change::Rename(b"old/a".to_vec(), b"new/a".to_vec()),
        Change::Rename(b"old/b".to_vec(), b"new/b".to_vec()),
    ];
    assert!(agree(&base, &moved, &[write("old/c", "c\n")]).is_err());
}

fn edit_of(text: &str) -> String {
    replaced(text, "line 5", "five")
}

#[test]
fn a_mode_and_a_content_are_changed_independently() {
    let text = lines(1, 9);
    let base = [file("run", text.clone())];
    let executable = || Change::File("100755", b"run".to_vec(), text.clone().into_bytes());
    let edit = replaced(&text, "line 5", "five");
    clean(&base, &[executable()], &[write("run", edit.clone())]);
    clean(
        &base,
        &[file("run", edit)],
        &[with_mode("run", text.clone(), FileMode::Executable)],
    );
    let world = World::new(&base, &[file("run", edit_of(&text))]);
    let change = To::Mode(FileMode::Executable);
    let path = "run".to_owned();
    let commit = world.commit(&[FileChange { path, change }]);
    let shown = lines_of(&git(world.repo(), ["ls-tree", &commit.id]));
    assert!(shown[0].starts_with("100755 "), "{shown:?}");
    assert_eq!(
        git(world.repo(), ["show", &format!("{}:run", commit.id)]),
        edit_of(&text).into_bytes()
    );
    // Without a mode, an executable file stays one.
    clean(&[executable()], &[file("x", "x")], &[write("run", "new\n")]);
    clean(
        &[executable()],
        &[file("x", "x")],
        &[with_mode("run", "new\n", FileMode::Regular)],
    );
}

#[test]
fn both_may_add_the_same_and_not_something_else() {
    let base = [file("a", "a")];
    clean(&base, &[file("new", "same\n")], &[write("new", "same\n")]);
    let kinds = conflicting(&base, &[file("new", "one\n")], &[write("new", "two\n")]);
    assert_eq!(kinds, pairs(&[("new", "add/add")]));
}

#[test]
fn binary_files_are_not_merged() {
    let bytes = |last: u8| [vec![0, 159, 146, 150], vec![7; 3000], vec![last]].concat();
    let base = [file("logo.png", bytes(1)), file("a", "a")];
    let kinds = conflicting(
        &base,
        &[file("logo.png", bytes(2))],
        &[write("logo.png", bytes(3))],
    );
    assert_eq!(kinds, pairs(&[("logo.png", "binary")]));
    clean(
        &base,
        &[file("logo.png", bytes(2))],
        &[write("logo.png", bytes(2))],
    );
    clean(&base, &[file("a", "A")], &[write("logo.png", bytes(3))]);
}

#[test]
fn line_ends_are_part_of_the_lines() {
    let crlf = lines(1, 20).replace('\n', "\r\n");
    let base = [file("a", crlf.clone())];
    let ours = replaced(&crlf, "line 2\r\n", "two\r\n");
    clean(
        &base,
        &[file("a", ours.clone())],
        &[write("a", replaced(&crlf, "line 18\r\n", "x\r\n"))],
    );
    // One side turned every line end: everything collides.
    let kinds = conflicting(&base, &[file("a", ours)], &[write("a", lines(1, 20))]);
    assert_eq!(kinds, pairs(&[("a", "contents")]));
}

#[test]
fn links_and_directories_that_came_meanwhile_collide_with_files() {
    let link = |path: &str, to: &str| Change::File("120000", path.into(), to.into());
    let base = [
        file("a", lines(1, 9)),
        file("d/x", "x\n"),
        link("link", "a"),
    ];
    // The file became a link.
    assert!(agree(&base, &[link("a", "d/x")], &[write("a", "new\n")]).is_err());
    // The directory became a link: nothing goes through it.
    let ours = [Change::Delete(b"d/x".to_vec()), link("d", "a")];
    assert!(agree(&base, &ours, &[write("d/y", "y\n")]).is_err());
    // A link and a directory came where the other side has a file, and the other way round.
    assert!(agree(&base, &[link("n", "a")], &[write("n/file", "y\n")]).is_err());
    assert!(agree(&base, &[file("n/file", "y\n")], &[write("n", "y\n")]).is_err());
    // A link that moved, a link that goes, and others in peace.
    clean(&base, &[link("link", "d/x")], &[write("a", "new\n")]);
    clean(&base, &[file("a", "new\n")], &[delete("link")]);
    clean(
        &base,
        &[file("a", "new\n")],
        &[with_mode("link", "a file now\n", FileMode::Regular)],
    );
    assert!(agree(&base, &[link("link", "d/x")], &[delete("link")]).is_err());
}

#[test]
fn attributes_in_the_tree_choose_no_merge_driver() {
    let base = [
        file(".gitattributes", "* merge=union\n*.x -merge\n"),
        file("a", lines(1, 5)),
        file("b.x", lines(1, 30)),
    ];
    let world = World::new(
        &base,
        &[
            file("a", replaced(&lines(1, 5), "line 3", "ours")),
            file("b.x", replaced(&lines(1, 30), "line 3\n", "ours\n")),
        ],
    );
    let conflicts = world.conflicts(&[write("a", replaced(&lines(1, 5), "line 3", "theirs"))]);
    assert_eq!(conflicts.conflicts[0].kind, "contents");
    world.commit(&[write(
        "b.x",
        replaced(&lines(1, 30), "line 28\n", "theirs\n"),
    )]);
}

#[test]
fn random_changes_end_as_git_merge_ends_them() {
    let (mut cleanly, mut not) = (0, 0);
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let paths = ["a", "b", "d/a", "d/b", "d/e/f", "g/h"];
        let text = |random: &mut Random| -> String {
            let rows: Vec<String> = (0..random.below(12) + 3)
                .map(|_| random.below(4).to_string())
                .collect();
            rows.join(
                "
",
            ) + "
"
        };
        let mut base = vec![file("keep", "keep\n")];
        let mut there: Vec<(&str, String)> = Vec::new();
        for path in paths {
            if random.chance(70) {
                let content = text(&mut random);
                base.push(file(path, content.clone()));
                there.push((path, content));
            }
        }
        let edited = |random: &mut Random, content: &str| {
            let mut rows: Vec<String> = content.lines().map(str::to_owned).collect();
            let at = random.below(rows.len());
            rows[at] = format!("new {}", random.below(3));
            if random.chance(30) {
                rows.insert(random.below(rows.len()), "more".to_owned());
            }
            rows.join("\n") + "\n"
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (path, content) in &there {
            match random.below(9) {
                0 => ours.push(Change::Delete((*path).into())),
                1 => ours.push(Change::Rename(
                    (*path).into(),
                    format!("moved/{path}").into(),
                )),
                2 | 3 => ours.push(file(path, edited(&mut random, content))),
                4 => ours.push(Change::File(
                    "100755",
                    (*path).into(),
                    content.clone().into(),
                )),
                _ => {}
            }
            match random.below(9) {
                0 => theirs.push(delete(path)),
                1 => {
                    theirs.push(delete(path));
                    theirs.push(write(&format!("elsewhere/{path}"), content.clone()));
                }
                2 | 3 => theirs.push(write(path, edited(&mut random, content))),
                4 => theirs.push(with_mode(path, content.clone(), FileMode::Executable)),
                _ => {}
            }
        }
        for path in ["n/1", "n/2", "d/new"] {
            if random.chance(25) {
                ours.push(file(path, text(&mut random)));
            }
            if random.chance(25) {
                theirs.push(write(path, text(&mut random)));
            }
        }
        ours.push(file("always", format!("{seed}\n")));
        theirs.push(write("always too", format!("{seed}\n")));
        match agree(&base, &ours, &theirs) {
            Ok(_) => cleanly += 1,
            Err(_) => not += 1,
        }
    }
    assert!(cleanly >= 8 && not >= 8, "{cleanly} clean, {not} not");
}

#[test]
fn no_path_leaves_the_repository_or_reaches_into_git() {
    let link = Change::File("120000", b"link".to_vec(), b"/etc".to_vec());
    let module = Change::Submodule(
        b"module".to_vec(),
        "1234567890123456789012345678901234567890",
    );
    let world = World::new(&[file("a", "a"), file("d/b", "b"), link, module], &[]);
    for path in [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "C:/x",
        r"C:\x",
        r"\\.\NUL",
        r"..\x",
        "a\0b",
        "",
        ".",
        "d/",
        "d//x",
        ".git/config",
        ".GIT/hooks/post-checkout",
        "sub/.git/config",
        "git~1/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u{200c}it/config",
        "d/\u{feff}.git",
        r"d\.git\config",
        r"\x2egit/config",
        "trailing.",
        "trailing ",
        "stream:x",
        "nul",
        "d/aux.txt",
        "rtl\u{202e}txt.exe",
        "line\nbreak",
        "link/passwd",
        "link",
        "module/x",
        "module",
        "a/x",
        "d",
    ] {
        let said = world.refusal(&[write("fine", "fine"), write(path, "x")]);
        assert!(said.starts_with('`'), "{path:?}: {said}");
    }
    assert_eq!(
        world.refusal(&[write("link/passwd", "x")]),
        "`link/passwd` cannot be written: `link` is a symbolic link, and nothing is written through one"
    );
    assert_eq!(
        world.refusal(&[write(".GIT/config", "x")]),
        "`.GIT/config` cannot be written: `.git`, in whatever spelling, belongs to git itself"
    );
}

#[test]
fn a_file_and_a_directory_do_not_share_a_place() {
    let world = World::new(&[file("a", "a"), file("d/b", "b"), file("d/c", "c")], &[]);
    assert_eq!(
        world.refusal(&[write("a/x", "x")]),
        "`a/x` cannot be written: `a` is a file that stays"
    );
    assert_eq!(
        world.refusal(&[write("d", "x"), delete("d/b")]),
        "`d` cannot be written: `d` is a directory with files that stay"
    );
    assert_eq!(
        world.refusal(&[write("n", "x"), write("n/x", "x")]),
        "`n/x` cannot be written: `n` is written as a file too"
    );
    assert_eq!(
        world.refusal(&[write("x", "1"), write("x", "2")]),
        "`x` cannot be written: the changeset names it twice"
    );
    assert_eq!(
        world.refusal(&[delete("gone")]),
        "`gone` cannot be written: there is no such file in `base_commit`"
    );
    let turned = world.commit(&[
        delete("a"),
        write("a/x", "x"),
        delete("d/b"),
        delete("d/c"),
        write("d", "d"),
    ]);
    let listed = git(world.repo(), ["ls-tree", "-r", "--name-only", &turned.id]);
    assert_eq!(lines_of(&listed), ["a/x", "d"]);
    let emptied = world.commit(&[delete("a"), delete("d/b"), delete("d/c")]);
    assert_eq!(emptied.tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    world.fsck();
}

#[test]
fn what_is_there_under_an_odd_name_can_be_changed_and_deleted() {
    let odd: [&[u8]; 4] = [b"caf\xe9", b"a:b", br"back\slash", b"aux.c"];
    let files: Vec<Change> = odd.iter().map(|path| file_at(path)).collect();
    let world = World::new(&files, &[]);
    let changed = world.commit(&[
        write(r"caf\xe9", "new"),
        write("a:b", "new"),
        write(r"back\slash", "new"),
        delete("aux.c"),
    ]);
    let listed = git(
        world.repo(),
        ["ls-tree", "-r", "-z", "--name-only", &changed.id],
    );
    let names: Vec<&[u8]> = listed
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(names, [&b"a:b"[..], br"back\slash", b"caf\xe9"]);
}

fn file_at(path: &[u8]) -> Change {
    Change::File("100644", path.to_vec(), b"old".to_vec())
}

#[test]
fn a_changeset_over_its_limits_is_refused_before_anything_is_written() {
    let world = World::new(&[file("a", "a")], &[]);
    let many: Vec<FileChange> = (0..100_000).map(|n| write(&format!("f{n}"), "x")).collect();
    assert_eq!(
        world.refusal(&many),
        "The changeset has 100000 files, more than the 2000 of one commit"
    );
    assert_eq!(
        world.refusal(&[write("big", vec![b'x'; (8 << 20) + 1])]),
        "`big` has 8388609 bytes, more than the 8388608 of one file"
    );
    let large: Vec<FileChange> = (0..5)
        .map(|n| write(&format!("f{n}"), vec![b'x'; 8 << 20]))
        .collect();
    assert_eq!(
        world.refusal(&large),
        "The changeset has 41943040 bytes, more than the 33554432 of one commit"
    );
}

#[test]
fn a_changeset_can_be_looked_at_before_it_is_composed() {
    let world = World::new(&[file("a", "a")], &[]);
    let limits = ChangesetLimits::default();
    let look = |base: Option<&str>, files: &[FileChange]| {
        let repository = world.hosted.repository();
        repository.check_changeset(base, files, &limits)
    };
    let before = world.stored();
    assert_eq!(
        look(Some(&world.base[..10]), &[write("b", "b")]).unwrap(),
        Some(world.base.clone())
    );
    assert_eq!(world.stored(), before);
    for files in [[write(".git/x", "")], [delete("b")], [write("a/x", "")]] {
        let refused = look(Some(&world.base), &files);
        assert!(
            matches!(refused, Err(GitError::RefusedPath { .. })),
            "{refused:?}"
        );
    }
    let refused = look(Some("no-such"), &[write("b", "b")]);
    assert!(
        matches!(refused, Err(GitError::BadRevision { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_base_that_is_not_on_the_branch_and_a_change_of_nothing_are_refused() {
    let world = World::new(&[file("a", "a")], &[file("b", "b")]);
    let aside = lines_of(&git(
        world.repo(),
        ["commit-tree", "-m", "aside", "main^{tree}"],
    ))
    .remove(0);
    let files = [write("a", "new")];
    let tried = |base: Option<&str>| {
        world
            .hosted
            .compose(Some(&world.tip), &proposal(base, &files))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        tried(Some(&aside)),
        format!("`{aside}` names no commit: the default branch does not have it")
    );
    assert!(tried(Some("--upload-pack=x")).contains("does not start with `-`"));
    assert!(tried(None).starts_with("'base_commit' is required"));
    assert_eq!(
        world.refusal(&[write("a", "a")]),
        "The files change nothing: each is as it was in `base_commit`"
    );
}

#[test]
fn the_first_commit_of_an_empty_repository_has_no_parent() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), ["init", "--quiet", "--bare", "origin"]);
    let hosting = Hosting::new(
        Git::find(Environment::of_this_process()).unwrap(),
        dir.path().join("hosted"),
    );
    let source = Source::path(&dir.path().join("origin")).unwrap();
    let hosted = hosting
        .create(&RepoName::parse("a/b").unwrap(), &source)
        .unwrap();
    let files = [write("src/main.rs", "fn main() {}\n")];
    let Composed::Commit(commit) = hosted.compose(None, &proposal(None, &files)).unwrap() else {
        panic!()
    };
    let id = hosted.repository().resolve(&commit.id).unwrap();
    hosted.move_default_branch(None, id).unwrap();
    let files = [write("src/lib.rs", "")];
    let next = hosted
        .compose(Some(&commit.id), &proposal(Some(&commit.id), &files))
        .unwrap();
    let Composed::Commit(next) = next else {
        panic!()
    };
    let next = hosted.repository().resolve(&next.id).unwrap();
    let elsewhere = hosted.move_default_branch(None, next);
    assert!(elsewhere.is_err(), "the branch has a commit by now");
    let shown = git(
        hosted.repository().dir(),
        ["log", "--format=%an <%ae> %at|%cn <%ce>|%P|%B", "main"],
    );
    assert_eq!(
        String::from_utf8(shown).unwrap().trim(),
        "Ada <ada@example.com> 1800000000|Cleo <cleo@example.com>||Change it"
    );
}

#[test]
fn names_and_messages_forge_neither_headers_nor_trailers() {
    let world = World::new(&[file("a", "a")], &[]);
    let files = [write("a", "b")];
    let trailers = [
        (
            "Lane",
            "_repo\nReviewed-by: forged <f@example.com>".to_owned(),
        ),
        ("Ask", "ask-0123456789".to_owned()),
        ("Reviewed-by", "mia@example.com".to_owned()),
    ];
    let hostile = Proposal {
        message: "Fix\n\nReviewed-by: boss@example.com\nLane: other\n---\nAsk: none\n\nreviewed-by: again",
        trailers: &trailers,
        author: signature(
            "Eve\nauthor Boss <boss@example.com> 1 +0000\n\nReviewed-by: Boss",
            "eve@x>\n<y",
        ),
        ..proposal(Some(&world.base), &files)
    };
    let Composed::Commit(commit) = world.hosted.compose(Some(&world.tip), &hostile).unwrap() else {
        panic!()
    };
    let shown = |format: &str| {
        let printed = git(
            world.repo(),
            ["log", "-1", &format!("--format={format}"), &commit.id],
        );
        String::from_utf8(printed).unwrap().trim().to_owned()
    };
    let expected = "Lane: _repo Reviewed-by: forged <f@example.com>\nAsk: ask-0123456789\nReviewed-by: mia@example.com";
    assert_eq!(shown("%(trailers)"), expected);
    assert_eq!(shown("%ae|%ce"), "eve@xy|cleo@example.com");
    let mut parser = plain_git(world.repo())
        .args(["interpret-trailers", "--parse"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let body = git(world.repo(), ["log", "-1", "--format=%B", &commit.id]);
    std::io::Write::write_all(&mut parser.stdin.take().unwrap(), &body).unwrap();
    let parsed = parser.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(parsed.stdout).unwrap().trim(), expected);
    let forged = body
        .split(|&byte| byte == b'\n')
        .filter(|line| line.to_ascii_lowercase().starts_with(b"reviewed-by"));
    assert_eq!(forged.count(), 1);
    world.fsck();
}

#[test]
fn composing_again_writes_the_same_and_many_files_become_one_pack() {
    let world = World::new(&[file("a", "a")], &[]);
    let few = [write("a", "b"), write("x/y/z", "z")];
    let first = world.commit(&few);
    let stored = world.stored();
    assert_eq!(world.commit(&few), first);
    assert_eq!(world.stored(), stored);
    assert!(
        stored.iter().all(|path| !path.contains("tmp_")),
        "{stored:?}"
    );
    let packs =
        |stored: &BTreeSet<String>| stored.iter().filter(|path| path.contains(".pack")).count();
    let before = packs(&stored);
    let many: Vec<FileChange> = (0..1_000)
        .map(|n| {
            write(
                &format!("d{}/f{n}", n % 50),
                format!("{n}\n").repeat(n % 300),
            )
        })
        .collect();
    let commit = world.commit(&many);
    assert_eq!(packs(&world.stored()), before + 1);
    let listed = git(world.repo(), ["ls-tree", "-r", "--name-only", &commit.id]);
    assert_eq!(lines_of(&listed).len(), 1_001);
    world.fsck();
}

#[test]
fn another_commit_is_brought_in_with_what_collides_settled_by_the_files() {
    let text = lines(1, 9);
    let world = World::new(
        &[file("a", text.clone()), file("b", "b\n")],
        &[file("a", replaced(&text, "line 5", "ours"))],
    );
    // The origin went another way.
    let origin = world.dir.path().join("origin");
    let (mut script, first) = (Script::default(), 1);
    script.commit(
        &Commit::default(),
        &[file("a", text.clone()), file("b", "b\n")],
    );
    script.pass(20);
    script.commit(
        &Commit {
            from: Some(first),
            branch: "main",
            ..Commit::default()
        },
        &[
            file("a", replaced(&text, "line 5", "theirs")),
            file("b", "B\n"),
        ],
    );
    std::fs::remove_dir_all(&origin).unwrap();
    script.into_repository(&origin);
    let standing = world.hosted.fetch_origin().unwrap();
    assert!(standing.has_diverged());
    let other = standing.origin_head.unwrap();
    let tip = world.hosted.repository().tip().unwrap();
    world.hosted.keep_merge("ask-0123456789").unwrap();
    let kept = world.hosted.kept_merge("ask-0123456789").unwrap();
    assert_eq!(kept.as_ref(), Some(&other));
    let all = world.hosted.kept_merges().unwrap();
    assert_eq!(all, [("ask-0123456789".to_owned(), other.clone())]);
    let collide = world.hosted.conflicts_with(&other).unwrap().unwrap();
    assert_eq!(collide.paths().collect::<Vec<_>>(), ["a"]);
    assert_eq!(world.hosted.kept_merge("ask-9876543210").unwrap(), None);
    assert!(world.hosted.kept_merge("../heads/main").is_err());
    let compose = |files: &[FileChange]| {
        let merging = Proposal {
            merges: Some(&other),
            ..proposal(Some(&world.tip), files)
        };
        world.hosted.compose(Some(&world.tip), &merging).unwrap()
    };
    let Composed::Conflict(conflicts) = compose(&[write("c", "c\n")]) else {
        panic!()
    };
    assert_eq!(
        (conflicts.total, conflicts.conflicts[0].path.as_str()),
        (1, "a")
    );
    let settled = replaced(&text, "line 5", "both");
    let Composed::Commit(commit) = compose(&[write("a", settled.clone())]) else {
        panic!()
    };
    let at = |path: &str| git(world.repo(), ["show", &format!("{}:{path}", commit.id)]);
    assert_eq!((at("a"), at("b")), (settled.into_bytes(), b"B\n".to_vec()));
    let parents = lines_of(&git(
        world.repo(),
        ["rev-parse", &format!("{}^@", commit.id)],
    ));
    assert_eq!(parents, [world.tip.clone(), other.clone()]);
    let id = world.hosted.repository().resolve(&commit.id).unwrap();
    world.hosted.move_default_branch(tip, id).unwrap();
    let standing = world.hosted.push().unwrap();
    assert_eq!((standing.ahead, standing.behind), (2, 0));
    assert_eq!(lines_of(&git(&origin, ["rev-parse", "main"])), [commit.id]);
}

#[test]
fn locks_that_a_dead_process_left_go_and_those_of_the_living_are_waited_for() {
    let world = World::new(&[file("a", "a")], &[]);
    let leave = |name: &str, seconds: u64| {
        let path = world.repo().join(name);
        let left = std::fs::File::create(&path).unwrap();
        let age = std::time::Duration::from_secs(seconds);
        left.set_modified(left.metadata().unwrap().modified().unwrap() - age)
            .unwrap();
        path
    };
    for name in ["HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"] {
        let path = leave(name, 3600);
        drop(world.hosted.turn().unwrap());
        assert!(!path.exists(), "{name}");
    }
    let topic = leave("refs/heads/topic.lock", 3600);
    let aside = world.repo().join("objects/tmp_objdir-merge-x");
    std::fs::create_dir(&aside).unwrap();
    drop(world.hosted.turn().unwrap());
    assert!(topic.exists());
    drop(world.hosted.first_turn().unwrap());
    assert!(!topic.exists());
    assert!(aside.exists(), "it may be in use by another node");
    // A living git lets go of its lock, and the turn waits until then.
    let living = leave("refs/heads/main.lock", 0);
    let path = living.clone();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        std::fs::remove_file(path).unwrap();
    });
    drop(world.hosted.turn().unwrap());
    holder.join().unwrap();
    assert!(!living.exists());
}

#[test]
fn only_one_has_the_turn() {
    let world = World::new(&[file("a", "a")], &[]);
    let turn = world.hosted.turn().unwrap();
    let path = world.repo().join("guildhall-turn");
    let other = std::fs::File::open(&path).unwrap();
    assert!(other.try_lock().is_err());
    drop(turn);
    other.try_lock().unwrap();
}
