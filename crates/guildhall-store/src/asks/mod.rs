//! Asks: the items of work in a lane, who holds them, and how one leads to the next.
//!
//! An ask is open, claimed or answered. A claim has a lease and a fence, a number that rises by one with each claim of the
//! ask; whoever holds the latest claim may answer, however late, for a lease that ran out only lets others claim. Leases
//! are compared and times are taken inside the statements: on PostgreSQL from the database's clock, so that nodes need
//! not agree, and on either database no time of an ask is before an earlier one of it.
//!
//! Answers lead on by themselves: work to a review of its changeset, a grant to its submission, a denial back to the
//! work, a conflict to its resolution. Each next ask is posted in the transaction of the answer.

mod answer;
mod changeset;
mod claim;
mod claimable;
mod depend;
mod kind;
mod land;
mod post;
mod read;
mod scope;

use guildhall_core::{Principal, RepoName};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use changeset::{
    ChangedFile, Changeset, ChangesetState, FileMode, MOST_BYTES, MOST_FILES, NewChangeset,
};
pub use claimable::{Claimable, Overlap};
pub use kind::{AskKind, Verdict};
pub use land::{Conflicted, DirectCommit, Landed, Landing, Submission};
pub use post::NewAsk;
pub use scope::AskScope;

use crate::Store;
use crate::act::{self, Act};
use crate::events::{Event, Events as _, Stream};
use crate::fresh::Fresh;
use crate::store::Answer;

/// How long a claim lives that nobody renews, unless settings say otherwise (zz page, "Lanes and Asks").
pub const LEASE: SignedDuration = SignedDuration::from_mins(15);

/// Where an ask is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskState {
    /// Nobody holds it.
    Open,
    /// Somebody holds it, or held it until their lease ran out.
    Claimed,
    /// It is over.
    Answered,
}

impl AskState {
    /// Its name, as it is written and kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Claimed => "claimed",
            Self::Answered => "answered",
        }
    }
}

/// An item of work.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Ask {
    /// `ask-` and ten hex digits.
    pub id: String,
    /// The lane it is in.
    pub lane: String,
    /// What is asked for.
    pub kind: AskKind,
    /// The same in one line.
    pub title: String,
    /// The same at length.
    pub body: String,
    /// The asks that must be answered `complete` or `grant` first.
    pub depends_on: Vec<String>,
    /// How many of them are not, yet or ever.
    pub waits_for: i64,
    /// Whether one of them was denied, so that it never will be.
    pub blocked: bool,
    /// The paths it is known to touch, as whoever posted it said or as its changeset has them.
    pub files: Vec<String>,
    /// Higher goes first.
    pub priority: i64,
    /// Who may claim and answer it.
    pub scope: AskScope,
    /// The changeset it is about.
    pub changeset: Option<String>,
    /// The ask whose answer posted this one.
    pub follows: Option<String>,
    /// The ask that began the work: this one, unless it follows another.
    pub work: String,
    /// Who posted it, or gave the answer that did.
    pub posted_by: Principal,
    /// When.
    pub posted_at: Timestamp,
    /// When it last changed, by the database's clock.
    pub changed_at: Timestamp,
    /// Where it is.
    pub state: AskState,
    /// Who holds it, while it is claimed.
    pub claim: Option<Claim>,
    /// The fence of its latest claim, 0 before the first.
    pub fence: i64,
    /// How it ended.
    pub answer: Option<AskAnswer>,
}

/// Who holds an ask.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Claim {
    /// Who.
    pub by: Principal,
    /// Since when, by the database's clock.
    pub at: Timestamp,
    /// From when on others may claim it, by the database's clock.
    pub expires_at: Timestamp,
    /// Its number among the claims of this ask, from 1.
    pub fence: i64,
}

/// How an ask ended.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AskAnswer {
    /// The verdict.
    pub verdict: Verdict,
    /// Who gave it.
    pub by: Principal,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// What they said.
    pub note: Option<String>,
    /// What came of it: `changeset_id`, `posted` (the next ask), `commit`, `no_change`, `conflicts`.
    pub payload: Value,
}

/// Which asks of a lane are asked for.
#[derive(Clone, Debug, Default)]
pub struct AskFilter {
    /// Only those in this state.
    pub state: Option<AskState>,
    /// Only those of this kind.
    pub kind: Option<AskKind>,
}

