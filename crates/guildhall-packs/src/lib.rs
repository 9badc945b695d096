//! The packs: one module each, one file per tool.
//!
//! A tool's file holds its arguments, its result, what it does and its tests. Packs know their tracker's client and
//! `guildhall-tools`; they never know a door or each other.

mod act;
mod changes;
pub mod code;
pub mod git;
pub mod ladder;
pub mod lanes;
pub mod local;
mod paged;
pub mod repositories;
pub mod roles;
pub mod team;
#[cfg(test)]
mod under_test;
