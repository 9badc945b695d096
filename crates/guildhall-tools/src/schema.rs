//! JSON Schemas from Rust types, in the dialect that Claude, OpenAI and Gemini all accept.
//!
//! The dialect: one object at the root without `anyOf`, `oneOf`, `allOf`, `not` or `if`; no `$ref`, `$defs` or `$schema`;
//! no arrays of types; property keys of `[A-Za-z0-9_.-]{1,64}`. Rules a schema cannot tell within it are checked in code.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::JsonObject;

/// The schema of a tool's arguments. Unknown arguments are refused, and unknown keys of an object inside them, so it says
/// `additionalProperties: false`: a misspelled key that changes nothing would be taken for one that was heeded.
pub fn of_arguments<T: JsonSchema>() -> JsonObject {
    let mut schema = generate::<T>(Nullable::LeftOut);
    schema.values_mut().for_each(close);
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}

/// Closes every object in `schema` whose keys are told.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.get("properties").is_some_and(Value::is_object)
                && object.get("type").is_some_and(|kind| kind == "object")
            {
                object
                    .entry("additionalProperties")
                    .or_insert(Value::Bool(false));
            }
        }
        _ => {}
    }
}

/// The schema of a tool's result.
///
/// A value that may be `null` has no `type` in it: several types in one are outside the dialect, and clients check
/// results against what is said here.
///
/// Only the result's own keys are described: what an issue or a commit is need not be told again by every tool.
pub fn of_result<T: JsonSchema>() -> JsonObject {
    let mut schema = generate::<T>(Nullable::Untyped);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property
                .iter_mut()
                .filter(|(key, _)| *key != "description")
                .for_each(|(_, part)| undescribe(part));
        }
    }
    schema
}

fn undescribe(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(undescribe),
        Value::Object(object) => {
            // A schema without a type has nothing else to say.
            if object.contains_key("type")
                && object.get("description").is_some_and(Value::is_string)
            {
                object.remove("description");
            }
            object.values_mut().for_each(undescribe);
        }
        _ => {}
    }
}

/// Adds an argument that the pipeline itself serves.
pub(crate) fn add_property(schema: &mut JsonObject, name: &str, property: Value) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(name.to_owned(), property);
    }
}

/// What becomes of "or null".
#[derive(Clone, Copy, Eq, PartialEq)]
enum Nullable {
    /// The property is left out to say "none".
    LeftOut,
    /// It can be `null`, so its type is not told.
    Untyped,
}

fn generate<T: JsonSchema>(nullable: Nullable) -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    simplify(&mut schema, nullable);
    let Value::Object(mut schema) = schema else {
        panic!("the schema of {} is an object", T::schema_name())
    };
    // The type's own documentation is for readers of the code; the tool's description is what clients see.
    schema.remove("description");
    let root = std::mem::take(&mut schema);
    let mut ordered = Map::with_capacity(root.len() + 1);
    ordered.insert("type".to_owned(), Value::from("object"));
    // Clients require `properties` beside `type: object`, also where there are none.
    ordered.insert(
        "properties".to_owned(),
        root.get("properties")
            .cloned()
            .unwrap_or_else(|| Value::Object(Map::new())),
    );
    ordered.extend(
        root.into_iter()
            .filter(|(key, _)| key != "type" && key != "properties"),
    );
    ordered
}

/// Takes out what costs tokens and what one of the large clients refuses.
fn simplify(schema: &mut Value, nullable: Nullable) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| simplify(item, nullable)),
        Value::Object(object) => {
            // A property may be called "title"; only a schema's own title is a string.
            for key in ["title", "format", "default"] {
                if key == "default" || object.get(key).is_some_and(Value::is_string) {
                    object.remove(key);
                }
            }
            single_type(object, nullable);
            constants_as_enum(object);
            object
                .values_mut()
                .for_each(|value| simplify(value, nullable));
        }
        _ => {}
    }
}

/// A choice between constants, which is how an enum with documented variants comes out, as one `enum`.
fn constants_as_enum(object: &mut JsonObject) {
    let Some(Value::Array(options)) = object.get("oneOf") else {
        return;
    };
    let constants: Option<Vec<Value>> = options
        .iter()
        .map(|option| option.get("const").cloned())
        .collect();
    if let Some(constants) = constants {
        object.remove("oneOf");
        object.insert("type".to_owned(), Value::from("string"));
        object.insert("enum".to_owned(), Value::Array(constants));
    }
}

/// `Option<T>` as T, or as anything where `null` really comes.
fn single_type(object: &mut JsonObject, nullable: Nullable) {
    if let Some(Value::Array(types)) = object.get("type") {
        let single = types.iter().find(|kind| *kind != "null").cloned();
        if nullable == Nullable::Untyped {
            object.clear();
            let kind = single.as_ref().and_then(Value::as_str).unwrap_or("value");
            object.insert("description".to_owned(), format!("{kind} or null").into());
            return;
        }
        object.insert("type".to_owned(), single.unwrap_or(Value::Null));
    }
    let is_null = |option: &Value| option.get("type") == Some(&Value::from("null"));
    if let Some(Value::Array(options)) = object.get("anyOf")
        && options.len() == 2
        && let Some(null) = options.iter().position(is_null)
        && let Some(Value::Object(kept)) = options.get(1 - null).cloned()
    {
        object.remove("anyOf");
        if nullable == Nullable::Untyped {
            object
                .entry("description")
                .or_insert_with(|| "object or null".into());
            return;
        }
        for (key, value) in kept {
            object.entry(key).or_insert(value);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    #[serde(rename_all = "camelCase")]
    struct Arguments {
        /// Which one
        issue_id: String,
        /// How many
        limit: Option<u32>,
        kind: Option<Kind>,
        inner: Option<Inner>,
        title: Option<String>,
        list: Vec<Inner>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        /// The first
        One,
        /// The second
        Two,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        a: bool,
    }

    #[test]
    fn optional_and_nested_arguments_stay_inside_the_dialect() {
        assert_eq!(
            Value::Object(of_arguments::<Arguments>()),
            json!({
                "type": "object",
                "properties": {
                    "issueId": { "description": "Which one", "type": "string" },
                    "limit": { "description": "How many", "type": "integer", "minimum": 0 },
                    "kind": { "type": "string", "enum": ["one", "two"] },
                    "inner": { "type": "object", "properties": { "a": { "type": "boolean" } }, "required": ["a"],
                        "additionalProperties": false },
                    "title": { "type": "string" },
                    "list": {
                        "type": "array",
                        "items": { "type": "object", "properties": { "a": { "type": "boolean" } }, "required": ["a"],
                        "additionalProperties": false },
                    },
                },
                "required": ["issueId", "list"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn a_result_that_may_be_null_does_not_say_its_type() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct Result {
            id: String,
            url: Option<String>,
        }
        assert_eq!(
            Value::Object(of_result::<Result>()),
            json!({
                "type": "object",
                "properties": { "id": { "type": "string" }, "url": { "description": "string or null" } },
                "required": ["id"],
            })
        );
    }

    #[test]
    fn a_tool_without_arguments_still_has_properties() {
        #[derive(Deserialize, JsonSchema)]
        struct Nothing {}
        assert_eq!(
            Value::Object(of_arguments::<Nothing>()),
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        );
    }
}
