//! The callers: what each does with an ask, chosen by a generator of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use guildhall_core::{Clock as _, Principal, SystemClock};
use guildhall_store::{Act, Ask, Asks as _, Error, Held, NewAsk, Store, Verdict};
use jiff::SignedDuration;

use super::history::{Call, Done, History, Outcome, What};
use crate::lane_world::{ANN, answering, asked, new_ask};
use crate::world::World;

/// Callers at once.
const CALLERS: usize = 64;

/// Asks at once: few, so that callers meet.
const ASKS: usize = 24;

/// How far the clocks of the nodes are apart: what they say must not matter.
const SKEW: SignedDuration = SignedDuration::from_mins(7);

/// A lease that outlives what its holder does.
const LONG: SignedDuration = SignedDuration::from_secs(20);

/// A mistake that is put into the store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    /// A claim is open to others before its lease is over.
    LeaseCutShort,
    /// A claim gets the fence of the one before.
    FenceGivenTwice,
    /// Whoever was replaced may still answer.
    ReplacedHolderAnswers,
    /// An answer is acknowledged and not kept.
    AnswerLost,
}

pub(super) struct Race {
    stores: Vec<Store>,
    left: AtomicUsize,
    asks: Vec<Mutex<String>>,
    names: Vec<Principal>,
    fault: Option<Fault>,
    world: Arc<World>,
    started: Instant,
}

/// What a caller makes of a claim.
#[derive(Clone, Copy)]
enum Plan {
    Release,
    RenewAndRelease,
    Answer,
    /// Says nothing any more.
    Crash,
    /// Comes back when the lease is over.
    Late(Late),
    /// Does not hear what came of the claim.
    Unheard,
}

#[derive(Clone, Copy)]
enum Late {
    Renew,
    Release,
    Answer,
}

/// A generator of numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % sides
    }
}

impl Race {
    pub(super) async fn start(
        world: Arc<World>,
        stores: Vec<Store>,
        attempts: usize,
        fault: Option<Fault>,
    ) -> Self {
        let mut asks = Vec::new();
        for _ in 0..ASKS {
            asks.push(Mutex::new(post(&stores[0], SignedDuration::ZERO).await));
        }
        let name = |n: usize| format!("{ANN}[r{n}]").parse().unwrap();
        Self {
            stores,
            left: AtomicUsize::new(attempts),
            asks,
            names: (0..CALLERS).map(name).collect(),
            fault,
            world,
            started: Instant::now(),
        }
    }

    /// Lets the callers run until no attempt is left.
    pub(super) async fn run(self: Arc<Self>) -> History {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let race = Arc::clone(&self);
                tokio::spawn(async move { race.call(caller).await })
            })
            .collect();
        let mut calls = Vec::new();
        for caller in callers {
            calls.extend(caller.await.unwrap());
        }
        if self.fault == Some(Fault::AnswerLost) {
            let sql = "UPDATE asks SET state = 'open', verdict = NULL WHERE state = 'answered'";
            self.world.tamper(sql).await;
        }
        self.world.settle().await;
        let mut history = History::new(calls);
        let names: Vec<_> = self.names.iter().map(ToString::to_string).collect();
        history.settle(&self.stores[0], &names).await;
        history
    }

    async fn call(&self, caller: usize) -> Vec<(String, Call)> {
        let mut calls = Vec::new();
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (caller as u64 + 1));
        while self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok()
        {
            let slot = usize::try_from(dice.roll(ASKS as u64)).unwrap();
            let mut one = One {
                race: self,
                caller,
                slot,
                ask: self.asks[slot].lock().unwrap().clone(),
                calls: &mut calls,
            };
            let plan = self.plan(&mut dice);
            one.attempt(plan, &mut dice).await;
        }
        calls
    }

    fn plan(&self, dice: &mut Dice) -> Plan {
        match dice.roll(100) {
            0..50 => Plan::Release,
            50..65 => Plan::RenewAndRelease,
            65..72 => Plan::Answer,
            72..82 => Plan::Crash,
            82..87 => Plan::Late(Late::Renew),
            87..92 => Plan::Late(Late::Release),
            92..98 => Plan::Late(Late::Answer),
            _ if self.fault.is_some() => Plan::Release,
            _ => Plan::Unheard,
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap()
    }
}

async fn post(store: &Store, skew: SignedDuration) -> String {
    let ask = NewAsk {
        most_open: u32::MAX,
        ..new_ask("triage", "Race")
    };
    let act = Act::new(ANN.parse().unwrap(), SystemClock.now() + skew);
    store.post_ask(act, ask).await.unwrap().id
}

/// One attempt of one caller.
struct One<'a> {
    race: &'a Race,
    caller: usize,
    slot: usize,
    ask: String,
    calls: &'a mut Vec<(String, Call)>,
}

