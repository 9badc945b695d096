//! The kinds of asks, and the verdicts that each has (zz page, "Lanes and Asks").

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::AskScope;
use crate::error::{Error, Result};

/// Longest name of a kind, in bytes.
const LONGEST: usize = 64;

/// What an ask asks for.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum AskKind {
    /// A change.
    Work,
    /// A review of a changeset.
    ChangesetReview,
    /// A granted changeset to be committed.
    SubmitChangeset,
    /// A changeset in conflict with the default branch to be written anew.
    ResolveConflict,
    /// A rung of the Ladder to be written.
    WriteRung,
    /// Whatever else somebody asks for: a word of a-z, 0-9, `_` and `-`.
    Other(String),
}

/// How an ask is answered.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is done.
    Complete,
    /// It will not be done.
    Deny,
    /// A review that found nothing against it.
    Grant,
}

impl AskKind {
    /// Its name, as it is written and kept.
    pub fn name(&self) -> &str {
        match self {
            Self::Work => "work",
            Self::ChangesetReview => "changeset_review",
            Self::SubmitChangeset => "submit_changeset",
            Self::ResolveConflict => "resolve_conflict",
            Self::WriteRung => "write_rung",
            Self::Other(name) => name,
        }
    }

    /// The scope that the kind has, whoever posts it; `None` where whoever posts it says.
    pub fn scope(&self) -> Option<AskScope> {
        match self {
            Self::Work | Self::ResolveConflict => Some(AskScope::Contributor),
            Self::ChangesetReview => Some(AskScope::Maintainer),
            Self::SubmitChangeset | Self::WriteRung => Some(AskScope::Coordinator),
            Self::Other(_) => None,
        }
    }

    /// Whether it is about a stored changeset.
    pub fn has_changeset(&self) -> bool {
        matches!(
            self,
            Self::ChangesetReview | Self::SubmitChangeset | Self::ResolveConflict
        )
    }

    /// Whether its answer is a changeset.
    pub(super) fn makes_changeset(&self) -> bool {
        matches!(self, Self::Work | Self::ResolveConflict)
    }

    /// The verdict that resolves it.
    fn resolves_with(&self) -> Verdict {
        match self {
            Self::ChangesetReview => Verdict::Grant,
            _ => Verdict::Complete,
        }
    }

    /// Refuses a verdict that the kind does not have.
    pub(super) fn allows(&self, verdict: Verdict) -> Result<()> {
        let resolves = self.resolves_with();
        if verdict == Verdict::Deny || verdict == resolves {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "'verdict' of a `{}` must be one of {resolves}, deny, not `{verdict}`",
            self.name()
        )))
    }
}

impl FromStr for AskKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "work" => Self::Work,
            "changeset_review" => Self::ChangesetReview,
            "submit_changeset" => Self::SubmitChangeset,
            "resolve_conflict" => Self::ResolveConflict,
            "write_rung" => Self::WriteRung,
            name if is_word(name) => Self::Other(name.to_owned()),
            _ => {
                let given: String = name.chars().take(LONGEST).collect();
                return Err(Error::Invalid(format!(
                    "'kind' must be one word of a-z, 0-9, `_` and `-`, at most {LONGEST} long, not `{given}`"
                )));
            }
        })
    }
}

fn is_word(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
        && name.as_bytes()[0].is_ascii_lowercase()
}

impl TryFrom<String> for AskKind {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<AskKind> for String {
    fn from(kind: AskKind) -> Self {
        kind.name().to_owned()
    }
}

impl fmt::Display for AskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Verdict {
    /// Its name, as it is written and kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Deny => "deny",
            Self::Grant => "grant",
        }
    }

    /// Whether what depends on the ask may go on.
    pub fn resolves(self) -> bool {
        self != Self::Deny
    }
}

impl FromStr for Verdict {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "complete" => Ok(Self::Complete),
            "deny" => Ok(Self::Deny),
            "grant" => Ok(Self::Grant),
            _ => {
                let given: String = name.chars().take(LONGEST).collect();
                Err(Error::Invalid(format!(
                    "'verdict' must be one of complete, deny, grant, not `{given}`"
                )))
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_one_of_five_or_a_word() {
        for name in [
            "work",
            "changeset_review",
            "submit_changeset",
            "resolve_conflict",
            "write_rung",
            "triage",
            "look-into_2",
        ] {
            assert_eq!(name.parse::<AskKind>().unwrap().name(), name);
        }
        for name in ["", "Work", "two words", "-x", "1", "a\u{1b}[m", "é"] {
            assert!(name.parse::<AskKind>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn each_kind_has_its_verdicts() {
        for (kind, complete, grant) in [
            ("work", true, false),
            ("changeset_review", false, true),
            ("submit_changeset", true, false),
            ("resolve_conflict", true, false),
            ("write_rung", true, false),
            ("triage", true, false),
        ] {
            let kind: AskKind = kind.parse().unwrap();
            assert_eq!(kind.allows(Verdict::Complete).is_ok(), complete, "{kind}");
            assert_eq!(kind.allows(Verdict::Grant).is_ok(), grant, "{kind}");
            kind.allows(Verdict::Deny).unwrap();
        }
    }
}
