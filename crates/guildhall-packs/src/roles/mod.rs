//! The `roles` pack: who may do what in a repository (zz page, "Permissions").
//!
//! Granting needs an owner in person: an agent never widens what anybody may do. An agent has its user's roles, so roles
//! are given to users.

mod grant;
mod list;
mod revoke;

use std::sync::Arc;

use guildhall_core::{Clock, LaneRole, Principal, RepoRole};
use guildhall_store::{Grant, Role, Roles};
use guildhall_tools::{Pack, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

/// What the tools work on.
#[derive(Clone)]
pub struct Granting {
    /// The roles.
    pub roles: Arc<dyn Roles>,
    /// When they are given.
    pub clock: Arc<dyn Clock>,
}

/// The pack over `granting`.
pub fn pack(granting: &Granting) -> Pack {
    Pack::new(
        "roles",
        vec![
            grant::tool(granting.clone()),
            revoke::tool(granting.clone()),
            list::tool(granting.clone()),
        ],
    )
}

/// A role as results show it.
#[derive(JsonSchema, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the keys of the result, as the store and its events name them"
)]
struct Granted {
    username: String,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane_id: Option<String>,
    granted_by: String,
    granted_at: String,
}

impl From<Grant> for Granted {
    fn from(grant: Grant) -> Self {
        let (role, lane_id) = match grant.role {
            Role::Repo(role) => (role.name(), None),
            Role::Lane { lane, role } => (role.name(), Some(lane)),
        };
        Self {
            username: grant.user.name().to_owned(),
            role,
            lane_id,
            granted_by: grant.granted_by.name().to_owned(),
            granted_at: guildhall_core::clock::rfc3339_millis(grant.granted_at),
        }
    }
}

/// The role that `role` and `lane_id` name together.
fn role(role: &str, lane_id: Option<String>) -> Result<Role, ToolError> {
    let allowed = |names: &str| {
        ToolError::bad_arguments(format!("'role' must be one of {names}, not `{role}`"))
    };
    match lane_id.filter(|lane| !lane.trim().is_empty()) {
        Some(lane) => {
            let role: LaneRole = role
                .parse()
                .map_err(|_| allowed("coordinator, maintainer on a lane"))?;
            Ok(Role::Lane { lane, role })
        }
        None => {
            let role: RepoRole = role.parse().map_err(|_| {
                allowed("owner, maintainer, contributor, reader")
                    .hint("`coordinator` is a role on a lane: give 'lane_id'.")
            })?;
            Ok(Role::Repo(role))
        }
    }
}

/// The user that `username` names. An agent has no roles of its own.
fn user(username: &str) -> Result<Principal, ToolError> {
    if let Ok(named) = username.parse::<Principal>()
        && named.is_agent()
    {
        return Err(ToolError::bad_arguments(format!(
            "`{named}` is an agent: roles are given to its user, `{}`, and the agent has them too",
            named.user_address()
        )));
    }
    Principal::user(username).map_err(|error| {
        ToolError::bad_arguments(error.to_string())
            .hint("Roles belong to users; an agent has its user's.")
    })
}

#[cfg(test)]
mod tests;
