use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn git() -> Git {
    Git::find(Environment::of_this_process()).unwrap()
}

#[test]
fn versions_are_read_as_distributions_print_them() {
    for (text, expected) in [
        ("git version 2.47.3\n", Some(Version(2, 47, 3))),
        (
            "git version 2.39.5 (Apple Git-154)",
            Some(Version(2, 39, 5)),
        ),
        ("git version 2.45.1.windows.1", Some(Version(2, 45, 1))),
        ("git version 2.50", Some(Version(2, 50, 0))),
        ("git version 2.52.0-rc1", Some(Version(2, 52, 0))),
        ("hub version 2", None),
        ("", None),
    ] {
        assert_eq!(Version::parse(text), expected, "{text}");
    }
    assert!(Version(2, 9, 0) < Version::MINIMUM && Version(3, 0, 0) > Version::MINIMUM);
}

/// A directory that holds a `git` made of `script`.
fn fake_git(script: &str) -> (tempfile::TempDir, Environment) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("git");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.path().display());
    let environment = [("PATH".into(), path.into())].into_iter().collect();
    (dir, environment)
}

#[test]
fn an_old_git_is_refused_by_its_version() {
    let (_dir, environment) = fake_git("echo git version 2.25.1");
    let refused = Git::find(environment).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "git 2.25.1 is too old; install git 2.32.0 or newer"
    );
}

#[test]
fn a_missing_git_is_said_to_be_missing() {
    let environment = [("PATH".into(), "/nonexistent".into())]
        .into_iter()
        .collect();
    assert!(matches!(
        Git::find(environment),
        Err(GitError::NotInstalled(_))
    ));
}

#[test]
fn a_process_sees_nothing_of_this_process_but_what_is_passed() {
    let dir = tempfile::tempdir().unwrap();
    let environment = Environment::of_this_process();
    let mut given = environment.0.clone();
    given.extend([
        ("GIT_DIR".into(), "/etc".into()),
        ("GIT_EXTERNAL_DIFF".into(), "touch /tmp/owned".into()),
        ("HOME".into(), dir.path().into()),
        ("GUILDHALL_TOKEN".into(), "canary".into()),
    ]);
    let git = Git::find(given.into_iter().collect()).unwrap();
    fs::write(dir.path().join("config"), "[alias]\n\tseen = !env\n").unwrap();
    fs::write(dir.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
    for name in ["objects", "refs"] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    let isolated = git
        .command(Config::Isolated, "seen")
        .inside(dir.path())
        .run(&Limits::SHORT)
        .unwrap();
    let isolated = String::from_utf8(isolated).unwrap();
    for absent in ["canary", "GIT_EXTERNAL_DIFF", "GIT_DIR=/etc"] {
        assert!(!isolated.contains(absent), "{absent} in {isolated}");
    }
    assert!(isolated.contains("GIT_CONFIG_NOSYSTEM=1"), "{isolated}");
    assert!(isolated.contains("HOME=/nonexistent"), "{isolated}");
}

#[test]
fn a_process_that_hangs_is_killed_with_its_children() {
    let (dir, environment) = fake_git(
        "case \"$*\" in *version*) echo git version 2.47.3;; *) sleep 600 & echo $! >\"$PWD/pid\"; wait;; esac",
    );
    let git = Git::find(environment).unwrap();
    let limits = Limits {
        time: Duration::from_millis(300),
        output: 10,
    };
    let ended = git
        .command(Config::Isolated, "hang")
        .inside(dir.path())
        .run(&limits);
    assert!(matches!(ended, Err(GitError::TimedOut { .. })), "{ended:?}");
    let pid = fs::read_to_string(dir.path().join("pid")).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    // The kernel ends a killed process a moment later; it is then gone, or a zombie that waits for its new parent.
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_process_that_prints_without_end_is_stopped() {
    let (dir, environment) =
        fake_git("case \"$*\" in *version*) echo git version 2.47.3;; *) yes;; esac");
    let git = Git::find(environment).unwrap();
    let ended = git
        .command(Config::Isolated, "flood")
        .inside(dir.path())
        .run(&Limits::SHORT);
    assert!(
        matches!(&ended, Err(GitError::Failed { message, .. }) if message.contains("more than")),
        "{ended:?}"
    );
}

#[test]
fn a_failure_repeats_what_git_said_without_credentials() {
    let failed = git()
        .command(Config::Isolated, "ls-remote")
        .inside(Path::new("/"))
        .env("GIT_ALLOW_PROTOCOL", "https")
        .arg("--end-of-options")
        .arg("https://me:s3cret@127.0.0.1:1/x.git")
        .run(&Limits::SHORT)
        .unwrap_err()
        .to_string();
    assert!(failed.starts_with("git ls-remote failed: "), "{failed}");
    assert!(!failed.contains("s3cret"), "{failed}");
}

#[test]
fn credentials_are_taken_out_of_every_address() {
    assert_eq!(
        without_credentials("fatal: 'https://a:b@c@example.com/x' and ssh://git@host:22/y"),
        "fatal: 'https://example.com/x' and ssh://host:22/y"
    );
    assert_eq!(without_credentials("mail a@b.example"), "mail a@b.example");
}
