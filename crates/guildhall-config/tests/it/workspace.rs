//! Finding the workspace.

use std::path::Path;

use guildhall_config::Workspace;

use crate::{Folder, env};

fn root(folder: &Folder, cwd: &str) -> String {
    let top = folder.workspace().root;
    let found = Workspace::find(None, &folder.path().join(cwd)).root;
    found.strip_prefix(top).unwrap().display().to_string()
}

#[test]
fn a_given_folder_is_the_workspace_whatever_it_holds() {
    let folder = Folder::with("");
    folder.write("a/b/x", "");
    let found = Workspace::find(Some(Path::new("b")), &folder.path().join("a"));
    let expected = folder.workspace().root.join("a/b");
    assert_eq!(found.root, expected);
    assert_eq!(found.state_dir, expected.join(".guildhall/state"));
    assert_eq!(found.workflow, expected.join("WORKFLOW.md"));
}

#[test]
fn the_nearest_ancestor_with_a_mark_is_the_workspace() {
    let folder = Folder::empty();
    folder.write("a/WORKFLOW.md", "");
    folder.write("a/b/c/x", "");
    folder.write("d/.guildhall/state/x", "");
    folder.write("d/e/x", "");
    // Neither a folder called WORKFLOW.md nor a file called .guildhall is a mark.
    folder.write("a/b/WORKFLOW.md/x", "");
    folder.write("d/e/.guildhall", "");
    assert_eq!(root(&folder, "a/b/c"), "a");
    assert_eq!(root(&folder, "a"), "a");
    assert_eq!(root(&folder, "d/e"), "d");
    folder.write("a/b/.guildhall/x", "");
    assert_eq!(root(&folder, "a/b/c"), "a/b");
}

#[test]
fn without_a_mark_the_working_folder_is_the_workspace() {
    let folder = Folder::empty();
    folder.write("a/b/x", "");
    assert_eq!(root(&folder, "a/b"), "a/b");
}

/// The files that `git worktree add` writes, without git: `main` is the checkout, `tree` its worktree.
fn worktree(folder: &Folder) {
    folder.write("main/.git/HEAD", "ref: refs/heads/main\n");
    folder.write("main/.git/worktrees/tree/commondir", "../..\n");
    let git_dir = folder.path().join("main/.git/worktrees/tree");
    folder.write("tree/.git", &format!("gitdir: {}\n", git_dir.display()));
    folder.write("tree/src/x", "");
    folder.write("main/src/x", "");
}

#[test]
fn a_git_worktree_shares_the_workspace_of_its_main_checkout() {
    let folder = Folder::empty();
    worktree(&folder);
    // The worktree has a copy of the settings, for they are in the repository.
    folder.write("main/WORKFLOW.md", "");
    folder.write("tree/WORKFLOW.md", "");
    assert_eq!(root(&folder, "tree/src"), "main");
    assert_eq!(root(&folder, "tree"), "main");
    assert_eq!(root(&folder, "main/src"), "main");
    // The same place in the main checkout is where the search begins, and it goes on above it.
    folder.write("main/src/WORKFLOW.md", "");
    assert_eq!(root(&folder, "tree/src"), "main/src");
}

#[test]
fn the_mark_may_stand_above_the_main_checkout() {
    let folder = Folder::empty();
    folder.write("group/.guildhall/x", "");
    folder.write("group/main/.git/worktrees/tree/commondir", "../..\n");
    // A relative path counts from the worktree, as git writes it with relative links switched on.
    folder.write("tree/.git", "gitdir: ../group/main/.git/worktrees/tree\n");
    assert_eq!(root(&folder, "tree"), "group");
}

#[test]
fn a_worktree_without_any_mark_is_its_own_workspace() {
    let folder = Folder::empty();
    worktree(&folder);
    assert_eq!(root(&folder, "tree/src"), "tree/src");
}

#[test]
fn a_submodule_is_no_worktree() {
    let folder = Folder::empty();
    folder.write("main/.git/modules/sub/HEAD", "ref: refs/heads/main\n");
    folder.write("main/sub/.git", "gitdir: ../.git/modules/sub\n");
    folder.write("main/sub/WORKFLOW.md", "");
    folder.write("main/WORKFLOW.md", "");
    assert_eq!(root(&folder, "main/sub"), "main/sub");
}

#[test]
fn a_worktree_of_a_bare_repository_or_with_a_broken_link_is_an_ordinary_folder() {
    let folder = Folder::empty();
    folder.write("bare.git/worktrees/tree/commondir", "../..\n");
    folder.write("tree/.git", "gitdir: ../bare.git/worktrees/tree\n");
    folder.write("tree/WORKFLOW.md", "");
    assert_eq!(root(&folder, "tree"), "tree");
    folder.write("broken/.git", "gitdir: ../nowhere\n");
    folder.write("broken/WORKFLOW.md", "");
    assert_eq!(root(&folder, "broken"), "broken");
    folder.write("broken/.git", "");
    assert_eq!(root(&folder, "broken"), "broken");
}

#[test]
fn arguments_go_before_variables_and_ours_before_the_originals() {
    let folder = Folder::empty();
    let cwd = folder.workspace().root;
    let variables = env(&[
        ("GUILDHALL_DATA_DIR", "data"),
        ("GUILDHALL_WORKFLOW", "ours.md"),
        ("LORENZ_WORKFLOW", "theirs.md"),
    ]);
    let workspace = folder.workspace();
    let by_variable = workspace
        .clone()
        .with_overrides(None, None, &cwd, &variables);
    assert_eq!(by_variable.state_dir, cwd.join("data"));
    assert_eq!(by_variable.workflow, cwd.join("ours.md"));
    assert!(by_variable.workflow_named);

    let by_argument = workspace.clone().with_overrides(
        Some(Path::new("/var/lib/guildhall")),
        Some(Path::new("mine.md")),
        &cwd,
        &variables,
    );
    assert_eq!(by_argument.state_dir, Path::new("/var/lib/guildhall"));
    assert_eq!(by_argument.workflow, cwd.join("mine.md"));

    let theirs = env(&[("LORENZ_WORKFLOW", "theirs.md"), ("GUILDHALL_WORKFLOW", "")]);
    let theirs = workspace.clone().with_overrides(None, None, &cwd, &theirs);
    assert_eq!(theirs.workflow, cwd.join("theirs.md"));

    assert_eq!(
        workspace
            .clone()
            .with_overrides(None, None, &cwd, &|_| None),
        workspace
    );
}
