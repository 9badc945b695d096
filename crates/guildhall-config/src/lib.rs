//! Guildhall's settings: the front matter of `WORKFLOW.md`, its defaults, and what is wrong with it.
//!
//! ```text
//! Workspace   where the settings and the state are
//! front_matter, yaml    the file's text -> a tree that knows each value's line and column
//! reader      the tree -> typed values; every problem is collected, none stops the reading
//! sections/   one file per section: its struct (which is also its JSON Schema), its defaults, its rules
//! Reloader    says when the file has changed, and what it says now
//! ```
//!
//! Adding a key: a documented field in the section's struct, its default, and one line in the section's `read`; the
//! tests name the page and the schema that then lack it.
//!
//! The environment is never read here. Whoever loads passes an [`Env`]; the binary passes [`process_env`].

pub mod env_vars;
mod front_matter;
mod load;
mod paths;
mod problem;
mod reader;
mod reload;
mod schema;
mod secret;
mod sections;
mod show;
mod workspace;
mod yaml;

pub use load::{Loaded, MAX_FILE_BYTES};
pub use problem::{Position, Problem, SettingsError};
pub use reload::{Reloader, Seen};
pub use schema::schema;
pub use secret::{REDACTED, Secret};
pub use sections::Settings;
pub use sections::lanes::LaneRules;
pub use sections::logging::{Format, Level, Logging};
pub use sections::options::OptionValue;
pub use sections::server::Server;
pub use sections::tools::{LocalPack, Pack, Tools};
pub use sections::tracker::TrackerChoice;
pub use sections::trackers::{Board, Provider, Tracker};
pub use workspace::Workspace;

/// How settings look up a variable of the environment: the name in, the value out, `None` where it is not set.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process, for the binary to pass as [`Env`]. A value that is not Unicode counts as not set.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
