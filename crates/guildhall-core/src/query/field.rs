//! Records, and what stands in their fields.

use serde_json::{Map, Number, Value};

/// One field of a record, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub enum FieldRef<'a> {
    /// Present, and nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An IEEE double.
    Number(f64),
    /// A string.
    Text(&'a str),
    /// An array of strings.
    Texts(&'a [String]),
    /// Anything else, as JSON.
    Json(&'a Value),
}

/// What a query runs over.
pub trait Record {
    /// The field `name`, or `None` where the record has none. Names are flat: no paths, no inherited names.
    fn field(&self, name: &str) -> Option<FieldRef<'_>>;
}

impl<T: Record + ?Sized> Record for &T {
    fn field(&self, name: &str) -> Option<FieldRef<'_>> {
        (**self).field(name)
    }
}

impl Record for Map<String, Value> {
    fn field(&self, name: &str) -> Option<FieldRef<'_>> {
        self.get(name).map(FieldRef::from)
    }
}

impl<'a> From<&'a Value> for FieldRef<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => Self::Number(double(number)),
            Value::String(text) => Self::Text(text),
            Value::Array(_) | Value::Object(_) => Self::Json(value),
        }
    }
}

impl FieldRef<'_> {
    /// The same field with a scalar in its own variant, where it was given as JSON.
    pub(super) fn normal(self) -> Self {
        match self {
            Self::Json(value) => Self::from(value),
            other => other,
        }
    }

    /// The field as JSON; a whole number is written without a fraction.
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(truth),
            Self::Number(number) => number_value(number),
            Self::Text(text) => Value::String(text.to_owned()),
            Self::Texts(texts) => texts.iter().map(String::as_str).collect(),
            Self::Json(value) => value.clone(),
        }
    }
}

/// A JSON number as the IEEE double that the language computes with.
pub(super) fn double(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// The largest number up to which every integer is a double of its own.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

fn number_value(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an integer of at most 53 bits fits"
        )]
        return Value::from(number as i64);
    }
    Value::from(number)
}
