//! A pack behind the real pipeline, for the tests of every pack.

use std::sync::Arc;

use guildhall_core::{SystemClock, SystemIds};
use guildhall_tools::{
    Answer, Call, Caller, Catalog, CursorKey, Door, Pack, Pipeline, PipelineParts, Progress,
    RepoResolver,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The agent that calls unless a test says otherwise.
pub(crate) const AGENT: &str = "you@example.com[claude]";

/// What a client with one pack pays at every start may be snapshotted from `catalog`.
pub(crate) struct UnderTest {
    pub(crate) catalog: Catalog,
    pipeline: Pipeline,
}

impl UnderTest {
    pub(crate) fn new(pack: Pack, repos: Option<Arc<dyn RepoResolver>>) -> Self {
        let pipeline = Pipeline::new(PipelineParts {
            ids: Arc::new(SystemIds),
            clock: Arc::new(SystemClock),
            cursor_key: CursorKey::new([7; 32]),
            repos,
        });
        Self {
            catalog: Catalog::mount([pack]).expect("the pack mounts"),
            pipeline,
        }
    }

    pub(crate) async fn call_by(
        &self,
        principal: &str,
        door: Door,
        tool: &str,
        arguments: Value,
    ) -> Answer {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let call = Call {
            catalog: &self.catalog,
            caller: Caller::new(principal.parse().expect("a name")),
            tool,
            arguments,
            door,
            repo: None,
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
        };
        self.pipeline.call(call).await
    }

    pub(crate) async fn call(&self, door: Door, tool: &str, arguments: Value) -> Answer {
        self.call_by(AGENT, door, tool, arguments).await
    }

    /// The result of a call that must succeed and keep to the tool's own schema.
    pub(crate) async fn ok(&self, door: Door, tool: &str, arguments: Value) -> Value {
        let answer = self.call(door, tool, arguments.clone()).await;
        assert_eq!(answer.failure, None, "{tool} {arguments}");
        let tool_found = self.catalog.tool(tool).expect("the tool is there");
        let schema = Value::Object((**tool_found.output_schema()).clone());
        jsonschema::draft202012::new(&schema)
            .expect("the schema compiles")
            .validate(&answer.payload)
            .unwrap_or_else(|error| panic!("{tool} {arguments}: {error}"));
        answer.payload
    }

    /// What clients are told of the tools.
    pub(crate) fn listing(&self) -> Vec<Value> {
        let tools = self.catalog.tools().map(|tool| {
            let hints = tool.annotations();
            json!({
                "name": tool.name(),
                "title": tool.title(),
                "description": tool.description(),
                "inputSchema": **tool.input_schema(),
                "annotations": {
                    "readOnlyHint": hints.read_only,
                    "destructiveHint": hints.destructive,
                    "idempotentHint": hints.idempotent,
                    "openWorldHint": hints.open_world,
                },
                "outputSchema": **tool.output_schema(),
            })
        });
        tools.collect()
    }
}
