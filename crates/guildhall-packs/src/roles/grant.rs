//! `role_grant`: gives a user a role.

use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Granted, Granting, role, user};
use crate::act::act;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Such as you@example.com
    username: String,
    /// owner, maintainer, contributor or reader; on a lane coordinator or maintainer
    role: String,
    /// Give the role on this lane instead of the repository
    lane_id: Option<String>,
}

#[derive(JsonSchema, Serialize)]
struct Given {
    grant: Granted,
}

pub(super) fn tool(granting: Granting) -> Tool {
    Tool::new(
        "role_grant",
        "Grant a role",
        "Give a user a role in a repository or on a lane. Only an owner in person may; on a repository it replaces the \
         user's role.",
    )
    .scope(Scope::RepoOwnerInPerson)
    .keyed_by_store()
    .idempotent()
    .handler(move |context: CallContext, arguments: Arguments| {
        let granting = granting.clone();
        async move {
            let role = role(&arguments.role, arguments.lane_id)?;
            let user = user(&arguments.username)?;
            let repo = context.repo()?.name.clone();
            let granted = granting.roles.grant(act(&context, &*granting.clock), repo, user, role).await;
            let grant = granted?.into();
            Ok::<_, ToolError>(Given { grant })
        }
    })
}
