//! Options that their pack or tracker reads itself: kept as they were written, secrets resolved.

use serde::{Serialize, Serializer};

use crate::reader::{Found, Reading, camel_case};
use crate::secret::{Secret, is_secret_key};
use crate::yaml::{Key, Node, Value};

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// Came from the environment, or is a secret by its key.
    Secret(Secret),
    /// A truth value, a number or a text that stands in the file.
    Plain(serde_json::Value),
    /// A list.
    List(Vec<OptionValue>),
    /// A map, in the order of the file.
    Map(Vec<(String, OptionValue)>),
}

impl OptionValue {
    /// The text, whether secret or not.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Secret(secret) => Some(secret.expose()),
            Self::Plain(value) => value.as_str(),
            Self::List(_) | Self::Map(_) => None,
        }
    }
}

impl Serialize for OptionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Secret(secret) => secret.serialize(serializer),
            Self::Plain(value) => value.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Map(entries) => Shown(entries).serialize(serializer),
        }
    }
}

/// The option `key`, which is given in the form `snake_case`, in either spelling.
pub(crate) fn find<'o>(options: &'o [(String, OptionValue)], key: &str) -> Option<&'o OptionValue> {
    let humped = camel_case(key);
    options
        .iter()
        .find(|(name, _)| name == key || *name == humped)
        .map(|(_, value)| value)
}

/// The options of the pack at `path`: a text that is `$NAME` is that variable's value.
pub(crate) fn read(
    path: &str,
    entries: &[(Key, Node)],
    reading: &mut Reading<'_>,
) -> Vec<(String, OptionValue)> {
    let mut options = Vec::new();
    for (key, node) in entries {
        let found = Found {
            path: format!("{path}.{}", key.name),
            node,
        };
        let value = match &node.value {
            // Paths have references of their own; the pack's typed options hold them resolved.
            Value::Text(_) if path == "tools.local" => Some(OptionValue::Plain(node.to_json())),
            _ => option(&key.name, &found, reading),
        };
        options.extend(value.map(|value| (key.name.clone(), value)));
    }
    options
}

/// The option `key`, or `None` for nothing.
pub(crate) fn option(
    key: &str,
    found: &Found<'_>,
    reading: &mut Reading<'_>,
) -> Option<OptionValue> {
    value(found, is_secret_key(key), reading)
}

/// `secret` says that texts are secrets, going by the keys above them.
fn value(found: &Found<'_>, secret: bool, reading: &mut Reading<'_>) -> Option<OptionValue> {
    let inner = |path: String, node| Found { path, node };
    Some(match &found.node.value {
        Value::Null => return None,
        Value::Text(text) if secret || text.starts_with('$') || text.starts_with("op://") => {
            OptionValue::Secret(reading.secret(found, text)?)
        }
        Value::List(items) => OptionValue::List(
            items
                .iter()
                .enumerate()
                .map(|(index, node)| inner(format!("{}[{index}]", found.path), node))
                .filter_map(|item| value(&item, secret, reading))
                .collect(),
        ),
        Value::Map(entries) => OptionValue::Map(
            entries
                .iter()
                .filter_map(|(key, node)| {
                    let item = inner(format!("{}.{}", found.path, key.name), node);
                    let secret = secret || is_secret_key(&key.name) || key.name == "headers";
                    Some((key.name.clone(), value(&item, secret, reading)?))
                })
                .collect(),
        ),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            OptionValue::Plain(found.node.to_json())
        }
    })
}

/// Options as they are shown.
pub(crate) struct Shown<'a>(pub(crate) &'a [(String, OptionValue)]);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
