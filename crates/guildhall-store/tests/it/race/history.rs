//! What was called, and what came of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use guildhall_store::{Ask, AskState, Asks as _, Events as _, Store};

use crate::lane_world::REPO;
use crate::world::repo_name;

/// One call. Times of the callers are nanoseconds since the start, those of the database milliseconds of its clock.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) caller: usize,
    pub(super) what: What,
    pub(super) start: u64,
    /// `u64::MAX` for a call that never heard its answer.
    pub(super) end: u64,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum What {
    Claim,
    /// Under the fence of the caller's claim.
    Renew(i64),
    Release(i64),
    Answer(i64),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    Done(Done),
    /// Somebody else holds it, or the fence is an old one.
    Held,
    /// It is answered.
    Over,
    /// Nobody holds it.
    Free,
    /// Never heard.
    Unknown,
}

/// What the store says of a call that it did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Done {
    pub(super) fence: i64,
    pub(super) at: i64,
    /// Of claims and renewals.
    pub(super) expires_at: i64,
}

impl Done {
    pub(super) fn of(ask: &Ask) -> Self {
        Self {
            fence: ask.fence,
            at: ask.changed_at.as_millisecond(),
            expires_at: ask
                .claim
                .as_ref()
                .map_or(0, |claim| claim.expires_at.as_millisecond()),
        }
    }
}

/// The calls about one ask, by their start.
#[derive(Default)]
pub(super) struct OfAsk {
    pub(super) id: String,
    pub(super) calls: Vec<Call>,
}

#[derive(Default)]
pub(super) struct History {
    pub(super) asks: Vec<OfAsk>,
}

impl History {
    pub(super) fn new(calls: impl IntoIterator<Item = (String, Call)>) -> Self {
        let mut by_ask: BTreeMap<String, Vec<Call>> = BTreeMap::new();
        for (ask, call) in calls {
            by_ask.entry(ask).or_default().push(call);
        }
        let asks = by_ask
            .into_iter()
            .map(|(id, mut calls)| {
                calls.sort_by_key(|call| call.start);
                OfAsk { id, calls }
            })
            .collect();
        Self { asks }
    }

    /// Makes of the claims that never heard their answer what the log says of them: done, or never.
    pub(super) async fn settle(&mut self, store: &Store, names: &[String]) {
        for ask in &mut self.asks {
            if ask
                .calls
                .iter()
                .all(|call| call.outcome != Outcome::Unknown)
            {
                continue;
            }
            let known: Vec<i64> = ask
                .calls
                .iter()
                .filter_map(|call| match (call.what, call.outcome) {
                    (What::Claim, Outcome::Done(done)) => Some(done.fence),
                    _ => None,
                })
                .collect();
            let mut unheard = unheard_claims(store, &ask.id, &known).await;
            for call in &mut ask.calls {
                if call.outcome != Outcome::Unknown {
                    continue;
                }
                let name = names[call.caller].as_str();
                let found = unheard.iter().position(|(by, _)| by == name);
                if let Some(found) = found {
                    call.outcome = Outcome::Done(unheard.remove(found).1);
                }
            }
            ask.calls.retain(|call| call.outcome != Outcome::Unknown);
            assert!(unheard.is_empty(), "claims of nobody: {unheard:?}");
        }
    }

    /// The acknowledged answers that the store does not have.
    pub(super) async fn lost(&self, store: &Store) -> Vec<String> {
        let mut lost = Vec::new();
        for ask in &self.asks {
            let answered = ask
                .calls
                .iter()
                .find_map(|call| match (call.what, call.outcome) {
                    (What::Answer(_), Outcome::Done(done)) => Some(done),
                    _ => None,
                });
            let Some(done) = answered else { continue };
            let kept = store.ask(repo_name(REPO), ask.id.clone()).await.unwrap();
            let kept = kept.unwrap();
            let there = kept.state == AskState::Answered
                && kept.fence == done.fence
                && kept
                    .answer
                    .is_some_and(|answer| answer.at.as_millisecond() == done.at);
            if !there {
                lost.push(format!("{}: {done:?}", ask.id));
            }
        }
        lost
    }

    /// At most `most` asks, spread over all of them.
    pub(super) fn sample(&self, most: usize) -> Vec<&OfAsk> {
        let step = (self.asks.len() / most.max(1)).max(1);
        self.asks.iter().step_by(step).take(most).collect()
    }

    pub(super) fn figures(&self, attempts: usize, took: Duration) -> String {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for call in self.asks.iter().flat_map(|ask| &ask.calls) {
            let what = match call.what {
                What::Claim => "claim",
                What::Renew(_) => "renew",
                What::Release(_) => "release",
                What::Answer(_) => "answer",
            };
            let outcome = match call.outcome {
                Outcome::Done(_) if call.end == u64::MAX => "done unheard",
                Outcome::Done(_) => "done",
                Outcome::Held => "refused: held",
                Outcome::Over => "refused: answered",
                Outcome::Free => "refused: not held",
                Outcome::Unknown => "unknown",
            };
            *counts.entry(format!("{what} {outcome}")).or_default() += 1;
        }
        let mut text = format!(
            "{attempts} attempts over {} asks in {took:.1?}",
            self.asks.len()
        );
        for (what, count) in counts {
            let _ = write!(text, "\n  {what:<24} {count:>9}");
        }
        text
    }
}

/// The claims in the log whose fence no caller was told: by whom, and what they came to.
async fn unheard_claims(store: &Store, ask: &str, known: &[i64]) -> Vec<(String, Done)> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let events = store.ask_history(repo_name(REPO), ask.to_owned(), after, 1000);
        let events = events.await.unwrap();
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in events.iter().filter(|event| event.kind == "ask.claimed") {
            let fence = event.data["fence"].as_i64().unwrap();
            if known.contains(&fence) {
                continue;
            }
            let time = |key: &str| {
                let at: jiff::Timestamp = event.data[key].as_str().unwrap().parse().unwrap();
                at.as_millisecond()
            };
            let done = Done {
                fence,
                at: time("claimed_at"),
                expires_at: time("expires_at"),
            };
            found.push((event.actor.clone(), done));
        }
    }
    found
}

/// What the whole log says of itself.
pub(super) trait VerifyFindings {
    async fn verify_findings(&self) -> usize;
}

impl VerifyFindings for Store {
    async fn verify_findings(&self) -> usize {
        self.verify(None).await.unwrap().findings.len()
    }
}
