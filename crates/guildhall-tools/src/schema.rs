//! JSON Schemas from Rust types, in the dialect that Claude, OpenAI and Gemini all accept.
//!
//! The dialect: one object at the root without `anyOf`, `oneOf`, `allOf`, `not` or `if`; no `$ref`, `$defs` or `$schema`;
//! no arrays of types; property keys of `[A-Za-z0-9_.-]{1,64}`. Rules a schema cannot tell within it are checked in code.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::JsonObject;

/// The schema of a tool's arguments. Unknown arguments are refused, so it says `additionalProperties: false`.
pub fn of_arguments<T: JsonSchema>() -> JsonObject {
    let mut schema = generate::<T>();
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}

/// The schema of a tool's result.
pub fn of_result<T: JsonSchema>() -> JsonObject {
    generate::<T>()
}

fn generate<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    simplify(&mut schema);
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
fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(object) => {
            // A property may be called "title"; only a schema's own title is a string.
            for key in ["title", "format", "default"] {
                if key == "default" || object.get(key).is_some_and(Value::is_string) {
                    object.remove(key);
                }
            }
            if let Some(Value::Array(types)) = object.get("type") {
                let single = types.iter().find(|kind| *kind != "null").cloned();
                object.insert("type".to_owned(), single.unwrap_or(Value::Null));
            }
            // `Option<T>` of a T that is not one plain type: keep T. Leaving the property out says "none".
            if let Some(Value::Array(options)) = object.get("anyOf")
                && options.len() == 2
                && let Some(null) = options
                    .iter()
                    .position(|option| option.get("type") == Some(&Value::from("null")))
                && let Some(Value::Object(kept)) = options.get(1 - null).cloned()
            {
                object.remove("anyOf");
                for (key, value) in kept {
                    object.entry(key).or_insert(value);
                }
            }
            if let Some(Value::Array(options)) = object.get_mut("enum") {
                options.retain(|option| !option.is_null());
            }
            object.values_mut().for_each(simplify);
        }
        _ => {}
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
        One,
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
                    "inner": { "type": "object", "properties": { "a": { "type": "boolean" } }, "required": ["a"] },
                    "title": { "type": "string" },
                    "list": {
                        "type": "array",
                        "items": { "type": "object", "properties": { "a": { "type": "boolean" } }, "required": ["a"] },
                    },
                },
                "required": ["issueId", "list"],
                "additionalProperties": false,
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
