//! From a tool's arguments to a checked envelope. What is refused, with which message and in which order is the query
//! page's.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::QueryError;
use super::envelope::{DEFAULT_LIMIT, Envelope, MAX_LIMIT, MAX_NAMES, Shape};
use super::field::double;
use super::filter::{Comparison, Filter, MAX_DEPTH, MAX_NODES, Scalar, ScalarSet, Test};
use super::order::OrderKey;
use super::text::Needle;

/// The first error in the page's order: `where`, `order_by`, `limit`, `offset`, `select`, then `count` and `group_by`.
pub(super) fn envelope(arguments: &Map<String, Value>) -> Result<Envelope, QueryError> {
    let filter = match arguments.get("where") {
        None | Some(Value::Null) => None,
        Some(node) => Some(FilterParser { nodes: 0 }.filter(node, 1)?.plan()),
    };
    let order = arguments
        .get("order_by")
        .map_or(Ok(Vec::new()), order_keys)?;
    let limit = arguments.get("limit").map(limit).transpose()?;
    let offset = arguments.get("offset").map_or(Ok(0), offset)?;
    let select = match arguments.get("select") {
        None | Some(Value::Null) => None,
        Some(names) => Some(selection(names)?),
    };
    let shape = shape(arguments)?;
    Ok(Envelope {
        filter,
        order,
        limit: limit.unwrap_or(DEFAULT_LIMIT),
        limit_given: limit.is_some(),
        offset,
        select,
        shape,
    })
}

/// Parses a filter tree; never goes deeper than [`MAX_DEPTH`] nor visits more than [`MAX_NODES`], whatever it is given.
struct FilterParser {
    nodes: usize,
}

impl FilterParser {
    fn filter(&mut self, node: &Value, depth: usize) -> Result<Filter, QueryError> {
        let node = node.as_object().ok_or(QueryError::NodeNotObject)?;
        if depth > MAX_DEPTH {
            return Err(QueryError::TooDeep);
        }
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(QueryError::TooManyNodes);
        }
        let (and, or, not) = (node.get("and"), node.get("or"), node.get("not"));
        let is_combinator = and.or(or).or(not).is_some();
        if is_combinator && node.len() != 1 {
            return Err(QueryError::MixedCombinator);
        }
        if let Some(members) = and {
            return Ok(Filter::And(self.members("and", members, depth)?));
        }
        if let Some(members) = or {
            return Ok(Filter::Or(self.members("or", members, depth)?));
        }
        if let Some(inner) = not {
            return Ok(Filter::Not(Box::new(self.filter(inner, depth + 1)?)));
        }
        predicate(node)
    }

    fn members(
        &mut self,
        name: &'static str,
        members: &Value,
        depth: usize,
    ) -> Result<Box<[Filter]>, QueryError> {
        let members = members
            .as_array()
            .filter(|members| !members.is_empty())
            .ok_or(QueryError::EmptyCombinator(name))?;
        members
            .iter()
            .map(|member| self.filter(member, depth + 1))
            .collect()
    }
}

fn predicate(node: &Map<String, Value>) -> Result<Filter, QueryError> {
    let field = field_name(node.get("field")).ok_or(QueryError::BadField)?;
    let op = node
        .get("op")
        .and_then(Value::as_str)
        .ok_or(QueryError::BadOp)?;
    let value = node.get("value");
    let test = match op {
        "eq" => equal("eq", value, false)?,
        "ne" => equal("ne", value, true)?,
        "lt" => compare("lt", value, Comparison::Less)?,
        "lte" => compare("lte", value, Comparison::LessOrEqual)?,
        "gt" => compare("gt", value, Comparison::Greater)?,
        "gte" => compare("gte", value, Comparison::GreaterOrEqual)?,
        "in" => one_of("in", value, false)?,
        "nin" => one_of("nin", value, true)?,
        "contains" => contains(value, node.get("ci"))?,
        "exists" => value
            .and_then(Value::as_bool)
            .map(Test::Exists)
            .ok_or(QueryError::BadExists)?,
        unknown => return Err(QueryError::UnknownOp(cut(unknown))),
    };
    Ok(Filter::Predicate {
        field: field.into(),
        test,
    })
}

fn equal(op: &'static str, value: Option<&Value>, negated: bool) -> Result<Test, QueryError> {
    let value = scalar(op, value)?;
    Ok(Test::Equal { value, negated })
}

fn compare(
    op: &'static str,
    value: Option<&Value>,
    comparison: Comparison,
) -> Result<Test, QueryError> {
    let value = scalar(op, value)?;
    Ok(Test::Compare { value, comparison })
}

