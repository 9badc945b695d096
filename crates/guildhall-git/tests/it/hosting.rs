//! Hosted repositories: taken in, kept in step, sent home and served.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use guildhall_core::RepoName;
use guildhall_git::{Environment, Git, GitError, Hosted, Hosting, LogRequest, Source};
use tokio::io::AsyncReadExt as _;

use crate::agreement::lines_of;
use crate::script::{git, plain_git};

/// A place for origins and for the hosted repositories.
struct World {
    dir: tempfile::TempDir,
    hosting: Hosting,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let found = Git::find(Environment::of_this_process()).unwrap();
        let hosting = Hosting::new(found, dir.path().join("hosted"));
        Self { dir, hosting }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A checkout with one commit on `branch`.
    fn origin(&self, branch: &str) -> PathBuf {
        let dir = self.path("origin");
        fs::create_dir(&dir).unwrap();
        git(&dir, ["init", "--quiet", "-b", branch]);
        commit(&dir, "first");
        dir
    }

    fn take_in(&self, origin: &Path) -> Hosted {
        self.hosting
            .create(&name(), &Source::path(origin).unwrap())
            .unwrap()
    }
}

fn name() -> RepoName {
    RepoName::parse("acme/web").unwrap()
}

fn commit(dir: &Path, message: &str) -> String {
    fs::write(dir.join("file"), message).unwrap();
    git(dir, ["add", "file"]);
    git(dir, ["commit", "--quiet", "-m", message]);
    head(dir)
}

fn head(dir: &Path) -> String {
    lines_of(&git(dir, ["rev-parse", "HEAD"])).remove(0)
}

fn messages(hosted: &Hosted) -> Vec<String> {
    let log = hosted.repository().log(&LogRequest::default()).unwrap();
    log.commits
        .into_iter()
        .map(|commit| commit.message.trim().to_owned())
        .collect()
}

/// Commits on the hosted default branch, as landed work does.
fn land(hosted: &Hosted, message: &str) -> String {
    let dir = hosted.repository().dir();
    let new = lines_of(&git(
        dir,
        ["commit-tree", "-p", "HEAD", "-m", message, "HEAD^{tree}"],
    ))
    .remove(0);
    let old = hosted.repository().tip().unwrap();
    hosted
        .move_default_branch(old, hosted.repository().resolve(&new).unwrap())
        .unwrap();
    new
}

#[test]
fn a_repository_is_taken_in_with_its_branches_tags_and_default_branch() {
    let world = World::new();
    let origin = world.origin("trunk");
    git(&origin, ["branch", "topic/a"]);
    git(&origin, ["tag", "v1"]);
    let hosted = world.take_in(&origin);
    assert_eq!(
        hosted.repository().default_branch().unwrap().as_deref(),
        Some("trunk")
    );
    for rev in ["trunk", "topic/a", "v1"] {
        assert_eq!(
            hosted.repository().resolve(rev).unwrap().to_string(),
            head(&origin)
        );
    }
    let again = world
        .hosting
        .create(&name(), &Source::path(&origin).unwrap());
    assert!(matches!(again, Err(GitError::BadArgument(_))), "{again:?}");
    world.hosting.remove(&name()).unwrap();
    assert!(matches!(
        world.hosting.open(&name()),
        Err(GitError::NotARepository { .. })
    ));
}

#[test]
fn a_detached_head_becomes_main_and_an_empty_origin_stays_empty() {
    let world = World::new();
    let origin = world.origin("trunk");
    git(&origin, ["checkout", "--quiet", "--detach"]);
    let detached = commit(&origin, "second");
    let hosted = world.take_in(&origin);
    assert_eq!(
        hosted.repository().default_branch().unwrap().as_deref(),
        Some("main")
    );
    assert_eq!(
        hosted.repository().resolve("main").unwrap().to_string(),
        detached
    );
    let empty = world.path("empty");
    fs::create_dir(&empty).unwrap();
    git(&empty, ["init", "--quiet"]);
    let none = RepoName::parse("acme/empty").unwrap();
    let hosted = world
        .hosting
        .create(&none, &Source::path(&empty).unwrap())
        .unwrap();
    assert_eq!(hosted.repository().tip().unwrap(), None);
    assert_eq!(messages(&hosted), Vec::<String>::new());
    assert_eq!(hosted.sync().unwrap().behind, 0);
}

