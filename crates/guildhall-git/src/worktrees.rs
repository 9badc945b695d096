//! Working trees of a person's own checkout, one for each role of a team session.
//!
//! Git itself makes and removes them, one after the other: two at once can read each other's half-made files. Nothing here
//! removes what is not committed or not merged unless it is told to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::{Config, Git, GitCommand, Limits};
use crate::error::GitError;

/// A checkout of a large repository takes a while.
const CHECKS_OUT: Limits = Limits {
    time: Duration::from_mins(10),
    output: 16 * 1024 * 1024,
};

/// A person's checkout: the repository around a folder, with its main working tree.
#[derive(Clone, Debug)]
pub struct Checkout {
    git: Git,
    root: PathBuf,
}

/// A working tree that was added.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Worktree {
    /// Where it is.
    pub path: PathBuf,
    /// The branch it is on.
    pub branch: String,
}

/// What would be lost with a working tree.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Left {
    /// Files that are changed, or new and not ignored; at most 1,000 are told.
    pub uncommitted: Vec<String>,
    /// Commits on its branch that are on no other branch.
    pub unmerged: u64,
}

impl Left {
    /// Whether nothing would be lost.
    pub fn is_nothing(&self) -> bool {
        self.uncommitted.is_empty() && self.unmerged == 0
    }
}

