use std::path::Path;

use serde_json::json;

use super::{Graph, dependency_faults, faults_of_source};

fn graph(edges: &[(&str, &str, Option<&str>)]) -> Graph {
    let names: std::collections::BTreeSet<&str> = edges
        .iter()
        .flat_map(|(from, to, _)| [*from, *to])
        .collect();
    let nodes: Vec<_> = names
        .iter()
        .map(|name| {
            let deps: Vec<_> = edges
                .iter()
                .filter(|(from, ..)| from == name)
                .map(|(_, to, kind)| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] }))
                .collect();
            json!({ "id": name, "deps": deps })
        })
        .collect();
    let packages: Vec<_> = names
        .iter()
        .map(|name| json!({ "id": name, "name": name }))
        .collect();
    let members: Vec<_> = names
        .iter()
        .filter(|name| name.starts_with("guildhall"))
        .collect();
    let metadata = json!({
        "packages": packages,
        "resolve": { "nodes": nodes },
        "workspace_members": members,
    });
    Graph::from_metadata(&serde_json::from_value(metadata).expect("as cargo prints it"))
}

#[test]
fn names_the_way_by_which_the_core_reaches_a_runtime() {
    let graph = graph(&[
        ("guildhall-core", "cachier", None),
        ("cachier", "tokio", None),
    ]);
    assert_eq!(
        dependency_faults(&graph),
        ["guildhall-core reaches tokio: guildhall-core -> cachier -> tokio"]
    );
}

#[test]
fn a_dependency_of_tests_is_no_fault() {
    let graph = graph(&[
        ("guildhall-core", "tokio", Some("dev")),
        ("guildhall", "guildhall-testing", Some("dev")),
    ]);
    assert_eq!(dependency_faults(&graph), Vec::<String>::new());
}

#[test]
fn a_library_with_an_owner_is_refused_to_others() {
    let graph = graph(&[("guildhall-packs", "gix", None)]);
    assert_eq!(
        dependency_faults(&graph),
        ["guildhall-packs depends on gix, which is left to guildhall-git, guildhall-testing"]
    );
}

#[test]
fn a_client_that_knows_tools_is_refused() {
    let graph = graph(&[("guildhall-jira", "guildhall-tools", None)]);
    assert_eq!(
        dependency_faults(&graph),
        ["guildhall-jira reaches guildhall-tools: guildhall-jira -> guildhall-tools"]
    );
}

#[test]
fn finds_sql_git_and_sibling_packs_in_sources() {
    let sql = ["let sql = \"SELE", "CT id FROM asks\";"].concat();
    let git = ["Command::new(\"gi", "t\")"].concat();
    let check = |path: &str, line: &str| faults_of_source(Path::new(path), line);

    assert_eq!(
        check("crates/guildhall-packs/src/lanes/get.rs", &sql),
        ["crates/guildhall-packs/src/lanes/get.rs:1: SQL outside guildhall-store"]
    );
    assert!(check("crates/guildhall-store/src/asks.rs", &sql).is_empty());
    assert_eq!(
        check("crates/guildhall/src/main.rs", &git),
        ["crates/guildhall/src/main.rs:1: git is started outside guildhall-git"]
    );
    assert!(check("crates/guildhall-git/src/lib.rs", &git).is_empty());
    assert_eq!(
        check(
            "crates/guildhall-packs/src/lanes/get.rs",
            "use crate::ladder::Rung;"
        ),
        ["crates/guildhall-packs/src/lanes/get.rs:1: a pack uses the pack `ladder`"]
    );
    assert!(
        check(
            "crates/guildhall-packs/src/lanes/get.rs",
            "use crate::lanes::Lane;"
        )
        .is_empty()
    );
    assert!(
        check(
            "crates/guildhall-packs/src/lib.rs",
            "pub use crate::ladder::pack;"
        )
        .is_empty()
    );
}
