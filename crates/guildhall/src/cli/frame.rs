//! What the commands over people, agents and tokens share: whose server they ask, and how they show its answer.

use std::time::Duration;

use serde_json::{Value, json};

use super::table::{Column, Table};
use crate::client::{Server, Target};
use crate::output::{CommandError, CommandResult, printable, say, say_json};

/// Which server is asked, and in which form its answer is shown.
#[derive(clap::Args)]
pub(super) struct Frame {
    #[command(flatten)]
    target: Target,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

impl Frame {
    /// The server.
    pub(super) async fn server(&self) -> Result<Server, CommandError> {
        Server::find(&self.target).await
    }

    /// Shows one object, as it is or as `text` puts it; `text` reads its keys through the function it is given.
    pub(super) fn show(
        &self,
        object: &Value,
        text: impl FnOnce(&dyn Fn(&str) -> String) -> String,
    ) -> CommandResult {
        if self.json {
            return say_json(object);
        }
        let key = |key: &str| printable(object[key].as_str().unwrap_or_default());
        say(&text(&key))
    }

    /// Shows a list, as it is or as a table of `columns`; an empty one as `nothing`.
    pub(super) fn list(
        &self,
        rows: &Value,
        columns: &[(&'static str, &'static str)],
        nothing: &str,
    ) -> CommandResult {
        if self.json {
            return say_json(rows);
        }
        let columns = columns.iter().map(|(head, key)| Column::text(head, key));
        Table::new(columns).say(rows, nothing)
    }

    /// Shows a token that was just made.
    pub(super) fn show_token(&self, made: &Value) -> CommandResult {
        self.show(made, |text| {
            let end = match made["expires_at"].as_str() {
                Some(end) => printable(end),
                None => format!("`guildhall token revoke {}`", text("id")),
            };
            let (username, token) = (text("username"), text("token"));
            format!(
                "The token of {username}, shown this once:\n\n  {token}\n\nIt is good until {end}."
            )
        })
    }
}

/// What a new token is limited to.
#[derive(clap::Args)]
pub(super) struct Limits {
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
    /// As the server takes them; an empty object where there are none.
    pub(super) fn body(&self) -> Value {
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

    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.expires.is_none() && self.repos.is_empty() && self.tools.is_empty()
    }
}
