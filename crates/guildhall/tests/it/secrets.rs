//! Tokens stand in their files and nowhere else.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::hosted::{Bench, ask, bearer};
use crate::people::{approve, holding};
use crate::support::{Place, Ran, Up, wait};

#[test]
fn no_token_is_in_a_log_an_answer_a_list_of_processes_or_another_file() {
    let place = Place::new();
    place.write("WORKFLOW.md", "---\nlogging:\n  level: trace\n---\n");
    let up = place.up(&["--demo"]);
    let made = place.run(&["connect", "claude", "--http"]).ok();
    let owner_file = place.state().join("owner.token");
    let agent_file = place.state().join("agents/claude.token");
    let tokens: Vec<String> = [&owner_file, &agent_file]
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap().trim().to_owned())
        .collect();
    let mut seen = vec![("connect", made)];
    for arguments in [
        &["call", "local_query"][..],
        &["call", "nonsense"],
        &["tools", "--json"],
        &["config", "show"],
        &["up"],
        &["connect", "codex", "--json"],
        &["whoami", "--json"],
        &["agent", "list", "--json"],
        &["token", "list", "--json"],
        &["user", "list"],
        &["credential", "store"],
    ] {
        let ran = place.run(arguments);
        seen.push(("command", ran.out + &ran.err));
    }
    for token in [
        &tokens[0][..tokens[0].len() - 1],
        "gldh_nonsense",
        tokens[1].as_str(),
    ] {
        let mut command = place.command();
        command
            .args(["tools"])
            .env("GUILDHALL_URL", up.url())
            .env("GUILDHALL_TOKEN", token);
        let ran = Ran::of(&command.output().unwrap());
        seen.push(("call with a token", ran.out + &ran.err));
    }
    let processes = std::fs::read(format!("/proc/{}/cmdline", up.said["pid"])).unwrap();
    seen.push((
        "command line of the server",
        String::from_utf8_lossy(&processes).into_owned(),
    ));
    assert_eq!(up.stop(), 0);
    seen.push(("log", place.log()));
    for path in files(place.home()) {
        if path != owner_file && path != agent_file {
            let content = std::fs::read(&path).unwrap_or_default();
            seen.push(("file", String::from_utf8_lossy(&content).into_owned()));
        }
    }
    for (place, text) in &seen {
        for token in &tokens {
            // Neither the whole token nor its random part.
            assert!(!text.contains(&token[5..69]), "{place}: {text}");
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        // The codex token was made too; every `*.token` file holds one, that is what it is for.
        let is_token = path
            .extension()
            .is_some_and(|extension| extension == "token");
        if path.is_dir() {
            found.extend(files(&path));
        } else if !is_token {
            found.push(path);
        }
    }
    found
}

/// What was written, printed or could be looked at, and secrets that must not be in it.
#[derive(Default)]
struct Watch {
    canaries: Vec<(&'static str, String)>,
    seen: Vec<(String, String)>,
}

impl Watch {
    /// A secret, without what every token begins and ends with, so that a part of it is found too.
    fn canary(&mut self, what: &'static str, secret: &str) {
        let secret = secret.trim();
        let random = secret
            .strip_prefix("gldh_")
            .map_or(secret, |rest| &rest[..64]);
        assert!(random.len() >= 32, "{what}");
        self.canaries.push((what, random.to_owned()));
    }

    fn saw(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.seen.push((place.into(), text.into()));
    }

    fn saw_run(&mut self, place: &str, ran: &Ran) {
        self.saw(place, format!("{}{}", ran.out, ran.err));
    }

    /// Every file below `dir` but those that tokens stand in, as it is now.
    fn saw_files(&mut self, dir: &Path) {
        for path in files(dir) {
            let content = std::fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&content).into_owned();
            self.saw(path.display().to_string(), text);
        }
    }

    /// With which arguments a process was started.
    fn saw_process(&mut self, what: &str, id: u32) {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap();
        self.saw(what, String::from_utf8_lossy(&line).into_owned());
    }

