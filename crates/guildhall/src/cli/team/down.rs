//! `guildhall team down`: ends sessions, and removes the worktrees in which nothing would be lost.

use std::path::PathBuf;

use guildhall_git::{Checkout, Left, Worktree};
use serde_json::{Value, json};

use super::agents::folder;
use super::up::{place_of, remove_empty};
use super::{Team, line, path_of, text};
use crate::output::{CommandError, CommandResult, note, say, say_json};
use crate::tmux::Tmux;

/// Files that are named where a worktree is kept.
const FILES_NAMED: usize = 5;

/// End a session: its panes, its tokens, and the worktrees without work in them
#[derive(clap::Args)]
pub(super) struct Args {
    /// The session [default: the only one that runs]
    #[arg(conflicts_with = "all")]
    session: Option<String>,
    /// End every session of yours that runs
    #[arg(long)]
    all: bool,
    /// Leave all worktrees and branches
    #[arg(long)]
    keep_worktrees: bool,
    /// Remove this role's worktree and branch with what is not committed or merged in them; can be given several times
    #[arg(long, value_name = "ROLE")]
    force: Vec<String>,
}

/// What became of a role's worktree.
struct Outcome {
    role: String,
    path: PathBuf,
    /// Why it was kept; `None` where it is gone.
    kept: Option<String>,
}

pub(super) async fn run(team: &Team, args: &Args) -> CommandResult {
    let sessions = match &args.session {
        Some(session) => vec![session.clone()],
        None => chosen(team, args.all).await?,
    };
    let mut ended = Vec::new();
    for session in sessions {
        ended.push(end(team, args, &session).await?);
    }
    if team.json {
        return say_json(&json!({ "sessions": ended }));
    }
    Ok(())
}

async fn chosen(team: &Team, all: bool) -> Result<Vec<String>, CommandError> {
    let running = team.running().await?;
    match running.as_slice() {
        [] => Err(CommandError::refused("No session of yours runs")),
        [_] => Ok(running),
        _ if all => Ok(running),
        several => Err(CommandError::usage(format!(
            "Several sessions run: name one of {}, or use --all",
            several.join(", ")
        ))),
    }
}

async fn end(team: &Team, args: &Args, session: &str) -> Result<Value, CommandError> {
    let found = team.session(session).await?;
    // The agents first: nothing is written any more while the worktrees are looked at.
    if let Some(tmux) = Tmux::find()
        && tmux.has(session)
    {
        tmux.close(session)?;
    }
    let stop = format!("{}/stop", path_of(session));
    team.server.post(&stop, &json!({})).await?.result()?;
    let _ = std::fs::remove_dir_all(folder(&team.workspace.state_dir, session));
    let outcomes = clear(team, args, session, &found)?;
    if !team.json {
        say(&format!("Session {session} has ended"))?;
        for outcome in &outcomes {
            let (role, path) = (&outcome.role, outcome.path.display());
            say(&match &outcome.kept {
                Some(why) => format!(
                    "  kept     {role}: {} ({})",
                    line(&path.to_string()),
                    line(why)
                ),
                None => format!("  removed  {role}: {}", line(&path.to_string())),
            })?;
        }
        if outcomes.iter().any(|outcome| outcome.kept.is_some()) && !args.keep_worktrees {
            note("Commit and merge what was kept, or name its role with --force to delete it.");
        }
    }
    let worktrees: Vec<_> = outcomes
        .iter()
        .map(|outcome| json!({ "role": outcome.role, "path": outcome.path, "kept": outcome.kept }))
        .collect();
    Ok(json!({ "session": session, "worktrees": worktrees }))
}

/// Removes the session's worktrees, as far as nothing is lost with them.
fn clear(
    team: &Team,
    args: &Args,
    session: &str,
    found: &Value,
) -> Result<Vec<Outcome>, CommandError> {
    let Some(checkout) = team.checkout()? else {
        return Ok(Vec::new());
    };
    let mut outcomes = Vec::new();
    let roles = found["roles"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for role in roles.iter().filter(|role| role["worktree"].is_string()) {
        let name = text(role, "role").to_owned();
        let (path, branch) = place_of(&checkout, session, &name);
        // Only what this command made on this machine is touched.
        let is_ours =
            text(role, "worktree") == path.display().to_string() && text(role, "branch") == branch;
        let tree = Worktree { path, branch };
        if !is_ours || (!tree.path.exists() && !checkout.has_branch(&tree.branch)?) {
            continue;
        }
        let kept = if args.keep_worktrees {
            Some("as asked".to_owned())
        } else {
            remove(&checkout, session, &tree, args.force.contains(&name))?
        };
        outcomes.push(Outcome {
            role: name,
            path: tree.path,
            kept,
        });
    }
    remove_empty(&place_of(&checkout, session, "x").0);
    Ok(outcomes)
}

/// Removes a worktree, or says why it is kept.
fn remove(
    checkout: &Checkout,
    session: &str,
    tree: &Worktree,
    forced: bool,
) -> Result<Option<String>, CommandError> {
    let left = checkout.left(tree, &format!("{session}/"))?;
    if !left.is_nothing() && !forced {
        return Ok(Some(described(&left)));
    }
    checkout.remove(tree)?;
    Ok(None)
}

fn described(left: &Left) -> String {
    let mut parts = Vec::new();
    match left.uncommitted.as_slice() {
        [] => {}
        files => {
            let named: Vec<_> = files.iter().take(FILES_NAMED).map(String::as_str).collect();
            let more = files.len().saturating_sub(FILES_NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            parts.push(format!("not committed: {}{more}", named.join(", ")));
        }
    }
    match left.unmerged {
        0 => {}
        1 => parts.push("1 commit is not merged".to_owned()),
        n => parts.push(format!("{n} commits are not merged")),
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_in_words() {
        let files = |n: usize| (0..n).map(|n| format!("f{n}")).collect();
        for (uncommitted, unmerged, told) in [
            (files(1), 0, "not committed: f0"),
            (
                files(7),
                1,
                "not committed: f0, f1, f2, f3, f4 and 2 more; 1 commit is not merged",
            ),
            (files(0), 3, "3 commits are not merged"),
        ] {
            let left = Left {
                uncommitted,
                unmerged,
            };
            assert_eq!(described(&left), told);
        }
    }
}
