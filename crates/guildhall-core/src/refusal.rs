//! How the parts below the tools say no, in terms that every door has an answer for.

/// Which answer a failure comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// What was given is outside what is allowed.
    Invalid,
    /// The caller may not do this.
    NotAllowed,
    /// There is nothing of that name.
    Missing,
    /// Something else got there first.
    Conflict,
    /// The caller has as much of it as one may have.
    TooMany,
    /// What was given is over a limit of count or size.
    TooLarge,
    /// What it stands on does not answer, and nothing was done: the same again may go through in a moment.
    Away,
    /// Nothing the caller did: its words are for the log.
    Fault,
}

/// An error that knows which answer it comes to. Unless that is [`Refusal::Fault`], its text is for the caller.
pub trait Refuse: std::error::Error {
    /// The answer.
    fn refusal(&self) -> Refusal;
}
