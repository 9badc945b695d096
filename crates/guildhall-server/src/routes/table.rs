//! The list itself, by area.

use axum::routing::{delete, get, post};

use super::described::{OF_TOOLS, Query};
use super::{Access, Reach, Route};
use crate::api::openapi::Description;
use crate::api::{
    agents, doctor, login, openapi, repos, status, team, tokens, tools, users, whoami,
};
use crate::{git, health, host, mcp, metrics, sign_in};

/// What else the store refuses: no such account or token, one that is taken or disabled.
const OF_ACCOUNTS: &[u16] = &[404, 409];
/// What else git and the store refuse of a repository: none that the caller may see, a change that does not fit, an
/// origin that does not answer.
const OF_REPOS: &[u16] = &[404, 409, 502];
/// What else is refused of team sessions: none that the caller may see, a slot that was used, a full inbox.
const OF_TEAMS: &[u16] = &[404, 409, 429];
/// What else the MCP doors refuse: no such pack, repository or session, a verb that needs sessions, media types that
/// are not theirs, too many sessions.
const OF_MCP: &[u16] = &[404, 405, 406, 413, 415, 429];
/// What else git hears: no repository that the caller may see. Too many clones at once are 503, as a database is that
/// does not answer.
const OF_GIT: &[u16] = &[404, 503];
/// What else is refused to whoever signs in: too many tries, or the database does not answer.
const OF_SIGN_IN: &[u16] = &[429, 503];

const READ_ONLY: Query = Query {
    name: "access",
    about: "`read` leaves out every tool that changes something",
    values: &["read", "all"],
    required: false,
};
const REPO: Query = Query {
    name: "repo",
    about: "`owner/name` of the repository that calls are about which name none",
    values: &[],
    required: false,
};
const ALL: Query = Query {
    name: "all",
    about: "`true` lists everybody's; only for who operates the server",
    values: &["true", "false"],
    required: false,
};
const VERIFY: Query = Query {
    name: "verify",
    about: "`true` checks the whole event log",
    values: &["true", "false"],
    required: false,
};
const CODE: Query = Query {
    name: "code",
    about: "The code that the device shows",
    values: &[],
    required: false,
};
const SERVICE: Query = Query {
    name: "service",
    about: "Which of git's services",
    values: &["git-upload-pack", "git-receive-pack"],
    required: true,
};

