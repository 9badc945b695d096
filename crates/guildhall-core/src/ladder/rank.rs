//! How good a find is, and what is shown of it. The same for both databases, so that they give one order.

use super::query::Query;
use super::words::words;
use crate::text::steers;

/// The longest snippet, in characters.
pub const SNIPPET: usize = 200;

/// How much of a snippet stands before the first find, in characters.
const BEFORE: usize = 60;

/// One word that is looked for.
struct Wanted<'a> {
    word: &'a str,
    prefix: bool,
}

impl Wanted<'_> {
    fn is(&self, word: &str) -> bool {
        if self.prefix {
            word.starts_with(self.word)
        } else {
            word == self.word
        }
    }
}

impl Query {
    /// How well a rung that has every term fits: more is better. A word counts more the more often it stands in a text of
    /// its length, in its first line, and in the path. How rare a word is does not matter, for all finds have all words.
    pub fn score(&self, path: &str, summary: &str) -> u32 {
        let wanted = self.wanted();
        let mut counts = vec![0_u64; wanted.len()];
        let mut early = vec![false; wanted.len()];
        let first_line = summary.trim_start();
        let first_line =
            summary.len() - first_line.len() + first_line.find('\n').unwrap_or(first_line.len());
        let mut length = 0;
        for found in words(summary) {
            length += 1;
            for (n, wanted) in wanted.iter().enumerate() {
                if wanted.is(&found.text) {
                    counts[n] += 1;
                    early[n] |= found.at < first_line;
                }
            }
        }
        let mut score = 0;
        for count in &counts {
            // The saturating count of BM25 in whole numbers: up to 1,000 a word.
            score += 1_000_000 * count / (1000 * count + 300 + 9 * length / 2);
        }
        score += 300 * early.iter().filter(|early| **early).count() as u64;
        for found in words(path) {
            score += 500
                * wanted
                    .iter()
                    .filter(|wanted| wanted.is(&found.text))
                    .count() as u64;
        }
        u32::try_from(score).unwrap_or(u32::MAX)
    }

    fn wanted(&self) -> Vec<Wanted<'_>> {
        let of_term = self.terms().iter().flat_map(|term| {
            let last = term.words.len() - 1;
            term.words.iter().enumerate().map(move |(n, word)| Wanted {
                word,
                prefix: term.prefix && n == last,
            })
        });
        of_term.collect()
    }
}

/// The part of `summary` around the first word of `query` that is in it: at most [`SNIPPET`] characters on one line, with
/// `…` where something is left out. What would steer a terminal is left out too.
pub fn snippet(query: &Query, summary: &str) -> String {
    let wanted = query.wanted();
    let found = words(summary).find(|found| wanted.iter().any(|wanted| wanted.is(&found.text)));
    let at = found.map_or(0, |found| found.at);
    let start = match summary[..at].char_indices().rev().nth(BEFORE) {
        // From the next word on, but never past the find.
        Some((from, _)) => summary[from..at]
            .find(char::is_whitespace)
            .map_or(from, |space| from + space),
        None => 0,
    };
    let mut shown = String::new();
    let mut length = 0;
    let mut cut = false;
    for word in summary[start..].split_whitespace() {
        let word: String = word.chars().filter(|c| !steers(*c)).collect();
        let size = word.chars().count() + usize::from(!shown.is_empty());
        if length + size > SNIPPET - 2 {
            if shown.is_empty() {
                shown.extend(word.chars().take(SNIPPET - 2));
            }
            cut = true;
            break;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&word);
        length += size;
    }
    let front = if summary[..start].trim().is_empty() {
        ""
    } else {
        "…"
    };
    let back = if cut { "…" } else { "" };
    format!("{front}{shown}{back}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::parse(text).unwrap()
    }

    #[test]
    fn often_early_and_in_the_path_is_better() {
        let alpha = query("alpha");
        let score = |path: &str, summary: &str| alpha.score(path, summary);
        let once = score("a", "Says\nalpha beta");
        assert!(score("a", "Says\nalpha alpha") > once);
        assert!(score("a", "Says alpha\nbeta") > once);
        assert!(score("src/alpha.rs", "Says\nalpha beta") > once);
        assert!(score("a", &format!("Says\nalpha {}", "beta ".repeat(500))) < once);
        assert_eq!(score("b", "nothing"), 0);
        assert!(query("alp*").score("a", "alpha") > 0);
    }

    #[test]
    fn a_snippet_is_one_short_line_around_the_find() {
        let text = format!(
            "{} needle here\n\n{}",
            "before ".repeat(50),
            "after ".repeat(80)
        );
        let shown = snippet(&query("needle"), &text);
        assert!(
            shown.starts_with("…before") && shown.ends_with("after…"),
            "{shown}"
        );
        assert!(shown.contains("needle here after"));
        assert!(shown.chars().count() <= SNIPPET);
        assert_eq!(snippet(&query("b"), "a  b\n c"), "a b c");
        assert_eq!(snippet(&query("b"), "\u{1b}[31m b\u{202e}"), "[31m b");
        assert_eq!(
            snippet(&query("x"), &"y".repeat(500)).chars().count(),
            SNIPPET - 1
        );
    }
}
