//! `ladder_write_rung`: writes rungs, all of them or none.

use std::collections::BTreeMap;

use guildhall_core::ladder::{LONGEST_SUMMARY, RungKind, RungPath, RungPathError};
use guildhall_git::{PathObject, Repository};
use guildhall_store::{Anchor, MOST_WRITTEN, NewRung};
use guildhall_tools::{CallContext, Scope, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::citations::{self, WrongCitation};
use super::{Summaries, refusal};

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Several rungs, in place of the keys of one
    rungs: Option<Vec<Given>>,
    /// _repo, src/, src/index.js, release:<tag>, changeset:<sha>, issue:<n>, pull:<n> or lane:<id>
    path: Option<String>,
    /// Markdown
    summary: Option<String>,
    /// The commit you read; needed but for issues, pulls and lanes
    anchor_commit: Option<String>,
    /// The version you replace, 0 for none: anything else there is a conflict
    #[schemars(range(min = 0))]
    version: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
struct Given {
    path: String,
    summary: String,
    anchor_commit: Option<String>,
    #[schemars(range(min = 0))]
    version: Option<i64>,
}

#[derive(JsonSchema, Serialize)]
struct Done {
    /// In the order given
    rungs: Vec<Written>,
}

#[derive(JsonSchema, Serialize)]
struct Written {
    path: String,
    version: i64,
    /// The full id
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor_commit: Option<String>,
    /// Places that the summary cites and that are not there at its anchor: mend them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    wrong_citations: Vec<WrongCitation>,
}

pub(super) fn tool(summaries: Summaries) -> Tool {
    Tool::new(
        "ladder_write_rung",
        "Write summaries",
        "Write summaries of the repository, its directories or files, each at the commit you read; all or none. Use it after \
         you read what you sum up.",
    )
    .scope(Scope::RepoCoordinator)
    .keyed_by_store()
    .handler(move |context: CallContext, arguments: Arguments| {
        let summaries = summaries.clone();
        async move { write(&summaries, &context, arguments).await }
    })
}

async fn write(
    summaries: &Summaries,
    context: &CallContext,
    arguments: Arguments,
) -> Result<Done, ToolError> {
    let repo = context.repo()?;
    let by = context.caller.principal.clone();
    summaries
        .ladder
        .may_write_rungs(by, repo.name.clone())
        .await?;
    let given = given(arguments)?;
    let checked = summaries
        .in_repo(repo, move |repository| check(repository, given))
        .await?;
    let (rungs, wrong): (Vec<NewRung>, Vec<_>) = checked.into_iter().unzip();
    let anchors: Vec<_> = rungs
        .iter()
        .map(|rung| rung.anchor.as_ref().map(|anchor| anchor.commit.clone()))
        .collect();
    let written = summaries
        .ladder
        .write_rungs(summaries.act(context), repo.name.clone(), rungs)
        .await?;
    let rungs = written.into_iter().zip(anchors).zip(wrong);
    Ok(Done {
        rungs: rungs
            .map(|((written, anchor_commit), wrong_citations)| Written {
                path: written.path.into(),
                version: written.version,
                anchor_commit,
                wrong_citations,
            })
            .collect(),
    })
}

/// The rungs that are meant: those of the list, or the one whose keys are given.
fn given(arguments: Arguments) -> Result<Vec<(RungPath, Given)>, ToolError> {
    let Arguments {
        rungs,
        path,
        summary,
        anchor_commit,
        version,
    } = arguments;
    let one = path.is_some() || summary.is_some() || anchor_commit.is_some() || version.is_some();
    let rungs = match rungs {
        Some(_) if one => {
            return Err(ToolError::bad_arguments(
                "Give 'rungs', or the keys of one rung, not both",
            ));
        }
        Some(rungs) => rungs,
        None => {
            let needed = |text: Option<String>, key| {
                text.filter(|text| !text.trim().is_empty())
                    .ok_or_else(|| ToolError::required(key))
            };
            vec![Given {
                path: needed(path, "path")?,
                summary: needed(summary, "summary")?,
                anchor_commit,
                version,
            }]
        }
    };
    if rungs.is_empty() || rungs.len() > MOST_WRITTEN {
        return Err(ToolError::bad_arguments(format!(
            "'rungs' has 1 to {MOST_WRITTEN} rungs, not {}",
            rungs.len()
        )));
    }
    let parsed = rungs.into_iter().map(|rung| {
        let path: RungPath = rung
            .path
            .parse()
            .map_err(|error: RungPathError| ToolError::bad_arguments(error.to_string()))?;
        if rung.summary.len() > LONGEST_SUMMARY {
            return Err(ToolError::bad_arguments(format!(
                "The summary of `{path}` has {} bytes, and may have {LONGEST_SUMMARY}",
                rung.summary.len()
            )));
        }
        Ok((path, rung))
    });
    parsed.collect()
}

/// Looks up what each rung cites: its commit, its path there, and the places in its summary.
fn check(
    repository: &Repository,
    given: Vec<(RungPath, Given)>,
) -> Result<Vec<(NewRung, Vec<WrongCitation>)>, ToolError> {
    let mut commits: BTreeMap<String, String> = BTreeMap::new();
    let mut by_commit: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, rung) in &given {
        let Some(commit) = named(rung) else {
            if path.kind().needs_anchor() {
                return Err(ToolError::bad_arguments(format!(
                    "'anchor_commit' is required for `{path}`: a rung of the kind {} is written at a commit",
                    path.kind()
                )));
            }
            continue;
        };
        if !commits.contains_key(commit) {
            let id = repository
                .resolve(commit)
                .map_err(|error| refusal(&error).hint("'anchor_commit' is the commit you read."))?;
            commits.insert(commit.to_owned(), id.to_string());
        }
        if let Some(in_tree) = path.in_tree() {
            let paths = by_commit.entry(commits[commit].clone()).or_default();
            paths.push(in_tree);
        }
    }
    let mut objects: BTreeMap<(String, String), Option<PathObject>> = BTreeMap::new();
    for (commit, paths) in by_commit {
        let found = repository
            .objects_at(&commit, &paths)
            .map_err(|error| refusal(&error))?;
        for (path, object) in paths.into_iter().zip(found) {
            objects.insert((commit.clone(), path.to_owned()), object);
        }
    }
    given
        .into_iter()
        .map(|(path, rung)| {
            let anchor = match named(&rung) {
                Some(commit) => {
                    let commit = commits[commit].clone();
                    let object = match path.in_tree() {
                        Some(in_tree) => {
                            let found = objects.get(&(commit.clone(), in_tree.to_owned()));
                            Some(there(&path, &commit, found.copied().flatten())?)
                        }
                        None => None,
                    };
                    Some(Anchor { commit, object })
                }
                None => None,
            };
            let wrong = match &anchor {
                Some(anchor) => citations::wrong(repository, &anchor.commit, &rung.summary)?,
                None => Vec::new(),
            };
            let new = NewRung {
                path,
                summary: rung.summary,
                anchor,
                replaces: rung.version,
            };
            Ok((new, wrong))
        })
        .collect()
}

/// The commit that a rung names; blank is none.
fn named(rung: &Given) -> Option<&str> {
    let commit = rung.anchor_commit.as_deref().map(str::trim);
    commit.filter(|commit| !commit.is_empty())
}

/// What stands at the path, if it is of the path's kind.
fn there(path: &RungPath, commit: &str, found: Option<PathObject>) -> Result<String, ToolError> {
    let Some(found) = found else {
        return Err(ToolError::bad_arguments(format!(
            "There is nothing at `{path}` in commit {commit}"
        )));
    };
    match (path.kind(), found.is_directory()) {
        (RungKind::File, true) => Err(ToolError::bad_arguments(format!(
            "`{path}` is a directory in commit {commit}: write `{path}/`"
        ))),
        (RungKind::Directory, false) => Err(ToolError::bad_arguments(format!(
            "`{path}` is a file in commit {commit}: write it without the slash"
        ))),
        _ => Ok(found.to_string()),
    }
}
