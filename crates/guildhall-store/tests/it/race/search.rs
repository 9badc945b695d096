//! By search: is there one order of the calls, each somewhere between its start and its end, in which a single ask would
//! have given exactly these outcomes? What was tried is remembered, so that nothing is tried twice.

use std::collections::HashSet;

use super::history::{Call, OfAsk, Outcome, What};

/// An ask, as simple as it can be.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Model {
    Open,
    Held { caller: usize, expires_at: i64 },
    Over,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct State {
    model: Model,
    fence: i64,
    /// The database's clock does not go back.
    at: i64,
}

/// How far an order has got: every call before `first` is in it, and those of `ahead`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Tried {
    first: usize,
    ahead: Vec<usize>,
    state: State,
}

/// Finds an order, or says how far the best one got.
pub(super) fn check(ask: &OfAsk) -> Result<(), String> {
    let calls = &ask.calls;
    let mut seen = HashSet::new();
    let mut best = 0;
    let mut stack = vec![Tried {
        first: 0,
        ahead: Vec::new(),
        state: State {
            model: Model::Open,
            fence: 0,
            at: i64::MIN,
        },
    }];
    while let Some(mut tried) = stack.pop() {
        settle(calls, &mut tried);
        if tried.first == calls.len() {
            return Ok(());
        }
        best = best.max(tried.first);
        if !seen.insert(tried.clone()) {
            continue;
        }
        for n in candidates(calls, &tried) {
            if let Some(state) = apply(tried.state, &calls[n]) {
                let mut next = tried.clone();
                next.state = state;
                take(&mut next, n);
                stack.push(next);
            }
        }
    }
    Err(format!(
        "{}: no order explains its {} calls; the best got to call {best}: {:?}",
        ask.id,
        calls.len(),
        calls[best]
    ))
}

/// Takes every call that fits and changes nothing: it can only fit less well later.
fn settle(calls: &[Call], tried: &mut Tried) {
    loop {
        let fits = candidates(calls, tried)
            .into_iter()
            .find(|n| apply(tried.state, &calls[*n]) == Some(tried.state));
        match fits {
            Some(n) => take(tried, n),
            None => return,
        }
    }
}

/// The calls that can be next: those that began before any other one that is left had ended.
fn candidates(calls: &[Call], tried: &Tried) -> Vec<usize> {
    let mut earliest_end = u64::MAX;
    let mut found = Vec::new();
    for (n, call) in calls.iter().enumerate().skip(tried.first) {
        if call.start > earliest_end {
            break;
        }
        if tried.ahead.binary_search(&n).is_ok() {
            continue;
        }
        earliest_end = earliest_end.min(call.end);
        found.push(n);
    }
    found.retain(|n| calls[*n].start <= earliest_end);
    found
}

fn take(tried: &mut Tried, n: usize) {
    if let Err(place) = tried.ahead.binary_search(&n) {
        tried.ahead.insert(place, n);
    }
    while tried.ahead.first() == Some(&tried.first) {
        tried.ahead.remove(0);
        tried.first += 1;
    }
}

/// What the ask is after the call, if it could have had this outcome.
fn apply(state: State, call: &Call) -> Option<State> {
    let State { model, fence, at } = state;
    let held = matches!(model, Model::Held { .. });
    let own = |under: i64| {
        matches!(model, Model::Held { caller, .. } if caller == call.caller) && under == fence
    };
    match (call.what, call.outcome) {
        (What::Claim, Outcome::Done(done)) => {
            let free = match model {
                Model::Open => true,
                Model::Held { expires_at, .. } => done.at >= expires_at,
                Model::Over => false,
            };
            (free && done.fence == fence + 1 && done.at >= at).then_some(State {
                model: Model::Held {
                    caller: call.caller,
                    expires_at: done.expires_at,
                },
                fence: done.fence,
                at: done.at,
            })
        }
        (What::Renew(under), Outcome::Done(done)) => {
            (own(under) && done.at >= at).then_some(State {
                model: Model::Held {
                    caller: call.caller,
                    expires_at: done.expires_at,
                },
                fence,
                at: done.at,
            })
        }
        (What::Release(under), Outcome::Done(done)) => {
            (own(under) && done.at >= at).then_some(State {
                model: Model::Open,
                fence,
                at: done.at,
            })
        }
        (What::Answer(under), Outcome::Done(done)) => {
            (own(under) && done.at >= at).then_some(State {
                model: Model::Over,
                fence,
                at: done.at,
            })
        }
        (What::Claim, Outcome::Held) => held.then_some(state),
        (What::Renew(under) | What::Release(under) | What::Answer(under), Outcome::Held) => {
            (held && !own(under)).then_some(state)
        }
        (_, Outcome::Over) => (model == Model::Over).then_some(state),
        (_, Outcome::Free) => (model == Model::Open).then_some(state),
        (_, Outcome::Unknown) => None,
    }
}
