//! `guildhall ask show`: an ask, with its changeset as a diff.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::diff::{self, Content, File};
use crate::cli::in_repo::{InRepo, Repo, line, text};
use crate::cli::lane::step;
use crate::output::{CommandError, CommandResult, Fault, printable};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    place: InRepo,
    /// The ask
    ask: String,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let repo = args.place.find().await?;
    let found = repo.call("ask_get", &json!({ "ask_id": args.ask })).await?;
    let files = match found["changeset"].as_object() {
        Some(_) => files(&repo, &found["changeset"]).await?,
        None => Vec::new(),
    };
    args.place.tell(&found, || described(&found, &files))
}

/// The files of the changeset, each beside what was there at its base.
async fn files(repo: &Repo, changeset: &Value) -> Result<Vec<File>, CommandError> {
    let base = changeset["base_commit"].as_str();
    let mut files = Vec::new();
    for file in changeset["files"].as_array().into_iter().flatten() {
        let path = file["path"].as_str().unwrap_or_default();
        let before = match base {
            Some(base) => before(repo, base, path).await?,
            None => None,
        };
        files.push(File {
            path: path.to_owned(),
            mode: file["mode"].as_str().map(str::to_owned),
            deleted: file["delete"] == Value::Bool(true),
            after: content(file),
            before,
        });
    }
    Ok(files)
}

/// What a file of a result holds, if that stands in it.
fn content(file: &Value) -> Option<Content> {
    let content = file["content"].as_str()?;
    Some(if file["encoding"] == "base64" {
        Content::Binary
    } else {
        Content::Text(content.to_owned())
    })
}

/// What is at a path of a commit; nothing, where the changeset adds it.
async fn before(repo: &Repo, commit: &str, path: &str) -> Result<Option<Content>, CommandError> {
    let arguments = json!({ "path": path, "commit": commit });
    match repo.call("git_show_file", &arguments).await {
        Ok(file) => Ok(content(&file)),
        Err(error) if error.fault == Fault::Refused => Ok(None),
        Err(error) => Err(error),
    }
}

fn described(found: &Value, files: &[File]) -> String {
    let ask = &found["ask"];
    let bold = Style::new().bold();
    let mut lines = vec![
        format!(
            "{bold}{}{bold:#}  {}  {}",
            text(ask, "id"),
            text(ask, "kind"),
            text(ask, "state")
        ),
        line(ask, "title"),
    ];
    let body = text(ask, "body");
    if !body.is_empty() {
        lines.push(format!("\n{body}\n"));
    }
    lines.push(format!(
        "Lane      {}\nScope     {}\nPriority  {}\nPosted    {} by {}",
        text(ask, "lane_id"),
        text(ask, "scope"),
        ask["priority"],
        text(ask, "posted_at"),
        text(ask, "posted_by")
    ));
    let depends_on: Vec<&str> = ask["depends_on"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !depends_on.is_empty() {
        lines.push(format!("After     {}", printable(&depends_on.join(", "))));
    }
    if let Some(claim) = ask["claim"].as_object().map(|_| &ask["claim"]) {
        lines.push(format!(
            "Held      by {} until {} (fence {})",
            text(claim, "by"),
            text(claim, "expires_at"),
            claim["fence"]
        ));
    }
    if let Some(answer) = ask["answer"].as_object().map(|_| &ask["answer"]) {
        lines.push(format!(
            "Answered  {} by {} at {}",
            text(answer, "verdict"),
            text(answer, "by"),
            text(answer, "at")
        ));
        let note = text(answer, "note");
        if !note.is_empty() {
            lines.push(format!("\n{note}"));
        }
    }
    lines.push(String::new());
    lines.extend(found["history"].as_array().into_iter().flatten().map(step));
    if let Some(changeset) = found["changeset"].as_object().map(|_| &found["changeset"]) {
        let yellow = AnsiColor::Yellow.on_default();
        lines.push(format!(
            "\n{yellow}{}{yellow:#}  {}  by {}\n\n{}\n",
            text(changeset, "id"),
            text(changeset, "state"),
            text(changeset, "author"),
            text(changeset, "message").trim_end()
        ));
        lines.extend(files.iter().map(diff::rendered));
    }
    lines.join("\n")
}
