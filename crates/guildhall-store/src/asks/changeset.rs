//! Changesets: what somebody proposes to change, kept until it lands.

use guildhall_core::{Principal, RepoName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::read::kept;
use super::{Ask, AskKind};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::text::{self, LONGEST_TEXT};
use crate::tx::Tx;
use crate::value::{Row, args};

/// Most files a changeset has.
pub const MOST_FILES: usize = 2000;

/// Most bytes all files of a changeset have together.
pub const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Longest path, in bytes.
const LONGEST_PATH: usize = 4096;

/// What a file becomes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChangedFile {
    /// Its path from the root of the repo.
    pub path: String,
    /// Its whole content; `None` where it is deleted, or only its mode changes.
    pub content: Option<Vec<u8>>,
    /// Whether it is deleted.
    pub deleted: bool,
    /// Its mode; `None` leaves that as it is.
    pub mode: Option<FileMode>,
}

/// The mode of a file.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMode {
    /// 100644.
    Normal,
    /// 100755.
    Executable,
}

impl FileMode {
    /// Its name, as it is written and kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Executable => "executable",
        }
    }
}

/// A changeset to be stored.
#[derive(Clone, Debug)]
pub struct NewChangeset {
    /// The full id of the commit it was written against; `None` in a repo without commits. That it is there is for the
    /// caller to know.
    pub base_commit: Option<String>,
    /// The commit's message, without trailers.
    pub message: String,
    /// The files it changes, each once. That git would take their paths is for the caller to know.
    pub files: Vec<ChangedFile>,
}

/// Where a changeset is on its way.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangesetState {
    /// It has an open review.
    Reviewing,
    /// Its review was granted.
    Granted,
    /// Its review or its submission was denied.
    Denied,
    /// It conflicts with the default branch.
    Conflicted,
    /// It is on the default branch.
    Landed,
}

/// A stored changeset.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Changeset {
    /// `changeset-` and 32 hex digits.
    pub id: String,
    /// The lane it is in.
    pub lane: String,
    /// The ask that began the work.
    pub work: String,
    /// Who wrote it.
    pub author: Principal,
    /// Who wrote the change that this one mends after a conflict; else the author.
    pub work_author: Principal,
    /// The commit it was written against.
    pub base_commit: Option<String>,
    /// The commit's message, without trailers.
    pub message: String,
    /// Where it is on its way.
    pub state: ChangesetState,
    /// Who granted its review.
    pub reviewed_by: Option<Principal>,
    /// The commit it landed as.
    pub landed_as: Option<String>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The files it changes, by path.
    pub files: Vec<ChangedFile>,
}

const NAMES: [(ChangesetState, &str); 5] = [
    (ChangesetState::Reviewing, "reviewing"),
    (ChangesetState::Granted, "granted"),
    (ChangesetState::Denied, "denied"),
    (ChangesetState::Conflicted, "conflicted"),
    (ChangesetState::Landed, "landed"),
];

impl ChangesetState {
    /// Its name, as it is written and kept.
    pub fn name(self) -> &'static str {
        NAMES
            .into_iter()
            .find_map(|(state, name)| (state == self).then_some(name))
            .unwrap_or_default()
    }
}

impl std::str::FromStr for ChangesetState {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self> {
        NAMES
            .into_iter()
            .find_map(|(state, name)| (name == given).then_some(state))
            .ok_or_else(|| Error::Invalid(format!("`{given}` is not the state of a changeset")))
    }
}

/// Refuses a changeset that is not well-formed or over a limit.
pub(super) fn check(new: &NewChangeset) -> Result<()> {
    text::check("message", &new.message, 1, LONGEST_TEXT)?;
    if new.files.is_empty() {
        return Err(Error::Invalid("'files' must name a file".to_owned()));
    }
    if new.files.len() > MOST_FILES {
        return Err(Error::TooLarge(format!(
            "The changeset has {} files; at most {MOST_FILES} are allowed",
            new.files.len()
        )));
    }
    let bytes: usize = new
        .files
        .iter()
        .filter_map(|file| file.content.as_ref().map(Vec::len))
        .sum();
    if bytes > MOST_BYTES {
        return Err(Error::TooLarge(format!(
            "The changeset has {bytes} bytes; at most {MOST_BYTES} are allowed"
        )));
    }
    let mut paths: Vec<&str> = new.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    if let Some([twice, ..]) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::Invalid(format!("The changeset has `{twice}` twice")));
    }
    new.files.iter().try_for_each(check_file)
}

fn check_file(file: &ChangedFile) -> Result<()> {
    let path = &file.path;
    if path.is_empty() || path.len() > LONGEST_PATH {
        return Err(Error::Invalid(format!(
            "'path' must have 1 to {LONGEST_PATH} bytes"
        )));
    }
    let changes = file.content.is_some() || file.mode.is_some();
    if file.deleted == changes {
        return Err(Error::Invalid(format!(
            "`{path}` must have either its 'content', 'delete' or a 'mode'"
        )));
    }
    Ok(())
}

