//! Finding the server, starting it where none runs, and talking to it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use guildhall_config::{Workspace, env_vars, process_env};
use serde_json::Value;

use crate::data_dir::{self, Running};
use crate::logins;
use crate::output::{CommandError, Fault};

/// How long a server that was started for a command may take until it answers.
const START_PATIENCE: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A tool may wait for something (`wait_seconds` up to 50); beyond this nothing comes any more.
const CALL_TIMEOUT: Duration = Duration::from_mins(5);
/// Git gives up on an origin before this.
const WORK_TIMEOUT: Duration = Duration::from_hours(2);
/// How long a server stays that was started in the background and is not asked anything.
const IDLE_EXIT: &str = "10m";

/// Which server a command talks to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Target {
    /// The workspace whose server to use [default: the one around the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Where that server keeps its state [default: <workspace>/.guildhall/state]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl Target {
    /// The workspace it names.
    pub(crate) fn workspace(&self) -> anyhow::Result<Workspace> {
        let cwd = std::env::current_dir().context("Cannot tell the current directory")?;
        let workspace = Workspace::find(self.workspace.as_deref(), &cwd);
        Ok(workspace.with_overrides(self.data_dir.as_deref(), None, &cwd, &process_env))
    }
}

/// A server and who we are there.
#[derive(Clone)]
pub(crate) struct Server {
    /// Without a slash at the end.
    pub(crate) url: String,
    pub(crate) token: String,
    http: reqwest::Client,
}

/// A server's answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Server {
    fn new(url: &str, token: &str) -> anyhow::Result<Self> {
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            anyhow::bail!("The token is empty or has characters that no token has");
        }
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            http: http()?,
        })
    }

    /// The server that the environment names, or `None` where it names none.
    pub(crate) fn from_environment() -> Result<Option<Self>, CommandError> {
        let Some(url) = process_env(env_vars::GUILDHALL_URL) else {
            return Ok(None);
        };
        let token = match token_of_environment().map_err(CommandError::of_machine)? {
            Some(token) => token,
            None => logins::server_url(&url)
                .map_err(CommandError::usage)
                .and_then(|server| logins::token(&server).map_err(CommandError::of_machine))?
                .ok_or_else(|| {
                    CommandError::usage("GUILDHALL_URL is set and no token for it")
                        .hint("Set GUILDHALL_TOKEN or GUILDHALL_TOKEN_FILE too, or sign in with `guildhall login`.")
                })?,
        };
        Self::new(&url, &token)
            .map(Some)
            .map_err(CommandError::of_machine)
    }

    /// The server of `target`'s workspace, started in the background where none runs, as the one whose token the environment
    /// names the file of, else as its owner; or the server that the environment names.
    pub(crate) async fn find(target: &Target) -> Result<Self, CommandError> {
        if let Some(server) = Self::from_environment()? {
            return Ok(server);
        }
        let workspace = target.workspace()?;
        let running = ensure_running(&workspace).await?;
        let token_file = process_env(env_vars::GUILDHALL_TOKEN_FILE)
            .map_or_else(|| workspace.state_dir.join("owner.token"), PathBuf::from);
        read_token(&token_file)
            .and_then(|token| Self::new(&running.url, &token))
            .map_err(CommandError::of_machine)
    }

    /// The same server as the agent whose token is in the file `path`.
    pub(crate) fn as_holder_of(&self, path: &Path) -> anyhow::Result<Self> {
        Self::new(&self.url, &read_token(path)?)
    }

    /// A request to `path`, with the token.
    pub(crate) fn request(&self, method: http::Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
    }

    async fn reply(&self, request: reqwest::RequestBuilder) -> Result<Reply, CommandError> {
        reply(&self.url, request, CALL_TIMEOUT).await
    }

    /// `GET path`, its result.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, CommandError> {
        self.reply(self.request(http::Method::GET, path))
            .await?
            .result()
    }

    /// `GET path`, whose answer is not wrapped in a `result`.
    pub(crate) async fn get_whole(&self, path: &str) -> Result<Value, CommandError> {
        let reply = self.reply(self.request(http::Method::GET, path)).await?;
        match reply.status {
            200 => Ok(reply.body),
            _ => reply.result(),
        }
    }

    /// `POST path` with `body`.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Reply, CommandError> {
        self.reply(self.request(http::Method::POST, path).json(body))
            .await
    }

    /// A request without a body, its result.
    pub(crate) async fn send(
        &self,
        method: http::Method,
        path: &str,
    ) -> Result<Value, CommandError> {
        self.reply(self.request(method, path)).await?.result()
    }

    /// What the server makes of a request that it may work on for an hour, as a clone can take.
    pub(crate) async fn work(
        &self,
        method: http::Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CommandError> {
        self.work_reply(method, path, body).await?.result()
    }

    /// The same with what the server refuses.
    pub(crate) async fn work_reply(
        &self,
        method: http::Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, CommandError> {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.json(body);
        }
        reply(&self.url, request, WORK_TIMEOUT).await
    }

    /// The file that holds the token of this person's agent `name`, made where there is none.
    pub(crate) async fn agent_token_file(&self, name: &str) -> Result<PathBuf, CommandError> {
        let made = self
            .post("/api/agents", &serde_json::json!({ "name": name }))
            .await?
            .result()?;
        let path = made["token_file"]
            .as_str()
            .context("The server did not say where the token is")?;
        Ok(PathBuf::from(path))
    }
}

