//! Loading the settings of a workspace.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::problem::{Position, Problem, SettingsError};
use crate::reader::Reading;
use crate::reload::Stamp;
use crate::yaml::{self, Node, Value};
use crate::{Env, Settings, Workspace, front_matter};

/// The longest `WORKFLOW.md` that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// What a settings file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The settings, every default filled in.
    pub settings: Settings,
    /// What is worth saying about them; they hold all the same.
    pub warnings: Vec<Problem>,
    /// The text after the front matter, or the whole file where there is none. Not trimmed, not rendered.
    pub prompt: String,
    /// The file, or `None` where there is none and all is default.
    pub source: Option<PathBuf>,
    /// SHA-256 of the file's bytes in hex; of nothing where there is no file.
    pub fingerprint: String,
    pub(crate) stamp: Option<Stamp>,
}

impl Loaded {
    /// The error of these settings that reading cannot know of, such as a pack of which there is none.
    pub fn refusal(
        &self,
        path: &str,
        position: Option<Position>,
        message: impl Into<String>,
    ) -> SettingsError {
        SettingsError {
            file: self.source.as_deref().map(shown).unwrap_or_default(),
            problems: vec![Problem {
                path: path.to_owned(),
                position,
                ..Problem::of_file(message)
            }],
        }
    }
}

impl Settings {
    /// Loads the settings of `workspace`, looking variables up in `env`.
    ///
    /// Where nobody named a file and the workspace has none, everything is default.
    ///
    /// # Errors
    ///
    /// All that is wrong with the file, with the place of each.
    pub fn load(workspace: &Workspace, env: Env<'_>) -> Result<Loaded, SettingsError> {
        let path = &workspace.workflow;
        let (bytes, stamp) = match read(path) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::NotFound && !workspace.workflow_named => {
                return finish(workspace, env, "", None);
            }
            Err(error) => {
                let message = format!("missing_workflow_file: {} {}", path.display(), code(&error));
                return Err(SettingsError::of_file(shown(path), message));
            }
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
                .split(|byte| *byte == b'\n')
                .count();
            let message = format!("workflow_parse_error: Line {line} is not UTF-8");
            SettingsError::of_file(shown(path), message)
        })?;
        finish(workspace, env, &text, Some((path.clone(), stamp)))
    }
}

fn finish(
    workspace: &Workspace,
    env: Env<'_>,
    text: &str,
    source: Option<(PathBuf, Stamp)>,
) -> Result<Loaded, SettingsError> {
    let base = workspace.base();
    let (source, stamp) = source.unzip();
    let fail = |problems| SettingsError {
        file: source.as_deref().map(shown).unwrap_or_default(),
        problems,
    };
    let mut reading = Reading::new(env, base);
    let parts = front_matter::split(text);
    let node = front_matter(&parts, &mut reading).map_err(|problem| fail(vec![problem]))?;
    let settings = Settings::read(node.as_ref(), &mut reading);
    if !reading.problems.is_empty() {
        let mut problems = reading.problems;
        problems.sort_by_key(|problem| problem.position.map(|at| (at.line, at.column)));
        return Err(fail(problems));
    }
    Ok(Loaded {
        settings,
        warnings: reading.warnings,
        prompt: parts.prompt.to_owned(),
        source,
        fingerprint: fingerprint(text.as_bytes()),
        stamp,
    })
}

fn front_matter(
    parts: &front_matter::Parts<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<Node>, Problem> {
    if parts.unclosed {
        let message = "Line 1 is `---`, but no line `---` ends the front matter: the whole file is taken as the prompt";
        reading.warnings.push(Problem::of_file(message));
    }
    let Some(yaml) = parts.yaml else {
        return Ok(None);
    };
    match yaml::parse(yaml, 2)? {
        Some(Node { value, at }) if !matches!(value, Value::Map(_) | Value::Null) => Err(Problem {
            position: Some(at),
            ..Problem::of_file("workflow_front_matter_not_a_map: front matter must be a map")
        }),
        node => Ok(node),
    }
}

/// The bytes of the file and its stamp, taken of the very file that was read.
pub(crate) fn read(path: &Path) -> std::io::Result<(Vec<u8>, Stamp)> {
    // A pipe would block whoever opens it, so the kind is looked at first.
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let stamp = Stamp::of(&file.metadata()?);
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok((bytes, stamp))
}

/// The name of an error in the form people know from other programs.
fn code(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "ENOENT".to_owned(),
        ErrorKind::PermissionDenied => "EACCES".to_owned(),
        ErrorKind::IsADirectory => "EISDIR".to_owned(),
        ErrorKind::NotADirectory => "ENOTDIR".to_owned(),
        ErrorKind::FileTooLarge => format!("EFBIG: longer than {MAX_FILE_BYTES} bytes"),
        _ => error.to_string(),
    }
}

fn shown(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// SHA-256 in hex.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