/// An ask as a caller names it.
#[derive(Clone, Debug)]
pub struct AskRef {
    /// The repo it is in.
    pub repo: RepoName,
    /// The lane it must be in, where the caller says so.
    pub lane: Option<String>,
    /// Its id.
    pub ask: String,
}

/// An ask that the caller holds.
#[derive(Clone, Debug)]
pub struct Held {
    /// Which.
    pub ask: AskRef,
    /// The fence of the caller's claim, where they give it: two runs under one name are told apart by it.
    pub fence: Option<i64>,
}

/// An answer to an ask.
#[derive(Clone, Debug)]
pub struct Answering {
    /// Which, and under which claim.
    pub held: Held,
    /// The verdict.
    pub verdict: Verdict,
    /// What there is to say.
    pub note: Option<String>,
    /// What was made, for `work` and `resolve_conflict`.
    pub changeset: Option<NewChangeset>,
    /// That nothing needs to change, for `work`; the note has the reason.
    pub no_change: bool,
    /// Where the ids of what comes next come from.
    pub fresh: Fresh,
}

/// The asks.
pub trait Asks: Send + Sync {
    /// Posts an ask.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) for less than a contributor;
    /// [`Error::Missing`](crate::Error::Missing) for a repo, lane or dependency that is not there;
    /// [`Error::Conflict`](crate::Error::Conflict) in a closed lane; [`Error::Invalid`](crate::Error::Invalid) for a kind,
    /// scope or changeset that does not fit; [`Error::TooMany`](crate::Error::TooMany) past the caller's quota;
    /// [`Error::TooLarge`](crate::Error::TooLarge) for texts or lists over their limits.
    fn post_ask(&self, act: Act, ask: NewAsk) -> Answer<'_, Ask>;

    /// Posts a `resolve_conflict` that no changeset led to: the default branch and its origin have both moved.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) unless an owner of the repo does it in person; otherwise as
    /// [`Asks::post_ask`].
    fn post_merge(&self, act: Act, ask: NewAsk) -> Answer<'_, Ask>;

