//! The counters of calls, kept beside each tool: to find one by its labels at each call costs more than to count.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, Histogram};

use crate::{Door, ErrorKind};

/// What is counted of one tool. The process's recorder must be installed before the first call.
pub(crate) struct Meters {
    tool: &'static str,
    seconds: OnceLock<Histogram>,
    /// By door, then by outcome.
    calls: [[OnceLock<Counter>; OUTCOMES]; Door::ALL.len()],
}

/// Done, or failed in one of the ways there are.
const OUTCOMES: usize = 1 + ErrorKind::ALL.len();

impl Meters {
    pub(crate) const fn new(tool: &'static str) -> Self {
        Self {
            tool,
            seconds: OnceLock::new(),
            calls: [const { [const { OnceLock::new() }; OUTCOMES] }; Door::ALL.len()],
        }
    }

    /// The tool's name, as it is counted.
    pub(crate) const fn tool(&self) -> &'static str {
        self.tool
    }

    /// Counts one call that came in by `door` and took `elapsed`.
    pub(crate) fn count(&self, door: Door, failure: Option<ErrorKind>, elapsed: Duration) {
        let tool = self.tool;
        let outcome = failure.map_or(0, |kind| 1 + kind as usize);
        let calls = self.calls[door as usize][outcome].get_or_init(|| {
            let outcome = failure.map_or("ok", ErrorKind::code);
            metrics::counter!("guildhall_calls_total", "tool" => tool, "door" => door.as_str(), "outcome" => outcome)
        });
        calls.increment(1);
        let seconds = self
            .seconds
            .get_or_init(|| metrics::histogram!("guildhall_call_seconds", "tool" => tool));
        seconds.record(elapsed.as_secs_f64());
    }
}
