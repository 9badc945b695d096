//! The repositories the server hosts.

use guildhall_core::{Principal, RepoName, RepoRole};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::act::{self, Act};
use crate::error::{Error, Result};
use crate::events::{About, NewEvent, Stream};
use crate::roles;
use crate::store::Answer;
use crate::tx::Tx;
use crate::value::{Row, args};
use crate::{Store, lanes, principals, team};

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT name, public, default_branch, head, origin, created_at, created_by FROM repos ",
            $rest
        )
    };
}

/// A repository to be hosted.
#[derive(Clone, Debug)]
pub struct NewRepo {
    /// Its name.
    pub name: RepoName,
    /// Whether anybody may read it.
    pub public: bool,
    /// The branch that changes land on.
    pub default_branch: String,
    /// The commit it has now, if it has one.
    pub head: Option<String>,
    /// Where it was cloned from.
    pub origin: Option<String>,
}

/// A repository that is hosted.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Repo {
    /// Its name.
    pub name: RepoName,
    /// Whether anybody may read it.
    pub public: bool,
    /// The branch that changes land on.
    pub default_branch: String,
    /// The commit that branch is at; `None` in an empty repo. What this says holds, the git reference follows.
    pub head: Option<String>,
    /// Where it was cloned from.
    pub origin: Option<String>,
    /// Since when it is hosted.
    pub created_at: Timestamp,
    /// Who added it.
    pub created_by: Principal,
}

/// The repositories.
pub trait Repos: Send + Sync {
    /// Hosts a repo.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] for a name that is in use, in whatever case; [`Error::NotAllowed`] unless an operator does it.
    fn add_repo(&self, act: Act, repo: NewRepo) -> Answer<'_, Repo>;

    /// The repo of exactly this name.
    fn repo(&self, name: RepoName) -> Answer<'_, Option<Repo>>;

    /// Every repo, by name.
    fn repos(&self) -> Answer<'_, Vec<Repo>>;

    /// Moves the head of a repo that is at `from` to `to`. This is the moment a commit lands.
    ///
    /// # Errors
    ///
    /// [`Error::Moved`] where it is not at `from`, with where it is; [`Error::Missing`] for a repo that is not there. Who
    /// may land what is for the caller to know.
    fn move_head(
        &self,
        act: Act,
        name: RepoName,
        from: Option<String>,
        to: String,
    ) -> Answer<'_, Repo>;

    /// Makes a repo public or private.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] for a repo that is not there; [`Error::NotAllowed`] unless an owner who is a person does it.
    fn set_public(&self, act: Act, name: RepoName, public: bool) -> Answer<'_, Repo>;

    /// Stops hosting a repo, and forgets its roles. Its events stay.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] for a repo that is not there; [`Error::NotAllowed`] unless an operator does it.
    fn remove_repo(&self, act: Act, name: RepoName) -> Answer<'_, ()>;
}

impl Repos for Store {
    fn add_repo(&self, act: Act, repo: NewRepo) -> Answer<'_, Repo> {
        Box::pin(self.change(act, repo, |tx, act, repo| Box::pin(add(tx, act, repo))))
    }

    fn repo(&self, name: RepoName) -> Answer<'_, Option<Repo>> {
        Box::pin(self.read(name, |tx, name| Box::pin(find(tx, name))))
    }

    fn repos(&self) -> Answer<'_, Vec<Repo>> {
        Box::pin(self.read((), |tx, ()| {
            Box::pin(async move {
                let mut rows = tx.rows(columns!("ORDER BY name"), &[]).await?;
                rows.iter_mut().map(read).collect()
            })
        }))
    }

    fn move_head(
        &self,
        act: Act,
        name: RepoName,
        from: Option<String>,
        to: String,
    ) -> Answer<'_, Repo> {
        let args = (name, from, to);
        Box::pin(self.change(act, args, |tx, act, (name, from, to)| {
            Box::pin(move_head(tx, act, name, from.as_deref(), to))
        }))
    }

    fn set_public(&self, act: Act, name: RepoName, public: bool) -> Answer<'_, Repo> {
        Box::pin(self.change(act, (name, public), |tx, act, (name, public)| {
            Box::pin(set_public(tx, act, name, *public))
        }))
    }

    fn remove_repo(&self, act: Act, name: RepoName) -> Answer<'_, ()> {
        Box::pin(self.change(act, name, |tx, act, name| Box::pin(remove(tx, act, name))))
    }
}