    /// Makes an ask that is not answered yet depend on another one.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) where that would close a circle;
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) for less than a contributor;
    /// [`Error::Conflict`](crate::Error::Conflict) for one that is answered or claimed;
    /// [`Error::Missing`](crate::Error::Missing) for one that is not there.
    fn depend(&self, act: Act, ask: AskRef, needs: String) -> Answer<'_, Ask>;

    /// The ask, or `None`.
    fn ask(&self, repo: RepoName, id: String) -> Answer<'_, Option<Ask>>;

    /// Everything that happened to an ask after event number `after` of it, the oldest first, at most `limit`.
    fn ask_history(
        &self,
        repo: RepoName,
        id: String,
        after: i64,
        limit: u32,
    ) -> Answer<'_, Vec<Event>>;

    /// The asks of a lane, the oldest first, after the one called `after`, at most `limit`.
    fn asks_of_lane(
        &self,
        repo: RepoName,
        lane: String,
        filter: AskFilter,
        after: Option<String>,
        limit: u32,
    ) -> Answer<'_, Vec<Ask>>;

    /// The asks of a repo whose latest claim `by` has and has not answered, the oldest claim first, at most `limit`. How
    /// old a claim is does not matter.
    fn held_asks(&self, by: Principal, repo: RepoName, limit: u32) -> Answer<'_, Vec<Ask>>;

    /// What `by` may claim in a lane now, best first: the highest priority, then the oldest. With each, up to
    /// ten unanswered asks that are known to touch the same files; each ask's first files are compared, up to a hundred.
    /// Nothing, in a closed lane.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) for a lane that is not there.
    fn claimable(
        &self,
        by: Principal,
        now: Timestamp,
        repo: RepoName,
        lane: String,
        limit: u32,
    ) -> Answer<'_, Claimable>;

    /// Claims an ask for `lease`.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) where it is not in the caller's scope, or is the review of what they
    /// wrote; [`Error::Conflict`](crate::Error::Conflict) where it is answered, waits for another ask (which is named), is
    /// held by somebody whose lease lives, or its lane is closed; [`Error::Missing`](crate::Error::Missing) where it is not
    /// there; [`Error::Invalid`](crate::Error::Invalid) where it is in another lane.
    fn claim_ask(&self, act: Act, ask: AskRef, lease: SignedDuration) -> Answer<'_, Ask>;

    /// Gives a claim up.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`](crate::Error::Conflict) where the caller does not hold the latest claim, or the fence is not its;
    /// otherwise as [`Asks::claim_ask`].
    fn release_ask(&self, act: Act, held: Held) -> Answer<'_, Ask>;

    /// Lets a claim live for another `lease` from now. Also one that ran out and that nobody replaced.
    ///
    /// # Errors
    ///
    /// As [`Asks::release_ask`].
    fn renew_ask(&self, act: Act, held: Held, lease: SignedDuration) -> Answer<'_, Ask>;

    /// Answers an ask, and posts what comes next. The next ask is `posted` in the answer's payload.
    ///
    /// A `submit_changeset` that [`Asks::land`] has answered gives the same answer again to whoever landed it.
    ///
    /// # Errors
    ///
    /// As [`Asks::release_ask`]; [`Error::Invalid`](crate::Error::Invalid) for a verdict that the kind does not have, and for
    /// a changeset that is missing, out of place or not well-formed; [`Error::TooLarge`](crate::Error::TooLarge) for one
    /// over [`MOST_FILES`] or [`MOST_BYTES`].
    fn answer_ask(&self, act: Act, answering: Answering) -> Answer<'_, Ask>;

    /// The changeset with its files, or `None`.
    fn changeset(&self, repo: RepoName, id: String) -> Answer<'_, Option<Changeset>>;

    /// What `by` is about to land with a `submit_changeset` that they hold or have landed.
    ///
    /// # Errors
    ///
    /// As [`Asks::release_ask`]; [`Error::Invalid`](crate::Error::Invalid) for an ask of another kind;
    /// [`Error::Conflict`](crate::Error::Conflict) for a changeset that is not granted, or landed by another ask.
    fn submission(&self, by: Principal, held: Held) -> Answer<'_, Submission>;

    /// The commit point: in one transaction moves the head of the repo, answers the `submit_changeset` with `complete`,
    /// marks its changeset landed and writes the events. Doing it again after it was done gives the same answer.
    ///
    /// # Errors
    ///
    /// [`Error::Moved`](crate::Error::Moved) where the head is not where the caller expects it, with where it is;
    /// otherwise as [`Asks::submission`]. Nothing has changed then.
    fn land(&self, act: Act, landing: Landing) -> Answer<'_, Ask>;

    /// Answers a held `submit_changeset` with `deny`, because its changeset conflicts with the default branch, and posts
    /// its `resolve_conflict`.
    ///
    /// # Errors
    ///
    /// As [`Asks::submission`].
    fn conflicted(&self, act: Act, conflicted: Conflicted) -> Answer<'_, Ask>;

    /// Moves the head of the repo for a commit that no ask led to.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`](crate::Error::NotAllowed) unless an owner who is a person does it;
    /// [`Error::Moved`](crate::Error::Moved) where the head is not where the caller expects it, with where it is.
    fn commit_directly(&self, act: Act, commit: DirectCommit) -> Answer<'_, Landed>;

    /// What a direct commit under the act's idempotency key came to, if there was one: it is not composed again, for it would
    /// change nothing.
    ///
    /// # Errors
    ///
    /// [`Error::KeyReused`](crate::Error::KeyReused) where it had other arguments.
    fn committed_directly(&self, act: Act) -> Answer<'_, Option<Landed>>;
}

