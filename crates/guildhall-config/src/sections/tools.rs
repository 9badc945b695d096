//! `tools`: packs to mount beside the tracker's own, in the order of the file.

use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::trackers;
use crate::problem::Position;
use crate::reader::{Fields, Found, Reading};
use crate::secret::{Secret, is_secret_key};
use crate::yaml::{Key, Node, Value};

/// The packs named under `tools`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools {
    /// In the order of the file. Whether a pack of that name exists is for the catalog to say.
    pub packs: Vec<Pack>,
    /// The options of the `local` pack, where it is named.
    pub local: Option<LocalPack>,
}

/// A pack named under `tools`, with its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// The pack's name.
    pub name: String,
    /// Where it stands in the file.
    pub at: Position,
    /// Its options in the order of the file. A text that named a variable which is not set is not among them.
    pub options: Vec<(String, OptionValue)>,
}

impl Pack {
    /// The option `key`, which is given in the form `snake_case`.
    pub fn option(&self, key: &str) -> Option<&OptionValue> {
        let humped = crate::reader::camel_case(key);
        self.options
            .iter()
            .find(|(name, _)| name == key || *name == humped)
            .map(|(_, value)| value)
    }
}

/// The value of a pack's option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// Came from the environment, or is a secret by its key.
    Secret(Secret),
    /// A truth value, a number or a text that stands in the file.
    Plain(serde_json::Value),
    /// A list.
    List(Vec<OptionValue>),
    /// A map, in the order of the file.
    Map(Vec<(String, OptionValue)>),
}

impl OptionValue {
    /// The text, whether secret or not.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Secret(secret) => Some(secret.expose()),
            Self::Plain(value) => value.as_str(),
            Self::List(_) | Self::Map(_) => None,
        }
    }
}

impl Serialize for OptionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Secret(secret) => secret.serialize(serializer),
            Self::Plain(value) => value.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Map(entries) => Options(entries).serialize(serializer),
        }
    }
}

/// The options of the `local` pack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, default)]
pub struct LocalPack {
    /// The board's folder. Without it the tracker's, if that is `local`, else `.guildhall/board`.
    pub path: Option<PathBuf>,
    /// What the ids of the board's issues begin with. Without it the tracker's, else `BOARD-`.
    #[schemars(regex(pattern = "^[A-Za-z0-9][A-Za-z0-9_-]*$"))]
    pub id_prefix: Option<String>,
}

/// The packs that take no options.
const WITHOUT_OPTIONS: [&str; 8] = [
    "code", "git", "github", "issues", "ladder", "lanes", "roles", "team",
];

impl Tools {
    /// The pack `name`, if the settings name it.
    pub fn pack(&self, name: &str) -> Option<&Pack> {
        self.packs.iter().find(|pack| pack.name == name)
    }

    /// The names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.packs.iter().map(|pack| pack.name.as_str())
    }

    pub(crate) fn read(node: Option<&Node>, reading: &mut Reading<'_>) -> Self {
        let mut tools = Self::default();
        for (key, node) in Fields::of("tools", node, reading).rest() {
            let path = format!("tools.{}", key.name);
            let Value::Map(entries) = &node.value else {
                reading.problem(&path, Some(node.at), format!("{path} must be a map"));
                continue;
            };
            match key.name.as_str() {
                "local" => tools.local = Some(LocalPack::read(&path, node, reading)),
                "linear" => linear(&path, node, reading),
                name if WITHOUT_OPTIONS.contains(&name) => {
                    refuse_options(&path, name, entries, reading);
                }
                _ => {}
            }
            tools.packs.push(Pack {
                name: key.name.clone(),
                at: key.at,
                options: options(&path, entries, reading),
            });
        }
        tools
    }
}

impl LocalPack {
    fn read(path: &str, node: &Node, reading: &mut Reading<'_>) -> Self {
        let mut fields = Fields::of(path, Some(node), reading);
        let local = Self {
            path: fields.path("path", reading),
            id_prefix: trackers::id_prefix(&mut fields, reading),
        };
        unsupported(fields, "path, idPrefix, id_prefix", reading);
        local
    }
}

/// Checks the options of the `linear` pack; their values are read with those of every other pack.
fn linear(path: &str, node: &Node, reading: &mut Reading<'_>) {
    let mut fields = Fields::of(path, Some(node), reading);
    for key in ["api_key", "endpoint"] {
        let found = fields.take(key, reading);
        found.and_then(|found| crate::reader::text(&found, reading));
    }
    fields.bool("typed", reading);
    unsupported(fields, "apiKey, api_key, endpoint, typed", reading);
}