#[test]
fn syncing_moves_forward_and_leaves_what_diverged() {
    let world = World::new();
    let origin = world.origin("main");
    let hosted = world.take_in(&origin);
    git(&origin, ["branch", "topic"]);
    let second = commit(&origin, "second");
    let standing = hosted.sync().unwrap();
    assert_eq!(
        (standing.ahead, standing.behind, standing.head),
        (0, 0, Some(second.clone()))
    );
    assert_eq!(messages(&hosted), ["first", "second"]);
    assert!(hosted.repository().resolve("topic").is_ok());

    git(&origin, ["branch", "-D", "topic"]);
    git(&origin, ["branch", "topic/below"]);
    let landed = land(&hosted, "landed");
    let standing = hosted.sync().unwrap();
    assert_eq!((standing.ahead, standing.behind), (1, 0));
    assert!(hosted.repository().resolve("topic").is_err());
    assert!(hosted.repository().resolve("topic/below").is_ok());

    commit(&origin, "third");
    let standing = hosted.sync().unwrap();
    assert!(standing.has_diverged());
    assert_eq!(
        (standing.ahead, standing.behind, standing.head),
        (1, 1, Some(landed))
    );
    let refused = hosted.push().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`main` is 1 ahead and 1 behind its origin; sync first"
    );
    assert_eq!(hosted.standing().unwrap().behind, 1);
}

#[test]
fn landed_work_is_pushed_home_forward_only() {
    let world = World::new();
    let origin = world.origin("main");
    let bare = world.path("bare.git");
    git(
        world.dir.path(),
        ["clone", "--quiet", "--bare", "origin", "bare.git"],
    );
    let hosted = world.take_in(&bare);
    assert_eq!(hosted.push().unwrap().ahead, 0);
    let landed = land(&hosted, "landed");
    assert_eq!(hosted.standing().unwrap().ahead, 1);
    assert_eq!(hosted.push().unwrap().ahead, 1);
    assert_eq!(head(&bare), landed);
    assert_eq!(hosted.standing().unwrap().ahead, 0);
    // A branch that somebody has checked out is theirs.
    drop(hosted);
    world.hosting.remove(&name()).unwrap();
    let hosted = world.take_in(&origin);
    let before = head(&origin);
    land(&hosted, "landed");
    let refused = hosted.push().unwrap_err().to_string();
    assert!(refused.contains("checked out"), "{refused}");
    assert_eq!(head(&origin), before);
}

#[test]
fn the_default_branch_moves_only_from_where_it_was_seen() {
    let world = World::new();
    let origin = world.origin("main");
    let hosted = world.take_in(&origin);
    let seen = hosted.repository().tip().unwrap();
    let landed = land(&hosted, "landed");
    let stale = hosted.move_default_branch(seen, seen.unwrap());
    assert!(stale.is_err());
    assert_eq!(
        hosted.repository().resolve("main").unwrap().to_string(),
        landed
    );
    assert!(hosted.move_default_branch(None, seen.unwrap()).is_err());
}

/// Settings and files of a repository that would each run `touch owned`, follow another repository or change what is shown.
fn make_hostile(git_dir: &Path, owned: &Path) {
    let script = git_dir.join("evil.sh");
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}\ncat\n", owned.display()),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let run = script.display();
    let hooks = git_dir.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-receive",
        "update",
        "post-receive",
        "post-update",
        "reference-transaction",
        "post-checkout",
        "pre-push",
        "proc-receive",
        "push-to-checkout",
    ] {
        fs::copy(&script, hooks.join(hook)).unwrap();
    }
    let mut config = fs::read_to_string(git_dir.join("config")).unwrap();
    let hostile = format!(
        "[core]\n\tfsmonitor = {run}\n\thooksPath = {hooks}\n\tsshCommand = {run}\n\tgitProxy = {run}\n\taskPass = {run}\n\tpager = {run}\n\
         \talternateRefsCommand = {run}\n\tattributesFile = {attributes}\n\
         [diff]\n\texternal = {run}\n[diff \"x\"]\n\ttextconv = {run}\n\tcommand = {run}\n\
         [filter \"x\"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n\trequired = true\n\
         [uploadpack]\n\tpackObjectsHook = {run}\n[receive]\n\tdenyCurrentBranch = updateInstead\n\
         [credential]\n\thelper = \"!{run}\"\n[gpg]\n\tprogram = {run}\n[alias]\n\tfetch = \"!{run}\"\n\
         [protocol]\n\tallow = always\n[remote \"origin\"]\n\turl = \"ext::{run}\"\n\tuploadpack = {run}\n\treceivepack = {run}\n\
         [url \"ext::{run}\"]\n\tinsteadOf = /\n[include]\n\tpath = more\n",
        hooks = hooks.display(),
        attributes = git_dir.join("attributes").display(),
    );
    config.push_str(&hostile);
    fs::write(git_dir.join("config"), config).unwrap();
    fs::write(
        git_dir.join("more"),
        format!("[core]\n\tfsmonitor = {run}\n"),
    )
    .unwrap();
    fs::create_dir_all(git_dir.join("info")).unwrap();
    for path in ["info/attributes", "attributes"] {
        fs::write(git_dir.join(path), "* diff=x filter=x -text binary\n").unwrap();
    }
}

