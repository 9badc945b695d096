//! `guildhall lane`: the lanes of a hosted repository.

use clap::Subcommand;
use serde_json::{Value, json};

use super::in_repo::{InRepo, line, text};
use super::table::{Column, Table};
use crate::output::{CommandResult, printable};

/// Read and propose lanes, the streams of work of a repository
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the lanes
    List(InRepo),
    /// Show a lane with its asks and what happened in it
    Show(Show),
    /// Open a lane; you become its coordinator
    Propose(Propose),
}

#[derive(clap::Args)]
struct Show {
    #[command(flatten)]
    place: InRepo,
    /// The lane, such as `_repo`
    lane: String,
}

#[derive(clap::Args)]
struct Propose {
    #[command(flatten)]
    place: InRepo,
    /// What it is about, in one line
    title: String,
    /// The same at length
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Who coordinates it beside you; can be repeated
    #[arg(long, value_name = "USER")]
    coordinator: Vec<String>,
    /// Who maintains it; only an owner may name them; can be repeated
    #[arg(long, value_name = "USER")]
    maintainer: Vec<String>,
    /// The lane it comes from
    #[arg(long, value_name = "LANE")]
    related_to: Option<String>,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    match &args.action {
        Action::List(place) => list(place).await,
        Action::Show(args) => show(args).await,
        Action::Propose(args) => propose(args).await,
    }
}

async fn list(place: &InRepo) -> CommandResult {
    let listed = place.find().await?.call("lane_list", &json!({})).await?;
    place.tell(&listed["lanes"], || {
        Table::new([
            Column::text("LANE", "id"),
            Column::text("STATE", "state"),
            Column::text("TITLE", "title"),
            Column::text("COORDINATORS", "coordinators"),
        ])
        .text(&listed["lanes"])
    })
}

async fn show(args: &Show) -> CommandResult {
    let repo = args.place.find().await?;
    let arguments = json!({ "lane_id": args.lane });
    let mut found = repo.call("lane_get", &arguments).await?;
    let lane = found["lane"].take();
    args.place.tell(&lane, || described(&lane))
}

async fn propose(args: &Propose) -> CommandResult {
    let repo = args.place.find().await?;
    let arguments = json!({
        "title": args.title, "description": args.description, "coordinators": args.coordinator,
        "maintainers": args.maintainer, "related_to": args.related_to,
    });
    let mut proposed = repo.call("lane_propose", &arguments).await?;
    let lane = proposed["lane"].take();
    args.place.tell(&lane, || {
        format!("{}  {}", text(&lane, "id"), line(&lane, "title"))
    })
}

fn described(lane: &Value) -> String {
    let mut lines = vec![format!(
        "{}  {}  {}",
        text(lane, "id"),
        text(lane, "state"),
        line(lane, "title")
    )];
    let description = text(lane, "description");
    if !description.is_empty() {
        lines.push(format!("\n{description}\n"));
    }
    for (head, key) in [
        ("Coordinators", "coordinators"),
        ("Maintainers", "maintainers"),
        ("Related", "related_lanes"),
    ] {
        let names: Vec<String> = lane[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(printable)
            .collect();
        if !names.is_empty() {
            lines.push(format!("{head}  {}", names.join(", ")));
        }
    }
    if lane["asks"].as_array().is_some_and(|asks| !asks.is_empty()) {
        lines.push(String::new());
        lines.push(super::ask::table().text(&lane["asks"]));
    }
    lines.push(String::new());
    lines.extend(lane["history"].as_array().into_iter().flatten().map(step));
    lines.join("\n")
}

/// One thing that happened.
pub(super) fn step(step: &Value) -> String {
    let mut words = vec![text(step, "at"), text(step, "by"), text(step, "what")];
    words.push(text(step, "ask_id"));
    for key in ["verdict", "title", "note"] {
        words.push(line(&step["data"], key));
    }
    words.retain(|word| !word.is_empty());
    words.join("  ")
}
