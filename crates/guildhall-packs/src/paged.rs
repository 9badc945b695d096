//! Cutting a list of texts to a budget, and going on where it was cut.

use guildhall_tools::json_len;
use serde::{Deserialize, Serialize};

/// Where a list of texts goes on: at text `item`, from byte `offset` of it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Position {
    pub(crate) item: u64,
    pub(crate) offset: u64,
}

impl Position {
    /// Behind everything; also the position that takes the most room to write.
    pub(crate) const END: Self = Self {
        item: u64::MAX,
        offset: u64::MAX,
    };
}

/// What of one text stands on a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Slice<'a> {
    /// Which of the texts.
    pub(crate) item: usize,
    /// The part of it.
    pub(crate) text: &'a str,
    /// Whether the text goes on behind this part.
    pub(crate) cut: bool,
}

/// One page of the texts.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct TextPage<'a> {
    pub(crate) slices: Vec<Slice<'a>>,
    /// Where the next page starts, or `None` where this is the last.
    pub(crate) next: Option<Position>,
}

/// As much of `texts` from `start` on as fits `bytes` of JSON. Cuts between texts; a text that alone is too large is
/// cut at a character. A page holds at least something, so that paging ends.
pub(crate) fn page<'a>(texts: &[&'a str], start: Position, bytes: usize) -> TextPage<'a> {
    let first = usize::try_from(start.item).unwrap_or(usize::MAX);
    let mut offset = usize::try_from(start.offset).unwrap_or(usize::MAX);
    let mut room = bytes;
    let mut slices = Vec::new();
    for (item, whole) in texts.iter().enumerate().skip(first) {
        let at = whole.floor_char_boundary(offset.min(whole.len()));
        offset = 0;
        let rest = &whole[at..];
        let size = json_len(&rest) + 1;
        if size <= room {
            room -= size;
            slices.push(Slice {
                item,
                text: rest,
                cut: false,
            });
            continue;
        }
        if !slices.is_empty() {
            return TextPage {
                slices,
                next: Some(position(item, at)),
            };
        }
        let text = longest_prefix(rest, room);
        if text.len() == rest.len() {
            // One character, or nothing, is all there is: a page holds it whatever its size.
            slices.push(Slice {
                item,
                text,
                cut: false,
            });
            room = 0;
            continue;
        }
        slices.push(Slice {
            item,
            text,
            cut: true,
        });
        return TextPage {
            slices,
            next: Some(position(item, at + text.len())),
        };
    }
    TextPage { slices, next: None }
}

fn position(item: usize, offset: usize) -> Position {
    Position {
        item: item as u64,
        offset: offset as u64,
    }
}

/// The longest prefix of `text` whose JSON is within `bytes`, at least one character.
pub(crate) fn longest_prefix(text: &str, bytes: usize) -> &str {
    let mut size = 2;
    for (at, character) in text.char_indices() {
        size += json_len(&character.encode_utf8(&mut [0; 4])) - 2;
        if size > bytes && at > 0 {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every page from the first to the last.
    fn pages(texts: &[&str], bytes: usize) -> Vec<Vec<String>> {
        let mut start = Position::default();
        let mut pages = Vec::new();
        loop {
            let page = page(texts, start, bytes);
            pages.push(
                page.slices
                    .iter()
                    .map(|slice| slice.text.to_owned())
                    .collect(),
            );
            match page.next {
                Some(next) => start = next,
                None => return pages,
            }
        }
    }

    #[test]
    fn texts_are_cut_between_each_other() {
        assert_eq!(
            pages(&["aaaa", "bbbb", "cc"], 14),
            [vec!["aaaa", "bbbb"], vec!["cc"]]
        );
    }

    #[test]
    fn a_text_larger_than_a_page_is_cut_inside_and_goes_on() {
        let pages = pages(&["aaaaaaaaaa", "b"], 7);
        assert_eq!(pages.concat().concat(), "aaaaaaaaaab");
        assert!(pages.len() > 2, "{pages:?}");
    }

    #[test]
    fn nothing_is_lost_or_doubled_whatever_the_page_size() {
        let texts = [
            "",
            "é\n\u{1}\"x",
            "plain",
            "日本語のテキスト",
            &"z".repeat(50),
        ];
        for bytes in 0..80 {
            assert_eq!(
                pages(&texts, bytes).concat().concat(),
                texts.concat(),
                "{bytes} bytes"
            );
        }
    }

    #[test]
    fn a_page_keeps_to_its_size() {
        let text = "\n\u{1}é\"".repeat(100);
        for bytes in 20..200 {
            let page = page(&[text.as_str()], Position::default(), bytes);
            assert!(json_len(&page.slices[0].text) <= bytes, "{bytes} bytes");
        }
    }

    #[test]
    fn a_position_beyond_the_end_is_an_empty_last_page() {
        assert_eq!(
            page(&["a"], Position::END, 100),
            TextPage {
                slices: vec![],
                next: None
            }
        );
    }
}