#[test]
fn a_hostile_source_runs_nothing_when_taken_in_synced_or_pushed_to() {
    let world = World::new();
    let origin = world.origin("main");
    fs::write(origin.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    git(&origin, ["add", ".gitattributes"]);
    commit(&origin, "second");
    git(&origin, ["branch", "other"]);
    git(&origin, ["checkout", "--quiet", "other"]);
    let owned = world.path("owned");
    make_hostile(&origin.join(".git"), &owned);
    let hosted = world.take_in(&origin);
    let landed = land(&hosted, "landed");
    hosted.sync().unwrap();
    let refused = hosted.push().unwrap_err().to_string();
    assert!(refused.contains("checked out"), "{refused}");
    let diff = hosted
        .repository()
        .diff(&guildhall_git::DiffRequest::of("main"))
        .unwrap();
    assert!(diff.files.iter().all(|file| !file.binary));
    // A branch that is not checked out can be pushed to; no hook hears of it.
    git(
        hosted.repository().dir(),
        ["update-ref", "refs/heads/main", &landed],
    );
    git(
        hosted.repository().dir(),
        ["symbolic-ref", "HEAD", "refs/heads/main"],
    );
    assert_eq!(hosted.push().unwrap().ahead, 1);
    assert!(!owned.exists());
    // The settings do run where nothing forbids it, so the test means something.
    let _ = plain_git(&origin).arg("status").output();
    assert!(owned.exists());
}

#[test]
fn a_submodule_is_not_fetched() {
    let world = World::new();
    let origin = world.origin("main");
    let (owned, other) = (world.path("owned"), world.path("other"));
    fs::create_dir(&other).unwrap();
    git(&other, ["init", "--quiet"]);
    let inner = commit(&other, "inner");
    let run = format!("ext::sh -c touch% {}", owned.display());
    let addresses = [&*run, "-u./evil.sh", other.to_str().unwrap()];
    let modules: Vec<String> = addresses
        .iter()
        .enumerate()
        .map(|(n, url)| format!("[submodule \"m{n}\"]\n\tpath = m{n}\n\turl = {url}\n"))
        .collect();
    fs::write(origin.join(".gitmodules"), modules.concat()).unwrap();
    git(&origin, ["add", ".gitmodules"]);
    for n in 0..addresses.len() {
        let entry = format!("160000,{inner},m{n}");
        git(&origin, ["update-index", "--add", "--cacheinfo", &entry]);
    }
    git(&origin, ["commit", "--quiet", "-m", "with modules"]);
    // As they are once somebody has worked in them.
    for (n, url) in addresses.iter().enumerate() {
        let key = format!("submodule.m{n}.url");
        git(&origin, ["config", &key, url]);
    }
    git(&origin, ["config", "fetch.recurseSubmodules", "true"]);
    git(&origin, ["config", "submodule.recurse", "true"]);
    let hosted = world.take_in(&origin);
    commit(&origin, "more");
    hosted.sync().unwrap();
    assert!(!owned.exists());
    assert!(!hosted.repository().dir().join("modules").exists());
    assert!(hosted.repository().commit(&inner).is_err());
}

#[test]
fn what_is_planted_in_a_hosted_repository_is_undone_when_it_is_opened() {
    let world = World::new();
    let origin = world.origin("main");
    commit(&origin, "second");
    let hosted = world.take_in(&origin);
    let dir = hosted.repository().dir().to_owned();
    let before = fs::read_to_string(dir.join("config")).unwrap();
    let owned = world.path("owned");
    make_hostile(&dir, &owned);
    // Even before that, reading takes nothing from it.
    let diff = hosted
        .repository()
        .diff(&guildhall_git::DiffRequest::of("main"))
        .unwrap();
    assert_eq!(
        (diff.files[0].binary, diff.files[0].hunks.len()),
        (false, 1)
    );
    hosted.standing().unwrap();
    drop(hosted);
    let hosted = world.hosting.open(&name()).unwrap();
    assert_eq!(fs::read_to_string(dir.join("config")).unwrap(), before);
    assert!(!dir.join("info/attributes").exists());
    land(&hosted, "landed");
    hosted.sync().unwrap();
    assert!(hosted.advertise_refs(None).unwrap().ends_with(b"0000"));
    assert!(!owned.exists());
}

#[test]
fn a_repository_that_borrows_objects_is_neither_taken_in_nor_opened() {
    let world = World::new();
    let origin = world.origin("main");
    git(
        world.dir.path(),
        ["clone", "--quiet", "--shared", "origin", "borrower"],
    );
    let source = Source::path(&world.path("borrower")).unwrap();
    let refused = world.hosting.create(&name(), &source);
    assert!(
        matches!(refused, Err(GitError::Alternates { .. })),
        "{refused:?}"
    );
    let hosted = world.take_in(&origin);
    let info = hosted.repository().dir().join("objects/info");
    fs::create_dir_all(&info).unwrap();
    std::os::unix::fs::symlink("/dev/null", info.join("alternates")).unwrap();
    assert!(matches!(
        world.hosting.open(&name()),
        Err(GitError::Alternates { .. })
    ));
}

#[test]
fn only_the_exact_name_opens_a_repository() {
    let world = World::new();
    let origin = world.origin("main");
    world.take_in(&origin);
    for other in ["Acme/web", "acme/Web", "acme/webs", "acme/we"] {
        let opened = world.hosting.open(&RepoName::parse(other).unwrap());
        assert!(
            matches!(opened, Err(GitError::NotARepository { .. })),
            "{other}"
        );
    }
}

#[test]
fn nothing_is_left_of_a_source_that_cannot_be_fetched() {
    let world = World::new();
    let not_a_repository = world.path("plain");
    fs::create_dir(&not_a_repository).unwrap();
    assert!(
        world
            .hosting
            .create(&name(), &Source::path(&not_a_repository).unwrap())
            .is_err()
    );
    let refused = world
        .hosting
        .create(&name(), &Source::url("http://127.0.0.1:1/x.git").unwrap())
        .unwrap_err();
    assert!(matches!(refused, GitError::Failed { .. }), "{refused}");
    let left = fs::read_dir(world.path("hosted/acme")).unwrap().count();
    assert_eq!(left, 0);
}

/// A request of git's protocol, version 2, as a client sends it.
/// Contents of blobs that git counts when it asks whether there are many loose objects.
fn counted_blobs() -> impl Iterator<Item = String> {
    (0..).map(|n| format!("loose {n}\n")).filter(|text| {
        let kinds = (gix::hash::Kind::Sha1, gix::objs::Kind::Blob);
        let id = gix::objs::compute_hash(kinds.0, kinds.1, text.as_bytes()).unwrap();
        id.to_string().starts_with("17")
    })
}

fn packs(hosted: &Hosted) -> usize {
    let listed = fs::read_dir(hosted.repository().dir().join("objects/pack")).unwrap();
    let paths = listed.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "pack"))
        .count()
}

