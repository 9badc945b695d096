//! The whole program: how long from its start to the first answered `tools/list`, what a query costs over HTTP, and how
//! much memory it holds, by size of the board.
//!
//! `cargo bench -p guildhall --bench program`; numbers after `--` are board sizes. The baseline beside each start is the
//! same program doing nothing (`guildhall --version`): what is above it is our doing.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use guildhall_testing::hermetic;

const PROGRAM: &str = env!("CARGO_BIN_EXE_guildhall");
const STARTS: usize = 11;
const CALLS: usize = 2_000;

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![0, 1_000, 10_000]
    } else {
        sizes
    };
    let nothing = median((0..STARTS).map(|_| time(|| drop(run_version()))).collect());
    println!(
        "start and end of the program doing nothing: {:.1} ms",
        millis(nothing)
    );
    println!(
        "{:>8} {:>16} {:>16} {:>12} {:>12} {:>10}",
        "issues", "first list ms", "target ms", "query p50 ms", "p99 ms", "MB"
    );
    for size in sizes {
        measure(size);
    }
}

fn measure(size: usize) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let board = scratch.path().join(".guildhall/board");
    std::fs::create_dir_all(&board).expect("a board");
    for number in 1..=size {
        let state = ["Todo", "In Progress", "Done"][number % 3];
        let text = format!(
            "---\nstatus: {state}\nlabels:\n  - backend\n---\n\n# Issue {number} about something\n\n{}\n",
            "What has to be done, in a few lines of text. ".repeat(6)
        );
        std::fs::write(board.join(format!("BOARD-{number}.md")), text).expect("an issue");
    }
    // The first start makes the data directory; it is not measured.
    drop(Server::start(scratch.path()));
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let began = Instant::now();
        let server = Server::start(scratch.path());
        starts.push(began.elapsed());
        drop(server);
    }
    let mut server = Server::start(scratch.path());
    let query = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"local_query","arguments":{"where":{"field":"state","op":"eq","value":"Todo"},"order_by":[{"field":"updatedAt","dir":"desc"}],"limit":50}}}"#;
    let mut calls: Vec<Duration> = (0..CALLS).map(|_| time(|| server.post(query))).collect();
    calls.sort_unstable();
    let target = if size == 0 { "100" } else { "-" };
    println!(
        "{size:>8} {:>16.1} {target:>16} {:>12.3} {:>12.3} {:>10.1}",
        millis(median(starts)),
        millis(calls[CALLS / 2]),
        millis(calls[CALLS * 99 / 100]),
        server.resident_mb(),
    );
}

/// The program serving a workspace, with one connection to it.
struct Server {
    process: Child,
    connection: TcpStream,
    token: String,
}

impl Server {
    /// Starts it and has its first `tools/list` answered.
    fn start(workspace: &Path) -> Self {
        let mut command = hermetic(PROGRAM, workspace);
        let mut process = command
            .current_dir(workspace)
            .args(["up", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let state = workspace.join(".guildhall/state");
        let address = loop {
            if let Some(address) = address_in(&state.join("server.json"), process.id()) {
                break address;
            }
            assert!(
                process.try_wait().expect("a child").is_none(),
                "the program ended"
            );
            std::thread::sleep(Duration::from_micros(200));
        };
        let connection = TcpStream::connect(address).expect("a connection");
        connection.set_nodelay(true).expect("no delay");
        let token = std::fs::read_to_string(state.join("owner.token")).expect("a token");
        let mut server = Self {
            process,
            connection,
            token: token.trim().to_owned(),
        };
        server.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        server
    }

    /// One request and its whole answer, which must be a success.
    fn post(&mut self, body: &str) {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.connection
            .write_all(head.as_bytes())
            .expect("it takes the request");
        let mut answer = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = self.connection.read(&mut buffer).expect("it answers");
            assert!(count > 0, "it closed the connection");
            answer.extend_from_slice(&buffer[..count]);
            if let Some(total) = whole_length(&answer)
                && answer.len() >= total
            {
                assert!(
                    answer.starts_with(b"HTTP/1.1 200"),
                    "{}",
                    String::from_utf8_lossy(&answer)
                );
                return;
            }
        }
    }

    fn resident_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))
            .unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap_or_default();
        let kilobytes: f64 = line
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap_or_default();
        kilobytes / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The length of the answer's head and body, once the head is there.
fn whole_length(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head])
        .ok()?
        .to_ascii_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))?;
    Some(head + length.trim().parse::<usize>().ok()?)
}

/// Where the process `pid` says it listens; the file of an earlier one does not count.
fn address_in(path: &Path, pid: u32) -> Option<SocketAddr> {
    let server: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    if server["pid"] != pid {
        return None;
    }
    server["url"]
        .as_str()?
        .strip_prefix("http://")?
        .parse()
        .ok()
}

fn run_version() -> std::process::Output {
    Command::new(PROGRAM)
        .arg("--version")
        .output()
        .expect("the program runs")
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    let _ = work();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
