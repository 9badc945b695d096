//! What the command line says, and with which exit code it ends.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use guildhall_core::text::steers;
use serde::Serialize;

/// Why a command failed; scripts tell them apart by the exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// The tool, the server or the machine said no: 1.
    Refused,
    /// The command, its arguments or the settings are wrong: 2.
    Usage,
    /// A fault of ours, or of a server that does not answer: 3.
    Ours,
}

/// A failed command: what was wrong, and what would help.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) fault: Fault,
    pub(crate) error: anyhow::Error,
    pub(crate) hints: Vec<String>,
    /// The command has said it in its own form already.
    said: bool,
}

pub(crate) type CommandResult = Result<(), CommandError>;

impl CommandError {
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::new(Fault::Refused, anyhow::Error::msg(message.to_string()))
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Fault::Usage, anyhow::Error::msg(message.to_string()))
    }

    /// What the machine, or a server that this one stands on, did not let happen: whoever runs it has to act.
    pub(crate) fn of_machine(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Fault::Refused, error.into())
    }

    fn new(fault: Fault, error: anyhow::Error) -> Self {
        Self {
            fault,
            error,
            hints: Vec::new(),
            said: false,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A failure that was printed already, of which only the exit code is left to give.
    pub(crate) fn said(fault: Fault) -> Self {
        let mut error = Self::new(fault, anyhow::anyhow!("Said already"));
        error.said = true;
        error
    }

    /// Says it on standard error, the cause after the colon, hints on lines of their own.
    pub(crate) fn print(&self) -> ExitCode {
        let code = ExitCode::from(match self.fault {
            Fault::Refused => 1,
            Fault::Usage => 2,
            Fault::Ours => 3,
        });
        if self.said {
            return code;
        }
        let mut out = anstream::stderr().lock();
        let (red, cyan) = (bold(AnsiColor::Red), bold(AnsiColor::Cyan));
        let _ = writeln!(
            out,
            "{red}error{red:#}: {}",
            printable(&format!("{:#}", self.error))
        );
        for hint in &self.hints {
            let _ = writeln!(out, "{cyan}hint{cyan:#}: {}", printable(hint));
        }
        code
    }
}

/// What a step fails with unless it says otherwise is a fault of ours.
impl<E: Into<anyhow::Error>> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self::new(Fault::Ours, error.into())
    }
}

fn bold(color: AnsiColor) -> Style {
    color.on_default().bold()
}

/// Prints one line of result. A reader that went away (`| head`) ends the command quietly.
pub(crate) fn say(line: &str) -> CommandResult {
    let mut out = anstream::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => Ok(result?),
    }
}

/// Prints a result as JSON in one line, for programs.
pub(crate) fn say_json(value: &impl Serialize) -> CommandResult {
    say(&json(value)?)
}

/// Prints a result as JSON over several lines.
pub(crate) fn say_pretty_json(value: &impl Serialize) -> CommandResult {
    say(&unsteering(&serde_json::to_string_pretty(value)?))
}

/// `value` as compact JSON that may stand in a terminal.
pub(crate) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(unsteering(&serde_json::to_string(value)?))
}

/// `json`, a text of JSON, with what steers a terminal as `\u` escapes: the same JSON. Such characters stand within its
/// strings alone.
fn unsteering(json: &str) -> String {
    use std::fmt::Write as _;
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if steers(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Tells the person something beside the result, on standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", printable(text));
}

/// `text` with its escape sequences and other control characters made visible: nothing from outside may steer a
/// terminal. Line ends stay.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if steers(c) { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_printed_raw() {
        let given = "a\u{1b}[2Jb\rc\u{9b}31m\u{202e}d\u{7}\te\n";
        assert_eq!(
            printable(given),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}31m\u{fffd}d\u{fffd}\te\n"
        );
    }

    #[test]
    fn json_is_the_same_and_steers_no_terminal() {
        let value = serde_json::json!({
            "title": "a\u{1b}[2Jb\rc\u{9b}31m\u{202e}d\u{7f}\te\nü \u{2066}\u{200f}",
            "\u{85}key": ["\u{61c}"],
        });
        let pretty = unsteering(&serde_json::to_string_pretty(&value).unwrap());
        for text in [json(&value).unwrap(), pretty] {
            assert!(!text.chars().any(steers), "{text:?}");
            assert!(
                text.contains("c\\u009b31m\\u202ed\\u007f\\te\\nü"),
                "{text}"
            );
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read, value);
        }
    }

    #[test]
    fn a_cause_stands_after_its_colon() {
        let error: CommandError = anyhow::anyhow!("disk full").context("Cannot write").into();
        assert_eq!(error.fault, Fault::Ours);
        assert_eq!(format!("{:#}", error.error), "Cannot write: disk full");
    }
}
