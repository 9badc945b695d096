//! `guildhall ladder`: the summaries of a repository, read in the terminal.
//!
//! Summaries are other people's text: nothing of them reaches the terminal before it is made harmless.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::in_repo::{InRepo, line as one_line, text};
use crate::output::{CommandError, CommandResult, printable, say, say_json};

/// Read the summaries of a repository: its Ladder
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List every summary by its first line
    Tree(Tree),
    /// Show one summary whole
    Show(Show),
    /// Find summaries by their words, in every repository you may see
    #[command(
        after_help = "All words must be there. Words in \"quotes\" follow each other; word* finds what begins with it.\n\
Whatever else stands in the query is text, not an operator."
    )]
    Search(Search),
    /// List the summaries whose code has changed since
    Stale(Stale),
}

#[derive(clap::Args)]
struct Tree {
    #[command(flatten)]
    repo: InRepo,
    /// Only what is below this directory
    #[arg(long, value_name = "DIR")]
    under: Option<String>,
    /// Only so many levels
    #[arg(long, value_name = "N")]
    depth: Option<u64>,
}

#[derive(clap::Args)]
struct Show {
    #[command(flatten)]
    repo: InRepo,
    /// Such as `src/` or `src/index.js`
    #[arg(default_value = "_repo")]
    path: String,
    /// Show the earlier versions too
    #[arg(long)]
    history: bool,
}

