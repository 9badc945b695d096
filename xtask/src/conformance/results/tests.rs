use super::{Fault, Results, Verdict, not_applicable};

const LOG: &str = "\
Total: 3 passed, 1 failed

Not scored for 2026-07-28: 2 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ tasks-lifecycle (extension)
  ✓ http-header-validation (pending)

";

fn checks(statuses: &[&str]) -> String {
    let checks: Vec<_> = statuses
        .iter()
        .map(|status| serde_json::json!({ "id": "a-check", "status": status }))
        .collect();
    serde_json::to_string(&checks).expect("plain JSON")
}

fn verdict(statuses: &[&str]) -> Verdict {
    Verdict::of_checks(&checks(statuses)).expect("as the suite writes it")
}

#[test]
fn a_scenario_passes_only_without_failures_and_warnings() {
    let failed = || {
        Verdict::Failed(vec![Fault {
            check: "a-check".to_owned(),
            message: None,
        }])
    };
    assert_eq!(verdict(&["SUCCESS", "INFO"]), Verdict::Passed);
    assert_eq!(verdict(&["SUCCESS", "WARNING"]), failed());
    assert_eq!(verdict(&["SUCCESS", "FAILURE"]), failed());
    assert_eq!(verdict(&["SKIPPED"]), Verdict::Skipped);
    assert_eq!(verdict(&[]), Verdict::Skipped);
}

#[test]
fn names_come_from_folders_and_what_is_not_scored_from_the_log() {
    let mut results = Results::new(LOG);
    results.add("server-ping-2026-11-30T13-31-46-418Z", Verdict::Passed);
    results.add(
        "server-server-stateless-2026-11-30T13-31-46-418Z",
        Verdict::Passed,
    );
    results.add(
        "server-tasks-lifecycle-2026-11-30T13-31-46-418Z",
        verdict(&["FAILURE"]),
    );
    results.add(
        "server-http-header-validation-2026-11-30T13-31-46-418Z",
        Verdict::Passed,
    );
    let scored: Vec<_> = results.scored().map(|(scenario, _)| scenario).collect();
    assert_eq!(scored, ["ping", "server-stateless"]);
    assert_eq!(results.unscored_summary(), ", 1/2 unscored");
}

#[test]
fn the_reviewed_list_must_name_exactly_what_fails() {
    let list = "# why\n* tools-call-image needs a fixture\n2025-11-25 ping is old\n";
    let listed = not_applicable(list, "2026-07-28").expect("a good list");
    let mut results = Results::new("");
    results.add("server-tools-call-image-1-2-3-4-5-6", verdict(&["FAILURE"]));
    assert_eq!(results.against(&listed), Vec::<String>::new());

    results.add("server-caching-1-2-3-4-5-6", verdict(&["WARNING"]));
    assert_eq!(results.against(&listed), ["caching: a-check"]);

    let both = not_applicable(list, "2025-11-25").expect("a good list");
    assert_eq!(
        results.against(&both),
        [
            "caching: a-check",
            "ping does not fail: take it off the list"
        ]
    );

    results.add("server-tools-call-image-1-2-3-4-5-6", Verdict::Passed);
    assert_eq!(
        results.against(&listed),
        [
            "caching: a-check",
            "tools-call-image does not fail: take it off the list"
        ]
    );
}

#[test]
fn the_reviewed_list_may_name_single_checks_of_a_scenario() {
    let mut results = Results::new("");
    results.add("server-caching-1-2-3-4-5-6", verdict(&["FAILURE"]));
    let against = |list| {
        let listed = not_applicable(list, "2026-07-28").expect("a good list");
        results.against(&listed)
    };
    assert_eq!(
        against("* caching:a-check needs resources\n"),
        Vec::<String>::new()
    );
    assert_eq!(
        against("* caching:another-check needs resources\n"),
        [
            "caching: a-check",
            "caching:another-check does not fail: take it off the list"
        ]
    );
}

#[test]
fn an_entry_without_a_reason_is_refused() {
    assert!(not_applicable("* ping\n", "2025-11-25").is_err());
}
