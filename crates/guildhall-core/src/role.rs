//! What somebody may be in a repository and in a lane of it (zz page, "Permissions").

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A role in a repository. A higher one holds what the lower ones hold.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepoRole {
    /// Reads everything.
    Reader,
    /// Proposes lanes, posts asks and works.
    Contributor,
    /// Reviews changesets, and coordinates `_repo`.
    Maintainer,
    /// Everything; grants roles, in person.
    Owner,
}

/// A role on a lane.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneRole {
    /// Submits changesets and closes the lane.
    Coordinator,
    /// Reviews changesets.
    Maintainer,
}

/// A word that is no role.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{given}` is not a role {on}: expected one of {allowed}")]
pub struct RoleError {
    given: String,
    on: &'static str,
    allowed: &'static str,
}

/// The names of roles, each in one place.
macro_rules! names {
    ($type:ty, $on:literal: $first:literal $First:ident $(, $name:literal $role:ident)*) => {
        impl $type {
            /// Every role, the most first.
            pub const ALL: &'static [Self] = &[Self::$First $(, Self::$role)*];

            /// Their names, for sentences.
            pub const NAMES: &'static str = concat!($first $(, ", ", $name)*);

            /// The role's name, as arguments and results carry it and as it is kept.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::$First => $first,
                    $(Self::$role => $name),*
                }
            }
        }

        impl FromStr for $type {
            type Err = RoleError;

            fn from_str(name: &str) -> Result<Self, RoleError> {
                let named = Self::ALL.iter().find(|role| role.name() == name);
                named.copied().ok_or_else(|| RoleError {
                    // Whatever was given, the message stays readable.
                    given: name.chars().take(80).collect(),
                    on: $on,
                    allowed: Self::NAMES,
                })
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

names!(RepoRole, "in a repository": "owner" Owner, "maintainer" Maintainer, "contributor" Contributor, "reader" Reader);
names!(LaneRole, "on a lane": "coordinator" Coordinator, "maintainer" Maintainer);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_read_back_from_its_name() {
        for role in RepoRole::ALL {
            assert_eq!(role.name().parse(), Ok(*role));
        }
        for role in LaneRole::ALL {
            assert_eq!(role.name().parse(), Ok(*role));
        }
        let error = "Owner".parse::<RepoRole>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`Owner` is not a role in a repository: expected one of owner, maintainer, contributor, reader"
        );
    }

    #[test]
    fn a_higher_role_holds_the_lower_ones() {
        assert!(RepoRole::ALL.is_sorted_by(|higher, lower| higher > lower));
    }
}
