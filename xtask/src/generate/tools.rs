//! The tools: what each is for, what it takes and what it returns, from the listing that every client sees.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Program;

pub(super) fn page(program: &Program) -> Result<String> {
    let tools = list(program)?;
    let mut page = String::from(
        "# Tools\n\nMade by `cargo xtask generate write` from the tools that the program lists.\n",
    );
    for tool in &tools {
        tool.write(&mut page)?;
    }
    Ok(page)
}

fn list(program: &Program) -> Result<Vec<Tool>> {
    let json = super::asked(program, &["tools", "--json"])?;
    serde_json::from_str(&json).context("The program did not print a list of tools")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    title: String,
    description: String,
    input_schema: Map<String, Value>,
    output_schema: Map<String, Value>,
    annotations: Annotations,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the four hints that MCP defines"
)]
struct Annotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl Annotations {
    fn words(&self) -> String {
        let mut words = vec![if self.read_only_hint {
            "reads only"
        } else {
            "writes"
        }];
        if self.destructive_hint {
            words.push("may destroy what was there");
        }
        if self.idempotent_hint && !self.read_only_hint {
            words.push("twice is once");
        }
        if self.open_world_hint {
            words.push("reaches beyond this server");
        }
        words.join(", ")
    }
}

impl Tool {
    fn write(&self, page: &mut String) -> Result<()> {
        let Self {
            name,
            title,
            description,
            ..
        } = self;
        write!(
            page,
            "\n## `{name}`\n\n{title} ({}).\n\n{description}\n",
            self.annotations.words()
        )?;
        write!(
            page,
            "\nTakes:\n\n{}",
            table(&self.input_schema, "Required.")
        )?;
        write!(
            page,
            "\nReturns:\n\n{}",
            table(&self.output_schema, "Always there.")
        )?;
        Ok(())
    }
}

/// The properties of an object's schema, those of objects within it under dotted names. `required` is what is said of
/// the properties that may not be missing.
fn table(schema: &Map<String, Value>, required: &str) -> String {
    let mut rows = String::new();
    add_rows(schema, "", required, &mut rows);
    if rows.is_empty() {
        return "Nothing.\n".to_owned();
    }
    format!("| name | type | |\n| --- | --- | --- |\n{rows}")
}

fn add_rows(schema: &Map<String, Value>, prefix: &str, required: &str, rows: &mut String) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    let names = schema.get("required").and_then(Value::as_array);
    for (name, property) in properties {
        let mut about = Vec::new();
        if names.is_some_and(|names| names.iter().any(|entry| entry == name)) {
            about.push(required.to_owned());
        }
        if let Some(description) = property["description"].as_str() {
            about.push(cell(description));
        }
        if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
            about.push(format!("Default `{}`.", cell(&default.to_string())));
        }
        let kind = cell(&kind(property));
        let row = format!("| `{prefix}{name}` | {kind} | {} |\n", about.join(" "));
        rows.push_str(&row);

        let (inner, dots) = match property["items"].as_object() {
            Some(items) => (Some(items), "[]."),
            None => (property.as_object(), "."),
        };
        if let Some(inner) = inner {
            add_rows(inner, &format!("{prefix}{name}{dots}"), required, rows);
        }
    }
}

/// The type in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return values.join(", ");
    }
    match schema["type"].as_str() {
        Some("array") => format!("array of {}", kind(&schema["items"])),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

/// Text that keeps within its cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::table;

    #[test]
    fn a_table_names_what_lies_within_objects_and_lists() {
        let schema = json!({
            "type": "object",
            "required": ["issue"],
            "properties": {
                "issue": { "type": "object", "properties": { "id": { "type": "string" } } },
                "rows": { "type": "array", "description": "a | b", "items": {
                    "type": "object", "properties": { "state": { "enum": ["Todo"] } } } },
            },
        });
        let schema = schema.as_object().expect("an object");
        assert_eq!(
            table(schema, "Required."),
            "| name | type | |\n\
             | --- | --- | --- |\n\
             | `issue` | object | Required. |\n\
             | `issue.id` | string |  |\n\
             | `rows` | array of object | a \\| b |\n\
             | `rows[].state` | `\"Todo\"` |  |\n"
        );
    }

    #[test]
    fn an_object_without_properties_is_nothing() {
        let schema = json!({ "type": "object" });
        assert_eq!(
            table(schema.as_object().expect("an object"), ""),
            "Nothing.\n"
        );
    }
}
