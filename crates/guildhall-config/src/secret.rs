//! Secrets, told apart by their type.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// What stands in the place of a secret wherever one would be printed.
pub const REDACTED: &str = "[REDACTED]";

/// A value that nothing prints: `Debug`, `Display` and `Serialize` give [`REDACTED`].
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Makes a secret of `text`.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A secret: `$NAME`, the name of the environment variable that holds it",
            "examples": ["$JIRA_API_KEY"],
        })
    }
}

/// What a text written in the place of a secret is.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Written<'a> {
    /// `$NAME`, the whole value.
    Reference(&'a str),
    /// Something that looks like a reference of another kind, and how to describe it without repeating it.
    Unsupported(&'static str),
    /// The secret itself.
    Literal(&'a str),
}

/// Tells a reference to a secret from the secret.
///
/// Only `$NAME` as the whole value is a reference. A text that looks like another kind must not be taken for the
/// secret: it would be sent to the service as it stands.
pub(crate) fn written(text: &str) -> Written<'_> {
    if let Some(name) = text.strip_prefix('$').filter(|name| is_name(name)) {
        return Written::Reference(name);
    }
    if text.contains("${") {
        return Written::Unsupported("`${...}`");
    }
    if text.contains("$(") {
        return Written::Unsupported("`$(...)`");
    }
    if text.trim_start().starts_with("op://") {
        return Written::Unsupported("`op://...`");
    }
    let inside = text
        .match_indices('$')
        .any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
    if inside {
        return Written::Unsupported("`$NAME` inside other text");
    }
    Written::Literal(text)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the value of `key` is a secret, going by what it is called. For keys whose owner has not typed them.
pub(crate) fn is_secret_key(key: &str) -> bool {
    let folded: String = key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    ["apikey", "token", "password", "secret", "authorization"]
        .iter()
        .any(|end| folded.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("s3cr3t-canary");
        assert_eq!(
            format!("{secret:?} {secret} {secret:#?}"),
            "[REDACTED] [REDACTED] [REDACTED]"
        );
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"[REDACTED]\"");
        assert_eq!(secret.expose(), "s3cr3t-canary");
    }

    #[test]
    fn only_a_whole_name_is_a_reference() {
        for (text, expected) in [
            ("$JIRA_API_KEY", Written::Reference("JIRA_API_KEY")),
            ("$_x1", Written::Reference("_x1")),
            ("${JIRA_API_KEY}", Written::Unsupported("`${...}`")),
            ("Bearer ${X}", Written::Unsupported("`${...}`")),
            ("$(pass jira)", Written::Unsupported("`$(...)`")),
            ("op://vault/item/field", Written::Unsupported("`op://...`")),
            (
                "Bearer $X",
                Written::Unsupported("`$NAME` inside other text"),
            ),
            ("$X-$Y", Written::Unsupported("`$NAME` inside other text")),
            ("lin_api_abc", Written::Literal("lin_api_abc")),
            ("pa$$1", Written::Literal("pa$$1")),
            ("$", Written::Literal("$")),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
    }

    #[test]
    fn secret_keys_are_known_by_their_names() {
        for key in [
            "api_key",
            "apiKey",
            "app_token",
            "token",
            "client_secret",
            "password",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in ["project_keys", "path", "endpoint", "tokens_per_minute"] {
            assert!(!is_secret_key(key), "{key}");
        }
    }
}