#[test]
fn many_packs_are_joined_and_nothing_is_lost() {
    let world = World::new();
    let hosted = world.take_in(&world.origin("main"));
    let dir = hosted.repository().dir();
    assert!(!hosted.is_scattered().unwrap());
    let unreached = lines_of(&git(dir, ["commit-tree", "-m", "no branch", "HEAD^{tree}"]));
    for n in 0..50 {
        land(&hosted, &format!("landed {n}"));
        git(dir, ["repack", "-d", "-q"]);
    }
    // What is open keeps reading while its packs are replaced.
    assert_eq!(messages(&hosted).len(), 51);
    assert!(packs(&hosted) >= 50 && hosted.is_scattered().unwrap());
    let turn = hosted.turn().unwrap();
    hosted.pack_up().unwrap();
    drop(turn);
    assert!(packs(&hosted) < 10 && !hosted.is_scattered().unwrap());
    assert_eq!(messages(&hosted).len(), 51);
    let kinds = git(dir, ["cat-file", "-t", &unreached[0]]);
    assert_eq!(lines_of(&kinds), ["commit"]);
    git(dir, ["fsck", "--strict"]);
}

#[test]
fn many_loose_objects_are_packed() {
    let world = World::new();
    let hosted = world.take_in(&world.origin("main"));
    let dir = hosted.repository().dir();
    let files: Vec<_> = (0..27).map(|n| world.path(&format!("loose{n}"))).collect();
    for (file, text) in files.iter().zip(counted_blobs()) {
        assert!(!hosted.is_scattered().unwrap());
        fs::write(file, text).unwrap();
        let path = file.to_str().unwrap();
        git(dir, ["hash-object", "-w", "--no-filters", path]);
    }
    assert!(hosted.is_scattered().unwrap());
    hosted.pack_up().unwrap();
    assert!(!hosted.is_scattered().unwrap());
    for text in counted_blobs().take(27) {
        let kinds = (gix::hash::Kind::Sha1, gix::objs::Kind::Blob);
        let id = gix::objs::compute_hash(kinds.0, kinds.1, text.as_bytes()).unwrap();
        git(dir, ["cat-file", "-e", &id.to_string()]);
    }
}