async fn add(tx: &mut Tx, act: &Act, repo: &NewRepo) -> Result<Repo> {
    principals::needs_operator(tx, act, "add repos").await?;
    let added = tx
        .run(
            "INSERT INTO repos (name, public, default_branch, head, origin, created_at, created_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            args![
                repo.name.as_str(),
                repo.public,
                &repo.default_branch,
                &repo.head,
                &repo.origin,
                act.at,
                &act.by
            ],
        )
        .await?;
    if added == 0 {
        return Err(Error::taken("repo", &repo.name));
    }
    lanes::add_own(tx, act, &repo.name).await?;
    let data = json!({ "public": repo.public, "head": repo.head });
    record(tx, act, &repo.name, "repo.added", data).await?;
    get(tx, &repo.name).await
}

/// Moves the head as part of a larger change: the answer to the ask that lands a commit.
pub(crate) async fn move_head(
    tx: &mut Tx,
    act: &Act,
    name: &RepoName,
    from: Option<&str>,
    to: &str,
) -> Result<Repo> {
    let moved = tx
        .run(
            "UPDATE repos SET head = $3 WHERE name = $1 AND head IS NOT DISTINCT FROM $2",
            args![name.as_str(), from, to],
        )
        .await?;
    let repo = get(tx, name).await?;
    if moved == 0 {
        return Err(Error::Moved {
            what: format!("The head of `{name}`"),
            expected: from.unwrap_or("empty").to_owned(),
            found: repo.head,
        });
    }
    let data = json!({ "from": from, "to": to });
    record(tx, act, name, "repo.head_moved", data).await?;
    Ok(repo)
}

async fn set_public(tx: &mut Tx, act: &Act, name: &RepoName, public: bool) -> Result<Repo> {
    get(tx, name).await?;
    roles::needs_owner(tx, act, name, "make a repo public or private").await?;
    let sql = "UPDATE repos SET public = $2 WHERE name = $1 AND public <> $2";
    if tx.run(sql, args![name.as_str(), public]).await? == 1 {
        let data = json!({ "public": public });
        record(tx, act, name, "repo.public_set", data).await?;
    }
    get(tx, name).await
}

async fn remove(tx: &mut Tx, act: &Act, name: &RepoName) -> Result<()> {
    principals::needs_operator(tx, act, "remove repos").await?;
    let sql = "DELETE FROM repos WHERE name = $1";
    if tx.run(sql, args![name.as_str()]).await? == 0 {
        return Err(Error::missing("repo", name));
    }
    // Nothing of it is there for another one of the same name.
    act::forget(tx, name).await?;
    team::leave_repo(tx, act, name).await?;
    record(tx, act, name, "repo.removed", json!({})).await
}

pub(crate) async fn record(
    tx: &mut Tx,
    act: &Act,
    name: &RepoName,
    kind: &'static str,
    data: serde_json::Value,
) -> Result<()> {
    let event = NewEvent {
        stream: Stream::repo(name),
        kind,
        about: About::repo(name),
        data,
    };
    tx.record(act, event).await
}

pub(crate) async fn find(tx: &mut Tx, name: &RepoName) -> Result<Option<Repo>> {
    tx.row(columns!("WHERE name = $1"), args![name.as_str()])
        .await?
        .map(|mut row| read(&mut row))
        .transpose()
}

/// The repo, which must be there.
pub(crate) async fn get(tx: &mut Tx, name: &RepoName) -> Result<Repo> {
    find(tx, name)
        .await?
        .ok_or_else(|| Error::missing("repo", name))
}

/// The columns of a repo, in the order above.
pub(crate) fn read(row: &mut Row) -> Result<Repo> {
    let name: String = row.take()?;
    Ok(Repo {
        name: name
            .parse()
            .map_err(|_| Error::fault(format!("`{name}` is kept as a repo's name")))?,
        public: row.take()?,
        default_branch: row.take()?,
        head: row.take()?,
        origin: row.take()?,
        created_at: row.take()?,
        created_by: row.take()?,
    })
}

/// What anybody has on a repo by its being public.
pub(crate) fn role_of_anybody(repo: &Repo) -> Option<RepoRole> {
    repo.public.then_some(RepoRole::Reader)
}
