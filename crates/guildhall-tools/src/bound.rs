//! How large a result may be, and cutting one that is not.

use std::io;

use serde::Serialize;
use serde_json::Value;

use crate::ToolError;

/// The size of a result over MCP when the call says nothing, in bytes of JSON: about 4,000 tokens.
pub const MCP_RESULT_BYTES: usize = 16 << 10;

/// The most a call may ask for with `max_bytes`.
pub const MAX_RESULT_BYTES: usize = 256 << 10;

/// The most that leaves over plain HTTP in one answer.
const HTTP_RESULT_BYTES: usize = 64 << 20;

/// The most that leaves in one answer to somebody without a token: 1 MiB with what the door puts around it.
const PUBLIC_RESULT_BYTES: usize = (1 << 20) - 64;

/// Texts shorter than this are not cut: what is left would say nothing.
const LEAST_TEXT: usize = 64;

/// How many bytes of compact JSON a result may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Budget {
    bytes: usize,
}

impl Budget {
    /// What a call over MCP gets: [`MCP_RESULT_BYTES`], or what its `max_bytes` says up to [`MAX_RESULT_BYTES`].
    pub fn mcp(max_bytes: Option<u64>) -> Self {
        let asked = max_bytes.map_or(MCP_RESULT_BYTES, |bytes| {
            usize::try_from(bytes).unwrap_or(usize::MAX)
        });
        Self {
            bytes: asked.clamp(1024, MAX_RESULT_BYTES),
        }
    }

    /// What a call over plain HTTP gets: whole results, or what its `max_bytes` says.
    pub fn http(max_bytes: Option<u64>) -> Self {
        let asked = max_bytes.map_or(HTTP_RESULT_BYTES, |bytes| {
            usize::try_from(bytes).unwrap_or(usize::MAX)
        });
        Self {
            bytes: asked.clamp(1024, HTTP_RESULT_BYTES),
        }
    }

    /// This budget, or the most a call may ask for where that is more: a query's own `limit` says how much is wanted.
    #[must_use]
    pub fn raised(self) -> Self {
        Self {
            bytes: self.bytes.max(MAX_RESULT_BYTES),
        }
    }

    /// This budget for somebody without a token: 1 MiB at most.
    #[must_use]
    pub(crate) fn for_anybody(self) -> Self {
        Self {
            bytes: self.bytes.min(PUBLIC_RESULT_BYTES),
        }
    }

    /// Bytes of compact JSON.
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

/// The length of `value` as compact JSON, without writing it anywhere.
pub fn json_len(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Writing to a counter cannot fail, and every result is made of JSON values.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// Cuts the longest texts in `result` until it fits `budget`, and says so with `"truncated": true` beside them.
///
/// Tools cut at an item themselves and say how to go on; this is for one item that alone is too large. Returns whether
/// something was cut.
///
/// # Errors
///
/// When it would not fit even with its texts cut: a tool that did not keep to its budget.
pub(crate) fn fit(result: &mut Value, budget: Budget) -> Result<bool, ToolError> {
    let mut size = json_len(result);
    if size <= budget.bytes {
        return Ok(false);
    }
    let whole = size;
    let too_large = || {
        ToolError::new(
            crate::ErrorKind::TooLarge,
            format!(
                "Result of {whole} bytes is over the limit of {} bytes",
                budget.bytes
            ),
        )
        .hint(format!(
            "Ask for less, or for more room with `max_bytes` (up to {MAX_RESULT_BYTES})."
        ))
    };
    let Value::Object(object) = &mut *result else {
        return Err(too_large());
    };
    object.insert("truncated".to_owned(), Value::Bool(true));
    size = json_len(result);
    while size > budget.bytes {
        let text = longest_text(result)
            .filter(|text| text.len() > LEAST_TEXT)
            .ok_or_else(too_large)?;
        // Escaping can make a byte up to six; what that makes too little is cut in the next round.
        let keep = text
            .len()
            .saturating_sub(size - budget.bytes + '…'.len_utf8())
            .max(LEAST_TEXT / 2);
        text.truncate(text.floor_char_boundary(keep));
        text.push('…');
        size = json_len(result);
    }
    Ok(true)
}

fn longest_text(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(items) => items
            .iter_mut()
            .filter_map(longest_text)
            .max_by_key(|text| text.len()),
        Value::Object(object) => object
            .values_mut()
            .filter_map(longest_text)
            .max_by_key(|text| text.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_within_the_budget_is_left_alone() {
        let mut result = json!({ "a": "x".repeat(500) });
        assert!(!fit(&mut result, Budget { bytes: 1024 }).unwrap());
        assert_eq!(result, json!({ "a": "x".repeat(500) }));
    }

    #[test]
    fn the_longest_text_is_cut_and_the_cut_is_said() {
        for text in [
            "x".repeat(5000),
            "é".repeat(5000),
            "\n".repeat(5000),
            "\u{1}".repeat(5000),
        ] {
            let mut result = json!({ "issue": { "title": "short", "description": text } });
            assert!(fit(&mut result, Budget { bytes: 1024 }).unwrap());
            assert!(json_len(&result) <= 1024);
            assert_eq!(result["truncated"], true);
            assert_eq!(result["issue"]["title"], "short");
            assert!(
                result["issue"]["description"]
                    .as_str()
                    .unwrap()
                    .ends_with('…')
            );
        }
    }

    #[test]
    fn what_cannot_be_cut_is_an_error_that_says_both_sizes() {
        let mut result = json!({ "rows": vec!["abc"; 1000] });
        let error = fit(&mut result, Budget { bytes: 1024 }).unwrap_err();
        assert_eq!(
            error.message,
            "Result of 6010 bytes is over the limit of 1024 bytes"
        );
    }

    #[test]
    fn the_length_is_that_of_the_text() {
        let value = json!({ "a": [1, "ü\n", null], "b": { "c": 1.5 } });
        assert_eq!(json_len(&value), value.to_string().len());
    }
}
