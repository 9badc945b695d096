//! Real MCP clients against the real program: the TypeScript SDKs and the Python SDK, each in every era it speaks, over
//! HTTP and over stdio, and across a restart of the server.
//!
//! `cargo xtask test` installs the clients and runs these tests; without them they are ignored.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use guildhall_testing::{Guildhall, hermetic};
use serde_json::Value;

/// A client that hangs is ended after this long, and its test fails.
const CLIENT_LIMIT: Duration = Duration::from_secs(90);

/// The tools that a local board mounts, by name.
const TOOLS: [&str; 5] = [
    "local_comment",
    "local_create_issue",
    "local_query",
    "local_read_issue",
    "local_update_status",
];

mod javascript {
    use super::{javascript, restarted, start, walked};

    const MODERN: &str = "2026-07-28";
    const LEGACY: &str = "2025-11-25";

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_first_typescript_sdk_walks_over_http() {
        let guildhall = start();
        let client = javascript("sdk1.mjs", &guildhall);
        walked(client.over_http(), LEGACY);
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_first_typescript_sdk_walks_over_stdio() {
        let guildhall = start();
        let client = javascript("sdk1.mjs", &guildhall);
        walked(client.over_stdio(), LEGACY);
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_first_typescript_sdk_goes_on_after_a_restart() {
        let guildhall = start();
        let client = javascript("sdk1.mjs", &guildhall);
        restarted(client.flag("--restart").over_http(), guildhall);
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_second_typescript_sdk_walks_over_http_as_it_opens_by_itself() {
        let guildhall = start();
        let client = javascript("client2.mjs", &guildhall);
        walked(client.over_http(), LEGACY);
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_second_typescript_sdk_walks_over_http_when_it_negotiates() {
        let guildhall = start();
        let client = javascript("client2.mjs", &guildhall);
        walked(client.era("auto").over_http(), MODERN);
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_second_typescript_sdk_walks_over_stdio_when_it_negotiates() {
        let guildhall = start();
        let client = javascript("client2.mjs", &guildhall);
        walked(client.era("auto").over_stdio(), MODERN);
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_second_typescript_sdk_goes_on_after_a_restart() {
        for era in ["legacy", "auto"] {
            let guildhall = start();
            let client = javascript("client2.mjs", &guildhall).era(era);
            restarted(client.flag("--restart").over_http(), guildhall);
        }
    }
}

mod python {
    use super::{python, restarted, start, walked};

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_python_sdk_walks_over_http_in_both_eras() {
        for (era, protocol) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
            let guildhall = start();
            let client = python("py2.py", &guildhall);
            walked(client.era(era).over_http(), protocol);
        }
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_python_sdk_walks_over_stdio() {
        let guildhall = start();
        let client = python("py2.py", &guildhall);
        walked(client.over_stdio(), "2026-07-28");
    }

    #[test]
    #[ignore = "needs the clients that `cargo xtask test` installs"]
    fn the_python_sdk_goes_on_after_a_restart() {
        for era in ["auto", "legacy"] {
            let guildhall = start();
            let client = python("py2.py", &guildhall).era(era);
            restarted(client.flag("--restart").over_http(), guildhall);
        }
    }
}

/// Runs a client to its end and checks what it reports: the era it negotiated, whose server it saw, the tools.
fn walked(client: Client, protocol: &str) {
    let mut running = client.start();
    let report = running.report();
    check_report(&report);
    assert_eq!(report["protocol"], protocol, "{report}");
    running.end();
}

/// Runs a client, restarts the server while the client waits, and lets the client go on.
fn restarted(client: Client, mut guildhall: Guildhall) {
    let mut running = client.start();
    assert_eq!(running.line(), "ready");
    guildhall.restart();
    running.say("go on");
    let report = running.report();
    check_report(&report);
    let calls = report["calls"].as_array().expect("a list of calls");
    assert_eq!(
        calls.len(),
        6,
        "five calls and one after the restart: {report}"
    );
    running.end();
}

fn check_report(report: &Value) {
    assert_eq!(report["tools"], serde_json::json!(TOOLS), "{report}");
    assert_eq!(report["server"]["name"], "mcp", "{report}");
    let refused = report["refused"]
        .as_str()
        .expect("a refused call's message");
    assert!(refused.contains("NO-SUCH-ISSUE"), "{refused}");
}

fn start() -> Guildhall {
    Guildhall::start(env!("CARGO_BIN_EXE_guildhall"))
}

/// A client program and the options that stand before its transport.
struct Client {
    command: Command,
    origin: String,
    token: String,
    token_file: PathBuf,
}

/// A program of `clients/js`, in a folder where the installed packages are found.
fn javascript(program: &str, guildhall: &Guildhall) -> Client {
    let folder = guildhall.scratch().join("js");
    fs::create_dir(&folder).expect("a folder for the client");
    for name in [program, "walk.mjs"] {
        fs::copy(clients().join("js").join(name), folder.join(name)).expect("a client program");
    }
    let modules = provided("GUILDHALL_TEST_NODE_MODULES");
    std::os::unix::fs::symlink(modules, folder.join("node_modules")).expect("a link");
    let node = provided("GUILDHALL_TEST_NODE");
    Client::new(&node, &folder.join(program), guildhall)
}

/// A program of `clients/python`.
fn python(program: &str, guildhall: &Guildhall) -> Client {
    let python = provided("GUILDHALL_TEST_PYTHON");
    Client::new(&python, &clients().join("python").join(program), guildhall)
}

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../guildhall-testing/clients")
}

fn provided(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test --only interop`"))
        .into()
}

impl Client {
    fn new(interpreter: &Path, program: &Path, guildhall: &Guildhall) -> Self {
        let mut command = hermetic(interpreter, guildhall.scratch());
        command.arg(program);
        Self {
            command,
            origin: guildhall.origin(),
            token: guildhall.token(),
            token_file: guildhall.token_file(),
        }
    }

    fn era(self, era: &str) -> Self {
        self.flag("--era").flag(era)
    }

    fn flag(mut self, flag: &str) -> Self {
        self.command.arg(flag);
        self
    }

    fn over_http(mut self) -> Self {
        let url = format!("{}/mcp", self.origin);
        self.command.args(["http", &url, &self.token]);
        self
    }

    fn over_stdio(mut self) -> Self {
        self.command
            .args(["stdio", env!("CARGO_BIN_EXE_guildhall"), "mcp"])
            .env("GUILDHALL_URL", &self.origin)
            .env("GUILDHALL_TOKEN_FILE", &self.token_file);
        self
    }

    fn start(mut self) -> RunningClient {
        let mut process = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the client starts");
        let stdin = process.stdin.take().expect("standard input is piped");
        let stdout = process.stdout.take().expect("standard output is piped");
        let (done, waits) = mpsc::channel();
        let watch = thread::spawn(move || {
            if waits.recv_timeout(CLIENT_LIMIT).is_err() {
                process.kill().ok();
            }
            process
        });
        RunningClient {
            stdin,
            lines: BufReader::new(stdout).lines(),
            done,
            watch,
        }
    }
}

struct RunningClient {
    stdin: std::process::ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    done: mpsc::Sender<()>,
    watch: JoinHandle<Child>,
}

impl RunningClient {
    fn line(&mut self) -> String {
        self.lines
            .next()
            .expect("the client ended early; its standard error says why")
            .expect("the client prints text")
    }

    /// The one line of JSON at the end.
    fn report(&mut self) -> Value {
        serde_json::from_str(&self.line()).expect("a line of JSON")
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("the client listens");
    }

    /// Waits for the client to end by itself.
    fn end(self) {
        assert!(self.lines.count() == 0, "nothing follows the report");
        self.done.send(()).expect("the client ended in time");
        let mut process = self.watch.join().expect("the watch runs");
        let status = process.wait().expect("the client ended");
        assert!(status.success(), "{status}");
    }
}
