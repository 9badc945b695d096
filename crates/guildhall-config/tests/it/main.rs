//! The settings as their users meet them: whole files in real folders.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod docs;
mod invalid;
mod load;
mod reload;
mod robust;
mod schema;
mod secrets;
mod show;
mod workspace;

use std::path::Path;

use guildhall_config::{Loaded, Settings, SettingsError, Workspace};
use tempfile::TempDir;

/// A workspace folder with a settings file in it.
struct Folder {
    dir: TempDir,
}

impl Folder {
    /// A workspace whose `WORKFLOW.md` is `text`.
    fn with(text: &str) -> Self {
        let folder = Self::empty();
        folder.write("WORKFLOW.md", text);
        folder
    }

    /// A workspace without a settings file.
    fn empty() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn workspace(&self) -> Workspace {
        Workspace::find(Some(self.path()), self.path())
    }

    fn load(&self) -> Result<Loaded, SettingsError> {
        self.load_with(&[])
    }

    fn load_with(&self, variables: &[(&str, &str)]) -> Result<Loaded, SettingsError> {
        Settings::load(&self.workspace(), &env(variables))
    }
}

/// An environment of exactly `variables`.
fn env(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    move |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    }
}

/// The settings of a front matter, which must be without fault.
fn settings(front_matter: &str) -> Settings {
    Folder::with(&format!("---\n{front_matter}\n---\n"))
        .load()
        .unwrap()
        .settings
}

/// What is wrong with a front matter.
fn problems(front_matter: &str) -> String {
    Folder::with(&format!("---\n{front_matter}\n---\n"))
        .load()
        .unwrap_err()
        .to_string()
}
