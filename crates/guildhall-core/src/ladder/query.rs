//! What a person types to find rungs. There is no syntax to get wrong: whatever is no word, phrase or prefix is ignored.

use super::words::{Word, words};

/// The longest query, in characters.
pub const LONGEST_QUERY: usize = 1000;

/// The shortest word that stands for all that begin with it, in characters.
pub const SHORTEST_PREFIX: usize = 3;

/// A search, read.
///
/// Every term must be in a rung. A term is a word; words in `"quotes"`, or joined as in `src/lib.rs`, stand next to each
/// other; a word with a `*` behind it stands for all words that begin with it, from three characters on. All else,
/// the operators of any search engine included, is text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Query {
    terms: Vec<Term>,
}

/// A word, or words that follow each other.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Term {
    /// At least one, as [`words`] gives them.
    pub words: Vec<String>,
    /// Whether the last of them is only the beginning of a word.
    pub prefix: bool,
    /// Whether it was in quotes.
    quoted: bool,
}

/// A query that is not searched for.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum QueryError {
    /// There is nothing in it.
    #[error("'query' is required")]
    Empty,
    /// It is too long.
    #[error("'query' may have {LONGEST_QUERY} characters, and this has {0}")]
    TooLong(usize),
}

impl Query {
    /// Reads `text`.
    ///
    /// # Errors
    /// [`QueryError`] for a blank text and one over [`LONGEST_QUERY`]; never for what stands in it.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.trim().is_empty() {
            return Err(QueryError::Empty);
        }
        // Bytes first: a text of megabytes is not walked.
        if text.len() > 4 * LONGEST_QUERY || text.chars().count() > LONGEST_QUERY {
            return Err(QueryError::TooLong(text.chars().count()));
        }
        let mut terms = Vec::new();
        for (part, quoted) in text.split('"').zip([false, true].into_iter().cycle()) {
            if quoted {
                add(&mut terms, part, true);
            } else {
                for chunk in part.split_whitespace() {
                    add(&mut terms, chunk, false);
                }
            }
        }
        Ok(Self { terms })
    }

    /// What must be in a rung. Empty where the text had no word in it: then nothing is found.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The same, with every word that was not in quotes standing for all words that begin with it; `None` where that
    /// changes nothing. For a search that found nothing.
    pub fn widened(&self) -> Option<Self> {
        let mut wide = self.clone();
        for term in wide.terms.iter_mut().filter(|term| !term.quoted) {
            term.prefix = term.may_be_prefix();
        }
        (wide != *self).then_some(wide)
    }
}

impl Term {
    /// Whether it is in a text that has these words, in their order.
    pub fn is_in(&self, text: &[Word<'_>]) -> bool {
        let last = self.words.len() - 1;
        text.windows(self.words.len()).any(|found| {
            let beginning = self.words[..last].iter().zip(found);
            found[last].text.starts_with(&self.words[last])
                && (self.prefix || found[last].text == self.words[last])
                && beginning
                    .into_iter()
                    .all(|(word, found)| found.text == **word)
        })
    }

    fn may_be_prefix(&self) -> bool {
        self.words
            .last()
            .is_some_and(|word| word.chars().count() >= SHORTEST_PREFIX)
    }
}

fn add(terms: &mut Vec<Term>, text: &str, quoted: bool) {
    let words: Vec<String> = words(text).map(|word| word.text.into_owned()).collect();
    if words.is_empty() {
        return;
    }
    let mut term = Term {
        words,
        prefix: false,
        quoted,
    };
    term.prefix = !quoted && text.ends_with('*') && term.may_be_prefix();
    if !terms.contains(&term) {
        terms.push(term);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Terms as `a`, `a+b` for a phrase, `a*` for a prefix.
    fn shown(query: &Query) -> Vec<String> {
        let term = |term: &Term| term.words.join("+") + if term.prefix { "*" } else { "" };
        query.terms.iter().map(term).collect()
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(shown(&Query::parse(text).unwrap()), expected, "{text}");
    }

    #[test]
    fn words_phrases_and_prefixes_are_read() {
        check("Alpha beta", &["alpha", "beta"]);
        check(r#""alpha beta" gamma"#, &["alpha+beta", "gamma"]);
        check("src/lib.rs", &["src+lib+rs"]);
        check("ladd*", &["ladd*"]);
        check("la*", &["la"]);
        check("*", &[]);
        check("alpha alpha", &["alpha"]);
        check("ladder_wri*", &["ladder+wri*"]);
    }

    #[test]
    fn operators_of_search_engines_are_text() {
        check(
            "a AND b OR c NOT d",
            &["a", "and", "b", "or", "c", "not", "d"],
        );
        check("NEAR(a b, 5)", &["near+a", "b", "5"]);
        check("summary:x -y +z ^w", &["summary+x", "y", "z", "w"]);
        check("(a) & b | !c <-> d:*", &["a", "b", "c", "d"]);
        check(r#""open"#, &["open"]);
        check(r#"a"b"c"#, &["a", "b", "c"]);
        check("'; DROP TABLE rungs; --", &["drop", "table", "rungs"]);
        check(r#""""#, &[]);
        check("title~2 [a TO b] {x}", &["title+2", "a", "to", "b", "x"]);
    }

    #[test]
    fn only_blank_and_overlong_queries_are_refused() {
        assert_eq!(Query::parse(" \t\n"), Err(QueryError::Empty));
        let long = "a".repeat(1 << 20);
        assert_eq!(Query::parse(&long), Err(QueryError::TooLong(1 << 20)));
        assert!(Query::parse(&"é".repeat(1000)).is_ok());
        assert!(Query::parse(&"é".repeat(1001)).is_err());
    }

    #[test]
    fn a_query_that_found_nothing_is_widened_to_beginnings() {
        let wide = |text: &str| {
            Query::parse(text)
                .unwrap()
                .widened()
                .map(|query| shown(&query))
        };
        assert_eq!(
            wide("ladd up"),
            Some(vec!["ladd*".to_owned(), "up".to_owned()])
        );
        assert_eq!(wide(r#""ladd""#), None);
        assert_eq!(wide("ab ladd*"), None);
    }

    #[test]
    fn a_term_is_in_a_text_whose_words_follow_each_other_as_its_own() {
        let text: Vec<_> = words("The ladder, write_rung and 日本").collect();
        let is_in = |query: &str| Query::parse(query).unwrap().terms()[0].is_in(&text);
        for there in [
            "LADDER",
            "write_rung",
            "lad*",
            "\"the ladder\"",
            "write-run*",
            "日本",
        ] {
            assert!(is_in(there), "{there}");
        }
        for not in [
            "lad",
            "rung_write",
            "adder*",
            "\"the write\"",
            "and_日_本_x",
            "本日",
        ] {
            assert!(!is_in(not), "{not}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_can_be_typed_is_an_error(text in "\\PC{1,200}") {
            let query = Query::parse(&text);
            prop_assert_eq!(query.is_err(), text.trim().is_empty());
        }

        #[test]
        fn every_word_of_a_text_is_a_term_of_it(text in "[a-z \"*():-]{1,60}") {
            if let Ok(query) = Query::parse(&text) {
                let all: Vec<_> = query.terms().iter().flat_map(|term| &term.words).collect();
                for word in words(&text) {
                    prop_assert!(all.contains(&&word.text.into_owned()));
                }
            }
        }
    }
}
