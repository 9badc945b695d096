//! `guildhall user`: the people of a server, for who operates it.

use clap::Subcommand;
use http::Method;
use serde_json::{Value, json};

use super::table::{Column, Table};
use crate::client::{Server, Target, segment};
use crate::output::{CommandResult, printable, say};

/// Add, list and disable people; only who operates the server may
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
    /// Add a person and print a one-time sign-in code for them
    Add {
        /// Their address, such as you@example.com
        address: String,
        /// Print a token instead of a sign-in code, for scripts
        #[arg(long)]
        print_token: bool,
    },
    /// Print another one-time sign-in code of a person
    Code {
        /// Their address
        address: String,
    },
    /// List the people
    List,
    /// Refuse a person and their agents from now on
    Disable {
        /// Their address
        address: String,
    },
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let server = Server::find(&args.target).await?;
    let path = |address: &str| format!("/api/users/{}", segment(address));
    match &args.action {
        Action::Add {
            address,
            print_token,
        } => {
            let body = json!({ "username": address, "print_token": print_token });
            let added = server.post("/api/users", &body).await?.result()?;
            if *print_token {
                super::agent::show_token(args.json, &added)
            } else {
                show_code(args.json, &server, &added)
            }
        }
        Action::Code { address } => {
            let path = path(address) + "/codes";
            let made = server.post(&path, &json!({})).await?.result()?;
            show_code(args.json, &server, &made)
        }
        Action::List => list(args.json, &server.get("/api/users").await?),
        Action::Disable { address } => {
            let disabled = server.send(Method::DELETE, &path(address)).await?;
            if args.json {
                return say(&disabled.to_string());
            }
            let username = printable(disabled["username"].as_str().unwrap_or_default());
            say(&format!("Disabled {username} and their agents"))
        }
    }
}

fn show_code(json: bool, server: &Server, made: &Value) -> CommandResult {
    if json {
        return say(&made.to_string());
    }
    let text = |key: &str| printable(made[key].as_str().unwrap_or_default());
    say(&format!(
        "The sign-in code of {}, good once until {}:\n\n  {}\n\nThey run `guildhall login --server {}` and give it to the page that opens.",
        text("username"),
        text("expires_at"),
        text("code"),
        server.url
    ))
}

fn list(json: bool, listed: &Value) -> CommandResult {
    if json {
        return say(&listed["users"].to_string());
    }
    Table::new([
        Column::text("USER", "username"),
        Column::text("OPERATOR", "operator"),
        Column::text("ADDED", "created_at"),
        Column::text("BY", "created_by"),
        Column::text("DISABLED", "disabled_at"),
    ])
    .say(&listed["users"], "No users")
}
