//! `/login`: the page on which a person approves the login of a device.
//!
//! A browser is signed in by a person's token or a one-time code typed into its form. Its session is a cookie that no
//! script and no other site gets hold of; every form carries a token made of the browser's cookies, so that no other
//! page can send it.

mod page;

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use guildhall_core::Principal;
use guildhall_tools::{ErrorKind, ToolError};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use schemars::JsonSchema;
use sha2::{Digest as _, Sha256};

use crate::auth::SESSION_LIVES;
use crate::serve::Peer;
use crate::state::App;
use crate::{gate, reply};
use page::{Page, View};

/// The cookie of a signed-in browser.
const SESSION: &str = "guildhall_session";
/// The cookie that a browser's forms are bound to.
const FORM: &str = "guildhall_form";

/// Who looks at the page.
struct Visitor {
    /// What the forms are bound to.
    form: String,
    /// Whether the browser must be told to keep `form`.
    new: bool,
    /// The session's cookie, good or not.
    secret: Option<String>,
    /// The person, and the id of their session.
    person: Option<(Principal, String)>,
}

impl Visitor {
    async fn of(app: &App, headers: &HeaderMap) -> Result<Self, ToolError> {
        let secret = cookie(headers, SESSION);
        let person = match &secret {
            Some(secret) => app.parts.directory.session(secret).await?,
            None => None,
        };
        let kept = cookie(headers, FORM);
        Ok(Self {
            new: kept.is_none(),
            form: kept.unwrap_or_else(|| app.parts.ids.hex(16)),
            secret,
            person,
        })
    }

    /// What each form of this browser carries. It changes with the session and tells nothing about the cookies.
    fn csrf(&self) -> String {
        let digest = Sha256::new()
            .chain_update("guildhall form\0")
            .chain_update(&self.form)
            .chain_update("\0")
            .chain_update(self.secret.as_deref().unwrap_or_default())
            .finalize();
        crate::auth::hex(&digest)
    }

    fn page(&self, app: &App, view: &View<'_>) -> Response {
        let page = Page {
            csrf: &self.csrf(),
            person: self.person.as_ref().map(|(person, _)| person),
            server: &app.parts.about.workspace,
        };
        let mut response = html(page.render(view));
        if self.new {
            keep(&mut response, FORM, &self.form, None);
        }
        response
    }
}

/// What the page's forms send.
#[derive(JsonSchema)]
#[schemars(rename = "SignInForm")]
pub(crate) struct Form {
    /// `sign-in`, `approve`, `refuse` or `sign-out`
    step: String,
    /// What the page gave the browser
    csrf: String,
    /// A token or a one-time sign-in code, to sign in
    #[schemars(default)]
    secret: String,
    /// The code that the device shows
    #[schemars(default)]
    code: String,
}

impl Form {
    fn of(body: &[u8]) -> Self {
        let text = |name| field(body, name).unwrap_or_default();
        Self {
            step: text("step"),
            csrf: text("csrf"),
            secret: text("secret"),
            code: text("code"),
        }
    }
}

/// `GET /login`: the form for signing in, or for the code, or for approving what waits under the code.
pub(crate) async fn show(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let code = field(uri.query().unwrap_or_default().as_bytes(), "code");
    let shown = async {
        let visitor = Visitor::of(&app, &headers).await?;
        view(&app, &visitor, code.as_deref().unwrap_or_default()).await
    };
    shown.await.unwrap_or_else(|error| reply::error(&error))
}

