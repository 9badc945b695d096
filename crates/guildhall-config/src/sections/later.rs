//! Keys of existing files that this version accepts and does not use.
//!
//! A file written for the original must load, and nothing in it may be ignored in silence: each of these keys gives a
//! warning. A key leaves this list for a section's struct when it gets its effect.

use schemars::Schema;
use serde_json::{Value, json};

use super::trackers::Provider;

/// Sections, each with what it is about.
pub(crate) const SECTIONS: [(&str, &str); 12] = [
    ("dispatch", "Which issues are worked on"),
    ("polling", "How often trackers are asked"),
    ("workspace", "Where agents work"),
    ("hooks", "Commands around an agent's run"),
    ("agent", "The agent that works on issues, and its limits"),
    ("agents", "The agents by kind"),
    ("status_overrides", "Agents by the state of an issue"),
    ("worker", "Where agents run"),
    ("workers", "The workers by name"),
    ("observability", "The terminal display"),
    ("codex", "Deprecated: settings of one agent"),
    ("claude", "Deprecated: settings of one agent"),
];

/// Keys of `server`.
pub(crate) const SERVER_KEYS: [(&str, &str); 4] = [
    ("trace_dir", "Where traces of runs are kept"),
    ("static_dir", "Where the dashboard's files are"),
    ("mcp_port", "A port for MCP alone"),
    ("issue_store_path", "Where the history of issues is kept"),
];

/// Keys of a tracker, each with the providers that take it.
const TRACKER_KEYS: [(&str, &[Provider]); 20] = {
    use Provider::{Discord, Jira, JiraMcp, Linear, Slack};
    [
        ("project_slug", &[Linear]),
        ("project_slugs", &[Linear]),
        ("project_labels", &[Linear]),
        ("base_url", &[Jira, JiraMcp]),
        ("email", &[Jira, JiraMcp]),
        ("project_keys", &[Jira, JiraMcp]),
        ("jql", &[Jira, JiraMcp]),
        ("issue_type", &[Jira, JiraMcp]),
        ("mcp", &[JiraMcp]),
        ("channels", &[Slack, Discord]),
        ("users", &[Slack, Discord]),
        ("bot_user_id", &[Slack, Discord]),
        ("emoji_states", &[Slack, Discord]),
        ("marker_emoji", &[Slack, Discord]),
        ("scan_lookback_days", &[Slack, Discord]),
        ("app_token", &[Slack]),
        ("reply_lookback_days", &[Slack]),
        ("reconcile_interval_ms", &[Slack, Discord]),
        ("guild_id", &[Discord]),
        ("command_name", &[Discord]),
    ]
};

/// The keys that a tracker of `provider` takes and that have no effect yet.
pub(crate) fn tracker_keys(provider: Provider) -> Vec<&'static str> {
    TRACKER_KEYS
        .iter()
        .filter(|(_, providers)| providers.contains(&provider))
        .map(|(key, _)| *key)
        .collect()
}

/// Adds the sections to the schema of the whole file.
pub(crate) fn add_sections(schema: &mut Schema) {
    for (key, about) in SECTIONS {
        add(schema, key, about, json!(["object", "null"]));
    }
}

/// Adds the keys of `server` to its schema.
pub(crate) fn add_server_keys(schema: &mut Schema) {
    for (key, about) in SERVER_KEYS {
        add(schema, key, about, Value::Null);
    }
}

/// Adds the keys of trackers to their schema.
pub(crate) fn add_tracker_keys(schema: &mut Schema) {
    for (key, providers) in TRACKER_KEYS {
        let names: Vec<_> = providers
            .iter()
            .map(|provider| format!("`{}`", provider.as_str()))
            .collect();
        add(schema, key, &names.join(" and "), Value::Null);
    }
}

fn add(schema: &mut Schema, key: &str, about: &str, kind: Value) {
    let mut property =
        json!({ "description": format!("{about}. Accepted; not used by this version") });
    if !kind.is_null() {
        property["type"] = kind;
    }
    let properties = schema
        .ensure_object()
        .entry("properties")
        .or_insert_with(|| json!({}));
    properties[key] = property;
}
