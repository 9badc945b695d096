//! The Ladder: what a repository's summaries are called by, and how they are searched (zz page, "Ladder").
//!
//! A rung is a summary of a repository, a directory, a file, a release and so on, anchored to a commit. Here are the names
//! ([`RungPath`]), the words of a text and what a person types to find them ([`words`], [`Query`]), how good a find is
//! ([`Query::score`]), and the places in the code that a summary cites ([`citations`]).

mod citation;
mod path;
mod query;
mod rank;
mod words;

pub use citation::{Citation, citations};
pub use path::{RungKind, RungPath, RungPathError};
pub use query::{LONGEST_QUERY, Query, QueryError, SHORTEST_PREFIX, Term};
pub use rank::{SNIPPET, snippet};
pub use words::{LONGEST_WORD, Word, words};

/// The longest summary, in bytes. Its words then number fewer than either database can tell the places of.
pub const LONGEST_SUMMARY: usize = 32_000;
