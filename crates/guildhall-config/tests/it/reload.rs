//! Noticing changes.

use guildhall_config::Reloader;

use crate::Folder;

fn no_variable(_: &str) -> Option<String> {
    None
}

#[test]
fn a_change_is_told_once() {
    let folder = Folder::with("---\nserver: {port: 1}\n---\n");
    let mut reloader = Reloader::new(&folder.workspace(), &folder.load().unwrap());
    assert!(reloader.poll(&no_variable).is_none());
    folder.write("WORKFLOW.md", "---\nserver: {port: 2222}\n---\n");
    let loaded = reloader.poll(&no_variable).unwrap().unwrap();
    assert_eq!(loaded.settings.server.port, 2222);
    assert!(reloader.poll(&no_variable).is_none());
}

#[test]
fn a_file_that_cannot_be_used_leaves_the_last_good_settings() {
    let folder = Folder::with("---\nserver: {port: 1}\n---\n");
    let mut last_good = folder.load().unwrap();
    let mut reloader = Reloader::new(&folder.workspace(), &last_good);
    let mut poll = |last_good: &mut guildhall_config::Loaded| match reloader.poll(&no_variable) {
        None => "unchanged".to_owned(),
        Some(Ok(loaded)) => {
            *last_good = loaded;
            "loaded".to_owned()
        }
        Some(Err(error)) => error.to_string(),
    };

    folder.write("WORKFLOW.md", "---\nserver: {prot: 2}\n---\n");
    assert_eq!(
        poll(&mut last_good),
        "WORKFLOW.md:2:10: server contains unsupported keys: prot (did you mean `server.port`?)"
    );
    assert_eq!(last_good.settings.server.port, 1);
    assert_eq!(poll(&mut last_good), "unchanged");
    folder.write("WORKFLOW.md", "---\nserver: {port: 33}\n---\n");
    assert_eq!(poll(&mut last_good), "loaded");
    assert_eq!(last_good.settings.server.port, 33);
}

#[test]
fn a_touch_without_a_change_is_no_news() {
    let folder = Folder::with("---\nserver: {port: 1}\n---\n");
    let mut reloader = Reloader::new(&folder.workspace(), &folder.load().unwrap());
    // An editor's way of saving: the same content in another file, put in its place.
    folder.write("new.md", "---\nserver: {port: 1}\n---\n");
    std::fs::rename(
        folder.path().join("new.md"),
        folder.path().join("WORKFLOW.md"),
    )
    .unwrap();
    assert!(reloader.poll(&no_variable).is_none());
}

#[test]
fn a_file_that_goes_is_a_fault_and_its_return_is_news() {
    let text = "---\nserver: {port: 1}\n---\n";
    let folder = Folder::with(text);
    let mut reloader = Reloader::new(&folder.workspace(), &folder.load().unwrap());
    std::fs::remove_file(folder.path().join("WORKFLOW.md")).unwrap();
    let error = reloader
        .poll(&no_variable)
        .unwrap()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("missing_workflow_file: ") && error.ends_with(" ENOENT"),
        "{error}"
    );
    assert!(reloader.poll(&no_variable).is_none());
    folder.write("WORKFLOW.md", text);
    let loaded = reloader.poll(&no_variable).unwrap().unwrap();
    assert_eq!(loaded.settings.server.port, 1);
}

#[test]
fn a_file_that_comes_is_loaded() {
    let folder = Folder::empty();
    let mut reloader = Reloader::new(&folder.workspace(), &folder.load().unwrap());
    assert!(reloader.poll(&no_variable).is_none());
    folder.write("WORKFLOW.md", "---\nserver: {port: 5}\n---\n");
    let loaded = reloader.poll(&no_variable).unwrap().unwrap();
    assert_eq!(loaded.settings.server.port, 5);
}
