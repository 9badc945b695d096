//! The file format: tables of what is read, and laws that hold for any bytes.

mod laws;
mod reading;
mod splicing;

use proptest::prelude::*;

/// Pieces that front matter and bodies are made of, put together in any order.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "---\n",
        "---",
        "----\n",
        "\n---\n",
        "\n--- trailing\n",
        "\r\n",
        "\n",
        "\r",
        " ",
        "  ",
        "\t",
        "status: Todo\n",
        "status:",
        "\"status\": ",
        "'status': ",
        "? status\n: ",
        "&s ",
        "*s",
        "&a x",
        "*a",
        "!!str ",
        "!!int ",
        "! ",
        "!x ",
        "|\n  Todo\n",
        ">-\n  Todo\n  x\n",
        "|2 # c\n   Todo\n\n",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "- ",
        "# ",
        "# Title\n",
        "# c\n",
        " # c\n",
        "labels:\n  - A\n  - b\n",
        "labels: [a, 1, ~]\n",
        "labels: *s\n",
        "owner: &s Ann\n",
        "other: *s\n",
        "created_at: 2026-01-01\n",
        "createdAt: nonsense\n",
        "created_at: ~\n",
        "x: {y: [*s, 1]}\n",
        "<!-- lorenz:comments -->",
        "<!-- \\lorenz:comments -->",
        "## Comments\n",
        "- 2026-05-29T10:00:00.000Z a: b\n",
        "  more\n",
        "...\n",
        "<<: *a\n",
        "%YAML 1.2\n",
        "\u{feff}",
        "é",
        "\u{85}",
        "\u{2028}",
        "\0",
    ]);
    prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => "[ -~]{0,6}", 1 => any::<String>()]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let text = prop::collection::vec(piece(), 0..14).prop_map(|pieces| pieces.concat());
    let raw = prop::collection::vec(any::<u8>(), 0..8);
    (
        prop::bool::weighted(0.8),
        text,
        raw,
        any::<prop::sample::Index>(),
    )
        .prop_map(|(front, text, raw, at)| {
            let text = if front { format!("---\n{text}") } else { text };
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len() + 1);
            if raw.len() > 5 {
                bytes.splice(at..at, raw);
            }
            bytes
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_file_keeps_what_a_change_is_not_about(bytes in file()) {
        laws::hold_for_bytes(&bytes);
    }

    #[test]
    fn front_matter_with_a_status_keeps_the_rest(
        before in piece(), value in prop::collection::vec(piece(), 1..4), after in prop::collection::vec(piece(), 0..4),
        newline in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let text = format!("---\n{before}\nstatus: {}\n{}\n---\n# T\ntext\n", value.concat(), after.concat());
        laws::hold_for_bytes(text.replace('\n', newline).as_bytes());
    }

    #[test]
    fn what_is_given_for_a_new_issue_is_read_back(
        status in any::<String>(), title in any::<String>(), body in prop::collection::vec(piece(), 0..8),
    ) {
        laws::hold_for_new(&status, &title, &body.concat());
    }
}

#[test]
fn the_corpus_of_the_fuzzer_holds() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/board_file");
    let files: Vec<_> = std::fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() > 20, "{} files", files.len());
    for path in files {
        laws::hold_for_bytes(&std::fs::read(&path).unwrap());
    }
}
