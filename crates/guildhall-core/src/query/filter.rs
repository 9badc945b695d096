//! The filter tree: how it is planned and how a record is held against it.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::Value;

use super::field::double;
use super::text::Needle;
use super::{FieldRef, Record};

/// How deep combinators may be nested; the root is at 1.
pub const MAX_DEPTH: usize = 12;
/// How many combinators and predicates a filter may have.
pub const MAX_NODES: usize = 200;

/// A checked filter.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    And(Box<[Filter]>),
    Or(Box<[Filter]>),
    Not(Box<Filter>),
    Predicate { field: Box<str>, test: Test },
}

/// What a predicate asks of a field that is present, or, for `Exists`, whether it is.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Equal {
        value: Scalar,
        negated: bool,
    },
    Compare {
        value: Scalar,
        comparison: Comparison,
    },
    OneOf {
        values: ScalarSet,
        negated: bool,
    },
    Contains(Needle),
    Exists(bool),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// A value that a filter compares with.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
}

impl Scalar {
    pub(super) fn parse(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => Self::Number(double(number)),
            Value::String(text) => Self::Text(text.as_str().into()),
            Value::Array(_) | Value::Object(_) => return None,
        })
    }

    /// Strictly, without coercion; `field` is normal.
    #[expect(clippy::float_cmp, reason = "the language compares doubles strictly")]
    fn equals(&self, field: FieldRef<'_>) -> bool {
        match (self, field) {
            (Self::Null, FieldRef::Null) => true,
            (Self::Bool(a), FieldRef::Bool(b)) => *a == b,
            (Self::Number(a), FieldRef::Number(b)) => *a == b,
            (Self::Text(a), FieldRef::Text(b)) => **a == *b,
            _ => false,
        }
    }

    /// How the field stands to this value, where they can be compared; `field` is normal.
    fn order_of(&self, field: FieldRef<'_>) -> Option<Ordering> {
        match (field, self) {
            (FieldRef::Number(a), Self::Number(b)) => a.partial_cmp(b),
            (FieldRef::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// Up to this many members, comparing with each is faster than hashing.
const SMALL_SET: usize = 8;

/// The members of an `in` or `nin`.
#[derive(Clone, Debug, Default)]
pub(super) struct ScalarSet {
    null: bool,
    truths: [bool; 2],
    numbers: Members<u64>,
    texts: Members<Box<str>>,
}

#[derive(Clone, Debug)]
enum Members<T> {
    Few(Vec<T>),
    Many(HashSet<T>),
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<T: Eq + std::hash::Hash> Members<T> {
    fn insert(&mut self, member: T) {
        match self {
            Self::Few(few) if few.contains(&member) => {}
            Self::Few(few) if few.len() < SMALL_SET => few.push(member),
            Self::Few(few) => {
                let mut many: HashSet<T> = few.drain(..).collect();
                many.insert(member);
                *self = Self::Many(many);
            }
            Self::Many(many) => {
                many.insert(member);
            }
        }
    }

    fn contains<Q>(&self, member: &Q) -> bool
    where
        T: std::borrow::Borrow<Q>,
        Q: Eq + std::hash::Hash + ?Sized,
    {
        match self {
            Self::Few(few) => few.iter().any(|one| one.borrow() == member),
            Self::Many(many) => many.contains(member),
        }
    }
}

impl ScalarSet {
    pub(super) fn insert(&mut self, scalar: Scalar) {
        match scalar {
            Scalar::Null => self.null = true,
            Scalar::Bool(truth) => self.truths[usize::from(truth)] = true,
            Scalar::Number(number) => self.numbers.insert(bits(number)),
            Scalar::Text(text) => self.texts.insert(text),
        }
    }

    /// `field` is normal.
    fn contains(&self, field: FieldRef<'_>) -> bool {
        match field {
            FieldRef::Null => self.null,
            FieldRef::Bool(truth) => self.truths[usize::from(truth)],
            FieldRef::Number(number) => self.numbers.contains(&bits(number)),
            FieldRef::Text(text) => self.texts.contains(text),
            FieldRef::Texts(_) | FieldRef::Json(_) => false,
        }
    }

    fn texts(&self) -> Vec<&str> {
        match &self.texts {
            Members::Few(few) => few.iter().map(|text| &**text).collect(),
            Members::Many(many) => many.iter().map(|text| &**text).collect(),
        }
    }
}

/// Equal for equal numbers: -0 is 0, and JSON has no NaN.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

impl Test {
    fn holds(&self, field: Option<FieldRef<'_>>) -> bool {
        let Some(field) = field.map(FieldRef::normal) else {
            return matches!(self, Self::Exists(false));
        };
        match self {
            Self::Equal { value, negated } => value.equals(field) != *negated,
            Self::Compare { value, comparison } => value
                .order_of(field)
                .is_some_and(|ordering| comparison.accepts(ordering)),
            Self::OneOf { values, negated } => values.contains(field) != *negated,
            Self::Contains(needle) => match field {
                FieldRef::Text(text) => needle.is_in(text),
                FieldRef::Texts(texts) => texts.iter().any(|text| needle.is_in(text)),
                FieldRef::Json(Value::Array(elements)) => needle.is_in_any(elements),
                _ => false,
            },
            Self::Exists(wanted) => *wanted,
        }
    }

    /// What the test costs beside others; only the order of these figures matters.
    fn cost(&self) -> usize {
        match self {
            Self::Exists(_) => 1,
            Self::Equal { .. } | Self::Compare { .. } => 2,
            Self::OneOf { .. } => 4,
            Self::Contains(_) => 16,
        }
    }
}

impl Filter {
    /// The same filter with the cheap members of each combinator first. Members have no side effects and cannot fail, so
    /// their order is not to be seen in any answer.
    pub(super) fn plan(self) -> Self {
        fn cheapest_first(members: Box<[Filter]>) -> Box<[Filter]> {
            let mut members: Vec<Filter> = members.into_iter().map(Filter::plan).collect();
            members.sort_by_cached_key(Filter::cost);
            members.into()
        }
        match self {
            Self::And(members) => Self::And(cheapest_first(members)),
            Self::Or(members) => Self::Or(cheapest_first(members)),
            Self::Not(inner) => Self::Not(Box::new(inner.plan())),
            predicate @ Self::Predicate { .. } => predicate,
        }
    }

    fn cost(&self) -> usize {
        match self {
            Self::And(members) | Self::Or(members) => members.iter().map(Self::cost).sum(),
            Self::Not(inner) => inner.cost(),
            Self::Predicate { test, .. } => test.cost(),
        }
    }

    pub(super) fn matches<R: Record + ?Sized>(&self, record: &R) -> bool {
        match self {
            Self::And(members) => members.iter().all(|member| member.matches(record)),
            Self::Or(members) => members.iter().any(|member| member.matches(record)),
            Self::Not(inner) => !inner.matches(record),
            Self::Predicate { field, test } => test.holds(record.field(field)),
        }
    }

    /// As [`Self::matches`], where the fields `unread` are not known: `None` when it depends on them.
    pub(super) fn decide<R: Record + ?Sized>(&self, record: &R, unread: &[&str]) -> Option<bool> {
        match self {
            Self::And(members) => decide_until(members, record, unread, false),
            Self::Or(members) => decide_until(members, record, unread, true),
            Self::Not(inner) => inner.decide(record, unread).map(|truth| !truth),
            Self::Predicate { field, .. } if unread.contains(&&**field) => None,
            Self::Predicate { field, test } => Some(test.holds(record.field(field))),
        }
    }

    pub(super) fn mentions(&self, name: &str) -> bool {
        match self {
            Self::And(members) | Self::Or(members) => {
                members.iter().any(|member| member.mentions(name))
            }
            Self::Not(inner) => inner.mentions(name),
            Self::Predicate { field, .. } => **field == *name,
        }
    }

    /// The only strings that `name` can be where the filter holds, or `None` when it is not so confined.
    ///
    /// They may be more than can match, and the same one more than once, but never fewer.
    pub(super) fn pinned(&self, name: &str) -> Option<Vec<&str>> {
        match self {
            Self::And(members) => members
                .iter()
                .filter_map(|member| member.pinned(name))
                .min_by_key(Vec::len),
            Self::Or(members) => {
                let pinned: Option<Vec<_>> =
                    members.iter().map(|member| member.pinned(name)).collect();
                pinned.map(|sets| sets.concat())
            }
            Self::Predicate { field, test } if **field == *name => match test {
                Test::Equal {
                    value: Scalar::Text(text),
                    negated: false,
                } => Some(vec![text]),
                Test::Equal { negated: false, .. } => Some(Vec::new()),
                Test::OneOf {
                    values,
                    negated: false,
                } => Some(values.texts()),
                _ => None,
            },
            Self::Not(_) | Self::Predicate { .. } => None,
        }
    }
}

/// `Some(end)` as soon as a member is `end`, `None` when one is not known, else the opposite of `end`.
fn decide_until<R: Record + ?Sized>(
    members: &[Filter],
    record: &R,
    unread: &[&str],
    end: bool,
) -> Option<bool> {
    let mut decision = Some(!end);
    for member in members {
        match member.decide(record, unread) {
            Some(truth) if truth == end => return Some(end),
            Some(_) => {}
            None => decision = None,
        }
    }
    decision
}
