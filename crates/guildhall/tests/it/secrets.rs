//! Tokens stand in their files and nowhere else.

use std::path::Path;

use crate::support::{Place, Ran};

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

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
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
