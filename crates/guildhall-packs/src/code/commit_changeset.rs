//! `commit_changeset`: lands a reviewed changeset on the default branch, or, for an owner in person, any.

use guildhall_core::{Principal, RepoName, RepoRole};
use guildhall_git::{ChangesetLimits, Composed, Conflicts, FileChange, Proposal, Signature};
use guildhall_store::{
    Act, Ask, AskKind, AskRef, ChangedFile, Changeset, Conflicted, DirectCommit, Error, Fresh,
    Held, Landed, Landing, MOST_BYTES, MOST_FILES, Submission,
};
use guildhall_tools::{CallContext, RepoAccess, Scope, Tool, ToolError};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Code, Turn};
use crate::act::act;
use crate::changes::{FileArgument, for_git};

/// How often a commit is made anew because another one landed in between: only another node can be that quick.
const ATTEMPTS: usize = 8;
/// How often denied work is followed back to where it began.
const MOST_REOPENED: usize = 1000;
/// How many conflicting paths are told in a sentence.
const TOLD: usize = 20;
/// How much of what conflicts is shown, at most; over MCP what an answer may have, in bytes.
const MOST_SHOWN: usize = 128 * 1024;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// A submission you hold
    ask_id: Option<String>,
    lane_id: Option<String>,
    /// Needed without an ask; with one they must be what was reviewed
    files: Option<Vec<FileArgument>>,
    message: Option<String>,
    /// The commit the files were changed from
    base_commit: Option<String>,
    /// Of your claim
    fence: Option<i64>,
}

/// The commit that landed.
#[derive(JsonSchema, Serialize)]
struct Committed {
    /// Its full id
    commit: String,
    /// The commit the branch was at before
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// The branch had moved since the base
    merged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane_id: Option<String>,
}

pub(super) fn tool(code: Code) -> Tool {
    Tool::new(
        "commit_changeset",
        "Commit a changeset",
        "Commit a reviewed changeset onto the default branch, all or none: give the ask_id of a submit_changeset you hold. \
         Files that others changed meanwhile are merged; on a conflict (409) nothing is written and a resolve_conflict is \
         posted. Without ask_id only an owner in person may commit: files, message, base_commit.",
    )
    .scope(Scope::RepoCoordinator)
    .keyed_by_store()
    .handler(move |context: CallContext, arguments: Arguments| {
        let code = code.clone();
        async move {
            let repo = context.repo()?.clone();
            let act = act(&context, &*code.clock);
            let shown = context.budget.bytes().min(2 * MOST_SHOWN) / 2;
            let given = Given::read(arguments)?;
            let call = Call { code, repo, act, shown };
            // To its end, even if the caller goes away: what is on the disk is then in the store as well.
            let done = tokio::spawn(call.run(given)).await;
            done.map_err(ToolError::internal)?
        }
    })
}

impl From<Landed> for Committed {
    fn from(landed: Landed) -> Self {
        Self {
            commit: landed.to,
            previous: landed.from,
            merged: landed.merged,
            ask_id: None,
            lane_id: None,
        }
    }
}

/// The arguments, checked.
struct Given {
    ask: Option<(String, Option<String>, Option<i64>)>,
    /// What only means something beside an ask, and was given without one.
    stray: Option<&'static str>,
    files: Option<Vec<ChangedFile>>,
    message: Option<String>,
    base_commit: Option<String>,
}

impl Given {
    fn read(arguments: Arguments) -> Result<Self, ToolError> {
        let Arguments {
            ask_id,
            lane_id,
            files,
            message,
            base_commit,
            fence,
        } = arguments;
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (ask_id, lane) = (given(ask_id), given(lane_id));
        let stray = match (&ask_id, &lane, fence) {
            (None, Some(_), _) => Some("lane_id"),
            (None, None, Some(_)) => Some("fence"),
            _ => None,
        };
        let ask = ask_id.map(|id| (id, lane, fence));
        let files = files.map(kept).transpose()?;
        Ok(Self {
            ask,
            stray,
            files,
            message: given(message),
            base_commit: given(base_commit),
        })
    }

