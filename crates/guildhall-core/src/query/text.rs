//! Substrings: without case, and of the text form that an array's elements are searched in.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::field::double;

/// Up to this length a needle is looked for at every position of an ASCII text; a longer one could make that quadratic.
const SHORT_NEEDLE: usize = 32;

/// What a `contains` looks for.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    /// Lower-cased already where `ignore_case` is set.
    text: Box<str>,
    ignore_case: bool,
}

impl Needle {
    pub(super) fn new(text: &str, ignore_case: bool) -> Self {
        let text = if ignore_case {
            text.to_lowercase().into()
        } else {
            text.into()
        };
        Self { text, ignore_case }
    }

    /// Without case both sides are lower-cased by Unicode's default mapping; nothing is folded, so `SS` is not `ß`.
    pub(super) fn is_in(&self, text: &str) -> bool {
        if !self.ignore_case {
            return text.contains(&*self.text);
        }
        if text.is_ascii() {
            // Lower-casing keeps ASCII in ASCII, so that a needle outside of it cannot be found.
            if !self.text.is_ascii() {
                return false;
            }
            if self.text.len() <= SHORT_NEEDLE {
                return contains_ascii(text.as_bytes(), self.text.as_bytes());
            }
        }
        text.to_lowercase().contains(&*self.text)
    }

    /// Whether the needle is in any element; elements that are not strings are searched in their text form.
    pub(super) fn is_in_any(&self, elements: &[Value]) -> bool {
        elements
            .iter()
            .any(|element| self.is_in(&text_form(element)))
    }
}

fn contains_ascii(text: &[u8], needle: &[u8]) -> bool {
    let Some((first, rest)) = needle.split_first() else {
        return true;
    };
    let upper = first.to_ascii_uppercase();
    text.len() >= needle.len()
        && (0..=text.len() - needle.len()).any(|at| {
            (text[at] == *first || text[at] == upper)
                && text[at + 1..at + needle.len()].eq_ignore_ascii_case(rest)
        })
}

/// The text form of an array's element: a string is itself, a number or `null` as JavaScript's `String` writes it.
fn text_form(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "null".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(number) => number_text(double(number)).into(),
        Value::String(text) => text.as_str().into(),
        Value::Object(_) => "[object Object]".into(),
        Value::Array(elements) => {
            let mut joined = String::new();
            join(elements, &mut joined);
            joined.into()
        }
    }
}

/// Nested arrays are joined by commas, and a `null` among them is empty.
fn join(elements: &[Value], joined: &mut String) {
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            joined.push(',');
        }
        match element {
            Value::Null => {}
            Value::Array(inner) => join(inner, joined),
            other => joined.push_str(&text_form(other)),
        }
    }
}

/// A number as ECMAScript's `Number::toString` writes it: plain from 1e-6 up to 1e21, with an exponent outside.
fn number_text(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&size) {
        return number.to_string();
    }
    let mut text = String::new();
    // Rust writes `1e21` and `1.5e-7`; only the sign of a positive exponent is missing.
    let _ = write!(text, "{number:e}");
    match text.find('e') {
        Some(at) if !text[at + 1..].starts_with('-') => text.insert(at + 1, '+'),
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_in_javascript() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-1.25e22, "-1.25e+22"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(number_text(number), text);
        }
    }

    #[test]
    fn text_forms_are_those_of_javascript() {
        for (value, text) in [
            (json!(null), "null"),
            (json!(true), "true"),
            (json!(false), "false"),
            (json!("x"), "x"),
            (json!({"a": 1}), "[object Object]"),
            (json!([1, null, [2, {}], "x"]), "1,,2,[object Object],x"),
        ] {
            assert_eq!(text_form(&value), text, "{value}");
        }
    }

    #[test]
    fn case_is_ignored_by_lower_casing_both_sides() {
        let long = "ab".repeat(40);
        for (text, needle, found) in [
            ("Hello World", "WORLD", true),
            ("Hello World", "worlds", false),
            ("Hello", "", true),
            ("", "", true),
            ("", "a", false),
            ("a", "ab", false),
            ("aaab", "AAB", true),
            ("straße", "STRASSE", false),
            ("STRASSE", "ß", false),
            ("ÄRGER", "är", true),
            ("\u{212a}elvin", "KELVIN", true), // the Kelvin sign lower-cases to an ASCII k
            ("kelvin", "\u{212a}", true),
            ("ascii only", "é", false),
            (long.as_str(), &long.to_uppercase(), true),
            ("\u{1f600} SMILE", "\u{1f600} smile", true),
        ] {
            assert_eq!(
                Needle::new(needle, true).is_in(text),
                found,
                "{needle:?} in {text:?}"
            );
        }
    }

    #[test]
    fn case_counts_unless_ignored() {
        assert!(Needle::new("Hello", false).is_in("Hello"));
        assert!(!Needle::new("hello", false).is_in("Hello"));
    }
}
