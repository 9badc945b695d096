//! `tracker`: which of the trackers the work comes from.

use schemars::JsonSchema;
use serde::Serialize;

use crate::reader::{Fields, Reading};
use crate::yaml::Node;

/// Which tracker the work comes from.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, default)]
pub struct TrackerChoice {
    /// The name of an entry of `trackers`. Where there is none of that name, `local` and `memory` stand for a tracker
    /// of that provider with its defaults.
    pub kind: String,
}

impl Default for TrackerChoice {
    fn default() -> Self {
        Self {
            kind: "local".to_owned(),
        }
    }
}

impl TrackerChoice {
    pub(crate) fn read(node: Option<&Node>, reading: &mut Reading<'_>) -> Self {
        let Some(node) = node else {
            return Self::default();
        };
        let before = reading.problems.len();
        let mut fields = Fields::of("tracker", Some(node), reading);
        let kind = fields.text("kind", reading);
        fields.finish(reading);
        match kind.map(|kind| kind.trim().to_owned()) {
            Some(kind) if !kind.is_empty() => Self { kind },
            _ => {
                // Said once: a kind of the wrong type has been reported, and so has a misspelt key.
                if reading.problems.len() == before {
                    let message = "tracker.kind is required".to_owned();
                    reading.problem("tracker.kind", Some(node.at), message);
                }
                Self::default()
            }
        }
    }
}
