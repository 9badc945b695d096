//! How long it takes to land a changeset of three files beside `git` doing the same, in one run on one disk.
//!
//! Both sides end with the objects and the branch on the disk. Git's side is the fewest processes that do the work:
//! `git fast-import` for a change on the tip and for one beside it, `git merge-tree`, `git commit-tree` and `git update-ref`
//! where lines have to be merged. Prints medians and the worst of each.
//! `cargo bench -p guildhall-git --bench commit [-- <files> ...]`; the default sizes are 1,000, 10,000 and 100,000 files.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot work has no figures"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use guildhall_core::RepoName;
use guildhall_git::{
    Change as To, ChangesetLimits, Composed, Environment, FileChange, Git, Hosted, Hosting,
    Proposal, Signature, Source,
};
use jiff::Timestamp;

#[path = "../tests/it/script.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod script;

use script::{Commit, Script, file, git, plain_git};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const ROUNDS: usize = 40;
/// Git waits for the disk as we do.
const DURABLE: [&str; 2] = ["-c", "core.fsync=all"];

fn main() {
    let named: Vec<usize> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let sizes = if named.is_empty() {
        SIZES.to_vec()
    } else {
        named
    };
    for files in sizes {
        let world = World::new(files);
        println!("{files} files, a changeset of three:");
        world.on_the_tip();
        world.beside_the_tip();
        world.merged();
    }
}

struct World {
    _dir: tempfile::TempDir,
    hosted: Hosted,
    /// The same repository for git.
    theirs: PathBuf,
}

fn path(n: usize) -> String {
    format!("src/d{}/f{n}", n % 200)
}

fn text(seed: usize) -> String {
    let rows: Vec<String> = (0..60).map(|row| format!("line {row} of {seed}")).collect();
    rows.join("\n") + "\n"
}

impl World {
    fn new(files: usize) -> Self {
        // Beside the target folder: what is measured is a disk, not memory.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut script = Script::default();
        let all: Vec<_> = (0..files).map(|n| file(&path(n), text(n))).collect();
        script.commit(&Commit::default(), &all);
        let theirs = dir.path().join("theirs");
        script.into_repository(&theirs);
        let found = Git::find(Environment::of_this_process()).unwrap();
        let hosting = Hosting::new(found, dir.path().join("hosted"));
        let source = Source::path(&theirs).unwrap();
        let name = RepoName::parse("acme/web").unwrap();
        Self {
            hosted: hosting.create(&name, &source).unwrap(),
            theirs,
            _dir: dir,
        }
    }

    fn tip(&self) -> String {
        self.hosted.repository().tip().unwrap().unwrap().to_string()
    }

    /// Lands files that were changed from `base`.
    fn land(&self, base: &str, files: &[FileChange]) -> String {
        let _turn = self.hosted.turn().unwrap();
        let tip = self.tip();
        let who = Signature {
            name: "A".to_owned(),
            email: "a@example.com".to_owned(),
            at: Timestamp::from_second(1_800_000_000).unwrap(),
        };
        let proposal = Proposal {
            base: Some(base),
            merges: None,
            files,
            message: "Change three files",
            trailers: &[],
            author: who.clone(),
            committer: who,
            limits: ChangesetLimits::default(),
            shown: 0,
        };
        match self.hosted.compose(Some(&tip), &proposal).unwrap() {
            Composed::Commit(commit) => {
                self.hosted.follow(&commit.id).unwrap();
                commit.id
            }
            Composed::Conflict(conflicts) => panic!("{conflicts:?}"),
        }
    }

