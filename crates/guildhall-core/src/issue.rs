//! One tracker item, in the form every tracker is converted to at its edge.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of state an issue is in, whatever its tracker calls the state itself.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum StateType {
    /// Not planned yet; also what an unknown state name counts as.
    Backlog,
    /// Planned, nobody works on it.
    Unstarted,
    /// Somebody works on it.
    Started,
    /// Done.
    Completed,
    /// Given up.
    Canceled,
    /// Waiting to be looked at.
    Triage,
}

impl StateType {
    /// Every state type, in the order of the requirement page.
    pub const ALL: [Self; 6] = [
        Self::Backlog,
        Self::Unstarted,
        Self::Started,
        Self::Completed,
        Self::Canceled,
        Self::Triage,
    ];

    /// The lower-case name that results carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Unstarted => "unstarted",
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Canceled => "canceled",
            Self::Triage => "triage",
        }
    }

    /// The type that a state's name tells, compared without case and surrounding space, or `None` for other names.
    ///
    /// The table is the one of the board (`todo`, `in progress`, `done`, `cancelled`, ...); a tracker with types of its
    /// own uses those instead.
    pub fn from_state_name(name: &str) -> Option<Self> {
        let name = name.trim();
        [
            ("todo", Self::Unstarted),
            ("in progress", Self::Started),
            ("done", Self::Completed),
            ("cancelled", Self::Canceled),
            ("canceled", Self::Canceled),
            ("backlog", Self::Backlog),
            ("triage", Self::Triage),
        ]
        .into_iter()
        .find_map(|(known, kind)| name.eq_ignore_ascii_case(known).then_some(kind))
    }
}

/// One item of a tracker.
///
/// Serialises with the keys and order of every tool that returns `{ "issue": ... }`; a value the tracker does not have
/// is `null`, never left out, so that a caller can rely on the keys.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// The id that tools take: `BOARD-7`, `10042`, `C01:1700000000.000100`.
    pub id: String,
    /// The name people use for it; on most trackers the id.
    pub identifier: String,
    /// One line.
    pub title: String,
    /// Markdown, or `None` where there is no text.
    pub description: Option<String>,
    /// The state's name as the tracker spells it.
    pub state: String,
    /// What kind of state that is.
    pub state_type: StateType,
    /// The branch the tracker proposes for work on it.
    pub branch_name: Option<String>,
    /// Where a person can look at it.
    pub url: Option<String>,
    /// 1 (urgent) to 4 (low).
    pub priority: Option<u8>,
    /// RFC 3339, UTC, milliseconds.
    pub created_at: Option<String>,
    /// RFC 3339, UTC, milliseconds.
    pub updated_at: Option<String>,
    /// Lower-case, in the tracker's order.
    pub labels: Vec<String>,
    /// Ids of issues that must be finished before this one.
    pub blockers: Vec<String>,
    /// The tracker's id of the person it is assigned to.
    pub assignee_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_names_are_matched_without_case_and_space() {
        for (name, kind) in [
            ("Todo", Some(StateType::Unstarted)),
            (" IN PROGRESS ", Some(StateType::Started)),
            ("done", Some(StateType::Completed)),
            ("Cancelled", Some(StateType::Canceled)),
            ("Canceled", Some(StateType::Canceled)),
            ("Backlog", Some(StateType::Backlog)),
            ("triage", Some(StateType::Triage)),
            ("In Review", None),
            ("", None),
        ] {
            assert_eq!(StateType::from_state_name(name), kind, "{name:?}");
        }
    }

    #[test]
    fn state_types_serialise_as_their_names() {
        for kind in StateType::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
