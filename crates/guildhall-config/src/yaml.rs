//! YAML as a tree in which every value knows where it stands.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::problem::{Position, Problem};

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Position,
}

/// A value as it was written. Maps keep the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) at: Position,
}

impl Node {
    /// The value as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(value) => Json::Number(value.clone()),
            Value::Text(value) => Json::String(value.clone()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.to_json()))
                    .collect(),
            ),
        }
    }
}

/// Parses `text`, whose first line is line `first_line` of the file. `None` for a text without a value.
pub(crate) fn parse(text: &str, first_line: u32) -> Result<Option<Node>, Problem> {
    let options = serde_saphyr::options! {
        // Far above any settings file, far below what would be felt.
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_nodes: 100_000,
            max_events: 200_000,
            max_anchors: 100,
            max_aliases: 1_000,
            max_documents: 1,
        },
        // `no` and `on` are words, and `007` is an id.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        // A snippet would repeat the file's text, and with it perhaps a secret.
        with_snippet: false,
    };
    let tree: Option<Spanned<Tree>> = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| parse_error(&error, first_line))?;
    Ok(tree.map(|tree| locate(tree, first_line)))
}

fn parse_error(error: &serde_saphyr::Error, first_line: u32) -> Problem {
    use serde_saphyr::Error;
    let error = error.without_snippet();
    // Where the library's text speaks to a programmer, ours speaks to whoever wrote the file.
    let text = match error {
        Error::NullIntoString { .. } => "a key must be text".to_owned(),
        Error::DuplicateMappingKey { .. } => {
            let text = error.to_string();
            let end = text.find(", set DuplicateKeyPolicy");
            text[..end.unwrap_or(text.len())].to_owned()
        }
        Error::Budget { breach, .. } => {
            format!("more than settings may have: {breach:?}")
        }
        _ => error.to_string(),
    };
    // The position is that in the file, not that in the front matter, so the library's own is cut off.
    let text = text.split(" at line ").next().unwrap_or(&text);
    let at = error.location();
    Problem {
        path: String::new(),
        position: at.map(|location| position(location, first_line)),
        message: format!("workflow_parse_error: {text}"),
        hint: None,
    }
}

fn position(location: serde_saphyr::Location, first_line: u32) -> Position {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Position {
        line: number(location.line()).saturating_add(first_line - 1),
        column: number(location.column()),
    }
}

/// The tree as the library gives it, before lines are those of the file.
enum Tree {
    Leaf(Value),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

fn locate(tree: Spanned<Tree>, first_line: u32) -> Node {
    let value = match tree.value {
        Tree::Leaf(value) => value,
        Tree::List(items) => Value::List(
            items
                .into_iter()
                .map(|item| locate(item, first_line))
                .collect(),
        ),
        Tree::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, node)| {
                    let at = position(key.referenced, first_line);
                    let name = key.value;
                    (Key { name, at }, locate(node, first_line))
                })
                .collect(),
        ),
    };
    Node {
        value,
        at: position(tree.referenced, first_line),
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Number(value.into())))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Tree, E> {
        serde_json::Number::from_f64(value)
            .map(|number| Tree::Leaf(Value::Number(number)))
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    #[test]
    fn every_value_and_key_knows_its_place_in_the_file() {
        let node = parse("server:\n  port: 4040\n  hosts: [a, b]\n", 2)
            .unwrap()
            .unwrap();
        let Value::Map(top) = node.value else {
            panic!("a map")
        };
        assert_eq!(top[0].0.at, at(2, 1));
        let Value::Map(server) = &top[0].1.value else {
            panic!("a map")
        };
        assert_eq!(
            (server[0].0.name.as_str(), server[0].0.at),
            ("port", at(3, 3))
        );
        assert_eq!(server[0].1.at, at(3, 9));
        let Value::List(hosts) = &server[1].1.value else {
            panic!("a list")
        };
        assert_eq!(hosts[1].at, at(4, 14));
    }

    #[test]
    fn words_stay_words() {
        let node = parse(
            "a: no\nb: on\nc: 007\nd: 1_000\ne: true\nf: 1.5\ng: ~\n42: x",
            1,
        )
        .unwrap()
        .unwrap();
        assert_eq!(
            node.to_json(),
            serde_json::json!({
                "a": "no", "b": "on", "c": "007", "d": "1_000", "e": true, "f": 1.5, "g": null, "42": "x",
            })
        );
    }

    #[test]
    fn an_empty_text_has_no_value() {
        for text in ["", "\n", "# only a comment\n", "~\n"] {
            assert!(
                parse(text, 1)
                    .unwrap()
                    .is_none_or(|node| node.value == Value::Null),
                "{text:?}"
            );
        }
    }

    #[test]
    fn merge_keys_and_anchors_are_followed() {
        let node = parse("base: &b {x: 1}\nother:\n  <<: *b\n  y: 2\nalias: *b\n", 1)
            .unwrap()
            .unwrap();
        assert_eq!(
            node.to_json(),
            serde_json::json!({"base": {"x": 1}, "other": {"x": 1, "y": 2}, "alias": {"x": 1}})
        );
    }

    #[test]
    fn documents_that_grow_without_bound_are_refused() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..12 {
            let items = vec![format!("*a{}", level - 1); 10].join(",");
            bomb += &[
                "a",
                &level.to_string(),
                ": &a",
                &level.to_string(),
                " [",
                &items,
                "]\n",
            ]
            .concat();
        }
        let deep = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
        let wide = format!("a: [{}]", "1,".repeat(200_000));
        for text in [bomb, deep, wide] {
            let problem = parse(&text, 2).unwrap_err();
            assert!(
                problem.message.starts_with("workflow_parse_error: "),
                "{problem}"
            );
            assert!(problem.message.len() < 300, "{problem}");
        }
    }

    #[test]
    fn texts_for_programmers_are_replaced() {
        for (text, expected) in [
            ("null: 1", "2:1: workflow_parse_error: a key must be text"),
            (
                "a: 1\na: 2",
                "3:1: workflow_parse_error: duplicate mapping key: a",
            ),
            (
                "a: 1\n---\nb: 2",
                "3:1: workflow_parse_error: more than settings may have: Documents { documents: 2 }",
            ),
        ] {
            assert_eq!(parse(text, 2).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn an_error_names_its_place_and_repeats_no_text() {
        let problem = parse("a: 1\ntoken: \"s3cr3t-canary\nb: 2\n", 2).unwrap_err();
        assert!(problem.position.is_some_and(|at| at.line >= 3), "{problem}");
        assert!(!problem.to_string().contains("canary"), "{problem}");
        let problem = parse("a: 1\na: 2\n", 2).unwrap_err();
        assert_eq!(problem.position, Some(at(3, 1)), "{problem}");
    }
}
