//! The one path every call takes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use guildhall_core::{Clock, Ids, RepoName, RepoRole};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::catalog::FailureShape;
use crate::idempotency::{Begun, Idempotency};
use crate::meters::Meters;
use crate::tool::{CallKey, Keyed};
use crate::{
    Budget, CallContext, Caller, Catalog, CursorKey, Cursors, ErrorKind, JsonObject, Progress,
    RepoAccess, RepoResolver, Tool, ToolError, WantedRepo, bound,
};

/// What is counted of calls of tools that there are not: one label for all, or any caller could make labels.
static UNKNOWN: Meters = Meters::new("unknown");

/// Which way a call came in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Door {
    /// MCP, over HTTP or stdio.
    Mcp,
    /// Plain HTTP, which the command line uses too.
    Http,
}

impl Door {
    /// Every door.
    pub const ALL: [Self; 2] = [Self::Mcp, Self::Http];

    /// The name in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Http => "http",
        }
    }

    fn budget(self, arguments: &JsonObject) -> Budget {
        let max_bytes = arguments.get("max_bytes").and_then(Value::as_u64);
        match self {
            Self::Mcp => Budget::mcp(max_bytes),
            Self::Http => Budget::http(max_bytes),
        }
    }
}

/// One call, as a door hands it over.
pub struct Call<'a> {
    /// The tools this door serves.
    pub catalog: &'a Catalog,
    /// Who calls, as their token says.
    pub caller: Caller,
    /// The tool's name as given; surrounding space is ignored.
    pub tool: &'a str,
    /// The arguments as given.
    pub arguments: JsonObject,
    /// Which way it came in.
    pub door: Door,
    /// The repository in the address, `owner/name`, at the doors that have one.
    pub repo: Option<&'a str>,
    /// Cancelled when the client goes away or says so.
    pub cancelled: CancellationToken,
    /// Where progress goes.
    pub progress: Progress,
}

/// What a call came to. Each door puts it into its own form.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The result, or the failure's payload.
    pub payload: Value,
    /// `payload` as compact JSON.
    pub text: String,
    /// What went wrong, if something did.
    pub failure: Option<Failure>,
}

/// The parts of a failure that doors show outside the payload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// Its status and stable code.
    pub kind: ErrorKind,
    /// What was wrong.
    pub message: String,
    /// What would help, one sentence each.
    pub hints: Vec<String>,
    /// Further keys beside the message.
    pub details: JsonObject,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// Whether the payload is the tool's own in place of `{ "error": ... }`.
    pub own_payload: bool,
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self {
            kind: error.kind,
            message: error.message,
            hints: error.hints,
            details: error.details,
            retry_after: error.retry_after,
            own_payload: error.result.is_some(),
        }
    }
}

/// What a [`Pipeline`] is made of.
#[derive(Clone)]
pub struct PipelineParts {
    /// Where correlation ids come from.
    pub ids: Arc<dyn Ids>,
    /// How idempotency keys age.
    pub clock: Arc<dyn Clock>,
    /// What cursors are signed with.
    pub cursor_key: CursorKey,
    /// Which repositories there are; `None` where none are hosted.
    pub repos: Option<Arc<dyn RepoResolver>>,
}

/// Runs calls: finds the tool, checks the arguments and the caller, runs it, bounds the result, writes the audit line.
#[derive(Clone)]
pub struct Pipeline {
    ids: Arc<dyn Ids>,
    cursor_key: CursorKey,
    repos: Option<Arc<dyn RepoResolver>>,
    idempotency: Arc<Idempotency>,
}

impl Pipeline {
    /// Puts the parts together.
    pub fn new(parts: PipelineParts) -> Self {
        let PipelineParts {
            ids,
            clock,
            cursor_key,
            repos,
        } = parts;
        Self {
            ids,
            cursor_key,
            repos,
            idempotency: Arc::new(Idempotency::new(clock)),
        }
    }

    /// Runs `call` to its answer. Failures are answers; this never fails and never panics.
    pub async fn call(&self, call: Call<'_>) -> Answer {
        let started = Instant::now();
        let name = call.tool.trim();
        let (door, principal) = (call.door, call.caller.principal.clone());
        let found = call.catalog.find(name);
        let label = found.map_or(UNKNOWN.tool(), |(tool, ..)| tool.name());
        let outcome = match found {
            Some((tool, ..)) => self.run(tool, call).await,
            None => Err(unsupported(name, call.catalog, &call.caller)),
        };
        let answer = match outcome {
            Ok((payload, text)) => Answer {
                payload,
                text,
                failure: None,
            },
            Err(error) => self.failed(error, found.and_then(|(.., shape)| shape), label),
        };
        let elapsed = started.elapsed();
        audit(label, door, &principal, &answer, elapsed);
        let failure = answer.failure.as_ref().map(|failure| failure.kind);
        found
            .map_or(&UNKNOWN, |(tool, ..)| tool.meters())
            .count(door, failure, elapsed);
        answer
    }

