//! Repositories: the only crate that opens them or runs `git`.
//!
//! Every `git` process is built by [`Git`], with an environment made from nothing and a configuration that no repository
//! can change. The calls block; a caller inside a runtime hands them to a blocking thread.

mod command;
mod error;
mod identity;

pub use command::{Environment, Git, Version};
pub use error::GitError;
pub use identity::user_email;
