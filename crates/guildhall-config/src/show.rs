//! The settings in effect, for people.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::Settings;
use crate::sections::trackers::Tracker;

impl Settings {
    /// The settings in effect, as they would stand in a file, secrets replaced.
    pub fn show(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The same as YAML. Each value that is the default says so, and each that is not says what the default would be.
    /// `base` is the folder of the settings file.
    pub fn show_yaml(&self, base: &Path) -> String {
        let mut defaults = Self::defaults(base);
        defaults.trackers = self
            .trackers
            .iter()
            .map(|(name, tracker)| (name.clone(), Tracker::defaults(tracker.provider, base)))
            .collect();
        let mut yaml = String::new();
        write_value(&self.show(), Some(&defaults.show()), 0, &mut yaml);
        yaml
    }
}

/// Writes a map's entries, each on a line of its own.
fn write_value(value: &Value, default: Option<&Value>, depth: usize, yaml: &mut String) {
    let Value::Object(entries) = value else {
        return;
    };
    for (key, value) in entries {
        let default = default.and_then(|default| default.get(key));
        let _ = write!(yaml, "{:indent$}{}:", "", scalar(key), indent = depth * 2);
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                yaml.push('\n');
                write_value(value, default, depth + 1, yaml);
            }
            _ => {
                let _ = writeln!(yaml, " {}{}", flow(value), remark(value, default));
            }
        }
    }
}

fn remark(value: &Value, default: Option<&Value>) -> String {
    match default {
        Some(default) if default == value => "  # default".to_owned(),
        Some(default) => format!("  # default: {}", flow(default)),
        None => String::new(),
    }
}

/// A value on one line. JSON is YAML; texts that need no quotes go without.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        _ => value.to_string(),
    }
}

fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' '))
        && !text.ends_with(' ')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word));
    if plain {
        text.to_owned()
    } else {
        Value::String(text.to_owned()).to_string()
    }
}
