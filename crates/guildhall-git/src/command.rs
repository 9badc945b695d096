//! The one way a `git` process is started.
//!
//! Each process gets an environment built from nothing, a fixed configuration that outranks the repository's own, a
//! process group of its own, a deadline, and a bound on what it may print. Nothing else in Guildhall starts `git`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::error::GitError;

/// How much of a failed command's own words is kept, in bytes.
const STDERR_LIMIT: usize = 64 * 1024;

/// Variables of the operator that `git` needs for their own configuration, credentials, proxies and certificates.
const OPERATOR_VARIABLES: [&str; 20] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "USER",
    "LOGNAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "ALL_PROXY",
];

/// Settings that no repository may change: each would run a program, follow another repository or change what is read.
///
/// They are given on the command line, which git ranks above every file.
const FIXED_CONFIG: [&str; 17] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.alternateRefsCommand=true",
    "core.commitGraph=true",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "gc.auto=0",
    "maintenance.auto=false",
    "transfer.bundleURI=false",
    "safe.bareRepository=all",
];

/// A version of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u32, u32, u32);

impl Version {
    /// The first version that lets a process be told to read no configuration of the user's (`GIT_CONFIG_GLOBAL`).
    pub const MINIMUM: Self = Self(2, 32, 0);

    pub(crate) const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major, minor, patch)
    }

    /// Reads what `git --version` prints, such as `git version 2.47.3` or `git version 2.39.5 (Apple Git-154)`.
    fn parse(text: &str) -> Option<Self> {
        let numbers = text.trim().strip_prefix("git version ")?;
        let mut parts = numbers
            .split(|c: char| !c.is_ascii_digit())
            .map(str::parse::<u32>);
        let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        Some(Self(major, minor, patch))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The variables a process was started with, as far as `git` may see them.
#[derive(Clone, Debug, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// This process's own.
    pub fn of_this_process() -> Self {
        std::env::vars_os().collect()
    }

    fn get(&self, name: &str) -> Option<&OsStr> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_os_str())
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// Whose configuration a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Config {
    /// None but the fixed one and what the repository itself holds.
    Isolated,
    /// The operator's own (global and system), under the fixed one: for their address and their credentials.
    Operator,
}

/// A `git` that was found and is new enough.
#[derive(Clone, Debug)]
pub struct Git {
    environment: Environment,
    version: Version,
}

impl Git {
    /// Finds `git` on the path of `environment`.
    ///
    /// # Errors
    /// [`GitError::NotInstalled`] and [`GitError::TooOld`].
    pub fn find(environment: Environment) -> Result<Self, GitError> {
        let unchecked = Self {
            environment,
            version: Version::MINIMUM,
        };
        let printed = unchecked
            .command(Config::Isolated, "version")
            .run(&Limits::SHORT)?;
        let text = String::from_utf8_lossy(&printed);
        let version = Version::parse(&text).ok_or_else(|| GitError::Failed {
            action: "version".into(),
            message: format!("it printed {:?}", text.trim()),
        })?;
        if version < Version::MINIMUM {
            return Err(GitError::TooOld { found: version });
        }
        Ok(Self {
            version,
            ..unchecked
        })
    }

    /// The version found.
    pub fn version(&self) -> Version {
        self.version
    }

    /// A command `git <action>`.
    pub(crate) fn command(&self, config: Config, action: &str) -> GitCommand {
        let mut command = Command::new("git");
        command.env_clear().process_group(0);
        if let Some(path) = self.environment.get("PATH") {
            command.env("PATH", path);
        }
        for (name, value) in [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            // No prompt on a terminal, by git or by ssh: a question nobody can see is a call that never ends.
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS", "false"),
            ("SSH_ASKPASS_REQUIRE", "force"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            // No transport at all; what fetches or pushes names the ones it may use.
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_PAGER", "cat"),
        ] {
            command.env(name, value);
        }
        match config {
            Config::Isolated => {
                command.env("GIT_CONFIG_NOSYSTEM", "1");
                command.env("GIT_CONFIG_GLOBAL", "/dev/null");
                command.env("HOME", "/nonexistent");
            }
            Config::Operator => {
                for name in OPERATOR_VARIABLES {
                    if let Some(value) = self.environment.get(name) {
                        command.env(name, value);
                    }
                }
            }
        }
        command.arg("--no-pager");
        for setting in FIXED_CONFIG {
            command.args(["-c", setting]);
        }
        GitCommand {
            command,
            action: action.to_owned(),
            started: false,
        }
    }
}

/// What a command may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Until it is killed.
    pub(crate) time: Duration,
    /// Bytes it may print; more and it is killed.
    pub(crate) output: usize,
}

impl Limits {
    /// For commands that look something up.
    pub(crate) const SHORT: Self = Self {
        time: Duration::from_secs(20),
        output: 16 * 1024 * 1024,
    };

    /// For commands whose work grows with what is given to them.
    pub(crate) const LONG: Self = Self {
        time: Duration::from_mins(2),
        ..Self::SHORT
    };
}

/// One `git` process before it is started. Global options come before the arguments of the action.
pub(crate) struct GitCommand {
    command: Command,
    action: String,
    /// Whether the action has been written, after which global options would be misread.
    started: bool,
}

impl GitCommand {
    /// Works on the bare repository at `dir` and on no other that is found around it.
    pub(crate) fn repository(mut self, dir: &Path) -> Self {
        self.command.env("GIT_DIR", dir).current_dir(dir);
        self
    }

