//! Who the local user is to git.

use std::path::Path;

use crate::command::{Config, Environment, Git, Limits};

/// The address git would put on a commit made in `dir`: its `user.email`, from the repository around `dir`, the user's
/// own configuration or the machine's, in git's order.
///
/// `None` when none is set, when git cannot be run, and when `dir` does not exist.
pub fn user_email(dir: &Path) -> Option<String> {
    user_email_seen_by(dir, Environment::of_this_process())
}

fn user_email_seen_by(dir: &Path, environment: Environment) -> Option<String> {
    if !dir.is_dir() {
        return None;
    }
    let printed = Git::find(environment)
        .ok()?
        .command(Config::Operator, "config")
        .inside(dir)
        .args(["-z", "--get", "user.email"])
        .run(&Limits::SHORT)
        .ok()?;
    let value = String::from_utf8(printed).ok()?;
    let email = value.trim_end_matches('\0').trim();
    (!email.is_empty()).then(|| email.to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use super::*;

    /// The environment of a user at home in `home`, on a machine without a configuration.
    fn at_home_in(home: &Path) -> Environment {
        let path = std::env::var_os("PATH").unwrap_or_default();
        [
            (OsString::from("PATH"), path),
            ("HOME".into(), home.into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn the_address_is_the_users_and_a_repositorys_own_comes_first() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("work");
        fs::create_dir_all(dir.join(".git/objects")).unwrap();
        fs::create_dir_all(dir.join(".git/refs")).unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let seen = || user_email_seen_by(&dir, at_home_in(home.path()));
        assert_eq!(seen(), None);
        fs::write(
            home.path().join(".gitconfig"),
            "[user]\n\temail = me@example.com\n",
        )
        .unwrap();
        assert_eq!(seen().as_deref(), Some("me@example.com"));
        fs::write(
            dir.join(".git/config"),
            "[user]\n\temail = work@example.com\n",
        )
        .unwrap();
        assert_eq!(seen().as_deref(), Some("work@example.com"));
    }

    #[test]
    fn nothing_is_known_without_a_directory_or_without_git() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(user_email(&home.path().join("absent")), None);
        assert_eq!(
            user_email_seen_by(home.path(), Environment::default()),
            None
        );
    }

    #[test]
    fn asking_runs_no_program_that_a_hostile_repository_names() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("hostile");
        fs::create_dir_all(dir.join(".git/objects")).unwrap();
        fs::create_dir_all(dir.join(".git/refs")).unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let owned = home.path().join("owned");
        let run = format!("touch {}", owned.display());
        fs::write(
            dir.join(".git/config"),
            format!(
                "[core]\n\tfsmonitor = \"{run}\"\n\tpager = \"{run}\"\n\taskPass = \"{run}\"\n\tsshCommand = \"{run}\"\n\
                 [pager]\n\tconfig = \"{run}\"\n[alias]\n\tconfig = \"!{run}\"\n[user]\n\temail = evil@example.com\n"
            ),
        )
        .unwrap();
        assert_eq!(
            user_email_seen_by(&dir, at_home_in(home.path())).as_deref(),
            Some("evil@example.com")
        );
        assert!(!owned.exists());
    }
}
