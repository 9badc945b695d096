//! Arguments: what models send, made into what the schema says, or a message that helps them to send it.

use std::collections::BTreeMap;

use guildhall_core::suggest::did_you_mean;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::{Number, Value};

use crate::{Check, JsonObject, ToolError};

/// Longest excerpt of an argument that a message repeats, in characters.
const EXCERPT: usize = 80;

/// What a tool's argument schema asks for, compiled once when the tool is made.
pub(crate) struct ArgumentRules {
    validator: Validator,
    schema: Value,
    /// Every argument, with whether it is required and the one type it has.
    properties: BTreeMap<String, Property>,
}

struct Property {
    required: bool,
    kind: Option<String>,
}

impl ArgumentRules {
    pub(crate) fn compile(schema: &JsonObject) -> Self {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, property)| {
                let kind = property
                    .get("type")
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                (
                    name.clone(),
                    Property {
                        required: required.contains(&name.as_str()),
                        kind,
                    },
                )
            })
            .collect();
        let schema = Value::Object(schema.clone());
        let validator =
            jsonschema::draft202012::new(&schema).expect("schemas made from types compile");
        Self {
            validator,
            schema,
            properties,
        }
    }

    /// Whether there is an argument `name`.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.properties.contains_key(name)
    }

    /// The arguments ready for the handler. In this order: objects and arrays that arrived as JSON strings are parsed,
    /// `check` looks, required strings must be there, unknown names are refused, `null` for an optional argument means
    /// not given, the schema decides the rest, and whole numbers that came as `2.0` are made `2`.
    pub(crate) fn accept(
        &self,
        mut arguments: JsonObject,
        check: Option<Check>,
    ) -> Result<JsonObject, ToolError> {
        self.parse_stringified(&mut arguments);
        if let Some(check) = check {
            check(&arguments)?;
        }
        let unknown = arguments
            .keys()
            .find(|name| !self.properties.contains_key(*name));
        for (name, property) in &self.properties {
            if property.required
                && property.kind.as_deref() == Some("string")
                && arguments
                    .get(name)
                    .and_then(Value::as_str)
                    .is_none_or(|text| text.trim().is_empty())
            {
                let error = ToolError::required(name);
                // The missing one is likely there under another spelling.
                return Err(
                    match unknown.filter(|given| did_you_mean(given, [name.as_str()]).is_some()) {
                        Some(given) => error.hint(format!("Found '{}' instead.", excerpt(given))),
                        None => error,
                    },
                );
            }
        }
        if let Some(name) = unknown {
            return Err(self.unknown(name));
        }
        arguments.retain(|name, value| !value.is_null() || self.properties[name.as_str()].required);
        let mut arguments = Value::Object(arguments);
        // Nearly all fit, and only to tell what does not takes time.
        if !self.validator.is_valid(&arguments)
            && let Err(error) = self.validator.validate(&arguments)
        {
            return Err(explain(&error));
        }
        whole_numbers(&mut arguments, &self.schema, "")?;
        let Value::Object(arguments) = arguments else {
            unreachable!("made an object above")
        };
        Ok(arguments)
    }

    /// Models send `"{\"field\": ...}"` where an object is asked for; only where the schema asks for one is it parsed.
    fn parse_stringified(&self, arguments: &mut JsonObject) {
        for (name, value) in arguments.iter_mut() {
            let Some(Property {
                kind: Some(kind), ..
            }) = self.properties.get(name)
            else {
                continue;
            };
            let Value::String(text) = value else { continue };
            let parsed = match kind.as_str() {
                "object" => serde_json::from_str(text).ok().filter(Value::is_object),
                "array" => serde_json::from_str(text).ok().filter(Value::is_array),
                _ => None,
            };
            if let Some(parsed) = parsed {
                *value = parsed;
            }
        }
    }

    fn unknown(&self, name: &str) -> ToolError {
        let known = self.properties.keys().map(String::as_str);
        let error = if self.properties.is_empty() {
            ToolError::bad_arguments(format!(
                "Unknown argument '{}': this tool takes none",
                excerpt(name)
            ))
        } else {
            let list = self
                .properties
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            ToolError::bad_arguments(format!(
                "Unknown argument '{}': allowed are {list}",
                excerpt(name)
            ))
        };
        match did_you_mean(name, known) {
            Some(near) => error.hint(format!("Did you mean '{near}'?")),
            None => error,
        }
    }
}

