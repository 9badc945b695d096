//! The names of team coordination: sessions, the roles in them, and what a token can be bound to.

use std::fmt;
use std::str::FromStr;

/// The role that leads a session: it dispatches tasks, and status reports arrive in its inbox.
pub const ORCHESTRATOR: &str = "orchestrator";

/// The roles of a session that declares none of its own, in their order (team page, "Sessions, roles, agents").
pub const STANDARD_ROLES: [&str; 9] = [
    ORCHESTRATOR,
    "ai",
    "dat",
    "sec",
    "ops",
    "plt",
    "ui",
    "doc",
    "qa",
];

const LONGEST_PROJECT: usize = 60;
const LONGEST_ROLE: usize = 31;
const HIGHEST_SLOT: u32 = 999_999;

/// A session's id, `<project>-<slot>`: the slot is the number after the last dash, the project may hold dashes itself.
///
/// A project has 1 to 60 characters of `a-z`, `A-Z`, `0-9`, `_` and `-` and begins with a letter or digit; a slot is 1 to
/// 999999 without leading zeros. So an id is a folder, a branch and a tmux session under the same name.
#[derive(
    Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId {
    id: String,
    /// Length of the project's part.
    project_len: usize,
    slot: u32,
}

/// A role of a session: 1 to 31 of `a-z`, `0-9`, `_` and `-`, beginning with a letter or digit.
#[derive(
    Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct RoleName(String);

/// What a token can be bound to: it speaks for this role of this session and for no other.
#[derive(
    Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize,
)]
pub struct Binding {
    /// The session.
    pub session: SessionId,
    /// The role in it.
    pub role: RoleName,
}

/// A name that is none.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TeamNameError {
    /// Not a session's id.
    #[error("`{0}` is not a session: expected `<project>-<slot>`, such as `myproject-1`")]
    Session(String),
    /// Not a project's name.
    #[error(
        "`{0}` is not a project's name: expected 1 to {LONGEST_PROJECT} characters of a-z, A-Z, 0-9, `_` and `-`, \
         beginning with a letter or digit"
    )]
    Project(String),
    /// Not a slot.
    #[error("{0} is not a slot: allowed are 1 to {HIGHEST_SLOT}")]
    Slot(u32),
    /// Not a role.
    #[error(
        "`{0}` is not a role: expected 1 to {LONGEST_ROLE} characters of a-z, 0-9, `_` and `-`, beginning with a letter \
         or digit"
    )]
    Role(String),
}

impl SessionId {
    /// The session of `project` in `slot`.
    ///
    /// # Errors
    ///
    /// [`TeamNameError::Project`] and [`TeamNameError::Slot`].
    pub fn new(project: &str, slot: u32) -> Result<Self, TeamNameError> {
        if !is_project(project) {
            return Err(TeamNameError::Project(shown(project)));
        }
        if !(1..=HIGHEST_SLOT).contains(&slot) {
            return Err(TeamNameError::Slot(slot));
        }
        Ok(Self {
            id: format!("{project}-{slot}"),
            project_len: project.len(),
            slot,
        })
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The project it is of.
    pub fn project(&self) -> &str {
        &self.id[..self.project_len]
    }

    /// Which of the project's sessions it is.
    pub fn slot(&self) -> u32 {
        self.slot
    }
}

impl RoleName {
    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the role that leads.
    pub fn leads(&self) -> bool {
        self.0 == ORCHESTRATOR
    }
}

fn is_project(text: &str) -> bool {
    (1..=LONGEST_PROJECT).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// What a message repeats of a name that is none.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

impl FromStr for SessionId {
    type Err = TeamNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let none = || TeamNameError::Session(shown(text));
        let (project, slot) = text.rsplit_once('-').ok_or_else(none)?;
        let plain = slot.bytes().all(|byte| byte.is_ascii_digit()) && !slot.starts_with('0');
        let slot = slot.parse().ok().filter(|_| plain).ok_or_else(none)?;
        Self::new(project, slot).map_err(|_| none())
    }
}

impl FromStr for RoleName {
    type Err = TeamNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let good = (1..=LONGEST_ROLE).contains(&text.len())
            && text.as_bytes()[0].is_ascii_alphanumeric()
            && text.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte)
            });
        if good {
            Ok(Self(text.to_owned()))
        } else {
            Err(TeamNameError::Role(shown(text)))
        }
    }
}

impl TryFrom<String> for SessionId {
    type Error = TeamNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(session: SessionId) -> Self {
        session.id
    }
}

impl TryFrom<String> for RoleName {
    type Error = TeamNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RoleName> for String {
    fn from(role: RoleName) -> Self {
        role.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_is_the_number_after_the_last_dash() {
        for (id, project, slot) in [
            ("myproject-1", "myproject", 1),
            ("m7-navi-42", "m7-navi", 42),
            ("a--3", "a-", 3),
        ] {
            let session: SessionId = id.parse().unwrap();
            assert_eq!((session.project(), session.slot()), (project, slot));
            assert_eq!(session, SessionId::new(project, slot).unwrap());
        }
    }

    #[test]
    fn what_is_no_session_and_no_role_is_refused() {
        for id in [
            "",
            "-1",
            "myproject",
            "myproject-",
            "myproject-0",
            "myproject-01",
            "myproject-1x",
            "my project-1",
            "../x-1",
            "a.b-1",
            "a:b-1",
            "é-1",
            "a-99999999999",
            "-a-1",
            "a\n-1",
        ] {
            assert!(id.parse::<SessionId>().is_err(), "{id:?}");
        }
        for role in ["", "AI", "a b", "-x", "a.b", "a\u{1b}[2J", &"x".repeat(32)] {
            assert!(role.parse::<RoleName>().is_err(), "{role:?}");
        }
        for role in STANDARD_ROLES {
            assert_eq!(role.parse::<RoleName>().unwrap().as_str(), role);
        }
    }
}
