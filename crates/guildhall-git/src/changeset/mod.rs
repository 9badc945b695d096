//! Commits made from full file contents, without a working tree.
//!
//! A changeset says what some files shall be, starting from the commit its author looked at. When the branch has moved
//! since, what both sides touched is merged three-way, by git itself where more than whole files have to be compared. The
//! objects are on the disk when a commit is given out; moving the branch to it is another step.

mod apply;
mod limits;
mod merge;
mod message;
mod objects;
mod pack;
mod path;

use std::collections::{HashSet, VecDeque};

use gix::ObjectId;
use gix::objs::Kind;
use jiff::Timestamp;

use crate::error::GitError;
use crate::hosting::{Hosted, full_id};
use crate::repository::{Reader, Repository};
use apply::{Absent, Base};
pub use limits::ChangesetLimits;
pub use merge::{Conflict, Conflicts, Side};
use merge::{Merge, Merged};
use objects::Objects;

/// How many commits are read to find one among them before git is asked, which has an index for it.
const LOOKED_AT: usize = 500;

/// What one file shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path, relative to the root; as it stands or escaped as results show it.
    pub path: String,
    /// What shall be there.
    pub change: Change,
}

/// What shall be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file with this content.
    Write {
        /// All of it.
        content: Vec<u8>,
        /// Its mode; without one that of the file that is there, else [`FileMode::Regular`].
        mode: Option<FileMode>,
    },
    /// The file that is there, with this mode.
    Mode(FileMode),
    /// Nothing.
    Delete,
}

/// Whether a file can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// `100644`.
    Regular,
    /// `100755`.
    Executable,
}

/// Somebody in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name people read.
    pub name: String,
    /// The address.
    pub email: String,
    /// When; written with second precision, in UTC.
    pub at: Timestamp,
}

/// A commit to be made.
#[derive(Clone, Debug)]
pub struct Proposal<'a> {
    /// The commit that the files were changed from, by any of its names; none for a repository without commits.
    pub base: Option<&'a str>,
    /// Another commit that is brought in: the files then say how what conflicts between the two shall be.
    pub merges: Option<&'a str>,
    /// The files, each path once.
    pub files: &'a [FileChange],
    /// What the commit is for. It can hold nothing that reads like a trailer of ours.
    pub message: &'a str,
    /// Lines at the end, such as `Lane: _repo`, in this order.
    pub trailers: &'a [(&'static str, String)],
    /// Who made the change.
    pub author: Signature,
    /// Who lands it.
    pub committer: Signature,
    /// How much it may hold.
    pub limits: ChangesetLimits,
    /// How many bytes of the files in conflict are shown, should there be any.
    pub shown: usize,
}

/// What became of a proposal.
#[derive(Clone, Debug)]
pub enum Composed {
    /// A commit on top of the tip. All its objects are on the disk; no ref points to it yet.
    Commit(NewCommit),
    /// The branch has moved and the same things were changed in different ways. Nothing was written.
    Conflict(Conflicts),
}

/// A commit that no ref points to yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCommit {
    /// Its full id.
    pub id: String,
    /// The full id of its tree.
    pub tree: String,
    /// Whether the branch had moved since the proposal's base.
    pub merged: bool,
}

impl Hosted {
    /// Makes the commit of `proposal` on top of `tip`, the full id of the commit the default branch is at.
    ///
    /// # Errors
    /// [`GitError::RefusedPath`] and [`GitError::BadPath`], [`GitError::OverLimit`], [`GitError::BadRevision`] for a base that
    /// is no commit, [`GitError::BadArgument`] for one that is not on the branch, for a change of nothing, and for a message
    /// that cannot be written. Nothing is written then.
    pub fn compose(
        &self,
        tip: Option<&str>,
        proposal: &Proposal<'_>,
    ) -> Result<Composed, GitError> {
        let tip = tip.map(full_id).transpose()?;
        proposal.limits.check(proposal.files)?;
        let message = message::compose(proposal.message, proposal.trailers)?;
        self.repository().read(|reader| {
            let work = Composing {
                hosted: self,
                objects: Objects::new(reader),
                reader,
            };
            work.compose(tip, proposal, &message)
        })
    }
}