#[derive(clap::Args)]
struct Search {
    #[command(flatten)]
    repo: InRepo,
    /// The words
    #[arg(required = true)]
    query: Vec<String>,
    /// Only repo, directory, file, release, changeset, issue, pull or lane
    #[arg(long)]
    kind: Option<String>,
    /// Only what is below this directory
    #[arg(long, value_name = "DIR")]
    under: Option<String>,
    /// Only in the one repository
    #[arg(long)]
    this_repo: bool,
    /// Most results
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

#[derive(clap::Args)]
struct Stale {
    #[command(flatten)]
    repo: InRepo,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    match &args.action {
        Action::Tree(args) => tree(args).await,
        Action::Show(args) => show(args).await,
        Action::Search(args) => search(args).await,
        Action::Stale(args) => stale(args).await,
    }
}

async fn tree(args: &Tree) -> CommandResult {
    let mut arguments = Map::new();
    put(&mut arguments, "under", args.under.as_ref());
    put(&mut arguments, "depth", args.depth);
    if !args.repo.json() {
        arguments.insert("preview".to_owned(), json!(true));
    }
    let ladder = whole_tree(&args.repo, arguments).await?;
    if args.repo.json() {
        return say_json(&ladder);
    }
    let rungs = list(&ladder["rungs"]);
    if rungs.is_empty() {
        return match &args.under {
            Some(under) => say(&printable(&format!("No summaries below `{under}`"))),
            None => say("No summaries yet: `ladder_write_rung` writes them"),
        };
    }
    let lines: Vec<String> = rungs.iter().map(line).collect();
    say(&lines.join("\n"))
}

async fn show(args: &Show) -> CommandResult {
    let repo = args.repo.find().await?;
    let arguments = json!({ "path": args.path, "history": args.history });
    let mut read = repo.call("ladder_read", &arguments).await?;
    if args.history {
        // Later pages of the history join the first.
        while let Some(cursor) = read.get("next_cursor").cloned() {
            let mut arguments = arguments.clone();
            arguments["cursor"] = cursor;
            let mut more = repo.call("ladder_read", &arguments).await?;
            let mut earlier = list(&read["history"]).to_vec();
            earlier.extend(list(&more["history"]).iter().cloned());
            more["history"] = earlier.into();
            read = more;
        }
    }
    if args.repo.json() {
        return say_json(&read);
    }
    say(&described(&read))
}

async fn search(args: &Search) -> CommandResult {
    let repo = args.repo.find().await?;
    let mut arguments = Map::new();
    arguments.insert("query".to_owned(), json!(args.query.join(" ")));
    put(&mut arguments, "kind", args.kind.as_ref());
    put(&mut arguments, "under", args.under.as_ref());
    put(&mut arguments, "limit", args.limit);
    if args.this_repo {
        arguments.insert("this_repo".to_owned(), json!(true));
    }
    let found = repo.call("ladder_search", &arguments.into()).await?;
    if args.repo.json() {
        return say_json(&found);
    }
    let results = list(&found["results"]);
    let mut lines: Vec<String> = results
        .iter()
        .map(|result| {
            let stale = if result["stale"] == true {
                "  (stale)"
            } else {
                ""
            };
            format!(
                "{}  {}{stale}\n    {}",
                text(result, "repo"),
                text(result, "path"),
                one_line(result, "snippet")
            )
        })
        .collect();
    lines.push(
        match (found["total"].as_u64(), found["total_at_least"].as_u64()) {
            (Some(0), _) => "Nothing found".to_owned(),
            (Some(total), _) => format!("{} of {total}", results.len()),
            (None, total) => format!("{} of {} or more", results.len(), total.unwrap_or_default()),
        },
    );
    say(&lines.join("\n"))
}

async fn stale(args: &Stale) -> CommandResult {
    let mut arguments = Map::new();
    arguments.insert("preview".to_owned(), json!(true));
    let ladder = whole_tree(&args.repo, arguments).await?;
    let rungs = list(&ladder["rungs"]);
    let stale: Vec<&Value> = rungs.iter().filter(|rung| rung["stale"] == true).collect();
    if args.repo.json() {
        return say_json(&stale);
    }
    if stale.is_empty() {
        return say(&format!("None of {} summaries is stale", rungs.len()));
    }
    let mut lines: Vec<String> = stale.iter().map(|rung| line(rung)).collect();
    lines.push(format!(
        "{} of {} summaries are stale",
        stale.len(),
        rungs.len()
    ));
    say(&lines.join("\n"))
}

/// The Ladder with all its pages.
async fn whole_tree(
    in_repo: &InRepo,
    arguments: Map<String, Value>,
) -> Result<Value, CommandError> {
    let repo = in_repo.find().await?;
    let mut arguments = Value::Object(arguments);
    let mut rungs = Vec::new();
    loop {
        let mut page = repo.call("ladder_tree", &arguments).await?;
        rungs.extend(list(&page["rungs"]).iter().cloned());
        match page.get("next_cursor").cloned() {
            Some(cursor) => arguments["cursor"] = cursor,
            None => {
                page["rungs"] = rungs.into();
                return Ok(page);
            }
        }
    }
}

fn put(arguments: &mut Map<String, Value>, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        arguments.insert(key.to_owned(), json!(value));
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A rung on one line: its path, how far behind it is, how its summary begins.
fn line(rung: &Value) -> String {
    let summary = text(rung, "summary");
    let first = summary.trim().lines().next().unwrap_or_default();
    format!("{}{}  {first}", one_line(rung, "path"), behind(rung))
}

fn behind(rung: &Value) -> String {
    match (
        rung["stale"] == true,
        rung["behind"].as_u64().unwrap_or_default(),
    ) {
        (false, 0) => String::new(),
        (true, 0) => "  (stale)".to_owned(),
        (stale, behind) => {
            let commits = if behind == 1 { "commit" } else { "commits" };
            let stale = if stale { "stale, " } else { "as it was, " };
            format!("  ({stale}{behind} {commits} behind)")
        }
    }
}

fn described(read: &Value) -> String {
    let rung = &read["rung"];
    let mut lines = vec![format!("{}{}", text(rung, "path"), behind(rung))];
    let at = match rung["anchor_commit"].as_str() {
        Some(commit) => format!(" at {}", commit.get(..12).unwrap_or(commit)),
        None => String::new(),
    };
    lines.push(format!(
        "  version {} by {}, {}{at}",
        rung["version"],
        text(rung, "author"),
        text(rung, "updated_at")
    ));
    for wrong in list(&rung["wrong_citations"]) {
        lines.push(format!(
            "  Wrong citation {}: {}",
            one_line(wrong, "citation"),
            text(wrong, "problem")
        ));
    }
    lines.push(String::new());
    lines.push(text(rung, "summary").trim_end().to_owned());
    for earlier in list(&read["history"]) {
        lines.push(format!(
            "\n  version {} by {}, {}\n\n{}",
            earlier["version"],
            text(earlier, "author"),
            text(earlier, "at"),
            text(earlier, "summary").trim_end()
        ));
    }
    lines.join("\n")
}
