//! `/api/team`: sessions, as people make, watch and end them. What agents do is the `team` pack's.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use guildhall_core::Principal;
use guildhall_core::clock::rfc3339_millis;
use guildhall_core::team::{Binding, RoleName, STANDARD_ROLES, SessionId, TeamNameError};
use guildhall_store::team::{
    AWAY_AFTER, Held, NewMessage, NewSession, Placed, Session, Status, Steer, Who,
};
use guildhall_store::{Act, Error, Team as _};
use guildhall_tools::{Caller, ToolError};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tokens::TokenView;
use super::{Answer, Given, InPath, body_of, needs_person};
use crate::state::App;

const WHAT: &str = "run team sessions";

/// Sessions that one listing has.
const MOST_LISTED: u32 = 200;

/// Of how many the listing is made: a token with limits may reach few of them.
const MOST_LOOKED_AT: u32 = 1000;

/// How often another free slot is tried when somebody was faster.
const SLOTS_TRIED: usize = 10;

/// A session that is wanted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WantedSession")]
pub(crate) struct Wanted {
    /// The project: the session is called `<project>-<slot>`
    project: String,
    /// Left out: the next free one
    slot: Option<u32>,
    /// In their order; left out: the nine standard ones
    roles: Option<Vec<String>>,
    /// The repository it belongs to, `owner/name`
    repo: Option<String>,
    /// Left out: `default`
    temporal_namespace: Option<String>,
    /// The checkout its worktrees belong to
    root: Option<String>,
    /// The branch they begin at
    branch: Option<String>,
}