impl Asks for Store {
    fn post_ask(&self, act: Act, ask: NewAsk) -> Answer<'_, Ask> {
        Box::pin(self.change(act, ask, |tx, act, ask| Box::pin(post::post(tx, act, ask))))
    }

    fn post_merge(&self, act: Act, ask: NewAsk) -> Answer<'_, Ask> {
        Box::pin(self.change(act, ask, |tx, act, ask| {
            Box::pin(post::post_merge(tx, act, ask))
        }))
    }

    fn depend(&self, act: Act, ask: AskRef, needs: String) -> Answer<'_, Ask> {
        Box::pin(self.change(act, (ask, needs), |tx, act, (ask, needs)| {
            Box::pin(depend::depend(tx, act, ask, needs))
        }))
    }

    fn ask(&self, repo: RepoName, id: String) -> Answer<'_, Option<Ask>> {
        Box::pin(self.read((repo, id), |tx, (repo, id)| {
            Box::pin(read::find(tx, repo, id))
        }))
    }

    fn ask_history(
        &self,
        repo: RepoName,
        id: String,
        after: i64,
        limit: u32,
    ) -> Answer<'_, Vec<Event>> {
        self.of_stream(&Stream::ask(&repo, &id), after, limit)
    }

    fn asks_of_lane(
        &self,
        repo: RepoName,
        lane: String,
        filter: AskFilter,
        after: Option<String>,
        limit: u32,
    ) -> Answer<'_, Vec<Ask>> {
        let args = (repo, lane, filter, after, limit);
        Box::pin(self.read(args, |tx, (repo, lane, filter, after, limit)| {
            Box::pin(read::of_lane(
                tx,
                repo,
                lane,
                filter,
                after.as_deref(),
                *limit,
            ))
        }))
    }

    fn held_asks(&self, by: Principal, repo: RepoName, limit: u32) -> Answer<'_, Vec<Ask>> {
        Box::pin(self.read((by, repo, limit), |tx, (by, repo, limit)| {
            Box::pin(read::held_by(tx, by, repo, *limit))
        }))
    }

    fn claimable(
        &self,
        by: Principal,
        now: Timestamp,
        repo: RepoName,
        lane: String,
        limit: u32,
    ) -> Answer<'_, Claimable> {
        let args = (by, now, repo, lane, limit);
        Box::pin(self.snapshot(args, |tx, (by, now, repo, lane, limit)| {
            Box::pin(claimable::claimable(tx, by, *now, repo, lane, *limit))
        }))
    }

    fn claim_ask(&self, act: Act, ask: AskRef, lease: SignedDuration) -> Answer<'_, Ask> {
        Box::pin(self.change(act, (ask, lease), |tx, act, (ask, lease)| {
            Box::pin(claim::claim(tx, act, ask, *lease))
        }))
    }

    fn release_ask(&self, act: Act, held: Held) -> Answer<'_, Ask> {
        Box::pin(self.change(act, held, |tx, act, held| {
            Box::pin(claim::release(tx, act, held))
        }))
    }

    fn renew_ask(&self, act: Act, held: Held, lease: SignedDuration) -> Answer<'_, Ask> {
        Box::pin(self.change(act, (held, lease), |tx, act, (held, lease)| {
            Box::pin(claim::renew(tx, act, held, *lease))
        }))
    }

    fn answer_ask(&self, act: Act, answering: Answering) -> Answer<'_, Ask> {
        Box::pin(self.change(act, answering, |tx, act, answering| {
            Box::pin(answer::answer(tx, act, answering))
        }))
    }

    fn changeset(&self, repo: RepoName, id: String) -> Answer<'_, Option<Changeset>> {
        Box::pin(self.snapshot((repo, id), |tx, (repo, id)| {
            Box::pin(changeset::find(tx, repo, id))
        }))
    }

    fn submission(&self, by: Principal, held: Held) -> Answer<'_, Submission> {
        Box::pin(self.snapshot((by, held), |tx, (by, held)| {
            Box::pin(land::submission(tx, by, held))
        }))
    }

    fn land(&self, act: Act, landing: Landing) -> Answer<'_, Ask> {
        Box::pin(self.change(act, landing, |tx, act, landing| {
            Box::pin(land::land(tx, act, landing))
        }))
    }

    fn conflicted(&self, act: Act, conflicted: Conflicted) -> Answer<'_, Ask> {
        Box::pin(self.change(act, conflicted, |tx, act, conflicted| {
            Box::pin(land::conflicted(tx, act, conflicted))
        }))
    }

    fn commit_directly(&self, act: Act, commit: DirectCommit) -> Answer<'_, Landed> {
        Box::pin(self.change(act, commit, |tx, act, commit| {
            Box::pin(land::commit_directly(tx, act, commit))
        }))
    }

    fn committed_directly(&self, act: Act) -> Answer<'_, Option<Landed>> {
        Box::pin(self.read(act, |tx, act| Box::pin(act::answered(tx, act))))
    }
}
