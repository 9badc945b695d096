//! `guildhall connect`: the MCP configuration of one client, printed or written.
//!
//! It makes the client's own agent and its token file, and hands out neither the owner's token nor, in the
//! configuration itself, any secret: over stdio there is none, over HTTP there is the name of a variable.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use guildhall_config::Workspace;
use serde_json::{Map, Value, json};

use crate::cli::up::program;
use crate::client::{self, Server, Target};
use crate::output::{CommandError, CommandResult, say, say_json};

/// Print or write a client's MCP configuration, with an agent and a token file of its own
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// The client to connect
    client: Client,
    /// Connect over HTTP instead of stdio; the token comes from the variable `GUILDHALL_TOKEN`
    #[arg(long)]
    http: bool,
    /// Write the client's file instead of printing what belongs into it
    #[arg(long)]
    write: bool,
    /// Print one JSON object: the file, the entry, the agent, its token file
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Client {
    /// Claude Code: .mcp.json of the project
    Claude,
    /// Codex: ~/.codex/config.toml
    Codex,
    /// Gemini CLI: .gemini/settings.json of the project
    Gemini,
    /// opencode: opencode.json of the project
    Opencode,
    /// Cursor: .cursor/mcp.json of the project
    Cursor,
    /// VS Code: .vscode/mcp.json of the project
    Vscode,
}

/// One client's configuration of this server.
struct Entry {
    /// The file it belongs into.
    file: PathBuf,
    /// The keys that lead to it there, the server's name last.
    path: Vec<String>,
    value: Value,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let workspace = args.target.workspace()?;
    if args.http {
        needs_to_run(&workspace).await?;
    }
    let server = Server::find(&args.target).await?;
    let status = server.get("/api/status").await?;
    let name = status["server_name"]
        .as_str()
        .context("The server did not say its name")?
        .to_owned();
    let agent = args.client.agent();
    let token_file = server.agent_token_file(agent).await?;
    let link = if args.http {
        Link::Http {
            url: format!("{}/mcp", server.url),
        }
    } else {
        Link::Stdio {
            command: program(),
            args: stdio_arguments(args, &workspace.root)?,
        }
    };
    let home = std::env::home_dir().context("Cannot tell the home folder")?;
    let entry = args.client.entry(&name, &link, &workspace.root, &home);
    if args.write {
        write(&entry)?;
    }
    if args.json {
        return say_json(&json!({
            "file": entry.file,
            "written": args.write,
            "path": entry.path,
            "entry": entry.value,
            "agent": agent,
            "token_file": token_file,
        }));
    }
    if args.write {
        say(&format!(
            "Wrote {} into {}",
            entry.path.join("."),
            entry.file.display()
        ))?;
    } else {
        say(&format!(
            "Add this to {} (or run again with --write):\n",
            entry.file.display()
        ))?;
        say(&entry.rendered()?)?;
    }
    if args.http {
        say(&format!(
            "\nThe client needs the token in its environment:\n\n  export GUILDHALL_TOKEN=\"$(cat '{}')\"",
            token_file.display()
        ))?;
    }
    Ok(())
}

/// Refuses to write down the address of a server that would be started for this command alone: it ends when nobody asks for
/// anything, and the next one has another port.
async fn needs_to_run(workspace: &Workspace) -> CommandResult {
    if Server::from_environment()?.is_some() || client::is_running(workspace).await {
        return Ok(());
    }
    Err(CommandError::refused(format!(
        "No server runs for `{}`, and `--http` writes down the address of one that does",
        workspace.root.display()
    ))
    .hint("Start it with `guildhall up`, or leave `--http` out: the client then starts what it needs."))
}

/// The arguments of the child process. A file of the whole user must say which workspace; a project's own file is used
/// inside that project.
fn stdio_arguments(args: &Args, root: &Path) -> anyhow::Result<Vec<String>> {
    let mut arguments = vec![
        "mcp".to_owned(),
        "--agent".to_owned(),
        args.client.agent().to_owned(),
    ];
    let named = args.target.workspace.is_some() || args.target.data_dir.is_some();
    if matches!(args.client, Client::Codex) || named {
        arguments.extend(["--workspace".to_owned(), root.display().to_string()]);
    }
    if let Some(data_dir) = &args.target.data_dir {
        let data_dir = std::path::absolute(data_dir).context("Cannot tell the data directory")?;
        arguments.extend(["--data-dir".to_owned(), data_dir.display().to_string()]);
    }
    Ok(arguments)
}

/// How the client reaches the server.
enum Link {
    Stdio { command: String, args: Vec<String> },
    Http { url: String },
}

