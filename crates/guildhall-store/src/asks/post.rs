//! Posting asks: by hand, and by the answer of another one.

use guildhall_core::RepoName;
use serde_json::{Value, json};

use super::claim::{get, record};
use super::{Ask, AskKind, AskScope, AskState, ChangesetState, changeset};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::fresh::{self, Fresh};
use crate::text::{self, LONGEST_TEXT, LONGEST_TITLE};
use crate::tx::Tx;
use crate::value::args;
use crate::{lanes, quota, repos, roles};

/// Most asks that one depends on.
const MOST_DEPENDENCIES: usize = 5000;

/// Most files that whoever posts an ask names.
const MOST_FILES: usize = 1000;

/// Longest path, in bytes.
const LONGEST_PATH: usize = 4096;

/// An ask that somebody posts.
#[derive(Clone, Debug)]
pub struct NewAsk {
    /// The repo it is in.
    pub repo: RepoName,
    /// Where its id comes from.
    pub fresh: Fresh,
    /// The lane it is in.
    pub lane: String,
    /// What is asked for.
    pub kind: AskKind,
    /// The same in one line.
    pub title: String,
    /// The same at length.
    pub body: String,
    /// The asks of the repo that must be answered `complete` or `grant` first.
    pub depends_on: Vec<String>,
    /// Higher goes first.
    pub priority: i64,
    /// Who may claim and answer it, where the kind does not say; contributors by default.
    pub scope: Option<AskScope>,
    /// The paths it is going to touch, as far as they are known.
    pub files: Vec<String>,
    /// The changeset it is about, for the kinds that are about one.
    pub changeset: Option<String>,
    /// How many asks that are not answered yet the person behind the poster may have posted.
    pub most_open: u32,
}

/// An ask on its way into the table.
pub(super) struct Draft<'a> {
    pub(super) lane: &'a str,
    pub(super) kind: AskKind,
    pub(super) title: &'a str,
    pub(super) body: &'a str,
    pub(super) depends_on: &'a [String],
    pub(super) waits: Waits,
    pub(super) priority: i64,
    pub(super) scope: AskScope,
    pub(super) files: &'a [String],
    pub(super) changeset: Option<&'a str>,
    pub(super) follows: Option<&'a str>,
    /// The ask that began the work; `None` for one that does.
    pub(super) work: Option<&'a str>,
}

/// What the dependencies of an ask come to.
#[derive(Clone, Copy, Default)]
pub(super) struct Waits {
    pub(super) count: i64,
    pub(super) blocked: bool,
}

pub(super) async fn post(tx: &mut Tx, act: &Act, new: &NewAsk) -> Result<Ask> {
    repos::get(tx, &new.repo).await?;
    lanes::needs_contributor(tx, act, &new.repo, "post an ask").await?;
    let work = match (&new.changeset, new.kind.has_changeset()) {
        (Some(id), true) => {
            Some(changeset::check_state(tx, &new.repo, &new.lane, &new.kind, id).await?)
        }
        (None, true) => {
            return Err(Error::Invalid(format!(
                "A `{}` is posted by the server; by hand it must name its 'changeset_id'",
                new.kind
            )));
        }
        (Some(_), false) => {
            return Err(Error::Invalid(format!(
                "'changeset_id' is for the review, submission or conflict of a changeset, not for `{}`",
                new.kind
            )));
        }
        (None, false) => None,
    };
    write(tx, act, new, work.as_deref()).await
}

pub(super) async fn post_merge(tx: &mut Tx, act: &Act, new: &NewAsk) -> Result<Ask> {
    repos::get(tx, &new.repo).await?;
    roles::needs_owner(tx, act, &new.repo, "merge the repo with its origin").await?;
    if new.kind != AskKind::ResolveConflict || new.changeset.is_some() {
        return Err(Error::fault("a merge is a conflict without a changeset"));
    }
    write(tx, act, new, None).await
}

