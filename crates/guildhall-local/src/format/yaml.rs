//! Front matter: YAML 1.2 read as events, so that values come with the place they stand at and nothing is expanded.
//!
//! An alias is followed only where a value of ours is one, and never into a collection's children twice, so anchors
//! cannot multiply. Size, nesting and the number of events are bounded.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use jiff::Timestamp;
use serde_saphyr::granit_parser::{
    Event, Options, Parser, ScalarStyle, Span, StructureStyle, Tag, options,
};

use super::text::trim;

/// More events than a person's front matter ever has; a file with more is reported, not read.
const MAX_EVENTS: usize = 20_000;

/// The keys an issue's creation time is read from, in this order.
pub(super) const CREATED_KEYS: [&str; 2] = ["created_at", "createdAt"];

/// Front matter as the parser saw it.
pub(super) struct Document<'t> {
    text: &'t str,
    events: Vec<(Event<'t>, Span)>,
    /// Where each anchored node begins.
    anchors: HashMap<usize, usize>,
    /// Where the anchor of a node is written.
    anchor_spans: HashMap<usize, Range<usize>>,
    root: Option<Root>,
}

struct Root {
    style: StructureStyle,
    /// The column its keys stand at, in a block mapping.
    column: usize,
    pairs: Vec<Pair>,
}

#[derive(Clone, Copy)]
struct Pair {
    key: usize,
    value: usize,
}

/// What the front matter says of the issue.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Trimmed; `None` where it is missing, blank or no string.
    pub(super) status: Option<String>,
    /// As written.
    pub(super) labels: Vec<String>,
    pub(super) created_at: Option<Timestamp>,
}

/// A place to put a new value, and the edits that go with it.
pub(super) struct Place {
    /// The bytes to replace.
    pub(super) at: Range<usize>,
    pub(super) text: String,
}

