use std::path::PathBuf;

use super::*;

const NAME: &str = "BOARD-1.md";
const MAX: u64 = 1_000;

struct World {
    folder: tempfile::TempDir,
    dir: BoardDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = BoardDir::open(&folder.path().canonicalize().unwrap());
        let world = Self {
            folder,
            dir: dir.unwrap().unwrap(),
        };
        world.edit("old");
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self) -> FileRead {
        let Ok(Some(read)) = self.dir.read(NAME, MAX) else {
            panic!("no file");
        };
        read
    }

    fn edit(&self, text: &str) {
        std::fs::write(self.path(NAME), text).unwrap();
    }

    fn edit_by_renaming(&self, text: &str) {
        std::fs::write(self.path("editor"), text).unwrap();
        std::fs::rename(self.path("editor"), self.path(NAME)).unwrap();
    }

    fn temp(&self) -> Temp<'_> {
        self.dir.write_temp(b"ours", "r", None).unwrap().0
    }

    /// What the issue's file holds; nothing else may be left over.
    fn end(&self) -> String {
        let names: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(names.iter().all(|name| name == NAME), "{names:?}");
        std::fs::read_to_string(self.path(NAME)).unwrap_or_default()
    }
}

#[test]
fn what_was_read_is_replaced() {
    let world = World::new();
    let old = world.read();
    assert!(matches!(
        world.dir.replace(NAME, &old, b"ours", "r"),
        Ok(Replaced::Yes(_))
    ));
    assert_eq!(world.end(), "ours");
    let world = World::new();
    assert_eq!(
        world.dir.rename_over(world.temp(), NAME, &world.read()),
        Ok(true)
    );
    assert_eq!(world.end(), "ours");
}

#[test]
fn an_edit_since_the_reading_stands_whatever_step_it_fell_between() {
    for edit in [World::edit, World::edit_by_renaming] {
        // Of the same length, and also with the same text in another file.
        for text in ["new", "longer", ""] {
            let world = World::new();
            let old = world.read();
            edit(&world, text);
            assert_eq!(
                world.dir.replace(NAME, &old, b"ours", "r").unwrap(),
                Replaced::Changed
            );
            assert_eq!(world.end(), text);
            // After the first comparison.
            let world = World::new();
            let old = world.read();
            let temp = world.temp();
            edit(&world, text);
            assert_eq!(world.dir.swap_in(&temp, NAME, &old), Ok(false));
            drop(temp);
            assert_eq!(world.end(), text);
            let world = World::new();
            let old = world.read();
            let temp = world.temp();
            edit(&world, text);
            assert_eq!(world.dir.rename_over(temp, NAME, &old), Ok(false));
            assert_eq!(world.end(), text);
        }
    }
}

#[test]
fn the_newest_edit_stands_when_putting_back_is_overtaken() {
    let world = World::new();
    let old = world.read();
    let temp = world.temp();
    world.edit_by_renaming("first");
    world.dir.exchange(&temp.name, NAME).unwrap();
    assert!(!world.dir.still_holds(&temp.name, &old).unwrap());
    // Before the first edit is put back, a second one replaces ours.
    world.edit_by_renaming("second");
    world.dir.put_back(&temp, NAME).unwrap();
    drop(temp);
    assert_eq!(world.end(), "second");
}

#[test]
fn a_deletion_stands() {
    let world = World::new();
    let old = world.read();
    std::fs::remove_file(world.path(NAME)).unwrap();
    assert_eq!(
        world.dir.replace(NAME, &old, b"ours", "r").unwrap(),
        Replaced::Changed
    );
    let temp = world.temp();
    assert_eq!(world.dir.swap_in(&temp, NAME, &old), Ok(false));
    drop(temp);
    assert_eq!(world.end(), "");
    assert!(!world.path(NAME).exists());
}

#[test]
fn a_new_file_never_replaces_anything() {
    let world = World::new();
    assert!(world.dir.publish_new(NAME, b"ours", "r").unwrap().is_none());
    assert_eq!(world.end(), "old");
    std::fs::remove_file(world.path(NAME)).unwrap();
    std::os::unix::fs::symlink("missing", world.path(NAME)).unwrap();
    assert!(world.dir.publish_new(NAME, b"ours", "r").unwrap().is_none());
    std::fs::remove_file(world.path(NAME)).unwrap();
    assert!(world.dir.publish_new(NAME, b"ours", "r").unwrap().is_some());
    assert_eq!(world.end(), "ours");
}

#[test]
fn a_temporary_name_that_is_taken_fails_and_harms_nothing() {
    let world = World::new();
    std::os::unix::fs::symlink(NAME, world.path(".guildhall-r.tmp")).unwrap();
    let old = world.read();
    assert!(world.dir.replace(NAME, &old, b"ours", "r").is_err());
    std::fs::remove_file(world.path(".guildhall-r.tmp")).unwrap();
    assert_eq!(world.end(), "old");
}