    async fn run(&self, tool: &Tool, call: Call<'_>) -> Result<(Value, String), ToolError> {
        if tool.local_only() {
            return Err(ToolError::bad_arguments(format!(
                "{} runs only on the agent's machine: use guildhall mcp or guildhall work",
                tool.name()
            )));
        }
        if !call.caller.may(tool.name(), tool.scope()) {
            return Err(ToolError::forbidden(format!(
                "`{}` may not use {}",
                call.caller.principal,
                tool.name()
            )));
        }
        let mut given = call.arguments;
        let in_repo = tool.scope().repo_role();
        if in_repo.is_some() {
            take_names(&mut given, &call.caller)?;
            one_repo(&mut given, call.repo)?;
        }
        let mut arguments = tool.accept(given)?;
        let repo = match in_repo {
            Some(least) => Some(self.repo(tool, least, &mut arguments, &call.caller).await?),
            None => None,
        };
        let budget = match call.door.budget(&arguments) {
            // A query that says its own limit has said how much it wants.
            budget if tool.is_sized_by_limit() && arguments.contains_key("limit") => {
                budget.raised()
            }
            budget => budget,
        };
        let budget = if call.caller.is_anybody() {
            budget.for_anybody()
        } else {
            budget
        };
        // How much and from where are not part of what was asked; a cursor goes on with another `max_bytes` too.
        arguments.remove("max_bytes");
        let cursor = arguments.remove("cursor");
        let key = match tool.keyed() {
            Keyed::No => None,
            Keyed::ByPipeline | Keyed::ByStore => arguments.remove("idempotency_key"),
        };
        let cursors = if tool.reads_on() {
            self.cursor_key
                .for_call(&call.caller.principal, tool.name(), &arguments)
        } else {
            Cursors::unused()
        };
        let (mut first, mut once) = (None, None);
        match (key, tool.keyed()) {
            (Some(Value::String(key)), Keyed::ByStore) => {
                once = Some(CallKey::new(tool.name(), key, &arguments));
            }
            (Some(Value::String(key)), _) => {
                let caller = &call.caller.principal;
                match self
                    .idempotency
                    .begin(caller, tool.name(), &key, &arguments)?
                {
                    Begun::Again(payload, text) => return Ok((payload, text)),
                    Begun::First(run) => first = Some(run),
                }
            }
            _ => {}
        }
        if let Some(cursor) = cursor {
            arguments.insert("cursor".to_owned(), cursor);
        }
        let context = CallContext {
            caller: call.caller,
            door: call.door,
            budget,
            repo,
            once,
            cursors,
            cancelled: call.cancelled,
            progress: call.progress,
        };
        let result = self.perform(tool, context, arguments).await?;
        let (payload, text) = fitted(result, budget)?;
        if let Some(first) = first {
            first.answer(&payload, &text);
        }
        Ok((payload, text))
    }

    /// Runs the tool to its end, or until the call is cancelled.
    async fn perform(
        &self,
        tool: &Tool,
        context: CallContext,
        arguments: JsonObject,
    ) -> Result<Value, ToolError> {
        let cancelled = context.cancelled.clone();
        let repo = context.repo.as_ref();
        let within = repo.map(|repo| (context.caller.clone(), repo.name.clone()));
        let work = AssertUnwindSafe(async { tool.run(context, arguments).await }).catch_unwind();
        let result = tokio::select! {
            biased;
            result = work => result.unwrap_or_else(|panic| Err(ToolError::internal(describe(panic.as_ref())))),
            () = cancelled.cancelled() => return Err(ToolError::conflict("The call was cancelled")),
        };
        match (result, within) {
            (Err(error), Some((caller, repo))) if error.kind == ErrorKind::Internal => {
                Err(self.unless_gone(error, &caller, &repo).await)
            }
            (result, _) => result,
        }
    }

    /// What `caller` is told of a call that failed with `error`: where `repo` was removed while it ran, what it met there was no
    /// fault, and the answer is that of a repository which is not there.
    async fn unless_gone(&self, error: ToolError, caller: &Caller, repo: &RepoName) -> ToolError {
        let Some(repos) = &self.repos else {
            return error;
        };
        let wanted = WantedRepo::Named(repo.as_str());
        match repos.resolve(caller, wanted).await {
            Err(gone) if gone.kind == ErrorKind::NotFound => {
                let cause = error.cause.unwrap_or_default();
                tracing::debug!(cause, "{repo} was removed while a call ran");
                gone
            }
            _ => error,
        }
    }

