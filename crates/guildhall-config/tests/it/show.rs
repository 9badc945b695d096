//! The settings in effect, as they are shown.

use std::path::Path;

use guildhall_config::Settings;

use crate::Folder;

#[test]
fn the_defaults_are_shown_as_such() {
    let yaml = Settings::defaults(Path::new("/srv/app")).show_yaml(Path::new("/srv/app"));
    insta::assert_snapshot!(yaml);
}

#[test]
fn a_changed_value_is_shown_with_its_default() {
    let folder = Folder::with(
        "---\ntracker: {kind: m}\ntrackers: {m: {provider: memory, issues: []}}\ntools: {git: {}, local: {id_prefix: \
         \"1-\"}}\nserver: {port: 4041, allowed_hosts: [a.example.com]}\nlogging: {level: \"off\"}\n---\n",
    );
    let yaml = folder
        .load()
        .unwrap()
        .settings
        .show_yaml(&folder.workspace().root);
    insta::assert_snapshot!(yaml);
}

#[test]
fn what_is_shown_loads_again_as_the_same_settings() {
    let folder = Folder::with(
        "---\ntools: {git: {}, local: {path: \"a b: #c\", id_prefix: \"1-\"}}\nserver: {port: 4041, host: \"::1\", \
         allowed_hosts: [a.b]}\nlogging: {level: \"off\", log_file: \"no\"}\n---\n",
    );
    let first = folder.load().unwrap().settings;
    let yaml = first.show_yaml(&folder.workspace().root);
    folder.write("WORKFLOW.md", &format!("---\n{yaml}---\n"));
    let again = folder.load().unwrap().settings;
    assert_eq!(again.show(), first.show());
    assert_eq!(again.board(), first.board());
}
