//! Before every route: `Host`, `Origin`, CORS, the token.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use guildhall_cluster::PgCluster;
use guildhall_server::{Access, ROUTES, Route};
use guildhall_testing::{SetClock, Setup, TestServer};
use serde_json::json;

use crate::support::{Call, mounts, server};

/// A path of the route with something for each parameter.
fn path(route: &Route) -> String {
    route
        .path
        .replace("{packs}", "probe")
        .replace("{tool}", "probe_whoami")
        .replace("{name}", "codex")
        .replace("{id}", "tok-0")
        .replace("{session}", "app-1")
        .replace("{role}", "ai")
        .replace("{username}", "me@example.com")
        .replace("{owner}/{repo}/info", "acme/site.git/info")
        .replace("{owner}/{repo}/git-", "acme/site.git/git-")
        .replace("{owner}", "acme")
        .replace("{repo}", "site")
}

fn guarded() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.access != Access::Open)
}

#[tokio::test]
async fn every_route_asks_for_a_token() {
    let server = server().await;
    let mistyped = {
        let mut token = server.token().to_owned();
        let last = if token.pop() == Some('0') { '1' } else { '0' };
        token.push(last);
        format!("Bearer {token}")
    };
    let wrong = [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer x"),
        Some("Basic eDp5"),
        Some(server.token()),
        Some(&*mistyped),
    ];
    for route in guarded() {
        for authorization in wrong {
            let call = Call::new(&server, route.method, &path(route));
            let call = match authorization {
                Some(value) => call.with("authorization", value),
                None => call.without("authorization"),
            };
            let reply = call.send().await;
            assert_eq!(reply.status, 401, "{route:?} {authorization:?}");
            let challenge = match route.access {
                Access::Git => "Basic realm=\"guildhall\"",
                Access::Open | Access::Token => "Bearer realm=\"guildhall\"",
            };
            assert_eq!(
                reply.header("www-authenticate"),
                Some(challenge),
                "{route:?} {authorization:?}"
            );
            assert_eq!(reply.json()["code"], "unauthenticated");
            assert!(!reply.body.contains(server.token()), "{}", reply.body);
        }
    }
}

#[tokio::test]
async fn a_token_is_a_password_where_git_asks_and_nowhere_else() {
    let server = server().await;
    let basic = |user: &str| {
        let pair = format!("{user}:{}", server.token());
        format!("Basic {}", BASE64.encode(pair))
    };
    let git = "/acme/site.git/info/refs?service=git-upload-pack";
    for user in ["", "you@example.com", "x"] {
        let call = Call::new(&server, "GET", git).with("authorization", &basic(user));
        assert_eq!(call.send().await.status, 404, "{user}");
    }
    let bearer = Call::new(&server, "GET", git).send().await;
    assert_eq!(bearer.status, 404);
    let call = Call::new(&server, "GET", "/api/status").with("authorization", &basic("x"));
    assert_eq!(call.send().await.status, 401);
}

#[tokio::test]
async fn a_token_that_cannot_be_looked_up_is_not_called_a_wrong_one() {
    let Some(cluster) = PgCluster::shared() else {
        return;
    };
    let database = cluster.database().unwrap();
    let server = TestServer::start(Setup {
        database_url: Some(database.url()),
        ..Setup::of(mounts())
    })
    .await;
    server.accounts().store().close().await;

    for route in guarded() {
        let reply = Call::new(&server, route.method, &path(route)).send().await;
        assert_eq!(reply.status, 503, "{} {}", route.method, route.path);
        let again: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!(again >= 1);
        // Asked for a password, git would forget the one it has.
        assert_eq!(reply.header("www-authenticate"), None, "{}", route.path);
        let body = reply.json();
        assert_eq!(body["code"], "unavailable");
        assert_eq!(body["error"], "The database is out of reach");
    }

    let wrong = server.token().replace("gldh_", "gldh_x");
    let reply = Call::new(&server, "GET", "/api/whoami")
        .with("authorization", &format!("Bearer {wrong}"))
        .send()
        .await;
    assert_eq!(reply.status, 401, "what is mistyped needs no database");
}

#[tokio::test]
async fn a_path_that_leads_nowhere_asks_for_a_token_first() {
    let server = server().await;
    for path in [
        "/",
        "/api",
        "/mcp/probe/x",
        "/.well-known/x",
        "/favicon.ico",
    ] {
        let call = || Call::new(&server, "GET", path);
        assert_eq!(
            call().without("authorization").send().await.status,
            401,
            "{path}"
        );
        let reply = call().send().await;
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (404, None)
        );
        assert_eq!(reply.json()["code"], "not_found");
    }
}

