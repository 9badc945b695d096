//! What is wrong with a settings file, and where.

use std::fmt;

/// A place in the settings file. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// One thing that is wrong, or worth a warning.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The key's full path, such as `server.port`; empty where the file as a whole is meant.
    pub path: String,
    /// Where in the file, where that is known.
    pub position: Option<Position>,
    /// What is wrong: names what was given and what is allowed, never a secret.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem with the file as a whole.
    pub fn of_file(message: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            position: None,
            message: message.into(),
            hint: None,
        }
    }
}

impl fmt::Display for Problem {
    /// `12:3: server.port must be ... (hint)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a settings file. Its text has one problem a line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct SettingsError {
    /// The file's name as it is shown, or empty where there is no file.
    pub file: String,
    /// At least one, in the order of the file.
    pub problems: Vec<Problem>,
}

impl SettingsError {
    /// An error of one problem with the file as a whole.
    pub fn of_file(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            problems: vec![Problem::of_file(message)],
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            if problem.position.is_some() {
                write!(f, "{}:", self.file)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
