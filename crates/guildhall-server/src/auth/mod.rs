//! Tokens: their form, and who they belong to.

mod file;
mod token;

use guildhall_tools::Caller;

pub use file::{Issued, TokenFile, TokenFileError};
pub use token::Token;

/// Says whose token it is.
pub trait Authenticator: Send + Sync {
    /// The caller `token` belongs to, or `None` for a token that is malformed, unknown, expired or revoked. How long it
    /// takes does not depend on how much of a token is right.
    fn authenticate(&self, token: &str) -> Option<Caller>;

    /// Makes a new token for the agent `name` of `owner`, kept in a file that only the operating-system user can read;
    /// an earlier token of that agent goes on working.
    fn issue_agent(
        &self,
        owner: &guildhall_core::Principal,
        name: &str,
    ) -> Result<Issued, TokenFileError>;
}