fn unsupported(mut fields: Fields<'_>, known: &str, reading: &mut Reading<'_>) {
    for (key, _) in fields.rest() {
        let path = fields.path_of(&key.name);
        let message = format!("{path} is not supported (known keys: {known})");
        reading.problem(&path, Some(key.at), message);
        let snake = known
            .split(", ")
            .filter(|known| !known.contains(char::is_uppercase));
        let near = guildhall_core::suggest::did_you_mean(&key.name, snake);
        crate::reader::suggest(reading, near);
    }
}

fn refuse_options(path: &str, pack: &str, entries: &[(Key, Node)], reading: &mut Reading<'_>) {
    if let Some((first, _)) = entries.first() {
        let message = format!("{path} is not supported by the \"{pack}\" pack");
        reading.problem(&format!("{path}.{}", first.name), Some(first.at), message);
        crate::reader::hint(reading, format!("write `{pack}: {{}}`"));
    }
}

/// The options as they are handed to the pack: a text that is `$NAME` is that variable's value.
fn options(
    path: &str,
    entries: &[(Key, Node)],
    reading: &mut Reading<'_>,
) -> Vec<(String, OptionValue)> {
    let mut options = Vec::new();
    for (key, node) in entries {
        let found = Found {
            path: format!("{path}.{}", key.name),
            node,
        };
        let value = match &node.value {
            // Paths have references of their own; the pack's typed options hold them resolved.
            Value::Text(_) if path == "tools.local" => Some(OptionValue::Plain(node.to_json())),
            _ => option(&found, is_secret_key(&key.name), reading),
        };
        options.extend(value.map(|value| (key.name.clone(), value)));
    }
    options
}

/// One option, or `None` for nothing. `secret` says that texts in it are secrets, going by the keys above it.
fn option(found: &Found<'_>, secret: bool, reading: &mut Reading<'_>) -> Option<OptionValue> {
    let inner = |path: String, node| Found { path, node };
    Some(match &found.node.value {
        Value::Null => return None,
        Value::Text(text) if secret || text.starts_with('$') || text.starts_with("op://") => {
            OptionValue::Secret(reading.secret(found, text)?)
        }
        Value::List(items) => OptionValue::List(
            items
                .iter()
                .enumerate()
                .map(|(index, node)| inner(format!("{}[{index}]", found.path), node))
                .filter_map(|item| option(&item, secret, reading))
                .collect(),
        ),
        Value::Map(entries) => OptionValue::Map(
            entries
                .iter()
                .filter_map(|(key, node)| {
                    let item = inner(format!("{}.{}", found.path, key.name), node);
                    let secret = secret || is_secret_key(&key.name) || key.name == "headers";
                    Some((key.name.clone(), option(&item, secret, reading)?))
                })
                .collect(),
        ),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            OptionValue::Plain(found.node.to_json())
        }
    })
}

impl Serialize for Tools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.packs.len()))?;
        for pack in &self.packs {
            match &self.local {
                Some(local) if pack.name == "local" => map.serialize_entry(&pack.name, local)?,
                _ => map.serialize_entry(&pack.name, &Options(&pack.options))?,
            }
        }
        map.end()
    }
}

struct Options<'a>(&'a [(String, OptionValue)]);

impl Serialize for Options<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl JsonSchema for Tools {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Tools".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let local = generator.subschema_for::<LocalPack>();
        let secret = generator.subschema_for::<Secret>();
        let mut schema = json_schema!({
            "type": "object",
            "description": "Tool packs by name, each with a map of options",
            "properties": {
                "local": local,
                "linear": {
                    "type": "object",
                    "description": "Linear's GraphQL, over whatever tracker the work comes from",
                    "additionalProperties": false,
                    "properties": {
                        "api_key": secret,
                        "endpoint": { "type": "string", "description": "The address of the API" },
                        "typed": {
                            "type": "boolean",
                            "default": false,
                            "description": "Mounts the typed `linear_*` tools beside `linear_graphql`",
                        },
                    },
                },
            },
            "additionalProperties": { "type": "object" },
        });
        for pack in WITHOUT_OPTIONS {
            schema.ensure_object()["properties"][pack] =
                serde_json::json!({ "type": "object", "additionalProperties": false });
        }
        schema
    }
}
