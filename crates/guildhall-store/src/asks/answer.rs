//! Answering, and what comes next.

use guildhall_core::RepoName;
use serde_json::{Map, Value, json};

use super::claim::{check_holder, get, lost, record};
use super::post::{self, Draft, Waits};
use super::read::{Seen, later, look, now};
use super::{
    Answering, Ask, AskAnswer, AskKind, AskScope, AskState, ChangesetState, Held, Verdict,
    changeset, scope,
};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::fresh::Fresh;
use crate::text::{self, LONGEST_TEXT, LONGEST_TITLE};
use crate::tx::Tx;
use crate::value::args;

/// What an answer says, beside who gives it.
pub(super) struct Outcome<'a> {
    pub(super) verdict: Verdict,
    pub(super) note: Option<&'a str>,
    pub(super) payload: Map<String, Value>,
}

pub(super) async fn answer(tx: &mut Tx, act: &Act, given: &Answering) -> Result<Ask> {
    if let Some(answered) = landed_before(tx, act, given).await? {
        return Ok(answered);
    }
    let held = &given.held;
    let seen = look(tx, &held.ask, act.at).await?;
    // Whom it is not for is told so, whoever holds it.
    scope::check(tx, &act.by, &held.ask.repo, &seen).await?;
    check_holder(&seen.ask, act, held.fence)?;
    seen.ask.kind.allows(given.verdict)?;
    let note = note(given)?;
    fits(&seen.ask, given, note)?;
    let next = Next {
        repo: &given.held.ask.repo,
        fresh: &given.fresh,
        ask: &seen.ask,
        note,
    };
    let payload = match (&seen.ask.kind, given.verdict) {
        (AskKind::Work | AskKind::ResolveConflict, Verdict::Complete) => {
            next.review(tx, act, given).await?
        }
        (AskKind::ChangesetReview, Verdict::Grant) => next.submit(tx, act).await?,
        (AskKind::ChangesetReview | AskKind::SubmitChangeset, Verdict::Deny) => {
            next.reopen(tx, act).await?
        }
        (AskKind::ResolveConflict, Verdict::Deny) => next.give_up(tx).await?,
        _ => Map::new(),
    };
    let outcome = Outcome {
        verdict: given.verdict,
        note,
        payload,
    };
    finish(tx, act, &given.held, seen, outcome).await
}

/// The answer that landing a changeset gave, for whoever landed it and completes the ask after that.
async fn landed_before(tx: &mut Tx, act: &Act, given: &Answering) -> Result<Option<Ask>> {
    if given.verdict != Verdict::Complete {
        return Ok(None);
    }
    let Seen { ask, .. } = look(tx, &given.held.ask, act.at).await?;
    Ok(is_landed_by(&ask, act, given.held.fence).then_some(ask))
}

/// Whether the caller has landed it, under the fence that they give.
pub(super) fn is_landed_by(ask: &Ask, act: &Act, fence: Option<i64>) -> bool {
    ask.kind == AskKind::SubmitChangeset
        && ask
            .answer
            .as_ref()
            .is_some_and(|answer| answer.verdict == Verdict::Complete && answer.by == act.by)
        && fence.is_none_or(|fence| fence == ask.fence)
}

fn note(given: &Answering) -> Result<Option<&str>> {
    let note = given
        .note
        .as_deref()
        .map(str::trim)
        .filter(|note| !note.is_empty());
    text::check("note", note.unwrap_or_default(), 0, LONGEST_TEXT)?;
    Ok(note)
}

/// Refuses an answer that does not come with what its kind and verdict need, or comes with more.
fn fits(ask: &Ask, given: &Answering, note: Option<&str>) -> Result<()> {
    let invalid = |message: String| Err(Error::Invalid(message));
    let kind = &ask.kind;
    let done = given.verdict == Verdict::Complete;
    if (given.changeset.is_some() || given.no_change) && !(done && kind.makes_changeset()) {
        return invalid(format!(
            "'changeset' and 'no_change' are for the verdict complete of `work` and `resolve_conflict`, not for {} of \
             `{kind}`",
            given.verdict
        ));
    }
    if *kind == AskKind::SubmitChangeset && done {
        return Err(Error::Conflict(format!(
            "`{}` is answered complete by commit_changeset, which commits its changeset",
            ask.id
        )));
    }
    if !done || !kind.makes_changeset() {
        return Ok(());
    }
    match (&given.changeset, given.no_change) {
        (Some(_), true) => invalid("'changeset' and 'no_change' exclude each other".to_owned()),
        (None, true) if *kind != AskKind::Work => {
            invalid(format!("A `{kind}` is answered with a 'changeset'"))
        }
        (None, true) if note.is_none() => {
            invalid("'no_change' needs a reason: give it as 'note'".to_owned())
        }
        (Some(_), false) | (None, true) => Ok(()),
        (None, false) => invalid(format!(
            "A `{kind}` is answered complete with a 'changeset'{}",
            if *kind == AskKind::Work {
                ", or with 'no_change' and a 'note' that says why"
            } else {
                ""
            }
        )),
    }
}

