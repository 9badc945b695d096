//! Time and randomness as parameters.

use std::sync::Arc;

use jiff::Timestamp;

/// Where "now" comes from.
pub trait Clock: Send + Sync {
    /// The present instant, UTC.
    fn now(&self) -> Timestamp;
}

/// Where random bytes come from: tokens, ids, names of temporary files.
pub trait Ids: Send + Sync {
    /// Fills `buffer` with unpredictable bytes.
    fn fill(&self, buffer: &mut [u8]);

    /// `bytes` unpredictable bytes as lower-case hex, twice as many characters.
    fn hex(&self, bytes: usize) -> String {
        let mut buffer = vec![0; bytes];
        self.fill(&mut buffer);
        buffer
            .iter()
            .fold(String::with_capacity(bytes * 2), |mut text, byte| {
                use std::fmt::Write as _;
                let _ = write!(text, "{byte:02x}");
                text
            })
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the machine's clock is read"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The operating system's random generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system gives random bytes");
    }
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

impl<T: Ids + ?Sized> Ids for Arc<T> {
    fn fill(&self, buffer: &mut [u8]) {
        (**self).fill(buffer);
    }
}

/// `at` as RFC 3339 in UTC with milliseconds and `Z`, the form of every time Guildhall gives out.
///
/// Instants before 1 ms are cut, not rounded: a time is never shown later than it was.
pub fn rfc3339_millis(at: Timestamp) -> String {
    // A fixed precision keeps these strings the same length, so that they also sort by time.
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals_and_a_z() {
        for (given, shown) in [
            ("2026-05-29T10:00:00Z", "2026-05-29T10:00:00.000Z"),
            ("2026-05-29T10:00:00.9999Z", "2026-05-29T10:00:00.999Z"),
            ("2026-05-29T12:00:00.5+02:00", "2026-05-29T10:00:00.500Z"),
        ] {
            let at: Timestamp = given.parse().unwrap();
            assert_eq!(rfc3339_millis(at), shown);
        }
    }

    #[test]
    fn hex_ids_have_the_asked_length_and_differ() {
        let (a, b) = (SystemIds.hex(16), SystemIds.hex(16));
        assert_eq!(a.len(), 32);
        assert_ne!(a, b);
        assert!(
            a.bytes()
                .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
        );
    }
}