/// Makes `2.0` into `2` wherever the schema asks for an integer: to JSON Schema it is one. `value` fits `schema`, and
/// stands at `pointer`.
fn whole_numbers(value: &mut Value, schema: &Value, pointer: &str) -> Result<(), ToolError> {
    match value {
        Value::Number(number) if number.is_f64() && schema["type"] == "integer" => {
            let whole = number.as_f64().and_then(whole);
            let Some(whole) = whole else {
                return Err(ToolError::bad_arguments(format!(
                    "'{}' must be an integer of at most 64 bits, not {number}",
                    dotted(pointer)
                )));
            };
            *number = whole;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().enumerate().try_for_each(|(n, item)| {
            let at = || format!("{pointer}/{n}");
            nested(item, &schema["items"], at)
        }),
        Value::Object(object) => object.iter_mut().try_for_each(|(key, item)| {
            let at = || format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            nested(item, &schema["properties"][key.as_str()], at)
        }),
        _ => Ok(()),
    }
}

/// As [`whole_numbers`] for what can hold a number at all; where it stands is only then put together.
fn nested(value: &mut Value, schema: &Value, at: impl FnOnce() -> String) -> Result<(), ToolError> {
    match value {
        Value::Number(number) if !number.is_f64() => Ok(()),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            whole_numbers(value, schema, &at())
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// The integer that `number`, one without a fraction, is.
fn whole(number: f64) -> Option<Number> {
    let text = format!("{number:.0}");
    let signed = text.parse::<i64>().map(Number::from);
    signed
        .or_else(|_| text.parse::<u64>().map(Number::from))
        .ok()
}

/// One schema violation as a sentence: which key, what was given, what is allowed.
fn explain(error: &ValidationError<'_>) -> ToolError {
    let path = dotted(&error.instance_path().to_string());
    let given = excerpt(&error.instance().to_string());
    let key = if path.is_empty() {
        "The arguments".to_owned()
    } else {
        format!("'{path}'")
    };
    let message = match error.kind() {
        ValidationErrorKind::Type {
            kind: TypeKind::Single(kind),
        } => {
            format!("{key} must be {}, not {given}", article(&kind.to_string()))
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = options
                .as_array()
                .into_iter()
                .flatten()
                .map(ToString::to_string)
                .collect();
            format!("{key} must be one of {}, not {given}", options.join(", "))
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let name = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            };
            return ToolError::required(&name);
        }
        ValidationErrorKind::Minimum { limit } => {
            format!("{key} must be at least {limit}, not {given}")
        }
        ValidationErrorKind::Maximum { limit } => {
            format!("{key} must be at most {limit}, not {given}")
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("{key} must have at most {limit} characters")
        }
        ValidationErrorKind::MinLength { limit } => {
            format!("{key} must have at least {limit} characters, not {given}")
        }
        ValidationErrorKind::MaxItems { limit } => format!("{key} must have at most {limit} items"),
        ValidationErrorKind::MinItems { limit } => {
            format!("{key} must have at least {limit} items, not {given}")
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            format!(
                "{key} has an unknown key '{}'",
                excerpt(unexpected.first().map_or("", String::as_str))
            )
        }
        other => format!(
            "{key} breaks the rule `{}` of the schema: {given}",
            other.keyword()
        ),
    };
    ToolError::bad_arguments(message)
}

/// `/files/0/path` as `files[0].path`.
fn dotted(pointer: &str) -> String {
    let mut path = String::with_capacity(pointer.len());
    for part in pointer.split('/').skip(1) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() && !path.is_empty() {
            path.push('[');
            path.push_str(part);
            path.push(']');
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    excerpt(&path)
}

fn article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
}

/// At most [`EXCERPT`] characters of `text`, without control characters: it may stand in a terminal or a log.
pub(crate) fn excerpt(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(EXCERPT)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(EXCERPT).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules() -> ArgumentRules {
        let schema = json!({
            "type": "object",
            "properties": {
                "issueId": { "type": "string" },
                "limit": { "type": "integer", "minimum": 1 },
                "where": { "type": "object" },
                "files": {
                    "type": "array",
                    "items": { "type": "object", "properties": { "line": { "type": "integer" } } },
                },
                "select": { "type": "array", "items": { "type": "string" } },
                "status": { "type": "string", "enum": ["ack", "blocked"] },
            },
            "required": ["issueId"],
            "additionalProperties": false,
        });
        let Value::Object(schema) = schema else {
            unreachable!()
        };
        ArgumentRules::compile(&schema)
    }

    fn accept(arguments: Value) -> Result<Value, String> {
        let Value::Object(arguments) = arguments else {
            unreachable!()
        };
        rules()
            .accept(arguments, None)
            .map(Value::Object)
            .map_err(|error| {
                std::iter::once(error.message)
                    .chain(error.hints)
                    .collect::<Vec<_>>()
                    .join(" | ")
            })
    }

    #[test]
    fn faults_name_the_key_what_was_given_and_what_is_allowed() {
        for (given, message) in [
            (json!({}), "'issueId' is required"),
            (json!({ "issueId": " " }), "'issueId' is required"),
            (json!({ "issueId": 7 }), "'issueId' is required"),
            (
                json!({ "issue_id": "x" }),
                "'issueId' is required | Found 'issue_id' instead.",
            ),
            (
                json!({ "issueId": "x", "limits": 1 }),
                "Unknown argument 'limits': allowed are files, issueId, limit, select, status, where | Did you mean 'limit'?",
            ),
            (
                json!({ "issueId": "x", "limit": "5" }),
                "'limit' must be an integer, not \"5\"",
            ),
            (
                json!({ "issueId": "x", "limit": 0 }),
                "'limit' must be at least 1, not 0",
            ),
            (
                json!({ "issueId": "x", "select": [1] }),
                "'select[0]' must be a string, not 1",
            ),
            (
                json!({ "issueId": "x", "status": "ok" }),
                "'status' must be one of \"ack\", \"blocked\", not \"ok\"",
            ),
            (
                json!({ "issueId": "x", "where": "[1]" }),
                "'where' must be an object, not \"[1]\"",
            ),
        ] {
            assert_eq!(accept(given.clone()).unwrap_err(), message, "{given}");
        }
    }

    #[test]
    fn objects_and_arrays_sent_as_strings_are_parsed_where_the_schema_asks_for_them() {
        assert_eq!(
            accept(json!({ "issueId": "{}", "where": "{\"a\":1}", "select": "[\"id\"]" })).unwrap(),
            json!({ "issueId": "{}", "where": { "a": 1 }, "select": ["id"] })
        );
    }

    #[test]
    fn a_whole_number_is_an_integer_however_it_is_written() {
        for (given, taken) in [
            (json!(2.0), json!(2)),
            (json!(1e3), json!(1000)),
            (json!(7), json!(7)),
        ] {
            assert_eq!(
                accept(json!({ "issueId": "x", "limit": given, "files": [{ "line": given }] }))
                    .unwrap(),
                json!({ "issueId": "x", "limit": taken, "files": [{ "line": taken }] }),
            );
        }
        for (given, message) in [
            (
                json!({ "limit": 2.5 }),
                "'limit' must be an integer, not 2.5",
            ),
            (
                json!({ "limit": 1e300 }),
                "'limit' must be an integer of at most 64 bits, not 1e+300",
            ),
            (
                json!({ "files": [{ "line": 1e300 }] }),
                "'files[0].line' must be an integer of at most 64 bits, not 1e+300",
            ),
        ] {
            let mut arguments = given.clone();
            arguments["issueId"] = json!("x");
            assert_eq!(accept(arguments).unwrap_err(), message, "{given}");
        }
        // Where no integer is asked for, what was sent stays.
        let given = json!({ "issueId": "x", "where": { "value": 2.0 } });
        assert_eq!(
            accept(given.clone()).unwrap().to_string(),
            given.to_string()
        );
    }

    #[test]
    fn null_for_an_optional_argument_is_not_given() {
        assert_eq!(
            accept(json!({ "issueId": "x", "limit": null })).unwrap(),
            json!({ "issueId": "x" })
        );
    }

    #[test]
    fn messages_stay_short_and_printable_whatever_was_sent() {
        let message = accept(json!({ "issueId": "x", "\u{1b}[2J": 1 })).unwrap_err();
        assert!(!message.contains('\u{1b}'), "{message:?}");
        let message = accept(json!({ "issueId": "x", "limit": "9".repeat(10_000) })).unwrap_err();
        assert!(message.len() < 300, "{}", message.len());
    }
}