/// A server that one has no token for yet.
pub(crate) struct Anonymous {
    url: String,
    http: reqwest::Client,
}

impl Anonymous {
    pub(crate) fn new(url: &reqwest::Url) -> anyhow::Result<Self> {
        Ok(Self {
            url: url.as_str().trim_end_matches('/').to_owned(),
            http: http()?,
        })
    }

    /// Without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// `POST path` with `body`.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Reply, CommandError> {
        let request = self.http.post(format!("{}{path}", self.url)).json(body);
        reply(&self.url, request, CALL_TIMEOUT).await
    }
}

/// Sends `request` to the server at `url`, which has `limit` to answer.
async fn reply(
    url: &str,
    request: reqwest::RequestBuilder,
    limit: Duration,
) -> Result<Reply, CommandError> {
    let response = request
        .timeout(limit)
        .send()
        .await
        .with_context(|| format!("Cannot reach the server at {url}"))?;
    let status = response.status().as_u16();
    let text = response
        .text()
        .await
        .context("The server's answer ended early")?;
    let body = serde_json::from_str(&text).with_context(|| {
        format!("The server at {url} answered {status} and no JSON: is it Guildhall?")
    })?;
    Ok(Reply { status, body })
}

impl Reply {
    /// The result, or the refusal as an error.
    pub(crate) fn result(mut self) -> Result<Value, CommandError> {
        if self.status == 200 {
            return Ok(self.body["result"].take());
        }
        let message = self.body["error"]
            .as_str()
            .unwrap_or("The server refused and did not say why");
        let mut error = CommandError::refused(message);
        error.fault = self.fault();
        error
            .hints
            .extend(self.body["hint"].as_str().map(str::to_owned));
        Err(error)
    }

    /// Whose fault a refusal is.
    pub(crate) fn fault(&self) -> Fault {
        if self.status >= 500 && self.status != 502 {
            Fault::Ours
        } else {
            Fault::Refused
        }
    }
}

fn http() -> anyhow::Result<reqwest::Client> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("guildhall/", env!("CARGO_PKG_VERSION")))
        .build()
        .context("Cannot make an HTTP client")
}

/// Whether the environment names the file of a token.
pub(crate) fn has_token_file() -> bool {
    process_env(env_vars::GUILDHALL_TOKEN_FILE).is_some()
}