impl Hosted {
    /// What collides when the default branch and the commit with the full id `other` are merged; `None` when nothing does.
    ///
    /// # Errors
    /// [`GitError::CannotMerge`] and [`GitError::Failed`].
    pub fn conflicts_with(&self, other: &str) -> Result<Option<Conflicts>, GitError> {
        let theirs = full_id(other)?;
        self.repository().read(|reader| {
            let Some(ours) = reader.tip()? else {
                return Ok(None);
            };
            let merge = Merge {
                hosted: self,
                objects: &mut Objects::new(reader),
                ours,
                theirs,
                shown: 0,
            };
            Ok(match merge.run()? {
                Merged::Clean(_) => None,
                Merged::Conflict { conflicts, .. } => Some(conflicts),
            })
        })
    }
}

impl Repository {
    /// Looks at a changeset that is to be composed later, and tells the full id of its base.
    ///
    /// # Errors
    /// What [`Hosted::compose`] would refuse of the base and the files, but for what depends on where the branch is then.
    pub fn check_changeset(
        &self,
        base: Option<&str>,
        files: &[FileChange],
        limits: &ChangesetLimits,
    ) -> Result<Option<String>, GitError> {
        limits.check(files)?;
        self.read(|reader| {
            let objects = Objects::new(reader);
            let (base, tree) = match base {
                None => (None, ObjectId::empty_tree(gix::hash::Kind::Sha1)),
                Some(given) => {
                    let base = reader.resolve(given)?;
                    (Some(base), reader.tree_of(&base, &mut Vec::new())?)
                }
            };
            let paths = Base {
                objects: &objects,
                tree,
                absent: Absent::Refused,
            };
            apply::apply(&objects, tree, &paths.edits(files)?)?;
            Ok(base.map(|base| base.to_string()))
        })
    }
}

/// One proposal being worked on.
struct Composing<'a> {
    hosted: &'a Hosted,
    reader: &'a Reader,
    objects: Objects<'a>,
}

