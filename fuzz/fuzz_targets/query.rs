//! Any bytes; those that are JSON with `arguments` and `records` are queried and held against the laws that the tests of
//! `guildhall-core` have.
//!
//! `cargo +nightly fuzz run query --fuzz-dir fuzz -- -max_len=4096`; what it finds worth keeping goes to `corpus/query`.
#![no_main]

#[path = "../../crates/guildhall-core/tests/query/laws.rs"]
mod laws;
#[path = "../../crates/guildhall-core/tests/query/naive.rs"]
mod naive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold_for_bytes(bytes));
