//! Tools, packs, the catalog, and the one path a call takes.
//!
//! A [`Tool`] is a value that carries everything there is to know of it: name, schemas, annotations, scope, function.
//! Listing and calling read the same value, so they cannot disagree. Packs hand tools over; [`Catalog::mount`] flattens
//! them into one namespace and freezes it; [`Pipeline::call`] is the only way to run one:
//!
//! ```text
//! authenticate -> catalog for this caller -> validate arguments -> authorize -> call -> bound -> audit -> answer
//! ```
//!
//! Authentication is the door's first step (it has the header); every other step is here, the same for every door.
//! This crate knows no door and no pack.

mod bound;
mod caller;
mod catalog;
mod cursor;
mod error;
mod idempotency;
pub mod lint;
mod meters;
mod pipeline;
mod repo;
pub mod schema;
mod tool;
mod validate;

pub use bound::{Budget, MAX_RESULT_BYTES, MCP_RESULT_BYTES, json_len};
pub use caller::{Caller, Scope};
pub use catalog::{Catalog, FailureShape, MountError, Pack, Selection, SelectionError};
pub use cursor::{CursorKey, Cursors};
pub use error::{ErrorKind, ToolError};
pub use pipeline::{Answer, Call, Door, Failure, NAMES_OF_CALLER, Pipeline, PipelineParts};
pub use repo::{RepoAccess, RepoResolver, WantedRepo};
pub use tool::{Annotations, CallContext, CallKey, Check, JsonObject, Progress, Tool, ToolBuilder};