impl Checkout {
    /// The checkout around `dir`, or `None` outside of one. In a linked working tree it is the main one's.
    ///
    /// # Errors
    ///
    /// Those of running git.
    pub fn around(git: Git, dir: &Path) -> Result<Option<Self>, GitError> {
        let asked = git
            .command(Config::Operator, "worktree")
            .inside(dir)
            .args(["list", "--porcelain", "-z"])
            .run(&Limits::SHORT);
        let printed = match asked {
            Ok(printed) => printed,
            Err(GitError::Failed { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        // The first one listed is the main one.
        let mut parts = printed.split(|byte| *byte == 0);
        let root = parts
            .next()
            .and_then(|part| part.strip_prefix(b"worktree "))
            .map(path_of);
        let is_bare = parts.next() == Some(b"bare");
        Ok(root.filter(|_| !is_bare).map(|root| Self { git, root }))
    }

    /// The main working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The branch of the main working tree; `None` where it is on none.
    ///
    /// # Errors
    ///
    /// Those of running git.
    pub fn branch(&self) -> Result<Option<String>, GitError> {
        let asked = self
            .command("symbolic-ref")
            .args(["--quiet", "--short", "HEAD"])
            .run(&Limits::SHORT);
        match asked {
            Ok(printed) => Ok(Some(text_of(&printed).trim().to_owned())),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the checkout has a commit for a working tree to begin at.
    ///
    /// # Errors
    ///
    /// Those of running git.
    pub fn has_commit(&self) -> Result<bool, GitError> {
        answers(self.command("rev-parse").args([
            "--verify",
            "--quiet",
            "--end-of-options",
            "HEAD^{commit}",
        ]))
    }

    /// Adds a working tree at `path` on a new branch, both at the main working tree's commit.
    ///
    /// # Errors
    ///
    /// [`GitError::Failed`] where the path or the branch is there already.
    pub fn add(&self, path: &Path, branch: &str) -> Result<Worktree, GitError> {
        self.command("worktree")
            .args(["add", "--quiet", "-b", branch, "--"])
            .arg(path)
            .arg("HEAD")
            .run(&CHECKS_OUT)?;
        Ok(Worktree {
            path: path.to_owned(),
            branch: branch.to_owned(),
        })
    }

    /// What would be lost with `worktree`. Commits that only branches beginning with `family` have count as lost: those
    /// go with it.
    ///
    /// # Errors
    ///
    /// Those of running git.
    pub fn left(&self, worktree: &Worktree, family: &str) -> Result<Left, GitError> {
        let mut left = Left::default();
        if worktree.path.is_dir() {
            let printed = self
                .git
                .command(Config::Operator, "status")
                .inside(&worktree.path)
                .args([
                    "--porcelain=v1",
                    "-z",
                    "--untracked-files=all",
                    "--no-renames",
                ])
                .run(&Limits::SHORT)?;
            left.uncommitted = printed
                .split(|byte| *byte == 0)
                .filter(|entry| entry.len() > 3)
                .take(1000)
                .map(|entry| text_of(&entry[3..]))
                .collect();
        }
        if self.has_branch(&worktree.branch)? {
            let printed = self
                .command("rev-list")
                .args(["--count", &full(&worktree.branch), "--not", "HEAD"])
                .arg(format!("--exclude={family}*"))
                .args(["--branches", "--remotes", "--tags"])
                .run(&Limits::SHORT)?;
            let count = text_of(&printed);
            left.unmerged = count.trim().parse().map_err(|_| GitError::Failed {
                action: "rev-list".to_owned(),
                message: format!("it printed {count:?} for a count"),
            })?;
        }
        Ok(left)
    }

    /// Removes `worktree` and its branch, with everything in it. Ask [`Checkout::left`] first.
    ///
    /// # Errors
    ///
    /// Those of running git.
    pub fn remove(&self, worktree: &Worktree) -> Result<(), GitError> {
        if worktree.path.exists() {
            self.command("worktree")
                .args(["remove", "--force", "--force", "--"])
                .arg(&worktree.path)
                .run(&CHECKS_OUT)?;
        } else {
            self.command("worktree").arg("prune").run(&Limits::SHORT)?;
        }
        if self.has_branch(&worktree.branch)? {
            self.command("branch")
                .args(["--quiet", "-D", "--", &worktree.branch])
                .run(&Limits::SHORT)?;
        }
        Ok(())
    }

    /// Whether there is a branch of this name.
    ///
    /// # Errors
    ///
    /// Those of running git.
    pub fn has_branch(&self, branch: &str) -> Result<bool, GitError> {
        answers(
            self.command("show-ref")
                .args(["--verify", "--quiet", "--", &full(branch)]),
        )
    }

    fn command(&self, action: &str) -> GitCommand {
        self.git
            .command(Config::Operator, action)
            .inside(&self.root)
    }
}

/// Whether a command that says yes or no by how it ends says yes.
fn answers(command: GitCommand) -> Result<bool, GitError> {
    match command.run(&Limits::SHORT) {
        Ok(_) => Ok(true),
        Err(GitError::Failed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use crate::command::Environment;

    struct Place {
        _home: tempfile::TempDir,
        checkout: Checkout,
    }

    fn git() -> Git {
        Git::find(Environment::of_this_process()).unwrap()
    }

    fn run(dir: &Path, arguments: &[&str]) {
        let done = git()
            .command(Config::Isolated, arguments[0])
            .config("user.name=A")
            .config("user.email=a@example.com")
            .inside(dir)
            .args(&arguments[1..])
            .run(&Limits::SHORT);
        done.unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    }

    impl Place {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(home.path()).unwrap().join("work");
            fs::create_dir(&root).unwrap();
            run(&root, &["init", "--quiet", "--initial-branch=main"]);
            fs::write(root.join("a.txt"), "a\n").unwrap();
            run(&root, &["add", "a.txt"]);
            run(&root, &["commit", "--quiet", "-m", "one"]);
            let checkout = Checkout::around(git(), &root).unwrap().unwrap();
            Self {
                _home: home,
                checkout,
            }
        }

        fn add(&self, role: &str) -> Worktree {
            let path = self.checkout.root().join(".guildhall/worktrees").join(role);
            self.checkout.add(&path, &format!("app-1/{role}")).unwrap()
        }

        fn left(&self, worktree: &Worktree) -> Left {
            self.checkout.left(worktree, "app-1/").unwrap()
        }
    }

    #[test]
    fn a_checkout_is_found_from_inside_and_from_a_linked_tree() {
        let place = Place::new();
        let root = place.checkout.root().to_owned();
        let ai = place.add("ai");
        for dir in [&root, &ai.path] {
            let found = Checkout::around(git(), dir).unwrap().unwrap();
            assert_eq!(found.root(), root);
        }
        assert_eq!(place.checkout.branch().unwrap().as_deref(), Some("main"));
        assert!(place.checkout.has_commit().unwrap());
        let outside = tempfile::tempdir().unwrap();
        assert!(Checkout::around(git(), outside.path()).unwrap().is_none());
    }

    #[test]
    fn a_tree_without_work_leaves_nothing_and_goes_with_its_branch() {
        let place = Place::new();
        let ai = place.add("ai");
        assert_eq!(fs::read_to_string(ai.path.join("a.txt")).unwrap(), "a\n");
        assert!(place.left(&ai).is_nothing());
        place.checkout.remove(&ai).unwrap();
        assert!(!ai.path.exists());
        assert!(!place.checkout.has_branch("app-1/ai").unwrap());
        place.add("ai");
    }

    #[test]
    fn what_is_not_committed_or_not_merged_is_told() {
        let place = Place::new();
        let (ai, sec) = (place.add("ai"), place.add("sec"));
        fs::write(ai.path.join("new file.txt"), "new\n").unwrap();
        fs::write(ai.path.join("a.txt"), "changed\n").unwrap();
        let left = place.left(&ai);
        assert_eq!(left.uncommitted, ["a.txt", "new file.txt"]);
        run(&ai.path, &["add", "."]);
        run(&ai.path, &["commit", "--quiet", "-m", "two"]);
        let left = place.left(&ai);
        assert_eq!((left.uncommitted.len(), left.unmerged), (0, 1));
        // A sibling has it too, and goes with it.
        run(&sec.path, &["merge", "--quiet", "app-1/ai"]);
        assert_eq!(place.left(&ai).unmerged, 1);
        run(place.checkout.root(), &["merge", "--quiet", "app-1/ai"]);
        assert!(place.left(&ai).is_nothing() && place.left(&sec).is_nothing());
    }

    #[test]
    fn a_tree_that_is_gone_can_still_be_removed_and_a_taken_branch_is_refused() {
        let place = Place::new();
        let ai = place.add("ai");
        fs::remove_dir_all(&ai.path).unwrap();
        assert!(place.left(&ai).is_nothing());
        place.checkout.remove(&ai).unwrap();
        assert!(!place.checkout.has_branch(&ai.branch).unwrap());
        run(place.checkout.root(), &["branch", "app-1/ai"]);
        let path = place.checkout.root().join("elsewhere");
        assert!(place.checkout.add(&path, "app-1/ai").is_err());
        assert!(!path.exists());
    }

    #[test]
    fn no_hook_of_the_checkout_is_run() {
        let place = Place::new();
        let hook = place.checkout.root().join(".git/hooks/post-checkout");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\ntouch \"$HOME/../ran\" ran\n").unwrap();
        let made = Command::new("chmod")
            .arg("755")
            .arg(&hook)
            .status()
            .unwrap();
        assert!(made.success());
        let ai = place.add("ai");
        assert!(!ai.path.join("ran").exists());
    }
}
