//! `role_list`: who has which role.

use guildhall_core::RepoRole;
use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Granted, Granting};

#[derive(Deserialize, JsonSchema)]
struct Arguments {}

#[derive(JsonSchema, Serialize)]
struct Listed {
    /// Roles that were given; who operates the server owns every repository besides
    grants: Vec<Granted>,
}

pub(super) fn tool(granting: Granting) -> Tool {
    Tool::new(
        "role_list",
        "List roles",
        "List who was given which role in a repository and on its lanes. Use it to see whom to ask.",
    )
    .scope(Scope::Repo(RepoRole::Reader))
    .read_only()
    .handler(move |context: CallContext, Arguments {}| {
        let granting = granting.clone();
        async move {
            let grants = granting.roles.grants(context.repo()?.name.clone()).await;
            let grants = grants?;
            Ok::<_, ToolError>(Listed { grants: grants.into_iter().map(Granted::from).collect() })
        }
    })
}