/// What posts the ask after the one that is answered.
pub(super) struct Next<'a> {
    pub(super) repo: &'a RepoName,
    pub(super) fresh: &'a Fresh,
    pub(super) ask: &'a Ask,
    pub(super) note: Option<&'a str>,
}

impl Next<'_> {
    /// Stores the changeset that was made and posts its review.
    async fn review(
        &self,
        tx: &mut Tx,
        act: &Act,
        given: &Answering,
    ) -> Result<Map<String, Value>> {
        let Some(new) = &given.changeset else {
            return Ok(object(json!({ "no_change": true })));
        };
        let id = self.fresh.long("changeset-");
        changeset::store(tx, act, self.repo, self.ask, new, &id).await?;
        if let Some(mended) = &self.ask.changeset {
            // The one in conflict is replaced: nobody mends it again.
            let (from, to) = (ChangesetState::Conflicted, ChangesetState::Denied);
            changeset::advance(tx, mended, from, to).await?;
        }
        let posted = self
            .post(tx, act, AskKind::ChangesetReview, Some(&id), "")
            .await?;
        Ok(object(json!({ "changeset_id": id, "posted": posted })))
    }

    /// Marks the changeset granted and posts its submission.
    async fn submit(&self, tx: &mut Tx, act: &Act) -> Result<Map<String, Value>> {
        let id = self.changeset()?;
        tx.run(
            "UPDATE changesets SET state = 'granted', reviewed_by = $2 WHERE id = $1 AND state = 'reviewing'",
            args![id, &act.by],
        )
        .await?;
        let posted = self
            .post(tx, act, AskKind::SubmitChangeset, Some(id), "")
            .await?;
        Ok(object(json!({ "changeset_id": id, "posted": posted })))
    }

    /// Marks the changeset denied and posts the work again, with the note.
    async fn reopen(&self, tx: &mut Tx, act: &Act) -> Result<Map<String, Value>> {
        let id = self.changeset()?;
        let from = match self.ask.kind {
            AskKind::ChangesetReview => ChangesetState::Reviewing,
            _ => ChangesetState::Granted,
        };
        // One that has moved on by another ask stays where it is; the denial of this ask stands all the same.
        if !changeset::advance(tx, id, from, ChangesetState::Denied).await? {
            return Ok(object(json!({ "changeset_id": id })));
        }
        let work = get(tx, self.repo, &self.ask.work).await?;
        let posted = self.post_work_again(tx, act, &work, id).await?;
        Ok(object(json!({ "changeset_id": id, "posted": posted })))
    }

    /// Leaves a changeset that conflicts where it is: nobody mends it.
    async fn give_up(&self, tx: &mut Tx) -> Result<Map<String, Value>> {
        let Some(id) = &self.ask.changeset else {
            return Ok(Map::new());
        };
        changeset::advance(tx, id, ChangesetState::Conflicted, ChangesetState::Denied).await?;
        Ok(object(json!({ "changeset_id": id })))
    }

    /// The work as a new ask, with what was said against the changeset.
    async fn post_work_again(
        &self,
        tx: &mut Tx,
        act: &Act,
        work: &Ask,
        changeset: &str,
    ) -> Result<String> {
        let said = format!(
            "{} of `{changeset}` was denied by `{}`{}",
            match self.ask.kind {
                AskKind::ChangesetReview => "The review",
                _ => "The submission",
            },
            act.by,
            self.note
                .map_or_else(|| ".".to_owned(), |note| format!(":\n\n{note}"))
        );
        let draft = Draft {
            lane: &work.lane,
            kind: work.kind.clone(),
            title: &work.title,
            body: &joined(&work.body, &said),
            depends_on: &[],
            waits: Waits::default(),
            priority: work.priority,
            scope: work.scope,
            files: &work.files,
            changeset: None,
            follows: Some(&self.ask.id),
            work: None,
        };
        Ok(post::insert(tx, act, self.repo, self.fresh, draft)
            .await?
            .id)
    }

    /// Posts the next ask about a changeset.
    pub(super) async fn post(
        &self,
        tx: &mut Tx,
        act: &Act,
        kind: AskKind,
        id: Option<&str>,
        body: &str,
    ) -> Result<String> {
        let work = get(tx, self.repo, &self.ask.work).await?;
        let files = match id {
            Some(id) => changeset::paths(tx, id).await?,
            None => Vec::new(),
        };
        let verb = match kind {
            AskKind::ChangesetReview => "Review",
            AskKind::SubmitChangeset => "Submit",
            _ => "Resolve conflict",
        };
        let title = format!("{verb}: {}", work.title);
        let draft = Draft {
            lane: &work.lane,
            scope: kind.scope().unwrap_or(AskScope::Contributor),
            kind,
            title: cut(&title, LONGEST_TITLE),
            body: &joined(&work.body, body),
            depends_on: &[],
            waits: Waits::default(),
            priority: work.priority,
            files: &files,
            changeset: id,
            follows: Some(&self.ask.id),
            work: Some(&work.id),
        };
        Ok(post::insert(tx, act, self.repo, self.fresh, draft)
            .await?
            .id)
    }

    pub(super) fn changeset(&self) -> Result<&str> {
        self.ask
            .changeset
            .as_deref()
            .ok_or_else(|| Error::fault("an ask about a changeset names none"))
    }
}

