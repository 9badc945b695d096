//! Why a tool said no.

use std::time::Duration;

use guildhall_core::{Refusal, Refuse};
use serde_json::{Map, Value, json};

/// When whoever was told that the database is away may ask again. Most of the time it is a restart.
const AWAY_FOR: Duration = Duration::from_secs(2);

/// The kinds of failure, each with one HTTP status and one stable code that clients may match on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ErrorKind {
    /// The arguments are wrong: 400 `bad_arguments`.
    BadArguments,
    /// No token, or not a valid one: 401 `unauthenticated`.
    Unauthenticated,
    /// The caller may not do this: 403 `forbidden`.
    Forbidden,
    /// There is no such tool, repo or item: 404 `not_found`.
    NotFound,
    /// Something else got there first: 409 `conflict`.
    Conflict,
    /// An argument or a result is over its limit: 413 `too_large`.
    TooLarge,
    /// Too many calls: 429 `rate_limited`.
    RateLimited,
    /// A fault of ours: 500 `internal`. The caller sees a correlation id, never the cause.
    Internal,
    /// The service behind the tool failed: 502 `upstream`.
    Upstream,
    /// The server's own database does not answer, and nothing was done: 503 `unavailable`.
    Unavailable,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::BadArguments,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::Conflict,
        Self::TooLarge,
        Self::RateLimited,
        Self::Internal,
        Self::Upstream,
        Self::Unavailable,
    ];

    /// The stable code beside the message.
    pub const fn code(self) -> &'static str {
        match self {
            Self::BadArguments => "bad_arguments",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::RateLimited => "rate_limited",
            Self::Internal => "internal",
            Self::Upstream => "upstream",
            Self::Unavailable => "unavailable",
        }
    }

    /// The HTTP status of the plain HTTP door.
    pub const fn status(self) -> u16 {
        match self {
            Self::BadArguments => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::Upstream => 502,
            Self::Unavailable => 503,
        }
    }
}

/// A failed call, as a tool or the pipeline tells it.
///
/// The message starts with a capital (unless a page gives the literal text), names what was given and what is allowed,
/// and ends without a period. What to do about it goes into a hint.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// Which status and code it has.
    pub kind: ErrorKind,
    /// What was wrong.
    pub message: String,
    /// What would help, one sentence each.
    pub hints: Vec<String>,
    /// Further keys beside `message`.
    pub details: Map<String, Value>,
    /// The failure payload, where the tool has one of its own in place of `{ "error": ... }`.
    pub result: Option<Value>,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// The cause of an [`ErrorKind::Internal`] or an [`ErrorKind::Unavailable`], for the log only.
    pub(crate) cause: Option<String>,
}

impl ToolError {
    /// A failure of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hints: Vec::new(),
            details: Map::new(),
            result: None,
            retry_after: None,
            cause: None,
        }
    }

    /// Wrong arguments.
    pub fn bad_arguments(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadArguments, message)
    }

    /// The literal text for a required string that is absent, not a string, or blank.
    pub fn required(key: &str) -> Self {
        Self::bad_arguments(format!("'{key}' is required"))
    }

    /// No such item.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Not allowed.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    /// Something else got there first.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// A fault of ours. `cause` goes to the log beside the correlation id; the caller never sees it.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        Self {
            cause: Some(cause.to_string()),
            ..Self::new(ErrorKind::Internal, "Internal error")
        }
    }

    /// What the server stands on does not answer, as `message` says. `cause` is for the log; the caller never sees it.
    pub fn unavailable(message: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self {
            retry_after: Some(AWAY_FOR),
            cause: Some(cause.to_string()),
            ..Self::new(ErrorKind::Unavailable, message)
        }
    }

    /// Adds one sentence that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a key beside `message`.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Gives the failure a payload of its own.
    #[must_use]
    pub fn with_result(mut self, result: Value) -> Self {
        self.result = Some(result);
        self
    }

    /// The default failure payload: the tool's own result, else `{ "error": { "message", ... } }`.
    pub fn payload(&self) -> Value {
        if let Some(result) = &self.result {
            return result.clone();
        }
        let mut error = Map::with_capacity(2 + self.details.len());
        error.insert("message".to_owned(), json!(self.message));
        if !self.hints.is_empty() {
            error.insert("hint".to_owned(), json!(self.hints.join(" ")));
        }
        error.extend(self.details.clone());
        json!({ "error": error })
    }
}

impl<E: Refuse> From<E> for ToolError {
    fn from(error: E) -> Self {
        let kind = match error.refusal() {
            Refusal::Invalid => ErrorKind::BadArguments,
            Refusal::NotAllowed => ErrorKind::Forbidden,
            Refusal::Missing => ErrorKind::NotFound,
            Refusal::Conflict => ErrorKind::Conflict,
            Refusal::TooMany => ErrorKind::RateLimited,
            Refusal::TooLarge => ErrorKind::TooLarge,
            Refusal::Away => return Self::unavailable(error.to_string(), format!("{error:?}")),
            Refusal::Fault => return Self::internal(format!("{error:?}")),
        };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("The lane is closed")]
    struct Closed(Refusal);

    impl Refuse for Closed {
        fn refusal(&self) -> Refusal {
            self.0
        }
    }

    #[test]
    fn what_a_part_below_refuses_has_its_status_and_words_unless_it_is_a_fault() {
        for (refusal, status) in [
            (Refusal::Invalid, 400),
            (Refusal::NotAllowed, 403),
            (Refusal::Missing, 404),
            (Refusal::Conflict, 409),
            (Refusal::TooMany, 429),
            (Refusal::TooLarge, 413),
            (Refusal::Away, 503),
        ] {
            let error = ToolError::from(Closed(refusal));
            assert_eq!(
                (error.kind.status(), error.message.as_str()),
                (status, "The lane is closed")
            );
        }
        let error = ToolError::from(Closed(Refusal::Fault));
        assert_eq!(
            (error.kind.status(), error.message.as_str()),
            (500, "Internal error")
        );
    }

    #[test]
    fn every_kind_has_a_status_and_a_code_of_its_own() {
        let codes: std::collections::HashSet<_> =
            ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        let statuses: std::collections::HashSet<_> =
            ErrorKind::ALL.iter().map(|kind| kind.status()).collect();
        assert_eq!(
            (codes.len(), statuses.len()),
            (ErrorKind::ALL.len(), ErrorKind::ALL.len())
        );
    }

    #[test]
    fn the_payload_is_the_tools_own_result_when_it_has_one() {
        let error = ToolError::bad_arguments("No such state `Shipped`")
            .hint("Use one of: Todo, Done.")
            .detail("state", 1);
        assert_eq!(
            error.payload(),
            json!({ "error": { "message": "No such state `Shipped`", "hint": "Use one of: Todo, Done.", "state": 1 } })
        );
        assert_eq!(
            error.with_result(json!({ "errors": [] })).payload(),
            json!({ "errors": [] })
        );
    }
}