impl One<'_> {
    async fn attempt(&mut self, plan: Plan, dice: &mut Dice) {
        let short = SignedDuration::from_millis(5 + i64::try_from(dice.roll(20)).unwrap());
        let lease = match plan {
            Plan::Crash | Plan::Late(_) | Plan::Unheard => short,
            _ => LONG,
        };
        if let Plan::Unheard = plan {
            return self.claim_unheard(lease, dice).await;
        }
        let Some(Done { fence, .. }) = self.claim(lease).await else {
            return;
        };
        for _ in 0..dice.roll(4) {
            tokio::task::yield_now().await;
        }
        if dice.roll(10) == 0 {
            self.make_a_mistake().await;
        }
        match plan {
            Plan::Release => {
                self.release(fence).await;
            }
            Plan::RenewAndRelease => {
                self.renew(fence).await;
                self.release(fence).await;
            }
            Plan::Answer => self.answer(fence).await,
            Plan::Crash | Plan::Unheard => {}
            Plan::Late(late) => {
                let over = short.unsigned_abs() + Duration::from_millis(dice.roll(10));
                tokio::time::sleep(over).await;
                match late {
                    Late::Renew => {
                        self.renew(fence).await;
                        self.release(fence).await;
                    }
                    Late::Release => {
                        self.release(fence).await;
                    }
                    Late::Answer => self.answer(fence).await,
                }
            }
        }
    }

    fn store(&self) -> &Store {
        &self.race.stores[self.caller % self.race.stores.len()]
    }

    /// How far the clock of the caller's node is off.
    fn skew(&self) -> SignedDuration {
        SKEW * i32::try_from(self.caller % self.race.stores.len()).unwrap()
    }

    /// The caller, by the clock of their node.
    fn act(&self) -> Act {
        let by = self.race.names[self.caller].clone();
        Act::new(by, SystemClock.now() + self.skew())
    }

    fn held(&self, fence: i64) -> Held {
        Held {
            ask: asked(&self.ask),
            fence: Some(fence),
        }
    }

    async fn claim(&mut self, lease: SignedDuration) -> Option<Done> {
        let start = self.race.now();
        let claimed = self.store().claim_ask(self.act(), asked(&self.ask), lease);
        let claimed = claimed.await;
        self.note(What::Claim, start, claimed)
    }

    /// Claims, and goes away before or after it was done.
    async fn claim_unheard(&mut self, lease: SignedDuration, dice: &mut Dice) {
        let start = self.race.now();
        let claimed = self.store().claim_ask(self.act(), asked(&self.ask), lease);
        let patience = Duration::from_micros(dice.roll(20_000));
        if let Ok(claimed) = tokio::time::timeout(patience, claimed).await {
            self.note(What::Claim, start, claimed);
            return;
        }
        let call = Call {
            caller: self.caller,
            what: What::Claim,
            start,
            end: u64::MAX,
            outcome: Outcome::Unknown,
        };
        self.calls.push((self.ask.clone(), call));
    }

    async fn renew(&mut self, fence: i64) -> Option<Done> {
        let start = self.race.now();
        let renewed = self
            .store()
            .renew_ask(self.act(), self.held(fence), LONG)
            .await;
        self.note(What::Renew(fence), start, renewed)
    }

    async fn release(&mut self, fence: i64) -> Option<Done> {
        let start = self.race.now();
        let released = self.store().release_ask(self.act(), self.held(fence)).await;
        self.note(What::Release(fence), start, released)
    }

    /// Answers; an ask that is over makes room for a new one.
    async fn answer(&mut self, fence: i64) {
        let done = self.try_answer(fence).await;
        let done = match done {
            None if self.race.fault == Some(Fault::ReplacedHolderAnswers) => {
                self.take_back(fence).await;
                self.try_answer(fence).await
            }
            done => done,
        };
        if done.is_some() {
            let next = post(self.store(), self.skew()).await;
            *self.race.asks[self.slot].lock().unwrap() = next;
        }
    }

    async fn try_answer(&mut self, fence: i64) -> Option<Done> {
        let start = self.race.now();
        let given = guildhall_store::Answering {
            held: self.held(fence),
            ..answering(&self.ask, Verdict::Complete)
        };
        let answered = self.store().answer_ask(self.act(), given).await;
        self.note(What::Answer(fence), start, answered)
    }

    /// Makes the store's mistake for it, behind its back, with the ask that this caller holds.
    async fn make_a_mistake(&self) {
        let set = match self.race.fault {
            Some(Fault::LeaseCutShort) => "expires_at = 0",
            Some(Fault::FenceGivenTwice) => "fence = fence - 1, state = 'open'",
            _ => return,
        };
        let sql = format!(
            "UPDATE asks SET {set} WHERE id = '{}' AND state = 'claimed'",
            self.ask
        );
        self.race.world.tamper(sql.leak()).await;
        // Long enough for somebody to fall for it.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// Gives the ask back to this caller, though another one has claimed it since.
    async fn take_back(&self, fence: i64) {
        let by = &self.race.names[self.caller];
        let sql = format!(
            "UPDATE asks SET claimed_by = '{by}', fence = {fence} WHERE id = '{}' AND state = 'claimed'",
            self.ask
        );
        self.race.world.tamper(sql.leak()).await;
    }

    fn note(&mut self, what: What, start: u64, outcome: Result<Ask, Error>) -> Option<Done> {
        let end = self.race.now();
        let outcome = match outcome {
            Ok(ask) => Outcome::Done(Done::of(&ask)),
            Err(Error::Conflict(words)) if words.contains("was answered") => Outcome::Over,
            Err(Error::Conflict(words)) if words.contains("is not claimed") => Outcome::Free,
            Err(Error::Conflict(_)) => Outcome::Held,
            Err(error) => panic!("{what:?}: {error:?}"),
        };
        let call = Call {
            caller: self.caller,
            what,
            start,
            end,
            outcome,
        };
        self.calls.push((self.ask.clone(), call));
        match outcome {
            Outcome::Done(done) => Some(done),
            _ => None,
        }
    }
}
