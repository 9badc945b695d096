//! What the suite found, read from the files and the log that it wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// How one scenario ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// Nothing was checked.
    Skipped,
    /// The checks that failed or warned.
    Failed(Vec<Fault>),
}

/// A check that failed or warned.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    check: String,
    message: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.check),
            None => f.write_str(&self.check),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    error_message: Option<String>,
}

impl Verdict {
    /// A warning counts as a failure: the suite warns of what it cannot prove but expects.
    pub(super) fn of_checks(json: &str) -> Result<Self> {
        let checks: Vec<Check> =
            serde_json::from_str(json).context("Could not read a result of the suite")?;
        let succeeded = checks.iter().any(|check| check.status == "SUCCESS");
        let faults: Vec<Fault> = checks
            .into_iter()
            .filter(|check| matches!(&*check.status, "FAILURE" | "WARNING"))
            .map(|check| Fault {
                check: check.id,
                message: check.error_message,
            })
            .collect();
        Ok(match (faults.is_empty(), succeeded) {
            (false, _) => Self::Failed(faults),
            (true, true) => Self::Passed,
            (true, false) => Self::Skipped,
        })
    }

    pub(super) fn passed(&self) -> bool {
        *self == Self::Passed
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Skipped => f.write_str("skipped by the suite"),
            Self::Failed(faults) => {
                let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
                f.write_str(&faults.join("; "))
            }
        }
    }
}

/// The verdicts of one run by scenario.
pub(super) struct Results {
    verdicts: BTreeMap<String, Verdict>,
    unscored: BTreeSet<String>,
}

impl Results {
    /// No verdict yet; `log` is what the suite printed, which alone says what is not scored.
    pub(super) fn new(log: &str) -> Self {
        let unscored = log
            .lines()
            .skip_while(|line| !line.starts_with("Not scored for"))
            .skip(1)
            .map_while(|line| line.trim_start().strip_prefix(['✓', '✗']))
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect();
        Self {
            verdicts: BTreeMap::new(),
            unscored,
        }
    }

    /// Adds the verdict of the scenario whose results lie in the folder `server-<scenario>-<time>`.
    pub(super) fn add(&mut self, folder: &str, verdict: Verdict) {
        // The time reads 2026-11-30T13-31-46-418Z: six parts between hyphens.
        let scenario = folder.rsplitn(7, '-').last().unwrap_or(folder);
        let scenario = scenario.strip_prefix("server-").unwrap_or(scenario);
        self.verdicts.insert(scenario.to_owned(), verdict);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Verdict)> {
        self.verdicts
            .iter()
            .map(|(scenario, verdict)| (scenario.as_str(), verdict))
    }

    pub(super) fn scored(&self) -> impl Iterator<Item = (&str, &Verdict)> {
        self.all()
            .filter(|(scenario, _)| !self.unscored.contains(*scenario))
    }

    /// `", 12/13 unscored"`, or nothing where all are scored.
    pub(super) fn unscored_summary(&self) -> String {
        let unscored: Vec<_> = self
            .all()
            .filter(|(scenario, _)| self.unscored.contains(*scenario))
            .collect();
        if unscored.is_empty() {
            return String::new();
        }
        let passed = unscored.iter().filter(|(_, verdict)| verdict.passed());
        format!(", {}/{} unscored", passed.count(), unscored.len())
    }

    /// What differs from the reviewed list of scenarios and of single checks (`scenario:check`): what fails and is not
    /// on it, and entries that are out of date.
    pub(super) fn against(&self, not_applicable: &BTreeSet<String>) -> Vec<String> {
        let mut used = BTreeSet::new();
        let mut wrong = Vec::new();
        for (scenario, verdict) in self.all() {
            let Verdict::Failed(faults) = verdict else {
                continue;
            };
            for fault in faults {
                let check = format!("{scenario}:{}", fault.check);
                match [scenario, &check].map(|entry| not_applicable.get(entry)) {
                    [Some(entry), _] | [None, Some(entry)] => {
                        used.insert(entry);
                    }
                    [None, None] => wrong.push(format!("{scenario}: {fault}")),
                }
            }
        }
        for entry in not_applicable.iter().filter(|entry| !used.contains(entry)) {
            wrong.push(format!("{entry} does not fail: take it off the list"));
        }
        wrong
    }
}

/// What the list names for `revision`. Its lines are `<revision> <scenario or scenario:check> <reason>`; a revision of `*`
/// stands for all, `#` begins a comment.
pub(super) fn not_applicable(list: &str, revision: &str) -> Result<BTreeSet<String>> {
    let mut scenarios = BTreeSet::new();
    for line in list.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let (Some(applies), Some(scenario), Some(_reason)) =
            (words.next(), words.next(), words.next())
        else {
            bail!("Expected `<revision> <scenario> <reason>`, found `{line}`");
        };
        if applies == "*" || applies == revision {
            scenarios.insert(scenario.to_owned());
        }
    }
    Ok(scenarios)
}

#[cfg(test)]
mod tests;