impl Client {
    /// The name of the client's agent.
    fn agent(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
        }
    }

    fn entry(self, name: &str, link: &Link, root: &Path, home: &Path) -> Entry {
        let (file, section) = match self {
            Self::Claude => (root.join(".mcp.json"), "mcpServers"),
            Self::Codex => (home.join(".codex/config.toml"), "mcp_servers"),
            Self::Gemini => (root.join(".gemini/settings.json"), "mcpServers"),
            Self::Opencode => (root.join("opencode.json"), "mcp"),
            Self::Cursor => (root.join(".cursor/mcp.json"), "mcpServers"),
            Self::Vscode => (root.join(".vscode/mcp.json"), "servers"),
        };
        let value = match link {
            Link::Stdio { command, args } => self.stdio(command, args),
            Link::Http { url } => self.http(url),
        };
        Entry {
            file,
            path: vec![section.to_owned(), name.to_owned()],
            value,
        }
    }

    fn stdio(self, command: &str, args: &[String]) -> Value {
        match self {
            Self::Claude | Self::Vscode => {
                json!({ "type": "stdio", "command": command, "args": args })
            }
            Self::Codex | Self::Gemini | Self::Cursor => {
                json!({ "command": command, "args": args })
            }
            Self::Opencode => {
                let whole: Vec<&str> = std::iter::once(command)
                    .chain(args.iter().map(String::as_str))
                    .collect();
                json!({ "type": "local", "command": whole, "enabled": true })
            }
        }
    }

    /// Each client has a way of its own to name a variable of the environment.
    fn http(self, url: &str) -> Value {
        let bearer = |variable: &str| json!({ "Authorization": format!("Bearer {variable}") });
        match self {
            Self::Claude => {
                json!({ "type": "http", "url": url, "headers": bearer("${GUILDHALL_TOKEN}") })
            }
            Self::Codex => json!({ "url": url, "bearer_token_env_var": "GUILDHALL_TOKEN" }),
            Self::Gemini => json!({ "httpUrl": url, "headers": bearer("${GUILDHALL_TOKEN}") }),
            Self::Opencode => {
                json!({ "type": "remote", "url": url, "enabled": true, "headers": bearer("{env:GUILDHALL_TOKEN}") })
            }
            Self::Cursor => json!({ "url": url, "headers": bearer("${env:GUILDHALL_TOKEN}") }),
            Self::Vscode => {
                json!({ "type": "http", "url": url, "headers": bearer("${env:GUILDHALL_TOKEN}") })
            }
        }
    }
}

impl Entry {
    fn is_toml(&self) -> bool {
        self.file
            .extension()
            .is_some_and(|extension| extension == "toml")
    }

    /// The entry as it would stand in an empty file.
    fn rendered(&self) -> anyhow::Result<String> {
        if self.is_toml() {
            let mut document = toml_edit::DocumentMut::new();
            self.put_toml(&mut document)?;
            return Ok(document.to_string().trim_end().to_owned());
        }
        let mut document = Map::new();
        self.put_json(&mut document)?;
        Ok(serde_json::to_string_pretty(&document)?)
    }

    fn put_json(&self, document: &mut Map<String, Value>) -> anyhow::Result<()> {
        let (name, sections) = self.path.split_last().context("An entry has a name")?;
        let mut at = document;
        for section in sections {
            let next = at.entry(section.clone()).or_insert_with(|| json!({}));
            at = next
                .as_object_mut()
                .with_context(|| format!("`{section}` is no object"))?;
        }
        at.insert(name.clone(), self.value.clone());
        Ok(())
    }

    fn put_toml(&self, document: &mut toml_edit::DocumentMut) -> anyhow::Result<()> {
        let (name, sections) = self.path.split_last().context("An entry has a name")?;
        let mut at = document.as_table_mut();
        for section in sections {
            let next = at.entry(section).or_insert_with(|| {
                let mut table = toml_edit::Table::new();
                table.set_implicit(true);
                toml_edit::Item::Table(table)
            });
            at = next
                .as_table_mut()
                .with_context(|| format!("`{section}` is no table"))?;
        }
        let mut table = toml_edit::Table::new();
        for (key, value) in self.value.as_object().context("An entry is an object")? {
            let item = match value {
                Value::Array(items) => toml_edit::value(
                    items
                        .iter()
                        .filter_map(Value::as_str)
                        .collect::<toml_edit::Array>(),
                ),
                other => toml_edit::value(other.as_str().unwrap_or_default()),
            };
            table.insert(key, item);
        }
        at.insert(name, toml_edit::Item::Table(table));
        Ok(())
    }
}

