//! `guildhall agent`: one's own agents.

use clap::Subcommand;
use http::Method;

use super::frame::{Frame, Limits};
use crate::client::segment;
use crate::output::CommandResult;

/// Make, list and revoke one's own agents, and make their tokens
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    frame: Frame,
}

#[derive(Subcommand)]
enum Action {
    /// Make an agent and print its first token, once; one that was revoked comes back with a new token
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

const COLUMNS: &[(&str, &str)] = &[
    ("AGENT", "username"),
    ("MADE", "created_at"),
    ("LAST USED", "last_used_at"),
    ("TOKENS", "tokens"),
    ("REVOKED", "disabled_at"),
];

pub(super) async fn run(Args { action, frame }: &Args) -> CommandResult {
    let server = frame.server().await?;
    let path = |name: &str| format!("/api/agents/{}", segment(name));
    match action {
        Action::Create { name, limits } => {
            let made = server.post(&path(name), &limits.body()).await?.result()?;
            frame.show_token(&made)
        }
        Action::Token { name, limits } => {
            let path = path(name) + "/tokens";
            let made = server.post(&path, &limits.body()).await?.result()?;
            frame.show_token(&made)
        }
        Action::List => {
            let listed = server.get("/api/agents").await?;
            frame.list(&listed["agents"], COLUMNS, "No agents")
        }
        Action::Revoke { name } => {
            let revoked = server.send(Method::DELETE, &path(name)).await?;
            frame.show(&revoked, |text| format!("Revoked {}", text("username")))
        }
    }
}
