//! Any bytes; those that are JSON with `arguments` and `records` are queried and held against the laws that the tests of
//! `guildhall-core` have.
//!
//! `cargo +nightly fuzz run query --fuzz-dir fuzz -- -dict=fuzz/query.dict -max_len=2048` runs until it is stopped. What
//! `corpus/query` holds is replayed by an ordinary test of `guildhall-core`, so keep it small: fuzz into a directory of
//! your own, given before the `--`, and bring back what `-merge=1` leaves of it.
#![no_main]

#[path = "../../crates/guildhall-core/tests/query/laws.rs"]
mod laws;
#[path = "../../crates/guildhall-core/tests/query/naive.rs"]
mod naive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold_for_bytes(bytes));
