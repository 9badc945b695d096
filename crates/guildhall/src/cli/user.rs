//! `guildhall user`: the people of a server, for who operates it.

use clap::Subcommand;
use http::Method;
use serde_json::{Value, json};

use super::frame::{Frame, Limits};
use crate::client::{Server, segment};
use crate::output::{CommandError, CommandResult};

/// Add, list and disable people; only who operates the server may
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    frame: Frame,
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
        #[command(flatten)]
        limits: Limits,
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

const COLUMNS: &[(&str, &str)] = &[
    ("USER", "username"),
    ("OPERATOR", "operator"),
    ("ADDED", "created_at"),
    ("BY", "created_by"),
    ("DISABLED", "disabled_at"),
];

pub(super) async fn run(Args { action, frame }: &Args) -> CommandResult {
    if let Action::Add {
        print_token: false,
        limits,
        ..
    } = action
        && !limits.is_empty()
    {
        return Err(CommandError::usage(
            "`--expires`, `--repo` and `--tool` limit a token: they need `--print-token`",
        ));
    }
    let server = frame.server().await?;
    let path = |address: &str| format!("/api/users/{}", segment(address));
    match action {
        Action::Add {
            address,
            print_token,
            limits,
        } => {
            let mut body = json!({ "username": address, "print_token": print_token });
            if *print_token {
                body["limits"] = limits.body();
            }
            let added = server.post("/api/users", &body).await?.result()?;
            if *print_token {
                frame.show_token(&added)
            } else {
                show_code(frame, &server, &added)
            }
        }
        Action::Code { address } => {
            let path = path(address) + "/codes";
            let made = server.post(&path, &json!({})).await?.result()?;
            show_code(frame, &server, &made)
        }
        Action::List => {
            let listed = server.get("/api/users").await?;
            frame.list(&listed["users"], COLUMNS, "No users")
        }
        Action::Disable { address } => {
            let disabled = server.send(Method::DELETE, &path(address)).await?;
            frame.show(&disabled, |text| {
                format!("Disabled {} and their agents", text("username"))
            })
        }
    }
}

fn show_code(frame: &Frame, server: &Server, made: &Value) -> CommandResult {
    frame.show(made, |text| {
        format!(
            "The sign-in code of {}, good once until {}:\n\n  {}\n\nThey run `guildhall login --server {}` and give it to the page that opens.",
            text("username"),
            text("expires_at"),
            text("code"),
            server.url
        )
    })
}
