//! What a tool's listing must keep to, checked when packs are mounted: one bad tool costs some clients all of them.
//!
//! The rules are what Claude, OpenAI, Gemini and the official MCP clients refuse.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{JsonObject, Tool};

/// Longest tool name: with `mcp__<server>__` before it, clients stay within their 64.
const NAME: usize = 40;

/// What is wrong with how `tool` would be listed; empty when nothing is.
pub fn tool(tool: &Tool) -> Vec<String> {
    let mut problems = Vec::new();
    let name = tool.name();
    if name.is_empty()
        || name.len() > NAME
        || !name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    {
        problems.push(format!("the name must be 1 to {NAME} of `A-Za-z0-9_-`"));
    }
    if tool.description().trim().is_empty() {
        problems.push("it has no description".to_owned());
    }
    for (which, schema) in [
        ("arguments", tool.input_schema()),
        ("result", tool.output_schema()),
    ] {
        problems.extend(
            self::schema(schema)
                .into_iter()
                .map(|problem| format!("{which}: {problem}")),
        );
    }
    problems
}

/// What is wrong with one schema of a tool.
pub fn schema(schema: &JsonObject) -> Vec<String> {
    let mut problems = BTreeSet::new();
    if schema.get("type") != Some(&Value::from("object")) {
        problems.insert("the root must have `type: object`".to_owned());
    }
    for key in ["anyOf", "oneOf", "allOf", "not", "if", "then", "else"] {
        if schema.contains_key(key) {
            problems.insert(format!("the root must not have `{key}`"));
        }
    }
    subschema("", &Value::Object(schema.clone()), &mut problems);
    problems.into_iter().collect()
}

fn subschema(path: &str, schema: &Value, problems: &mut BTreeSet<String>) {
    let Value::Object(schema) = schema else {
        problems.insert(format!(
            "`{path}` must be an object, not a bare true or false"
        ));
        return;
    };
    for key in [
        "$ref",
        "$defs",
        "$schema",
        "definitions",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
    ] {
        if schema.contains_key(key) {
            problems.insert(format!("`{path}` must not have `{key}`"));
        }
    }
    match schema.get("type") {
        Some(Value::String(kind)) => {
            if kind == "array" && !schema.contains_key("items") {
                problems.insert(format!("`{path}` is an array and must say its `items`"));
            }
            if kind != "object"
                && (schema.contains_key("properties") || schema.contains_key("required"))
            {
                problems.insert(format!(
                    "`{path}` is no object and must not have `properties` or `required`"
                ));
            }
        }
        Some(_) => {
            problems.insert(format!("`{path}` must have one `type`, not several"));
        }
        None if schema.is_empty() => {
            problems.insert(format!("`{path}` must say something"));
        }
        // A result that may be null has no type, but clients warn about schemas that say nothing at all.
        None => {}
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (key, property) in properties {
            if key.is_empty()
                || key.len() > 64
                || !key
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
            {
                problems.insert(format!("the key `{key}` must be 1 to 64 of `A-Za-z0-9_.-`"));
            }
            subschema(&format!("{path}/{key}"), property, problems);
        }
    }
    if let Some(items) = schema.get("items") {
        subschema(&format!("{path}[]"), items, problems);
    }
    if let Some(additional @ Value::Object(_)) = schema.get("additionalProperties") {
        subschema(&format!("{path}/*"), additional, problems);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_that_break_clients_are_found() {
        for (given, problem) in [
            (json!({}), "the root must have `type: object`"),
            (
                json!({ "type": "object", "oneOf": [] }),
                "the root must not have `oneOf`",
            ),
            (
                json!({ "type": "object", "$schema": "x" }),
                "`` must not have `$schema`",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "$ref": "x" } } }),
                "`/a` must not have `$ref`",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": ["string", "null"] } } }),
                "`/a` must have one `type`, not several",
            ),
            (
                json!({ "type": "object", "properties": { "a": true } }),
                "`/a` must be an object, not a bare true or false",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "array" } } }),
                "`/a` is an array and must say its `items`",
            ),
            (
                json!({ "type": "object", "properties": { "a b": { "type": "string" } } }),
                "the key `a b` must be 1 to 64 of `A-Za-z0-9_.-`",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "anyOf": [] } } } }),
                "`/a[]` must not have `anyOf`",
            ),
        ] {
            let Value::Object(object) = &given else {
                unreachable!()
            };
            assert!(
                schema(object).contains(&problem.to_owned()),
                "{given}: {:?}",
                schema(object)
            );
        }
    }

    #[test]
    fn a_plain_schema_passes() {
        let Value::Object(object) = json!({
            "type": "object",
            "properties": { "a": { "type": "array", "items": { "type": "string" } } },
            "additionalProperties": false,
        }) else {
            unreachable!()
        };
        assert_eq!(schema(&object), [""; 0]);
    }
}