    /// Refuses what is not what was reviewed.
    fn is_what_was_reviewed(&self, changeset: &Changeset) -> Result<(), ToolError> {
        let id = &changeset.id;
        let differs = |what: &str| {
            Err(
                ToolError::conflict(format!("'{what}' is not what was reviewed as `{id}`")).hint(
                    format!(
                        "Leave '{what}' out: the reviewed changeset is committed as it is stored."
                    ),
                ),
            )
        };
        if self
            .files
            .as_ref()
            .is_some_and(|files| *files != changeset.files)
        {
            return differs("files");
        }
        if self
            .message
            .as_ref()
            .is_some_and(|message| message.trim() != changeset.message.trim())
        {
            return differs("message");
        }
        let base = changeset.base_commit.as_deref().unwrap_or_default();
        if self
            .base_commit
            .as_ref()
            .is_some_and(|given| !base.starts_with(given.trim()))
        {
            return differs("base_commit");
        }
        Ok(())
    }
}

/// The files as they are kept, by path.
fn kept(files: Vec<FileArgument>) -> Result<Vec<ChangedFile>, ToolError> {
    let kept: Result<Vec<_>, _> = files.into_iter().map(FileArgument::kept).collect();
    let mut kept = kept?;
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(kept)
}

/// How much a changeset may hold, here as in the store.
fn limits() -> ChangesetLimits {
    ChangesetLimits {
        files: MOST_FILES,
        bytes: MOST_BYTES,
        ..ChangesetLimits::default()
    }
}

/// One call.
struct Call {
    code: Code,
    repo: RepoAccess,
    act: Act,
    /// How many bytes of what conflicts may be shown.
    shown: usize,
}

/// A commit to be made, whatever the branch is at.
#[derive(Clone)]
struct Draft {
    base: Option<String>,
    merges: Option<String>,
    files: Vec<FileChange>,
    message: String,
    trailers: Vec<(&'static str, String)>,
    author: Principal,
    authored_at: Timestamp,
}

impl Call {
    async fn run(self, given: Given) -> Result<Committed, ToolError> {
        match &given.ask {
            Some((ask, lane, fence)) => {
                let held = Held {
                    ask: AskRef {
                        repo: self.name().clone(),
                        lane: lane.clone(),
                        ask: ask.clone(),
                    },
                    fence: *fence,
                };
                self.submit(held, &given).await
            }
            None => self.directly(given).await,
        }
    }

    fn name(&self) -> &RepoName {
        &self.repo.name
    }

    /// The caller.
    fn by(&self) -> &Principal {
        &self.act.by
    }

    /// The change that the call's key stands for.
    fn act(&self) -> Act {
        let at = self.code.clock.now();
        Act {
            at,
            ..self.act.clone()
        }
    }

