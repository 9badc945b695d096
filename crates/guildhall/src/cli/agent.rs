//! `guildhall agent`: one's own agents.

use std::time::Duration;

use clap::Subcommand;
use http::Method;
use serde_json::{Value, json};

use super::table::{Column, Table};
use crate::client::{Server, Target, segment};
use crate::output::{CommandResult, printable, say};

/// Make, list and revoke one's own agents, and make their tokens
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    target: Target,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Make an agent and print its first token, once
    Create {
        /// Its name: a-z, 0-9 and `-`
        name: String,
        #[command(flatten)]
        limits: Limits,
    },
    /// Print a fresh token of an agent, once; its earlier ones stay good
    Token {
        /// The agent's name
        name: String,
        #[command(flatten)]
        limits: Limits,
    },
    /// List one's agents
    List,
    /// Refuse an agent from now on, whatever token it has
    Revoke {
        /// The agent's name
        name: String,
    },
}

/// What a new token is limited to.
#[derive(clap::Args)]
struct Limits {
    /// Make the token end after this long, such as 12h or 30d
    #[arg(long, value_name = "DURATION", value_parser = super::duration::parse)]
    expires: Option<Duration>,
    /// Let it reach this repository only; can be given several times
    #[arg(long = "repo", value_name = "OWNER/NAME")]
    repos: Vec<String>,
    /// Let it call this tool only; can be given several times
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
}

impl Limits {
    fn body(&self) -> Value {
        let mut body = json!({});
        if let Some(expires) = self.expires {
            body["expires_in_seconds"] = json!(expires.as_secs());
        }
        if !self.repos.is_empty() {
            body["repos"] = json!(self.repos);
        }
        if !self.tools.is_empty() {
            body["tools"] = json!(self.tools);
        }
        body
    }
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let server = Server::find(&args.target).await?;
    let path = |name: &str| format!("/api/agents/{}", segment(name));
    match &args.action {
        Action::Create { name, limits } => {
            let made = server.post(&path(name), &limits.body()).await?.result()?;
            show_token(args.json, &made)
        }
        Action::Token { name, limits } => {
            let path = path(name) + "/tokens";
            let made = server.post(&path, &limits.body()).await?.result()?;
            show_token(args.json, &made)
        }
        Action::List => list(args.json, &server.get("/api/agents").await?),
        Action::Revoke { name } => {
            let revoked = server.send(Method::DELETE, &path(name)).await?;
            if args.json {
                return say(&revoked.to_string());
            }
            let username = printable(revoked["username"].as_str().unwrap_or_default());
            say(&format!("Revoked {username}"))
        }
    }
}

/// Shows a token that was just made.
pub(super) fn show_token(json: bool, made: &Value) -> CommandResult {
    if json {
        return say(&made.to_string());
    }
    let text = |key: &str| printable(made[key].as_str().unwrap_or_default());
    say(&format!(
        "The token of {}, shown this once:\n",
        text("username")
    ))?;
    say(&format!("  {}\n", text("token")))?;
    say(&match made["expires_at"].as_str() {
        Some(end) => format!("It is good until {}.", printable(end)),
        None => format!("It is good until `guildhall token revoke {}`.", text("id")),
    })
}

fn list(json: bool, listed: &Value) -> CommandResult {
    if json {
        return say(&listed["agents"].to_string());
    }
    Table::new([
        Column::text("AGENT", "username"),
        Column::text("MADE", "created_at"),
        Column::text("LAST USED", "last_used_at"),
        Column::text("TOKENS", "tokens"),
        Column::text("REVOKED", "disabled_at"),
    ])
    .say(&listed["agents"], "No agents")
}
