//! `ask_answer`: says how it went.

use std::sync::Arc;

use guildhall_git::ChangesetLimits;
use guildhall_store::{Answering, NewChangeset, Verdict};
use guildhall_tools::{CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Holding, Queue, Touched, given, writes};
use crate::act::act;
use crate::changes::{FileArgument, for_git};

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    #[serde(flatten)]
    holding: Holding,
    verdict: VerdictArgument,
    note: Option<String>,
    /// What you made, for `work` and `resolve_conflict`
    changeset: Option<ChangesetArgument>,
    /// Nothing needs to change, for work; say why in `note`
    no_change: Option<bool>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictArgument {
    Complete,
    Deny,
    Grant,
}

#[derive(Deserialize, JsonSchema)]
struct ChangesetArgument {
    /// The commit you started from; left out only where there is none yet
    base_commit: Option<String>,
    message: String,
    files: Vec<FileArgument>,
}

pub(super) fn tool(queue: Queue) -> Tool {
    let tool = Tool::new(
        "ask_answer",
        "Answer an ask",
        "Answer an ask you hold: complete, deny, or grant for a review. Work comes with its changeset, which is then \
         reviewed.",
    );
    writes(tool).handler(move |context: CallContext, arguments: Arguments| {
        let queue = queue.clone();
        async move {
            let act = act(&context, &*queue.clock);
            let Arguments {
                holding,
                verdict,
                note,
                changeset,
                no_change,
            } = arguments;
            let changeset = match changeset {
                Some(changeset) => Some(checked(&queue, &context, changeset).await?),
                None => None,
            };
            let answering = Answering {
                held: holding.held(&context)?,
                verdict: match verdict {
                    VerdictArgument::Complete => Verdict::Complete,
                    VerdictArgument::Deny => Verdict::Deny,
                    VerdictArgument::Grant => Verdict::Grant,
                },
                note: given(note),
                changeset,
                no_change: no_change.unwrap_or_default(),
                fresh: queue.fresh(),
            };
            let answered = queue.asks.answer_ask(act, answering).await?;
            Ok::<_, ToolError>(Touched::told_in(answered, &context))
        }
    })
}

/// The changeset, if git would take its base and its files: what cannot land is refused before anybody reviews it.
async fn checked(
    queue: &Queue,
    context: &CallContext,
    changeset: ChangesetArgument,
) -> Result<NewChangeset, ToolError> {
    let ChangesetArgument {
        base_commit,
        message,
        files,
    } = changeset;
    let base = given(base_commit);
    let files = files
        .into_iter()
        .map(FileArgument::kept)
        .collect::<Result<Vec<_>, _>>()?;
    let (repositories, repo) = (Arc::clone(&queue.repositories), context.repo()?.clone());
    let check = move || {
        let repository = repositories.open(&repo)?;
        if base.is_none() && repository.tip()?.is_some() {
            return Err(ToolError::required("changeset.base_commit"));
        }
        let changes: Vec<_> = files.iter().map(for_git).collect();
        let base =
            repository.check_changeset(base.as_deref(), &changes, &ChangesetLimits::default())?;
        Ok::<_, ToolError>((base, files))
    };
    let (base_commit, files) = tokio::task::spawn_blocking(check)
        .await
        .map_err(ToolError::internal)??;
    Ok(NewChangeset {
        base_commit,
        message,
        files,
    })
}
