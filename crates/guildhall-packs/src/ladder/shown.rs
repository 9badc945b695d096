//! A rung as results show it.

use guildhall_core::clock::rfc3339_millis;
use guildhall_core::ladder::{RungKind, RungPath};
use guildhall_git::{Anchored, Drift, GitError, Repository};
use guildhall_store::{Anchor, Rung};
use guildhall_tools::ToolError;
use schemars::JsonSchema;
use serde::Serialize;

use super::refusal;

/// A rung, and how far the code has moved on since.
#[derive(JsonSchema, Serialize)]
pub(super) struct Shown {
    pub(super) path: String,
    pub(super) kind: &'static str,
    /// Markdown, as its author wrote it
    pub(super) summary: String,
    /// The summary was cut
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub(super) truncated: bool,
    /// The commit it was written at
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) anchor_commit: Option<String>,
    pub(super) author: String,
    pub(super) updated_at: String,
    pub(super) version: i64,
    /// Something else stands there on the default branch now
    pub(super) stale: bool,
    /// Commits since that touched it
    pub(super) behind: usize,
}

impl Shown {
    pub(super) fn of(rung: Rung, drift: Drift) -> Self {
        Self {
            kind: rung.path.kind().as_str(),
            path: rung.path.into(),
            summary: rung.summary,
            truncated: false,
            anchor_commit: rung.anchor.map(|anchor| anchor.commit),
            author: rung.author.name().to_owned(),
            updated_at: rfc3339_millis(rung.updated_at),
            version: rung.version,
            stale: drift.stale,
            behind: drift.behind,
        }
    }
}

/// How far `head` is from what each rung was written at. A release is stale once its tag is at another commit; what is no
/// part of the code never is.
pub(super) fn drifts(
    repository: &Repository,
    head: Option<&str>,
    rungs: &[Rung],
) -> Result<Vec<Drift>, ToolError> {
    let mut drifts = vec![Drift::default(); rungs.len()];
    let (mut asked, mut places) = (Vec::new(), Vec::new());
    for (place, rung) in rungs.iter().enumerate() {
        let Some(anchor) = &rung.anchor else {
            continue;
        };
        if let Some(path) = rung.path.in_tree() {
            asked.push(Anchored {
                path,
                commit: &anchor.commit,
            });
            places.push(place);
        } else {
            drifts[place].stale = tag_moved(repository, &rung.path, anchor)?;
        }
    }
    if let Some(head) = head {
        let told = repository.drift(head, &asked);
        for (place, drift) in places
            .into_iter()
            .zip(told.map_err(|error| refusal(&error))?)
        {
            drifts[place] = drift;
        }
    }
    Ok(drifts)
}

/// For each of the rungs, whether something else stands at its path in `head`: by what was noted when it was written, so
/// that no anchor is looked up.
pub(super) fn stale(
    repository: &Repository,
    head: Option<&str>,
    rungs: &[(&RungPath, Option<&Anchor>)],
) -> Result<Vec<bool>, ToolError> {
    let in_tree: Vec<&str> = rungs
        .iter()
        .filter(|(_, anchor)| anchor.is_some())
        .filter_map(|(path, _)| path.in_tree())
        .collect();
    let now = match head {
        Some(head) if !in_tree.is_empty() => repository
            .objects_at(head, &in_tree)
            .map_err(|error| refusal(&error))?,
        _ => vec![None; in_tree.len()],
    };
    let mut now = now.into_iter();
    rungs
        .iter()
        .map(|(path, anchor)| match (anchor, path.in_tree()) {
            (None, _) => Ok(false),
            (Some(anchor), Some(_)) => {
                let now = now.next().flatten().map(|object| object.to_string());
                Ok(now != anchor.object)
            }
            (Some(anchor), None) => tag_moved(repository, path, anchor),
        })
        .collect()
}

/// Whether the tag of a release is at another commit than the anchor. One that is not here says nothing.
fn tag_moved(repository: &Repository, path: &RungPath, anchor: &Anchor) -> Result<bool, ToolError> {
    let Some(tag) = path.name().filter(|_| path.kind() == RungKind::Release) else {
        return Ok(false);
    };
    match repository.resolve(&format!("refs/tags/{tag}")) {
        Ok(commit) => Ok(anchor.commit.parse().ok() != Some(commit)),
        Err(GitError::BadRevision { .. }) => Ok(false),
        Err(error) => Err(refusal(&error)),
    }
}
