//! Claiming and releasing asks over HTTP, by the number of asks in the lane, beside a tool that does nothing behind the
//! same server: what of a call is the claim. Part of `cargo xtask bench asks`.
//!
//! The load generator shares the machine with the server, so only the share means something elsewhere.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guildhall_core::{Clock as _, Principal, RepoName, SystemClock, SystemIds};
use guildhall_store::{Act, Asks as _, Fresh, NewAsk, NewRepo, OWN_LANE, Repos as _, Store};
use guildhall_testing::{Mounts, Setup, TestServer, hermetic};
use guildhall_tools::{CallContext, Catalog, JsonObject, Pack, Tool, ToolError};

const PROGRAM: &str = env!("CARGO_BIN_EXE_guildhall");

/// As many agents as a busy team has at work at once.
const CONNECTIONS: usize = 16;

/// Asks that are posted at once while the lane is filled.
const POSTS: usize = 256;

const MEASURED: Duration = Duration::from_secs(3);

const OWNER: &str = "owner@localhost";
const REPO: &str = "acme/site";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|first| first == "serve-nothing")
    {
        return serve_nothing();
    }
    // `cargo test --benches` builds and starts benches too: there is nothing to test here.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let sizes: Vec<usize> = arguments
        .iter()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![1_000, 10_000, 100_000]
    } else {
        sizes
    };
    let nothing = nothing();
    println!(
        "{:>8} {:>14} {:>12} {:>12} {:>14} {:>7}",
        "asks", "claim p50 ms", "p99 ms", "calls /s", "no-op calls /s", "share"
    );
    for size in sizes {
        measure(size, nothing);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A server with one tool that does nothing, until it is killed.
fn serve_nothing() {
    let nothing = Tool::new("nothing", "Nothing", "Does nothing.")
        .handler(|_: CallContext, _: JsonObject| async { Ok::<_, ToolError>(JsonObject::new()) });
    runtime().block_on(async {
        let catalog = Catalog::mount([Pack::new("nothing", vec![nothing])]).expect("it mounts");
        let server = TestServer::start(Setup::of(Mounts::new(catalog))).await;
        println!("{} {}", server.address(), server.token());
        server.forever().await;
    });
}

/// Calls a second of the tool that does nothing.
fn nothing() -> f64 {
    let program = std::env::current_exe().expect("this program");
    let mut process = Killed(
        Command::new(program)
            .arg("serve-nothing")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts"),
    );
    let mut line = String::new();
    let output = process.0.stdout.take().expect("its output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)
        .expect("its address");
    let (address, token) = line.trim().split_once(' ').expect("an address and a token");
    let address = address.parse().expect("an address");
    let run = run(address, token, |_| vec![call("/api/tools/nothing", "{}")]);
    run.per_second
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(size: usize, nothing: f64) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    // The first start makes the data directory and its owner.
    drop(Program::start(scratch.path()));
    let asks = runtime().block_on(fill(scratch.path(), size));
    let program = Program::start(scratch.path());
    let run = run(program.address, &program.token, |connection| {
        let ask = &asks[connection * asks.len() / CONNECTIONS];
        let body = format!(r#"{{"ask_id":"{ask}"}}"#);
        ["ask_claim", "ask_release"]
            .iter()
            .map(|tool| call(&format!("/api/repos/{REPO}/tools/{tool}"), &body))
            .collect()
    });
    println!(
        "{size:>8} {:>14.3} {:>12.3} {:>12.0} {nothing:>14.0} {:>7.2}",
        run.at(50),
        run.at(99),
        run.per_second,
        run.per_second / nothing
    );
}

/// Puts a repository with `size` asks into the database of a server that does not run; gives their ids.
async fn fill(workspace: &Path, size: usize) -> Vec<String> {
    let path = workspace.join(".guildhall/state/guildhall.db");
    let store = Arc::new(Store::open_sqlite(&path).await.expect("the database"));
    let owner: Principal = OWNER.parse().expect("a name");
    let repo: RepoName = REPO.parse().expect("a name");
    let act = move || Act::new(owner.clone(), SystemClock.now());
    let new = NewRepo {
        name: repo.clone(),
        public: false,
        default_branch: "main".to_owned(),
        head: None,
        origin: None,
    };
    store.add_repo(act(), new).await.expect("a repository");
    let mut ids = Vec::with_capacity(size);
    while ids.len() < size {
        let posts = (0..POSTS.min(size - ids.len())).map(|_| {
            let ask = NewAsk {
                repo: repo.clone(),
                fresh: Fresh::draw(&SystemIds),
                lane: OWN_LANE.to_owned(),
                kind: "work".parse().expect("a kind"),
                title: "Do one of many things".to_owned(),
                body: "In a few words".to_owned(),
                depends_on: Vec::new(),
                priority: 0,
                scope: None,
                files: Vec::new(),
                changeset: None,
                most_open: u32::MAX,
            };
            store.post_ask(act(), ask)
        });
        let posted = futures::future::try_join_all(posts).await.expect("asks");
        ids.extend(posted.into_iter().map(|ask| ask.id));
    }
    store.close().await;
    ids
}

/// What one run measured.
struct Run {
    per_second: f64,
    /// Of the first call of each round, in order.
    latencies: Vec<Duration>,
}

impl Run {
    fn at(&self, percent: usize) -> f64 {
        self.latencies[(self.latencies.len() - 1) * percent / 100].as_secs_f64() * 1000.0
    }
}

/// Sends the calls of each connection, one after the other, again and again.
fn run(address: SocketAddr, token: &str, calls: impl Fn(usize) -> Vec<(String, String)>) -> Run {
    let started = Instant::now();
    let connections: Vec<_> = (0..CONNECTIONS)
        .map(|n| {
            let (calls, token) = (calls(n), token.to_owned());
            std::thread::spawn(move || {
                let mut connection = TcpStream::connect(address).expect("a connection");
                connection.set_nodelay(true).expect("no delay");
                let (mut sent, mut latencies) = (0, Vec::new());
                while started.elapsed() < MEASURED {
                    for (place, (path, body)) in calls.iter().enumerate() {
                        let began = Instant::now();
                        post(&mut connection, path, &token, body);
                        sent += 1;
                        if place == 0 {
                            latencies.push(began.elapsed());
                        }
                    }
                }
                (sent, latencies)
            })
        })
        .collect();
    let (mut sent, mut latencies) = (0_u32, Vec::new());
    for connection in connections {
        let (count, of_one) = connection.join().expect("a connection's thread");
        sent += count;
        latencies.extend(of_one);
    }
    latencies.sort_unstable();
    Run {
        per_second: f64::from(sent) / started.elapsed().as_secs_f64(),
        latencies,
    }
}

fn call(path: &str, body: &str) -> (String, String) {
    (path.to_owned(), body.to_owned())
}

/// One request and its whole answer, which must be a success.
fn post(connection: &mut TcpStream, path: &str, token: &str, body: &str) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection
        .write_all(head.as_bytes())
        .expect("it takes the request");
    let (mut answer, mut buffer) = (Vec::new(), [0; 16 << 10]);
    loop {
        let count = connection.read(&mut buffer).expect("it answers");
        assert!(count > 0, "it closed the connection");
        answer.extend_from_slice(&buffer[..count]);
        if is_whole(&answer) {
            break;
        }
    }
    assert!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let text = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    let length: usize = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|length| length.trim().parse().ok())
        .expect("an answer says its length");
    answer.len() >= head + 4 + length
}

/// The program serving a workspace.
struct Program {
    _process: Killed,
    address: SocketAddr,
    token: String,
}

impl Program {
    fn start(workspace: &Path) -> Self {
        let mut process = hermetic(PROGRAM, workspace)
            .current_dir(workspace)
            .args(["up", "--port", "0", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)
            .expect("its address");
        let said: serde_json::Value = serde_json::from_str(&line).expect("it says where it is");
        let url = said["url"].as_str().expect("a URL");
        let token = std::fs::read_to_string(workspace.join(".guildhall/state/owner.token"))
            .expect("a token");
        Self {
            _process: Killed(process),
            address: url
                .trim_start_matches("http://")
                .parse()
                .expect("an address"),
            token: token.trim().to_owned(),
        }
    }
}
