//! From what a caller calls a commit to its id.

use std::collections::HashSet;

use gix::ObjectId;
use gix::hash::Prefix;
use gix::objs::Kind;

use crate::error::GitError;
use crate::repository::{Peeled, Reader, Repository, damaged};

/// The longest revision looked at; a ref's name cannot be longer in practice.
const LONGEST: usize = 512;

/// The longest part between two slashes, in bytes, that a file system keeps a ref under, with `.lock` behind it.
const LONGEST_PART: usize = 250;

impl Repository {
    /// The commit that `revision` names: a full id, a branch, a tag, `HEAD`, or an unambiguous short id of at least four
    /// digits. A branch or tag goes before a short id that looks the same, as in git.
    ///
    /// The answer is an id, so that nothing a caller wrote ever becomes an argument of a program.
    ///
    /// # Errors
    /// [`GitError::BadRevision`] for everything else: what starts with `-`, expressions such as `HEAD~1`, names that do not
    /// resolve, short ids that fit several commits, ids of trees and files.
    pub fn resolve(&self, revision: &str) -> Result<ObjectId, GitError> {
        self.read(|reader| reader.resolve(revision))
    }
}

impl Reader {
    pub(crate) fn resolve(&self, revision: &str) -> Result<ObjectId, GitError> {
        let bad = |reason: String| GitError::BadRevision {
            given: revision.chars().take(80).collect(),
            reason,
        };
        if revision.is_empty() || revision.len() > LONGEST {
            return Err(bad(format!("give 1 to {LONGEST} characters")));
        }
        // Branches and tags are files.
        if revision.split('/').any(|part| part.len() > LONGEST_PART) {
            return Err(bad(format!(
                "a part of a name has at most {LONGEST_PART} bytes"
            )));
        }
        if revision.starts_with('-') {
            return Err(bad("a revision does not start with `-`".into()));
        }
        let full = ObjectId::from_hex(revision.as_bytes()).ok();
        let ids = match full {
            Some(id) => vec![id],
            None => match self.named(revision)? {
                Some(id) => vec![id],
                None => self.by_prefix(revision)?,
            },
        };
        let mut commits = Vec::new();
        let mut other = None;
        for id in ids {
            match self.peel(id)? {
                Peeled::Commit(commit) => commits.push(commit),
                Peeled::Other(kind) => other = Some(kind),
                Peeled::Absent => {}
            }
        }
        commits.sort_unstable();
        commits.dedup();
        match (commits.as_slice(), other) {
            ([commit], _) => Ok(*commit),
            ([], Some(kind)) => Err(bad(format!("it is a {kind}, not a commit"))),
            ([], None) => Err(bad(
                "no commit has this id, no branch or tag this name".into()
            )),
            (several, _) => Err(bad(format!(
                "it is short for {} commits; give more digits",
                several.len()
            ))),
        }
    }

    /// What the ref called `name` points to: `HEAD`, a full name under `refs/heads/` or `refs/tags/`, a tag, a branch.
    fn named(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let full_names = if name == "HEAD" {
            return self.tip();
        } else if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") {
            vec![name.to_owned()]
        } else {
            vec![format!("refs/tags/{name}"), format!("refs/heads/{name}")]
        };
        for full_name in full_names {
            let Ok(full_name) = gix::refs::FullName::try_from(full_name) else {
                return Ok(None);
            };
            let found = self.repo.try_find_reference(full_name.as_ref());
            if let Some(mut reference) = found.map_err(damaged(name))? {
                let id = reference.follow_to_object();
                return Ok(Some(id.map_err(damaged(name))?.detach()));
            }
        }
        Ok(None)
    }

    /// The commits and tags whose id starts with `digits`.
    fn by_prefix(&self, digits: &str) -> Result<Vec<ObjectId>, GitError> {
        let is_hex = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some(prefix) = Prefix::from_hex(digits).ok().filter(|_| is_hex) else {
            return Ok(Vec::new());
        };
        let mut candidates = HashSet::default();
        self.repo
            .objects
            .lookup_prefix(prefix, Some(&mut candidates))
            .map_err(damaged(digits))?;
        let mut ids: Vec<ObjectId> = candidates.into_iter().collect();
        if ids.len() > 1 {
            // A person who cites a commit does not mean the file that happens to share its first digits.
            let mut fitting = Vec::new();
            for id in ids {
                if let Some((Kind::Commit | Kind::Tag, _)) = self.header(&id)? {
                    fitting.push(id);
                }
            }
            ids = fitting;
        }
        Ok(ids)
    }
}