/// `POST /api/team/sessions`: makes a session, in the next free slot unless one is named.
pub(crate) async fn make(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Answer<SessionView> {
    let (app, caller) = (&*app, &caller);
    needs_person(caller, WHAT)?;
    let form = "{ \"project\": \"myproject\", \"slot\"?: 1, \"roles\"?: [\"orchestrator\", \"ai\"], \"repo\"?: \
                \"owner/name\", \"temporal_namespace\"?, \"root\"?, \"branch\"? }";
    let wanted: Wanted = body_of(app, body, form).await?;
    let roles: Result<Vec<RoleName>, _> = match &wanted.roles {
        Some(roles) => roles.iter().map(|role| role.parse()).collect(),
        None => STANDARD_ROLES.iter().map(|role| role.parse()).collect(),
    };
    let roles = roles.map_err(|error| wrong_name(&error))?;
    let store = app.parts.directory.store();
    for _ in 0..SLOTS_TRIED {
        let slot = match wanted.slot {
            Some(slot) => slot,
            None => store.free_slot(&wanted.project).await?,
        };
        let new = NewSession {
            id: SessionId::new(&wanted.project, slot).map_err(|error| wrong_name(&error))?,
            roles: roles.clone(),
            namespace: wanted
                .temporal_namespace
                .clone()
                .unwrap_or_else(|| "default".to_owned()),
            repo: wanted.repo.clone(),
            root: wanted.root.clone(),
            branch: wanted.branch.clone(),
        };
        match store.make_session(act(app, caller), new).await {
            Ok(session) => return Ok(Given(SessionView::from(&session))),
            Err(Error::Taken { .. }) if wanted.slot.is_none() => {}
            Err(error @ Error::Taken { .. }) => {
                let hint = "Slots are not used again: leave it out for the next free one.";
                return Err(ToolError::from(error).hint(hint).into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(ToolError::conflict("Others took each free slot first: try again").into())
}

fn wrong_name(error: &TeamNameError) -> ToolError {
    ToolError::bad_arguments(error.to_string())
}

fn act(app: &App, caller: &Caller) -> Act {
    Act::new(caller.principal.clone(), app.parts.clock.now())
}

/// The session an address names. What is none is one that is not there.
fn id_of(session: &str) -> Result<SessionId, ToolError> {
    session.parse().map_err(|_| session_not_found())
}

fn session_not_found() -> ToolError {
    ToolError::not_found("Session not found")
}

/// What the store refused, with the words that the tools have for it.
fn refused(error: Error) -> ToolError {
    match error {
        Error::Missing {
            what: "session", ..
        } => session_not_found(),
        Error::Missing { what: "agent", .. } => ToolError::not_found("Agent not found"),
        error => error.into(),
    }
}

/// `GET /api/team/sessions`: those of the caller's person that the token reaches, newest first.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Answer<SessionList> {
    let store = app.parts.directory.store();
    let most = if caller.is_limited() {
        MOST_LOOKED_AT
    } else {
        MOST_LISTED
    };
    let sessions = store.sessions_of(caller.principal.clone(), most).await?;
    let bound = caller.bound.as_ref();
    let sessions = sessions.iter().filter(|session| {
        bound.is_none_or(|bound| bound.session == session.id)
            && caller.reaches(session.repo.as_deref())
    });
    Ok(Given(SessionList {
        sessions: sessions
            .take(MOST_LISTED as usize)
            .map(SessionView::from)
            .collect(),
    }))
}

/// `GET /api/team/sessions/{session}`: the session with all its roles, active or not.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(session): InPath<String>,
) -> Answer<SessionWithRoles> {
    let who = Who {
        bound: caller.bound.as_deref().cloned(),
        repos: caller.repos.clone(),
        ..Who::whole(id_of(&session)?)
    };
    let store = app.parts.directory.store();
    let found = store.session(caller.principal.clone(), who).await;
    let (session, roles) = found.map_err(|error| match error {
        Error::NotAllowed(why) => ToolError::forbidden("Permission denied").hint(why + "."),
        error => refused(error),
    })?;
    let now = app.parts.clock.now();
    Ok(Given(SessionWithRoles {
        session: SessionView::from(&session),
        roles: roles.iter().map(|role| RoleView::of(role, now)).collect(),
    }))
}

/// `DELETE /api/team/sessions/{session}`: takes back what was just made.
pub(crate) async fn discard(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(session): InPath<String>,
) -> Answer<Discarded> {
    needs_person(&caller, WHAT)?;
    let id = id_of(&session)?;
    let directory = &app.parts.directory;
    let done = directory
        .store()
        .discard_session(act(&app, &caller), id)
        .await;
    directory.forget();
    done.map_err(refused)?;
    Ok(Given(Discarded { session }))
}

/// `POST /api/team/sessions/{session}/stop`: ends the session.
pub(crate) async fn stop(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath(session): InPath<String>,
) -> Answer<SessionView> {
    needs_person(&caller, WHAT)?;
    let id = id_of(&session)?;
    let directory = &app.parts.directory;
    let stopped = directory.store().stop_session(act(&app, &caller), id).await;
    // Its tokens are refused from now on.
    directory.forget();
    Ok(Given(SessionView::from(&stopped.map_err(refused)?)))
}

/// What a person does about a role.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Place,
    Pause,
    Resume,
    Takeover,
    Release,
    Recover,
}

/// What is wanted of a role.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WantedOfRole")]
pub(crate) struct Wish {
    action: Action,
    /// To `place`: the agent's command line
    agent: Option<String>,
    /// To `place`: the agent speaks for the role from now on
    active: Option<bool>,
    /// To `place`: where it works
    worktree: Option<String>,
    /// To `place`: on which branch
    branch: Option<String>,
    /// To `place`: in which pane
    pane: Option<String>,
}

/// `POST /api/team/sessions/{session}/roles/{role}`.
pub(crate) async fn steer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath((session, role)): InPath<(String, String)>,
    body: Body,
) -> Answer<RoleView> {
    needs_person(&caller, WHAT)?;
    let form = "{ \"action\": \"place\", \"pause\", \"resume\", \"takeover\", \"release\" or \"recover\", ... }";
    let wish: Wish = body_of(&app, body, form).await?;
    let who = role_of(&session, &role)?;
    let store = app.parts.directory.store();
    let by = act(&app, &caller);
    let steer = match wish.action {
        Action::Place => {
            let placed = placed(&caller, wish)?;
            let held = store.place(by, who, placed).await.map_err(refused)?;
            return Ok(Given(RoleView::of(&held, app.parts.clock.now())));
        }
        Action::Pause => Steer::Pause,
        Action::Resume => Steer::Resume,
        Action::Takeover => Steer::Takeover,
        Action::Release => Steer::Release,
        Action::Recover => Steer::Recover,
    };
    let id = format!("his-{}", app.parts.ids.hex(16));
    let held = store.steer(by, who, id, steer).await.map_err(refused)?;
    Ok(Given(RoleView::of(&held, app.parts.clock.now())))
}

fn placed(caller: &Caller, wish: Wish) -> Result<Placed, ToolError> {
    let active = wish.active.unwrap_or(false);
    let holder = match wish.agent.as_deref().filter(|_| active) {
        Some(agent) => Some(agent_of(caller, agent)?),
        None => None,
    };
    Ok(Placed {
        holder,
        agent: wish.agent,
        worktree: wish.worktree,
        branch: wish.branch,
        pane: wish.pane,
    })
}

/// A note of a person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    /// What it says
    message: String,
}

/// `POST /api/team/sessions/{session}/roles/{role}/notes`: a message from the caller by name.
pub(crate) async fn note(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath((session, role)): InPath<(String, String)>,
    body: Body,
) -> Answer<Noted> {
    needs_person(&caller, WHAT)?;
    let note: Note = body_of(&app, body, "{ \"message\": \"<text>\" }").await?;
    if note.message.trim().is_empty() {
        return Err(ToolError::required("message").into());
    }
    let who = role_of(&session, &role)?;
    let to = who.role.clone();
    let message = NewMessage {
        id: format!("msg-{}", app.parts.ids.hex(16)),
        to: to.ok_or_else(|| ToolError::internal("a role's address names none"))?,
        body: note.message,
        task: None,
        requested_action: None,
        importance: None,
        reply_to: None,
    };
    let store = app.parts.directory.store();
    let sent = store.note(act(&app, &caller), who, message).await;
    let sent = sent.map_err(refused)?;
    Ok(Given(Noted {
        message_id: sent.id,
        to: sent.to.to_string(),
        delivery: if sent.delivered {
            "delivered"
        } else {
            "queued"
        },
    }))
}

