//! Whatever the file holds, loading ends in settings or in problems that have a place in it.

use proptest::prelude::*;

use crate::Folder;

/// Texts made of what settings are made of, so that they get past the first line of YAML.
fn front_matter() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("server:"),
        Just("tracker:"),
        Just("trackers:"),
        Just("tools:"),
        Just("logging:"),
        Just("hooks:"),
        Just("port:"),
        Just("kind:"),
        Just("provider:"),
        Just("local:"),
        Just("path:"),
        Just("issues:"),
        Just(" "),
        Just("  "),
        Just("\n"),
        Just("\n  "),
        Just("\n    "),
        Just("- "),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(", "),
        Just("local"),
        Just("memory"),
        Just("4040"),
        Just("\""),
        Just("$X"),
        Just("${X}"),
        Just("&a "),
        Just("*a"),
        Just("<<: "),
        Just("~"),
        Just("true"),
        Just("!!str "),
        Just("|\n"),
        Just("\u{feff}"),
        Just("\u{1f600}"),
        Just("# "),
        Just("'"),
        Just("? "),
        Just("\t"),
        Just("\r\n"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_front_matter_loads_or_is_refused_with_places_in_the_file(text in front_matter()) {
        let file = format!("---\n{text}\n---\n");
        let lines = u32::try_from(file.split('\n').count()).unwrap();
        if let Err(error) = Folder::with(&file).load_with(&[("X", "x")]) {
            prop_assert!(!error.problems.is_empty());
            for problem in &error.problems {
                let inside = problem.position.is_none_or(|at| (2..=lines).contains(&at.line) && at.column > 0);
                prop_assert!(inside, "{problem} in {file:?}");
            }
        }
    }
}
