//! Who may claim and answer an ask.

use std::fmt;
use std::str::FromStr;

use guildhall_core::{Principal, RepoName, RepoRole};
use serde::{Deserialize, Serialize};

use super::AskKind;
use super::read::Seen;
use crate::error::{Error, Result};
use crate::roles::{self, Standing};
use crate::tx::Tx;

/// Who may claim and answer an ask.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskScope {
    /// Contributors and every role above.
    Contributor,
    /// The lane's maintainers.
    Maintainer,
    /// The lane's coordinators.
    Coordinator,
}

impl AskScope {
    /// Every scope.
    pub(super) const ALL: [Self; 3] = [Self::Contributor, Self::Maintainer, Self::Coordinator];

    /// Its name, as it is written and kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contributor => "contributor",
            Self::Maintainer => "maintainer",
            Self::Coordinator => "coordinator",
        }
    }

    /// Whether somebody of this standing on the lane is in it.
    pub fn holds(self, standing: Standing) -> bool {
        match self {
            Self::Contributor => {
                standing.repo >= Some(RepoRole::Contributor)
                    || standing.coordinator
                    || standing.maintainer
            }
            Self::Maintainer => standing.maintainer,
            Self::Coordinator => standing.coordinator,
        }
    }
}

impl FromStr for AskScope {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.name() == name)
            .ok_or_else(|| {
                let given: String = name.chars().take(40).collect();
                Error::Invalid(format!(
                    "'scope' must be one of contributor, maintainer, coordinator, not `{given}`"
                ))
            })
    }
}

impl fmt::Display for AskScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Refuses a caller who may not claim or answer the ask: one outside its scope, and a reviewer of their own.
pub(super) async fn check(
    tx: &mut Tx,
    caller: &Principal,
    repo: &RepoName,
    seen: &Seen,
) -> Result<()> {
    let ask = &seen.ask;
    let standing = roles::standing_of_caller(tx, caller, repo, Some(&ask.lane)).await?;
    if !ask.scope.holds(standing) {
        return Err(Error::NotAllowed(format!(
            "`{}` is a {} for {}, and `{caller}` is none in `{}`",
            ask.id,
            ask.kind,
            match ask.scope {
                AskScope::Contributor => "contributors",
                AskScope::Maintainer => "the lane's maintainers",
                AskScope::Coordinator => "the lane's coordinators",
            },
            ask.lane
        )));
    }
    if ask.kind == AskKind::ChangesetReview && !seen.allow_self_review {
        for author in &seen.authors {
            if is_own(caller, author) {
                return Err(Error::NotAllowed(format!(
                    "`{author}` wrote what `{}` reviews, and `{caller}` may not review their own",
                    ask.id
                )));
            }
        }
    }
    Ok(())
}

/// Whether `author` wrote it as `reviewer`, or `reviewer` is an agent of the same person. A person may review what their
/// agents wrote.
pub(super) fn is_own(reviewer: &Principal, author: &Principal) -> bool {
    reviewer == author || (reviewer.is_agent() && reviewer.user_address() == author.user_address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_what_the_same_person_wrote_except_an_agents_before_its_user() {
        let own = |reviewer: &str, author: &str| {
            is_own(&reviewer.parse().unwrap(), &author.parse().unwrap())
        };
        assert!(own("ann@x.org", "ann@x.org"));
        assert!(own("ann@x.org[a]", "ann@x.org[a]"));
        assert!(own("ann@x.org[a]", "ann@x.org[b]"));
        assert!(own("ann@x.org[a]", "ann@x.org"));
        assert!(!own("ann@x.org", "ann@x.org[a]"));
        assert!(!own("bob@x.org[a]", "ann@x.org[a]"));
    }
}
