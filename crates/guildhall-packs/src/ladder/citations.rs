//! Whether what a summary cites is there.

use std::collections::HashMap;

use guildhall_core::ladder::citations;
use guildhall_git::{GitError, Repository};
use guildhall_tools::ToolError;
use schemars::JsonSchema;
use serde::Serialize;

use super::refusal;

/// Most wrong citations of one summary that are told.
const MOST: usize = 20;

/// A place in the code that a summary cites and that is not there.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct WrongCitation {
    /// As it stands in the summary
    citation: String,
    problem: String,
}

/// What is wrong with the citations of `summary` at `commit`.
pub(super) fn wrong(
    repository: &Repository,
    commit: &str,
    summary: &str,
) -> Result<Vec<WrongCitation>, ToolError> {
    let mut files: HashMap<&str, Option<u64>> = HashMap::new();
    let mut wrong = Vec::new();
    for citation in citations(summary) {
        let known = files.get(citation.path).copied();
        let lines = match known {
            Some(lines) => lines,
            None => {
                let lines = lines(repository, commit, citation.path)?;
                files.insert(citation.path, lines);
                lines
            }
        };
        // Without a slash it may be the name of a machine: only a file that is there makes it a citation.
        if lines.is_none() && !citation.path.contains('/') {
            continue;
        }
        let problem = match lines {
            None => "There is no such file at the anchor".to_owned(),
            Some(_) if citation.first == 0 || citation.first > citation.last => {
                "Lines count from 1, the first not after the last".to_owned()
            }
            Some(lines) if citation.last > lines => {
                format!("The file has {lines} lines at the anchor")
            }
            Some(_) => continue,
        };
        wrong.push(WrongCitation {
            citation: citation.text.to_owned(),
            problem,
        });
        if wrong.len() == MOST {
            break;
        }
    }
    Ok(wrong)
}

/// How many lines the file has; `None` where there is none, or none that could be a file of a repository.
fn lines(repository: &Repository, commit: &str, path: &str) -> Result<Option<u64>, ToolError> {
    match repository.lines_at(commit, path) {
        Ok(lines) => Ok(lines),
        Err(GitError::BadPath { .. }) => Ok(None),
        // Nobody counts the lines of a file that is too large to be shown.
        Err(GitError::TooLarge { .. }) => Ok(Some(u64::MAX)),
        Err(error) => Err(refusal(&error)),
    }
}
