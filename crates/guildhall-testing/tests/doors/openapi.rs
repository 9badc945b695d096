//! The description of the server says what the server does.
//!
//! That no answer has a status or a media type that its route does not tell of is checked in every test: a server of a
//! debug build ends on one.

use std::collections::BTreeSet;

use guildhall_server::{Access, ROUTES};
use guildhall_testing::TestServer;
use serde_json::{Value, json};

use crate::support::{Call, server};

async fn description(server: &TestServer, token: &str) -> Value {
    let reply = Call::new(server, "GET", "/api/openapi.json")
        .token(token)
        .send()
        .await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

#[tokio::test]
async fn every_route_is_described_with_every_status_it_can_give() {
    let server = server().await;
    let description = description(&server, server.token()).await;
    assert_eq!(description["openapi"], "3.1.0");
    for route in ROUTES {
        let operation = &description["paths"][route.path][route.method.to_ascii_lowercase()];
        assert_eq!(operation["summary"], route.about, "{route:?}");
        let responses = operation["responses"].as_object().unwrap();
        let told: Vec<u16> = responses
            .keys()
            .map(|status| status.parse().unwrap())
            .collect();
        assert_eq!(told, route.statuses(), "{route:?}");
        for status in route.statuses() {
            let response = resolved(&description, &responses[&status.to_string()]);
            let content = response["content"].as_object();
            let kinds: Vec<&str> = content
                .into_iter()
                .flat_map(|content| content.keys().map(String::as_str))
                .collect();
            assert_eq!(kinds, route.media_types(status), "{route:?} {status}");
        }
        let open = operation["security"] == json!([]);
        assert_eq!(open, route.access == Access::Open, "{route:?}");
        let parameters = operation["parameters"].as_array();
        let in_path: Vec<&str> = parameters
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let in_route: Vec<&str> = route
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        assert_eq!(in_path, in_route);
    }
}

#[tokio::test]
async fn nothing_else_is_described_than_routes_and_the_callers_tools() {
    let server = server().await;
    let agent = server.agent_token("claude").await;
    for token in [server.token(), &agent] {
        let listed = Call::new(&server, "GET", "/api/tools")
            .token(token)
            .send()
            .await
            .json();
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let description = description(&server, token).await;
        let mut expected: BTreeSet<String> =
            ROUTES.iter().map(|route| route.path.to_owned()).collect();
        for tool in &tools {
            let path = format!("/api/tools/{}", tool["name"].as_str().unwrap());
            let call = &description["paths"][&path]["post"];
            assert_eq!(call["operationId"], tool["name"]);
            assert_eq!(call["description"], tool["description"]);
            let json = |part: &Value| part["content"]["application/json"]["schema"].clone();
            assert_eq!(json(&call["requestBody"]), tool["inputSchema"]);
            let result = &json(&call["responses"]["200"])["properties"]["result"];
            assert_eq!(*result, tool["outputSchema"]);
            expected.insert(path);
        }
        let paths = description["paths"].as_object().unwrap();
        let described: BTreeSet<String> = paths.keys().cloned().collect();
        assert_eq!(described, expected);
    }
    // What a caller may never use is not told to them.
    let owners = description(&server, server.token()).await;
    let agents = description(&server, &agent).await;
    let of_people = "/api/tools/probe_person";
    assert!(owners["paths"].get(of_people).is_some());
    assert!(agents["paths"].get(of_people).is_none());
}

#[tokio::test]
async fn every_name_in_the_description_leads_somewhere() {
    let server = server().await;
    let description = description(&server, server.token()).await;
    let mut references = BTreeSet::new();
    let mut operations = Vec::new();
    walk(&description, &mut |key, value| match (key, value) {
        ("$ref", Value::String(reference)) => {
            references.insert(reference.clone());
        }
        ("operationId", Value::String(id)) => operations.push(id.clone()),
        _ => {}
    });
    for reference in &references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
    let named: BTreeSet<&String> = operations.iter().collect();
    assert_eq!(named.len(), operations.len(), "an id is given twice");
    // And nothing is described that is not used.
    for part in ["schemas", "responses"] {
        for name in description["components"][part].as_object().unwrap().keys() {
            let reference = format!("#/components/{part}/{name}");
            assert!(references.contains(&reference), "{reference}");
        }
    }
}

/// `value`, or what it refers to.
fn resolved<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => description.pointer(&reference[1..]).unwrap(),
        None => value,
    }
}

fn walk(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                visit(key, value);
                walk(value, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => {}
    }
}
