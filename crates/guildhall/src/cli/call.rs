//! `guildhall call`: calls one tool.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use anyhow::Context as _;
use guildhall_core::suggest::did_you_mean;
use serde_json::{Map, Value, json};

use crate::client::{Server, Target, segment};
use crate::output::{CommandError, CommandResult, json as one_line, say_json, say_pretty_json};

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
    let arguments = match given {
        Some(arguments) => arguments,
        None if args.pairs.is_empty() => Map::new(),
        None => pairs(&args.pairs, &schema(&server, &args.tool).await?)?,
    };
    let name = segment(&args.tool);
    let reply = server
        .post(&format!("/api/tools/{name}"), &Value::Object(arguments))
        .await?;
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

/// The properties of the tool's arguments; none of a tool that is not listed, for the server says what is wrong with it.
async fn schema(server: &Server, tool: &str) -> Result<Map<String, Value>, CommandError> {
    let mut listed = server.get("/api/tools").await?;
    let tools = listed["tools"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    let found = tools.iter().find(|listed| listed["name"] == tool);
    let properties = found.and_then(|found| found["inputSchema"]["properties"].as_object());
    Ok(properties.cloned().unwrap_or_default())
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