fn pkt(line: &str) -> String {
    format!("{:04x}{line}\n", line.len() + 5)
}

#[tokio::test]
async fn a_clone_is_served_with_heads_and_tags_alone() {
    let world = World::new();
    let origin = world.origin("main");
    git(&origin, ["tag", "v1"]);
    let hosted = world.take_in(&origin);
    let tip = head(&origin);
    let refs = String::from_utf8(hosted.advertise_refs(None).unwrap()).unwrap();
    assert!(
        refs.starts_with("001e# service=git-upload-pack\n0000"),
        "{refs}"
    );
    assert!(refs.contains(&format!("{tip} refs/heads/main")) && refs.contains("refs/tags/v1"));
    assert!(!refs.contains("refs/remotes"), "{refs}");
    let capabilities =
        String::from_utf8(hosted.advertise_refs(Some("version=2")).unwrap()).unwrap();
    assert!(
        capabilities.starts_with("000eversion 2\n"),
        "{capabilities}"
    );
    // A header that is no version is no version.
    assert_eq!(
        hosted.advertise_refs(Some("version=2:$(touch x)")).unwrap(),
        refs.as_bytes()
    );

    let request = [
        &pkt("command=fetch"),
        "0001",
        &pkt(&format!("want {tip}")),
        &pkt("no-progress"),
        &pkt("done"),
        "0000",
    ]
    .concat();
    let mut answer = Vec::new();
    let mut stream = hosted
        .upload_pack(
            Some("version=2"),
            std::io::Cursor::new(request.into_bytes()),
        )
        .unwrap();
    stream.read_to_end(&mut answer).await.unwrap();
    let starts_pack = answer.windows(4).any(|bytes| bytes == b"PACK");
    assert!(
        answer.starts_with(b"000dpackfile\n") && starts_pack,
        "{}",
        String::from_utf8_lossy(&answer)
    );
}

#[tokio::test]
async fn objects_that_no_branch_or_tag_reaches_are_not_served() {
    let world = World::new();
    let origin = world.origin("main");
    let hosted = world.take_in(&origin);
    let dir = hosted.repository().dir();
    let hidden = lines_of(&git(
        dir,
        ["commit-tree", "-m", "unreviewed", "HEAD^{tree}"],
    ))
    .remove(0);
    let request = [
        &pkt(&format!("want {hidden} no-progress")),
        "0000",
        &pkt("done"),
    ]
    .concat();
    let mut answer = Vec::new();
    let mut stream = hosted
        .upload_pack(None, std::io::Cursor::new(request.into_bytes()))
        .unwrap();
    stream.read_to_end(&mut answer).await.unwrap();
    let text = String::from_utf8_lossy(&answer);
    assert!(
        text.contains("not our ref") && !text.contains("PACK"),
        "{text}"
    );
}

#[test]
fn a_partial_clone_is_not_completed_through_what_its_settings_name() {
    let world = World::new();
    let origin = world.origin("main");
    let owned = world.path("owned");
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = evil\n[remote \"evil\"]\n\tpromisor = true\n\turl = \"ext::touch {}\"\n[protocol]\n\tallow = always\n",
        owned.display()
    );
    let path = origin.join(".git/config");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, before + &config).unwrap();
    let blob = lines_of(&git(&origin, ["rev-parse", "HEAD:file"])).remove(0);
    fs::remove_file(
        origin
            .join(".git/objects")
            .join(&blob[..2])
            .join(&blob[2..]),
    )
    .unwrap();
    let taken = world
        .hosting
        .create(&name(), &Source::path(&origin).unwrap());
    assert!(taken.is_err());
    assert!(!owned.exists());
    // The setting does run where nothing forbids it, so the test means something.
    let _ = plain_git(&origin).args(["cat-file", "-e", &blob]).output();
    assert!(owned.exists());
}