async fn write(tx: &mut Tx, act: &Act, new: &NewAsk, work: Option<&str>) -> Result<Ask> {
    check(new)?;
    let scope = scope(new)?;
    lane_is_open(tx, &new.repo, &new.lane).await?;
    within_quota(tx, act, new.most_open).await?;
    let depends_on = each_once(&new.depends_on);
    let waits = dependencies(tx, &new.repo, &depends_on).await?;
    let files = match &new.changeset {
        Some(id) => {
            if new.kind == AskKind::ChangesetReview {
                let (from, to) = (ChangesetState::Denied, ChangesetState::Reviewing);
                changeset::advance(tx, id, from, to).await?;
            }
            changeset::paths(tx, id).await?
        }
        None => each_once(&new.files),
    };
    let draft = Draft {
        lane: &new.lane,
        kind: new.kind.clone(),
        title: &new.title,
        body: &new.body,
        depends_on: &depends_on,
        waits,
        priority: new.priority,
        scope,
        files: &files,
        changeset: new.changeset.as_deref(),
        follows: None,
        work,
    };
    insert(tx, act, &new.repo, &new.fresh, draft).await
}

fn check(new: &NewAsk) -> Result<()> {
    text::check("title", &new.title, 1, LONGEST_TITLE)?;
    text::check("body", &new.body, 0, LONGEST_TEXT)?;
    for (what, given, most) in [
        ("depends_on", new.depends_on.len(), MOST_DEPENDENCIES),
        ("files", new.files.len(), MOST_FILES),
    ] {
        if given > most {
            return Err(Error::TooLarge(format!(
                "'{what}' names {given}; at most {most} may be named"
            )));
        }
    }
    if new
        .files
        .iter()
        .any(|path| path.is_empty() || path.len() > LONGEST_PATH)
    {
        return Err(Error::Invalid(format!(
            "A path in 'files' must have 1 to {LONGEST_PATH} bytes"
        )));
    }
    Ok(())
}

fn scope(new: &NewAsk) -> Result<AskScope> {
    match (new.kind.scope(), new.scope) {
        (Some(fixed), Some(given)) if fixed != given => Err(Error::Invalid(format!(
            "'scope' of a `{}` is {fixed}, not `{given}`",
            new.kind
        ))),
        (Some(fixed), _) => Ok(fixed),
        (None, given) => Ok(given.unwrap_or(AskScope::Contributor)),
    }
}

fn each_once(given: &[String]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    given
        .iter()
        .filter(|item| seen.insert(item.as_str()))
        .cloned()
        .collect()
}

async fn lane_is_open(tx: &mut Tx, repo: &RepoName, lane: &str) -> Result<()> {
    let sql = "SELECT closed_at FROM lanes WHERE repo = $1 AND id = $2";
    let row = tx.row(sql, args![repo.as_str(), lane]).await?;
    let mut row = row.ok_or_else(|| Error::missing("lane", lane))?;
    match row.take::<Option<i64>>()? {
        None => Ok(()),
        Some(_) => Err(Error::Conflict(format!("The lane `{lane}` is closed"))),
    }
}

/// Refuses a person who has as many unanswered asks as one may have. What answers post does not count.
async fn within_quota(tx: &mut Tx, act: &Act, most: u32) -> Result<()> {
    let user = act.by.user_address();
    let count = "SELECT count(*) FROM (SELECT 1 FROM asks
         WHERE posted_user = $1 AND state <> 'answered' AND follows IS NULL LIMIT $2) AS open";
    if quota::has_room(tx, user, most, count).await? {
        return Ok(());
    }
    Err(Error::TooMany(format!(
        "`{user}` has {most} unanswered asks, the most one person and their agents may have"
    )))
}