fn scalar(op: &'static str, value: Option<&Value>) -> Result<Scalar, QueryError> {
    value
        .and_then(Scalar::parse)
        .ok_or(QueryError::NotScalar(op))
}

fn one_of(op: &'static str, value: Option<&Value>, negated: bool) -> Result<Test, QueryError> {
    let members = value
        .and_then(Value::as_array)
        .ok_or(QueryError::NotScalars(op))?;
    let mut values = ScalarSet::default();
    for member in members {
        values.insert(Scalar::parse(member).ok_or(QueryError::NotScalars(op))?);
    }
    Ok(Test::OneOf { values, negated })
}

fn contains(value: Option<&Value>, ci: Option<&Value>) -> Result<Test, QueryError> {
    let text = value.and_then(Value::as_str).ok_or(QueryError::BadNeedle)?;
    let ignore_case = match ci {
        None => false,
        Some(ci) => ci.as_bool().ok_or(QueryError::BadCi)?,
    };
    Ok(Test::Contains(Needle::new(text, ignore_case)))
}

/// A second key of the same field could never decide, and is dropped.
fn order_keys(value: &Value) -> Result<Vec<OrderKey>, QueryError> {
    let items = value.as_array().ok_or(QueryError::OrderNotArray)?;
    let mut seen = HashSet::new();
    let mut keys = Vec::new();
    for item in items {
        let item = item.as_object().ok_or(QueryError::BadOrderItem)?;
        let field = field_name(item.get("field")).ok_or(QueryError::BadOrderItem)?;
        let descending = match item.get("dir").map(Value::as_str) {
            None | Some(Some("asc")) => false,
            Some(Some("desc")) => true,
            Some(_) => return Err(QueryError::BadDir),
        };
        if seen.insert(field) {
            keys.push(OrderKey {
                field: field.to_owned(),
                descending,
            });
        }
        if keys.len() > MAX_NAMES {
            return Err(QueryError::OrderTooLong);
        }
    }
    Ok(keys)
}

fn limit(value: &Value) -> Result<usize, QueryError> {
    let limit = integer(value).ok_or(QueryError::BadLimit)?;
    if limit == 0 {
        return Err(QueryError::BadLimit);
    }
    Ok(limit.min(MAX_LIMIT))
}

fn offset(value: &Value) -> Result<usize, QueryError> {
    integer(value).ok_or(QueryError::BadOffset)
}

/// A non-negative whole number, written in any way JSON has; one too large for a `usize` is its maximum.
fn integer(value: &Value) -> Option<usize> {
    let Value::Number(number) = value else {
        return None;
    };
    let number = double(number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and not negative; the cast saturates"
    )]
    (number >= 0.0 && number.fract() == 0.0).then_some(number as usize)
}

fn selection(value: &Value) -> Result<Vec<String>, QueryError> {
    let names = value.as_array().ok_or(QueryError::BadSelect)?;
    if !names.iter().all(Value::is_string) {
        return Err(QueryError::BadSelect);
    }
    let mut seen = HashSet::new();
    let mut selected = Vec::new();
    for name in names.iter().filter_map(Value::as_str) {
        if seen.insert(name) {
            selected.push(name.to_owned());
        }
        if selected.len() > MAX_NAMES {
            return Err(QueryError::SelectTooLong);
        }
    }
    Ok(selected)
}

/// `count` and `group_by` may be `null`, which is the same as leaving them out.
fn shape(arguments: &Map<String, Value>) -> Result<Shape, QueryError> {
    let count = match arguments.get("count") {
        None | Some(Value::Null) => false,
        Some(count) => count.as_bool().ok_or(QueryError::BadCount)?,
    };
    let group_by = match arguments.get("group_by") {
        None | Some(Value::Null) => None,
        given => Some(field_name(given).ok_or(QueryError::BadGroupBy)?),
    };
    match (count, group_by) {
        (false, None) => Ok(Shape::Rows),
        (true, None) => Ok(Shape::Count),
        (false, Some(field)) => Ok(Shape::Groups(field.to_owned())),
        (true, Some(_)) => Err(QueryError::CountAndGroupBy),
    }
}

fn field_name(value: Option<&Value>) -> Option<&str> {
    value
        .and_then(Value::as_str)
        .filter(|name| !name.trim().is_empty())
}

/// A message repeats what it was given, but not a megabyte of it.
fn cut(given: &str) -> String {
    match given.char_indices().nth(100) {
        None => given.to_owned(),
        Some((end, _)) => format!("{}...", &given[..end]),
    }
}