async fn view(app: &App, visitor: &Visitor, code: &str) -> Result<Response, ToolError> {
    if visitor.person.is_none() {
        return Ok(visitor.page(
            app,
            &View::SignIn {
                code,
                problem: None,
            },
        ));
    }
    if code.is_empty() {
        return Ok(visitor.page(app, &View::AskCode { problem: None }));
    }
    let waiting = app.parts.directory.waiting_login(code).await;
    Ok(match waiting? {
        Some(login) => visitor.page(
            app,
            &View::Decide {
                code,
                login: &login,
            },
        ),
        None => {
            let problem =
                Some("No login waits under this code: it was decided on, or its time is over.");
            let mut response = visitor.page(app, &View::AskCode { problem });
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    })
}

/// `POST /login`: what one of the page's forms says.
pub(crate) async fn submit(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let peer = peer.map(|peer| peer.0);
    let done = async {
        app.sign_ins.admit(peer, app.parts.clock.now())?;
        let visitor = Visitor::of(&app, &headers).await?;
        let form = Form::of(&gate::read_body(&app, body).await?);
        if visitor.new || form.csrf != visitor.csrf() {
            return Err(
                ToolError::forbidden("The form is not of this browser's session")
                    .hint("Open the page again."),
            );
        }
        match form.step.as_str() {
            "sign-in" => sign_in(&app, &visitor, &form.secret, &form.code).await,
            "approve" => decide(&app, &visitor, &form.code, true).await,
            "refuse" => decide(&app, &visitor, &form.code, false).await,
            "sign-out" => sign_out(&app, &visitor).await,
            other => Err(ToolError::bad_arguments(format!(
                "'step' is `{}`: allowed are sign-in, approve, refuse, sign-out",
                gate::printable(other)
            ))),
        }
    };
    done.await.unwrap_or_else(|error| reply::error(&error))
}

async fn sign_in(
    app: &App,
    visitor: &Visitor,
    secret: &str,
    code: &str,
) -> Result<Response, ToolError> {
    let problem = match app
        .parts
        .directory
        .sign_in(secret)
        .await
        .map_err(ToolError::from)
    {
        Ok(Some(session)) => {
            let mut response = see(code);
            keep(
                &mut response,
                SESSION,
                &session,
                Some(SESSION_LIVES.as_secs()),
            );
            return Ok(response);
        }
        Ok(None) => "That is no valid token or sign-in code.".to_owned(),
        Err(error) if error.kind == ErrorKind::Forbidden => error.message,
        Err(error) => return Err(error),
    };
    let problem = Some(problem.as_str());
    let mut response = visitor.page(app, &View::SignIn { code, problem });
    *response.status_mut() = StatusCode::FORBIDDEN;
    Ok(response)
}

async fn decide(
    app: &App,
    visitor: &Visitor,
    code: &str,
    approve: bool,
) -> Result<Response, ToolError> {
    let Some((person, _)) = &visitor.person else {
        return view(app, visitor, code).await;
    };
    let decided = app.parts.directory.decide_login(person, code, approve);
    match decided.await.map_err(ToolError::from) {
        Ok(login) => Ok(visitor.page(
            app,
            &View::Decided {
                login: &login,
                approve,
            },
        )),
        Err(error) if error.kind == ErrorKind::NotFound => view(app, visitor, code).await,
        Err(error) => Err(error),
    }
}

async fn sign_out(app: &App, visitor: &Visitor) -> Result<Response, ToolError> {
    if let Some((person, session)) = &visitor.person {
        let revoked = app.parts.directory.revoke(person, session).await;
        revoked?;
    }
    let mut response = see("");
    keep(&mut response, SESSION, "", Some(0));
    Ok(response)
}

/// Sends the browser to the page, so that reloading it sends no form again.
fn see(code: &str) -> Response {
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("code", code)
        .finish();
    let place = if code.is_empty() {
        "/login".to_owned()
    } else {
        format!("/login?{query}")
    };
    let mut response = html(String::new());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let place = HeaderValue::from_str(&place).expect("an encoded query is a header's value");
    response.headers_mut().insert(header::LOCATION, place);
    response
}

/// A page that loads and runs nothing, is framed by nobody and kept nowhere.
fn html(text: String) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: browsers would then hide from us where a form comes from.
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Tells the browser to keep a cookie, for `seconds` or until it is closed.
fn keep(response: &mut Response, name: &str, value: &str, seconds: Option<i64>) {
    let age = seconds.map_or_else(String::new, |seconds| format!("; Max-Age={seconds}"));
    let cookie = format!("{name}={value}; Path=/login; HttpOnly; SameSite=Strict{age}");
    let cookie = HeaderValue::from_str(&cookie).expect("hex is a cookie's value");
    response.headers_mut().append(header::SET_COOKIE, cookie);
}

/// The value of a cookie of ours; they are all hex.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(given, value)| {
            *given == name
                && (32..=64).contains(&value.len())
                && value.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
        .map(|(_, value)| value.to_owned())
}

/// A field of a form or a query.
fn field(form: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(form)
        .find(|(given, _)| given == name)
        .map(|(_, value)| value.into_owned())
}
