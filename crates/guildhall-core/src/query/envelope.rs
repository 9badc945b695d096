//! The parsed envelope, and what it tells a caller before it runs.

use serde_json::{Map, Value};

use super::filter::Filter;
use super::order::OrderKey;
use super::{QueryError, Record, parse};

/// How many rows a page has where `limit` is not given.
pub const DEFAULT_LIMIT: usize = 100;
/// The most rows a page has; a larger `limit` is clamped to it.
pub const MAX_LIMIT: usize = 1000;
/// How many different fields `select` and `order_by` may name, so that no query can cost more than its filter may.
pub const MAX_NAMES: usize = 200;

/// A checked query.
#[derive(Clone, Debug)]
pub struct Envelope {
    pub(super) filter: Option<Filter>,
    pub(super) order: Vec<OrderKey>,
    pub(super) limit: usize,
    pub(super) limit_given: bool,
    pub(super) offset: usize,
    pub(super) select: Option<Vec<String>>,
    pub(super) shape: Shape,
}

/// What the answer consists of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Shape {
    /// `{ rows, total }`.
    Rows,
    /// `count: true`: `{ total }`.
    Count,
    /// `group_by`: `{ groups, total }`, by the named field.
    Groups(String),
}

/// The only records that can match a filter, told by the text of one field.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lookup<'a> {
    /// `id` or `identifier`.
    pub field: &'static str,
    /// The texts it can have, in code-point order, each once. May be empty: then nothing matches.
    pub values: Vec<&'a str>,
}

impl Envelope {
    /// Reads `where`, `select`, `order_by`, `limit`, `offset`, `count` and `group_by` from a tool's arguments; other
    /// keys are the caller's.
    ///
    /// # Errors
    ///
    /// The first of what is wrong, in the order `where`, `order_by`, `limit`, `offset`, `select`, `count`, `group_by`.
    pub fn parse(arguments: &Map<String, Value>) -> Result<Self, QueryError> {
        parse::envelope(arguments)
    }

    /// What the answer consists of.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The most rows of the page, 1 to [`MAX_LIMIT`].
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether the call named a `limit` itself.
    pub fn limit_given(&self) -> bool {
        self.limit_given
    }

    /// How many rows come before the page.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The selected fields in order, each once, or `None` where the tool's default projection applies.
    pub fn select(&self) -> Option<&[String]> {
        self.select.as_deref()
    }

    /// Whether the filter, the order or the grouping reads the field, so that it must be there before [`Self::run`].
    ///
    /// A field that is only selected is needed for the rows of the page alone: see [`Self::selects`].
    pub fn mentions(&self, field: &str) -> bool {
        self.filters_on(field)
            || self.order.iter().any(|key| key.field == field)
            || matches!(&self.shape, Shape::Groups(by) if by == field)
    }

    /// Whether the filter reads the field.
    pub fn filters_on(&self, field: &str) -> bool {
        self.filter
            .as_ref()
            .is_some_and(|filter| filter.mentions(field))
    }

    /// Whether rows are asked for and `select` names the field.
    pub fn selects(&self, field: &str) -> bool {
        self.shape == Shape::Rows
            && self
                .select
                .as_ref()
                .is_some_and(|select| select.iter().any(|name| name == field))
    }

    /// The records that can match, where the filter pins `id` or `identifier` (by `eq` or `in`, alone or within `and`,
    /// or in every branch of an `or`), so that a caller can look them up instead of scanning.
    ///
    /// They are candidates: the filter still has to be applied to them, and they have to be given to [`Self::run`] in the
    /// order in which a scan would meet them. Holds for records whose `id` and `identifier` are text or absent.
    pub fn lookup(&self) -> Option<Lookup<'_>> {
        ["id", "identifier"]
            .into_iter()
            .filter_map(|field| {
                let values = self.pinned(field)?;
                Some(Lookup { field, values })
            })
            .min_by_key(|lookup| lookup.values.len())
    }

    /// As [`Self::lookup`] for a field of the caller's choice, such as the `issueId` of a chat: the only texts it can
    /// have, in code-point order, each once, or `None` where the filter does not confine it.
    pub fn pinned(&self, field: &str) -> Option<Vec<&str>> {
        let mut values = self.filter.as_ref()?.pinned(field)?;
        values.sort_unstable();
        values.dedup();
        Some(values)
    }

    /// Whether the record passes the filter.
    pub fn matches<R: Record + ?Sized>(&self, record: &R) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.matches(record))
    }

    /// Whether the record passes the filter, as far as that can be told without the fields `unread`: `None` when it
    /// depends on them.
    ///
    /// A caller reads a costly field only for the records that are not decided without it.
    pub fn decide<R: Record + ?Sized>(&self, record: &R, unread: &[&str]) -> Option<bool> {
        self.filter
            .as_ref()
            .map_or(Some(true), |filter| filter.decide(record, unread))
    }
}