impl Composing<'_> {
    fn compose(
        mut self,
        tip: Option<ObjectId>,
        proposal: &Proposal<'_>,
        message: &[u8],
    ) -> Result<Composed, GitError> {
        let base = self.base(tip, proposal)?;
        let other = self.other(tip, proposal)?;
        let base_tree = self.tree_of(base)?;
        // Where a second commit is brought in, the files are changed from the merge of both.
        let (start, absent) = match (base, other) {
            (Some(base), Some(other)) => match self.merge(base, other, proposal)? {
                Merged::Clean(tree) => (tree, Absent::Ignored),
                Merged::Conflict { tree, conflicts } => {
                    let left = conflicts.not_settled_by(proposal.files);
                    if let Some(left) = left {
                        return Ok(Composed::Conflict(left));
                    }
                    (tree, Absent::Ignored)
                }
            },
            _ => (base_tree, Absent::Refused),
        };
        let base_paths = Base {
            objects: &self.objects,
            tree: start,
            absent,
        };
        let edits = base_paths.edits(proposal.files)?;
        let proposed = apply::apply(&self.objects, start, &edits)?;
        if proposed == base_tree && other.is_none() {
            return Err(GitError::BadArgument(
                "The files change nothing: each is as it was in `base_commit`".to_owned(),
            ));
        }
        let tree = if tip == base {
            proposed
        } else {
            let tip_tree = self.tree_of(tip)?;
            match apply::disjoint(&self.objects, base_tree, tip_tree, &edits)? {
                Some(tree) if other.is_none() => tree,
                _ => {
                    let parents: Vec<ObjectId> = base.into_iter().chain(other).collect();
                    let side = self.commit(proposed, &parents, proposal, message)?;
                    let tip = tip.ok_or_else(|| {
                        GitError::BadArgument("The branch has no commit to merge with".to_owned())
                    })?;
                    match self.merge(tip, side, proposal)? {
                        Merged::Clean(tree) => tree,
                        Merged::Conflict { conflicts, .. } => {
                            return Ok(Composed::Conflict(conflicts));
                        }
                    }
                }
            }
        };
        let parents: Vec<ObjectId> = tip.into_iter().chain(other).collect();
        let id = self.commit(tree, &parents, proposal, message)?;
        self.objects.store(self.hosted, id).map(|()| {
            Composed::Commit(NewCommit {
                id: id.to_string(),
                tree: tree.to_string(),
                merged: tip != base,
            })
        })
    }

    /// The commit the files were changed from, which must be part of the branch.
    fn base(
        &self,
        tip: Option<ObjectId>,
        proposal: &Proposal<'_>,
    ) -> Result<Option<ObjectId>, GitError> {
        match (proposal.base, tip) {
            (None, None) => Ok(None),
            (None, Some(tip)) => Err(GitError::BadArgument(format!(
                "'base_commit' is required, for the branch has commits: its tip is {tip}"
            ))),
            (Some(given), tip) => {
                let base = self.reader.resolve(given)?;
                match tip {
                    Some(tip) if self.has(tip, base)? => Ok(Some(base)),
                    _ => Err(GitError::BadRevision {
                        given: given.chars().take(80).collect(),
                        reason: "the default branch does not have it".to_owned(),
                    }),
                }
            }
        }
    }

    /// The commit that is brought in, unless the branch has it already.
    fn other(
        &self,
        tip: Option<ObjectId>,
        proposal: &Proposal<'_>,
    ) -> Result<Option<ObjectId>, GitError> {
        let (Some(given), Some(tip)) = (proposal.merges, tip) else {
            return Ok(None);
        };
        let other = self.reader.resolve(given)?;
        Ok((!self.has(tip, other)?).then_some(other))
    }

    /// Whether `tip` is `earlier` or comes after it. Mostly it comes soon after, so the last commits are looked at here.
    fn has(&self, tip: ObjectId, earlier: ObjectId) -> Result<bool, GitError> {
        let (mut seen, mut left) = (HashSet::from([tip]), VecDeque::from([tip]));
        let mut buffer = Vec::new();
        while let Some(id) = left.pop_front() {
            if id == earlier {
                return Ok(true);
            }
            if seen.len() > LOOKED_AT {
                return self.hosted.is_ancestor(earlier, tip);
            }
            if !self.reader.shallow.contains(&id) {
                let parents = self.reader.commit(&id, &mut buffer)?.parents;
                left.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
            }
        }
        Ok(false)
    }

    fn tree_of(&self, commit: Option<ObjectId>) -> Result<ObjectId, GitError> {
        match commit {
            None => Ok(ObjectId::empty_tree(gix::hash::Kind::Sha1)),
            Some(commit) => self.reader.tree_of(&commit, &mut Vec::new()),
        }
    }

    fn commit(
        &self,
        tree: ObjectId,
        parents: &[ObjectId],
        proposal: &Proposal<'_>,
        message: &[u8],
    ) -> Result<ObjectId, GitError> {
        let bytes = message::commit(
            tree,
            parents,
            &proposal.author,
            &proposal.committer,
            message,
        );
        self.objects.add(Kind::Commit, bytes)
    }

    fn merge(
        &mut self,
        ours: ObjectId,
        theirs: ObjectId,
        proposal: &Proposal<'_>,
    ) -> Result<Merged, GitError> {
        Merge {
            hosted: self.hosted,
            objects: &mut self.objects,
            ours,
            theirs,
            shown: proposal.shown,
        }
        .run()
    }
}