/// The token that the environment gives, or names the file of.
pub(crate) fn token_of_environment() -> anyhow::Result<Option<String>> {
    if let Some(token) = process_env(env_vars::GUILDHALL_TOKEN) {
        return Ok(Some(token));
    }
    process_env(env_vars::GUILDHALL_TOKEN_FILE)
        .map(|path| read_token(Path::new(&path)))
        .transpose()
}

/// `text` as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The token in the file `path`.
pub(crate) fn read_token(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("Cannot read the token file `{}`", path.display()))
}

/// Whether a Guildhall answers at `url`.
pub(crate) async fn answers(url: &str) -> bool {
    let Ok(http) = http() else { return false };
    let asked = http
        .get(format!("{url}/health"))
        .timeout(Duration::from_secs(2))
        .send()
        .await;
    asked.is_ok_and(|response| response.status().is_success())
}

/// Whether a server of `workspace` answers.
pub(crate) async fn is_running(workspace: &Workspace) -> bool {
    match data_dir::running(&workspace.state_dir) {
        Some(running) => answers(&running.url).await,
        None => false,
    }
}

/// The server of `workspace`, started in the background where none runs.
pub(crate) async fn ensure_running(workspace: &Workspace) -> Result<Running, CommandError> {
    if let Some(running) = data_dir::running(&workspace.state_dir)
        && answers(&running.url).await
    {
        return Ok(running);
    }
    if !workspace.root.is_dir() {
        return Err(CommandError::usage(format!(
            "The workspace `{}` is not a folder",
            workspace.root.display()
        )));
    }
    let said_before = std::fs::metadata(log_path(workspace)).map_or(0, |log| log.len());
    let mut child = start_in_background(workspace).map_err(CommandError::of_machine)?;
    let deadline = tokio::time::Instant::now() + START_PATIENCE;
    let mut pause = Duration::from_millis(5);
    loop {
        if let Some(running) = data_dir::running(&workspace.state_dir)
            && answers(&running.url).await
        {
            return Ok(running);
        }
        // Another process may have been first; then ours has ended well and the other one is about to answer.
        if let Some(status) = child.try_wait()?
            && !status.success()
        {
            let log = log_path(workspace);
            let mut error = CommandError::refused("The server did not start");
            error.fault = match status.code() {
                Some(1) => Fault::Refused,
                Some(2) => Fault::Usage,
                _ => Fault::Ours,
            };
            let said = std::fs::read(&log).unwrap_or_default();
            // What earlier starts said is not why this one failed.
            let before = usize::try_from(said_before).unwrap_or_default();
            let said = said.get(before..).unwrap_or(&said);
            error.hints.extend(
                String::from_utf8_lossy(said)
                    .lines()
                    .rev()
                    .take(5)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                    .map(str::to_owned),
            );
            return Err(error.hint(format!("Its log is `{}`.", log.display())));
        }
        if tokio::time::Instant::now() > deadline {
            return Err(CommandError::from(anyhow::anyhow!(
                "The server did not answer within {} seconds",
                START_PATIENCE.as_secs()
            ))
            .hint(format!("Its log is `{}`.", log_path(workspace).display())));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

fn log_path(workspace: &Workspace) -> PathBuf {
    workspace.state_dir.join("server.log")
}

/// Starts `guildhall up` for `workspace`, detached from this process and its terminal. It ends by itself when idle.
fn start_in_background(workspace: &Workspace) -> anyhow::Result<std::process::Child> {
    data_dir::make(&workspace.state_dir)?;
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(log_path(workspace))
        .with_context(|| format!("Cannot open `{}`", log_path(workspace).display()))?;
    Command::new(std::env::current_exe().context("Cannot tell which program this is")?)
        .arg("up")
        .arg(&workspace.root)
        .arg("--data-dir")
        .arg(&workspace.state_dir)
        .args(["--idle-exit", IDLE_EXIT])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        // A group of its own: ctrl-c in the terminal is meant for the command, not for the server.
        .process_group(0)
        .spawn()
        .context("Cannot start the server")
}
