//! What stands in the index of a rung, and how it is asked for, in the words of each database.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use guildhall_core::RepoName;
use guildhall_core::ladder::{RungKind, RungPath, Term, words};
use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::tx::Tx;
use crate::value::args;

/// Begins every mark: a character of no language, so that no word of a text begins with it.
const MARK: char = '\u{e000}';

/// PostgreSQL tells places apart up to here.
const LAST_PLACE: usize = 16_383;

/// The mark of a repo.
pub(super) fn repo_mark(repo: &RepoName) -> String {
    format!("{MARK}r{}", digest(repo.as_str()))
}

fn kind_mark(kind: RungKind) -> String {
    format!("{MARK}k{kind}")
}

fn under_mark(directory: &str) -> String {
    format!("{MARK}u{}", digest(directory))
}

/// Names hold characters that a database takes for the end of a word.
fn digest(text: &str) -> String {
    let hash = Sha256::digest(text);
    hash[..8].iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A rung as the index takes it.
pub(super) struct Entry<'a> {
    pub(super) id: i64,
    /// Whether the index cannot know it yet.
    pub(super) new: bool,
    pub(super) path: &'a RungPath,
    pub(super) summary: &'a str,
    /// The two as [`in_a_row`] gives them.
    pub(super) row: &'a str,
}

/// A digest of what the index has of a rung with this row.
pub(super) fn fingerprint(row: &str) -> String {
    digest(row)
}

/// The words of a rung and its marks in a row, as FTS5 splits them again.
pub(super) fn in_a_row(repo: &RepoName, path: &RungPath, summary: &str) -> String {
    let mut text = String::with_capacity(summary.len() + 128);
    for word in words(summary) {
        text.push_str(&word.text);
        text.push(' ');
    }
    text + &marks(repo, path).join(" ")
}

fn marks(repo: &RepoName, path: &RungPath) -> Vec<String> {
    let mut marks = vec![repo_mark(repo), kind_mark(path.kind())];
    marks.extend(path.directories().map(under_mark));
    marks
}

impl Entry<'_> {
    /// A `tsvector`: each word with its places.
    fn for_postgres(&self, repo: &RepoName) -> String {
        let mut places: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (place, word) in (1..=LAST_PLACE).zip(words(self.summary)) {
            places.entry(word.text).or_default().push(place);
        }
        let mut text = String::with_capacity(2 * self.summary.len() + 64);
        for (word, places) in &places {
            let _ = write!(text, "'{word}':");
            for (n, place) in places.iter().enumerate() {
                let comma = if n == 0 { "" } else { "," };
                let _ = write!(text, "{comma}{place}");
            }
            text.push(' ');
        }
        for mark in marks(repo, self.path) {
            let _ = write!(text, "'{mark}' ");
        }
        text
    }
}

/// Puts rungs into the index, in place of what it had of them.
pub(super) async fn put(tx: &mut Tx, repo: &RepoName, entries: &[Entry<'_>]) -> Result<()> {
    if tx.sqlite().is_some() {
        // All that goes before all that comes: FTS5 writes out what it holds in memory before it deletes a row.
        for entry in entries.iter().filter(|entry| !entry.new) {
            tx.run("DELETE FROM rung_words WHERE rowid = $1", args![entry.id])
                .await?;
        }
        for entry in entries {
            tx.run(
                "INSERT INTO rung_words (rowid, words) VALUES ($1, $2)",
                args![entry.id, entry.row],
            )
            .await?;
        }
        return Ok(());
    }
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| (entry.id, entry.for_postgres(repo)))
        .collect();
    let rows = serde_json::to_string(&rows).unwrap_or_default();
    tx.run(
        "INSERT INTO rung_words (rung, repo, words)
         SELECT CAST(value ->> 0 AS BIGINT), $1, CAST(value ->> 1 AS TSVECTOR)
         FROM json_array_elements(CAST($2 AS JSON))
         ON CONFLICT (rung) DO UPDATE SET repo = excluded.repo, words = excluded.words
            WHERE rung_words.words <> excluded.words OR rung_words.repo <> excluded.repo",
        args![repo.as_str(), &rows],
    )
    .await?;
    Ok(())
}

/// What the index is asked for.
pub(super) struct Wanted {
    pub(super) terms: Vec<Term>,
    pub(super) kind: Option<RungKind>,
    pub(super) under: Option<RungPath>,
}

impl Wanted {
    /// Takes out the terms that are only the beginning of a word. The index would give every rung that has such a word
    /// before it looks at anything else.
    pub(super) fn take_beginnings(&mut self) -> Vec<Term> {
        self.terms.extract_if(.., |term| term.prefix).collect()
    }

    /// For `MATCH`, among the repos of `among` where it names some.
    pub(super) fn for_sqlite(&self, among: &[String]) -> String {
        let mut parts: Vec<String> = self.terms.iter().map(fts5).collect();
        parts.extend(self.marks().iter().map(|mark| format!("\"{mark}\"")));
        if !among.is_empty() {
            parts.push(format!("(\"{}\")", among.join("\" OR \"")));
        }
        parts.join(" AND ")
    }

    /// For `@@`, among the repos of `among` where it names some.
    pub(super) fn for_postgres(&self, among: &[String]) -> String {
        let mut parts: Vec<String> = self.terms.iter().map(tsquery).collect();
        parts.extend(self.marks().iter().map(|mark| format!("'{mark}'")));
        if !among.is_empty() {
            parts.push(format!("('{}')", among.join("' | '")));
        }
        parts.join(" & ")
    }

    fn marks(&self) -> Vec<String> {
        let kind = self.kind.map(kind_mark);
        let under = self.under.as_ref();
        let under = under.map(|directory| under_mark(directory.as_str()));
        kind.into_iter().chain(under).collect()
    }
}

/// A phrase of FTS5. Words hold letters and digits alone, so nothing in them can end the quotes.
fn fts5(term: &Term) -> String {
    let star = if term.prefix { " *" } else { "" };
    format!("\"{}\"{star}", term.words.join(" "))
}

fn tsquery(term: &Term) -> String {
    let star = if term.prefix { ":*" } else { "" };
    format!("('{}'{star})", term.words.join("' <-> '"))
}
