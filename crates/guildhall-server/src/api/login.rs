//! `/api/login`: how a device without a token gets one. Open: the codes are the secrets here.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use guildhall_tools::{ErrorKind, ToolError};
use serde::Deserialize;
use serde_json::json;

use super::{Outcome, body_of, respond};
use crate::auth::{self, DEVICE_LIVES, Throttle};
use crate::serve::Peer;
use crate::state::App;

/// How often a device may ask what has become of its login, in seconds.
const INTERVAL: u64 = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    client: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    device_code: String,
}

/// Counts one try of the address.
///
/// # Errors
///
/// 429 where it has none left.
pub(crate) fn admit(app: &App, throttle: &Throttle, peer: Option<Peer>) -> Result<(), ToolError> {
    // Every connection of the server's own loop says where it is from.
    let Some(Peer(address)) = peer else {
        return Err(ToolError::internal("A request came without its address"));
    };
    throttle
        .admit(address, app.parts.clock.now())
        .map_err(|wait| {
            let mut error = ToolError::new(
                ErrorKind::RateLimited,
                "Too many tries to sign in from this address",
            );
            error.retry_after = Some(wait.max(std::time::Duration::from_secs(1)));
            error
        })
}

/// `POST /api/login/device`: begins the login of a device.
pub(crate) async fn begin(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    body: Body,
) -> Response {
    respond(begun(&app, peer.map(|peer| peer.0), body).await)
}

async fn begun(app: &App, peer: Option<Peer>, body: Body) -> Outcome {
    admit(app, &app.sign_ins, peer)?;
    let device: Device = body_of(app, body, "{ \"client\": \"<who asks>\" }").await?;
    let begun = app.parts.directory.begin_login(&device.client).await?;
    Ok(json!({
        "device_code": begun.device_code,
        "user_code": begun.typed_code,
        "verification_path": "/login",
        "expires_in": DEVICE_LIVES.as_secs(),
        "interval": INTERVAL,
    }))
}

/// `POST /api/login/token`: what has become of it. The person's new token is in one answer, the first after the approval.
pub(crate) async fn finish(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    body: Body,
) -> Response {
    respond(finished(&app, peer.map(|peer| peer.0), body).await)
}

async fn finished(app: &App, peer: Option<Peer>, body: Body) -> Outcome {
    admit(app, &app.login_polls, peer)?;
    let asked: Asked = body_of(app, body, "{ \"device_code\": \"<code>\" }").await?;
    let outcome = app.parts.directory.finish_login(&asked.device_code).await?;
    match outcome {
        auth::Outcome::Waiting => Ok(json!({ "status": "waiting" })),
        auth::Outcome::Denied => Err(ToolError::forbidden("The login was refused")),
        auth::Outcome::Gone => Err(ToolError::not_found(
            "No login waits under this code: it was used, or its time is over",
        )
        .hint("`guildhall login` begins another.")),
        auth::Outcome::SignedIn(person, token) => Ok(json!({
            "status": "signed_in",
            "username": person.name(),
            "token": token.expose(),
        })),
    }
}
