//! Tokens: their form, and who they belong to.

mod accounts;
mod directory;
mod login;
mod throttle;
mod token;

use std::path::PathBuf;

use futures::future::BoxFuture;
use guildhall_core::Principal;
use guildhall_store::Result as FromStore;
use guildhall_tools::Caller;

pub use accounts::TokenLimits;
pub use directory::Directory;
pub use login::{Begun, DEVICE_LIVES, Outcome, SESSION_LIVES};
pub(crate) use throttle::Throttle;
pub use token::Token;
pub(crate) use token::hex;

/// Says whose token it is.
pub trait Authenticator: Send + Sync {
    /// The caller `token` belongs to, or `None` for a token that is malformed, unknown, expired or revoked. How long it
    /// takes does not depend on how much of a token is right.
    ///
    /// # Errors
    ///
    /// Those of the store, which then says nothing about the token: a good one must not be thrown away for them.
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, FromStore<Option<Caller>>>;

    /// Makes sure of a token for the agent `name` of `user`, kept in a file that only the operating-system user can read.
    fn issue_agent<'a>(
        &'a self,
        user: &'a Principal,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Issued, AuthError>>;
}

/// A token that was made, or was there.
#[derive(Clone, Debug)]
pub struct Issued {
    /// Whose it is.
    pub principal: Principal,
    /// The file that holds it.
    pub path: PathBuf,
}

/// What went wrong with an account or its token.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// A file could not be read or written.
    #[error("Cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The agent's name is not one.
    #[error(transparent)]
    Name(#[from] guildhall_core::principal::PrincipalError),
    /// Token files are made only for the person whose machine it is.
    #[error(
        "`{0}` is not the owner of this machine's server: token files are made only for that person"
    )]
    NotHere(Principal),
    /// The store said no.
    #[error(transparent)]
    Store(#[from] guildhall_store::Error),
}
