//! The words Guildhall is written in: issues, principals, the query language, and the traits to the outside world.
//!
//! Nothing here does IO, reads a clock or draws a random number by itself: time and ids come in as parameters
//! ([`Clock`], [`Ids`]), so that a test can fix both. This crate has no runtime, database or HTTP dependency.

pub mod clock;
pub mod issue;
pub mod ladder;
pub mod memory;
pub mod principal;
pub mod query;
pub mod refusal;
pub mod repo;
pub mod role;
pub mod suggest;
pub mod team;
pub mod text;
pub mod tracker;

pub use clock::{Clock, Ids, SystemClock, SystemIds};
pub use issue::{Issue, StateType};
pub use memory::MemoryTracker;
pub use principal::Principal;
pub use refusal::{Refusal, Refuse};
pub use repo::RepoName;
pub use role::{LaneRole, RepoRole};
