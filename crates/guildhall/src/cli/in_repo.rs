//! Commands that work in one hosted repository: which one, and calling its tools.

use guildhall_core::RepoName;
use http::Method;
use serde_json::Value;

use crate::client::{Server, Target};
use crate::output::{CommandError, CommandResult, printable, say, say_json};
use crate::repos::{is_own, repository_around};

/// Most repositories that a refusal lists.
const MOST_LISTED: usize = 20;

#[derive(clap::Args)]
pub(super) struct InRepo {
    #[command(flatten)]
    target: Target,
    /// The repository; default the workspace's own, else the only one
    #[arg(long, value_name = "OWNER/NAME")]
    repo: Option<RepoName>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A hosted repository, as a command reaches it.
pub(super) struct Repo {
    server: Server,
    name: RepoName,
}

impl InRepo {
    /// Finds the server and the repository.
    pub(super) async fn find(&self) -> Result<Repo, CommandError> {
        let server = Server::find(&self.target).await?;
        let name = match &self.repo {
            Some(name) => name.clone(),
            None => self.implied(&server).await?,
        };
        Ok(Repo { server, name })
    }

    async fn implied(&self, server: &Server) -> Result<RepoName, CommandError> {
        let mut listed = server.get("/api/repos").await?;
        let repos = listed["repos"].take();
        let repos = repos.as_array().map(Vec::as_slice).unwrap_or_default();
        let around = repository_around(&self.target.workspace()?.root);
        let own = repos
            .iter()
            .find(|repo| is_own(around.as_deref(), repo["origin"].as_str()));
        let found = match (own, repos) {
            (Some(repo), _) | (None, [repo]) => repo,
            (None, []) => {
                return Err(CommandError::refused("No repository is hosted here")
                    .hint("`guildhall repo add <owner>/<name> --path DIR` takes one in."));
            }
            (None, several) => {
                let names: Vec<&str> = several
                    .iter()
                    .take(MOST_LISTED)
                    .filter_map(|repo| repo["repo"].as_str())
                    .collect();
                return Err(CommandError::usage(format!(
                    "Several repositories could be meant: {}",
                    names.join(", ")
                ))
                .hint("Name one with --repo OWNER/NAME."));
            }
        };
        let name = found["repo"].as_str().unwrap_or_default();
        Ok(name.parse()?)
    }

    /// Whether JSON was asked for.
    pub(super) fn json(&self) -> bool {
        self.json
    }

    /// Prints the result as JSON if that was asked for, else `text` of it.
    pub(super) fn tell(&self, result: &Value, text: impl FnOnce() -> String) -> CommandResult {
        if self.json {
            return say_json(result);
        }
        say(&text())
    }
}

impl Repo {
    /// The result of a tool of the repository.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, CommandError> {
        // A repository's name and a tool's read the same in a URL.
        let path = format!("/api/repos/{}/tools/{tool}", self.name);
        self.server.work(Method::POST, &path, Some(arguments)).await
    }
}

/// A text of an object, ready for a terminal.
pub(super) fn text(object: &Value, key: &str) -> String {
    printable(object[key].as_str().unwrap_or_default())
}

/// As [`text`], in one line.
pub(super) fn line(object: &Value, key: &str) -> String {
    text(object, key).replace(['\n', '\t'], " ")
}
