//! `trackers`: where issues come from, by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use guildhall_core::{Issue, memory};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::later;
use super::options::{self, OptionValue};
use super::tracker::TrackerChoice;
use crate::problem::Position;
use crate::reader::{Fields, Found, Reading, suggest, wrong};
use crate::yaml::{Node, Value};
use crate::{Secret, env_vars};

/// The service, or folder, behind a tracker.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// A folder of Markdown files.
    Local,
    /// Issues that stand in the settings.
    Memory,
    /// Jira Cloud over REST.
    Jira,
    /// Jira behind an MCP server.
    JiraMcp,
    /// Linear.
    Linear,
    /// Slack channels.
    Slack,
    /// Channels of a Discord guild.
    Discord,
}

impl Provider {
    /// Every provider, with its name in the settings.
    pub const ALL: [(&'static str, Self); 7] = [
        ("local", Self::Local),
        ("memory", Self::Memory),
        ("jira", Self::Jira),
        ("jira-mcp", Self::JiraMcp),
        ("linear", Self::Linear),
        ("slack", Self::Slack),
        ("discord", Self::Discord),
    ];

    /// The name in the settings.
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, provider)| *provider == self)
            .map_or("", |(name, _)| name)
    }

    /// Whether a tracker of this provider is complete without any key of its own.
    fn needs_nothing(self) -> bool {
        matches!(self, Self::Local | Self::Memory)
    }
}

/// One tracker. Which keys beside the common ones it takes depends on its provider.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, transform = later::add_tracker_keys)]
pub struct Tracker {
    /// The service, or folder, behind it.
    pub provider: Provider,
    /// The address of the service's API, where it is not the service's usual one.
    #[schemars(default)]
    pub endpoint: Option<String>,
    /// The credential for the service: `$NAME`.
    #[schemars(default)]
    pub api_key: Option<Secret>,
    /// Whose issues are worked on; without it everybody's. Text, or `$NAME`.
    #[schemars(default)]
    pub assignee: Option<String>,
    /// The names of the states in which an issue is worked on.
    #[schemars(default = "active_states")]
    pub active_states: Vec<String>,
    /// The names of the states in which an issue is finished.
    #[schemars(default = "terminal_states")]
    pub terminal_states: Vec<String>,
    /// `local`: the board's folder. Without it `.guildhall/board`, or `.lorenz/local` where only that exists.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// `local`: what the ids of the board's issues begin with. Without it `BOARD-`.
    #[schemars(default, regex(pattern = "^[A-Za-z0-9][A-Za-z0-9_-]*$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_prefix: Option<String>,
    /// `memory`: the issues. Without it those of the variable `LORENZ_MEMORY_TRACKER_ISSUES_JSON`.
    #[schemars(default, schema_with = "issues_schema")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
    /// The provider's other keys, in the form `snake_case`, as they were written; secrets are resolved.
    #[serde(skip)]
    pub options: Vec<(String, OptionValue)>,
}

/// A folder of issues as Markdown files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Board {
    /// The folder; absolute if the settings' folder is.
    pub path: PathBuf,
    /// What the ids begin with: a letter or digit, then letters, digits, `_` and `-`.
    pub id_prefix: String,
}

impl Board {
    /// The prefix of ids where the settings name none.
    pub const DEFAULT_ID_PREFIX: &'static str = "BOARD-";

    /// The board where the settings name none: `.guildhall/board`, or `.lorenz/local` where only that exists.
    pub fn default_in(base: &Path) -> Self {
        let ours = base.join(".guildhall/board");
        let theirs = base.join(".lorenz/local");
        let path = if !ours.is_dir() && theirs.is_dir() {
            theirs
        } else {
            ours
        };
        Self {
            path,
            id_prefix: Self::DEFAULT_ID_PREFIX.to_owned(),
        }
    }
}

impl Tracker {
    /// A tracker of `provider` with every default, in the folder `base`.
    pub(crate) fn defaults(provider: Provider, base: &Path) -> Self {
        let board = (provider == Provider::Local).then(|| Board::default_in(base));
        let (path, id_prefix) = board.map(|board| (board.path, board.id_prefix)).unzip();
        Self {
            provider,
            endpoint: None,
            api_key: None,
            assignee: None,
            active_states: active_states(),
            terminal_states: terminal_states(),
            path,
            id_prefix,
            issues: (provider == Provider::Memory).then(Vec::new),
            options: Vec::new(),
        }
    }

    /// Its board, where the provider is `local`.
    pub fn board(&self) -> Option<Board> {
        let path = self.path.clone()?;
        let id_prefix = self.id_prefix.clone()?;
        Some(Board { path, id_prefix })
    }

    fn read(path: &str, node: &Node, reading: &mut Reading<'_>) -> Option<Self> {
        let mut fields = Fields::of(path, Some(node), reading);
        let provider = provider(&mut fields, node, reading)?;
        let mut tracker = Self::defaults(provider, reading.base);
        tracker.endpoint = fields.text_or_variable("endpoint", reading);
        tracker.api_key = fields.secret("api_key", reading);
        tracker.assignee = fields.text_or_variable("assignee", reading);
        set(
            &mut tracker.active_states,
            fields.texts("active_states", reading),
        );
        set(
            &mut tracker.terminal_states,
            fields.texts("terminal_states", reading),
        );
        match provider {
            Provider::Local => {
                tracker.path = fields.path("path", reading).or(tracker.path);
                tracker.id_prefix = id_prefix(&mut fields, reading).or(tracker.id_prefix);
            }
            Provider::Memory => tracker.issues = Some(issues(&mut fields, reading)),
            _ => {
                for (key, found) in fields.later(&later::tracker_keys(provider), reading) {
                    let value = options::option(key, &found, reading);
                    tracker
                        .options
                        .extend(value.map(|value| (key.to_owned(), value)));
                }
            }
        }
        fields.finish(reading);
        Some(tracker)
    }
}

