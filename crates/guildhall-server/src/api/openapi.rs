//! `GET /api/openapi.json`: the description of the server (`OpenAPI` 3.1).
//!
//! It is made of the values that the server itself is made of: the list of routes, from which the router comes too, the
//! types that handlers read and write, and the mounted tools with their schemas. A JSON Schema is a schema of 3.1 as it
//! is, so `serde_json` and the `schemars` that the tools have anyway are all it takes; the crates for `OpenAPI` would
//! bring a second way to declare routes beside the list.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use guildhall_tools::{Caller, ErrorKind, JsonObject, NAMES_OF_CALLER, Tool};
use http::StatusCode;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::reply;
use crate::routes::described::{EVENTS, Gives, SchemaOf, Takes};
use crate::routes::{Access, ROUTES, Route};
use crate::state::App;

/// A description, as far as it is worth describing.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is asked for")]
pub(crate) struct Description {
    /// The version of the form
    openapi: String,
    info: JsonObject,
    paths: JsonObject,
    components: JsonObject,
}

/// Where tools are called: the route with `{tool}` in its path, and what goes before the tool's name in an
/// operation's id.
const DOORS: [(&str, &str); 2] = [
    ("/api/tools/{tool}", ""),
    ("/api/repos/{owner}/{repo}/tools/{tool}", IN_REPOS),
];

/// What goes before the name of a tool that is called in a repository.
const IN_REPOS: &str = "repo_";

/// The description of the server with the tools that the caller may use.
pub(crate) async fn describe(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let mounted = app.parts.mounts.current();
    let hosted = app.parts.repos.as_ref().map(|repos| repos.tools());
    let tools = mounted.everything().listed(&caller).collect::<Vec<_>>();
    let in_repos = hosted
        .iter()
        .flat_map(|mounted| mounted.menu(&caller).listed(&caller))
        .collect::<Vec<_>>();
    let description = Writer::new().document(app.parts.about.version, [&tools, &in_repos]);
    reply::json(StatusCode::OK, description.to_string())
}

/// Writes operations and collects what they name.
struct Writer {
    schemas: SchemaGenerator,
    /// The answers that many routes share, by name.
    shared: BTreeMap<String, Value>,
}