    /// Lands the changeset of a `submit_changeset` that the caller holds.
    async fn submit(&self, held: Held, given: &Given) -> Result<Committed, ToolError> {
        let submission = self.code.asks.submission(self.by().clone(), held.clone());
        let Submission {
            ask,
            changeset,
            landed_as,
        } = submission.await?;
        given.is_what_was_reviewed(&changeset)?;
        if landed_as.is_some() {
            return committed(&ask, changeset.base_commit.as_deref());
        }
        let turn = self.code.turns.turn(self.name()).await?;
        let merges = self.merges(&turn, &changeset.work).await?;
        let base = changeset.base_commit.clone();
        let draft = Draft {
            base: base.clone(),
            merges,
            trailers: trailers(&changeset),
            author: changeset.work_author,
            authored_at: changeset.created_at,
            message: changeset.message,
            files: changeset.files.iter().map(for_git).collect(),
        };
        for _ in 0..ATTEMPTS {
            let tip = self.head(&turn).await?;
            let commit = match self.compose(&turn, tip.clone(), draft.clone()).await? {
                Composed::Commit(commit) => commit,
                Composed::Conflict(conflicts) => return Err(self.deny(held, conflicts).await),
            };
            let landing = Landing {
                held: held.clone(),
                from: tip,
                to: commit.id,
                note: None,
            };
            match self.code.asks.land(self.act(), landing).await {
                Ok(ask) => {
                    self.follow(&turn).await;
                    return committed(&ask, base.as_deref());
                }
                Err(Error::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(self.outrun())
    }

    /// The commit that the work was to merge, where it was to merge one: the answer to an ask that no changeset led to.
    async fn merges(&self, turn: &Turn, work: &str) -> Result<Option<String>, ToolError> {
        let mut id = work.to_owned();
        // Work that was denied is there again under another id.
        for _ in 0..MOST_REOPENED {
            let ask = self.code.asks.ask(self.name().clone(), id.clone()).await?;
            let Some(ask) = ask.filter(|ask| ask.kind == AskKind::ResolveConflict) else {
                return Ok(None);
            };
            let kept = turn.with(move |hosted| hosted.kept_merge(&id)).await?;
            if kept.is_some() {
                return Ok(kept);
            }
            let before = match ask.follows {
                Some(before) => self.code.asks.ask(self.name().clone(), before).await?,
                None => None,
            };
            match before {
                Some(before) => id = before.work,
                None => break,
            }
        }
        Err(ToolError::conflict(format!(
            "`{work}` asks for a merge, and what it merges is not known any more"
        ))
        .hint("Have the server's operator run `guildhall repo sync --merge` again."))
    }

    /// Lands what an owner in person gives.
    async fn directly(&self, given: Given) -> Result<Committed, ToolError> {
        if self.by().is_agent() || self.repo.role < RepoRole::Owner {
            return Err(ToolError::forbidden(format!(
                "`{}` may not commit without an ask in {}: only an owner in person may",
                self.by(),
                self.name()
            ))
            .hint("Give the ask_id of a submit_changeset that you hold."));
        }
        let required = ToolError::required;
        if let Some(stray) = given.stray {
            return Err(ToolError::bad_arguments(format!(
                "'{stray}' is given and 'ask_id' is not: a commit without an ask has none"
            ))
            .hint("Give the ask_id of the submit_changeset, or leave the other out."));
        }
        if let Some(landed) = self.code.asks.committed_directly(self.act()).await? {
            return Ok(landed.into());
        }
        let files = given.files.ok_or_else(|| required("files"))?;
        let message = given.message.ok_or_else(|| required("message"))?;
        let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        let base = given.base_commit;
        let draft = Draft {
            base: base.clone(),
            merges: None,
            files: files.iter().map(for_git).collect(),
            message,
            trailers: Vec::new(),
            author: self.by().clone(),
            authored_at: self.code.clock.now(),
        };
        let turn = self.code.turns.turn(self.name()).await?;
        for _ in 0..ATTEMPTS {
            let tip = self.head(&turn).await?;
            let commit = match self.compose(&turn, tip.clone(), draft.clone()).await? {
                Composed::Commit(commit) => commit,
                Composed::Conflict(conflicts) => return Err(in_conflict(&conflicts)),
            };
            let direct = DirectCommit {
                repo: self.name().clone(),
                from: tip,
                to: commit.id,
                merged: commit.merged,
                paths: paths.clone(),
            };
            match self.code.asks.commit_directly(self.act(), direct).await {
                Ok(landed) => {
                    self.follow(&turn).await;
                    return Ok(landed.into());
                }
                Err(Error::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(self.outrun())
    }

    /// Where the store says the branch is; the branch is brought there.
    async fn head(&self, turn: &Turn) -> Result<Option<String>, ToolError> {
        let kept = self.code.repos.repo(self.name().clone()).await?;
        let gone = || ToolError::not_found(format!("There is no repository `{}`", self.name()));
        let head = kept.ok_or_else(gone)?.head;
        if let Some(head) = head.clone() {
            turn.with(move |hosted| hosted.follow(&head)).await?;
        }
        Ok(head)
    }

    /// Brings the branch to what has just landed. That it has landed stands, whatever comes of this: the next one who has
    /// the turn does it again.
    async fn follow(&self, turn: &Turn) {
        if let Err(error) = self.head(turn).await {
            tracing::error!(
                repo = self.name().as_str(),
                "The branch does not follow yet: {error:?}"
            );
        }
    }

    async fn compose(
        &self,
        turn: &Turn,
        head: Option<String>,
        draft: Draft,
    ) -> Result<Composed, ToolError> {
        let committer = signature(self.by(), self.code.clock.now());
        let shown = self.shown;
        turn.with(move |hosted| {
            let proposal = Proposal {
                base: draft.base.as_deref(),
                merges: draft.merges.as_deref(),
                files: &draft.files,
                message: &draft.message,
                trailers: &draft.trailers,
                author: signature(&draft.author, draft.authored_at),
                committer,
                limits: limits(),
                shown,
            };
            hosted.compose(head.as_deref(), &proposal)
        })
        .await
    }

    /// Answers the submission with `deny` and has its conflict resolved.
    async fn deny(&self, held: Held, conflicts: Conflicts) -> ToolError {
        let paths: Vec<String> = conflicts.paths().collect();
        let told = format!(
            "The changeset conflicts with the default branch, which is at {}, in:\n\n{}\n\nAnswer with a changeset on that \
             commit that holds both sides' intent.",
            conflicts.head,
            listed(&paths, "\n")
        );
        let conflicted = Conflicted {
            held,
            fresh: Fresh::draw(&*self.code.ids),
            head: Some(conflicts.head.clone()),
            paths,
            told,
        };
        // Without the call's key: a commit that did not land is no answer to keep.
        let act = Act::new(self.by().clone(), self.code.clock.now());
        let answered = self.code.asks.conflicted(act, conflicted).await;
        let ask = match answered {
            Ok(ask) => ask,
            Err(error) => return error.into(),
        };
        let posted = ask.answer.map(|answer| answer.payload["posted"].clone());
        let error = in_conflict(&conflicts);
        match posted {
            Some(Value::String(posted)) => error
                .hint(format!(
                    "`{posted}` was posted: who claims it answers with a changeset on {}.",
                    conflicts.head
                ))
                .detail("posted", posted),
            _ => error,
        }
    }

    fn outrun(&self) -> ToolError {
        ToolError::conflict(format!(
            "The default branch of {} moved {ATTEMPTS} times while the commit was made",
            self.name()
        ))
        .hint("Try again: nothing was committed.")
    }
}

fn in_conflict(conflicts: &Conflicts) -> ToolError {
    let paths: Vec<String> = conflicts.paths().collect();
    ToolError::conflict(format!(
        "The default branch has moved, and the changeset conflicts with it in {}",
        listed(&paths, ", ")
    ))
    .detail("head", conflicts.head.as_str())
    .detail("conflicts", json!(conflicts.conflicts))
    .detail("total", conflicts.total)
}

/// The first of `paths`, and how many more there are.
fn listed(paths: &[String], between: &str) -> String {
    let mut listed: Vec<String> = paths
        .iter()
        .take(TOLD)
        .map(|path| format!("`{path}`"))
        .collect();
    if paths.len() > TOLD {
        listed.push(format!("{} more", paths.len() - TOLD));
    }
    listed.join(between)
}

fn signature(who: &Principal, at: Timestamp) -> Signature {
    Signature {
        name: who.name().to_owned(),
        email: who.user_address().to_owned(),
        at,
    }
}

fn trailers(changeset: &Changeset) -> Vec<(&'static str, String)> {
    let mut trailers = vec![
        ("Lane", changeset.lane.clone()),
        ("Ask", changeset.work.clone()),
    ];
    if let Some(reviewer) = &changeset.reviewed_by {
        let line = format!("{} <{}>", reviewer.name(), reviewer.user_address());
        trailers.push(("Reviewed-by", line));
    }
    trailers
}

/// What landing `ask` came to, from its answer: the same however often it is asked.
fn committed(ask: &Ask, base: Option<&str>) -> Result<Committed, ToolError> {
    let payload = ask.answer.as_ref().map(|answer| &answer.payload);
    let text = |key: &str| {
        let found = payload.and_then(|payload| payload[key].as_str());
        found.map(str::to_owned)
    };
    let previous = text("previous");
    Ok(Committed {
        commit: text("commit")
            .ok_or_else(|| ToolError::internal("an answer of a landed ask names no commit"))?,
        merged: previous.as_deref() != base,
        previous,
        ask_id: Some(ask.id.clone()),
        lane_id: Some(ask.lane.clone()),
    })
}
