//! The names of repositories, and which of them a token reaches.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A repository's name, `owner/name`.
///
/// Each part has 1 to 100 characters of `a-z`, `A-Z`, `0-9`, `.`, `_` and `-`, begins with a letter, a digit or `_`, and
/// does not end in `.`, `.git` or `.lock`: it is a folder on every file system, no option of any program, and reads the
/// same in a URL. Names are compared exactly; that two differ only in case is left to whoever registers them to refuse.
#[derive(
    Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct RepoName(String);

/// A name that is none.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{0}` is not a repository's name: expected `owner/name`, each of letters, digits, `.`, `_` and `-`"
)]
pub struct RepoNameError(String);

const LONGEST_PART: usize = 100;

impl RepoName {
    /// Reads `owner/name`.
    pub fn parse(text: &str) -> Result<Self, RepoNameError> {
        text.parse()
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the slash.
    pub fn owner(&self) -> &str {
        self.parts().0
    }

    /// The part after the slash.
    pub fn name(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once('/').expect("a name has two parts")
    }
}

/// Whether what belongs to the repository `repo`, or to none, is within the limits of a token: `only` are the repositories
/// that it is limited to, `None` where it is not. A token that is limited reaches nothing that belongs to none.
pub fn is_within(only: Option<&BTreeSet<String>>, repo: Option<&str>) -> bool {
    only.is_none_or(|only| repo.is_some_and(|repo| only.contains(repo)))
}

fn is_part(part: &str) -> bool {
    let folded = part.to_ascii_lowercase();
    (1..=LONGEST_PART).contains(&part.len())
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !part.starts_with(['.', '-'])
        && ![".", ".git", ".lock"]
            .iter()
            .any(|end| folded.ends_with(end))
}

impl FromStr for RepoName {
    type Err = RepoNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((owner, name)) if is_part(owner) && is_part(name) => Ok(Self(text.to_owned())),
            // Whatever was given, the message stays readable.
            _ => Err(RepoNameError(text.chars().take(80).collect())),
        }
    }
}

impl TryFrom<String> for RepoName {
    type Error = RepoNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RepoName> for String {
    fn from(name: RepoName) -> Self {
        name.0
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_parts() {
        let name: RepoName = "acme/web.site_2".parse().unwrap();
        assert_eq!((name.owner(), name.name()), ("acme", "web.site_2"));
        assert!("_acme/-".parse::<RepoName>().is_err());
    }

    #[test]
    fn a_token_with_limits_reaches_nothing_beside_its_repositories() {
        let only = BTreeSet::from(["acme/web".to_owned()]);
        assert!(is_within(Some(&only), Some("acme/web")));
        for repo in [Some("acme/app"), None] {
            assert!(!is_within(Some(&only), repo), "{repo:?}");
            assert!(is_within(None, repo), "{repo:?}");
        }
    }

    #[test]
    fn what_could_be_a_path_an_option_or_another_form_of_a_name_is_none() {
        for text in [
            "",
            "acme",
            "acme/",
            "/web",
            "acme/web/x",
            "../web",
            "acme/..",
            "acme/.",
            "a/web.git",
            "a/web.GIT",
            "a/web.lock",
            "a/web.",
            "-a/web",
            "a/-web",
            ".a/web",
            "a/we b",
            "a/we\0b",
            "a/wéb",
            "a\\b/c",
            "C:/web",
            "a/web\n",
            "a/web\u{200d}",
            "\u{430}/web",
        ] {
            assert!(text.parse::<RepoName>().is_err(), "{text:?}");
        }
        assert!(
            format!("a/{}", "b".repeat(101))
                .parse::<RepoName>()
                .is_err()
        );
    }
}