impl<'t> Document<'t> {
    /// Reads `text`; the error is what is wrong with it, in the parser's words.
    pub(super) fn read(text: &'t str) -> Result<Self, String> {
        let mut events = Vec::new();
        let mut anchors = HashMap::new();
        let mut anchor_spans = HashMap::new();
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(text, parser_options()) {
            let (event, span) = event.map_err(|error| error.to_string())?;
            match event {
                Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err("it holds more than one document".to_owned());
                    }
                    continue;
                }
                Event::Anchor(id, _) => {
                    anchor_spans.insert(id, byte_range(&span));
                    continue;
                }
                _ => {}
            }
            if let Some(id) = event.anchor_id() {
                anchors.insert(id, events.len());
            }
            if events.len() == MAX_EVENTS {
                return Err(format!("it has more than {MAX_EVENTS} nodes"));
            }
            events.push((event, span));
        }
        let mut document = Self {
            text,
            events,
            anchors,
            anchor_spans,
            root: None,
        };
        document.root = document.find_root()?;
        Ok(document)
    }

    fn find_root(&self) -> Result<Option<Root>, String> {
        let Some((Event::MappingStart(style, _, _), span)) = self.events.first() else {
            return Ok(None);
        };
        let mut pairs = Vec::new();
        let mut seen = HashSet::new();
        let mut at = 1;
        while !matches!(self.events.get(at), None | Some((Event::MappingEnd, _))) {
            let key = at;
            let value = self.after(key);
            at = self.after(value);
            if let Some(name) = self.scalar(key).map(|(text, _, _)| text)
                && !seen.insert(name)
            {
                let name: String = name.chars().take(80).collect();
                return Err(format!("the key {name:?} is given twice"));
            }
            pairs.push(Pair { key, value });
        }
        Ok(Some(Root {
            style: *style,
            column: span.start.col(),
            pairs,
        }))
    }

    /// The index after the node at `at`.
    fn after(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        let mut next = at;
        while let Some((event, _)) = self.events.get(next) {
            match event {
                Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
                Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
                _ => {}
            }
            next += 1;
            if depth == 0 {
                break;
            }
        }
        next
    }

    /// The index of the node that the node at `at` means: itself, or what it is an alias of.
    fn resolve(&self, at: usize) -> usize {
        match self.events.get(at) {
            Some((Event::Alias(id), _)) => self.anchors.get(id).copied().unwrap_or(at),
            _ => at,
        }
    }

    fn scalar(&self, at: usize) -> Option<(&str, ScalarStyle, Option<&Tag>)> {
        let (event, span) = self.events.get(self.resolve(at))?;
        match event {
            Event::Scalar(text, style, _, tag) => {
                // An absent value is told as a plain `~` of no length.
                let absent = *style == ScalarStyle::Plain && byte_range(span).is_empty();
                let text = if absent && tag.is_some() { "" } else { text };
                Some((text, *style, tag.as_deref()))
            }
            _ => None,
        }
    }

    /// The string at `at` by the core schema of YAML 1.2, or `None` for a number, truth value, null or collection.
    fn string(&self, at: usize) -> Option<&str> {
        let (text, style, tag) = self.scalar(at)?;
        is_string(text, style, tag).then_some(text)
    }

    fn pair(&self, name: &str) -> Option<Pair> {
        let root = self.root.as_ref()?;
        root.pairs
            .iter()
            .copied()
            .find(|pair| self.scalar(pair.key).is_some_and(|(key, _, _)| key == name))
    }

    pub(super) fn values(&self) -> Values {
        Values {
            status: self
                .pair("status")
                .and_then(|pair| self.string(pair.value))
                .map(trim)
                .filter(|status| !status.is_empty())
                .map(ToOwned::to_owned),
            labels: self
                .pair("labels")
                .map_or_else(Vec::new, |pair| self.strings(pair.value)),
            created_at: CREATED_KEYS.iter().find_map(|key| {
                let (text, _, _) = self.scalar(self.pair(key)?.value)?;
                read_time(text)
            }),
        }
    }

    /// The strings of the sequence at `at`; what is no string is left out.
    fn strings(&self, at: usize) -> Vec<String> {
        let start = self.resolve(at);
        let Some((Event::SequenceStart(..), _)) = self.events.get(start) else {
            return Vec::new();
        };
        let mut strings = Vec::new();
        let mut next = start + 1;
        while !matches!(self.events.get(next), None | Some((Event::SequenceEnd, _))) {
            strings.extend(self.string(next).map(ToOwned::to_owned));
            next = self.after(next);
        }
        strings
    }

    /// The edits that make `status` the value of the key `status`, or `None` where there is no such key.
    pub(super) fn place_status(&self, status: &str) -> Option<Vec<Place>> {
        let pair = self.pair("status")?;
        let (event, span) = &self.events[pair.value];
        let text = write_scalar(status);
        match event {
            Event::Scalar(_, style, anchor, _) => {
                let mut places = self.move_anchor(pair, *anchor);
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    places.extend(self.replace_block(pair, &byte_range(span), text)?);
                } else {
                    places.push(Place {
                        at: byte_range(span),
                        text,
                    });
                }
                Some(places)
            }
            Event::Alias(_) => Some(vec![Place {
                at: byte_range(span),
                text,
            }]),
            _ => None,
        }
    }

    /// Where others refer to the status by an anchor, the old value moves to the first that does: they keep what they
    /// said.
    fn move_anchor(&self, pair: Pair, anchor: usize) -> Vec<Place> {
        if anchor == 0 {
            return Vec::new();
        }
        let first = self
            .events
            .iter()
            .find(|(event, _)| matches!(event, Event::Alias(id) if *id == anchor));
        let (Some((_, alias)), Some(defined), Some((old, _, tag))) = (
            first,
            self.anchor_spans.get(&anchor),
            self.scalar(pair.value),
        ) else {
            return Vec::new();
        };
        let name = &self.text[defined.clone()];
        let tag = tag.map_or_else(String::new, |tag| format!("{} ", tag.original()));
        vec![
            Place {
                at: defined.clone(),
                text: String::new(),
            },
            Place {
                at: byte_range(alias),
                text: format!("{name} {tag}{}", write_scalar(old)),
            },
        ]
    }

    /// The edits that put `text` in the place of a block scalar: for its header, and nothing for its lines.
    fn replace_block(
        &self,
        pair: Pair,
        content: &Range<usize>,
        text: String,
    ) -> Option<[Place; 2]> {
        let bytes = self.text.as_bytes();
        let span = &self.events[pair.value].1;
        let mut at = byte_range(&self.events[pair.key].1).end;
        if let Some(tag) = span.tag_span() {
            at = at.max(byte_range(&tag).end);
        }
        if let Some(id) = self.events[pair.value].0.anchor_id()
            && let Some(anchor) = self.anchor_spans.get(&id)
        {
            at = at.max(anchor.end);
        }
        // Between the key or its properties and the header stand only space, the colon and comments.
        while !matches!(bytes.get(at)?, b'|' | b'>') {
            at += match bytes[at] {
                b'#' => line_end(bytes, at) - at,
                _ => 1,
            };
        }
        let header = at..at
            + bytes[at..]
                .iter()
                .take_while(|byte| matches!(byte, b'|' | b'>' | b'+' | b'-' | b'0'..=b'9'))
                .count();
        let line = line_end(bytes, header.end);
        // At the very end of the front matter the last line has no line end of its own, so the header's goes.
        let from = if content.end == bytes.len() && !ends_line(bytes) {
            line
        } else {
            line + newline_len(&bytes[line..])
        };
        Some([
            Place { at: header, text },
            Place {
                at: from..content.end.max(from),
                text: String::new(),
            },
        ])
    }

    /// The edit that adds a creation time below the status, or `None` where it cannot be added.
    pub(super) fn place_created(&self, at: &str, newline: &str) -> Option<Place> {
        let key = CREATED_KEYS
            .into_iter()
            .find(|key| self.pair(key).is_none())?;
        let root = self.root.as_ref()?;
        let pair = self.pair("status")?;
        let (event, span) = &self.events[pair.value];
        let value_end = byte_range(span).end;
        if root.style == StructureStyle::Flow {
            return Some(Place {
                at: value_end..value_end,
                text: format!(", {key}: \"{at}\""),
            });
        }
        let bytes = self.text.as_bytes();
        let indent = " ".repeat(root.column);
        let block = matches!(
            event,
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, _, _)
        );
        if block {
            // A block scalar runs as far as it likes, so the new line goes above its key.
            let key_start = byte_range(&self.events[pair.key].1).start;
            let start = line_start(bytes, key_start);
            return Some(Place {
                at: start..start,
                text: format!("{indent}{key}: {at}{newline}"),
            });
        }
        let end = line_end(bytes, value_end);
        Some(Place {
            at: end..end,
            text: format!("{newline}{indent}{key}: {at}"),
        })
    }
}

