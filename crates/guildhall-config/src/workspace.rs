//! Where the settings and the state are.

use std::path::{Path, PathBuf};

use crate::{Env, env_vars};

/// The name of the settings file.
const WORKFLOW: &str = "WORKFLOW.md";
/// The folder that Guildhall makes in a workspace.
const OWN_FOLDER: &str = ".guildhall";

/// A folder with its settings file and its state.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Workspace {
    /// The folder; absolute, with links resolved where it exists.
    pub root: PathBuf,
    /// Where the server keeps its state: `<root>/.guildhall/state` unless somebody named another.
    pub state_dir: PathBuf,
    /// The settings file, which may not exist.
    pub workflow: PathBuf,
    /// Whether somebody named that file, so that it must exist.
    pub workflow_named: bool,
}

impl Workspace {
    /// The workspace of somebody who works in `cwd`: `dir` where one was given, else the nearest ancestor that holds
    /// `WORKFLOW.md` or `.guildhall/`, else `cwd` itself.
    ///
    /// In a git worktree the ancestors are those of the same place in the repository's main checkout, so that all
    /// worktrees of a repository share one workspace. Git itself is not run.
    pub fn find(dir: Option<&Path>, cwd: &Path) -> Self {
        let root = match dir {
            Some(dir) => cwd.join(dir),
            None => holder(cwd).unwrap_or_else(|| cwd.to_owned()),
        };
        Self::at(&root)
    }

    fn at(root: &Path) -> Self {
        let root = canonical(root);
        Self {
            state_dir: root.join(OWN_FOLDER).join("state"),
            workflow: root.join(WORKFLOW),
            workflow_named: false,
            root,
        }
    }

    /// Applies what was said about the state's folder and the settings file: by an argument, else by
    /// [`env_vars::GUILDHALL_DATA_DIR`], and [`env_vars::GUILDHALL_WORKFLOW`] or [`env_vars::LORENZ_WORKFLOW`].
    /// Relative paths begin at `cwd`.
    #[must_use]
    pub fn with_overrides(
        mut self,
        data_dir: Option<&Path>,
        workflow: Option<&Path>,
        cwd: &Path,
        env: Env<'_>,
    ) -> Self {
        let variable = |name: &str| {
            let value = env(name).filter(|value| !value.trim().is_empty());
            value.map(PathBuf::from)
        };
        let data_dir = data_dir
            .map(Path::to_owned)
            .or_else(|| variable(env_vars::GUILDHALL_DATA_DIR));
        if let Some(data_dir) = data_dir {
            self.state_dir = canonical(&cwd.join(data_dir));
        }
        let workflow = workflow
            .map(Path::to_owned)
            .or_else(|| variable(env_vars::GUILDHALL_WORKFLOW))
            .or_else(|| variable(env_vars::LORENZ_WORKFLOW));
        if let Some(workflow) = workflow {
            self.workflow = cwd.join(workflow);
            self.workflow_named = true;
        }
        self
    }

    /// Where relative paths in the settings begin: the folder of the settings file.
    pub fn base(&self) -> &Path {
        self.workflow.parent().unwrap_or(&self.root)
    }
}

fn canonical(path: &Path) -> PathBuf {
    std::fs::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
}

fn holder(cwd: &Path) -> Option<PathBuf> {
    let start = in_main_checkout(cwd).unwrap_or_else(|| cwd.to_owned());
    start
        .ancestors()
        .find(|folder| folder.join(WORKFLOW).is_file() || folder.join(OWN_FOLDER).is_dir())
        .map(Path::to_owned)
}

/// The place in the main checkout that `cwd`, which is inside a git worktree, corresponds to. `None` outside one.
fn in_main_checkout(cwd: &Path) -> Option<PathBuf> {
    let cwd = std::fs::canonicalize(cwd).ok()?;
    let top = cwd
        .ancestors()
        .find(|folder| folder.join(".git").exists())?;
    let git_dir = top.join(named_path(&top.join(".git"), "gitdir:")?);
    // Only worktrees have it: a submodule's `.git` file leads to a repository of its own.
    let common_dir = git_dir.join(named_path(&git_dir.join("commondir"), "")?);
    let common_dir = std::fs::canonicalize(common_dir).ok()?;
    // A bare repository has no main checkout.
    if common_dir.file_name()? != ".git" {
        return None;
    }
    Some(common_dir.parent()?.join(cwd.strip_prefix(top).ok()?))
}

/// The path that a small file of git's names after `prefix`.
fn named_path(file: &Path, prefix: &str) -> Option<PathBuf> {
    /// Longer than any path.
    const LONGEST: u64 = 64 << 10;
    let metadata = std::fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return None;
    }
    let text = std::fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(prefix)?.trim();
    (!path.is_empty()).then(|| PathBuf::from(path))
}
