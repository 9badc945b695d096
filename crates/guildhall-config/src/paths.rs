//! Paths as people write them in settings.

use std::path::{Path, PathBuf};

use crate::{Env, env_vars};

/// The path that `written` means: `$NAME` and `${NAME}` are replaced anywhere (by nothing where the variable is not
/// set), a leading `~` is the home folder, and a relative path begins at `base`. `None` if nothing is left.
pub(crate) fn resolve(written: &str, base: &Path, env: Env<'_>) -> Option<PathBuf> {
    let expanded = expand(written, env);
    let expanded = expanded.trim();
    if expanded.is_empty() {
        return None;
    }
    let from_home = match expanded.strip_prefix('~') {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    };
    let home = || env(env_vars::HOME).filter(|home| !home.is_empty());
    Some(match (from_home, from_home.and_then(|_| home())) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => base.join(expanded),
    })
}

fn expand(written: &str, env: Env<'_>) -> String {
    let mut out = String::new();
    let mut rest = written;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, next) = match after
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'))
        {
            Some((name, next)) => (name, next),
            None => after.split_at(name_length(after)),
        };
        if name.is_empty() || name_length(name) != name.len() {
            // Not the name of a variable: the sign stands for itself.
            out.push('$');
            rest = after;
        } else {
            out.push_str(&env(name).unwrap_or_default());
            rest = next;
        }
    }
    out.push_str(rest);
    out
}

/// How much of the start of `text` is the name of a variable.
fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_what_people_expect() {
        let env = |name: &str| match name {
            "HOME" => Some("/home/ada".to_owned()),
            "BOARDS" => Some("/srv/boards".to_owned()),
            "NAME" => Some("web".to_owned()),
            _ => None,
        };
        for (written, expected) in [
            ("board", Some("/srv/app/board")),
            ("./a/../board", Some("/srv/app/./a/../board")),
            ("/abs/board", Some("/abs/board")),
            ("~", Some("/home/ada/")),
            ("~/board", Some("/home/ada/board")),
            ("~bob/board", Some("/srv/app/~bob/board")),
            ("$BOARDS/${NAME}-1", Some("/srv/boards/web-1")),
            ("${UNSET}board", Some("/srv/app/board")),
            ("a$1b$", Some("/srv/app/a$1b$")),
            ("${not a name}", Some("/srv/app/${not a name}")),
            ("$UNSET", None),
            ("  ", None),
            ("", None),
        ] {
            assert_eq!(
                resolve(written, Path::new("/srv/app"), &env),
                expected.map(PathBuf::from),
                "{written:?}"
            );
        }
    }

    #[test]
    fn without_a_home_the_tilde_is_a_name() {
        assert_eq!(
            resolve("~/board", Path::new("/srv/app"), &|_| None),
            Some(PathBuf::from("/srv/app/~/board"))
        );
    }
}
