//! People, agents and tokens from the command line.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Place, Ran, Up, wait};

/// The program as the holder of `token`.
pub(crate) fn holding(place: &Place, up: &Up, token: &str, arguments: &[&str]) -> Ran {
    let mut command = place.command();
    command
        .args(arguments)
        .env("GUILDHALL_URL", up.url())
        .env("GUILDHALL_TOKEN", token);
    Ran::of(&command.output().unwrap())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no text `{key}`: {value}"))
}

#[test]
fn an_agent_is_made_used_and_revoked() {
    let place = Place::new();
    let up = place.up(&[]);
    let me = place.run(&["whoami", "--json"]).json();
    assert_eq!(me["operator"], true);
    let made = place.run(&["agent", "create", "claude", "--json"]).json();
    let claude = format!("{}[claude]", text(&me, "username"));
    assert_eq!(made["username"], claude.as_str());
    let token = text(&made, "token");
    let said = holding(&place, &up, token, &["whoami"]).ok();
    assert_eq!(said.trim(), claude);

    let shown = place
        .run(&[
            "agent",
            "token",
            "claude",
            "--expires",
            "1h",
            "--tool",
            "local_query",
        ])
        .ok();
    let second = shown
        .split_whitespace()
        .find(|word| word.starts_with("gldh_"))
        .unwrap();
    assert!(shown.contains("It is good until 20"), "{shown}");
    let tools = holding(&place, &up, second, &["tools", "--json"]).json();
    assert_eq!(tools.as_array().unwrap().len(), 1);

    let listed = place.run(&["agent", "list"]).ok();
    assert!(
        listed.contains("AGENT") && listed.contains(&claude),
        "{listed}"
    );
    let tokens = place.run(&["token", "list"]).ok();
    assert!(tokens.contains(text(&made, "id")) && !tokens.contains("gldh_"));
    let revoked = place
        .run(&["token", "revoke", text(&made, "id"), "--json"])
        .json();
    assert_eq!(revoked["username"], claude.as_str());
    let refused = holding(&place, &up, token, &["whoami"]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));

    place.run(&["agent", "revoke", "claude"]).ok();
    assert_eq!(holding(&place, &up, second, &["whoami"]).code, 1);
    let refused = place.run(&["agent", "token", "claude"]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(
        refused.err.contains("guildhall agent create claude"),
        "{refused:?}"
    );
    let back = place.run(&["agent", "create", "claude", "--json"]).json();
    assert_eq!(
        holding(&place, &up, text(&back, "token"), &["whoami"]).code,
        0
    );
    assert_eq!(holding(&place, &up, second, &["whoami"]).code, 1);
}

#[test]
fn an_agent_manages_neither_agents_nor_tokens_nor_people() {
    let place = Place::new();
    let up = place.up(&[]);
    let made = place.run(&["agent", "create", "claude", "--json"]).json();
    for arguments in [
        &["agent", "create", "codex"][..],
        &["agent", "token", "claude"],
        &["agent", "list"],
        &["agent", "revoke", "claude"],
        &["token", "list"],
        &["token", "revoke", text(&made, "id")],
        &["user", "add", "me@example.com", "--print-token"],
        &["user", "list"],
        &["user", "disable", "me@example.com"],
    ] {
        let ran = holding(&place, &up, text(&made, "token"), arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
        assert!(ran.err.contains("is an agent"), "{ran:?}");
    }
}

#[test]
fn a_person_is_added_signs_in_and_is_disabled() {
    let place = Place::new();
    let up = place.up(&[]);
    let added = place
        .run(&["user", "add", "me@example.com", "--print-token", "--json"])
        .json();
    assert_eq!(added["username"], "me@example.com");
    let token = text(&added, "token");
    let said = holding(&place, &up, token, &["whoami"]).ok();
    assert_eq!(said.trim(), "me@example.com");
    assert_eq!(holding(&place, &up, token, &["user", "list"]).code, 1);

    let added = place.run(&["user", "add", "it@example.com"]).ok();
    assert!(added.contains(&format!("guildhall login --server {}", up.url())));
    assert!(!added.contains("gldh_"));
    assert_eq!(place.run(&["user", "add", "it@example.com"]).code, 1);
    let another = place
        .run(&["user", "code", "it@example.com", "--json"])
        .json();
    assert!(!added.contains(text(&another, "code")));
    for wrong in ["nobody", "a@b[c]", ""] {
        assert_eq!(place.run(&["user", "add", wrong]).code, 1, "{wrong}");
    }

    let limits = ["--expires", "1h", "--tool", "local_query"];
    let script = ["user", "add", "bot@example.com", "--json"];
    let refused = place.run(&[&script[..], &limits].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    let limited = place.run(&[&script[..], &limits, &["--print-token"]].concat());
    assert_eq!(limited.json()["tools"][0], "local_query");
    let everybodys = place.run(&["token", "list", "--all"]).ok();
    assert!(
        everybodys.contains("bot@example.com") && everybodys.contains("me@example.com"),
        "{everybodys}"
    );
    let denied = holding(&place, &up, token, &["token", "list", "--all"]);
    assert_eq!((denied.code, denied.out.as_str()), (1, ""));

    let listed = place.run(&["user", "list"]).ok();
    assert!(listed.contains("me@example.com") && listed.contains("it@example.com"));
    place.run(&["user", "disable", "me@example.com"]).ok();
    assert_eq!(holding(&place, &up, token, &["whoami"]).code, 1);
}

/// A request of a browser, and the answer with its head.
fn browse(up: &Up, method: &str, path: &str, cookies: &str, form: &str) -> String {
    let host = up.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nCookie: {cookies}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split_once(after).unwrap().0
}

/// A person signs in to the approval page with `secret` and approves `code`.
pub(crate) fn approve(up: &Up, secret: &str, code: &str) {
    let page = browse(up, "GET", "/login", "", "");
    let form = format!("guildhall_form={}", between(&page, "guildhall_form=", ";"));
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"");
    let fields = format!("step=sign-in&csrf={csrf}&secret={secret}&code={code}");
    let answer = browse(up, "POST", "/login", &form, &fields);
    let session = between(&answer, "guildhall_session=", ";");
    let cookies = format!("{form}; guildhall_session={session}");
    let page = browse(up, "GET", &format!("/login?code={code}"), &cookies, "");
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"");
    let fields = format!("step=approve&csrf={csrf}&code={code}");
    let answer = browse(up, "POST", "/login", &cookies, &fields);
    assert!(answer.contains("<h1>Approved</h1>"), "{answer}");
}

