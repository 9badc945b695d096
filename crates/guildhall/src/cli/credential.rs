//! `guildhall credential`: a git credential helper (gitcredentials(7), "Custom helpers").
//!
//! `git config credential.helper '!guildhall credential'` makes clones and fetches use the token that commands use. It
//! answers only for the very server that the token belongs to, so that no other host is ever given it.

use std::io::Read as _;

use clap::ValueEnum;
use guildhall_config::{env_vars, process_env};
use reqwest::Url;

use crate::client::{self, Target};
use crate::output::{CommandResult, say};
use crate::{data_dir, logins};

/// Longest request of git that is read.
const LONGEST_REQUEST: u64 = 64 << 10;

/// Give git the token for a server's repositories, as a git credential helper
#[derive(clap::Args)]
pub(super) struct Args {
    /// What git asks for; what it wants stored or erased is left alone
    operation: Operation,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, ValueEnum)]
enum Operation {
    Get,
    Store,
    Erase,
}

pub(super) fn run(args: &Args) -> CommandResult {
    let mut asked = String::new();
    std::io::stdin()
        .take(LONGEST_REQUEST)
        .read_to_string(&mut asked)?;
    let Operation::Get = args.operation else {
        return Ok(());
    };
    let Some(asked) = server_asked_for(&asked) else {
        return Ok(());
    };
    match token_for(&asked, &args.target)? {
        // Any user name does: the token alone says who it is.
        Some(token) => say(&format!("username=guildhall\npassword={token}")),
        None => Ok(()),
    }
}

/// The server that git talks to, of the lines `protocol=` and `host=`.
fn server_asked_for(request: &str) -> Option<Url> {
    let value = |key: &str| {
        request
            .lines()
            .filter_map(|line| line.split_once('='))
            .filter(|(given, _)| *given == key)
            .map(|(_, value)| value)
            .next_back()
    };
    let (protocol, host) = (value("protocol")?, value("host")?);
    logins::server_url(&format!("{protocol}://{host}")).ok()
}

/// The token that commands would use for `asked`: the environment's, that of a login, or the owner's of the server that
/// runs for this workspace.
fn token_for(asked: &Url, target: &Target) -> anyhow::Result<Option<String>> {
    let is_asked =
        |url: &str| logins::server_url(url).is_ok_and(|url| url.origin() == asked.origin());
    if process_env(env_vars::GUILDHALL_URL).is_some_and(|url| is_asked(&url))
        && let Some(token) = client::token_of_environment()?
    {
        return Ok(Some(token.trim().to_owned()));
    }
    if let Some(token) = logins::token(asked)? {
        return Ok(Some(token));
    }
    let state = target.workspace()?.state_dir;
    match data_dir::running(&state) {
        Some(running) if is_asked(&running.url) => {
            let token = client::read_token(&state.join("owner.token"))?;
            Ok(Some(token.trim().to_owned()))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_for_by_protocol_and_host() {
        let asked = |request| server_asked_for(request).map(|url| url.to_string());
        let request =
            "capability[]=authtype\nprotocol=https\nhost=Guild.example.com:443\npath=a/b.git\n\n";
        assert_eq!(
            asked(request).as_deref(),
            Some("https://guild.example.com/")
        );
        for request in [
            "",
            "protocol=https\n",
            "host=h\n",
            "protocol=ssh\nhost=h\n",
            "protocol=https\nhost=u@h\n",
        ] {
            assert_eq!(asked(request), None, "{request}");
        }
    }
}