/// The default of `active_states`.
fn active_states() -> Vec<String> {
    ["Todo", "In Progress"].map(str::to_owned).into()
}

/// The default of `terminal_states`.
fn terminal_states() -> Vec<String> {
    ["Closed", "Cancelled", "Canceled", "Duplicate", "Done"]
        .map(str::to_owned)
        .into()
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

/// Reads all trackers; the one that `choice`, which stands at `chosen_at`, names is among them afterwards, or a problem says why not.
pub(crate) fn read(
    node: Option<&Node>,
    choice: &TrackerChoice,
    chosen_at: Option<Position>,
    reading: &mut Reading<'_>,
) -> BTreeMap<String, Tracker> {
    let mut trackers = BTreeMap::new();
    let mut named = false;
    for (key, node) in Fields::of("trackers", node, reading).rest() {
        named |= key.name == choice.kind;
        let path = format!("trackers.{}", key.name);
        if let Some(tracker) = Tracker::read(&path, node, reading) {
            trackers.insert(key.name.clone(), tracker);
        }
    }
    if !named {
        let implied = Provider::ALL
            .iter()
            .find(|(name, provider)| *name == choice.kind && provider.needs_nothing());
        match implied {
            Some((name, provider)) => {
                let mut tracker = Tracker::defaults(*provider, reading.base);
                if *provider == Provider::Memory {
                    tracker.issues = Some(issues_of_variable(reading));
                }
                trackers.insert((*name).to_owned(), tracker);
            }
            None => missing(choice, chosen_at, &trackers, reading),
        }
    }
    trackers
}

fn missing(
    choice: &TrackerChoice,
    chosen_at: Option<Position>,
    trackers: &BTreeMap<String, Tracker>,
    reading: &mut Reading<'_>,
) {
    let path = format!("trackers.{}", choice.kind);
    let message = format!("{path} is required by tracker.kind");
    reading.problem(&path, chosen_at, message);
    let names = trackers.keys().map(String::as_str);
    let near =
        guildhall_core::suggest::did_you_mean(&choice.kind, names.chain(["local", "memory"]));
    suggest(reading, near);
}

fn provider(fields: &mut Fields<'_>, node: &Node, reading: &mut Reading<'_>) -> Option<Provider> {
    let before = reading.problems.len();
    let provider = fields.choice("provider", &Provider::ALL, reading);
    // Nothing to say twice about what is no map, or about a provider that is not known.
    if provider.is_none()
        && reading.problems.len() == before
        && !matches!(node.value, Value::Text(_))
    {
        let path = fields.path_of("provider");
        let message = format!("{path} is required");
        reading.problem(&path, Some(node.at), message);
    }
    provider
}

/// Reads and checks `id_prefix`.
pub(crate) fn id_prefix(fields: &mut Fields<'_>, reading: &mut Reading<'_>) -> Option<String> {
    let found = fields.take("id_prefix", reading)?;
    let prefix = crate::reader::text(&found, reading)?;
    let valid = prefix.starts_with(|c: char| c.is_ascii_alphanumeric())
        && prefix
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !valid {
        let message = format!(
            "{} \"{prefix}\" is invalid: must start alphanumeric, then only letters, digits, \"_\" or \"-\"",
            found.path
        );
        reading.problem(&found.path, Some(found.node.at), message);
    }
    valid.then(|| prefix.to_owned())
}

fn issues(fields: &mut Fields<'_>, reading: &mut Reading<'_>) -> Vec<Issue> {
    let Some(found) = fields.take("issues", reading) else {
        return issues_of_variable(reading);
    };
    let Value::List(items) = &found.node.value else {
        wrong(&found, "a list of issues", reading);
        return Vec::new();
    };
    let mut issues = Vec::new();
    for (index, node) in items.iter().enumerate() {
        let path = format!("{}[{index}]", found.path);
        let found = Found { path, node };
        match memory::normalise(&node.to_json()) {
            Ok(issue) => issues.push(issue),
            Err(error) => {
                let message = format!("{}: {error}", found.path);
                reading.problem(&found.path, Some(node.at), message);
            }
        }
    }
    issues
}

fn issues_of_variable(reading: &mut Reading<'_>) -> Vec<Issue> {
    const NAME: &str = env_vars::LORENZ_MEMORY_TRACKER_ISSUES_JSON;
    let Some(text) = reading.variable(NAME) else {
        return Vec::new();
    };
    let items: Vec<serde_json::Value> = match serde_json::from_str(&text) {
        Ok(items) => items,
        Err(error) => {
            let message = format!("{NAME} must be a JSON array of issues: {error}");
            reading.problem(NAME, None, message);
            return Vec::new();
        }
    };
    let mut issues = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match memory::normalise(item) {
            Ok(issue) => issues.push(issue),
            Err(error) => reading.problem(NAME, None, format!("{NAME}[{index}]: {error}")),
        }
    }
    issues
}

fn issues_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["array", "null"],
        "items": {
            "type": "object",
            "required": ["id", "identifier", "title", "state"],
            "properties": {
                "id": { "type": "string" },
                "identifier": { "type": "string" },
                "title": { "type": "string" },
                "state": { "type": "string" },
                "state_type": {
                    "type": "string",
                    "enum": ["backlog", "unstarted", "started", "completed", "canceled", "triage"],
                },
                "description": { "type": "string" },
                "labels": { "type": "array" },
                "priority": { "type": "integer" },
            },
        },
    })
}
