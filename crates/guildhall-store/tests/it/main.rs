//! The store from outside: one suite on both databases, and what only one of them can show.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod conformance;
mod kill;
mod ladder_kill;
mod lane_world;
mod nodes;
mod paused;
mod race;
mod world;
