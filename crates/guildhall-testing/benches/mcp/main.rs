//! `cargo xtask bench mcp`: what Guildhall's one path costs above the SDK it is built on, and above plain HTTP.
//!
//! Three servers run as processes of their own, one after the other in turn, five rounds:
//! - `guildhall`: the released program over a demo board: authentication, catalog, validation, call, audit, bounds;
//! - `rmcp`: the same listing and the same query over the same board, behind the bare SDK and nothing else;
//! - `axum`: the very bytes that Guildhall answered, behind a bare HTTP handler.
//!
//! The load generator shares the machine with the server, so only the ratios between the three mean something elsewhere.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod load;
mod servers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use guildhall_testing::{Guildhall, Server};
use load::{Figures, Request};
use servers::Answers;

/// The program's own, so that the ratios tell of the path and not of the allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
const WARM_UP: Duration = Duration::from_millis(500);
const MEASURED: Duration = Duration::from_secs(3);
const REVISION: &str = "2026-07-28";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    match args.first().map(String::as_str) {
        Some("serve-rmcp") => runtime.block_on(servers::serve_rmcp(Path::new(&args[1]))),
        Some("serve-axum") => runtime.block_on(servers::serve_axum(Path::new(&args[1]))),
        // `cargo test --benches` builds and starts benches too: there is nothing to test here.
        _ if !args.iter().any(|arg| arg == "--bench") => Ok(()),
        _ => {
            drop(runtime);
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(compare())
        }
    }
}

/// One kind of request, measured on every server.
struct Case {
    name: &'static str,
    body: Value,
    tool: Option<&'static str>,
}

fn cases() -> [Case; 2] {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1.0.0" },
    });
    let request = |method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
    };
    [
        Case {
            name: "tools/list",
            body: request("tools/list", json!({})),
            tool: None,
        },
        Case {
            name: "tools/call",
            body: request(
                "tools/call",
                json!({ "name": "local_query", "arguments": { "limit": 5 } }),
            ),
            tool: Some("local_query"),
        },
    ]
}

async fn compare() -> Result<()> {
    let program = std::env::var_os("GUILDHALL_BENCH_PROGRAM")
        .map(PathBuf::from)
        .context(
            "Set GUILDHALL_BENCH_PROGRAM to a released `guildhall`, or run `cargo xtask bench mcp`",
        )?;
    let guildhall = Guildhall::start_with(program, &["--demo"]);
    let token = guildhall.token();
    let cases = cases();

    let board = guildhall.workspace().join(".guildhall/board");
    let answers = record(guildhall.address(), &token, &cases, board).await?;
    let file = guildhall.scratch().join("answers.json");
    std::fs::write(&file, serde_json::to_vec(&answers)?)?;
    let rmcp = ourselves("serve-rmcp", &file)?;
    let axum = ourselves("serve-axum", &file)?;
    let servers = [
        ("guildhall", guildhall.address()),
        ("rmcp", rmcp.address()),
        ("axum", axum.address()),
    ];

    println!(
        "{} connections, {ROUNDS} rounds of {} s each; MCP {REVISION}; the load generator runs on the same machine\n",
        load::CONNECTIONS,
        MEASURED.as_secs()
    );
    for case in &cases {
        let mut rounds: Vec<Vec<Figures>> = servers.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for ((_, address), figures) in servers.iter().zip(&mut rounds) {
                let request = request(*address, &token, case)?;
                load::run(*address, &request, WARM_UP).await?;
                figures.push(load::run(*address, &request, MEASURED).await?);
            }
        }
        print(case, &servers, &rounds);
    }
    Ok(())
}

/// This very program as one of the servers that Guildhall is compared with.
fn ourselves(task: &str, answers: &Path) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    Ok(Server::start(command.arg(task).arg(answers)))
}

/// What Guildhall answers to each case, for the others to answer the same.
async fn record(
    guildhall: SocketAddr,
    token: &str,
    cases: &[Case; 2],
    board: PathBuf,
) -> Result<Answers> {
    let mut bodies = Vec::new();
    for case in cases {
        let body = load::once(guildhall, &request(guildhall, token, case)?).await?;
        let answer: Value = serde_json::from_slice(&body)
            .with_context(|| format!("{} was not answered with JSON", case.name))?;
        anyhow::ensure!(
            answer.get("result").is_some() && answer["result"]["isError"] != json!(true),
            "{} was refused: {answer}",
            case.name
        );
        bodies.push(String::from_utf8(body.to_vec())?);
    }
    let [list, call] = <[String; 2]>::try_from(bodies).expect("one answer for each case");
    Ok(Answers { board, list, call })
}

fn request(address: SocketAddr, token: &str, case: &Case) -> Result<Request> {
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: &str| -> Result<()> {
        headers.insert(name, HeaderValue::from_str(value)?);
        Ok(())
    };
    set("host", &address.to_string())?;
    set("authorization", &format!("Bearer {token}"))?;
    set("content-type", "application/json")?;
    set("accept", "application/json, text/event-stream")?;
    set("mcp-protocol-version", REVISION)?;
    set("mcp-method", case.name)?;
    if let Some(tool) = case.tool {
        set("mcp-name", tool)?;
    }
    Ok(Request {
        path: "/mcp",
        headers,
        body: case.body.to_string().into(),
    })
}

fn print(case: &Case, servers: &[(&str, SocketAddr); 3], rounds: &[Vec<Figures>]) {
    let median = |server: usize, of: fn(&Figures) -> f64| {
        let mut values: Vec<f64> = rounds[server].iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let rate: fn(&Figures) -> f64 = |figures| figures.per_second;
    println!(
        "{:<12}{:>12}{:>10}{:>10}{:>16}",
        case.name, "requests/s", "p50 ms", "p99 ms", "guildhall is"
    );
    for (number, (name, _)) in servers.iter().enumerate() {
        let ratio = if number == 0 {
            String::new()
        } else {
            format!(
                "{:.1} % of it",
                100.0 * median(0, rate) / median(number, rate)
            )
        };
        println!(
            "  {:<10}{:>12.0}{:>10.2}{:>10.2}{:>16}",
            name,
            median(number, rate),
            median(number, |figures| figures.p50_ms),
            median(number, |figures| figures.p99_ms),
            ratio
        );
    }
    println!();
}