impl Writer {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.definitions_path = "/components/schemas".into();
        });
        Self {
            schemas: settings.into_generator(),
            shared: BTreeMap::new(),
        }
    }

    /// Every route, and after the route that calls tools at each door one for each of its `tools`.
    fn paths(&mut self, tools: [&[&Tool]; 2]) -> JsonObject {
        let mut paths = JsonObject::new();
        for route in ROUTES {
            let operation = self.operation(route);
            for ((path, prefix), tools) in DOORS.iter().zip(tools) {
                if route.path != *path {
                    continue;
                }
                for tool in tools {
                    let path = route.path.replace("{tool}", tool.name());
                    let call = call_of(tool, prefix, operation.clone());
                    insert(&mut paths, &path, route.method, call);
                }
            }
            insert(&mut paths, route.path, route.method, operation);
        }
        paths
    }

    fn operation(&mut self, route: &Route) -> Value {
        let mut operation = json!({
            "operationId": operation_id(route),
            "summary": route.about,
            "security": security(route.access),
        });
        let parameters = parameters(route);
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some(body) = self.body(route.takes) {
            operation["requestBody"] = body;
        }
        operation["responses"] = self.responses(route);
        operation
    }

    fn schema(&mut self, of: SchemaOf) -> Value {
        of(&mut self.schemas).to_value()
    }

    fn body(&mut self, takes: Takes) -> Option<Value> {
        let (required, kind, schema) = match takes {
            Takes::Nothing => return None,
            Takes::Json(of) => (true, "application/json", self.schema(of)),
            Takes::Arguments => (false, "application/json", json!({ "type": "object" })),
            Takes::Rpc => (true, "application/json", reference("RpcMessage")),
            Takes::Form(of) => (true, "application/x-www-form-urlencoded", self.schema(of)),
            Takes::GitRequest => (true, "application/x-git-upload-pack-request", json!({})),
        };
        Some(json!({ "required": required, "content": { kind: { "schema": schema } } }))
    }

    fn responses(&mut self, route: &Route) -> Value {
        let mut responses = JsonObject::new();
        for status in route.statuses() {
            let response = self.response(route, status);
            let response = if status < 300 {
                response
            } else {
                self.shared(route, status, response)
            };
            responses.insert(status.to_string(), response);
        }
        responses.into()
    }

    fn response(&mut self, route: &Route, status: u16) -> Value {
        let mut response = json!({ "description": meaning(status) });
        if let Some(header) = header_of(status, route.access) {
            response["headers"] = header;
        }
        let content: JsonObject = route
            .media_types(status)
            .iter()
            .map(|kind| {
                let schema = self.answer(route, status, kind);
                ((*kind).to_owned(), json!({ "schema": schema }))
            })
            .collect();
        if !content.is_empty() {
            response["content"] = content.into();
        }
        response
    }

    /// A reference to what many routes answer alike.
    fn shared(&mut self, route: &Route, status: u16, response: Value) -> Value {
        let door = match route.gives {
            Gives::Rpc => "Mcp",
            Gives::Page => "Page",
            Gives::Bytes(_) | Gives::Refusal => "Git",
            _ => "Api",
        };
        let name = format!("{door}{status}");
        let reference = json!({ "$ref": format!("#/components/responses/{name}") });
        self.shared.insert(name, response);
        reference
    }

    /// The schema of an answer in one media type.
    fn answer(&mut self, route: &Route, status: u16, kind: &str) -> Value {
        if kind != "application/json" {
            return if kind.starts_with("text/") && kind != EVENTS {
                json!({ "type": "string" })
            } else {
                json!({})
            };
        }
        match route.gives {
            Gives::Rpc if status < 300 => reference("RpcMessage"),
            Gives::Rpc => json!({ "anyOf": [reference("Error"), reference("RpcMessage")] }),
            _ if status >= 300 => reference("Error"),
            Gives::Result(of) => result_of(&self.schema(of)),
            Gives::Json(of) => self.schema(of),
            _ => result_of(&json!({ "type": "object" })),
        }
    }

    /// The description of a server of `version` with those tools.
    fn document(mut self, version: &str, tools: [&[&Tool]; 2]) -> Value {
        let paths = self.paths(tools);
        let mut schemas: Map<String, Value> = self.schemas.take_definitions(true);
        schemas.insert("Error".to_owned(), error_schema());
        schemas.insert("RpcMessage".to_owned(), rpc_schema());
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Guildhall",
                "version": version,
                "description": "The one server that coding agents work through, over plain HTTP.",
                "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            },
            "paths": paths,
            "components": {
                "schemas": schemas,
                "responses": self.shared,
                "securitySchemes": {
                    "token": { "type": "http", "scheme": "bearer", "description": "A token of a person or an agent" },
                    "git": { "type": "http", "scheme": "basic", "description": "The token as the password, with any name: what git sends" },
                },
            },
        })
    }
}

fn insert(paths: &mut JsonObject, path: &str, method: &str, operation: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    item[method.to_ascii_lowercase()] = operation;
}

/// The operation that calls `tool`: that which calls any, with the tool's own words and schemas.
fn call_of(tool: &Tool, prefix: &str, mut operation: Value) -> Value {
    operation["operationId"] = format!("{prefix}{}", tool.name()).into();
    operation["summary"] = tool.title().into();
    operation["description"] = tool.description().into();
    if let Some(Value::Array(parameters)) = operation.get_mut("parameters") {
        parameters.retain(|parameter| parameter["name"] != "tool");
    }
    let input = tool.input_schema();
    let required = input.get("required").and_then(Value::as_array);
    let body = &mut operation["requestBody"];
    body["required"] = required.is_some_and(|names| !names.is_empty()).into();
    body["content"]["application/json"]["schema"] = Value::Object(arguments(tool));
    let output = Value::Object((**tool.output_schema()).clone());
    operation["responses"]["200"]["content"]["application/json"]["schema"] = result_of(&output);
    if tool.is_for_anybody() && prefix == IN_REPOS {
        operation["security"] = json!([{}, { "token": [] }]);
    }
    operation
}

/// The schema of the arguments of `tool`. Agents need not read of `actor` and `from`; here is all that is taken.
fn arguments(tool: &Tool) -> JsonObject {
    let mut schema = (**tool.input_schema()).clone();
    let in_repo = tool.scope().repo_role().is_some();
    if let Some(Value::Object(properties)) = schema.get_mut("properties").filter(|_| in_repo) {
        for name in NAMES_OF_CALLER {
            let about = "Accepted for compatibility: the name that the token has, and no other";
            properties.insert(
                name.to_owned(),
                json!({ "type": "string", "description": about }),
            );
        }
    }
    schema
}

