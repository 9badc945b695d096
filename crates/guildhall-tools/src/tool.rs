//! One named operation.

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::bound::{Budget, MAX_RESULT_BYTES, MCP_RESULT_BYTES};
use crate::cursor::Cursors;
use crate::meters::Meters;
use crate::pipeline::Door;
use crate::validate::ArgumentRules;
use crate::{Caller, RepoAccess, Scope, ToolError, schema};

/// A JSON object: arguments, results, schemas.
pub type JsonObject = Map<String, Value>;

/// A look at the arguments before the schema is applied, for tools whose messages are given letter for letter.
pub type Check = fn(&JsonObject) -> Result<(), ToolError>;

type Handler = Arc<
    dyn Fn(CallContext, JsonObject) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync,
>;

/// Hints for clients about what a tool does (MCP, "Tool annotations"). They are promises, not permissions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the four hints that MCP defines"
)]
pub struct Annotations {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy what was there.
    pub destructive: bool,
    /// Calling twice with the same arguments is calling once.
    pub idempotent: bool,
    /// Reaches beyond this server and its data.
    pub open_world: bool,
}

/// A named operation with a schema for its arguments and one for its result.
///
/// Made with [`Tool::new`]; cheap to clone.
#[derive(Clone)]
pub struct Tool {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: Annotations,
    scope: Scope,
    local_only: bool,
    sized_by_limit: bool,
    for_anybody: bool,
    keyed: Keyed,
    input: Arc<JsonObject>,
    output: Arc<JsonObject>,
    alias: Option<(&'static str, &'static str)>,
    check: Option<Check>,
    rules: Arc<ArgumentRules>,
    meters: Arc<Meters>,
    handler: Handler,
}

/// A tool that still lacks its function.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one promise of the tool, made by one word of its builder"
)]
pub struct ToolBuilder {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: Annotations,
    scope: Scope,
    local_only: bool,
    sized_by_limit: bool,
    for_anybody: bool,
    bounded: bool,
    keyed: Keyed,
    alias: Option<(&'static str, &'static str)>,
    check: Option<Check>,
}

