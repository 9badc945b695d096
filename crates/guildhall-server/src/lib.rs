//! The HTTP doors: MCP over Streamable HTTP, the tools API, and the gate that stands before every route.
//!
//! This is the only crate that imports `axum` and rmcp's server types. It knows no pack: it serves whatever catalog the
//! [`MountSource`] gives it.

mod api;
pub mod auth;
mod gate;
mod git;
mod health;
mod host;
pub mod mcp;
mod metrics;
mod mounted;
mod reply;
mod routes;
mod serve;
mod sign_in;
mod state;

pub use auth::{Authenticator, Directory};
pub use gate::Hosts;
pub use git::CloneLimits;
pub use host::{Apart, NewRepo, Origin, PackStream, RepoHost, RepoView};
pub use metrics::Metrics;
pub use mounted::{MountSource, Mounted};
pub use routes::{Access, ROUTES, Reach, Route, router};
pub use serve::{Limits, serve};
pub use state::{About, Activity, App, AppParts};
