//! How each agent's command line is started in a role: with its set-up prompt, and this server in its MCP configuration.
//!
//! The configuration names the file of the role's token, never the token: what a program is given as arguments every user
//! of the machine can read.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The agents whose command lines are known.
pub(super) const KNOWN: [&str; 5] = ["claude", "codex", "gemini", "opencode", "goose"];

/// One role to be started.
pub(super) struct Launch<'a> {
    pub(super) session: &'a str,
    pub(super) role: &'a str,
    pub(super) agent: &'a str,
    /// The file of its token.
    pub(super) token_file: &'a Path,
    /// The file of its MCP configuration, for agents that read one.
    pub(super) config_file: &'a Path,
    /// The program and its arguments that serve MCP.
    pub(super) server: &'a [String],
    /// The server's address, where the environment names one.
    pub(super) url: Option<&'a str>,
}

impl Launch<'_> {
    /// What the agent is asked to do first.
    fn prompt(&self) -> String {
        let Self {
            session,
            role,
            agent,
            ..
        } = self;
        format!(
            "Call the tool devorch_get_setup_instructions with session \"{session}\", role \"{role}\" and agent \
             \"{agent}\", and follow what it says."
        )
    }

    /// The variables the agent and its MCP server find this server by.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            (
                "GUILDHALL_TOKEN_FILE",
                self.token_file.display().to_string(),
            ),
            ("GUILDHALL_SESSION", self.session.to_owned()),
            ("GUILDHALL_ROLE", self.role.to_owned()),
        ];
        variables.extend(self.url.map(|url| ("GUILDHALL_URL", url.to_owned())));
        variables
    }

    /// The content of the MCP configuration file, for agents that read one.
    pub(super) fn config(&self) -> Option<Value> {
        let (program, arguments) = self.server.split_first()?;
        let environment: Value = self
            .environment()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        match self.agent {
            "claude" => Some(json!({ "mcpServers": { "guildhall": {
                "type": "stdio", "command": program, "args": arguments, "env": environment,
            } } })),
            "gemini" => Some(json!({ "mcpServers": { "guildhall": {
                "command": program, "args": arguments, "env": environment,
            } } })),
            "opencode" => Some(json!({ "mcp": { "guildhall": {
                "type": "local", "command": self.server, "environment": environment, "enabled": true,
            } } })),
            _ => None,
        }
    }

    /// The program and its arguments, with the variables it needs before them, as a pane runs it.
    pub(super) fn command(&self) -> Vec<String> {
        let mut variables = self.environment();
        let config = || self.config_file.display().to_string();
        let agent: Vec<String> = match self.agent {
            // The configuration comes last: it takes every argument after it for another file.
            "claude" => vec![
                "claude".to_owned(),
                self.prompt(),
                "--mcp-config".to_owned(),
                config(),
            ],
            "codex" => self.codex(),
            "gemini" => {
                variables.push(("GEMINI_CLI_SYSTEM_SETTINGS_PATH", config()));
                vec![
                    "gemini".to_owned(),
                    "--prompt-interactive".to_owned(),
                    self.prompt(),
                ]
            }
            "opencode" => {
                variables.push(("OPENCODE_CONFIG", config()));
                vec!["opencode".to_owned(), "--prompt".to_owned(), self.prompt()]
            }
            _ => self.goose(),
        };
        let variables = variables
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"));
        std::iter::once("env".to_owned())
            .chain(variables)
            .chain(agent)
            .collect()
    }

    fn codex(&self) -> Vec<String> {
        let mut command = vec!["codex".to_owned()];
        let (program, arguments) = self
            .server
            .split_first()
            .map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let mut table = toml_edit::InlineTable::new();
        for (name, value) in self.environment() {
            table.insert(name, value.into());
        }
        let list: toml_edit::Array = arguments.iter().map(String::as_str).collect();
        let settings = [
            ("command", toml_edit::Value::from(program)),
            ("args", list.into()),
            ("env", table.into()),
            // `devorch_inbox` waits up to 50 seconds.
            ("tool_timeout_sec", 120.into()),
        ];
        for (key, value) in settings {
            let value = value.decorated("", "");
            command.push("-c".to_owned());
            command.push(format!("mcp_servers.guildhall.{key}={value}"));
        }
        command.push(self.prompt());
        command
    }

    /// goose reads the extension as one line and splits it like a shell.
    fn goose(&self) -> Vec<String> {
        let variables = self
            .environment()
            .into_iter()
            .map(|(name, value)| format!("{name}={}", quoted(&value)));
        let server = self.server.iter().map(|part| quoted(part));
        let extension: Vec<String> = variables.chain(server).collect();
        ["goose", "run", "--interactive", "--with-extension"]
            .map(str::to_owned)
            .into_iter()
            .chain([extension.join(" "), "--text".to_owned(), self.prompt()])
            .collect()
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"@%+=:,./_-".contains(&byte));
    if plain {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A command as a person pastes it into a shell, from the folder `dir`.
pub(super) fn pasted(dir: &Path, command: &[String]) -> String {
    let words: Vec<_> = command.iter().map(|word| quoted(word)).collect();
    format!(
        "cd {} && {}",
        quoted(&dir.display().to_string()),
        words.join(" ")
    )
}

/// Where the files of one session stand.
pub(in crate::cli) fn folder(state_dir: &Path, session: &str) -> PathBuf {
    state_dir.join("team").join(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_started_in_its_own_way_and_none_is_given_a_token() {
        let server = ["guildhall", "mcp", "--workspace", "/my project"].map(str::to_owned);
        let mut text = String::new();
        for agent in KNOWN {
            let role = Launch {
                session: "myproject-1",
                role: "ai",
                agent,
                token_file: Path::new("/state/ai.token"),
                config_file: Path::new("/state/ai.json"),
                server: &server,
                url: None,
            };
            text.push_str(&pasted(Path::new("/work/it's"), &role.command()));
            text.push('\n');
            if let Some(config) = role.config() {
                text.push_str(&config.to_string());
                text.push('\n');
            }
        }
        insta::assert_snapshot!(text);
    }
}