fn parser_options() -> Options {
    options! {
        emit_anchor_events: true,
        // A front matter ends before its closing line, so its last line has no line end of its own.
        block_scalar_eof_without_line_feed: true,
        flow_nesting_limit: 64,
        block_nesting_limit: 64,
    }
}

fn byte_range(span: &Span) -> Range<usize> {
    span.byte_range()
        .expect("a parser over a string knows byte offsets")
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))
        .map_or(bytes.len(), |step| from + step)
}

fn line_start(bytes: &[u8], at: usize) -> usize {
    bytes[..at]
        .iter()
        .rposition(|byte| matches!(byte, b'\n' | b'\r'))
        .map_or(0, |before| before + 1)
}

fn newline_len(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

fn ends_line(bytes: &[u8]) -> bool {
    matches!(bytes.last(), Some(b'\n' | b'\r'))
}

fn is_string(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    match tag {
        Some(tag) => !matches!(
            tag.core_suffix(),
            Some("null" | "bool" | "int" | "float" | "seq" | "map")
        ),
        None => style != ScalarStyle::Plain || !is_core_value(text),
    }
}

/// Whether a plain scalar is null, a truth value or a number in the core schema of YAML 1.2.
fn is_core_value(text: &str) -> bool {
    matches!(
        text,
        "" | "~"
            | "null"
            | "Null"
            | "NULL"
            | "true"
            | "True"
            | "TRUE"
            | "false"
            | "False"
            | "FALSE"
    ) || is_core_number(text)
}

fn is_core_number(text: &str) -> bool {
    let based = |prefix: &str, digit: fn(&u8) -> bool| {
        text.strip_prefix(prefix)
            .is_some_and(|digits| !digits.is_empty() && digits.as_bytes().iter().all(digit))
    };
    if based("0o", |byte| (b'0'..=b'7').contains(byte)) || based("0x", u8::is_ascii_hexdigit) {
        return true;
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = match mantissa.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part) && whole.len() + part.len() > 0,
        None => !mantissa.is_empty() && digits(mantissa),
    };
    whole
        && exponent.is_none_or(|exponent| {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent)
        })
}

/// `text` as a YAML scalar on one line, fit for block and flow: plain where nothing can read it as anything else.
pub(super) fn write_scalar(text: &str) -> String {
    let plain = text.chars().next().is_some_and(char::is_alphabetic)
        && !text.ends_with(' ')
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | '(' | ')'))
        && !is_core_value(text)
        // Readers of YAML 1.1 take these for truth values.
        && !["y", "n", "yes", "no", "on", "off"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word));
    if plain {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A time as people write it in front matter: RFC 3339, or without an offset, or a date alone, both in UTC.
fn read_time(text: &str) -> Option<Timestamp> {
    let text = trim(text);
    text.parse().ok().or_else(|| {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()
    })
}
