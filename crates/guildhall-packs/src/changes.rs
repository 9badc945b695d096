//! Files of a changeset, as tools take them and show them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guildhall_git::{Change, FileChange};
use guildhall_store::ChangedFile;
use guildhall_tools::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one file shall be.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub(crate) struct FileArgument {
    /// From the root of the repository
    pub(crate) path: String,
    /// All of it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// Of `content`; default utf-8
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encoding: Option<Encoding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delete: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<Mode>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub(crate) enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Normal,
    Executable,
}

impl FileArgument {
    /// The file as it is kept.
    pub(crate) fn kept(self) -> Result<ChangedFile, ToolError> {
        let deleted = self.delete.unwrap_or_default();
        if deleted == (self.content.is_some() || self.mode.is_some()) {
            return Err(ToolError::bad_arguments(format!(
                "`{}` must have either its 'content', 'delete' or a 'mode'",
                excerpt(&self.path)
            )));
        }
        let content = match (self.content, self.encoding) {
            (Some(text), Some(Encoding::Base64)) => {
                let bytes = STANDARD.decode(text.trim()).map_err(|error| {
                    ToolError::bad_arguments(format!(
                        "The content of `{}` is not base64: {error}",
                        excerpt(&self.path)
                    ))
                })?;
                Some(bytes)
            }
            (content, _) => content.map(String::into_bytes),
        };
        Ok(ChangedFile {
            path: self.path,
            content,
            deleted,
            mode: self.mode.map(|mode| match mode {
                Mode::Normal => guildhall_store::FileMode::Normal,
                Mode::Executable => guildhall_store::FileMode::Executable,
            }),
        })
    }
}

/// The file as git is to write it.
pub(crate) fn for_git(file: &ChangedFile) -> FileChange {
    let mode = file.mode.map(|mode| match mode {
        guildhall_store::FileMode::Normal => guildhall_git::FileMode::Regular,
        guildhall_store::FileMode::Executable => guildhall_git::FileMode::Executable,
    });
    let change = match (&file.content, mode) {
        (Some(content), mode) => Change::Write {
            content: content.clone(),
            mode,
        },
        (None, Some(mode)) if !file.deleted => Change::Mode(mode),
        _ => Change::Delete,
    };
    FileChange {
        path: file.path.clone(),
        change,
    }
}

/// The text of a content, with what it is written in.
pub(crate) fn shown(content: &[u8]) -> (String, Encoding) {
    match std::str::from_utf8(content) {
        Ok(text) => (text.to_owned(), Encoding::Utf8),
        Err(_) => (STANDARD.encode(content), Encoding::Base64),
    }
}

/// As much of what was given as a message repeats.
fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(json: serde_json::Value) -> FileArgument {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_file_is_its_content_gone_or_another_mode() {
        let kept = given(serde_json::json!({ "path": "a", "content": "x" })).kept();
        assert_eq!(kept.unwrap().content.as_deref(), Some(b"x".as_slice()));
        let bytes = serde_json::json!({ "path": "a", "content": "AP8=", "encoding": "base64" });
        let kept = given(bytes).kept().unwrap();
        assert_eq!(kept.content.as_deref(), Some([0, 255].as_slice()));
        assert_eq!(shown(&[0, 255]), ("AP8=".to_owned(), Encoding::Base64));
        let gone = given(serde_json::json!({ "path": "a", "delete": true })).kept();
        assert_eq!(for_git(&gone.unwrap()).change, Change::Delete);
        let mode = given(serde_json::json!({ "path": "a", "mode": "executable" })).kept();
        assert_eq!(
            for_git(&mode.unwrap()).change,
            Change::Mode(guildhall_git::FileMode::Executable)
        );
        for wrong in [
            serde_json::json!({ "path": "a" }),
            serde_json::json!({ "path": "a", "delete": false }),
            serde_json::json!({ "path": "a", "delete": true, "content": "" }),
            serde_json::json!({ "path": "a", "content": "%", "encoding": "base64" }),
        ] {
            assert!(given(wrong.clone()).kept().is_err(), "{wrong}");
        }
    }
}
