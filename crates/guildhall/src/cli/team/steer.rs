//! What a person does about one role.

use serde_json::{Value, json};

use super::{Team, line, role_path, text};
use crate::output::{CommandResult, say, say_json};
use crate::tmux::Tmux;

/// What is typed into a role's pane when a note has arrived. The note itself never is.
const NUDGE: &str = "A note from a person has arrived: call devorch_inbox.";

#[derive(clap::Args)]
pub(super) struct RoleArgs {
    /// The session
    session: String,
    /// The role in it
    role: String,
}

/// Leave a role a note: it arrives in its inbox
#[derive(clap::Args)]
pub(super) struct NoteArgs {
    #[command(flatten)]
    to: RoleArgs,
    /// What it says
    #[arg(required = true)]
    text: Vec<String>,
}

pub(super) async fn run(team: &Team, to: &RoleArgs, action: &'static str) -> CommandResult {
    let path = role_path(&to.session, &to.role);
    let held = team
        .server
        .post(&path, &json!({ "action": action }))
        .await?
        .result()?;
    if team.json {
        return say_json(&held);
    }
    let role = line(&to.role);
    say(&match action {
        "pause" => format!("Role {role} is paused: what arrives waits"),
        "resume" => format!("Role {role} goes on"),
        "takeover" => format!("Role {role} is yours: its agent is refused until you release it"),
        "release" => format!("Role {role} is its agent's again"),
        _ => format!(
            "Role {role} is {} again: any agent may claim it",
            line(text(&held, "status"))
        ),
    })
}

pub(super) async fn note(team: &Team, note: &NoteArgs) -> CommandResult {
    let NoteArgs { to, text: words } = note;
    let path = role_path(&to.session, &to.role);
    let body = json!({ "message": words.join(" ") });
    let sent = team
        .server
        .post(&format!("{path}/notes"), &body)
        .await?
        .result()?;
    // Who waits has it already; who does not is told in its pane that there is something.
    if text(&sent, "delivery") == "queued" {
        nudge(&team.session(&to.session).await?, to);
    }
    if team.json {
        return say_json(&sent);
    }
    say(&format!(
        "The note to {} is {}",
        line(&to.role),
        line(text(&sent, "delivery"))
    ))
}

/// Types a line into the role's pane, if it is one of this machine's and something runs in it.
fn nudge(session: &Value, to: &RoleArgs) {
    let roles = session["roles"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let role = roles.iter().find(|role| text(role, "role") == to.role);
    let (Some(pane), Some(tmux)) = (role.and_then(|role| role["pane"].as_str()), Tmux::find())
    else {
        return;
    };
    let live = tmux.live_panes(&to.session).unwrap_or_default();
    if live.iter().any(|live| live == pane) {
        // A pane that closes in between loses nothing: the note waits in the inbox.
        let _ = tmux.type_line(pane, NUDGE);
    }
}
