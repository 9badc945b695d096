//! Which crate may use which, and which code may stand where. Dependencies are read from `cargo metadata`, the rest from
//! the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::sh;

/// Crates that talk to a vendor or a file format and know nothing of tools.
const CLIENTS: &[&str] = &[
    "guildhall-discord",
    "guildhall-git",
    "guildhall-github",
    "guildhall-jira",
    "guildhall-linear",
    "guildhall-local",
    "guildhall-slack",
    "guildhall-store",
];

/// Modules of `guildhall-packs`: one per pack.
const PACKS: &[&str] = &[
    "code", "discord", "git", "github", "issues", "jira", "ladder", "lanes", "linear", "local",
    "roles", "slack", "team",
];

/// A dependency that only the named crates may declare.
const OWNERS: &[(&str, &[&str])] = &[
    ("axum", &["guildhall-server", "guildhall-testing"]),
    ("gix", &["guildhall-git", "guildhall-testing"]),
    (
        "rmcp",
        &["guildhall-jira", "guildhall-server", "guildhall-testing"],
    ),
    ("rusqlite", &["guildhall-store"]),
    ("sqlx", &["guildhall-store"]),
];

/// Crates for tests and the tasks of this program only.
const DEV_ONLY: &[&str] = &["guildhall-cluster", "guildhall-testing"];

/// A crate, and what must not be reachable from it, however far away.
const NEVER_BELOW: &[(&str, &[&str])] = &[
    (
        "guildhall-core",
        &["axum", "reqwest", "rmcp", "rusqlite", "sqlx", "tokio"],
    ),
    (
        "guildhall-config",
        &["axum", "reqwest", "rmcp", "rusqlite", "sqlx", "tokio"],
    ),
    (
        "guildhall-tools",
        &[
            "axum",
            "guildhall-packs",
            "guildhall-server",
            "reqwest",
            "rmcp",
        ],
    ),
    ("guildhall-packs", &["axum", "guildhall-server"]),
    ("guildhall-server", &["guildhall-packs"]),
];

pub(crate) fn run() -> Result<()> {
    println!("\n# boundaries");
    let graph = Graph::read()?;
    let mut broken = dependency_faults(&graph);
    broken.extend(source_faults()?);
    if !broken.is_empty() {
        bail!("Broken boundaries:\n  {}", broken.join("\n  "));
    }
    Ok(())
}

/// Dependencies by crate name: those of the build proper, not of tests.
struct Graph {
    members: BTreeSet<String>,
    direct: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn read() -> Result<Self> {
        let json = sh::output(sh::cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
        let metadata: Metadata =
            serde_json::from_str(&json).context("Could not read what `cargo metadata` printed")?;
        Ok(Self::from_metadata(&metadata))
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        let names: BTreeMap<&str, &str> = metadata
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let mut direct: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in &metadata.resolve.nodes {
            let below = node
                .deps
                .iter()
                .filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind.is_none()))
                .map(|dep| names[dep.pkg.as_str()].to_owned());
            direct
                .entry(names[node.id.as_str()].to_owned())
                .or_default()
                .extend(below);
        }
        let members = metadata
            .workspace_members
            .iter()
            .map(|id| names[id.as_str()].to_owned())
            .collect();
        Self { members, direct }
    }

    /// A shortest way from one crate to another, ends included.
    fn path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut seen = BTreeSet::from([from.to_owned()]);
        let mut ways = vec![vec![from.to_owned()]];
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                for next in self.direct.get(&way[way.len() - 1])? {
                    let mut further = way.clone();
                    further.push(next.clone());
                    if next == to {
                        return Some(further);
                    }
                    if seen.insert(next.clone()) {
                        longer.push(further);
                    }
                }
            }
            ways = longer;
        }
        None
    }
}

fn dependency_faults(graph: &Graph) -> Vec<String> {
    let mut faults = Vec::new();
    for member in &graph.members {
        let direct = &graph.direct[member];
        for (dependency, owners) in OWNERS {
            if direct.contains(*dependency) && !owners.contains(&member.as_str()) {
                faults.push(format!(
                    "{member} depends on {dependency}, which is left to {}",
                    owners.join(", ")
                ));
            }
        }
        for dev_only in DEV_ONLY {
            if direct.contains(*dev_only) && member != "xtask" {
                faults.push(format!("{member} depends on {dev_only} outside its tests"));
            }
        }
    }
    let clients = CLIENTS
        .iter()
        .map(|client| (*client, &["guildhall-tools"][..]));
    for (above, never) in NEVER_BELOW.iter().copied().chain(clients) {
        for below in never {
            if graph.members.contains(above)
                && let Some(way) = graph.path(above, below)
            {
                faults.push(format!("{above} reaches {below}: {}", way.join(" -> ")));
            }
        }
    }
    faults
}

/// Faults that no dependency shows: packs that import each other, SQL and git outside their crates.
fn source_faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in sh::tracked_files()? {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(sh::root().join(&path))?;
            faults.extend(faults_of_source(&path, &text));
        }
    }
    Ok(faults)
}

fn faults_of_source(path: &Path, text: &str) -> Vec<String> {
    let owner = match path.components().nth(1) {
        Some(name) if path.starts_with("crates") => name.as_os_str().to_string_lossy(),
        _ => "xtask".into(),
    };
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut fault = |what: String| {
            faults.push(format!("{}:{}: {what}", path.display(), number + 1));
        };
        if !matches!(&*owner, "guildhall-store" | "guildhall-testing" | "xtask") && holds_sql(line)
        {
            fault("SQL outside guildhall-store".to_owned());
        }
        if !matches!(&*owner, "guildhall-git" | "guildhall-testing" | "xtask")
            && line.contains("Command::new(\"git\")")
        {
            fault("git is started outside guildhall-git".to_owned());
        }
        if owner == "guildhall-packs"
            && let Some(other) = imported_pack(path, line)
        {
            fault(format!("a pack uses the pack `{other}`"));
        }
    }
    faults
}

/// Statements as they are written, in capitals, at the begin of a string or a line.
fn holds_sql(line: &str) -> bool {
    let line = line.trim_start();
    ["INSERT INTO ", "DELETE FROM ", "CREATE TABLE ", "SELECT "]
        .iter()
        .any(|verb| line.starts_with(verb) || line.contains(&format!("\"{verb}")))
}

/// The pack that a line of another pack names, if it does.
fn imported_pack(path: &Path, line: &str) -> Option<&'static str> {
    let inside = path.strip_prefix("crates/guildhall-packs/src").ok()?;
    let first = inside.components().next()?.as_os_str().to_str()?;
    let own = PACKS
        .iter()
        .find(|pack| **pack == first.trim_end_matches(".rs"))?;
    PACKS.iter().copied().find(|other| {
        other != own
            && [
                format!("crate::{other}::"),
                format!("crate::{other};"),
                format!("guildhall_packs::{other}::"),
            ]
            .iter()
            .any(|import| line.contains(import.as_str()))
    })
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

/// `kind` is absent for an ordinary dependency, else `dev` or `build`.
#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

#[cfg(test)]
mod tests;
