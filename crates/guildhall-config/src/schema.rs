//! The JSON Schema of the whole file.

use schemars::generate::SchemaSettings;

use serde_json::Value;

use crate::Settings;

/// The JSON Schema (2020-12) of the front matter of `WORKFLOW.md`, for `guildhall config schema` and for editors.
///
/// It is made of the very structs that hold the settings, so their comments are its descriptions. Keys are listed in
/// the form `snake_case`; reading takes `camelCase` as well.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<Settings>()
        .to_value();
    unwrap_descriptions(&mut schema);
    schema
}

/// Joins the lines of descriptions: where a comment is wrapped is of no interest outside the source.
fn unwrap_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(text) if key == "description" => *text = text.replace('\n', " "),
                    _ => unwrap_descriptions(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_descriptions),
        _ => {}
    }
}