fn role_of(session: &str, role: &str) -> Result<Who, ToolError> {
    let role = role
        .parse()
        .map_err(|_| ToolError::not_found("Agent not found"))?;
    Ok(Who::new(id_of(session)?, role))
}

fn agent_of(caller: &Caller, name: &str) -> Result<Principal, ToolError> {
    caller
        .principal
        .agent(name)
        .map_err(|error| ToolError::bad_arguments(error.to_string()))
}

/// For which agent a role's token is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WantedRoleToken")]
pub(crate) struct ForAgent {
    /// The agent's name
    agent: String,
}

/// `POST /api/team/sessions/{session}/roles/{role}/token`: a token that speaks for this role alone. Its text is in this
/// answer and nowhere else.
pub(crate) async fn token(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    InPath((session, role)): InPath<(String, String)>,
    body: Body,
) -> Answer<TokenView> {
    needs_person(&caller, WHAT)?;
    let wanted: ForAgent = body_of(&app, body, "{ \"agent\": \"claude\" }").await?;
    let agent = agent_of(&caller, &wanted.agent)?;
    let who = role_of(&session, &role)?;
    let directory = &app.parts.directory;
    let found = directory
        .store()
        .session(caller.principal.clone(), who.clone())
        .await;
    let (found, roles) = found.map_err(refused)?;
    let held = roles
        .iter()
        .find(|held| Some(&held.role) == who.role.as_ref())
        .ok_or_else(|| ToolError::not_found("Agent not found"))?;
    if found.stopped_at.is_some() {
        return Err(ToolError::forbidden(format!("`{session}` has ended")).into());
    }
    let bound = Binding {
        session: who.session,
        role: held.role.clone(),
    };
    let (token, kept) = directory
        .issue_for_role(&caller.principal, agent, bound)
        .await?;
    Ok(Given(TokenView::shown(&kept, &token)))
}

/// Team sessions.
#[derive(JsonSchema, Serialize)]
pub(crate) struct SessionList {
    sessions: Vec<SessionView>,
}

/// A session as it is told.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TeamSession")]
pub(crate) struct SessionView {
    session: String,
    temporal_namespace: String,
    /// The repository it belongs to
    repo: Option<String>,
    /// The checkout its worktrees belong to
    root: Option<String>,
    /// The branch they began at
    branch: Option<String>,
    owner: String,
    created_at: String,
    /// When it ended
    stopped_at: Option<String>,
}

impl From<&Session> for SessionView {
    fn from(session: &Session) -> Self {
        Self {
            session: session.id.to_string(),
            temporal_namespace: session.namespace.clone(),
            repo: session.repo.clone(),
            root: session.root.clone(),
            branch: session.branch.clone(),
            owner: session.owner.name().to_owned(),
            created_at: rfc3339_millis(session.created_at),
            stopped_at: session.stopped_at.map(rfc3339_millis),
        }
    }
}

/// A session with all its roles.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TeamSessionWithRoles")]
pub(crate) struct SessionWithRoles {
    #[serde(flatten)]
    session: SessionView,
    /// In the session's order, active or not
    roles: Vec<RoleView>,
}

/// A role as it is told.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TeamRole")]
pub(crate) struct RoleView {
    role: String,
    /// Null while it is not active
    status: Option<&'static str>,
    /// Silent for a quarter of an hour
    away: bool,
    /// The agent's command line
    agent: Option<String>,
    /// The agent that speaks for it
    holder: Option<String>,
    /// The person who took it over
    held_by: Option<String>,
    /// Its deliveries are held
    paused: bool,
    task: Option<String>,
    summary: Option<String>,
    last_seen: Option<String>,
    /// Messages it has not read
    unread: i64,
    worktree: Option<String>,
    branch: Option<String>,
    pane: Option<String>,
}

impl RoleView {
    fn of(held: &Held, now: Timestamp) -> Self {
        let named = |principal: &Option<Principal>| {
            principal
                .as_ref()
                .map(|principal| principal.name().to_owned())
        };
        Self {
            role: held.role.to_string(),
            status: held.status.map(Status::as_str),
            away: held
                .seen_at
                .is_some_and(|seen| now.duration_since(seen) > AWAY_AFTER),
            agent: held.agent.clone(),
            holder: named(&held.holder),
            held_by: named(&held.held_by),
            paused: held.paused_at.is_some(),
            task: held.task.clone(),
            summary: held.summary.clone(),
            last_seen: held.seen_at.map(rfc3339_millis),
            unread: held.unread,
            worktree: held.worktree.clone(),
            branch: held.branch.clone(),
            pane: held.pane.clone(),
        }
    }
}

/// A session that was taken back.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DiscardedSession")]
pub(crate) struct Discarded {
    session: String,
}

/// A note that was left.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Noted {
    message_id: String,
    to: String,
    /// delivered: handed to a role that waited; queued: it waits to be fetched
    delivery: &'static str,
}
