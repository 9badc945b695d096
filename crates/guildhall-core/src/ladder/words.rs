//! The words of a text, the same for both databases: neither splits a text by itself.

use std::borrow::Cow;

/// The longest word that is told apart, in characters; what is behind is not looked at.
pub const LONGEST_WORD: usize = 64;

/// A word of a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Word<'a> {
    /// In lower case, at most [`LONGEST_WORD`] characters.
    pub text: Cow<'a, str>,
    /// The byte of the text that it begins at.
    pub at: usize,
}

/// The words of `text`: runs of letters and digits, in lower case. What is written without spaces (Han, Kana) counts
/// character by character, so that a part of it is found as a phrase.
pub fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut rest = 0;
    std::iter::from_fn(move || plain_word(text, &mut rest).or_else(|| any_word(text, &mut rest)))
}

/// The next word from `rest` on where nothing but ASCII stands up to its end, which is most of most texts: bytes are
/// quicker to look at than characters.
fn plain_word<'a>(text: &'a str, rest: &mut usize) -> Option<Word<'a>> {
    let bytes = text.as_bytes();
    let find = |from: usize, wanted: fn(&u8) -> bool| {
        let found = bytes[from..].iter().position(wanted);
        found.map_or(bytes.len(), |skipped| from + skipped)
    };
    let at = find(*rest, |byte| {
        byte.is_ascii_alphanumeric() || !byte.is_ascii()
    });
    let end = find(at, |byte| !byte.is_ascii_alphanumeric());
    *rest = at;
    if end == at || bytes.get(end).is_some_and(|byte| !byte.is_ascii()) {
        return None;
    }
    *rest = end;
    Some(Word {
        text: normal(&text[at..end]),
        at,
    })
}

/// The next word from `rest` on, of any characters.
fn any_word<'a>(text: &'a str, rest: &mut usize) -> Option<Word<'a>> {
    let (at, first) = text[*rest..]
        .char_indices()
        .find(|(_, c)| c.is_alphanumeric())
        .map(|(skipped, c)| (*rest + skipped, c))?;
    if stands_alone(first) {
        *rest = at + first.len_utf8();
        return Some(Word {
            text: Cow::Borrowed(&text[at..*rest]),
            at,
        });
    }
    let end = text[at..]
        .char_indices()
        .find(|&(_, c)| !(c.is_alphanumeric() || joins(c)) || stands_alone(c))
        .map_or(text.len(), |(length, _)| at + length);
    *rest = end;
    Some(Word {
        text: normal(&text[at..end]),
        at,
    })
}

/// The one way a word is written.
fn normal(word: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if word.bytes().all(plain) {
        return Cow::Borrowed(&word[..word.len().min(LONGEST_WORD)]);
    }
    if word.is_ascii() {
        return Cow::Owned(word[..word.len().min(LONGEST_WORD)].to_ascii_lowercase());
    }
    let lower = word.chars().flat_map(char::to_lowercase);
    Cow::Owned(lower.filter(|c| !joins(*c)).take(LONGEST_WORD).collect())
}

/// Accents that are written as characters of their own: they belong to the word and are not told apart.
fn joins(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Scripts without spaces between words.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3038}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = words(text).map(|word| word.text.into_owned()).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn letters_and_digits_are_words_and_all_else_is_between_them() {
        check("", &[]);
        check("  --- \"*\" ", &[]);
        check("Hello, World", &["hello", "world"]);
        check("ladder_write_rung(x)", &["ladder", "write", "rung", "x"]);
        check("src/lib.rs:40-52", &["src", "lib", "rs", "40", "52"]);
        check("Straße ÄPFEL", &["straße", "äpfel"]);
        check("cafe\u{301}s", &["cafes"]);
        check("don't", &["don", "t"]);
        check("\u{301}x", &["x"]);
    }

    #[test]
    fn scripts_without_spaces_count_by_character() {
        check("日本語text", &["日", "本", "語", "text"]);
        check("カナ", &["カ", "ナ"]);
        check("한국어", &["한국어"]);
    }

    #[test]
    fn a_long_word_is_cut_and_places_are_told() {
        let long = "x".repeat(100);
        check(&long, &[&long[..64]]);
        check(&"É".repeat(100), &[&"é".repeat(64)]);
        let places: Vec<_> = words("ab  cd日").map(|word| word.at).collect();
        assert_eq!(places, [0, 4, 6]);
    }

    proptest! {
        #[test]
        fn the_quick_way_finds_the_same_words(text in "[a-cA-C0-1 .é\u{301}日カÄ한-]{0,40}") {
            let mut rest = 0;
            let slow: Vec<_> = std::iter::from_fn(|| any_word(&text, &mut rest)).collect();
            prop_assert_eq!(words(&text).collect::<Vec<_>>(), slow);
        }
    }
}
