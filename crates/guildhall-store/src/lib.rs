//! What Guildhall keeps: principals and their tokens, repositories and roles on them, and the log of everything that
//! changed. On SQLite or on PostgreSQL, behind the same traits; no other crate contains SQL.
//!
//! Open a [`Store`] and use it through the traits: [`Principals`], [`Tokens`], [`Logins`], [`Repos`], [`Roles`],
//! [`Lanes`], [`Asks`], [`Ladder`], [`Team`], [`Events`]. A method that changes something takes an [`Act`]: who, when, and the call's
//! idempotency key if it has one.
//! It is one transaction that also writes its event, and it is on the disk when the method returns.
//!
//! # How it is made
//!
//! Each module of a trait holds its SQL and its rules, once, as functions over a transaction (`tx`). The statements have
//! `$n` parameters, times as whole milliseconds, JSON as text and flags as 0 and 1, so that both databases take the same
//! text; where they differ, `Tx::either` stands in the function itself. `sqlite` runs such functions on one writing thread
//! in group commits, `postgres` over a pool. Both are held to the same behaviour by `tests/it/conformance`.
//!
//! How a table is added is written in `docs/adding-a-table.md`.

mod act;
mod asks;
mod error;
mod events;
mod fresh;
mod hints;
mod house;
mod ladder;
mod lanes;
mod logins;
mod migrate;
mod postgres;
mod principals;
mod quota;
mod repos;
mod roles;
mod sqlite;
mod store;
pub mod team;
mod text;
mod tokens;
mod tx;
mod value;

pub use act::{Act, KEY_LIVES, LONGEST_KEY, Once};
pub use asks::{
    Answering, Ask, AskAnswer, AskFilter, AskKind, AskRef, AskScope, AskState, Asks, ChangedFile,
    Changeset, ChangesetState, Claim, Claimable, Conflicted, DirectCommit, FileMode, Held, LEASE,
    Landed, Landing, MOST_BYTES, MOST_FILES, NewAsk, NewChangeset, Overlap, Submission, Verdict,
};
pub use error::{Cause, Error, Result};
pub use events::{About, Event, Events, Finding, Position, Seal, Stream, Verified};
pub use fresh::Fresh;
pub use hints::Waiter;
pub use ladder::{
    Anchor, Found, Hit, Ladder, MOST_RANKED, MOST_WRITTEN, NewRung, Rung, RungRange, RungVersion,
    Search, SearchPosition, Written,
};
pub use lanes::{Lane, LaneState, Lanes, NewLane};
pub use logins::{Login, LoginToken, Logins, NewLogin, Redeemed};
pub use principals::{Account, Principals};
pub use repos::{NewRepo, Repo, Repos};
pub use roles::{Grant, OWN_LANE, Role, Roles, Standing};
pub use store::{Answer, Store};
pub use team::Team;
pub use tokens::{Bearer, LAST_USE_WITHIN, NewToken, TokenInfo, Tokens};
