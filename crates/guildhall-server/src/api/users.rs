//! `/api/users`: the people of the server. Only who operates it may.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use guildhall_core::Principal;
use guildhall_core::clock::rfc3339_millis;
use guildhall_store::Principals as _;
use guildhall_tools::{Caller, ToolError};
use serde::Deserialize;
use serde_json::json;

use super::agents::account;
use super::{Outcome, body_of, needs_person, refused_about, respond};
use crate::auth::TokenLimits;
use crate::state::App;

const WHAT: &str = "manage users";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    username: String,
    #[serde(default)]
    print_token: bool,
}

/// Only a person who operates the server.
fn needs_operator(caller: &Caller) -> Result<(), ToolError> {
    needs_person(caller, WHAT)?;
    if caller.operator {
        return Ok(());
    }
    Err(ToolError::forbidden(format!(
        "`{}` does not operate this server; only who does may {WHAT}",
        caller.principal
    )))
}

/// `GET /api/users`: every person.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    respond(listed(&app, &caller).await)
}

async fn listed(app: &App, caller: &Caller) -> Outcome {
    needs_operator(caller)?;
    let users = app.parts.directory.store().users().await?;
    Ok(json!({ "users": users.iter().map(account).collect::<Vec<_>>() }))
}

/// `POST /api/users`: a new person, with a one-time sign-in code or, where it says `print_token`, with a token.
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    respond(added(&app, &caller, body).await)
}

async fn added(app: &App, caller: &Caller, body: Body) -> Outcome {
    needs_operator(caller)?;
    let form = "{ \"username\": \"<address>\", \"print_token\"?: true }";
    let wanted: Wanted = body_of(app, body, form).await?;
    let user = person(&wanted.username)?;
    let directory = &app.parts.directory;
    if let Err(error) = directory.add_user(&caller.principal, user.clone()).await {
        let hint = "`guildhall user code` makes another sign-in code.";
        return Err(refused_about(app, &user, error, Some(hint)).await);
    }
    if wanted.print_token {
        return super::tokens::issued(app, caller, user, TokenLimits::default()).await;
    }
    handed_out(app, caller, user).await
}

/// `POST /api/users/{username}/codes`: another one-time sign-in code.
pub(crate) async fn code(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(username): Path<String>,
) -> Response {
    let made = async {
        needs_operator(&caller)?;
        handed_out(&app, &caller, person(&username)?).await
    };
    respond(made.await)
}

async fn handed_out(app: &App, caller: &Caller, user: Principal) -> Outcome {
    let directory = &app.parts.directory;
    let made = directory
        .sign_in_code(&caller.principal, user.clone())
        .await;
    let (code, expires_at) = match made {
        Ok(made) => made,
        Err(error) => return Err(refused_about(app, &user, error, None).await),
    };
    Ok(json!({
        "username": user.name(),
        "code": code,
        "expires_at": rfc3339_millis(expires_at),
    }))
}

/// `DELETE /api/users/{username}`: that person and their agents may do nothing from now on.
pub(crate) async fn disable(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(username): Path<String>,
) -> Response {
    let done = async {
        needs_operator(&caller)?;
        let user = person(&username)?;
        let disabled = app.parts.directory.disable(&caller.principal, user).await;
        Ok(account(&disabled?))
    };
    respond(done.await)
}

fn person(username: &str) -> Result<Principal, ToolError> {
    Principal::user(username).map_err(|_| {
        ToolError::bad_arguments(format!(
            "`{username}` is not a person's name: expected an address such as `you@example.com`"
        ))
    })
}
