//! The real program over a workspace of its own.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use tempfile::TempDir;

use crate::Server;

/// `guildhall up` in an empty workspace, with its data beside it; stopped and cleaned up when dropped. Its log is kept
/// beside them and printed only when the test that holds it fails.
#[derive(Debug)]
pub struct Guildhall {
    // Dropped first: the server must be gone before its folders are.
    server: Server,
    program: PathBuf,
    arguments: Vec<String>,
    scratch: TempDir,
}

impl Guildhall {
    /// Starts `program` on a free port.
    ///
    /// # Panics
    ///
    /// When it does not come up.
    pub fn start(program: impl Into<PathBuf>) -> Self {
        Self::start_with(program, &[])
    }

    /// Starts `program` on a free port with further arguments for `up`.
    ///
    /// # Panics
    ///
    /// When it does not come up.
    pub fn start_with(program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let program = program.into();
        let arguments: Vec<String> = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        let scratch = tempfile::tempdir().expect("a scratch folder");
        fs::create_dir(scratch.path().join("workspace")).expect("a workspace");
        let server = Server::start(&mut up(&program, &arguments, scratch.path(), 0));
        Self {
            server,
            program,
            arguments,
            scratch,
        }
    }

    /// Kills the server as `kill -9` does.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Kills the server as `kill -9` does and starts another on the same port and the same data.
    ///
    /// # Panics
    ///
    /// When it does not come up again.
    pub fn restart(&mut self) {
        let port = self.server.address().port();
        self.server.kill();
        let mut command = up(&self.program, &self.arguments, self.scratch.path(), port);
        self.server = Server::start(&mut command);
        assert_eq!(self.server.address().port(), port);
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// `http://<address>`
    pub fn origin(&self) -> String {
        self.server.origin()
    }

    /// A folder for what else a test needs; it holds `workspace` and `data` and goes away with this value.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The directory that it serves.
    pub fn workspace(&self) -> PathBuf {
        self.scratch.path().join("workspace")
    }

    /// The file with the owner's token.
    pub fn token_file(&self) -> PathBuf {
        self.scratch.path().join("data/owner.token")
    }

    /// The owner's token.
    ///
    /// # Panics
    ///
    /// When the server has written none.
    pub fn token(&self) -> String {
        let token = fs::read_to_string(self.token_file()).expect("an owner's token");
        token.trim().to_owned()
    }

    /// Another command of the program, told to use this server as its owner.
    pub fn command(&self) -> Command {
        let mut command = hermetic(&self.program, self.scratch.path());
        command
            .current_dir(self.workspace())
            .env("GUILDHALL_URL", self.origin())
            .env("GUILDHALL_TOKEN_FILE", self.token_file());
        command
    }
}

impl Drop for Guildhall {
    #[expect(
        clippy::print_stderr,
        reason = "the log of a failed test belongs to its output"
    )]
    fn drop(&mut self) {
        if thread::panicking()
            && let Ok(log) = fs::read_to_string(log_file(self.scratch.path()))
        {
            eprintln!("The server's log:\n{log}");
        }
    }
}

fn log_file(scratch: &Path) -> PathBuf {
    scratch.join("server.log")
}

fn up(program: &Path, arguments: &[String], scratch: &Path, port: u16) -> Command {
    let workspace = scratch.join("workspace");
    let log = File::options()
        .create(true)
        .append(true)
        .open(log_file(scratch))
        .expect("a log file");
    let mut command = hermetic(program, scratch);
    command
        .arg("up")
        .arg(&workspace)
        .args(["--port", &port.to_string(), "--data-dir"])
        .arg(scratch.join("data"))
        .args(arguments)
        .current_dir(workspace)
        .stderr(log);
    command
}

/// A program that sees nothing of this machine's settings: an environment of `HOME` and `PATH` alone.
pub fn hermetic(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}
