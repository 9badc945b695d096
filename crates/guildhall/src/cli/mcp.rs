//! `guildhall mcp`: MCP over stdio, for agent clients that start a child process.
//!
//! Every message is carried to the server's HTTP endpoint and its answer back, one JSON text per line. It never opens
//! the store, keeps nothing between two calls, and finds the server again when it has moved. Only protocol messages go
//! to standard output; a line that is no message gets an error answer and ends nothing.

mod bridge;
mod lines;

use std::time::Duration;

use anyhow::Context as _;
use guildhall_core::RepoName;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::client::Target;
use crate::output::{CommandError, CommandResult};
use bridge::Bridge;
use lines::{Line, Lines};

/// How long calls may still take once the client has closed its end.
const LAST_CALLS: Duration = Duration::from_mins(1);

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Answers that wait for the client to read them.
const UNREAD: usize = 64;

/// Serve MCP over standard input and output, for agent clients that start a child process
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) target: Target,
    /// The agent to act as [default: what the client calls itself, else `agent`]
    #[arg(long, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// The repository that calls are about which name none [default: the workspace's own, else the only one]
    #[arg(long, value_name = "OWNER/NAME")]
    pub(super) repo: Option<RepoName>,
    /// Serve only these packs, separated by commas
    #[arg(long, value_name = "PACKS")]
    pub(super) packs: Option<String>,
    /// Serve only tools that change nothing
    #[arg(long)]
    pub(super) read_only: bool,
}

pub(super) fn run(args: Args) -> CommandResult {
    if let Some(name) = &args.agent
        && !guildhall_core::principal::is_agent_name(name)
    {
        return Err(CommandError::usage(format!(
            "`{name}` is not an agent's name: 1 to 31 of a-z, 0-9 and `-`, starting with a letter or digit"
        )));
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(args))
}

async fn serve(args: Args) -> CommandResult {
    let (answers, unread) = mpsc::channel::<String>(UNREAD);
    let writer = tokio::spawn(write_answers(unread));
    let mut bridge = Bridge::new(args, answers);
    let mut lines = Lines::new(tokio::io::stdin());
    while let Some(line) = lines.next().await.context("Cannot read standard input")? {
        let (code, refusal) = match line {
            Line::Message(text) => match serde_json::from_str::<Value>(&text) {
                Ok(message) => {
                    bridge.take(message).await;
                    continue;
                }
                Err(_) => (PARSE_ERROR, "Parse error: the line is not JSON"),
            },
            Line::NotText => (PARSE_ERROR, "Parse error: the line is not UTF-8"),
            Line::TooLong => (
                INVALID_REQUEST,
                "Invalid Request: the line is longer than 16 MiB",
            ),
        };
        bridge.refuse(code, refusal).await;
    }
    // The client sent all it had; what it asked for is still answered.
    let _ = tokio::time::timeout(LAST_CALLS, bridge.finish()).await;
    writer.await.context("Cannot write standard output")?;
    Ok(())
}

/// Writes one answer per line. A client that went away ends this, and with it every sender.
async fn write_answers(mut unread: mpsc::Receiver<String>) {
    let mut out = tokio::io::stdout();
    while let Some(mut answer) = unread.recv().await {
        answer.push('\n');
        if out.write_all(answer.as_bytes()).await.is_err() || out.flush().await.is_err() {
            return;
        }
    }
}