impl Tool {
    /// Starts a tool. `name` is at most 40 of `[A-Za-z0-9_-]`; `title` is for people; `description` says in one or two
    /// sentences when to use it. It writes, destroys nothing, and stays in this server's data until told otherwise.
    #[expect(
        clippy::new_ret_no_self,
        reason = "a tool without its function is not a tool yet"
    )]
    pub const fn new(
        name: &'static str,
        title: &'static str,
        description: &'static str,
    ) -> ToolBuilder {
        ToolBuilder {
            name,
            title,
            description,
            annotations: Annotations {
                read_only: false,
                destructive: false,
                idempotent: false,
                open_world: false,
            },
            scope: Scope::Any,
            local_only: false,
            sized_by_limit: false,
            for_anybody: false,
            bounded: false,
            keyed: Keyed::No,
            alias: None,
            check: None,
        }
    }

    /// The name it is called by.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name people read.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// When to use it.
    pub fn description(&self) -> &'static str {
        self.description
    }

    /// The hints for clients.
    pub fn annotations(&self) -> Annotations {
        self.annotations
    }

    /// What it asks of its caller.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether it runs on the agent's machine only. No server door lists such a tool, and a call there is refused.
    pub fn local_only(&self) -> bool {
        self.local_only
    }

    /// Whether its answers can go on behind a cursor.
    pub(crate) fn reads_on(&self) -> bool {
        self.rules.takes("cursor")
    }

    pub(crate) fn keyed(&self) -> Keyed {
        self.keyed
    }

    /// Whether it is served without a token on a public repository.
    pub fn is_for_anybody(&self) -> bool {
        self.for_anybody
    }

    pub(crate) fn is_sized_by_limit(&self) -> bool {
        self.sized_by_limit
    }

    /// The JSON Schema (2020-12) of its arguments.
    pub fn input_schema(&self) -> &Arc<JsonObject> {
        &self.input
    }

    /// The JSON Schema (2020-12) of its result.
    pub fn output_schema(&self) -> &Arc<JsonObject> {
        &self.output
    }

    /// What is counted of its calls.
    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Arguments as the handler may rely on them, or what is wrong with them.
    pub(crate) fn accept(&self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        if let Some((alias, name)) = self.alias
            && let Some(value) = arguments.remove(alias)
        {
            let given = arguments.get(name).is_some_and(|given| !given.is_null());
            if given && !value.is_null() {
                return Err(ToolError::bad_arguments(format!(
                    "'{alias}' is the other name of '{name}': give one of them"
                )));
            }
            if !given {
                arguments.insert(name.to_owned(), value);
            }
        }
        self.rules.accept(arguments, self.check)
    }

    pub(crate) fn run(
        &self,
        context: CallContext,
        arguments: JsonObject,
    ) -> BoxFuture<'static, Result<Value, ToolError>> {
        (self.handler)(context, arguments)
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ToolBuilder {
    /// It changes nothing (and so calling it again is harmless).
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.annotations.read_only = true;
        self.annotations.idempotent = true;
        self
    }

    /// Calling it twice with the same arguments is calling it once.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// It may destroy what was there.
    #[must_use]
    pub const fn destructive(mut self) -> Self {
        self.annotations.destructive = true;
        self
    }

    /// It reaches beyond this server and its data.
    #[must_use]
    pub const fn open_world(mut self) -> Self {
        self.annotations.open_world = true;
        self
    }

    /// It asks more of its caller than a valid token.
    #[must_use]
    pub const fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// It runs on the agent's machine only.
    #[must_use]
    pub const fn local_only(mut self) -> Self {
        self.local_only = true;
        self
    }

    /// On a public repository it is served without a token too (zz page, "Calling a tool").
    #[must_use]
    pub const fn for_anybody(mut self) -> Self {
        self.for_anybody = true;
        self
    }

    /// Its `limit` argument says how much is wanted: with one, the result may have all the room a call may ask for.
    #[must_use]
    pub const fn sized_by_limit(mut self) -> Self {
        self.sized_by_limit = true;
        self
    }

    /// Its result may be large: the call may say with `max_bytes` how large.
    #[must_use]
    pub const fn bounded(mut self) -> Self {
        self.bounded = true;
        self
    }

    /// It writes, and takes an `idempotency_key`: the same key with the same arguments within 24 hours gives the first
    /// answer and writes nothing. The pipeline keeps the answer, in this process's memory: for tools that write to
    /// something that keeps no keys itself.
    #[must_use]
    pub const fn keyed(mut self) -> Self {
        self.keyed = Keyed::ByPipeline;
        self
    }

    /// As [`ToolBuilder::keyed`], but the tool hands the key ([`CallContext::once`]) to the store with its one change, which
    /// keeps it in the same transaction: it outlives the server, holds on every node, and is never kept twice.
    #[must_use]
    pub const fn keyed_by_store(mut self) -> Self {
        self.keyed = Keyed::ByStore;
        self
    }

    /// It also takes the argument `name` under the name `alias`, which is not listed.
    #[must_use]
    pub const fn alias(mut self, alias: &'static str, name: &'static str) -> Self {
        self.alias = Some((alias, name));
        self
    }

    /// Looks at the arguments before the schema does; its message wins.
    #[must_use]
    pub const fn check(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Gives the tool its function and, from the function's types, its schemas.
    ///
    /// # Panics
    ///
    /// When the argument type does not make a schema of an object: a fault of the program, found by any test that
    /// mounts the pack.
    pub fn handler<A, R, F, Fut>(self, function: F) -> Tool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema,
        F: Fn(CallContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        let function = Arc::new(function);
        self.build::<A, R>(Arc::new(move |context, arguments| {
            let function = Arc::clone(&function);
            Box::pin(async move {
                let result = function(context, typed(arguments)?).await?;
                serde_json::to_value(result).map_err(ToolError::internal)
            })
        }))
    }

    /// As [`ToolBuilder::handler`], for a function that takes and gives JSON as it is: the schemas are those of `A` and `R`.
    /// For arguments that have a reader of their own, and results of many rows: a copy of either would cost more than the
    /// call.
    ///
    /// # Panics
    ///
    /// As [`ToolBuilder::handler`].
    pub fn object_handler<A, R, F, Fut>(self, function: F) -> Tool
    where
        A: JsonSchema,
        R: JsonSchema,
        F: Fn(CallContext, JsonObject) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<JsonObject, ToolError>> + Send + 'static,
    {
        self.build::<A, R>(Arc::new(move |context, arguments| {
            let result = function(context, arguments);
            Box::pin(async move { Ok(Value::Object(result.await?)) })
        }))
    }

    fn build<A: JsonSchema, R: JsonSchema>(self, handler: Handler) -> Tool {
        let mut input = schema::of_arguments::<A>();
        if self.bounded {
            let about = format!(
                "Most bytes of the answer; default {MCP_RESULT_BYTES}, at most {MAX_RESULT_BYTES}"
            );
            schema::add_property(
                &mut input,
                "max_bytes",
                json!({ "type": "integer", "minimum": 1, "description": about }),
            );
        }
        if self.keyed != Keyed::No {
            let about = "Makes a retry safe: the same key gives the first answer";
            schema::add_property(
                &mut input,
                "idempotency_key",
                json!({ "type": "string", "description": about }),
            );
        }
        if self.scope.repo_role().is_some() {
            let about = "owner/name; default: the workspace's own";
            schema::add_property(
                &mut input,
                "repo",
                json!({ "type": "string", "description": about }),
            );
        }
        let input = Arc::new(input);
        let output = Arc::new(schema::of_result::<R>());
        let rules = Arc::new(ArgumentRules::compile(&input));
        Tool {
            name: self.name,
            title: self.title,
            description: self.description,
            annotations: self.annotations,
            scope: self.scope,
            local_only: self.local_only,
            sized_by_limit: self.sized_by_limit,
            for_anybody: self.for_anybody,
            keyed: self.keyed,
            input,
            output,
            alias: self.alias,
            check: self.check,
            rules,
            meters: Arc::new(Meters::new(self.name)),
            handler,
        }
    }
}