/// Every route, and how far a token with limits reaches on it. What is not in here answers 404, after the gate.
pub const ROUTES: &[Route] = &[
    Route::new("GET", "/health", "Whether the server answers")
        .access(Access::Open)
        .json::<health::Health>()
        .served(|_| get(health::health)),
    Route::new("GET", "/metrics", "Counters in the Prometheus text format")
        .reach(Reach::Own)
        .text()
        .served(|_| get(metrics::metrics)),
    Route::new(
        "POST",
        "/mcp",
        "MCP over Streamable HTTP, all mounted tools",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY, REPO], OF_MCP)
    .takes_rpc()
    .served(|endpoint| post(mcp::door(endpoint))),
    Route::new(
        "GET",
        "/mcp",
        "The event stream of an MCP session, where sessions are on",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY, REPO], OF_MCP)
    .served(|endpoint| get(mcp::door(endpoint))),
    Route::new(
        "DELETE",
        "/mcp",
        "Ends an MCP session, where sessions are on",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY, REPO], OF_MCP)
    .served(|endpoint| delete(mcp::door(endpoint))),
    Route::new(
        "POST",
        "/mcp/{packs}",
        "MCP over Streamable HTTP, the named packs",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY, REPO], OF_MCP)
    .takes_rpc()
    .served(|endpoint| post(mcp::packs_door(endpoint))),
    Route::new(
        "GET",
        "/mcp/{packs}",
        "The event stream of an MCP session, where sessions are on",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY, REPO], OF_MCP)
    .served(|endpoint| get(mcp::packs_door(endpoint))),
    Route::new(
        "DELETE",
        "/mcp/{packs}",
        "Ends an MCP session, where sessions are on",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY, REPO], OF_MCP)
    .served(|endpoint| delete(mcp::packs_door(endpoint))),
    Route::new("GET", "/api/status", "What this server is and serves")
        .reach(Reach::Own)
        .result::<status::Status<'_>>()
        .served(|_| get(status::status)),
    Route::new(
        "GET",
        "/api/openapi.json",
        "This description: every route, and the tools of the caller",
    )
    .reach(Reach::Own)
    .json::<Description>()
    .served(|_| get(openapi::describe)),
    Route::new("GET", "/api/tools", "The tools of the caller")
        .reach(Reach::Tools)
        .result::<tools::Tools<'_>>()
        .served(|_| get(tools::list)),
    Route::new("POST", "/api/tools/{tool}", "Calls a tool")
        .reach(Reach::Tools)
        .tool_result(OF_TOOLS)
        .served(|_| post(tools::call)),
    Route::new(
        "POST",
        "/api/agents",
        "Makes the token file of one of the caller's agents",
    )
    .takes::<agents::Wanted>()
    .result::<agents::TokenFile>()
    .refuses(OF_ACCOUNTS)
    .served(|_| post(agents::token_file)),
    Route::new("GET", "/api/whoami", "Whom the token speaks for")
        .reach(Reach::Own)
        .result::<whoami::Whoami>()
        .served(|_| get(whoami::whoami)),
    Route::new("GET", "/api/agents", "The caller's agents")
        .result::<agents::Agents>()
        .refuses(OF_ACCOUNTS)
        .served(|_| get(agents::list)),
    Route::new(
        "POST",
        "/api/agents/{name}",
        "Makes one of the caller's agents and its first token",
    )
    .takes::<tokens::Limits>()
    .result::<tokens::TokenView>()
    .refuses(OF_ACCOUNTS)
    .served(|_| post(agents::create)),
    Route::new(
        "DELETE",
        "/api/agents/{name}",
        "Revokes one of the caller's agents",
    )
    .result::<agents::AccountView>()
    .refuses(OF_ACCOUNTS)
    .served(|_| delete(agents::revoke)),
    Route::new(
        "POST",
        "/api/agents/{name}/tokens",
        "Makes another token of one of the caller's agents",
    )
    .takes::<tokens::Limits>()
    .result::<tokens::TokenView>()
    .refuses(OF_ACCOUNTS)
    .served(|_| post(agents::token)),
    Route::new(
        "GET",
        "/api/tokens",
        "The tokens of the caller and of their agents",
    )
    .query(&[ALL])
    .result::<tokens::TokenList>()
    .refuses(OF_ACCOUNTS)
    .served(|_| get(tokens::list)),
    Route::new("DELETE", "/api/tokens/{id}", "Revokes a token")
        .result::<tokens::TokenView>()
        .refuses(OF_ACCOUNTS)
        .served(|_| delete(tokens::revoke)),
    Route::new("GET", "/api/users", "The people")
        .result::<users::Users>()
        .refuses(OF_ACCOUNTS)
        .served(|_| get(users::list)),
    Route::new("POST", "/api/users", "Adds a person")
        .takes::<users::Wanted>()
        .result::<users::Added>()
        .refuses(OF_ACCOUNTS)
        .served(|_| post(users::add)),
    Route::new(
        "DELETE",
        "/api/users/{username}",
        "Disables a person and their agents",
    )
    .result::<agents::AccountView>()
    .refuses(OF_ACCOUNTS)
    .served(|_| delete(users::disable)),
    Route::new(
        "POST",
        "/api/users/{username}/codes",
        "Makes another one-time sign-in code of a person",
    )
    .result::<users::SignInCode>()
    .refuses(OF_ACCOUNTS)
    .served(|_| post(users::code)),
    Route::new("POST", "/api/login/device", "Begins the login of a device")
        .access(Access::Open)
        .takes::<login::Device>()
        .result::<login::Begun>()
        .refuses(OF_SIGN_IN)
        .served(|_| post(login::begin)),
    Route::new(
        "POST",
        "/api/login/token",
        "What has become of a device's login",
    )
    .access(Access::Open)
    .takes::<login::Asked>()
    .result::<login::Progress>()
    .refuses(&[404, 409, 429, 503])
    .served(|_| post(login::finish)),
    Route::new(
        "GET",
        "/login",
        "The page on which a person signs in and approves a login",
    )
    .access(Access::Open)
    .page()
    .query(&[CODE])
    .refuses(&[404, 503])
    .served(|_| get(sign_in::show)),
    Route::new("POST", "/login", "The forms of that page")
        .access(Access::Open)
        .page()
        .takes_form::<sign_in::Form>()
        .refuses(&[404, 409, 429, 503])
        .served(|_| post(sign_in::submit)),
    Route::new(
        "GET",
        "/api/doctor",
        "Whether the database answers and is whole; the operator's alone",
    )
    .query(&[VERIFY])
    .result::<doctor::Health>()
    .served(|_| get(doctor::doctor)),
    Route::new(
        "GET",
        "/api/team/sessions",
        "The team sessions of the caller's person",
    )
    .reach(Reach::Sessions)
    .result::<team::SessionList>()
    .served(|_| get(team::list)),
    Route::new("POST", "/api/team/sessions", "Makes a team session")
        .takes::<team::Wanted>()
        .result::<team::SessionView>()
        .refuses(OF_TEAMS)
        .served(|_| post(team::make)),
    Route::new(
        "GET",
        "/api/team/sessions/{session}",
        "A team session with its roles",
    )
    .reach(Reach::Sessions)
    .result::<team::SessionWithRoles>()
    .refuses(OF_TEAMS)
    .served(|_| get(team::show)),
    Route::new(
        "DELETE",
        "/api/team/sessions/{session}",
        "Takes back a team session in which nothing was said",
    )
    .result::<team::Discarded>()
    .refuses(OF_TEAMS)
    .served(|_| delete(team::discard)),
    Route::new(
        "POST",
        "/api/team/sessions/{session}/stop",
        "Ends a team session and the tokens bound to it",
    )
    .result::<team::SessionView>()
    .refuses(OF_TEAMS)
    .served(|_| post(team::stop)),
    Route::new(
        "POST",
        "/api/team/sessions/{session}/roles/{role}",
        "Places, pauses, resumes, takes over, releases or recovers a role",
    )
    .takes::<team::Wish>()
    .result::<team::RoleView>()
    .refuses(OF_TEAMS)
    .served(|_| post(team::steer)),
    Route::new(
        "POST",
        "/api/team/sessions/{session}/roles/{role}/notes",
        "Leaves a role a note",
    )
    .takes::<team::Note>()
    .result::<team::Noted>()
    .refuses(OF_TEAMS)
    .served(|_| post(team::note)),
    Route::new(
        "POST",
        "/api/team/sessions/{session}/roles/{role}/token",
        "Makes a token that speaks for one role of a team session",
    )
    .takes::<team::ForAgent>()
    .result::<tokens::TokenView>()
    .refuses(OF_TEAMS)
    .served(|_| post(team::token)),
    Route::new(
        "GET",
        "/api/repos",
        "The hosted repositories that the caller may see",
    )
    .reach(Reach::Repos)
    .result::<repos::RepoList>()
    .refuses(OF_REPOS)
    .served(|_| get(repos::list)),
    Route::new(
        "POST",
        "/api/repos",
        "Takes in a repository; the operator's alone",
    )
    .takes::<repos::Wanted>()
    .result::<host::RepoView>()
    .refuses(OF_REPOS)
    .served(|_| post(repos::add)),
    Route::new(
        "GET",
        "/api/repos/{owner}/{repo}",
        "One repository, and how it stands to its origin",
    )
    .reach(Reach::Repos)
    .result::<host::RepoView>()
    .refuses(OF_REPOS)
    .served(|_| get(repos::show)),
    Route::new(
        "DELETE",
        "/api/repos/{owner}/{repo}",
        "Stops hosting a repository and deletes it here; the operator's alone",
    )
    .result::<repos::Removed>()
    .refuses(OF_REPOS)
    .served(|_| delete(repos::remove)),
    Route::new(
        "POST",
        "/api/repos/{owner}/{repo}/sync",
        "Fetches the origin and moves the default branch forward; the operator's alone",
    )
    .takes::<repos::Sync>()
    .result::<host::RepoView>()
    .refuses(OF_REPOS)
    .served(|_| post(repos::sync)),
    Route::new(
        "POST",
        "/api/repos/{owner}/{repo}/push",
        "Sends the default branch to the origin; the operator's alone",
    )
    .result::<host::RepoView>()
    .refuses(OF_REPOS)
    .served(|_| post(repos::push)),
    Route::new(
        "GET",
        "/api/repos/{owner}/{repo}/tools",
        "The tools of the caller in a repository",
    )
    .reach(Reach::Tools)
    .result::<tools::Tools<'_>>()
    .refuses(OF_REPOS)
    .served(|_| get(repos::tools)),
    Route::new(
        "POST",
        "/api/repos/{owner}/{repo}/tools/{tool}",
        "Calls a tool in a repository",
    )
    .reach(Reach::Tools)
    .tool_result(OF_TOOLS)
    .served(|_| post(repos::call)),
    Route::new(
        "POST",
        "/api/repos/{owner}/{repo}/mcp",
        "MCP over Streamable HTTP, the tools of a repository",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY], OF_MCP)
    .takes_rpc()
    .served(|endpoint| post(mcp::repo_door(endpoint))),
    Route::new(
        "GET",
        "/api/repos/{owner}/{repo}/mcp",
        "The event stream of an MCP session, where sessions are on",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY], OF_MCP)
    .served(|endpoint| get(mcp::repo_door(endpoint))),
    Route::new(
        "DELETE",
        "/api/repos/{owner}/{repo}/mcp",
        "Ends an MCP session, where sessions are on",
    )
    .reach(Reach::Tools)
    .rpc(&[READ_ONLY], OF_MCP)
    .served(|endpoint| delete(mcp::repo_door(endpoint))),
    Route::new(
        "GET",
        "/{owner}/{repo}/info/refs",
        "What a clone or fetch of `<owner>/<name>.git` begins with",
    )
    .reach(Reach::Clone)
    .access(Access::Git)
    .bytes(&[git::ADVERTISEMENT])
    .query(&[SERVICE])
    .refuses(OF_GIT)
    .served(|_| get(git::refs)),
    Route::new(
        "POST",
        "/{owner}/{repo}/git-upload-pack",
        "The objects of a clone or fetch of `<owner>/<name>.git`",
    )
    .reach(Reach::Clone)
    .access(Access::Git)
    .bytes(&[git::PACK])
    .takes_git()
    .refuses(OF_GIT)
    .served(|_| post(git::upload_pack)),
    Route::new(
        "POST",
        "/{owner}/{repo}/git-receive-pack",
        "Refuses a push, and says how code is written instead",
    )
    .access(Access::Git)
    .refuses(&[404])
    .served(|_| post(git::receive_pack)),
];