    /// That none of the secrets was seen anywhere.
    fn check(&self) {
        for (place, text) in &self.seen {
            for (what, canary) in &self.canaries {
                assert!(!text.contains(canary), "{what} is in {place}: {text}");
            }
        }
    }
}

/// A folder with a git that notes its arguments and environment and is then the real one; and where it notes them.
fn spy(place: &Place) -> (OsString, PathBuf) {
    let (folder, notes) = (place.home().join("bin"), place.home().join("git.notes"));
    std::fs::create_dir(&folder).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\n{{ printf '%s ' \"$@\"; env; }} >> '{}'\nPATH='{path}' exec git \"$@\"\n",
        notes.display()
    );
    std::fs::write(folder.join("git"), script).unwrap();
    let rights = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join("git"), rights).unwrap();
    let mut search = folder.into_os_string();
    search.push(":");
    search.push(path);
    (search, notes)
}

/// An agent's client over standard input and output.
fn over_stdio(watch: &mut Watch, place: &Place, up: &Up, token: &str) {
    let mut command = place.command();
    command
        .args(["mcp", "--agent", "claude"])
        .env("GUILDHALL_URL", up.url())
        .env("GUILDHALL_TOKEN", token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let client = json!({ "name": "t", "version": "1" });
    let begin =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let call = json!({ "name": "local_query", "arguments": { "limit": 1 } });
    for (id, method, params) in [(0, "initialize", begin), (1, "tools/call", call)] {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{message}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.contains("\"result\""), "{answer}");
        watch.saw("an answer over stdio", answer);
    }
    watch.saw_process("the process of an agent's client", process.id());
    drop(input);
    let mut errors = String::new();
    let mut stderr = process.stderr.take().unwrap();
    stderr.read_to_string(&mut errors).unwrap();
    watch.saw("what the client's process said", errors);
    assert_eq!(wait(&mut process), 0);
}

