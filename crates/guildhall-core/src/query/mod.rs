//! The read-only query language.

use serde_json::Value;

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