/// The arguments in the tool's own type.
fn typed<A: DeserializeOwned>(arguments: JsonObject) -> Result<A, ToolError> {
    // The schema was made from `A`, so what fails here is a rule that the type has and the schema lacks.
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        // Where a part of the type is laid out flat it cannot be told which key it was.
        let said = if path == "." {
            format!("The arguments do not fit: {}", error.inner())
        } else {
            format!("'{path}' does not fit: {}", error.inner())
        };
        ToolError::bad_arguments(said)
    })
}

/// Who keeps a tool's idempotency keys.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Keyed {
    /// It takes none.
    No,
    /// The pipeline, in memory.
    ByPipeline,
    /// The store, with the tool's change.
    ByStore,
}

/// An idempotency key, with what it stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CallKey {
    /// The tool that was called.
    pub tool: &'static str,
    /// The key as given.
    pub key: String,
    /// SHA-256 of the call's other arguments; their order does not count.
    pub arguments: [u8; 32],
}

impl CallKey {
    pub(crate) fn new(tool: &'static str, key: String, arguments: &JsonObject) -> Self {
        let mut sorted = Value::Object(arguments.clone());
        sorted.sort_all_objects();
        Self {
            tool,
            key,
            arguments: Sha256::digest(sorted.to_string()).into(),
        }
    }
}

/// What a tool is told about the call it serves.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Who calls.
    pub caller: Caller,
    /// Which way the call came in.
    pub door: Door,
    /// How large the result may be. The tool cuts at an item and says how to go on.
    pub budget: Budget,
    /// The repository the call is about, for tools whose scope is one.
    pub repo: Option<RepoAccess>,
    /// The call's idempotency key, for tools whose store call keeps it.
    pub once: Option<CallKey>,
    /// Makes and reads the cursors of this call.
    pub cursors: Cursors,
    /// Cancelled when the client goes away or says so.
    pub cancelled: CancellationToken,
    /// Where to report progress of long work.
    pub progress: Progress,
}

impl CallContext {
    /// The repository the call is about.
    ///
    /// # Errors
    ///
    /// A fault of ours where the tool's scope is no repository.
    pub fn repo(&self) -> Result<&RepoAccess, ToolError> {
        self.repo
            .as_ref()
            .ok_or_else(|| ToolError::internal("the tool's scope is no repository"))
    }
}

/// Where a tool reports how far it is; without a listener, nowhere.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

type Listener = dyn Fn(f64, Option<f64>, Option<String>) -> BoxFuture<'static, ()> + Send + Sync;

impl Progress {
    /// Progress that goes to `listener(done, total, message)`.
    pub fn to<F, Fut>(listener: F) -> Self
    where
        F: Fn(f64, Option<f64>, Option<String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self(Some(Arc::new(move |done, total, message| {
            Box::pin(listener(done, total, message))
        })))
    }

    /// Says that `done` of `total` is done.
    pub async fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        if let Some(listener) = &self.0 {
            listener(done, total, message).await;
        }
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Progress").field(&self.0.is_some()).finish()
    }
}
