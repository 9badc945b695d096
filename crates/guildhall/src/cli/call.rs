//! `guildhall call`: calls one tool.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use anyhow::Context as _;
use guildhall_core::RepoName;
use guildhall_core::suggest::did_you_mean;
use serde_json::{Map, Value, json};

use crate::client::{Server, Target, segment};
use crate::output::{
    CommandError, CommandResult, Fault, json as one_line, say_json, say_pretty_json,
};

/// Call a tool and print its result as JSON
#[derive(clap::Args)]
#[command(
    after_help = "A failure's payload is printed to standard error, and the exit code is 1.\n\n\
Examples:\n  guildhall call local_read_issue issueId=BOARD-1\n  \
guildhall call local_query --json '{\"where\":{\"field\":\"state\",\"op\":\"eq\",\"value\":\"Todo\"}}'"
)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// The tool's name
    tool: String,
    /// The repository, unless the arguments name one; every tool of a repository is served there
    #[arg(long, value_name = "OWNER/NAME")]
    repo: Option<RepoName>,
    /// Arguments; a value is read as the tool's schema says, so that limit=5 is a number
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "OBJECT", conflicts_with = "pairs")]
    json: Option<String>,
    /// All arguments from a file with one JSON object; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pairs", "json"])]
    file: Option<PathBuf>,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let given = match (&args.json, &args.file) {
        (Some(text), _) => Some(object(text, "--json")?),
        (None, Some(path)) => Some(object(&read(path)?, "--file")?),
        (None, None) => None,
    };
    let server = Server::find(&args.target).await?;
    let door = Door::find(&server, args).await?;
    let arguments = match given {
        Some(arguments) => arguments,
        None => pairs(&args.pairs, &door.properties)?,
    };
    let path = format!("{}/{}", door.path(&arguments), segment(&args.tool));
    let reply = server.post(&path, &Value::Object(arguments)).await?;
    if reply.status == 200 {
        return tell(&reply.body["result"]);
    }
    print_failure(&reply.body, &args.tool)?;
    Err(CommandError::said(reply.fault()))
}

/// The failure as the tool gave it: its own payload, else the error with what stands beside it.
fn print_failure(body: &Value, tool: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let payload = match body.get("result") {
        Some(own) => own.clone(),
        None => {
            let mut error = body.as_object().cloned().unwrap_or_default();
            let message = error.shift_remove("error").unwrap_or_default();
            error.shift_insert(0, "message".to_owned(), message);
            if let Some(near) = near(&error, tool) {
                error.insert("hint".to_owned(), near.into());
            }
            json!({ "error": error })
        }
    };
    writeln!(anstream::stderr(), "{}", one_line(&payload)?)?;
    Ok(())
}

/// What the caller of a tool that there is not may have meant.
fn near(error: &Map<String, Value>, tool: &str) -> Option<String> {
    let supported = error.get("supportedTools")?.as_array()?;
    let supported = supported.iter().filter_map(Value::as_str);
    did_you_mean(tool, supported).map(|name| format!("Did you mean `{name}`?"))
}

/// JSON over several lines for people on a terminal, in one line for programs.
fn tell(result: &Value) -> CommandResult {
    if std::io::stdout().is_terminal() {
        say_pretty_json(result)
    } else {
        say_json(result)
    }
}

pub(super) fn read(path: &PathBuf) -> Result<String, CommandError> {
    if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("Cannot read standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
        .map_err(|error| CommandError::usage(format!("Cannot read `{}`: {error}", path.display())))
}

fn object(text: &str, flag: &str) -> Result<Map<String, Value>, CommandError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(CommandError::usage(format!(
            "{flag} takes one JSON object of arguments"
        ))),
        Err(error) => Err(CommandError::usage(format!("{flag} is not JSON: {error}"))),
    }
}

/// Where the tools are called that need no repository, or find theirs.
const EVERYWHERE: &str = "/api/tools";

