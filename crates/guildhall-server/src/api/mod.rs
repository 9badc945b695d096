//! Plain HTTP: one file per resource.

pub(crate) mod agents;
mod answer;
pub(crate) mod doctor;
pub(crate) mod login;
pub(crate) mod openapi;
pub(crate) mod repos;
pub(crate) mod status;
pub(crate) mod team;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod users;
pub(crate) mod whoami;

use axum::body::Body;
use guildhall_core::Principal;
use guildhall_store::{Error, Principals as _};
use guildhall_tools::{Caller, ToolError};
use serde::de::DeserializeOwned;

use crate::gate;
use crate::state::App;

pub(crate) use answer::{Answer, Given, InPath, Refusal};

/// The JSON body, which must be of the `form` that is shown to who sends another.
///
/// # Errors
///
/// 400 for another form; those of [`gate::read_body`].
pub(crate) async fn body_of<T: DeserializeOwned>(
    app: &App,
    body: Body,
    form: &str,
) -> Result<T, ToolError> {
    let bytes = gate::read_body(app, body).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ToolError::bad_arguments(format!("The body must be {form}: {error}")))
}

/// Refuses who may not manage people, agents and tokens: an agent, and the holder of a limited token, who could make
/// themselves one without limits.
///
/// # Errors
///
/// 403.
pub(crate) fn needs_person(caller: &Caller, what: &str) -> Result<(), ToolError> {
    if caller.principal.is_agent() {
        return Err(ToolError::forbidden(format!(
            "`{}` is an agent; only a person may {what}",
            caller.principal
        )));
    }
    if caller.is_limited() {
        return Err(ToolError::forbidden(format!(
            "This token is limited to some tools or repositories; only an unlimited one may {what}"
        )));
    }
    Ok(())
}

/// What the store refused about the account `principal`: a disabled one is said to be so, a name that is taken comes with
/// the `hint`.
pub(crate) async fn refused_about(
    app: &App,
    principal: &Principal,
    error: Error,
    hint: Option<&str>,
) -> ToolError {
    let is_taken = matches!(error, Error::Taken { .. });
    if is_taken || matches!(error, Error::Missing { .. }) {
        let known = app.parts.directory.store().account(principal.clone()).await;
        if let Ok(Some(account)) = known
            && account.disabled_at.is_some()
        {
            let again = match principal.agent_name() {
                Some(name) => format!(
                    "`guildhall agent create {name}` brings it back with a new token; its earlier ones stay refused."
                ),
                None => "Names of people are not given out again: choose another.".to_owned(),
            };
            return ToolError::conflict(format!("`{principal}` was revoked or disabled"))
                .hint(again);
        }
    }
    let error = ToolError::from(error);
    match hint {
        Some(hint) if is_taken => error.hint(hint),
        _ => error,
    }
}

/// Refuses who does not operate the server in person.
///
/// # Errors
///
/// 403.
pub(crate) fn needs_operator(caller: &Caller, what: &str) -> Result<(), ToolError> {
    needs_person(caller, what)?;
    if caller.operator {
        return Ok(());
    }
    Err(ToolError::forbidden(format!(
        "`{}` does not operate this server; only who does may {what}",
        caller.principal
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use guildhall_tools::ErrorKind;

    use super::*;

    #[test]
    fn only_an_unlimited_token_of_a_person_manages_others() {
        let person = Caller::new("you@example.com".parse().unwrap());
        assert!(needs_person(&person, "manage tokens").is_ok());
        let only = || Some(Arc::new(BTreeSet::from(["x".to_owned()])));
        let limited = [
            Caller {
                tools: only(),
                ..person.clone()
            },
            Caller {
                repos: only(),
                ..person.clone()
            },
            Caller::new("you@example.com[claude]".parse().unwrap()),
        ];
        for caller in limited {
            let refused = needs_person(&caller, "manage tokens").unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Forbidden);
        }
    }
}
