//! People, agents, tokens and how they sign in.

use guildhall_testing::TestServer;
use serde_json::{Value, json};

use crate::support::{Call, Reply, server};

async fn ask(server: &TestServer, token: &str, method: &str, path: &str, body: &Value) -> Reply {
    let call = Call::new(server, method, path).token(token);
    let call = if method == "POST" {
        call.json(body)
    } else {
        call
    };
    call.send().await
}

/// The result of a call that must have gone well.
fn result(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["result"].clone()
}

async fn create(server: &TestServer, name: &str, body: Value) -> Value {
    let path = format!("/api/agents/{name}");
    result(&ask(server, server.token(), "POST", &path, &body).await)
}

async fn add_user(server: &TestServer, name: &str) -> String {
    let body = json!({ "username": name, "print_token": true });
    let added = result(&ask(server, server.token(), "POST", "/api/users", &body).await);
    assert_eq!(added["username"], name);
    added["token"].as_str().unwrap().to_owned()
}

async fn whoami(server: &TestServer, token: &str) -> Reply {
    ask(server, token, "GET", "/api/whoami", &Value::Null).await
}

#[tokio::test]
async fn an_agents_tokens_are_its_own_until_they_are_revoked() {
    let server = server().await;
    let made = create(&server, "claude", json!({})).await;
    assert_eq!(made["username"], "you@example.com[claude]");
    let first = made["token"].as_str().unwrap();
    let me = result(&whoami(&server, first).await);
    assert_eq!(me["username"], "you@example.com[claude]");
    assert_eq!(
        (&me["operator"], &me["agent"]),
        (&json!(false), &json!("claude"))
    );

    let again = ask(
        &server,
        server.token(),
        "POST",
        "/api/agents/claude",
        &json!({}),
    )
    .await;
    assert_eq!(again.status, 409);
    let path = "/api/agents/claude/tokens";
    let fresh = result(&ask(&server, server.token(), "POST", path, &json!({})).await);
    let second = fresh["token"].as_str().unwrap();
    assert_ne!(first, second);
    assert_eq!(whoami(&server, first).await.status, 200);

    let listed = ask(&server, server.token(), "GET", "/api/tokens", &Value::Null).await;
    for token in [first, second, server.token()] {
        assert!(!listed.body.contains(&token[5..69]));
    }
    let tokens = result(&listed)["tokens"].as_array().unwrap().clone();
    let of_claude = |token: &&Value| token["username"] == "you@example.com[claude]";
    assert_eq!(tokens.iter().filter(of_claude).count(), 2);

    let path = format!("/api/tokens/{}", made["id"].as_str().unwrap());
    result(&ask(&server, server.token(), "DELETE", &path, &Value::Null).await);
    assert_eq!(whoami(&server, first).await.status, 401);
    assert_eq!(whoami(&server, second).await.status, 200);

    let path = "/api/agents/claude";
    let revoked = result(&ask(&server, server.token(), "DELETE", path, &Value::Null).await);
    assert!(revoked["disabled_at"].is_string());
    assert_eq!(whoami(&server, second).await.status, 401);
    let agents = result(&ask(&server, server.token(), "GET", "/api/agents", &Value::Null).await);
    assert_eq!(agents["agents"][0]["username"], "you@example.com[claude]");
    // Only who says so in so many words brings it back, and whoever else tries hears why.
    for (path, body) in [
        ("/api/agents", json!({ "name": "claude" })),
        ("/api/agents/claude/tokens", json!({})),
    ] {
        let reply = ask(&server, server.token(), "POST", path, &body).await;
        assert_eq!(reply.status, 409, "{path}: {reply:?}");
        assert_eq!(
            reply.json()["error"],
            "`you@example.com[claude]` was revoked or disabled"
        );
        let hint = reply.json()["hint"].as_str().unwrap().to_owned();
        assert!(
            hint.starts_with("`guildhall agent create claude`"),
            "{hint}"
        );
    }
    let back = create(&server, "claude", json!({})).await;
    let third = back["token"].as_str().unwrap();
    assert_eq!(whoami(&server, third).await.status, 200);
    for token in [first, second] {
        assert_eq!(whoami(&server, token).await.status, 401);
    }
}

