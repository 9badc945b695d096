//! `GET /api/doctor`: whether the database answers, and with `?verify=true` whether its event log is what was written.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use guildhall_store::Events as _;
use guildhall_tools::Caller;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Given, needs_operator};
use crate::state::App;

/// How the database is.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DatabaseHealth")]
pub(crate) struct Health {
    /// Which it is
    database: &'static str,
    /// Events that were looked at
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<i64>,
    /// What in the log is not what was written
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<String>>,
}

/// The operator's alone: checking the whole log is work, and says how much there is.
pub(crate) async fn doctor(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Answer<Health> {
    needs_operator(&caller, "look after it")?;
    let verify = query.is_some_and(|query| query.split('&').any(|pair| pair == "verify=true"));
    let store = app.parts.directory.store();
    store.feed_end().await?;
    let mut health = Health {
        database: store.kind(),
        events: None,
        findings: None,
    };
    if verify {
        let found = store.verify(None).await?;
        health.events = Some(found.events);
        health.findings = Some(found.findings.iter().map(ToString::to_string).collect());
    }
    Ok(Given(health))
}
