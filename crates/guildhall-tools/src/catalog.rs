//! Packs, and the flat, collision-checked set of tools made of them.

use std::collections::HashMap;
use std::fmt;

use guildhall_core::suggest::did_you_mean;
use sha2::{Digest, Sha256};

use crate::{Caller, Tool, ToolError, lint};

/// The shape of a pack's failures, where it has one of its own.
pub type FailureShape = fn(&ToolError) -> serde_json::Value;

/// A named set of tools owned by one integration.
#[derive(Clone, Debug)]
pub struct Pack {
    name: &'static str,
    tools: Vec<Tool>,
    failure: Option<FailureShape>,
}

impl Pack {
    /// A pack of `tools`, in the order they are listed in.
    pub fn new(name: &'static str, tools: Vec<Tool>) -> Self {
        Self {
            name,
            tools,
            failure: None,
        }
    }

    /// Gives the pack's failures a shape of their own; it also serves for faults the pipeline finds.
    #[must_use]
    pub fn failure(mut self, shape: FailureShape) -> Self {
        self.failure = Some(shape);
        self
    }

    /// The pack's name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Why packs do not mount.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// Two packs have a tool of one name.
    #[error(
        "tool name collision: {tool} is declared by both the \"{first}\" and \"{second}\" packs"
    )]
    Collision {
        /// The name.
        tool: &'static str,
        /// The pack mounted first.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A tool would break clients.
    #[error("Tool `{tool}` cannot be listed: {}", problems.join("; "))]
    Lint {
        /// The name.
        tool: &'static str,
        /// What the linter found.
        problems: Vec<String>,
    },
}

/// Which part of a catalog a door serves.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Selection {
    /// Only these packs, or all.
    pub packs: Option<Vec<String>>,
    /// Only tools that change nothing.
    pub read_only: bool,
}

/// A selection names a pack that is not mounted.
#[derive(Debug, thiserror::Error)]
#[error("Pack `{name}` is not mounted: mounted are {}", if mounted.is_empty() { "none".to_owned() } else { mounted.join(", ") })]
pub struct SelectionError {
    /// The name that was asked for.
    pub name: String,
    /// The mounted packs.
    pub mounted: Vec<&'static str>,
}

impl SelectionError {
    /// The mounted pack that was probably meant.
    pub fn near(&self) -> Option<&'static str> {
        did_you_mean(&self.name, self.mounted.iter().copied())
    }
}

/// A tool and the pack that owns it.
#[derive(Clone, Debug)]
struct Entry {
    tool: Tool,
    pack: &'static str,
    failure: Option<FailureShape>,
}

/// The mounted tools, in pack order then declaration order. Immutable: new settings make a new catalog.
#[derive(Clone, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
    by_name: HashMap<&'static str, usize>,
    packs: Vec<&'static str>,
}

impl Catalog {
    /// Flattens `packs` into one namespace.
    ///
    /// A pack that repeats a name of its own keeps the first of the two (Lorenz page, "How tools mount").
    pub fn mount(packs: impl IntoIterator<Item = Pack>) -> Result<Self, MountError> {
        let mut catalog = Self::default();
        for pack in packs {
            if !catalog.packs.contains(&pack.name) {
                catalog.packs.push(pack.name);
            }
            for tool in pack.tools {
                if let Some(&index) = catalog.by_name.get(tool.name()) {
                    let first = catalog.entries[index].pack;
                    if first == pack.name {
                        continue;
                    }
                    return Err(MountError::Collision {
                        tool: tool.name(),
                        first,
                        second: pack.name,
                    });
                }
                let problems = lint::tool(&tool);
                if !problems.is_empty() {
                    return Err(MountError::Lint {
                        tool: tool.name(),
                        problems,
                    });
                }
                catalog.push(Entry {
                    tool,
                    pack: pack.name,
                    failure: pack.failure,
                });
            }
        }
        Ok(catalog)
    }

    fn push(&mut self, entry: Entry) {
        self.by_name.insert(entry.tool.name(), self.entries.len());
        self.entries.push(entry);
    }

    /// The part of this catalog that `selection` names.
    pub fn select(&self, selection: &Selection) -> Result<Self, SelectionError> {
        if let Some(name) = selection
            .packs
            .iter()
            .flatten()
            .find(|name| !self.packs.contains(&name.as_str()))
        {
            return Err(SelectionError {
                name: name.clone(),
                mounted: self.packs.clone(),
            });
        }
        let wanted = |pack: &str| {
            selection
                .packs
                .as_ref()
                .is_none_or(|packs| packs.iter().any(|name| name == pack))
        };
        let mut part = Self {
            packs: self
                .packs
                .iter()
                .copied()
                .filter(|pack| wanted(pack))
                .collect(),
            ..Self::default()
        };
        for entry in &self.entries {
            if wanted(entry.pack) && (!selection.read_only || entry.tool.annotations().read_only) {
                part.push(entry.clone());
            }
        }
        Ok(part)
    }

    /// The names of the mounted packs.
    pub fn packs(&self) -> &[&'static str] {
        &self.packs
    }

