//! The packs: one module each, one file per tool.
//!
//! A tool's file holds its arguments, its result, what it does and its tests. Packs know their tracker's client and
//! `guildhall-tools`; they never know a door or each other.

pub mod git;
pub mod local;
mod paged;
pub mod roles;
#[cfg(test)]
mod under_test;