/// Stores the changeset that answers `ask`, to be reviewed.
pub(super) async fn store(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    ask: &Ask,
    new: &NewChangeset,
    id: &str,
) -> Result<()> {
    check(new)?;
    let mends = match &ask.changeset {
        Some(mended) => author_of_work(tx, mended).await?,
        None => None,
    };
    tx.run(
        "INSERT INTO changesets
            (id, repo, lane, work, author, work_author, base_commit, message, state, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'reviewing', $9)",
        args![
            id,
            repo.as_str(),
            &ask.lane,
            &ask.work,
            &act.by,
            mends.as_ref().unwrap_or(&act.by),
            &new.base_commit,
            &new.message,
            act.at
        ],
    )
    .await?;
    for file in &new.files {
        tx.run(
            "INSERT INTO changeset_files (changeset, path, content, deleted, mode) VALUES ($1, $2, $3, $4, $5)",
            args![
                id,
                &file.path,
                file.content.as_deref(),
                file.deleted,
                file.mode.map(FileMode::name)
            ],
        )
        .await?;
    }
    Ok(())
}

async fn author_of_work(tx: &mut Tx, id: &str) -> Result<Option<Principal>> {
    let sql = "SELECT work_author FROM changesets WHERE id = $1";
    let row = tx.row(sql, args![id]).await?;
    row.map(|mut row| row.take()).transpose()
}

/// Moves a changeset on, from one of `from` to `to`; `false` where it is elsewhere.
pub(super) async fn advance(
    tx: &mut Tx,
    id: &str,
    from: ChangesetState,
    to: ChangesetState,
) -> Result<bool> {
    let sql = "UPDATE changesets SET state = $3 WHERE id = $1 AND state = $2";
    let moved = tx.run(sql, args![id, from.name(), to.name()]).await?;
    Ok(moved == 1)
}

/// Refuses an ask of `kind` about a changeset that is not in the state for it (zz page, "Lanes and Asks"). Locks the
/// changeset, so that two asks posted at once see each other's state.
pub(super) async fn check_state(
    tx: &mut Tx,
    repo: &RepoName,
    lane: &str,
    kind: &AskKind,
    id: &str,
) -> Result<String> {
    let sql = tx.either(
        "SELECT state, lane, work FROM changesets WHERE id = $1 AND repo = $2",
        "SELECT state, lane, work FROM changesets WHERE id = $1 AND repo = $2 FOR UPDATE",
    );
    let Some(mut row) = tx.row(sql, args![id, repo.as_str()]).await? else {
        let given: String = id.chars().take(80).collect();
        return Err(Error::Invalid(format!("There is no changeset `{given}`")));
    };
    let (state, of_lane, work): (String, String, String) = (row.take()?, row.take()?, row.take()?);
    if of_lane != lane {
        return Err(Error::Invalid(format!(
            "`{id}` is in the lane `{of_lane}`, not in `{lane}`"
        )));
    }
    let state: ChangesetState = kept(&state)?;
    let (needed, words) = match kind {
        AskKind::ChangesetReview => (ChangesetState::Denied, "denied and under no review"),
        AskKind::SubmitChangeset => (ChangesetState::Granted, "granted and not landed"),
        _ => (ChangesetState::Conflicted, "in conflict"),
    };
    if state != needed {
        return Err(Error::Invalid(format!(
            "`{id}` is {}; a `{kind}` is for one that is {words}",
            state.name()
        )));
    }
    Ok(work)
}

/// The paths that a changeset changes.
pub(super) async fn paths(tx: &mut Tx, id: &str) -> Result<Vec<String>> {
    let sql = "SELECT path FROM changeset_files WHERE changeset = $1";
    let rows = tx.rows(sql, args![id]).await?;
    let mut paths = rows
        .into_iter()
        .map(|mut row| row.take())
        .collect::<Result<Vec<String>>>()?;
    paths.sort_unstable();
    Ok(paths)
}

pub(super) async fn find(tx: &mut Tx, repo: &RepoName, id: &str) -> Result<Option<Changeset>> {
    const SQL: &str =
        "SELECT id, lane, work, author, work_author, base_commit, message, state, reviewed_by,
            landed_as, created_at FROM changesets WHERE repo = $1 AND id = $2";
    let Some(row) = tx.row(SQL, args![repo.as_str(), id]).await? else {
        return Ok(None);
    };
    let mut changeset = read(row)?;
    let sql = "SELECT path, content, deleted, mode FROM changeset_files WHERE changeset = $1";
    let rows = tx.rows(sql, args![id]).await?;
    changeset.files = rows.into_iter().map(file).collect::<Result<_>>()?;
    changeset
        .files
        .sort_unstable_by(|a: &ChangedFile, b| a.path.cmp(&b.path));
    Ok(Some(changeset))
}

fn read(mut row: Row) -> Result<Changeset> {
    Ok(Changeset {
        id: row.take()?,
        lane: row.take()?,
        work: row.take()?,
        author: row.take()?,
        work_author: row.take()?,
        base_commit: row.take()?,
        message: row.take()?,
        state: kept(&row.take::<String>()?)?,
        reviewed_by: row.take()?,
        landed_as: row.take()?,
        created_at: row.take()?,
        files: Vec::new(),
    })
}

fn file(mut row: Row) -> Result<ChangedFile> {
    Ok(ChangedFile {
        path: row.take()?,
        content: row.take()?,
        deleted: row.take()?,
        mode: match row.take::<Option<String>>()?.as_deref() {
            None => None,
            Some("executable") => Some(FileMode::Executable),
            Some(_) => Some(FileMode::Normal),
        },
    })
}
