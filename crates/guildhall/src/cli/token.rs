//! `guildhall token`: the tokens of oneself and one's agents.

use clap::Subcommand;
use http::Method;
use serde_json::Value;

use super::table::{Column, Table};
use crate::client::{Server, Target, segment};
use crate::output::{CommandResult, printable, say};

/// List and revoke the tokens of oneself and one's agents
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    target: Target,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// List them; what is listed is what is known of them, never a token itself
    List,
    /// Refuse a token from now on
    Revoke {
        /// Its id, as `list` shows it
        id: String,
    },
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let server = Server::find(&args.target).await?;
    match &args.action {
        Action::List => list(args.json, &server.get("/api/tokens").await?),
        Action::Revoke { id } => {
            let path = format!("/api/tokens/{}", segment(id));
            let revoked = server.send(Method::DELETE, &path).await?;
            if args.json {
                return say(&revoked.to_string());
            }
            let text = |key: &str| printable(revoked[key].as_str().unwrap_or_default());
            say(&format!("Revoked {} of {}", text("id"), text("username")))
        }
    }
}

fn list(json: bool, listed: &Value) -> CommandResult {
    if json {
        return say(&listed["tokens"].to_string());
    }
    Table::new([
        Column::text("ID", "id"),
        Column::text("OF", "username"),
        Column::text("MADE", "created_at"),
        Column::text("LAST USED", "last_used_at"),
        Column::text("EXPIRES", "expires_at"),
        Column::text("REVOKED", "revoked_at"),
        Column::text("REPOS", "repos"),
        Column::text("TOOLS", "tools"),
    ])
    .say(&listed["tokens"], "No tokens")
}