#[test]
fn a_person_on_another_machine_signs_in_and_commands_use_it() {
    let place = Place::new();
    let up = place.up(&[]);
    let added = place
        .run(&["user", "add", "me@example.com", "--json"])
        .json();

    // Another home: nothing of the server's own files is there.
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
    let code = link.split_once("?code=").unwrap().1;
    let said = lines.next().unwrap().unwrap();
    assert_eq!(said, format!("and approve the code {code}"));
    approve(&up, text(&added, "code"), code);
    assert_eq!(wait(&mut login), 0);
    let mut out = String::new();
    login
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    let signed_in: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(signed_in["username"], "me@example.com");
    let file = text(&signed_in, "token_file");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(file.starts_with(&*away.home().join(".config/guildhall").to_string_lossy()));
    let token = std::fs::read_to_string(file).unwrap();
    assert!(!out.contains(token.trim()));

    let mut whoami = away.command();
    whoami.arg("whoami").env("GUILDHALL_URL", up.url());
    let said = Ran::of(&whoami.output().unwrap()).ok();
    assert_eq!(said.trim(), "me@example.com");
    assert_eq!(credential(&away, up.url(), &[]), credentials(&token));
    // The log knows neither the codes nor the token.
    let log = place.log();
    for secret in [token.trim(), code, text(&added, "code")] {
        assert!(!log.contains(secret));
    }
}

#[test]
fn ones_own_server_needs_no_login() {
    let place = Place::new();
    assert!(place.run(&["login"]).ok().contains("needs no login"));
    assert_eq!(place.run(&["login", "--server", "ftp://x"]).code, 2);
    let mut command = place.command();
    command
        .arg("whoami")
        .env("GUILDHALL_URL", "http://127.0.0.1:1");
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("guildhall login"), "{ran:?}");
}

fn credentials(token: &str) -> String {
    format!("username=guildhall\npassword={}\n", token.trim())
}

/// What the credential helper tells git about the server at `url`.
fn credential(place: &Place, url: &str, env: &[(&str, &str)]) -> String {
    let (protocol, host) = url.split_once("://").unwrap();
    let mut helper = place
        .command()
        .args(["credential", "get"])
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    write!(
        helper.stdin.take().unwrap(),
        "protocol={protocol}\nhost={host}\npath=a/b.git\n\n"
    )
    .unwrap();
    Ran::of(&helper.wait_with_output().unwrap()).ok()
}

#[test]
fn git_gets_the_token_of_the_very_server_it_asks_about() {
    let place = Place::new();
    let up = place.up(&[]);
    let owner = std::fs::read_to_string(place.state().join("owner.token")).unwrap();
    assert_eq!(credential(&place, up.url(), &[]), credentials(&owner));
    let made = place.run(&["agent", "create", "claude", "--json"]).json();
    let agent = text(&made, "token");
    let env = [("GUILDHALL_URL", up.url()), ("GUILDHALL_TOKEN", agent)];
    assert_eq!(credential(&place, up.url(), &env), credentials(agent));
    let port = up.url().rsplit_once(':').unwrap().1;
    for other in [
        "http://example.com".to_owned(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1.example.com:{port}"),
        "http://127.0.0.1:1".to_owned(),
    ] {
        assert_eq!(credential(&place, &other, &env), "", "{other}");
    }
    assert_eq!(filled_by_git(&place, up.url()), owner.trim());
    for operation in ["store", "erase"] {
        assert_eq!(place.run(&["credential", operation]).ok(), "");
    }
}

/// The password that git itself gets for the server at `url`, with the program as its credential helper.
fn filled_by_git(place: &Place, url: &str) -> String {
    let helper = format!(
        "credential.helper=!'{}' credential",
        env!("CARGO_BIN_EXE_guildhall")
    );
    let mut git = guildhall_testing::hermetic("git", place.home())
        .current_dir(place.workspace())
        .args(["-c", &helper, "credential", "fill"])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    write!(git.stdin.take().unwrap(), "url={url}/a/b.git\n\n").unwrap();
    let filled = Ran::of(&git.wait_with_output().unwrap()).ok();
    between(&filled, "password=", "\n").to_owned()
}
