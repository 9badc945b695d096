//! Many processes that start at once on an empty data directory.

use std::process::Child;

use serde_json::Value;

use super::Pipe;
use crate::support::Place;

#[test]
fn ten_that_start_at_once_all_live_and_agree() {
    let place = Place::new();
    let agents: Vec<Pipe> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..10)
            .map(|_| scope.spawn(|| Pipe::start(&place)))
            .collect();
        started
            .into_iter()
            .map(|agent| agent.join().expect("it starts"))
            .collect()
    });
    let made = place
        .run(&["team", "up", "app", "1", "--layout", "none", "--json"])
        .json();
    assert_eq!(made["session"], "app-1");
    let state = r#"{"session":"app-1"}"#;
    for mut agent in agents {
        let (payload, failed) = super::Agent::call(&mut agent, "devorch_query_team_state", state);
        assert_eq!(
            (failed, payload),
            (false, serde_json::json!({ "agents": [] }))
        );
        let process: &mut Child = &mut agent.process;
        assert!(
            process.try_wait().expect("it is there").is_none(),
            "it lives"
        );
    }
    let server: Value = serde_json::from_slice(
        &std::fs::read(place.state().join("server.json")).expect("it is there"),
    )
    .expect("it is there");
    assert!(server["pid"].is_u64());
}
