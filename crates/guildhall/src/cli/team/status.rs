//! `guildhall team status`: who is there, and at what.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Team, line, text};
use crate::cli::table::{plain, trimmed};
use crate::output::{CommandError, CommandResult, json as one_line, say};

/// How often a watched status is looked at.
const LOOKS_EVERY: Duration = Duration::from_secs(2);

/// Characters of a summary that a row shows.
const SUMMARY: usize = 60;

/// Show sessions with their roles
#[derive(clap::Args)]
pub(super) struct Args {
    /// The session [default: all of yours that run]
    session: Option<String>,
    /// Show it anew every two seconds
    #[arg(long)]
    watch: bool,
}

pub(super) async fn run(team: &Team, args: &Args) -> CommandResult {
    loop {
        let shown = shown(team, args).await?;
        if !args.watch {
            return say(&shown);
        }
        let clear = if std::io::stdout().is_terminal() {
            "\u{1b}[H\u{1b}[2J"
        } else {
            ""
        };
        say(&format!("{clear}{shown}"))?;
        tokio::time::sleep(LOOKS_EVERY).await;
    }
}

async fn shown(team: &Team, args: &Args) -> Result<String, CommandError> {
    let sessions = match &args.session {
        Some(session) => vec![session.clone()],
        None => team.running().await?,
    };
    let mut found = Vec::with_capacity(sessions.len());
    for session in sessions {
        found.push(team.session(&session).await?);
    }
    if team.json {
        return Ok(one_line(&json!({ "sessions": found }))?);
    }
    if found.is_empty() {
        return Ok("No session of yours runs".to_owned());
    }
    let tables: Vec<_> = found.iter().map(rendered).collect();
    Ok(tables.join("\n\n"))
}

fn rendered(session: &Value) -> String {
    let mut head = format!("Session {}", line(text(session, "session")));
    if let Some(repo) = session["repo"].as_str() {
        head.extend([" of ", &line(repo)]);
    }
    if let Some(at) = session["stopped_at"].as_str() {
        head.extend([", ended at ", &line(at)]);
    }
    let mut grid = plain();
    grid.set_header([
        "ROLE",
        "STATUS",
        "AGENT",
        "LAST SEEN",
        "UNREAD",
        "TASK",
        "SUMMARY",
    ]);
    for role in session["roles"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        let or_none = |key: &str| match text(role, key) {
            "" => "-".to_owned(),
            text => line(text),
        };
        let summary: String = or_none("summary").chars().take(SUMMARY).collect();
        grid.add_row([
            or_none("role"),
            status(role),
            or_none("agent"),
            or_none("last_seen"),
            role["unread"].to_string(),
            or_none("task"),
            summary,
        ]);
    }
    format!("{head}\n{}", trimmed(&grid))
}

fn status(role: &Value) -> String {
    let mut words = vec![match text(role, "status") {
        "" => "not active".to_owned(),
        status => line(status),
    }];
    if role["away"] == Value::Bool(true) {
        words.push("away".to_owned());
    }
    if role["paused"] == Value::Bool(true) {
        words.push("paused".to_owned());
    }
    if let Some(person) = role["held_by"].as_str() {
        words.push(format!("held by {}", line(person)));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_agents_write_breaks_the_table_or_steers_the_terminal() {
        let session = json!({
            "session": "app-1", "repo": "acme/app\u{1b}[31m", "stopped_at": null,
            "roles": [
                { "role": "ai", "status": "busy", "agent": "claude", "last_seen": "2026-06-23T12:34:56.000Z",
                  "unread": 2, "task": "t\u{1b}]0;owned\u{7}", "summary": "one\ntwo\r\u{9b}2J\u{202e}three é",
                  "paused": true, "away": true, "held_by": "me@example.com" },
                { "role": "sec", "status": null, "unread": 0 },
            ],
        });
        let shown = rendered(&session);
        assert!(
            !shown.chars().any(guildhall_core::text::steers),
            "{shown:?}"
        );
        assert_eq!(shown.lines().count(), 4, "{shown}");
        assert!(
            shown.contains("busy, away, paused, held by me@example.com"),
            "{shown}"
        );
        assert!(
            shown.contains("one two") && shown.contains("not active"),
            "{shown}"
        );
    }
}
