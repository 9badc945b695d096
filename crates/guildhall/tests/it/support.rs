//! A workspace with the real program in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use guildhall_testing::hermetic;
use serde_json::Value;
use tempfile::TempDir;

/// Longest that anything here may take; what takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A scratch folder: a home, and a workspace inside it.
pub(crate) struct Place {
    scratch: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        std::fs::create_dir(scratch.path().join("work")).expect("a workspace");
        Self { scratch }
    }

    pub(crate) fn home(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.workspace().join(".guildhall/state")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().expect("files stand in folders")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// The program in the workspace, seeing nothing of this machine's settings.
    pub(crate) fn command(&self) -> Command {
        let mut command = hermetic(env!("CARGO_BIN_EXE_guildhall"), self.home());
        command.current_dir(self.workspace()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(
            &self
                .command()
                .args(arguments)
                .output()
                .expect("the program runs"),
        )
    }

    /// `guildhall up` on a free port, as a process that ends with the value.
    pub(crate) fn up(&self, arguments: &[&str]) -> Up {
        self.up_in(arguments, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn up_in(&self, arguments: &[&str], environment: &[(&str, &OsStr)]) -> Up {
        let log = std::fs::File::create(self.home().join("up.log")).expect("a log file");
        let mut command = self.command();
        command
            .args(["up", "--port", "0", "--json"])
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut process = command.spawn().expect("the program starts");
        let mut line = String::new();
        let mut out = std::io::BufReader::new(process.stdout.take().expect("its output"));
        std::io::BufRead::read_line(&mut out, &mut line).expect("its output");
        let said = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("not up: {line:?} {}", self.log()));
        Up { said, process }
    }

    /// What the server started by [`Place::up`] has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home().join("up.log")).unwrap_or_default()
    }

    /// The server that a command started in the background is stopped, so that nothing outlives its test.
    fn stop_background(&self) {
        let Ok(text) = std::fs::read(self.state().join("server.json")) else {
            return;
        };
        let Ok(server) = serde_json::from_slice::<Value>(&text) else {
            return;
        };
        let Some(pid) = server["pid"].as_i64() else {
            return;
        };
        // One that was killed left its file behind and is gone.
        let killed = Command::new("kill")
            .arg(pid.to_string())
            .stderr(Stdio::null())
            .status();
        if killed.is_ok_and(|status| status.success()) {
            eventually("the background server stops", || {
                !self.state().join("server.json").exists()
            });
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.stop_background();
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout.clone()).expect("the output is UTF-8"),
            err: String::from_utf8(output.stderr.clone()).expect("the errors are UTF-8"),
        }
    }

    /// The output of a command that must have ended well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("the output is JSON")
    }
}

/// A running server; killed when dropped.
pub(crate) struct Up {
    pub(crate) said: Value,
    pub(crate) process: Child,
}

impl Up {
    pub(crate) fn url(&self) -> &str {
        self.said["url"].as_str().expect("a URL")
    }

    /// Asks it to stop and gives its exit code.
    pub(crate) fn stop(mut self) -> i32 {
        Command::new("kill")
            .arg(self.process.id().to_string())
            .status()
            .expect("kill runs");
        wait(&mut self.process)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The exit code of a process that must end by itself.
pub(crate) fn wait(process: &mut Child) -> i32 {
    let start = Instant::now();
    loop {
        if let Some(status) = process.try_wait().expect("a child of ours") {
            return status.code().unwrap_or(-1);
        }
        assert!(start.elapsed() < PATIENCE, "the process does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until `done`, which must come true.
pub(crate) fn eventually(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}: did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}
