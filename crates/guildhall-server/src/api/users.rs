//! `/api/users`: the people of the server. Only who operates it may.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use guildhall_core::Principal;
use guildhall_core::clock::rfc3339_millis;
use guildhall_store::Principals as _;
use guildhall_tools::{Caller, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::AccountView;
use super::tokens::{Limits, TokenView, issued};
use super::{Answer, Given, InPath, body_of, needs_operator, refused_about};
use crate::state::App;

const WHAT: &str = "manage users";

/// Who is to be added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewUser")]
pub(crate) struct Wanted {
    /// Their address
    username: String,
    /// Whether they get a token instead of a sign-in code
    #[serde(default)]
    print_token: bool,
    /// What that token is limited to
    limits: Option<Limits>,
}

/// The people.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Users {
    users: Vec<AccountView>,
}

/// What a person signs in with, once.
#[derive(JsonSchema, Serialize)]
pub(crate) struct SignInCode {
    username: String,
    /// The code itself, shown once
    code: String,
    expires_at: String,
}

/// What a new person gets.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum Added {
    Token(Box<TokenView>),
    Code(SignInCode),
}

/// `GET /api/users`: every person.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Answer<Users> {
    needs_operator(&caller, WHAT)?;
    let users = app.parts.directory.store().users().await?;
    let users = users.iter().map(AccountView::from).collect();
    Ok(Given(Users { users }))
}

/// `POST /api/users`: a new person, with a one-time sign-in code or, where it says `print_token`, with a token.
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Answer<Added> {
    needs_operator(&caller, WHAT)?;
    let form = "{ \"username\": \"<address>\", \"print_token\"?: true, \"limits\"?: { ... } }";
    let wanted: Wanted = body_of(&app, body, form).await?;
    let user = person(&wanted.username)?;
    if wanted.limits.is_some() && !wanted.print_token {
        return Err(ToolError::bad_arguments(
            "'limits' are those of a token: they need 'print_token'",
        )
        .into());
    }
    let limits = wanted.limits.unwrap_or_default();
    let limits = limits.known(&app, &caller).await?;
    let directory = &app.parts.directory;
    if let Err(error) = directory.add_user(&caller.principal, user.clone()).await {
        let hint = "`guildhall user code` makes another sign-in code.";
        return Err(refused_about(&app, &user, error, Some(hint)).await.into());
    }
    if wanted.print_token {
        let Given(token) = issued(&app, &caller, user, limits).await?;
        return Ok(Given(Added::Token(Box::new(token))));
    }
    let Given(code) = handed_out(&app, &caller, user).await?;
    Ok(Given(Added::Code(code)))
}

/// `POST /api/users/{username}/codes`: another one-time sign-in code.
pub(crate) async fn code(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(username): InPath<String>,
) -> Answer<SignInCode> {
    needs_operator(&caller, WHAT)?;
    handed_out(&app, &caller, person(&username)?).await
}

async fn handed_out(app: &App, caller: &Caller, user: Principal) -> Answer<SignInCode> {
    let directory = &app.parts.directory;
    let made = directory
        .sign_in_code(&caller.principal, user.clone())
        .await;
    match made {
        Ok((code, expires_at)) => Ok(Given(SignInCode {
            username: user.name().to_owned(),
            code,
            expires_at: rfc3339_millis(expires_at),
        })),
        Err(error) => Err(refused_about(app, &user, error, None).await.into()),
    }
}

/// `DELETE /api/users/{username}`: that person and their agents may do nothing from now on.
pub(crate) async fn disable(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(username): InPath<String>,
) -> Answer<AccountView> {
    needs_operator(&caller, WHAT)?;
    let user = person(&username)?;
    let disabled = app.parts.directory.disable(&caller.principal, user).await?;
    Ok(Given(AccountView::from(&disabled)))
}

fn person(username: &str) -> Result<Principal, ToolError> {
    Principal::user(username).map_err(|_| {
        ToolError::bad_arguments(format!(
            "`{username}` is not a person's name: expected an address such as `you@example.com`"
        ))
    })
}
