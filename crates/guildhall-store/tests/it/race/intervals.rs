//! By rules: each claim of an ask is an interval, by the callers' clock and by the database's.

use super::history::{Call, Done, History, OfAsk, Outcome, What};

/// Problems told of one ask; the first says it all.
const MOST_TOLD: usize = 3;

/// What must not be; nothing, where all is well.
pub(super) fn check(history: &History) -> Vec<String> {
    let mut problems = Vec::new();
    for ask in &history.asks {
        let found = of_ask(ask);
        problems.extend(
            found
                .into_iter()
                .take(MOST_TOLD)
                .map(|problem| format!("{}: {problem}", ask.id)),
        );
    }
    problems
}

/// A call that the store did.
#[derive(Clone, Copy)]
struct Did<'a> {
    call: &'a Call,
    done: Done,
}

fn of_ask(ask: &OfAsk) -> Vec<String> {
    let mut problems = Vec::new();
    let did: Vec<Did<'_>> = ask
        .calls
        .iter()
        .filter_map(|call| match call.outcome {
            Outcome::Done(done) => Some(Did { call, done }),
            _ => None,
        })
        .collect();
    let mut claims: Vec<Did<'_>> = did
        .iter()
        .filter(|did| did.call.what == What::Claim)
        .copied()
        .collect();
    claims.sort_by_key(|claim| claim.done.fence);
    fences_rise_by_one(&claims, &mut problems);
    for (n, claim) in claims.iter().enumerate() {
        let under: Vec<Did<'_>> = did
            .iter()
            .filter(|did| fence(did.call.what) == Some(claim.done.fence))
            .copied()
            .collect();
        one_hold(claim, &under, claims.get(n + 1), &mut problems);
    }
    clocks_agree(&did, &mut problems);
    refusals_have_a_reason(ask, &claims, &did, &mut problems);
    problems
}

fn fence(what: What) -> Option<i64> {
    match what {
        What::Claim => None,
        What::Renew(fence) | What::Release(fence) | What::Answer(fence) => Some(fence),
    }
}

fn fences_rise_by_one(claims: &[Did<'_>], problems: &mut Vec<String>) {
    for (claim, expected) in claims.iter().zip(1..) {
        if claim.done.fence != expected {
            problems.push(format!(
                "claim {expected} has the fence {}",
                claim.done.fence
            ));
            return;
        }
    }
}

/// From one claim to the next: what its holder did, and that nobody else came before the end.
fn one_hold(
    claim: &Did<'_>,
    under: &[Did<'_>],
    next: Option<&Did<'_>>,
    problems: &mut Vec<String>,
) {
    let fence = claim.done.fence;
    let mut expires_at = claim.done.expires_at;
    let mut last = claim;
    let mut ended: Option<&Did<'_>> = None;
    let mut order: Vec<&Did<'_>> = under.iter().collect();
    order.sort_by_key(|did| (did.done.at, did.call.start));
    for did in order {
        if did.call.caller != claim.call.caller {
            problems.push(format!("fence {fence} was used by another caller"));
        }
        if ended.is_some() {
            problems.push(format!("fence {fence} was used after its end"));
        }
        if did.done.at < last.done.at || did.call.end < last.call.start {
            problems.push(format!("fence {fence} was used before it was given"));
        }
        if let Some(next) = next
            && (did.done.at > next.done.at || did.call.start > next.call.end)
        {
            problems.push(format!(
                "{:?} was accepted after claim {}",
                did.call.what, next.done.fence
            ));
        }
        match did.call.what {
            What::Renew(_) => expires_at = did.done.expires_at,
            _ => ended = Some(did),
        }
        last = did;
    }
    let Some(next) = next else { return };
    if next.call.end < claim.call.start {
        problems.push(format!(
            "claim {} was over before claim {fence} began",
            next.done.fence
        ));
    }
    match ended.map(|ended| (ended.call.what, ended)) {
        Some((What::Answer(_), _)) => {
            problems.push(format!("claim {} follows an answer", next.done.fence));
        }
        Some((_, released)) => {
            if next.done.at < released.done.at || next.call.end < released.call.start {
                problems.push(format!(
                    "claim {} begins before claim {fence} was released",
                    next.done.fence
                ));
            }
        }
        None => {
            if next.done.at < expires_at {
                problems.push(format!(
                    "claim {} begins at {} and claim {fence} lives until {expires_at}",
                    next.done.fence, next.done.at
                ));
            }
        }
    }
}

/// What ended before something else began is not later by the database's clock.
fn clocks_agree(did: &[Did<'_>], problems: &mut Vec<String>) {
    let mut by_end: Vec<&Did<'_>> = did.iter().collect();
    by_end.sort_by_key(|did| did.call.end);
    let (mut ended, mut latest) = (0, i64::MIN);
    // The calls are in the order of their start.
    for later in did {
        while by_end[ended].call.end < later.call.start {
            latest = latest.max(by_end[ended].done.at);
            ended += 1;
        }
        if later.done.at < latest {
            problems.push(format!(
                "{:?} is at {} by the database, and one that ended before it at {latest}",
                later.call.what, later.done.at
            ));
            return;
        }
    }
}

/// A claim is refused only while somebody may hold the ask, or once it may be answered.
fn refusals_have_a_reason(
    ask: &OfAsk,
    claims: &[Did<'_>],
    did: &[Did<'_>],
    problems: &mut Vec<String>,
) {
    let mut holds: Vec<(u64, u64)> = claims
        .iter()
        .enumerate()
        .map(|(n, claim)| {
            let ended = did.iter().find(|did| {
                matches!(did.call.what, What::Release(f) | What::Answer(f) if f == claim.done.fence)
            });
            let next = claims.get(n + 1).map_or(u64::MAX, |next| next.call.end);
            (claim.call.start, ended.map_or(next, |did| did.call.end))
        })
        .collect();
    holds.sort_unstable();
    let over = did
        .iter()
        .find(|did| matches!(did.call.what, What::Answer(_)))
        .map_or(u64::MAX, |did| did.call.start);
    for call in ask.calls.iter().filter(|call| call.what == What::Claim) {
        let reason = match call.outcome {
            Outcome::Held => holds
                .iter()
                .take_while(|(from, _)| *from <= call.end)
                .any(|(_, to)| *to >= call.start),
            Outcome::Over => over <= call.end,
            _ => true,
        };
        if !reason {
            problems.push(format!(
                "a claim was refused ({:?}) while nobody held it",
                call.outcome
            ));
            return;
        }
    }
}