/// Looks at the asks that one is going to depend on. On PostgreSQL their rows are locked against being answered before
/// the edges are there: an answer counts its dependents down.
pub(super) async fn dependencies(tx: &mut Tx, repo: &RepoName, ids: &[String]) -> Result<Waits> {
    if ids.is_empty() {
        return Ok(Waits::default());
    }
    let sql = tx.either(
        "SELECT id, verdict FROM asks
         WHERE repo = $1 AND id IN (SELECT value FROM json_each($2)) ORDER BY id",
        "SELECT id, verdict FROM asks
         WHERE repo = $1 AND id IN (SELECT json_array_elements_text($2::json)) ORDER BY id FOR SHARE",
    );
    let list = json!(ids).to_string();
    let rows = tx.rows(sql, args![repo.as_str(), &list]).await?;
    let mut waits = Waits::default();
    let mut found = std::collections::HashSet::new();
    for mut row in rows {
        found.insert(row.take::<String>()?);
        match row.take::<Option<String>>()?.as_deref() {
            Some("deny") => (waits.count, waits.blocked) = (waits.count + 1, true),
            Some(_) => {}
            None => waits.count += 1,
        }
    }
    match ids.iter().find(|id| !found.contains(*id)) {
        Some(missing) => Err(Error::missing("ask", missing)),
        None => Ok(waits),
    }
}

/// Puts an ask into the table under the first of its drawn ids that is free.
pub(super) async fn insert(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    fresh: &Fresh,
    draft: Draft<'_>,
) -> Result<Ask> {
    macro_rules! sql {
        ($now:literal) => {
            concat!(
                "INSERT INTO asks
                    (repo, id, lane, kind, title, body, depends_on, files, priority, scope, changeset, follows, work,
                     posted_by, posted_user, posted_at, changed_at, state, waits, blocked)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, ",
                $now,
                ", 'open', $17, $18) ON CONFLICT DO NOTHING"
            )
        };
    }
    // Leases begin where the last change was, so that is the database's time from the beginning.
    let sql = tx.either(
        sql!("$16"),
        sql!("(extract(epoch FROM statement_timestamp()) * 1000)::bigint"),
    );
    let (depends_on, files) = (
        json!(draft.depends_on).to_string(),
        json!(draft.files).to_string(),
    );
    for id in fresh.short("ask-") {
        let values = args![
            repo.as_str(),
            &id,
            draft.lane,
            draft.kind.name(),
            draft.title,
            draft.body,
            &depends_on,
            &files,
            draft.priority,
            draft.scope.name(),
            draft.changeset,
            draft.follows,
            draft.work.unwrap_or(&id),
            &act.by,
            act.by.user_address(),
            act.at,
            draft.waits.count,
            draft.waits.blocked,
        ];
        if tx.run(sql, values).await? == 0 {
            continue;
        }
        link(tx, repo, &id, draft.depends_on, draft.files).await?;
        let ask = get(tx, repo, &id).await?;
        record(tx, act, repo, &ask, "ask.posted", posted(&ask)).await?;
        return Ok(ask);
    }
    Err(fresh::spent())
}

fn posted(ask: &Ask) -> Value {
    debug_assert_eq!(ask.state, AskState::Open);
    json!({
        "kind": ask.kind, "title": ask.title, "priority": ask.priority, "scope": ask.scope,
        "depends_on": ask.depends_on, "changeset_id": ask.changeset, "follows": ask.follows,
    })
}

/// Writes the edges to what it depends on and the files it touches.
async fn link(
    tx: &mut Tx,
    repo: &RepoName,
    id: &str,
    depends_on: &[String],
    files: &[String],
) -> Result<()> {
    if !depends_on.is_empty() {
        let sql = tx.either(
            "INSERT INTO ask_dependencies (repo, ask, needs) SELECT $1, $2, value FROM json_each($3)",
            "INSERT INTO ask_dependencies (repo, ask, needs)
             SELECT $1, $2, json_array_elements_text($3::json)",
        );
        let list = json!(depends_on).to_string();
        tx.run(sql, args![repo.as_str(), id, &list]).await?;
    }
    if !files.is_empty() {
        let sql = tx.either(
            "INSERT INTO ask_files (repo, path, ask) SELECT $1, value, $2 FROM json_each($3)",
            "INSERT INTO ask_files (repo, path, ask) SELECT $1, json_array_elements_text($3::json), $2",
        );
        let list = json!(files).to_string();
        tx.run(sql, args![repo.as_str(), id, &list]).await?;
    }
    Ok(())
}
