//! The query language from outside: laws that hold for every query, and the examples of its guide.

mod corpus;
mod guide;
mod laws;
mod naive;
mod properties;
