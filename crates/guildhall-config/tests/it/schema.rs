//! The JSON Schema of the file.

use guildhall_config::schema;

use crate::Folder;

#[test]
fn the_schema_is_published_as_reviewed() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema()).unwrap());
}

#[test]
fn the_schema_lists_exactly_the_keys_that_are_read() {
    let schema = schema();
    for (section, definition) in [
        ("tracker", &schema["$defs"]["TrackerChoice"]),
        ("server", &schema["$defs"]["Server"]),
        ("logging", &schema["$defs"]["Logging"]),
        ("", &schema),
    ] {
        let file = match section {
            "" => "xyzzy: 1".to_owned(),
            _ => format!("{section}: {{ xyzzy: 1 }}"),
        };
        let mut known = known_keys(&file);
        let mut listed: Vec<_> = definition["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        known.sort();
        listed.sort();
        assert_eq!(known, listed, "{section}");
    }
}

#[test]
fn the_schema_of_a_tracker_lists_the_keys_of_all_providers() {
    let mut known: Vec<_> = guildhall_config::Provider::ALL
        .iter()
        .flat_map(|(name, _)| {
            known_keys(&format!(
                "trackers: {{ t: {{ provider: {name}, xyzzy: 1 }} }}"
            ))
        })
        .collect();
    known.sort();
    known.dedup();
    let schema = schema();
    let properties = schema["$defs"]["Tracker"]["properties"]
        .as_object()
        .unwrap();
    let mut listed: Vec<_> = properties.keys().cloned().collect();
    listed.sort();
    assert_eq!(known, listed);
}

/// The keys that the refusal of `xyzzy` lists.
fn known_keys(front_matter: &str) -> Vec<String> {
    let error = Folder::with(&format!("---\n{front_matter}\n---\n"))
        .load()
        .unwrap_err();
    let mut hints = error
        .problems
        .into_iter()
        .filter_map(|problem| problem.hint);
    let hint = hints.next_back().unwrap();
    let keys = hint.strip_prefix("known keys: ").unwrap();
    keys.split(", ").map(str::to_owned).collect()
}
