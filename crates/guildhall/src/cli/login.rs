//! `guildhall login`: a token for a server on another machine, by a person's approval in the browser.

use std::time::Duration;

use anyhow::Context as _;
use guildhall_config::{env_vars, process_env};
use serde_json::{Value, json};

use super::frame::Limits;
use crate::client::Anonymous;
use crate::logins;
use crate::output::{CommandError, CommandResult, note, printable, say, say_json};

/// Sign in to a server: prints a code and a link, on which a signed-in person approves it
#[derive(clap::Args)]
pub(super) struct Args {
    /// The server's address [default: `GUILDHALL_URL`]; the server of one's own workspace needs no login
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    limits: Limits,
    /// Print one JSON object at the end: `username`, `server`, `token_file`
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let named = args
        .server
        .clone()
        .or_else(|| process_env(env_vars::GUILDHALL_URL));
    let Some(named) = named else {
        return say(
            "The server of one's own workspace needs no login. For another, give `--server URL`.",
        );
    };
    let url = logins::server_url(&named).map_err(CommandError::usage)?;
    let server = Anonymous::new(&url)?;
    let begun = server
        .post("/api/login/device", &json!({ "client": client() }))
        .await?
        .result()?;
    let text = |key: &str| {
        begun[key]
            .as_str()
            .with_context(|| format!("The server did not say its `{key}`"))
    };
    let (device_code, user_code) = (text("device_code")?, text("user_code")?);
    let page = format!("{}{}", server.url(), text("verification_path")?);
    note(&format!(
        "Open {page}?code={user_code}\nand approve the code {user_code}"
    ));
    let asked = json!({ "device_code": device_code, "limits": args.limits.body() });
    let signed_in = wait(&server, &begun, &asked).await?;
    let token = signed_in["token"]
        .as_str()
        .context("The server gave no token")?;
    let path = logins::keep(&url, token)?;
    if args.json {
        let username = &signed_in["username"];
        return say_json(
            &json!({ "username": username, "server": server.url(), "token_file": path }),
        );
    }
    let username = printable(signed_in["username"].as_str().unwrap_or_default());
    say(&format!("Signed in as {username} at {}", server.url()))?;
    if process_env(env_vars::GUILDHALL_URL).is_none() {
        say(&format!(
            "Commands use it with:  export GUILDHALL_URL={}",
            server.url()
        ))?;
    }
    Ok(())
}

/// Asks until a person has decided, or the time of the code is over.
async fn wait(server: &Anonymous, begun: &Value, asked: &Value) -> Result<Value, CommandError> {
    let interval = Duration::from_secs(begun["interval"].as_u64().unwrap_or(2).clamp(1, 60));
    loop {
        let reply = server.post("/api/login/token", asked).await?;
        // Too often for this address, perhaps with others behind the same one: asked again later.
        if reply.status != 429 {
            let state = reply.result()?;
            if state["status"] != "waiting" {
                return Ok(state);
            }
        }
        tokio::time::sleep(interval).await;
    }
}

/// How this program calls itself to the person who is to approve it.
fn client() -> String {
    // Linux says the machine's name here; elsewhere the person does without.
    match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(host) => format!("guildhall on {}", host.trim()),
        Err(_) => "guildhall".to_owned(),
    }
}
