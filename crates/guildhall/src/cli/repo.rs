//! `guildhall repo`: the repositories that the server hosts.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use guildhall_core::RepoName;
use http::Method;
use serde_json::{Value, json};

use crate::client::{Server, Target};
use crate::output::{CommandResult, printable, say, say_json};

/// Host git repositories for agents to read and clone
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Take in a repository; what it came from stays as it is
    Add(Add),
    /// List the hosted repositories
    List(Common),
    /// Show a repository, and how far it is from its origin
    Show(Named),
    /// Fetch the origin and move the default branch forward
    #[command(after_help = "If both moved, nothing is changed, and the exit code is 1.")]
    Sync(Sync),
    /// Send the default branch to the origin, forward only, with your own git credentials
    Push(Named),
    /// Stop hosting a repository and delete it here; its origin stays
    Remove(Named),
}

#[derive(clap::Args)]
struct Common {
    #[command(flatten)]
    target: Target,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Named {
    #[command(flatten)]
    common: Common,
    /// The repository
    #[arg(value_name = "OWNER/NAME")]
    name: RepoName,
}

#[derive(clap::Args)]
struct Sync {
    #[command(flatten)]
    named: Named,
    /// If both moved, post an ask for a merge
    #[arg(long)]
    merge: bool,
}

#[derive(clap::Args)]
struct Add {
    #[command(flatten)]
    common: Common,
    /// What to call it
    #[arg(value_name = "OWNER/NAME")]
    name: RepoName,
    #[command(flatten)]
    from: From,
    /// Let everybody who is signed in read it
    #[arg(long)]
    public: bool,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct From {
    /// Take in the repository in this directory of the server's machine
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Clone this address: https, ssh, or http on this machine
    #[arg(long, value_name = "URL")]
    clone: Option<String>,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    match &args.action {
        Action::Add(args) => add(args).await,
        Action::List(args) => list(args).await,
        Action::Show(args) => {
            let (server, repo) = ask(args, Method::GET, "", None).await?;
            tell(&args.common, &repo, || described(&server, &repo))
        }
        Action::Sync(args) => {
            let wanted = json!({ "merge": args.merge });
            let (_, repo) = ask(&args.named, Method::POST, "/sync", Some(&wanted)).await?;
            tell(&args.named.common, &repo, || synced(&repo))
        }
        Action::Push(args) => {
            let (_, repo) = ask(args, Method::POST, "/push", None).await?;
            tell(&args.common, &repo, || pushed(&repo))
        }
        Action::Remove(args) => {
            let (_, removed) = ask(args, Method::DELETE, "", None).await?;
            tell(&args.common, &removed, || {
                format!("{} is not hosted any more", args.name)
            })
        }
    }
}

async fn add(args: &Add) -> CommandResult {
    let path = match &args.from.path {
        // The server has another working directory.
        Some(path) => Some(std::path::absolute(path).context("Cannot tell the directory")?),
        None => None,
    };
    let mut body = json!({ "repo": args.name, "public": args.public });
    if let Some(path) = path {
        body["path"] = json!(path);
    }
    if let Some(address) = &args.from.clone {
        body["clone"] = json!(address);
    }
    let server = Server::find(&args.common.target).await?;
    let repo = server.work(Method::POST, "/api/repos", Some(&body)).await?;
    tell(&args.common, &repo, || described(&server, &repo))
}

async fn list(args: &Common) -> CommandResult {
    let server = Server::find(&args.target).await?;
    let mut listed = server.get("/api/repos").await?;
    let repos = listed["repos"].take();
    if args.json {
        return say_json(&repos);
    }
    let repos = repos.as_array().map(Vec::as_slice).unwrap_or_default();
    if repos.is_empty() {
        return say("No repositories: `guildhall repo add <owner>/<name> --path DIR` takes one in");
    }
    let lines: Vec<String> = repos.iter().map(line).collect();
    say(&lines.join("\n"))
}

/// Asks the server about the repository, or to do something with it.
async fn ask(
    args: &Named,
    method: Method,
    action: &str,
    body: Option<&Value>,
) -> Result<(Server, Value), crate::output::CommandError> {
    let server = Server::find(&args.common.target).await?;
    // A repository's name reads the same in a URL.
    let path = format!("/api/repos/{}{action}", args.name);
    let answer = server.work(method, &path, body).await?;
    Ok((server, answer))
}

fn tell(args: &Common, answer: &Value, text: impl FnOnce() -> String) -> CommandResult {
    if args.json {
        return say_json(answer);
    }
    say(&printable(&text()))
}

fn text<'a>(repo: &'a Value, key: &str) -> &'a str {
    repo[key].as_str().unwrap_or_default()
}

fn line(repo: &Value) -> String {
    let public = repo["public"] == Value::Bool(true);
    let access = if public { "public" } else { "private" };
    printable(&format!(
        "{}  {access}  {}  {}",
        text(repo, "repo"),
        text(repo, "default_branch"),
        short(repo)
    ))
}

/// The short id of the head.
fn short(repo: &Value) -> &str {
    repo["head"]
        .as_str()
        .map_or("empty", |head| head.get(..12).unwrap_or(head))
}

fn count(repo: &Value, key: &str) -> u64 {
    repo[key].as_u64().unwrap_or_default()
}

fn described(server: &Server, repo: &Value) -> String {
    let name = text(repo, "repo");
    let mut lines = vec![
        line(repo),
        format!(
            "  {} ahead and {} behind its origin, as of the last fetch",
            count(repo, "ahead"),
            count(repo, "behind")
        ),
    ];
    if let Some(origin) = repo["origin"].as_str() {
        lines.push(format!("  Origin  {origin}"));
    }
    lines.push(format!("  Clone   {}/{name}.git", server.url));
    lines.join("\n")
}

fn synced(repo: &Value) -> String {
    let (name, ahead) = (text(repo, "repo"), count(repo, "ahead"));
    if let Some(posted) = repo["posted"].as_str() {
        return format!(
            "{name}: {} is {ahead} ahead and {} behind its origin; {posted} in the lane _repo asks for a merge",
            text(repo, "default_branch"),
            count(repo, "behind")
        );
    }
    let at = format!(
        "{name}: {} is at {}",
        text(repo, "default_branch"),
        short(repo)
    );
    match ahead {
        0 => format!("{at}, as its origin is"),
        ahead => format!("{at}, {ahead} ahead of its origin"),
    }
}

fn pushed(repo: &Value) -> String {
    let name = text(repo, "repo");
    match count(repo, "ahead") {
        0 => format!("{name}: nothing to send, its origin has everything"),
        1 => format!("{name}: sent 1 commit to its origin"),
        sent => format!("{name}: sent {sent} commits to its origin"),
    }
}
