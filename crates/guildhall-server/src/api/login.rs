//! `/api/login`: how a device without a token gets one. Open: the codes are the secrets here.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use guildhall_tools::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tokens::Limits;
use super::{Answer, Given, body_of};
use crate::auth::{self, DEVICE_LIVES};
use crate::serve::Peer;
use crate::state::App;

/// How often a device may ask what has become of its login, in seconds.
const INTERVAL: u64 = 2;

/// The device that wants to be somebody's.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Device {
    /// What it calls itself
    client: String,
}

/// The login that a device asks about.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeviceCode")]
pub(crate) struct Asked {
    /// What it was told when it began
    device_code: String,
    /// What the token is to be limited to: a device can ask for less than the person it signs in as has
    limits: Option<Limits>,
}

/// A login that was begun.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "LoginBegun")]
pub(crate) struct Begun {
    /// What the device keeps and asks with
    device_code: String,
    /// What the person types
    user_code: String,
    /// The page on which they do
    verification_path: &'static str,
    /// How long it waits, in seconds
    expires_in: i64,
    /// How often the device may ask, in seconds
    interval: u64,
}

/// What has become of a login.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "snake_case", tag = "status")]
#[schemars(rename = "LoginProgress")]
pub(crate) enum Progress {
    /// Nobody has said anything yet.
    Waiting,
    /// It is approved.
    SignedIn {
        /// As whom
        username: String,
        /// Their new token, shown once
        token: String,
    },
}

/// `POST /api/login/device`: begins the login of a device.
pub(crate) async fn begin(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    body: Body,
) -> Answer<Begun> {
    app.sign_ins
        .admit(peer.map(|peer| peer.0), app.parts.clock.now())?;
    let device: Device = body_of(&app, body, "{ \"client\": \"<who asks>\" }").await?;
    let begun = app.parts.directory.begin_login(&device.client).await?;
    Ok(Given(Begun {
        device_code: begun.device_code,
        user_code: begun.typed_code,
        verification_path: "/login",
        expires_in: DEVICE_LIVES.as_secs(),
        interval: INTERVAL,
    }))
}

/// `POST /api/login/token`: what has become of it. The person's new token is in one answer, the first after the approval.
pub(crate) async fn finish(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    body: Body,
) -> Answer<Progress> {
    app.login_polls
        .admit(peer.map(|peer| peer.0), app.parts.clock.now())?;
    let asked: Asked = body_of(
        &app,
        body,
        "{ \"device_code\": \"<code>\", \"limits\"?: { ... } }",
    )
    .await?;
    let limits = asked.limits.unwrap_or_default();
    let limits = limits.checked(app.parts.clock.now())?;
    let directory = &app.parts.directory;
    match directory.finish_login(&asked.device_code, limits).await? {
        auth::Outcome::Waiting => Ok(Given(Progress::Waiting)),
        auth::Outcome::Denied => Err(ToolError::forbidden("The login was refused").into()),
        auth::Outcome::Gone => Err(ToolError::not_found(
            "No login waits under this code: it was used, or its time is over",
        )
        .hint("`guildhall login` begins another.")
        .into()),
        auth::Outcome::SignedIn(person, token) => Ok(Given(Progress::SignedIn {
            username: person.name().to_owned(),
            token: token.expose().to_owned(),
        })),
    }
}