    fn on_the_tip(&self) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let changed = three(round, &format!("round {round}\n"));
            let base = self.tip();
            ours.push(time(|| self.land(&base, &changed)));
            theirs.push(time(|| import(&self.theirs, &changed)));
        }
        report("on the tip", "fast-import", ours, theirs);
    }

    fn beside_the_tip(&self) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let base = self.tip();
        for round in 0..ROUNDS {
            // Each changes files of its own, and all began at one commit.
            let changed = three(100 + 3 * round, &format!("aside {round}\n"));
            ours.push(time(|| self.land(&base, &changed)));
            theirs.push(time(|| import(&self.theirs, &changed)));
        }
        report("other files moved", "fast-import", ours, theirs);
    }

    fn merged(&self) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let number = 300 + round;
            let (mine, other) = (
                text(number).replacen("line 3 ", "mine ", 1),
                text(number).replacen("line 50 ", "other ", 1),
            );
            let base = self.tip();
            self.land(&base, &[write(&path(number), &mine)]);
            let changed = [write(&path(number), &other)];
            ours.push(time(|| self.land(&base, &changed)));
            let before = head(&self.theirs);
            import(&self.theirs, &[write(&path(number), &mine)]);
            theirs.push(time(|| merge(&self.theirs, &before, &changed)));
        }
        report("lines merged", "merge-tree and commit-tree", ours, theirs);
    }
}

fn write(path: &str, content: &str) -> FileChange {
    FileChange {
        path: path.to_owned(),
        change: To::Write {
            content: content.into(),
            mode: None,
        },
    }
}

fn three(first: usize, first_line: &str) -> Vec<FileChange> {
    (first..first + 3)
        .map(|n| write(&path(n), &format!("{first_line}{}", text(n))))
        .collect()
}

fn head(dir: &Path) -> String {
    let printed = git(dir, ["rev-parse", "main"]);
    String::from_utf8(printed).unwrap().trim().to_owned()
}

/// A commit on `main` made by `git fast-import`.
fn import(dir: &Path, files: &[FileChange]) {
    let from = "refs/heads/main^0";
    feed(dir, "refs/heads/main", from, files);
}

fn feed(dir: &Path, branch: &str, from: &str, files: &[FileChange]) {
    let mut stream = Vec::new();
    write!(
        stream,
        "commit {branch}\ncommitter A <a@example.com> 1800000000 +0000\ndata 21\nChange three files\n\n\nfrom {from}\n"
    )
    .unwrap();
    for file in files {
        if let To::Write { content, .. } = &file.change {
            write!(
                stream,
                "M 100644 inline {}\ndata {}\n",
                file.path,
                content.len()
            )
            .unwrap();
            stream.extend_from_slice(content);
            stream.push(b'\n');
        }
    }
    stream.extend_from_slice(b"done\n");
    let mut child = plain_git(dir)
        .args(DURABLE)
        .args(["fast-import", "--quiet", "--done", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(child.wait().unwrap().success());
}

/// The same from `base` while `main` has moved: a commit aside, the merged tree, a commit of it, the branch.
fn merge(dir: &Path, base: &str, files: &[FileChange]) {
    feed(dir, "refs/heads/aside", base, files);
    let run = |arguments: &[&str]| {
        let printed = git(dir, DURABLE.iter().chain(arguments));
        String::from_utf8(printed).unwrap().trim().to_owned()
    };
    let tree = run(&["merge-tree", "--write-tree", "main", "refs/heads/aside"]);
    let commit = run(&[
        "commit-tree",
        "-p",
        "main",
        "-m",
        "Change three files",
        &tree,
    ]);
    run(&["update-ref", "refs/heads/main", &commit]);
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn report(what: &str, baseline: &str, mut ours: Vec<Duration>, mut theirs: Vec<Duration>) {
    ours.sort_unstable();
    theirs.sort_unstable();
    let (mid, git_mid) = (ours[ours.len() / 2], theirs[theirs.len() / 2]);
    println!(
        "  {what:<18} {mid:>9.1?} (worst {:.1?}), git {baseline} {git_mid:>9.1?} (worst {:.1?}): {:.2} of git's time",
        ours[ours.len() - 1],
        theirs[theirs.len() - 1],
        mid.as_secs_f64() / git_mid.as_secs_f64(),
    );
}