/// Where a tool is called.
struct Door<'a> {
    /// The repository that was named for calls which name none, if it is the place.
    repo: Option<&'a RepoName>,
    /// The properties of the tool's arguments; none of a tool that is not listed, for the server says what is wrong with
    /// it.
    properties: Map<String, Value>,
}

impl<'a> Door<'a> {
    async fn find(server: &Server, args: &'a Args) -> Result<Self, CommandError> {
        let Some(repo) = &args.repo else {
            // What is no `key=value` needs no schema to be read.
            let properties = if args.pairs.is_empty() {
                None
            } else {
                properties(server, EVERYWHERE, &args.tool).await?
            };
            return Ok(Self {
                repo: None,
                properties: properties.unwrap_or_default(),
            });
        };
        let in_repo = properties(server, &tools_of(repo), &args.tool).await?;
        let (repo, properties) = match in_repo {
            Some(properties) => (Some(repo), properties),
            None => match properties(server, EVERYWHERE, &args.tool).await? {
                // It works in no repository.
                Some(properties) if !properties.contains_key("repo") => (None, properties),
                properties => (Some(repo), properties.unwrap_or_default()),
            },
        };
        Ok(Self { repo, properties })
    }

    /// The address of the tools, for a call with those arguments: a repository that they name goes before.
    fn path(&self, arguments: &Map<String, Value>) -> String {
        let Some(usual) = self.repo else {
            return EVERYWHERE.to_owned();
        };
        match arguments.get("repo") {
            None | Some(Value::Null) => tools_of(usual),
            Some(named) => {
                let named = named.as_str().and_then(|named| named.parse().ok());
                named.map_or_else(|| EVERYWHERE.to_owned(), |named| tools_of(&named))
            }
        }
    }
}

fn tools_of(repo: &RepoName) -> String {
    // A repository's name reads the same in a URL.
    format!("/api/repos/{repo}/tools")
}

/// The properties of the arguments of `tool`, if it is listed at `path`. A refusal to list is left to the call itself.
async fn properties(
    server: &Server,
    path: &str,
    tool: &str,
) -> Result<Option<Map<String, Value>>, CommandError> {
    let listed = match server.get(path).await {
        Ok(listed) => listed,
        Err(error) if error.fault == Fault::Refused => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut tools = listed["tools"].as_array().into_iter().flatten();
    let found = tools.find(|listed| listed["name"] == tool);
    Ok(found.and_then(|found| found["inputSchema"]["properties"].as_object().cloned()))
}

/// `key=value` arguments, each value read as its property's type: a text as it stands, all else as JSON.
fn pairs(
    pairs: &[String],
    properties: &Map<String, Value>,
) -> Result<Map<String, Value>, CommandError> {
    let mut arguments = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(CommandError::usage(format!(
                "`{pair}` is not of the form key=value"
            )));
        };
        let kind = properties
            .get(key)
            .and_then(|property| property["type"].as_str());
        let value = match kind {
            Some("string") | None => Value::from(text),
            // What is not JSON goes on as text: the server says what it must be.
            Some(_) => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        };
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(CommandError::usage(format!("`{key}` is given twice")));
        }
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_schema_says() {
        let properties = json!({
            "issueId": { "type": "string" },
            "limit": { "type": "integer" },
            "select": { "type": "array" },
            "where": { "type": "object" },
        });
        let given = [
            "issueId=5",
            "limit=5",
            "select=[\"id\"]",
            "where={}",
            "other=a=b",
        ]
        .map(str::to_owned);
        let read = pairs(&given, properties.as_object().unwrap()).unwrap();
        assert_eq!(
            Value::Object(read),
            json!({ "issueId": "5", "limit": 5, "select": ["id"], "where": {}, "other": "a=b" })
        );
        for wrong in [&["x"][..], &["a=1", "a=2"]] {
            let wrong: Vec<String> = wrong.iter().map(|text| (*text).to_owned()).collect();
            assert!(pairs(&wrong, properties.as_object().unwrap()).is_err());
        }
    }
}
