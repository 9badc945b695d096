//! Each file of `tests/invalid` is refused with the text that stands beside it.

use std::path::Path;

use crate::Folder;

#[test]
fn every_invalid_file_is_refused_with_its_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/invalid");
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    for name in names {
        let text = std::fs::read_to_string(folder.join(format!("{name}.md"))).unwrap();
        let error = Folder::with(&text).load().expect_err(&name);
        assert!(
            !error.to_string().to_lowercase().contains("canary"),
            "{error}"
        );
        insta::with_settings!({
            snapshot_path => "../invalid",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name.as_str(), error.to_string());
        });
    }
}
