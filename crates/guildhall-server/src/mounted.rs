//! What is mounted right now, and its listing in the doors' own forms.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_tools::{Caller, Catalog, Selection, SelectionError, Tool};
use rmcp::model::{Tool as McpTool, ToolAnnotations};
use serde_json::Value;
use tokio::sync::watch;

/// The catalog of the present settings. Replaced as a whole when the settings change.
pub struct Mounted {
    whole: Arc<Part>,
    /// With the packs that are not part of the usual menu.
    everything: Arc<Part>,
    tracker: String,
    parts: Mutex<HashMap<(bool, Selection), Arc<Part>>>,
}

/// One part of a catalog, with its tools as MCP lists them.
pub struct Part {
    catalog: Catalog,
    listing: Vec<McpTool>,
    /// Which of them ask clients to repeat an argument in a header.
    mirrored: Vec<usize>,
}

/// Where a schema names the header that repeats an argument (MCP 2026-07-28: `x-mcp-header`).
const MIRRORED_IN: &str = "x-mcp-header";

/// Where a door finds what is mounted.
pub trait MountSource: Send + Sync {
    /// What is mounted by the settings as they are now. Called for every listing and every call, so it must be cheap
    /// while nothing has changed.
    fn current(&self) -> Arc<Mounted>;

    /// What was mounted at the last [`MountSource::current`]: for the steps of one request after its first.
    fn latest(&self) -> Arc<Mounted> {
        self.current()
    }

    /// Rises each time another catalog is mounted.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// A client that names many selections must not grow the cache without end; there are few sensible ones.
const MOST_PARTS: usize = 64;

impl Mounted {
    /// Serves `catalog`; `tracker` is the provider of the dispatch tracker (`local`, `jira-mcp`, ...).
    pub fn new(catalog: Catalog, tracker: impl Into<String>) -> Self {
        let whole = Arc::new(Part::new(catalog));
        Self {
            everything: Arc::clone(&whole),
            whole,
            tracker: tracker.into(),
            parts: Mutex::default(),
        }
    }

    /// All of it, those tools too that are not part of the usual menu.
    pub(crate) fn all(&self) -> &Part {
        &self.everything
    }

    /// Serves `everything` to who names packs, calls over plain HTTP, or has a token that is bound to a team session; the
    /// others have the usual menu.
    #[must_use]
    pub fn with_everything(mut self, everything: Catalog) -> Self {
        self.everything = Arc::new(Part::new(everything));
        self
    }

    /// Every tool, those that are not part of the usual menu too.
    pub fn everything(&self) -> &Catalog {
        &self.everything.catalog
    }

    /// The tools of `caller` where no packs are named: the usual menu, and the team's for a token that is bound to a team
    /// session.
    pub fn menu(&self, caller: &Caller) -> &Catalog {
        if caller.bound.is_some() {
            self.everything()
        } else {
            self.catalog()
        }
    }

    /// The tools of the usual menu.
    pub fn catalog(&self) -> &Catalog {
        &self.whole.catalog
    }

    /// The provider of the dispatch tracker.
    pub fn tracker(&self) -> &str {
        &self.tracker
    }

    /// The name under which agents register this server (Lorenz page, "How tools mount").
    pub fn server_name(&self) -> String {
        let kind: String = self
            .tracker
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        format!("lorenz_{kind}")
    }

    /// The part that `selection` names; the same value for the same selection.
    pub fn part(&self, selection: &Selection) -> Result<Arc<Part>, SelectionError> {
        self.part_of(selection, selection.packs.is_some())
    }

    /// The part that `selection` names for a token that is bound to a team session: it always has the team's tools.
    pub fn part_for_bound(&self, selection: &Selection) -> Result<Arc<Part>, SelectionError> {
        self.part_of(selection, true)
    }

    fn part_of(
        &self,
        selection: &Selection,
        everything: bool,
    ) -> Result<Arc<Part>, SelectionError> {
        let of = if everything {
            &self.everything
        } else {
            &self.whole
        };
        if *selection == Selection::default() {
            return Ok(Arc::clone(of));
        }
        let key = (everything, selection.clone());
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = parts.get(&key) {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(Part::new(of.catalog.select(selection)?));
        if parts.len() < MOST_PARTS {
            parts.insert(key, Arc::clone(&part));
        }
        Ok(part)
    }
}

impl Part {
    fn new(catalog: Catalog) -> Self {
        let listing = catalog.tools().map(mcp_tool).collect();
        let mirrors = |tool: &Tool| mentions(tool.input_schema().values(), MIRRORED_IN);
        let mirrored = catalog.tools().enumerate();
        let mirrored = mirrored.filter_map(|(n, tool)| mirrors(tool).then_some(n));
        Self {
            mirrored: mirrored.collect(),
            catalog,
            listing,
        }
    }

    /// The part's tools.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Each tool beside its MCP form.
    pub fn listing(&self) -> impl Iterator<Item = (&Tool, &McpTool)> {
        self.catalog.tools().zip(&self.listing)
    }

    /// The MCP form of the tool `name`, if it asks clients to repeat an argument in a header. Most do not: nothing is
    /// to be checked of them.
    pub(crate) fn mirrored(&self, name: &str) -> Option<&McpTool> {
        let mut mirrored = self.mirrored.iter().map(|n| &self.listing[*n]);
        mirrored.find(|tool| tool.name == name)
    }
}

/// Whether an object anywhere in `values` has the key `wanted`.
fn mentions<'a>(mut values: impl Iterator<Item = &'a Value>, wanted: &str) -> bool {
    values.any(|value| match value {
        Value::Object(object) => object.contains_key(wanted) || mentions(object.values(), wanted),
        Value::Array(items) => mentions(items.iter(), wanted),
        _ => false,
    })
}

fn mcp_tool(tool: &Tool) -> McpTool {
    let hints = tool.annotations();
    McpTool::new(
        tool.name(),
        tool.description(),
        Arc::clone(tool.input_schema()),
    )
    .with_title(tool.title())
    .with_raw_output_schema(Arc::clone(tool.output_schema()))
    .with_annotations(
        ToolAnnotations::new()
            .read_only(hints.read_only)
            .destructive(hints.destructive)
            .idempotent(hints.idempotent)
            .open_world(hints.open_world),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_name_keeps_only_what_clients_accept() {
        for (tracker, name) in [
            ("local", "lorenz_local"),
            ("jira-mcp", "lorenz_jira_mcp"),
            ("é", "lorenz__"),
        ] {
            assert_eq!(
                Mounted::new(Catalog::default(), tracker).server_name(),
                name
            );
        }
    }
}