/// Puts the entry into the client's file and leaves everything else there as it is.
fn write(entry: &Entry) -> Result<(), CommandError> {
    let shown = entry.file.display();
    let present = match std::fs::read_to_string(&entry.file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(CommandError::refused(format!(
                "Cannot read `{shown}`: {error}"
            )));
        }
    };
    let by_hand = |why: String| {
        CommandError::refused(format!("`{shown}` {why}, so it is left as it is"))
            .hint("Run again without --write and put the entry in by hand.")
    };
    let text = if entry.is_toml() {
        let mut document: toml_edit::DocumentMut = present
            .parse()
            .map_err(|error| by_hand(format!("is not TOML ({error})")))?;
        entry
            .put_toml(&mut document)
            .map_err(|error| by_hand(format!("has no room for the entry: {error}")))?;
        document.to_string()
    } else {
        let mut document = match serde_json::from_str(if present.trim().is_empty() {
            "{}"
        } else {
            &present
        }) {
            Ok(Value::Object(document)) => document,
            Ok(_) => return Err(by_hand("is no JSON object".to_owned())),
            // Comments, perhaps: writing it anew would lose them.
            Err(error) => return Err(by_hand(format!("is not plain JSON ({error})"))),
        };
        entry
            .put_json(&mut document)
            .map_err(|error| by_hand(format!("has no room for the entry: {error}")))?;
        serde_json::to_string_pretty(&document)? + "\n"
    };
    let dir = entry
        .file
        .parent()
        .context("A client's file stands in a folder")?;
    std::fs::create_dir_all(dir).with_context(|| format!("Cannot make `{}`", dir.display()))?;
    let mut file =
        tempfile::NamedTempFile::new_in(dir).with_context(|| format!("Cannot write `{shown}`"))?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    // The folder's other files are readable for the user's tools; a temporary file alone is not.
    let mode = std::fs::metadata(&entry.file).map_or_else(
        |_| std::os::unix::fs::PermissionsExt::from_mode(0o644),
        |present| present.permissions(),
    );
    file.as_file().set_permissions(mode)?;
    file.persist(&entry.file)
        .with_context(|| format!("Cannot write `{shown}`"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    fn entries(link: &Link) -> String {
        let (root, home) = (Path::new("/project"), Path::new("/home/you"));
        let mut text = String::new();
        for client in Client::value_variants() {
            let entry = client.entry("lorenz_local", link, root, home);
            text.extend([
                entry.file.to_str().unwrap(),
                "\n",
                &entry.rendered().unwrap(),
                "\n\n",
            ]);
        }
        text
    }

    #[test]
    fn every_client_gets_its_own_form_over_stdio() {
        let args = ["mcp", "--agent", "x"].map(str::to_owned).to_vec();
        insta::assert_snapshot!(entries(&Link::Stdio {
            command: "guildhall".to_owned(),
            args
        }));
    }

    #[test]
    fn every_client_gets_its_own_form_over_http_and_none_holds_a_token() {
        insta::assert_snapshot!(entries(&Link::Http {
            url: "http://127.0.0.1:4040/mcp".to_owned()
        }));
    }

    #[test]
    fn writing_keeps_what_else_stands_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let link = Link::Http {
            url: "http://127.0.0.1:4040/mcp".to_owned(),
        };
        let json = Client::Claude.entry("lorenz_local", &link, dir.path(), dir.path());
        std::fs::write(
            &json.file,
            r#"{"b":1,"mcpServers":{"other":{"command":"x"}},"a":2}"#,
        )
        .unwrap();
        write(&json).unwrap();
        write(&json).unwrap();
        let written: Value =
            serde_json::from_str(&std::fs::read_to_string(&json.file).unwrap()).unwrap();
        assert_eq!(written["mcpServers"]["other"]["command"], "x");
        assert_eq!(written["mcpServers"]["lorenz_local"]["type"], "http");
        assert_eq!(
            written.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["b", "mcpServers", "a"]
        );

        let toml = Client::Codex.entry("lorenz_local", &link, dir.path(), dir.path());
        std::fs::create_dir(dir.path().join(".codex")).unwrap();
        std::fs::write(
            &toml.file,
            "# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"x\"\n",
        )
        .unwrap();
        write(&toml).unwrap();
        let text = std::fs::read_to_string(&toml.file).unwrap();
        assert!(
            text.starts_with("# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"x\"\n"),
            "{text}"
        );
        assert!(
            text.contains("[mcp_servers.lorenz_local]\nurl = "),
            "{text}"
        );
    }

    #[test]
    fn a_file_with_comments_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let link = Link::Http {
            url: "http://127.0.0.1:4040/mcp".to_owned(),
        };
        let entry = Client::Claude.entry("lorenz_local", &link, dir.path(), dir.path());
        std::fs::write(&entry.file, "{ // mine\n}").unwrap();
        assert!(write(&entry).is_err());
        assert_eq!(
            std::fs::read_to_string(&entry.file).unwrap(),
            "{ // mine\n}"
        );
    }
}