/// `body` with `more` below it, within the limit of a body: `more` stays whole.
fn joined(body: &str, more: &str) -> String {
    if more.is_empty() {
        return body.to_owned();
    }
    let body = cut(body, LONGEST_TEXT.saturating_sub(more.len() + 2));
    if body.is_empty() {
        return more.to_owned();
    }
    format!("{body}\n\n{more}")
}

/// The beginning of `text` that has at most `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Writes the answer under the holder's claim, lets what depends on the ask go on, and records it.
pub(super) async fn finish(
    tx: &mut Tx,
    act: &Act,
    held: &Held,
    seen: Seen,
    outcome: Outcome<'_>,
) -> Result<Ask> {
    macro_rules! sql {
        ($database:tt) => {
            concat!(
                "UPDATE asks SET state = 'answered', verdict = $6, answered_by = $4, note = $7, payload = $8,
                    answered_at = ", later!($database), "(", now!($database), ", changed_at),
                    changed_at = ", later!($database), "(", now!($database), ", changed_at)
                 WHERE repo = $1 AND id = $2 AND state = 'claimed' AND claimed_by = $4 AND fence = $5
                 RETURNING answered_at, changed_at"
            )
        };
    }
    let (repo, mut ask) = (&held.ask.repo, seen.ask);
    let Outcome {
        verdict,
        note,
        payload,
    } = outcome;
    let payload = Value::Object(payload);
    let kept = payload.to_string();
    let args = args![
        repo.as_str(),
        &ask.id,
        act.at,
        &act.by,
        ask.fence,
        verdict.name(),
        note,
        &kept
    ];
    let sql = tx.either(sql!(sqlite), sql!(postgres));
    let Some(mut row) = tx.row(sql, args).await? else {
        return Err(lost(tx, act, held).await);
    };
    let (at, changed_at) = (row.take()?, row.take()?);
    let_dependents_go(tx, repo, &ask.id, verdict).await?;
    let sql = "DELETE FROM ask_files WHERE repo = $1 AND ask = $2";
    tx.run(sql, args![repo.as_str(), &ask.id]).await?;
    let data = json!({ "verdict": verdict, "note": note, "fence": ask.fence, "payload": payload });
    record(tx, act, repo, &ask, "ask.answered", data).await?;
    ask.state = AskState::Answered;
    ask.changed_at = changed_at;
    ask.claim = None;
    ask.answer = Some(AskAnswer {
        verdict,
        by: act.by.clone(),
        at,
        note: note.map(str::to_owned),
        payload,
    });
    Ok(ask)
}

/// Counts one dependency less for what depends on the ask, or marks it blocked. Rows are locked in one order, so that two
/// answers do not wait for each other.
async fn let_dependents_go(tx: &mut Tx, repo: &RepoName, id: &str, verdict: Verdict) -> Result<()> {
    macro_rules! sql {
        ($set:literal, $lock:literal) => {
            concat!(
                "UPDATE asks SET ",
                $set,
                " WHERE repo = $1 AND id IN (SELECT a.id FROM asks a
                    WHERE a.repo = $1 AND a.id IN (SELECT ask FROM ask_dependencies WHERE repo = $1 AND needs = $2)",
                $lock,
                ")"
            )
        };
    }
    let sql = if verdict.resolves() {
        tx.either(
            sql!("waits = waits - 1", ""),
            sql!("waits = waits - 1", " ORDER BY a.id FOR NO KEY UPDATE"),
        )
    } else {
        tx.either(
            sql!("blocked = 1", ""),
            sql!("blocked = 1", " ORDER BY a.id FOR NO KEY UPDATE"),
        )
    };
    tx.run(sql, args![repo.as_str(), id]).await?;
    Ok(())
}