fn result_of(schema: &Value) -> Value {
    json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// `get_api_repos_owner_repo`
fn operation_id(route: &Route) -> String {
    let words = route
        .path
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    std::iter::once(route.method.to_ascii_lowercase())
        .chain(words.map(str::to_owned))
        .collect::<Vec<_>>()
        .join("_")
}

fn security(access: Access) -> Value {
    match access {
        Access::Open => json!([]),
        Access::Token => json!([{ "token": [] }]),
        Access::Git => json!([{ "git": [] }, { "token": [] }]),
    }
}

fn parameters(route: &Route) -> Vec<Value> {
    let names = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| {
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": in_path(name, route.access),
            "schema": { "type": "string", "minLength": 1 },
        })
    });
    let in_query = route.query.iter().map(|query| {
        let mut schema = json!({ "type": "string" });
        if !query.values.is_empty() {
            schema["enum"] = query.values.into();
        }
        json!({
            "name": query.name,
            "in": "query",
            "required": query.required,
            "description": query.about,
            "schema": schema,
        })
    });
    in_path.chain(in_query).collect()
}

/// What a parameter of the path is.
fn in_path(name: &str, access: Access) -> &'static str {
    match (name, access) {
        ("owner", _) => "The first part of the repository's name",
        ("repo", Access::Git) => "The second part of the repository's name, and `.git`",
        ("repo", _) => "The second part of the repository's name",
        ("tool", _) => "The tool's name",
        ("packs", _) => "The names of packs, with commas between them",
        ("username", _) => "A person's address, such as `you@example.com`",
        ("id", _) => "The token's id",
        _ => "The agent's name: a-z, 0-9 and `-`",
    }
}

/// What a status says.
fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done",
        202 => "Taken in; there is nothing to say",
        303 => "Done; look at the other place",
        400 => "Something in the request is wrong: the error says what, and what would be right",
        401 => "No token, or not a valid one",
        403 => "The caller may not do this; or the `Host` or `Origin` is not of this server",
        404 => "There is no such thing, or none that the caller may see",
        405 => "The route does not take this verb, or not without sessions",
        406 => "None of the accepted media types can be given",
        409 => "Something else got there first",
        413 => "The request is over a limit",
        415 => "The body's media type cannot be read",
        429 => "Too many requests; `Retry-After` says when to try again",
        502 => "A service behind the server failed",
        503 => {
            "The database does not answer, or too much of this is going on; `Retry-After` says when to try again"
        }
        _ => "A fault of the server: its log has the cause under the id that is given",
    }
}

fn header_of(status: u16, access: Access) -> Option<Value> {
    let (name, about) = match (status, access) {
        (401, Access::Git) => ("WWW-Authenticate", "`Basic realm=\"guildhall\"`"),
        (401, _) => ("WWW-Authenticate", "`Bearer realm=\"guildhall\"`"),
        (429 | 503, _) => ("Retry-After", "When to try again, in seconds"),
        _ => return None,
    };
    Some(json!({ name: { "description": about, "schema": { "type": "string" } } }))
}

fn error_schema() -> Value {
    let codes = ErrorKind::ALL.map(ErrorKind::code);
    json!({
        "description": "Why not. Some failures have further keys",
        "type": "object",
        "properties": {
            "error": { "description": "What was wrong", "type": "string" },
            "code": { "description": "What kind of failure it is; does not change", "enum": codes },
            "hint": { "description": "What would help", "type": "string" },
            "correlation_id": { "description": "Under what a fault of the server is in its log", "type": "string" },
            "result": { "description": "The failed tool's own result, where it has one" },
        },
        "required": ["error", "code"],
    })
}

fn rpc_schema() -> Value {
    json!({
        "description": "A message of the Model Context Protocol",
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "type": ["string", "integer", "null"] },
            "method": { "type": "string" },
            "params": { "type": "object" },
            "result": { "type": "object" },
            "error": {
                "type": "object",
                "properties": { "code": { "type": "integer" }, "message": { "type": "string" } },
                "required": ["code", "message"],
            },
        },
        "required": ["jsonrpc"],
    })
}
