//! `lanes`: how long claims live, and how much one person may have open.

use schemars::JsonSchema;
use serde::Serialize;

use crate::reader::{Fields, Reading};
use crate::yaml::Node;

/// Lanes and asks.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, default)]
pub struct LaneRules {
    /// How long a claim lives that nobody renews, in seconds.
    #[schemars(range(min = 1, max = 604_800))]
    pub lease_seconds: u32,
    /// Most unanswered asks that one person and their agents may have posted.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_open_asks: u32,
    /// Most open lanes that one person and their agents may have proposed.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_open_lanes: u32,
}

impl Default for LaneRules {
    fn default() -> Self {
        Self {
            lease_seconds: 15 * 60,
            max_open_asks: 1000,
            max_open_lanes: 100,
        }
    }
}

impl LaneRules {
    pub(crate) fn read(node: Option<&Node>, reading: &mut Reading<'_>) -> Self {
        let mut rules = Self::default();
        let mut fields = Fields::of("lanes", node, reading);
        let week = 7 * 24 * 60 * 60;
        let lease = fields.whole("lease_seconds", &(1..=week), reading);
        rules.lease_seconds = lease.unwrap_or(rules.lease_seconds);
        let asks = fields.whole("max_open_asks", &(1..=1_000_000), reading);
        rules.max_open_asks = asks.unwrap_or(rules.max_open_asks);
        let lanes = fields.whole("max_open_lanes", &(1..=1_000_000), reading);
        rules.max_open_lanes = lanes.unwrap_or(rules.max_open_lanes);
        fields.finish(reading);
        rules
    }
}
