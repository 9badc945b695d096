//! `role_revoke`: takes a role back.

use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Granting, role, user};
use crate::act::act;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as you@example.com
    username: String,
    /// The role to take back
    role: String,
    /// The lane it is on, if it is on one
    lane_id: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Revoked {
    ok: bool,
}

pub(super) fn tool(granting: Granting) -> Tool {
    Tool::new(
        "role_revoke",
        "Revoke a role",
        "Take a role back from a user. Only an owner in person may.",
    )
    .scope(Scope::RepoOwnerInPerson)
    .keyed_by_store()
    .destructive()
    .handler(move |context: CallContext, arguments: Arguments| {
        let granting = granting.clone();
        async move {
            let role = role(&arguments.role, arguments.lane_id)?;
            let user = user(&arguments.username)?;
            let repo = context.repo()?.name.clone();
            let withdrawn = granting
                .roles
                .withdraw(act(&context, &*granting.clock), repo, user, role)
                .await;
            withdrawn?;
            Ok::<_, ToolError>(Revoked { ok: true })
        }
    })
}
