//! `guildhall tools`: which tools there are.

use serde_json::Value;

use crate::client::{Server, Target};
use crate::output::{CommandResult, printable, say, say_pretty_json};

/// List the tools that the workspace's server offers
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Print the tools with their schemas as JSON
    #[arg(long)]
    json: bool,
    /// Print the server's OpenAPI description: its routes and these tools over plain HTTP
    #[arg(long, conflicts_with = "json")]
    openapi: bool,
}

pub(super) async fn run(args: &Args) -> CommandResult {
    let server = Server::find(&args.target).await?;
    if args.openapi {
        let description = server.get_whole("/api/openapi.json").await?;
        return say_pretty_json(&description);
    }
    let listed = server.get("/api/tools").await?;
    if args.json {
        return say_pretty_json(&listed["tools"]);
    }
    let tools = listed["tools"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if tools.is_empty() {
        return say("No tools: the tracker mounts none, and the settings name none under `tools`");
    }
    say(&table(tools))
}

fn table(tools: &[Value]) -> String {
    let text = |value: &Value| printable(value.as_str().unwrap_or_default());
    let mut table = super::table::plain();
    table.set_header(["TOOL", "", "WHEN TO USE IT"]);
    for tool in tools {
        let reads = tool["annotations"]["readOnlyHint"] == Value::Bool(true);
        table.add_row([
            text(&tool["name"]),
            if reads { "reads" } else { "writes" }.to_owned(),
            text(&tool["description"]),
        ]);
    }
    super::table::trimmed(&table)
}
