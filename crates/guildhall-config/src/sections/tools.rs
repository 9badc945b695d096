//! `tools`: packs to mount beside the tracker's own, in the order of the file.

use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::options::{self, OptionValue};
use super::trackers;
use crate::problem::Position;
use crate::reader::{Fields, Reading};
use crate::secret::Secret;
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
        options::find(&self.options, key)
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
                options: options::read(&path, entries, reading),
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

impl Serialize for Tools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.packs.len()))?;
        for pack in &self.packs {
            match &self.local {
                Some(local) if pack.name == "local" => map.serialize_entry(&pack.name, local)?,
                _ => map.serialize_entry(&pack.name, &options::Shown(&pack.options))?,
            }
        }
        map.end()
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
