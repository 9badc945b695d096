//! Any bytes as the file of an issue: the laws that the tests of `guildhall-local` have hold for them.
//!
//! `cargo +nightly fuzz run board_file --fuzz-dir fuzz -- -max_len=4096`; what it finds worth keeping goes to
//! `corpus/board_file`.
#![no_main]

#[path = "../../crates/guildhall-local/tests/format/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    laws::hold_for_bytes(bytes);
    // The same bytes as what a caller gives, parted by NUL.
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, '\0');
    if let (Some(status), Some(title), Some(body)) = (parts.next(), parts.next(), parts.next()) {
        laws::hold_for_new(status, title, body);
    }
});
