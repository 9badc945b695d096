//! The read-only query language: one envelope (`where`, `select`, `order_by`, `limit`, `offset`) for every query tool.
//!
//! A query goes through four stages, each in its own file:
//!
//! 1. *parse*: a tool's arguments become an [`Envelope`]; every rule is checked here, before any backend is asked;
//! 2. *plan*: the parts of an `and` or `or` are put in the order of their cost, and the envelope says what it needs
//!    ([`Envelope::lookup`], [`Envelope::mentions`], [`Envelope::selects`]), so that a caller can look up instead of
//!    scanning and leave costly fields unread;
//! 3. *evaluate*: [`Envelope::matches`] holds a record against the filter, without allocating for predicates that compare;
//! 4. *page*: [`Envelope::run`] filters, sorts, counts and cuts; [`Envelope::project`] makes rows of what is left.
//!
//! The language is total and has no side effects: no regular expressions, no paths, no evaluation of anything. Once an
//! envelope is parsed, nothing that follows can fail.

mod envelope;
mod error;
mod field;
mod filter;
mod order;
mod page;
mod parse;
mod text;

#[cfg(test)]
mod tests;

pub use envelope::{DEFAULT_LIMIT, Envelope, Lookup, MAX_LIMIT, MAX_NAMES, Shape};
pub use error::QueryError;
pub use field::{FieldRef, Record};
pub use filter::{MAX_DEPTH, MAX_NODES};
pub use order::compare;
pub use page::{Group, Groups, Page};
