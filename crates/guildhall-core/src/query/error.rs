//! What can be wrong with a query.

use thiserror::Error;

use super::{MAX_DEPTH, MAX_NAMES, MAX_NODES};

/// Why an envelope was refused.
///
/// The texts are stable: clients match on them. Those that begin with `filter`, and those about `order_by`, `limit`,
/// `offset` and `select`, are the literals of the query page.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum QueryError {
    /// A filter, or a member of one, is an array, a scalar or `null`.
    #[error("filter: each node must be an object")]
    NodeNotObject,
    /// Combinators are nested deeper than [`MAX_DEPTH`].
    #[error("filter nesting exceeds {MAX_DEPTH} levels")]
    TooDeep,
    /// There are more than [`MAX_NODES`] combinators and predicates.
    #[error("filter has more than {MAX_NODES} nodes")]
    TooManyNodes,
    /// A combinator's key stands beside another key.
    #[error("filter: a combinator node must have exactly one of 'and', 'or', or 'not'")]
    MixedCombinator,
    /// `and` or `or` without members; carries which.
    #[error("filter: '{0}' must be a non-empty array of filters")]
    EmptyCombinator(&'static str),
    /// `field` is missing, blank or not a string.
    #[error("filter: predicate 'field' must be a non-empty string")]
    BadField,
    /// `op` is missing or not a string.
    #[error("filter: predicate 'op' must be a string")]
    BadOp,
    /// A comparison with an array, an object or nothing; carries the op.
    #[error("filter: '{0}' value must be a string, number, boolean, or null")]
    NotScalar(&'static str),
    /// `in` or `nin` with something else than scalars; carries the op.
    #[error("filter: '{0}' value must be an array of scalars")]
    NotScalars(&'static str),
    /// `contains` without a string.
    #[error("filter: 'contains' value must be a string")]
    BadNeedle,
    /// `ci` that is not a boolean.
    #[error("filter: 'contains' ci must be a boolean")]
    BadCi,
    /// `exists` without a boolean.
    #[error("filter: 'exists' value must be a boolean")]
    BadExists,
    /// An op the language does not have; carries it, cut after 100 characters.
    #[error("filter: unknown op '{0}'")]
    UnknownOp(String),
    /// `order_by` that is not an array.
    #[error("order_by must be an array")]
    OrderNotArray,
    /// An item of `order_by` without a field.
    #[error("order_by items must be {{ field: string, dir?: 'asc' | 'desc' }}")]
    BadOrderItem,
    /// `dir` that is neither `asc` nor `desc`.
    #[error("order_by dir must be 'asc' or 'desc'")]
    BadDir,
    /// `order_by` names more than [`MAX_NAMES`] different fields.
    #[error("order_by names more than {MAX_NAMES} fields")]
    OrderTooLong,
    /// `limit` that is not an integer of at least 1.
    #[error("limit must be a positive integer")]
    BadLimit,
    /// `offset` that is not an integer of at least 0.
    #[error("offset must be a non-negative integer")]
    BadOffset,
    /// `select` that is not an array of strings.
    #[error("select must be an array of field-name strings")]
    BadSelect,
    /// `select` names more than [`MAX_NAMES`] different fields.
    #[error("select names more than {MAX_NAMES} fields")]
    SelectTooLong,
    /// `count` that is not a boolean.
    #[error("count must be a boolean")]
    BadCount,
    /// `group_by` that is not the name of a field.
    #[error("group_by must be a non-empty string")]
    BadGroupBy,
    /// Both of the arguments that change the answer's shape.
    #[error("count and group_by cannot be used together")]
    CountAndGroupBy,
}