    /// Works in `dir` as a person there would, finding the repository around it.
    pub(crate) fn inside(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Adds one setting, `section.key=value`; it outranks the fixed ones. Before the first argument.
    pub(crate) fn config(mut self, setting: &str) -> Self {
        debug_assert!(!self.started, "settings come before arguments");
        self.command.args(["-c", setting]);
        self
    }

    /// Adds or replaces one variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// The command itself, for a caller that feeds and reads it as it runs.
    pub(crate) fn into_std(mut self) -> Command {
        if !self.started {
            self.command.arg(&self.action);
        }
        self.command
    }

    /// Adds an argument of the action.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        if !self.started {
            self.command.arg(&self.action);
            self.started = true;
        }
        self.command.arg(argument);
        self
    }

    /// Adds arguments of the action.
    pub(crate) fn args<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Runs it to its end and gives what it printed.
    ///
    /// # Errors
    /// [`GitError::Failed`] when it ends with a failure or prints more than it may, [`GitError::TimedOut`],
    /// [`GitError::NotInstalled`].
    pub(crate) fn run(self, limits: &Limits) -> Result<Vec<u8>, GitError> {
        self.run_with_input(limits, Vec::new())
    }

    /// As [`GitCommand::run`], with `input` on its standard input.
    pub(crate) fn run_with_input(
        self,
        limits: &Limits,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, GitError> {
        let (_, printed) = self.run_whole(limits, input, &[0])?;
        Ok(printed)
    }

    /// As [`GitCommand::run`], for a command that tells something by the code it ends with: one of `codes`.
    pub(crate) fn run_to_code(
        self,
        limits: &Limits,
        codes: &[i32],
    ) -> Result<(i32, Vec<u8>), GitError> {
        self.run_whole(limits, Vec::new(), codes)
    }

    fn run_whole(
        mut self,
        limits: &Limits,
        input: Vec<u8>,
        codes: &[i32],
    ) -> Result<(i32, Vec<u8>), GitError> {
        if !self.started {
            self.command.arg(&self.action);
        }
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(GitError::NotInstalled)?;
        let ended = read_to_end(&mut child, input, limits);
        if !matches!(&ended, Some(printed) if printed.complete) {
            kill_group(&child);
        }
        let status = child.wait().map_err(|source| GitError::Io {
            action: "wait for",
            path: PathBuf::from("git"),
            source,
        })?;
        match ended {
            None => Err(GitError::TimedOut {
                action: self.action,
                limit: limits.time,
            }),
            Some(printed) if !printed.complete => Err(GitError::Failed {
                action: self.action,
                message: format!("it printed more than {} bytes", limits.output),
            }),
            Some(printed) => match status.code().filter(|code| codes.contains(code)) {
                Some(code) => Ok((code, printed.stdout)),
                None => Err(GitError::Failed {
                    action: self.action,
                    message: said(&printed.stderr, status.code()),
                }),
            },
        }
    }
}

struct Printed {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Whether both streams ended within their bounds.
    complete: bool,
}

/// Feeds and drains the child on threads of their own; `None` when the time is up first.
fn read_to_end(child: &mut Child, input: Vec<u8>, limits: &Limits) -> Option<Printed> {
    if let Some(mut stdin) = child.stdin.take() {
        // A child that ends early closes the pipe; its exit status says what was wrong.
        thread::spawn(move || stdin.write_all(&input));
    }
    let (sender, receiver) = mpsc::channel();
    let stdout = child.stdout.take().map(|pipe| (pipe, limits.output));
    let stderr = child.stderr.take();
    let err_sender = sender.clone();
    thread::spawn(move || {
        let read = stdout.map_or((Vec::new(), true), |(pipe, limit)| drain(pipe, limit));
        let _ = sender.send((true, read));
    });
    thread::spawn(move || {
        let read = stderr.map_or((Vec::new(), true), |pipe| drain_tail(pipe, STDERR_LIMIT));
        let _ = err_sender.send((false, read));
    });
    let deadline = std::time::Instant::now() + limits.time;
    let mut printed = Printed {
        stdout: Vec::new(),
        stderr: Vec::new(),
        complete: true,
    };
    for _ in 0..2 {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let (is_stdout, (bytes, whole)) = receiver.recv_timeout(left).ok()?;
        if is_stdout {
            printed.stdout = bytes;
            printed.complete = whole;
            if !whole {
                break;
            }
        } else {
            printed.stderr = bytes;
        }
    }
    Some(printed)
}

/// Reads at most `limit` bytes and says whether that was all.
fn drain(pipe: impl Read, limit: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut pipe = pipe.take(limit as u64 + 1);
    let read = pipe.read_to_end(&mut bytes);
    let whole = read.is_ok() && bytes.len() <= limit;
    (bytes, whole)
}

/// Reads everything and keeps the last `limit` bytes, so that a talkative child is never blocked.
fn drain_tail(mut pipe: impl Read, limit: usize) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    while let Ok(read @ 1..) = pipe.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > 2 * limit {
            kept.drain(..kept.len() - limit);
        }
    }
    (kept, true)
}

/// Kills the child and everything it started.
fn kill_group(child: &Child) {
    kill_group_of(Some(child.id()));
}

/// Kills the process group that the child with this id leads.
pub(crate) fn kill_group_of(id: Option<u32>) {
    let pid = id.and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// The end of what git wrote, fit for an error text: its last lines, without credentials in addresses.
fn said(stderr: &[u8], code: Option<i32>) -> String {
    const LINES: usize = 6;
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        return match code {
            Some(code) => format!("it ended with code {code} and said nothing"),
            None => "it was killed by a signal".to_owned(),
        };
    }
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    without_credentials(last.trim_end_matches('.'))
}

/// `text` with the user information of every address in it taken out.
pub(crate) fn without_credentials(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        let authority = after
            .find(|c: char| c == '/' || c.is_whitespace() || c == '\'' || c == '"')
            .unwrap_or(after.len());
        rest = match after[..authority].rfind('@') {
            Some(end) => &after[end + 1..],
            None => after,
        };
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests;
