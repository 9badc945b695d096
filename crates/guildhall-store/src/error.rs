//! What the store could not do.

use std::sync::Arc;

use guildhall_core::{Refusal, Refuse};

/// What the store gives back.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something was not done. Nothing of it was: a refused or failed change leaves nothing behind.
///
/// The variants up to [`Error::TooMany`] are answers the caller can act on; the ones after it are states of the database
/// that pass or that an operator ends; [`Error::Fault`] is a mistake of ours.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Something of that name is there already.
    #[error("The {what} `{name}` exists already")]
    Taken {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// There is nothing of that name.
    #[error("There is no {what} `{name}`")]
    Missing {
        /// What kind of thing.
        what: &'static str,
        /// The name that was given.
        name: String,
    },
    /// The principal may not do this.
    #[error("{0}")]
    NotAllowed(String),
    /// It is not what the caller took it for: it changed in between.
    #[error("{what} is {}, not {expected}", found.as_deref().unwrap_or("not there"))]
    Moved {
        /// What was compared.
        what: String,
        /// What the caller expected.
        expected: String,
        /// What is there.
        found: Option<String>,
    },
    /// The idempotency key was used with other arguments.
    #[error("idempotency_key `{key}` was used with other arguments")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// Something else got there first, or it is not in the state for this.
    #[error("{0}")]
    Conflict(String),
    /// What was given is over a limit of count or size.
    #[error("{0}")]
    TooLarge(String),
    /// An argument is outside what is allowed.
    #[error("{0}")]
    Invalid(String),
    /// The principal has as many as one may have.
    #[error("{0}")]
    TooMany(String),
    /// Others hold what this needs; trying again will do.
    #[error("The database is busy")]
    Busy,
    /// The database does not answer; trying again may do.
    #[error("The database is out of reach")]
    Unavailable(#[source] Cause),
    /// The database takes no writes: its disk is full or read-only.
    #[error("The database cannot write")]
    CannotWrite(#[source] Cause),
    /// The connection was lost while the change was being made final: it is there, or not at all. An idempotency key
    /// makes trying again safe.
    #[error(
        "The connection was lost while the change was being written; it may or may not be there"
    )]
    Uncertain(#[source] Cause),
    /// A newer version of the program has been at this database.
    #[error(
        "The database has schema {found}, and this program knows up to {known}: use a newer one"
    )]
    Newer {
        /// The schema of the database.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// A migration that was applied is not the one this program has.
    #[error(
        "Migration {version} of the database is not this program's `{name}`: their checksums differ"
    )]
    Altered {
        /// Its number.
        version: i64,
        /// Its name here.
        name: &'static str,
    },
    /// The address of the database or its settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// A mistake of ours, or damage to the database.
    #[error("The database did not do what it was asked")]
    Fault(#[source] Cause),
}

/// What a database library said. Shared, for a failed commit fails every change in it.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    pub(crate) fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into().into())
    }
}

impl Error {
    /// A fault, told in words.
    pub(crate) fn fault(message: impl Into<String>) -> Self {
        Self::Fault(Cause::new(message.into()))
    }

    pub(crate) fn missing(what: &'static str, name: &(impl ToString + ?Sized)) -> Self {
        Self::Missing {
            what,
            name: name.to_string(),
        }
    }

    pub(crate) fn taken(what: &'static str, name: &(impl ToString + ?Sized)) -> Self {
        Self::Taken {
            what,
            name: name.to_string(),
        }
    }

    /// Whether the same call may go through a moment later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Busy | Self::Unavailable(_) | Self::Uncertain(_))
    }
}

impl Refuse for Error {
    fn refusal(&self) -> Refusal {
        match self {
            Self::Taken { .. }
            | Self::Moved { .. }
            | Self::KeyReused { .. }
            | Self::Conflict(_) => Refusal::Conflict,
            Self::Missing { .. } => Refusal::Missing,
            Self::NotAllowed(_) => Refusal::NotAllowed,
            Self::Invalid(_) => Refusal::Invalid,
            Self::TooMany(_) => Refusal::TooMany,
            Self::TooLarge(_) => Refusal::TooLarge,
            Self::Busy | Self::Unavailable(_) => Refusal::Away,
            _ => Refusal::Fault,
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::CannotWrite(Cause::new(error))
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                Self::Unavailable(Cause::new(error))
            }
            _ => Self::Fault(Cause::new(error)),
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let code = match &error {
            sqlx::Error::Database(database) => database.code().map(std::borrow::Cow::into_owned),
            _ => None,
        };
        match (&error, code.as_deref()) {
            // serialization_failure, deadlock_detected, lock_not_available.
            (_, Some("40001" | "40P01" | "55P03")) => Self::Busy,
            // disk_full, read_only_sql_transaction.
            (_, Some("53100" | "25006")) => Self::CannotWrite(Cause::new(error)),
            // The database does not know the user or itself, or keeps the user from making tables.
            (_, Some(code)) if code.starts_with("28") || ["3D000", "42501"].contains(&code) => {
                Self::Settings(format!(
                    "The database URL does not open the database: {error}"
                ))
            }
            // Connection exceptions, too many connections, the server going down or coming up, a paused transaction ended.
            (_, Some(code))
                if ["08", "57P", "53300", "25P03"]
                    .iter()
                    .any(|class| code.starts_with(class)) =>
            {
                Self::Unavailable(Cause::new(error))
            }
            (
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed,
                _,
            ) => Self::Unavailable(Cause::new(error)),
            (sqlx::Error::Configuration(_), _) => Self::Settings(error.to_string()),
            _ => Self::Fault(Cause::new(error)),
        }
    }
}