#[tokio::test]
async fn the_open_route_tells_nothing() {
    let server = server().await;
    let reply = Call::new(&server, "GET", "/health")
        .without("authorization")
        .send()
        .await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (200, r#"{"status":"ok"}"#)
    );
    let open: Vec<String> = ROUTES
        .iter()
        .filter(|route| route.access == Access::Open)
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    // Beside it only what signs somebody in.
    assert_eq!(
        open,
        [
            "GET /health",
            "POST /api/login/device",
            "POST /api/login/token",
            "GET /login",
            "POST /login"
        ]
    );
}

#[tokio::test]
async fn the_scheme_is_compared_without_case() {
    let server = server().await;
    for scheme in ["bearer", "BEARER", "Bearer"] {
        let call = Call::new(&server, "GET", "/api/status")
            .with("authorization", &format!("{scheme} {}", server.token()));
        assert_eq!(call.send().await.status, 200, "{scheme}");
    }
}

#[tokio::test]
async fn only_requests_for_this_server_pass() {
    let server = server().await;
    let port = server.address().port();
    for route in ROUTES {
        let call = || Call::new(&server, route.method, &path(route));
        for host in [
            "evil.example.com".to_owned(),
            format!("evil.example.com:{port}"),
            format!("127.0.0.1.evil.example.com:{port}"),
            "localhost.evil.example.com".to_owned(),
        ] {
            assert_eq!(
                call().with("host", &host).send().await.status,
                403,
                "{route:?} {host}"
            );
        }
        for origin in [
            "http://evil.example.com",
            "https://127.0.0.1",
            "http://localhost:1",
            "null",
            "file://",
        ] {
            let reply = call().with("origin", origin).send().await;
            assert_eq!(reply.status, 403, "{route:?} {origin}");
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
        let reply = call().without("host").send().await;
        assert_eq!(reply.status, 400, "{route:?}");
        let reply = call().and("host", "localhost").send().await;
        assert_eq!(reply.status, 400, "{route:?}");
    }
    for host in [
        format!("localhost:{port}"),
        "[::1]".to_owned(),
        "LOCALHOST".to_owned(),
    ] {
        let call = Call::new(&server, "GET", "/api/status").with("host", &host);
        assert_eq!(call.send().await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn what_is_refused_says_which_setting_allows_it() {
    let server = server().await;
    let call = || Call::new(&server, "GET", "/api/status");
    let reply = call().with("host", "proxy.example.com").send().await;
    let refusal = reply.json();
    assert_eq!(
        refusal["error"],
        "Host `proxy.example.com` is not served here"
    );
    assert!(
        refusal["hint"]
            .as_str()
            .unwrap()
            .contains("`server.allowed_hosts`")
    );
    let reply = call()
        .with("origin", "https://app.example.com")
        .send()
        .await;
    let refusal = reply.json();
    assert_eq!(
        refusal["error"],
        "Origin `https://app.example.com` may not call this server"
    );
    assert!(
        refusal["hint"]
            .as_str()
            .unwrap()
            .contains("`server.allowed_origins`")
    );
}

#[tokio::test]
async fn a_preflight_allows_what_clients_send() {
    let setup = Setup {
        allowed_origins: vec!["https://app.example.com".to_owned()],
        ..Setup::of(mounts())
    };
    let server = TestServer::start(setup).await;
    let sent = [
        "content-type",
        "accept",
        "authorization",
        "mcp-protocol-version",
        "mcp-session-id",
        "mcp-method",
        "mcp-name",
        "mcp-param-region",
        "last-event-id",
    ];
    let preflight = |origin: &str| {
        Call::new(&server, "OPTIONS", "/mcp")
            .without("authorization")
            .with("origin", origin)
            .with("access-control-request-method", "POST")
            .with("access-control-request-headers", &sent.join(", "))
    };
    let reply = preflight("https://app.example.com").send().await;
    assert_eq!(reply.status, 204);
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("https://app.example.com")
    );
    let all = |name: &str| -> Vec<String> {
        reply
            .headers
            .get_all(name)
            .iter()
            .flat_map(|value| value.to_str().unwrap().split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .collect()
    };
    let allowed = all("access-control-allow-headers");
    for name in sent {
        assert!(allowed.contains(&name.to_owned()), "{name}: {allowed:?}");
    }
    for method in ["get", "post", "delete"] {
        assert!(all("access-control-allow-methods").contains(&method.to_owned()));
    }
    assert_eq!(
        preflight("https://evil.example.com").send().await.status,
        403
    );

    let reply = Call::modern(&server, "tools/list", json!({}))
        .with("origin", "https://app.example.com")
        .send()
        .await;
    assert_eq!(reply.status, 200);
    let exposed: Vec<_> = reply
        .headers
        .get_all("access-control-expose-headers")
        .iter()
        .collect();
    assert!(exposed.contains(&&"mcp-session-id".parse().unwrap()));
    assert!(exposed.contains(&&"www-authenticate".parse().unwrap()));
}

#[tokio::test]
async fn an_address_has_ten_calls_a_second_without_a_token() {
    let clock = SetClock::new();
    let setup = Setup {
        clock: clock.clone(),
        ..Setup::of(mounts())
    };
    let server = TestServer::start(setup).await;
    let call = |repo: &str| {
        Call::new(
            &server,
            "POST",
            &format!("/api/repos/acme/{repo}/tools/lane_list"),
        )
    };
    let anybody = async |repo: &str| call(repo).without("authorization").send().await;
    for number in 0..10 {
        // Whether the repository is there or not.
        assert_eq!(anybody(&format!("r{number}")).await.status, 401);
    }
    let refused = anybody("site").await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    assert_eq!(refused.json()["code"], "rate_limited");
    // Whoever has a token is not held up.
    assert_eq!(call("site").send().await.status, 404);
    clock.pass(Duration::from_millis(100));
    assert_eq!(anybody("site").await.status, 401);
    assert_eq!(anybody("site").await.status, 429);
}

#[tokio::test]
async fn only_a_preflight_passes_without_a_token() {
    let server = server().await;
    let options = Call::new(&server, "OPTIONS", "/mcp").without("authorization");
    assert_eq!(options.send().await.status, 401);
    let origin = format!("http://{}", server.address());
    let refused = Call::new(&server, "POST", "/mcp")
        .without("authorization")
        .with("origin", &origin)
        .with("access-control-request-method", "POST");
    let reply = refused.send().await;
    assert_eq!(reply.status, 401);
    // The page must be able to read why.
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some(origin.as_str())
    );
}

#[tokio::test]
async fn wrong_verbs_are_405() {
    let server = server().await;
    for (method, path) in [
        ("POST", "/health"),
        ("PUT", "/api/status"),
        ("DELETE", "/api/tools"),
        ("GET", "/api/tools/probe_whoami"),
        ("PUT", "/api/agents"),
        ("PUT", "/api/repos"),
        ("GET", "/api/repos/acme/site/sync"),
        ("POST", "/acme/site.git/info/refs"),
        ("PATCH", "/metrics"),
        ("PUT", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("GET", "/mcp/probe"),
    ] {
        let reply = Call::new(&server, method, path)
            .with("accept", "text/event-stream")
            .send()
            .await;
        assert_eq!(reply.status, 405, "{method} {path}: {}", reply.body);
        assert!(reply.header("allow").is_some(), "{method} {path}");
        assert!(reply.json()["error"].is_string() || reply.rpc_error() != 0);
    }
}

#[tokio::test]
async fn no_oauth_metadata_is_published() {
    let server = server().await;
    for path in [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
    ] {
        assert_eq!(Call::new(&server, "GET", path).send().await.status, 404);
    }
    let reply = Call::modern(&server, "tools/list", json!({})).send().await;
    assert_eq!(
        (reply.status, reply.header("www-authenticate")),
        (200, None)
    );
}

#[tokio::test]
async fn an_agents_token_is_its_own_and_a_persons_acts_as_an_agent() {
    let server = server().await;
    let who = async |call: Call| call.send().await.payload()["text"].clone();
    let call = || Call::tool(&server, "probe_whoami", &json!({}));
    assert_eq!(who(call()).await, "you@example.com[unnamed]");
    let claude = server.agent_token("claude").await;
    assert_eq!(who(call().token(&claude)).await, "you@example.com[claude]");
    let reply = Call::new(&server, "POST", "/api/tools/probe_whoami")
        .send()
        .await;
    assert_eq!(
        reply.json(),
        json!({ "result": { "text": "you@example.com" } })
    );
}

#[tokio::test]
async fn an_agent_makes_no_agents() {
    let server = server().await;
    let make = |token: &str| {
        Call::new(&server, "POST", "/api/agents")
            .token(token)
            .json(&json!({ "name": "codex" }))
    };
    let agent = server.agent_token("claude").await;
    assert_eq!(make(&agent).send().await.status, 403);
    let reply = make(server.token()).send().await;
    assert_eq!(reply.status, 200);
    let answer = reply.json();
    assert_eq!(answer["result"]["username"], "you@example.com[codex]");
    let file = answer["result"]["token_file"].as_str().unwrap();
    let token = std::fs::read_to_string(file).unwrap();
    assert!(!reply.body.contains(token.trim()));
}
