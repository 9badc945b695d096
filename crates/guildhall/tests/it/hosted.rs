//! A workspace with a repository beside it, people with tokens, and requests to its server.

use std::path::{Path, PathBuf};
use std::process::Command;

use guildhall_core::{Clock as _, Principal, SystemClock, SystemIds};
use guildhall_server::auth::Token;
use guildhall_store::{Act, NewToken, Principals as _, Store, Tokens as _};
use guildhall_testing::hermetic;
use serde_json::Value;

use crate::support::{Place, Ran, Up};

pub(crate) const OWNER: &str = "owner@localhost";
pub(crate) const OTHER: &str = "other@example.com";

/// A workspace with a repository beside it that can be taken in.
pub(crate) struct Bench {
    pub(crate) place: Place,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self {
            place: Place::new(),
        };
        let origin = bench.origin();
        std::fs::create_dir(&origin).expect("a folder");
        bench.git(&origin, &["init", "-q", "-b", "main"]);
        bench.commit("README", "one\n");
        bench
    }

    pub(crate) fn origin(&self) -> PathBuf {
        self.place.home().join("origin")
    }

    pub(crate) fn hosted(&self) -> PathBuf {
        self.place.state().join("repos/acme/site.git")
    }

    pub(crate) fn git_command(&self, dir: &Path) -> Command {
        let mut command = hermetic("git", self.place.home());
        command
            .current_dir(dir)
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com"]);
        command.env("GIT_TERMINAL_PROMPT", "0");
        command
    }

    pub(crate) fn git(&self, dir: &Path, arguments: &[&str]) -> String {
        let ran = Ran::of(
            &self
                .git_command(dir)
                .args(arguments)
                .output()
                .expect("git runs"),
        );
        ran.ok().trim().to_owned()
    }

    /// Git as somebody whose credential helper knows `token`.
    pub(crate) fn git_with(&self, token: &str, dir: &Path, arguments: &[&str]) -> Ran {
        let mut command = self.git_command(dir);
        let helper = "credential.helper=!f() { echo username=any; echo \"password=$TOKEN\"; }; f";
        command.args(["-c", helper]).args(arguments);
        Ran::of(&command.env("TOKEN", token).output().expect("git runs"))
    }

    pub(crate) fn commit(&self, file: &str, text: &str) -> String {
        let origin = self.origin();
        std::fs::write(origin.join(file), text).expect("a file");
        self.git(&origin, &["add", "-A"]);
        self.git(&origin, &["commit", "-q", "-m", &format!("Write {file}")]);
        self.git(&origin, &["rev-parse", "HEAD"])
    }

    /// `guildhall repo <action> acme/site` with more arguments.
    pub(crate) fn repo(&self, action: &str, more: &[&str]) -> Ran {
        let arguments = [&["repo", action, "acme/site", "--json"], more].concat();
        self.place.run(&arguments)
    }

    pub(crate) fn add(&self, more: &[&str]) -> Value {
        let origin = self.origin();
        let path = ["--path", origin.to_str().expect("it is text")];
        self.repo("add", &[&path, more].concat()).json()
    }

    pub(crate) fn owner_token(&self) -> String {
        let text = std::fs::read_to_string(self.place.state().join("owner.token"))
            .expect("the owner's token");
        text.trim().to_owned()
    }

    /// Does `work` with the store of a server that is not running.
    pub(crate) fn with_store<F: Future>(&self, work: impl FnOnce(Store) -> F) -> F::Output {
        let path = self.place.state().join("guildhall.db");
        block_on(async {
            let store = Store::open_sqlite(&path).await.expect("the database");
            let done = work(store.clone()).await;
            store.close().await;
            done
        })
    }

    /// A token of another person, and one of theirs that reaches only `acme/other`.
    pub(crate) fn other_people(&self) -> (String, String) {
        self.with_store(|store| async move {
            let other: Principal = OTHER.parse().expect("a name");
            store.add_user(act(OWNER), other).await.expect("a user");
            let whole = token(&store, OTHER, "tok-all", |_| {}).await;
            let limited = token(&store, OTHER, "tok-other", |new| {
                new.repos = Some(vec!["acme/other".to_owned()]);
            });
            (whole, limited.await)
        })
    }
}

/// A token of `principal`, made by its person, under an id of its own; `limited` says what else it is.
pub(crate) async fn token(
    store: &Store,
    principal: &str,
    id: &str,
    limited: impl FnOnce(&mut NewToken),
) -> String {
    let principal: Principal = principal.parse().expect("a name");
    let token = Token::new(&SystemIds);
    let by = act(principal.user_address());
    let mut new = NewToken {
        id: id.to_owned(),
        hash: token.hash(),
        principal,
        expires_at: None,
        repos: None,
        bound: None,
        tools: None,
    };
    limited(&mut new);
    store.issue(by, new).await.expect("a token");
    token.expose().to_owned()
}

pub(crate) fn act(by: &str) -> Act {
    Act::new(by.parse().expect("a name"), SystemClock.now())
}

pub(crate) fn block_on<F: Future>(work: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) challenge: Option<String>,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }
}

pub(crate) fn ask(
    up: &Up,
    method: &str,
    path: &str,
    authorization: Option<&str>,
    body: Option<Value>,
) -> Answered {
    let _ = rustls::crypto::ring::default_provider().install_default();
    block_on(async {
        let client = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client");
        let method = method.parse().expect("a verb");
        let mut request = client.request(method, format!("{}{path}", up.url()));
        request = request.header("accept", "application/json, text/event-stream");
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let challenge = response.headers().get("www-authenticate");
        Answered {
            status: response.status().as_u16(),
            challenge: challenge.map(|value| value.to_str().expect("it is text").to_owned()),
            text: response.text().await.expect("a body"),
        }
    })
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}
