//! `docs/configuration.md` says what is so.

use std::collections::BTreeMap;
use std::path::Path;

use guildhall_config::{env_vars, schema};
use serde_json::Value;

use crate::Folder;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    std::fs::read_to_string(path).unwrap()
}

/// The fenced examples of `language`.
fn examples(language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let page = page();
    let parts = page.split(&opening).skip(1);
    parts
        .map(|part| part.split("```\n").next().unwrap().to_owned())
        .collect()
}

/// The rows of the section's table: the key and its default as they are written.
fn rows(heading: &str) -> BTreeMap<String, String> {
    let page = page();
    let start = page.find(&format!("\n## {heading}\n")).expect(heading) + 1;
    let section = page[start..].split("\n## ").next().unwrap();
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|line| {
            let (key, rest) = line.split_once("` |").unwrap();
            let default = rest.split('|').next().unwrap();
            (key.to_owned(), default.trim().trim_matches('`').to_owned())
        })
        .collect()
}

/// The keys of a definition that this version uses, each with its default as it would stand in a file.
fn keys(definition: &Value) -> BTreeMap<String, String> {
    let properties = definition["properties"].as_object().unwrap();
    properties
        .iter()
        .filter(|(_, property)| !is_later(property))
        .map(|(key, property)| (key.clone(), written(property.get("default"))))
        .collect()
}

fn is_later(property: &Value) -> bool {
    let description = property["description"].as_str().unwrap_or_default();
    description.ends_with("not used by this version")
}

fn written(default: Option<&Value>) -> String {
    match default {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let items: Vec<_> = items.iter().map(|item| written(Some(item))).collect();
            format!("[{}]", items.join(", "))
        }
        Some(other) => other.to_string(),
    }
}

#[test]
fn every_example_loads() {
    let variables = [("LINEAR_API_KEY", "k"), ("HOME", "/home/ada")];
    let yaml = examples("yaml");
    assert!(yaml.len() >= 7, "{yaml:?}");
    let files = yaml.iter().map(|yaml| format!("---\n{yaml}---\n"));
    for file in files.chain(examples("markdown")) {
        if let Err(error) = Folder::with(&file).load_with(&variables) {
            panic!("{error}\n{file}");
        }
    }
}

#[test]
fn every_example_is_valid_by_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for yaml in examples("yaml") {
        let example: Value = serde_saphyr::from_str(&yaml).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(&example)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}\n{yaml}");
    }
    let misspelt = serde_json::json!({ "server": { "prot": 1 } });
    assert!(!validator.is_valid(&misspelt));
}

#[test]
fn an_example_gives_a_warning_only_for_what_has_no_effect() {
    for yaml in examples("yaml") {
        let folder = Folder::with(&format!("---\n{yaml}---\n"));
        let loaded = folder.load_with(&[("LINEAR_API_KEY", "k")]).unwrap();
        for warning in loaded.warnings {
            let expected = warning.message.ends_with("is not used by this version");
            assert!(expected, "{warning}\n{yaml}");
        }
    }
}

#[test]
fn the_page_lists_every_key_with_its_default() {
    let schema = schema();
    let definitions = &schema["$defs"];
    assert_eq!(rows("`tracker`"), keys(&definitions["TrackerChoice"]));
    assert_eq!(rows("`server`"), keys(&definitions["Server"]));
    assert_eq!(rows("`logging`"), keys(&definitions["Logging"]));

    let mut tracker = keys(&definitions["Tracker"]);
    // Their defaults depend on the provider, so the schema has none.
    for (key, default) in [
        ("provider", "required"),
        ("path", ".guildhall/board"),
        ("id_prefix", "BOARD-"),
        ("issues", "the variable `LORENZ_MEMORY_TRACKER_ISSUES_JSON"),
    ] {
        tracker.insert(key.to_owned(), default.to_owned());
    }
    assert_eq!(rows("`trackers.<name>`"), tracker);
}

#[test]
fn the_page_lists_every_pack_with_its_options() {
    let schema = schema();
    let definitions = &schema["$defs"];
    let mut expected: Vec<String> = Vec::new();
    for (pack, definition) in definitions["Tools"]["properties"].as_object().unwrap() {
        expected.push(pack.clone());
        let definition = if pack == "local" {
            &definitions["LocalPack"]
        } else {
            definition
        };
        let options = definition["properties"].as_object();
        expected.extend(
            options
                .into_iter()
                .flatten()
                .map(|(key, _)| format!("{pack}.{key}")),
        );
    }
    expected.sort();
    let listed: Vec<_> = rows("`tools.<pack>`").into_keys().collect();
    assert_eq!(listed, expected);
}

#[test]
fn the_page_names_what_has_no_effect() {
    let schema = schema();
    let page = page();
    let heading = "\n## Accepted, not used by this version\n";
    let section = page.split(heading).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let owners = [
        &schema,
        &schema["$defs"]["Server"],
        &schema["$defs"]["Tracker"],
    ];
    let mut count = 0;
    for (key, property) in owners
        .iter()
        .flat_map(|owner| owner["properties"].as_object().unwrap())
    {
        if is_later(property) {
            count += 1;
            assert!(section.contains(&format!("`{key}`")), "{key}");
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn the_page_lists_every_variable() {
    let listed: Vec<_> = rows("Environment variables").into_keys().collect();
    let mut expected: Vec<_> = env_vars::ALL.iter().map(|(name, _)| *name).collect();
    expected.sort_unstable();
    assert_eq!(listed, expected);
}