/// A person on another machine who signs in: their code, and then their token.
fn over_login(watch: &mut Watch, place: &Place, up: &Up) -> Place {
    let added = place
        .run(&["user", "add", "me@example.com", "--json"])
        .json();
    let code = added["code"].as_str().unwrap().to_owned();
    watch.canary("a sign-in code", &code);
    let away = Place::new();
    let mut login = away
        .command()
        .args(["login", "--json", "--server", up.url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(login.stderr.take().unwrap()).lines();
    let link = lines.next().unwrap().unwrap();
    let typed = link.split_once("?code=").unwrap().1.to_owned();
    watch.canary("the code of a login", &typed);
    watch.saw_process("the process of a login", login.id());
    approve(up, &code, &typed);
    assert_eq!(wait(&mut login), 0);
    let mut out = String::new();
    let mut stdout = login.stdout.take().unwrap();
    stdout.read_to_string(&mut out).unwrap();
    let signed_in: Value = serde_json::from_str(&out).unwrap();
    let file = signed_in["token_file"].as_str().unwrap();
    watch.canary(
        "the token of a login",
        &std::fs::read_to_string(file).unwrap(),
    );
    watch.saw("what a login printed", out);
    away
}

/// Clones and fetches over HTTP Basic, with a good token and with one that is not.
fn over_git(watch: &mut Watch, bench: &Bench, up: &Up, token: &str) {
    let url = format!("{}/acme/site.git", up.url());
    let home = bench.place.home();
    let cloned = bench.git_with(token, home, &["clone", &url, "clone"]);
    assert_eq!(cloned.code, 0, "{cloned:?}");
    watch.saw_run("a clone", &cloned);
    let clone = home.join("clone");
    for arguments in [
        &["fetch"][..],
        &["push", "origin", "HEAD:refs/heads/x"],
        &["remote", "-v"],
    ] {
        watch.saw_run("git", &bench.git_with(token, &clone, arguments));
    }
    let mistyped = &token[..token.len() - 1];
    let refused = bench.git_with(mistyped, home, &["clone", &url, "other"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    watch.saw_run("a refused clone", &refused);
}

/// Requests with the token where it belongs and where it does not.
fn over_http(watch: &mut Watch, up: &Up, token: &str) {
    let good = bearer(token);
    let rpc = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for (method, path, authorization, body) in [
        ("GET", "/metrics", &*good, None),
        ("GET", "/api/status", &good, None),
        ("GET", "/api/openapi.json", &good, None),
        ("GET", "/api/nothing", &good, None),
        (
            "POST",
            "/api/tools/local_query",
            &good,
            Some(json!({ "limit": "x" })),
        ),
        ("POST", "/mcp", &good, Some(rpc)),
        ("GET", "/api/status", &good[..good.len() - 1], None),
        ("GET", "/api/status", &format!("{good}0"), None),
        ("GET", "/api/status", &format!("Basic {token}"), None),
        ("GET", "/api/status", token, None),
    ] {
        let answered = ask(up, method, path, Some(authorization), body);
        watch.saw(format!("{method} {path}"), answered.text);
    }
    // Who gives it in the wrong place may read it in their own answer, and nobody in the log.
    for path in [
        format!("/api/status?token={token}"),
        format!("/api/tools/{token}"),
        format!("/{token}/x.git/info/refs?service=git-upload-pack"),
        format!("/mcp/{token}"),
        format!("/{token}"),
    ] {
        ask(up, "GET", &path, Some(&good), None);
        ask(
            up,
            "POST",
            &path,
            Some(&good),
            Some(json!({ "token": token })),
        );
    }
}

#[test]
fn a_canary_is_found_nowhere_but_in_the_answer_that_gives_it() {
    let bench = Bench::new();
    let place = &bench.place;
    place.write("WORKFLOW.md", "---\nlogging:\n  level: trace\n---\n");
    let (search, notes) = spy(place);
    let up = place.up_in(&["--demo"], &[("PATH", &search)]);
    bench.add(&[]);
    let mut watch = Watch::default();
    watch.canary("the owner's token", &bench.owner_token());
    let made = place.run(&["agent", "create", "claude", "--json"]).json();
    let agent = made["token"].as_str().unwrap();
    watch.canary("an agent's token", agent);
    let fresh = place.run(&["agent", "token", "claude", "--json"]).json();
    watch.canary("an agent's second token", fresh["token"].as_str().unwrap());
    let script = ["user", "add", "bot@example.com", "--print-token", "--json"];
    let bot = place.run(&script).json();
    watch.canary("a person's token", bot["token"].as_str().unwrap());

    for arguments in [
        &["call", "local_query"][..],
        &["call", "git_log", "repo=acme/site"],
        &["call", "nonsense"],
        &["tools", "--json"],
        &["tools", "--openapi"],
        &["whoami", "--json"],
        &["agent", "create", "codex"],
        &["token", "list", "--json"],
        &["repo", "list", "--json"],
        &["connect", "gemini", "--json"],
        &["config", "show"],
    ] {
        watch.saw_run("a command", &holding(place, &up, agent, arguments));
    }
    let id = fresh["id"].as_str().unwrap();
    watch.saw_run("a revocation", &place.run(&["token", "revoke", id]));
    watch.saw_run("a list", &place.run(&["token", "list", "--all", "--json"]));
    over_stdio(&mut watch, place, &up, agent);
    over_git(&mut watch, &bench, &up, agent);
    over_http(&mut watch, &up, agent);
    let away = over_login(&mut watch, place, &up);

    watch.saw_process("the server's process", up.process.id());
    // While it runs, what was written last stands in the write-ahead log of the database.
    watch.saw_files(place.home());
    assert_eq!(up.stop(), 0);
    watch.saw_files(place.home());
    watch.saw_files(away.home());
    let names = ["guildhall.db", "guildhall.db-wal", "up.log", "git.notes"];
    for name in names {
        let looked_at =
            |(place, text): &&(String, String)| place.ends_with(name) && !text.is_empty();
        assert!(watch.seen.iter().any(|seen| looked_at(&seen)), "{name}");
    }
    let calls = std::fs::read_to_string(notes).unwrap();
    assert!(calls.contains("upload-pack"), "{calls}");
    watch.check();
}