    /// Every tool.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// The tools a server door lists to `caller`: not what they may never use, not what runs on the agent's machine.
    pub fn listed<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a Tool> {
        self.tools()
            .filter(|tool| !tool.local_only() && caller.may(tool.name(), tool.scope()))
    }

    /// The tool `name`, the pack it is of, and the shape of that pack's failures.
    pub(crate) fn find(&self, name: &str) -> Option<(&Tool, &'static str, Option<FailureShape>)> {
        let entry = &self.entries[*self.by_name.get(name)?];
        Some((&entry.tool, entry.pack, entry.failure))
    }

    /// The tool `name`.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.find(name).map(|(tool, ..)| tool)
    }

    /// A hash over everything a client is told of the tools. It differs exactly when that does, so that a changed
    /// description is noticed.
    pub fn fingerprint(&self) -> String {
        use fmt::Write as _;
        let mut hash = Sha256::new();
        for entry in &self.entries {
            let tool = &entry.tool;
            let spec = serde_json::json!([
                entry.pack,
                tool.name(),
                tool.title(),
                tool.description(),
                **tool.input_schema(),
                **tool.output_schema(),
                format!("{:?}", tool.annotations()),
            ]);
            hash.update(spec.to_string());
        }
        hash.finalize()
            .iter()
            .take(8)
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.tools().map(Tool::name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::Scope;

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    #[derive(JsonSchema, Serialize)]
    struct Done {}

    fn tool(name: &'static str) -> Tool {
        Tool::new(name, "A tool", "Use it in tests.").handler(|_, Nothing {}| async { Ok(Done {}) })
    }

    fn names(catalog: &Catalog) -> Vec<&'static str> {
        catalog.tools().map(Tool::name).collect()
    }

    #[test]
    fn packs_are_flattened_in_order() {
        let catalog = Catalog::mount([
            Pack::new("b", vec![tool("b_2"), tool("b_1")]),
            Pack::new("a", vec![tool("a_1")]),
        ])
        .unwrap();
        assert_eq!(names(&catalog), ["b_2", "b_1", "a_1"]);
        assert_eq!(catalog.packs(), ["b", "a"]);
    }

    #[test]
    fn one_name_in_two_packs_does_not_mount() {
        let error = Catalog::mount([
            Pack::new("one", vec![tool("same")]),
            Pack::new("two", vec![tool("same")]),
        ]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "tool name collision: same is declared by both the \"one\" and \"two\" packs"
        );
    }

    #[test]
    fn a_pack_may_repeat_its_own_name() {
        let catalog = Catalog::mount([Pack::new("one", vec![tool("same"), tool("same")])]).unwrap();
        assert_eq!(names(&catalog), ["same"]);
    }

    #[test]
    fn a_selection_serves_a_part_and_names_what_is_not_there() {
        let read = Tool::new("b_read", "A tool", "Use it in tests.")
            .read_only()
            .handler(|_, Nothing {}| async { Ok(Done {}) });
        let catalog = Catalog::mount([
            Pack::new("alpha", vec![tool("a_1")]),
            Pack::new("beta", vec![tool("b_1"), read]),
        ])
        .unwrap();
        let part = catalog
            .select(&Selection {
                packs: Some(vec!["beta".to_owned()]),
                read_only: false,
            })
            .unwrap();
        assert_eq!(names(&part), ["b_1", "b_read"]);
        let part = catalog
            .select(&Selection {
                packs: None,
                read_only: true,
            })
            .unwrap();
        assert_eq!(names(&part), ["b_read"]);
        let error = catalog
            .select(&Selection {
                packs: Some(vec!["bets".to_owned()]),
                read_only: false,
            })
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Pack `bets` is not mounted: mounted are alpha, beta"
        );
        assert_eq!(error.near(), Some("beta"));
    }

    #[test]
    fn what_a_caller_may_never_use_is_not_listed() {
        let grant = Tool::new("grant", "A tool", "Use it in tests.")
            .scope(Scope::Person)
            .handler(|_, Nothing {}| async { Ok(Done {}) });
        let local = Tool::new("sandbox", "A tool", "Use it in tests.")
            .local_only()
            .handler(|_, Nothing {}| async { Ok(Done {}) });
        let catalog = Catalog::mount([Pack::new("a", vec![tool("read"), grant, local])]).unwrap();
        let listed = |name: &str| {
            let caller = Caller::new(name.parse().unwrap());
            catalog.listed(&caller).map(Tool::name).collect::<Vec<_>>()
        };
        assert_eq!(listed("you@example.com"), ["read", "grant"]);
        assert_eq!(listed("you@example.com[claude]"), ["read"]);
    }

    #[test]
    fn the_fingerprint_changes_with_what_clients_are_told() {
        let of = |description: &'static str| {
            let tool = Tool::new("t", "A tool", description)
                .handler(|_, Nothing {}| async { Ok(Done {}) });
            Catalog::mount([Pack::new("a", vec![tool])])
                .unwrap()
                .fingerprint()
        };
        assert_eq!(of("Use it."), of("Use it."));
        assert_ne!(of("Use it."), of("Use it!"));
    }
}