    /// The repository the call is about, if the caller is at least `least` there.
    async fn repo(
        &self,
        tool: &Tool,
        least: RepoRole,
        arguments: &mut JsonObject,
        caller: &Caller,
    ) -> Result<RepoAccess, ToolError> {
        let Some(repos) = &self.repos else {
            return Err(ToolError::not_found("This server hosts no repositories"));
        };
        let named = arguments.remove("repo");
        let wanted = named
            .as_ref()
            .and_then(Value::as_str)
            .map_or(WantedRepo::Implied, WantedRepo::Named);
        let repo = repos.resolve(caller, wanted).await?;
        // What goes on is which repository it was found to be: cursors and idempotency keys belong to that one.
        arguments.insert("repo".to_owned(), repo.name.as_str().into());
        if repo.role < least {
            return Err(ToolError::forbidden(format!(
                "{} needs the role {least} in {}, and `{}` is {} there",
                tool.name(),
                repo.name,
                caller.principal,
                repo.role
            )));
        }
        Ok(repo)
    }

    fn failed(
        &self,
        mut error: ToolError,
        shape: Option<FailureShape>,
        tool: &'static str,
    ) -> Answer {
        if error.kind == ErrorKind::Internal {
            let correlation = self.ids.hex(8);
            let cause = error.cause.take().unwrap_or_default();
            tracing::error!(
                tool.name = tool,
                error.correlation = correlation,
                cause,
                "Call failed by a fault of ours: {correlation}"
            );
            error.message =
                format!("Internal error; the server's log has the cause under {correlation}");
            error = error.detail("correlation_id", correlation);
        } else if let Some(cause) = error.cause.take() {
            tracing::error!(tool.name = tool, cause, "Call refused: {}", error.message);
        }
        let own_payload = shape.is_some() || error.result.is_some();
        let payload = shape.map_or_else(|| error.payload(), |shape| shape(&error));
        Answer {
            text: payload.to_string(),
            payload,
            failure: Some(Failure {
                own_payload,
                ..error.into()
            }),
        }
    }
}

/// The arguments of every tool that works in a repository in which the caller may say who they are.
pub const NAMES_OF_CALLER: [&str; 2] = ["actor", "from"];

/// Takes `actor` and `from` out of the arguments: they are accepted for compatibility and must name the caller (zz page,
/// "Calling a tool").
fn take_names(arguments: &mut JsonObject, caller: &Caller) -> Result<(), ToolError> {
    for key in NAMES_OF_CALLER {
        match arguments.remove(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(name)) if caller.is(&name) => {}
            Some(Value::String(name)) => {
                return Err(ToolError::forbidden(format!(
                    "'{key}' is `{}`, and the token belongs to `{}`",
                    crate::validate::excerpt(&name),
                    caller.principal
                )));
            }
            Some(_) => {
                return Err(ToolError::bad_arguments(format!(
                    "'{key}' must be a string"
                )));
            }
        }
    }
    Ok(())
}

/// Puts the repository of the address into the arguments; another one there is a contradiction.
fn one_repo(arguments: &mut JsonObject, address: Option<&str>) -> Result<(), ToolError> {
    let Some(address) = address else {
        return Ok(());
    };
    match arguments.get("repo") {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if name == address => {}
        Some(other) => {
            return Err(ToolError::bad_arguments(format!(
                "'repo' is {}, and the address says \"{address}\"",
                crate::validate::excerpt(&other.to_string())
            )));
        }
    }
    arguments.insert("repo".to_owned(), address.into());
    Ok(())
}

/// The result as it leaves, within `budget`.
fn fitted(result: Value, budget: Budget) -> Result<(Value, String), ToolError> {
    let mut payload = if result.is_null() { json!({}) } else { result };
    let text = compact(&payload)?;
    if text.len() <= budget.bytes() {
        return Ok((payload, text));
    }
    bound::fit(&mut payload, budget)?;
    let text = compact(&payload)?;
    Ok((payload, text))
}

/// Compact JSON, written at once: through `Display` it takes three times as long.
fn compact(payload: &Value) -> Result<String, ToolError> {
    serde_json::to_string(payload).map_err(ToolError::internal)
}

fn unsupported(name: &str, catalog: &Catalog, caller: &Caller) -> ToolError {
    let supported: Vec<&str> = catalog.listed(caller).map(Tool::name).collect();
    ToolError::not_found(format!("Unsupported tool: {}.", json!(name)))
        .detail("supportedTools", supported)
}

fn describe(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}

/// One line for each call: who did what, how it ended. Arguments and results stay out of it, they may hold anything.
fn audit(
    tool: &'static str,
    door: Door,
    principal: &guildhall_core::Principal,
    answer: &Answer,
    elapsed: Duration,
) {
    let outcome = answer
        .failure
        .as_ref()
        .map_or("ok", |failure| failure.kind.code());
    tracing::info!(
        target: "guildhall::audit",
        {
            tool.name = tool,
            call.door = door.as_str(),
            call.principal = %principal,
            call.outcome = outcome,
            call.bytes = answer.text.len(),
            call.micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
        },
        "Call"
    );
}

#[cfg(test)]
mod tests;
