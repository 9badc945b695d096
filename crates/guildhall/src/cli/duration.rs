//! Lengths of time on the command line.

use std::time::Duration;

/// `90`, `90s`, `10m`, `2h`, `30d`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(
        text.trim_end_matches(|c: char| c.is_ascii_alphabetic())
            .len(),
    );
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err(format!("unknown unit `{unit}`: use s, m, h or d")),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "expected a whole number with s, m, h or d, such as 10m".to_owned())?;
    number
        .checked_mul(seconds)
        .filter(|total| *total > 0)
        .map(Duration::from_secs)
        .ok_or_else(|| "expected a duration above zero".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_numbers_with_a_unit() {
        for (text, seconds) in [
            ("90", 90),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7200),
            ("1d", 86400),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "m", "10w", "1.5h", "-1m", "0", "18446744073709551615h"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
