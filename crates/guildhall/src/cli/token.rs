//! `guildhall token`: the tokens of oneself and one's agents.

use clap::Subcommand;
use http::Method;

use super::frame::Frame;
use crate::client::segment;
use crate::output::CommandResult;

/// List and revoke the tokens of oneself and one's agents
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    frame: Frame,
}

#[derive(Subcommand)]
enum Action {
    /// List them; what is listed is what is known of them, never a token itself
    List {
        /// List everybody's; only who operates the server may
        #[arg(long)]
        all: bool,
    },
    /// Refuse a token from now on
    Revoke {
        /// Its id, as `list` shows it
        id: String,
    },
}

const COLUMNS: &[(&str, &str)] = &[
    ("ID", "id"),
    ("OF", "username"),
    ("MADE", "created_at"),
    ("LAST USED", "last_used_at"),
    ("EXPIRES", "expires_at"),
    ("REVOKED", "revoked_at"),
    ("REPOS", "repos"),
    ("TOOLS", "tools"),
];

pub(super) async fn run(Args { action, frame }: &Args) -> CommandResult {
    let server = frame.server().await?;
    match action {
        Action::List { all } => {
            let path = if *all {
                "/api/tokens?all=true"
            } else {
                "/api/tokens"
            };
            let listed = server.get(path).await?;
            frame.list(&listed["tokens"], COLUMNS, "No tokens")
        }
        Action::Revoke { id } => {
            let path = format!("/api/tokens/{}", segment(id));
            let revoked = server.send(Method::DELETE, &path).await?;
            frame.show(&revoked, |text| {
                format!("Revoked {} of {}", text("id"), text("username"))
            })
        }
    }
}
