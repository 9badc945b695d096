//! `guildhall ask`: the asks of a hosted repository.

mod diff;
mod show;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::in_repo::{InRepo, Repo, line, text};
use super::table::{Column, Table};
use crate::output::{CommandError, CommandResult, printable};

/// Post, claim and answer asks, the items of work in a lane
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List what you could claim in a lane, best first
    List(List),
    /// Show an ask, with its changeset as a diff
    Show(show::Args),
    /// Ask for something
    Post(Post),
    /// Claim an ask, so that nobody else does it
    Claim(Named),
    /// Give your claim up
    Release(Holding),
    /// Answer an ask that you hold
    Answer(Answer),
}

#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    place: InRepo,
    /// The lane
    #[arg(long, default_value = "_repo")]
    lane: String,
    /// Every ask of the lane, not only what you could claim
    #[arg(long)]
    all: bool,
}

#[derive(clap::Args)]
struct Post {
    #[command(flatten)]
    place: InRepo,
    /// What is asked for, in one line
    title: String,
    /// The lane
    #[arg(long, default_value = "_repo")]
    lane: String,
    /// `work`, `write_rung`, or a word of your own
    #[arg(long, default_value = "work")]
    kind: String,
    /// The same at length
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// An ask to be resolved first; can be repeated
    #[arg(long, value_name = "ASK")]
    depends_on: Vec<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
    /// Of a kind of your own: contributor, maintainer or coordinator
    #[arg(long)]
    scope: Option<String>,
    /// A path it is going to touch; can be repeated
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// A stored changeset, to be reviewed, submitted or mended once more
    #[arg(long, value_name = "ID")]
    changeset: Option<String>,
}

#[derive(clap::Args)]
struct Named {
    #[command(flatten)]
    place: InRepo,
    /// The ask
    ask: String,
}

#[derive(clap::Args)]
struct Holding {
    #[command(flatten)]
    named: Named,
    /// The fence of your claim
    #[arg(long)]
    fence: Option<i64>,
}

#[derive(clap::Args)]
#[command(after_help = "A changeset is one JSON object: \
{\"base_commit\": ..., \"message\": ..., \"files\": [{\"path\": ..., \"content\": ...}]}")]
struct Answer {
    #[command(flatten)]
    holding: Holding,
    /// How it went
    verdict: Verdict,
    /// What there is to say
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// The changeset, from a file with one JSON object; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "no_change")]
    changeset: Option<PathBuf>,
    /// Nothing needs to change; say why with --note
    #[arg(long)]
    no_change: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Verdict {
    /// It is done
    Complete,
    /// It will not be done, or is not good
    Deny,
    /// The review found nothing against it
    Grant,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    match &args.action {
        Action::List(args) => list(args).await,
        Action::Show(args) => show::run(args).await,
        Action::Post(args) => post(args).await,
        Action::Claim(args) => {
            let arguments = json!({ "ask_id": args.ask });
            touch(&args.place, "ask_claim", &arguments, claimed).await
        }
        Action::Release(args) => {
            let arguments = json!({ "ask_id": args.named.ask, "fence": args.fence });
            let released = |ask: &Value| format!("{} is open again", text(ask, "id"));
            touch(&args.named.place, "ask_release", &arguments, released).await
        }
        Action::Answer(args) => answer(args).await,
    }
}

async fn list(args: &List) -> CommandResult {
    let repo = args.place.find().await?;
    let arguments = json!({ "lane_id": args.lane });
    let asks = if args.all {
        repo.call("lane_get", &arguments).await?["lane"]["asks"].take()
    } else {
        repo.call("ask_query_claimable", &arguments).await?["asks"].take()
    };
    args.place.tell(&asks, || listed(&asks))
}

/// Asks, one a line.
pub(super) fn table() -> Table {
    Table::new([
        Column::text("ASK", "id"),
        Column::text("KIND", "kind"),
        Column::text("STATE", "state"),
        Column::text("PRIORITY", "priority"),
        Column::text("TITLE", "title"),
    ])
}

fn listed(asks: &Value) -> String {
    let mut lines = vec![table().text(asks)];
    for ask in asks.as_array().into_iter().flatten() {
        for other in ask["touches_same_files"].as_array().into_iter().flatten() {
            let files: Vec<&str> = other["files"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            lines.push(format!(
                "{} touches the same files as {}: {}",
                text(ask, "id"),
                text(other, "ask_id"),
                printable(&files.join(" ")).replace('\n', " ")
            ));
        }
    }
    lines.join("\n")
}

async fn post(args: &Post) -> CommandResult {
    let arguments = json!({
        "lane_id": args.lane, "kind": args.kind, "title": args.title, "body": args.body,
        "depends_on": args.depends_on, "priority": args.priority, "scope": args.scope, "files": args.file,
        "changeset_id": args.changeset,
    });
    let posted = |ask: &Value| format!("{}  {}", text(ask, "id"), line(ask, "title"));
    touch(&args.place, "ask_post", &arguments, posted).await
}

async fn answer(args: &Answer) -> CommandResult {
    let changeset = match &args.changeset {
        Some(path) => Some(object(&super::call::read(path)?)?),
        None => None,
    };
    let mut arguments = json!({
        "ask_id": args.holding.named.ask, "fence": args.holding.fence, "note": args.note,
        "verdict": match args.verdict {
            Verdict::Complete => "complete",
            Verdict::Deny => "deny",
            Verdict::Grant => "grant",
        },
    });
    if let Some(changeset) = changeset {
        arguments["changeset"] = changeset;
    }
    if args.no_change {
        arguments["no_change"] = true.into();
    }
    touch(
        &args.holding.named.place,
        "ask_answer",
        &arguments,
        answered,
    )
    .await
}

fn object(text: &str) -> Result<Value, CommandError> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(CommandError::usage("--changeset takes one JSON object")),
        Err(error) => Err(CommandError::usage(format!(
            "--changeset is not JSON: {error}"
        ))),
    }
}

/// Calls a tool that answers with an ask, and says what became of it.
async fn touch(
    place: &InRepo,
    tool: &str,
    arguments: &Value,
    text: impl FnOnce(&Value) -> String,
) -> CommandResult {
    let repo: Repo = place.find().await?;
    let ask = repo.call(tool, arguments).await?["ask"].take();
    place.tell(&ask, || text(&ask))
}

fn claimed(ask: &Value) -> String {
    format!(
        "{} is yours until {} (fence {})",
        text(ask, "id"),
        text(&ask["claim"], "expires_at"),
        ask["claim"]["fence"]
    )
}

fn answered(ask: &Value) -> String {
    let answer = &ask["answer"];
    let done = format!(
        "{} is answered: {}",
        text(ask, "id"),
        text(answer, "verdict")
    );
    match answer["payload"]["posted"].as_str() {
        Some(next) => format!("{done}; next is {}", printable(next)),
        None => done,
    }
}
