//! The crate against `git` itself, and against those who would misuse it.

#![cfg(test)]

mod agreement;
mod changeset;
mod drift;
mod hosting;
mod large;
mod reading;
mod script;
