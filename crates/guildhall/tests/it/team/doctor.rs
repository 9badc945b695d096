//! `guildhall doctor`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::people::holding;
use crate::support::Place;

fn outcome<'a>(said: &'a Value, check: &str) -> &'a str {
    let checks = said["checks"].as_array().expect("it is there");
    let found = checks.iter().find(|found| found["check"] == check);
    found.unwrap_or_else(|| panic!("{check} in {said}"))["outcome"]
        .as_str()
        .expect("it is there")
}

#[test]
fn a_sound_workspace_passes_and_its_log_is_checked() {
    let place = Place::new();
    let _up = place.up(&[]);
    place
        .run(&[
            "team",
            "up",
            "app",
            "--layout",
            "none",
            "--roles",
            "orchestrator,ai",
        ])
        .ok();
    let said = place.run(&["doctor", "--verify", "--json"]).json();
    assert_eq!(said["ok"], true, "{said}");
    for check in [
        "git",
        "settings",
        "server",
        "database",
        "team sessions",
        "state",
        "set-up texts",
    ] {
        assert_eq!(outcome(&said, check), "ok", "{said}");
    }
    let text = place.run(&["doctor"]).ok();
    assert!(
        text.contains("ok       database       SQLite answers"),
        "{text}"
    );
}

#[test]
fn what_is_broken_is_named_and_ends_with_a_failure() {
    let place = Place::new();
    let _up = place.up(&[]);
    place
        .run(&[
            "team",
            "up",
            "app",
            "--layout",
            "none",
            "--roles",
            "orchestrator,ai",
        ])
        .ok();
    let token = place.state().join("team/app-1/ai.token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).expect("it is there");
    place.write(".guildhall/team/worker.liquid", "{% for %}\u{1b}[2J");
    let ran = place.run(&["doctor", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let said: Value = serde_json::from_str(&ran.out).expect("it is there");
    assert_eq!(outcome(&said, "team sessions"), "broken");
    assert_eq!(outcome(&said, "set-up texts"), "broken");
    assert_eq!(outcome(&said, "database"), "ok");
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
}

#[test]
fn what_is_only_for_the_operator_is_left_out_for_others() {
    let place = Place::new();
    let up = place.up(&[]);
    let of = |arguments: &[&str]| {
        let made = place.run(arguments).json();
        made["token"].as_str().expect("it is there").to_owned()
    };
    let agent = of(&["agent", "create", "claude", "--json"]);
    let person = of(&["user", "add", "me@example.com", "--print-token", "--json"]);
    for token in [agent, person] {
        for arguments in [&["doctor", "--json"][..], &["doctor", "--verify", "--json"]] {
            let said = holding(&place, &up, &token, arguments).json();
            assert_eq!(outcome(&said, "database"), "left out", "{said}");
            assert_eq!(said["ok"], true, "{said}");
        }
        let text = holding(&place, &up, &token, &["doctor"]).ok();
        assert!(
            text.contains("left out database       this check is only for who operates the server"),
            "{text}"
        );
    }
}