#[tokio::test]
async fn who_operates_the_server_sees_every_token_and_nobody_else_does() {
    let server = server().await;
    let me = add_user(&server, "me@example.com").await;
    let everybodys = "/api/tokens?all=true";
    let listed = ask(&server, server.token(), "GET", everybodys, &Value::Null).await;
    let tokens = result(&listed)["tokens"].as_array().unwrap().clone();
    let mut people: Vec<&Value> = tokens.iter().map(|token| &token["username"]).collect();
    people.dedup();
    assert_eq!(people, ["me@example.com", "you@example.com"]);
    assert!(!listed.body.contains(&me[5..69]));
    let refused = ask(&server, &me, "GET", everybodys, &Value::Null).await;
    assert_eq!(refused.status, 403);
    let path = "/api/tokens?all=yes";
    let reply = ask(&server, server.token(), "GET", path, &Value::Null).await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn the_tokens_of_people_have_limits_too() {
    let server = server().await;
    let limits = json!({ "tools": ["probe_whoami"], "expires_in_seconds": 60 });
    let body = json!({ "username": "me@example.com", "print_token": true, "limits": limits });
    let added = result(&ask(&server, server.token(), "POST", "/api/users", &body).await);
    assert_eq!(added["tools"], json!(["probe_whoami"]));
    assert!(added["expires_at"].is_string());
    let token = added["token"].as_str().unwrap();
    let agents = ask(&server, token, "GET", "/api/agents", &Value::Null).await;
    assert_eq!(agents.status, 403);
    for wrong in [
        json!({ "username": "it@example.com", "limits": limits }),
        json!({ "username": "it@example.com", "print_token": true, "limits": { "tools": [] } }),
    ] {
        let reply = ask(&server, server.token(), "POST", "/api/users", &wrong).await;
        assert_eq!(reply.status, 400, "{wrong}: {reply:?}");
    }
    let users = ask(&server, server.token(), "GET", "/api/users", &Value::Null).await;
    assert!(!users.body.contains("it@example.com"));

    // A device may ask for less than the person it signs in as has.
    let (device, typed) = begin(&server).await;
    let mut browser = Browser::new(&server);
    browser.sign_in(server.token(), &typed).await;
    let page = browser.open(&format!("/login?code={typed}")).await;
    let approve = [
        ("step", "approve"),
        ("csrf", &*csrf(&page)),
        ("code", &*typed),
    ];
    browser.post(&approve).await;
    let finish = async |limits: Value| {
        Call::new(&server, "POST", "/api/login/token")
            .without("authorization")
            .json(&json!({ "device_code": device, "limits": limits }))
            .send()
            .await
    };
    assert_eq!(finish(json!({ "repos": [] })).await.status, 400);
    let signed_in = result(&finish(limits).await);
    let me = whoami(&server, signed_in["token"].as_str().unwrap()).await;
    assert_eq!(result(&me)["tools"], json!(["probe_whoami"]));
}

#[tokio::test]
async fn an_agent_widens_neither_itself_nor_another() {
    let server = server().await;
    let agent = create(&server, "claude", json!({})).await;
    let agent = agent["token"].as_str().unwrap();
    let id = {
        let tokens = ask(&server, server.token(), "GET", "/api/tokens", &Value::Null).await;
        result(&tokens)["tokens"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let user = json!({ "username": "me@example.com", "print_token": true });
    for (method, path, body) in [
        ("POST", "/api/agents", json!({ "name": "claude" })),
        ("GET", "/api/agents", Value::Null),
        ("POST", "/api/agents/codex", json!({})),
        ("DELETE", "/api/agents/claude", Value::Null),
        ("POST", "/api/agents/claude/tokens", json!({})),
        ("GET", "/api/tokens", Value::Null),
        ("DELETE", &*format!("/api/tokens/{id}"), Value::Null),
        ("GET", "/api/users", Value::Null),
        ("POST", "/api/users", user),
        ("DELETE", "/api/users/you@example.com", Value::Null),
        ("POST", "/api/users/you@example.com/codes", json!({})),
    ] {
        let reply = ask(&server, agent, method, path, &body).await;
        assert_eq!(reply.status, 403, "{method} {path}: {reply:?}");
        assert!(
            reply.json()["error"]
                .as_str()
                .unwrap()
                .contains("is an agent")
        );
    }
    assert_eq!(whoami(&server, server.token()).await.status, 200);
}

#[tokio::test]
async fn a_person_who_does_not_operate_the_server_manages_only_their_own() {
    let server = server().await;
    let me = add_user(&server, "me@example.com").await;
    assert_eq!(result(&whoami(&server, &me).await)["operator"], false);
    let owners = create(&server, "claude", json!({})).await;
    let mine = result(&ask(&server, &me, "POST", "/api/agents/codex", &json!({})).await);
    assert_eq!(mine["username"], "me@example.com[codex]");

    let foreign = format!("/api/tokens/{}", owners["id"].as_str().unwrap());
    let user = json!({ "username": "third@example.com" });
    for (method, path, body) in [
        ("DELETE", &*foreign, Value::Null),
        ("GET", "/api/users", Value::Null),
        ("POST", "/api/users", user),
        ("DELETE", "/api/users/you@example.com", Value::Null),
        ("POST", "/api/users/me@example.com/codes", json!({})),
    ] {
        let reply = ask(&server, &me, method, path, &body).await;
        assert_eq!(reply.status, 403, "{method} {path}: {reply:?}");
    }
    let token = owners["token"].as_str().unwrap();
    assert_eq!(whoami(&server, token).await.status, 200);
    let tokens = ask(&server, &me, "GET", "/api/tokens", &Value::Null).await;
    assert!(!tokens.body.contains("you@example.com["), "{}", tokens.body);

    // Who is disabled is refused at once, with every agent of theirs.
    let path = "/api/users/me@example.com";
    result(&ask(&server, server.token(), "DELETE", path, &Value::Null).await);
    for token in [&*me, mine["token"].as_str().unwrap()] {
        assert_eq!(whoami(&server, token).await.status, 401);
    }
    let path = "/api/users/you@example.com";
    let reply = ask(&server, server.token(), "DELETE", path, &Value::Null).await;
    assert_eq!(reply.status, 403, "nobody would be left: {reply:?}");
}

#[tokio::test]
async fn a_limited_token_does_only_what_it_is_for() {
    let server = server().await;
    let limits = json!({ "tools": ["probe_whoami"], "expires_in_seconds": 3600 });
    let made = create(&server, "claude", limits).await;
    assert!(made["expires_at"].is_string());
    let token = made["token"].as_str().unwrap();
    let call = |tool: &str| format!("/api/tools/{tool}");
    let reply = ask(&server, token, "POST", &call("probe_whoami"), &json!({})).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let tools = result(&ask(&server, token, "GET", "/api/tools", &Value::Null).await);
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["probe_whoami"]);

    for wrong in [
        json!({ "tools": [] }),
        json!({ "tools": ["a b"] }),
        json!({ "tools": ["probe_whoami", "nope"] }),
        json!({ "repos": ["me/app"] }),
        json!({ "repos": ["../x"] }),
        json!({ "expires_in_seconds": 0 }),
        json!({ "expires_in_seconds": -5 }),
        json!({ "expires_in_seconds": i64::MAX }),
        json!({ "scope": "all" }),
    ] {
        let reply = ask(&server, server.token(), "POST", "/api/agents/codex", &wrong).await;
        assert_eq!(reply.status, 400, "{wrong}: {reply:?}");
    }
    let agents = ask(&server, server.token(), "GET", "/api/agents", &Value::Null).await;
    assert!(
        !agents.body.contains("codex"),
        "a refused body leaves nothing"
    );
    for (name, status) in [("Bad_Name", 400), ("-x", 400), ("a%5Bb%5D", 400)] {
        let path = format!("/api/agents/{name}");
        let reply = ask(&server, server.token(), "POST", &path, &json!({})).await;
        assert_eq!(reply.status, status, "{name}: {reply:?}");
    }
}

/// A browser: it keeps cookies, fills forms and sends its origin.
struct Browser<'a> {
    server: &'a TestServer,
    cookies: Vec<(String, String)>,
}

impl<'a> Browser<'a> {
    fn new(server: &'a TestServer) -> Self {
        Self {
            server,
            cookies: Vec::new(),
        }
    }

    fn call(&self, method: &str, path: &str) -> Call {
        let call = Call::new(self.server, method, path).without("authorization");
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if cookies.is_empty() {
            call
        } else {
            call.with("cookie", &cookies.join("; "))
        }
    }

    fn keep(&mut self, reply: &Reply) {
        for cookie in reply.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            assert!(
                cookie.contains("; HttpOnly; SameSite=Strict") && cookie.contains("; Path=/login"),
                "{cookie}"
            );
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(kept, _)| kept != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    async fn open(&mut self, path: &str) -> Reply {
        let reply = self.call("GET", path).send().await;
        self.keep(&reply);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
        );
        reply
    }

    async fn post(&mut self, fields: &[(&str, &str)]) -> Reply {
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let reply = self
            .call("POST", "/login")
            .with("origin", &format!("http://{}", self.server.address()))
            .with("content-type", "application/x-www-form-urlencoded")
            .body(body.join("&"))
            .send()
            .await;
        self.keep(&reply);
        reply
    }

    async fn sign_in(&mut self, secret: &str, code: &str) -> Reply {
        let page = self.open("/login").await;
        self.post(&[
            ("step", "sign-in"),
            ("csrf", &csrf(&page)),
            ("secret", secret),
            ("code", code),
        ])
        .await
    }
}

/// What the page's forms carry.
fn csrf(page: &Reply) -> String {
    let (_, rest) = page.body.split_once("name=\"csrf\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

async fn begin(server: &TestServer) -> (String, String) {
    let begun = Call::new(server, "POST", "/api/login/device")
        .without("authorization")
        .json(&json!({ "client": "<b>a program</b>" }))
        .send()
        .await;
    let begun = result(&begun);
    let text = |key: &str| begun[key].as_str().unwrap().to_owned();
    (text("device_code"), text("user_code"))
}

async fn poll(server: &TestServer, device_code: &str) -> Reply {
    Call::new(server, "POST", "/api/login/token")
        .without("authorization")
        .json(&json!({ "device_code": device_code }))
        .send()
        .await
}

#[tokio::test]
async fn a_device_gets_a_token_once_a_person_approves_it() {
    let server = server().await;
    let (device, typed) = begin(&server).await;
    assert_eq!((device.len(), typed.len()), (32, 39), "128 bits each");
    assert_eq!(result(&poll(&server, &device).await)["status"], "waiting");
    // What the person types is not what the device asks with.
    assert_eq!(poll(&server, &typed).await.status, 404);

    let mut browser = Browser::new(&server);
    let reply = browser.sign_in(server.token(), &typed).await;
    assert_eq!(reply.status, 303, "{reply:?}");
    let place = format!("/login?code={typed}");
    assert_eq!(reply.header("location"), Some(&*place));
    assert!(!format!("{:?}", reply.headers).contains(&server.token()[5..69]));
    let page = browser.open(&place).await;
    assert!(page.body.contains("&lt;b&gt;a program&lt;/b&gt;") && page.body.contains(&typed));
    assert_eq!(result(&poll(&server, &device).await)["status"], "waiting");
    let approve = [
        ("step", "approve"),
        ("csrf", &*csrf(&page)),
        ("code", &*typed),
    ];
    let reply = browser.post(&approve).await;
    assert!(reply.body.contains("<h1>Approved</h1>"), "{reply:?}");

    let signed_in = result(&poll(&server, &device).await);
    assert_eq!(signed_in["username"], "you@example.com");
    let token = signed_in["token"].as_str().unwrap();
    assert_eq!(
        result(&whoami(&server, token).await)["username"],
        "you@example.com"
    );
    assert_eq!(poll(&server, &device).await.status, 404, "used once");
    assert_eq!(browser.post(&approve).await.status, 404, "decided once");
}

#[tokio::test]
async fn a_refused_login_gets_nothing() {
    let server = server().await;
    let (device, typed) = begin(&server).await;
    let mut browser = Browser::new(&server);
    browser.sign_in(server.token(), "").await;
    let page = browser.open(&format!("/login?code={typed}")).await;
    let refuse = [
        ("step", "refuse"),
        ("csrf", &*csrf(&page)),
        ("code", &*typed),
    ];
    assert!(
        browser
            .post(&refuse)
            .await
            .body
            .contains("<h1>Refused</h1>")
    );
    let reply = poll(&server, &device).await;
    assert_eq!(reply.status, 403);
    assert_eq!(reply.json()["error"], "The login was refused");
}

#[tokio::test]
async fn no_form_is_taken_from_another_page_or_browser() {
    let server = server().await;
    let (device, typed) = begin(&server).await;
    let mut browser = Browser::new(&server);
    let before = csrf(&browser.open("/login").await);
    browser.sign_in(server.token(), "").await;
    let other = csrf(&Browser::new(&server).open("/login").await);
    for csrf in ["", "0", &before, &other] {
        let fields = [("step", "approve"), ("csrf", csrf), ("code", &*typed)];
        assert_eq!(browser.post(&fields).await.status, 403, "{csrf}");
    }
    let page = browser.open("/login").await;
    let foreign = browser
        .call("POST", "/login")
        .with("origin", "http://evil.example.com")
        .body(format!("step=approve&csrf={}&code={typed}", csrf(&page)))
        .send()
        .await;
    assert_eq!(foreign.status, 403);
    // A stranger's browser with a form of its own is asked to sign in.
    let mut stranger = Browser::new(&server);
    let page = stranger.open(&format!("/login?code={typed}")).await;
    let fields = [
        ("step", "approve"),
        ("csrf", &*csrf(&page)),
        ("code", &*typed),
    ];
    assert!(
        stranger
            .post(&fields)
            .await
            .body
            .contains("name=\"secret\"")
    );
    assert_eq!(result(&poll(&server, &device).await)["status"], "waiting");
}

#[tokio::test]
async fn a_session_is_for_the_page_alone_and_ends() {
    let server = server().await;
    let mut browser = Browser::new(&server);
    browser.sign_in(server.token(), "").await;
    let (_, secret) = browser.cookies.last().unwrap().clone();
    for token in [secret.clone(), format!("gldh_{secret}")] {
        assert_eq!(whoami(&server, &token).await.status, 401);
    }
    let with_cookie = browser.call("GET", "/api/whoami").send().await;
    assert_eq!(with_cookie.status, 401);
    let page = browser.open("/login").await;
    assert!(page.body.contains("Signed in as you@example.com"));
    let reply = browser
        .post(&[("step", "sign-out"), ("csrf", &csrf(&page))])
        .await;
    assert_eq!(reply.status, 303, "{reply:?}");
    browser
        .cookies
        .push(("guildhall_session".to_owned(), secret));
    assert!(
        browser
            .open("/login")
            .await
            .body
            .contains("name=\"secret\"")
    );
}

#[tokio::test]
async fn only_a_person_signs_in_and_a_code_signs_in_once() {
    let server = server().await;
    let agent = create(&server, "claude", json!({})).await;
    let mut browser = Browser::new(&server);
    for wrong in [
        agent["token"].as_str().unwrap(),
        "gldh_x",
        "",
        "0123-4567",
        "%3Cscript%3E",
    ] {
        let reply = browser.sign_in(wrong, "").await;
        assert_eq!(reply.status, 403, "{wrong}");
        assert!(!reply.body.contains("<script"));
        assert!(
            browser
                .cookies
                .iter()
                .all(|(name, _)| name != "guildhall_session")
        );
    }
    let body = json!({ "username": "me@example.com" });
    let added = result(&ask(&server, server.token(), "POST", "/api/users", &body).await);
    assert!(added["token"].is_null() && added["expires_at"].is_string());
    let code = added["code"].as_str().unwrap();
    assert_eq!(browser.sign_in(code, "").await.status, 303);
    let page = browser.open("/login").await;
    assert!(page.body.contains("Signed in as me@example.com"));
    let reply = Browser::new(&server).sign_in(code, "").await;
    assert_eq!(reply.status, 403, "used once");
}

#[tokio::test]
async fn an_address_cannot_try_without_end() {
    let server = server().await;
    let guess = || {
        Call::new(&server, "POST", "/api/login/device")
            .without("authorization")
            .json(&json!({ "client": "x" }))
    };
    let mut refused = None;
    for _ in 0..40 {
        let reply = guess().send().await;
        if reply.status != 200 {
            refused = Some(reply);
            break;
        }
    }
    let refused = refused.expect("40 in a row are too many");
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (429, &json!("rate_limited"))
    );
    let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=6).contains(&after), "{after}");
    // Whoever has a token is not held up.
    assert_eq!(whoami(&server, server.token()).await.status, 200);
}
