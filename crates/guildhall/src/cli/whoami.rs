//! `guildhall whoami`: whom this command line speaks for.

use serde_json::Value;

use crate::client::{Server, Target};
use crate::output::{CommandResult, printable, say, say_json};

/// Say who one is on the server
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Print one JSON object: `username` and what the token is limited to
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let me = Server::find(&args.target).await?.get("/api/whoami").await?;
    if args.json {
        return say_json(&me);
    }
    let mut line = printable(me["username"].as_str().unwrap_or_default());
    if me["operator"] == Value::Bool(true) {
        line.push_str(", who operates this server");
    }
    say(&line)
}
