//! Who may do what on a repo and on a lane. Roles belong to people; an agent has its user's.

use std::str::FromStr;

use guildhall_core::{LaneRole, Principal, RepoName, RepoRole};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::{About, NewEvent, Stream};
use crate::repos::{self, Repo};
use crate::store::Answer;
use crate::tx::Tx;
use crate::value::{Row, args};
use crate::{Store, lanes, principals};

/// The lane that every repo has; its coordinators and maintainers are the repo's owners and maintainers.
pub const OWN_LANE: &str = "_repo";

/// A role, with what it is on.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// On the repo.
    Repo(RepoRole),
    /// On a lane of it.
    Lane {
        /// The lane's id.
        lane: String,
        /// The role.
        role: LaneRole,
    },
}

/// A role that somebody was given.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Grant {
    /// The user.
    pub user: Principal,
    /// What they were given.
    pub role: Role,
    /// When.
    pub granted_at: Timestamp,
    /// By whom.
    pub granted_by: Principal,
}

/// What a principal may on a repo and, if one was asked about, on a lane of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Standing {
    /// Their role on the repo: the granted one, owner for an operator, reader for anybody on a public repo.
    pub repo: Option<RepoRole>,
    /// Whether they coordinate the lane.
    pub coordinator: bool,
    /// Whether they maintain the lane.
    pub maintainer: bool,
    /// Whether they coordinate any lane of the repo, `_repo` among them.
    pub coordinates: bool,
}

/// The roles.
pub trait Roles: Send + Sync {
    /// Gives a user a role. On a repo a user has one role: this replaces it. On a lane they may have both.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] unless an owner of the repo does it in person; [`Error::Missing`] for a repo, lane or user
    /// that is not there; [`Error::Invalid`] for an agent, or for `_repo`, whose roles are the repo's.
    fn grant(&self, act: Act, repo: RepoName, user: Principal, role: Role) -> Answer<'_, Grant>;

    /// Takes a role away.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where the user has not got it; otherwise as [`Roles::grant`].
    fn withdraw(&self, act: Act, repo: RepoName, user: Principal, role: Role) -> Answer<'_, ()>;

    /// The roles that were given on a repo and its lanes, by user.
    fn grants(&self, repo: RepoName) -> Answer<'_, Vec<Grant>>;

    /// What `principal` (`None` for a caller without a token) may on `repo` and on `lane` of it. Nothing, for a repo that is
    /// not there and for somebody who is disabled.
    fn standing(
        &self,
        principal: Option<Principal>,
        repo: RepoName,
        lane: Option<String>,
    ) -> Answer<'_, Standing>;

    /// Every repo that `user` (`None` for a caller without a token) may read, by name, and as what. Nothing more than what is
    /// public, for somebody who is disabled.
    fn readable(&self, user: Option<Principal>) -> Answer<'_, Vec<(Repo, RepoRole)>>;
}

impl Roles for Store {
    fn grant(&self, act: Act, repo: RepoName, user: Principal, role: Role) -> Answer<'_, Grant> {
        Box::pin(
            self.change(act, (repo, user, role), |tx, act, (repo, user, role)| {
                Box::pin(grant(tx, act, repo, user, role))
            }),
        )
    }

    fn withdraw(&self, act: Act, repo: RepoName, user: Principal, role: Role) -> Answer<'_, ()> {
        Box::pin(
            self.change(act, (repo, user, role), |tx, act, (repo, user, role)| {
                Box::pin(withdraw(tx, act, repo, user, role))
            }),
        )
    }

    fn grants(&self, repo: RepoName) -> Answer<'_, Vec<Grant>> {
        const SQL: &str = "SELECT user_name, lane, role, granted_at, granted_by FROM roles
            WHERE repo = $1 ORDER BY user_name, lane, role";
        Box::pin(self.read(repo, |tx, repo| {
            Box::pin(async move {
                let rows = tx.rows(SQL, args![repo.as_str()]).await?;
                rows.into_iter().map(read).collect()
            })
        }))
    }

    fn standing(
        &self,
        principal: Option<Principal>,
        repo: RepoName,
        lane: Option<String>,
    ) -> Answer<'_, Standing> {
        let args = (principal, repo, lane);
        Box::pin(self.snapshot(args, |tx, (principal, repo, lane)| {
            Box::pin(standing(tx, principal.as_ref(), repo, lane.as_deref()))
        }))
    }

    fn readable(&self, user: Option<Principal>) -> Answer<'_, Vec<(Repo, RepoRole)>> {
        Box::pin(self.read(user, |tx, user| Box::pin(readable(tx, user.as_ref()))))
    }
}

/// That `u` is the user called `$user`, and not disabled: whoever is disabled is nobody.
macro_rules! is_user {
    ($user:literal) => {
        concat!("u.name = ", $user, " AND u.disabled_at IS NULL")
    };
}
pub(crate) use is_user;

/// That `g` is a role that `$user` has on `$repo` or on a lane of it.
macro_rules! is_role {
    ($user:literal, $repo:literal) => {
        concat!("g.user_name = ", $user, " AND g.repo = ", $repo)
    };
}
pub(crate) use is_role;

/// Whether the user `$user` may read the repo `p`: the same as a standing on it. What is asked of the user alone is asked
/// once, not for each row.
macro_rules! may_read {
    ($user:literal) => {
        concat!(
            "CASE WHEN p.public = 1
                OR (SELECT u.operator FROM principals u WHERE ",
            $crate::roles::is_user!($user),
            ") = 1
                OR (EXISTS (SELECT 1 FROM principals u WHERE ",
            $crate::roles::is_user!($user),
            ") AND EXISTS (SELECT 1 FROM roles g WHERE ",
            $crate::roles::is_role!($user, "p.name"),
            " AND g.lane = ''))
             THEN 1 ELSE 0 END"
        )
    };
}
pub(crate) use may_read;

async fn readable(tx: &mut Tx, user: Option<&Principal>) -> Result<Vec<(Repo, RepoRole)>> {
    let user = user.map(Principal::name);
    let rows = tx
        .rows(
            concat!(
                "SELECT h.name, h.public, h.default_branch, h.head, h.origin, h.created_at, h.created_by,
                    u.operator, g.lane, g.role
                 FROM repos h
                 LEFT JOIN principals u ON ",
                is_user!("$1"),
                " LEFT JOIN roles g ON ",
                is_role!("u.name", "h.name"),
                " AND g.lane = ''
                 ORDER BY h.name"
            ),
            args![user],
        )
        .await?;
    let mut readable = Vec::with_capacity(rows.len());
    for mut row in rows {
        let repo = repos::read(&mut row)?;
        let mut standing = Standing {
            repo: repos::role_of_anybody(&repo),
            ..Standing::default()
        };
        standing.take(&mut row)?;
        if let Some(role) = standing.repo {
            readable.push((repo, role));
        }
    }
    Ok(readable)
}

async fn grant(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    user: &Principal,
    role: &Role,
) -> Result<Grant> {
    take_turn(tx, repo, user).await?;
    may_set(tx, act, repo, user, role).await?;
    if principals::account(tx, user).await?.is_none() {
        return Err(Error::missing("user", user));
    }
    let (lane, name) = role.columns();
    if lane.is_empty() {
        tx.run(
            "DELETE FROM roles WHERE repo = $1 AND lane = '' AND user_name = $2",
            args![repo.as_str(), user],
        )
        .await?;
    } else {
        lanes::must_exist(tx, repo, lane).await?;
        lanes::needs_to_contribute(tx, user, repo, name).await?;
    }
    tx.run(
        "INSERT INTO roles (repo, lane, user_name, role, granted_at, granted_by)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        args![repo.as_str(), lane, user, name, act.at, &act.by],
    )
    .await?;
    record(tx, act, repo, user, role, "role.granted").await?;
    let granted = tx
        .row(
            "SELECT user_name, lane, role, granted_at, granted_by FROM roles
             WHERE repo = $1 AND lane = $2 AND user_name = $3 AND role = $4",
            args![repo.as_str(), lane, user, name],
        )
        .await?
        .ok_or_else(|| Error::fault("a row that was just written is not there"))?;
    read(granted)
}

/// Takes turns with whoever sets a role of this user there: of two grants at once the later one holds.
async fn take_turn(tx: &mut Tx, repo: &RepoName, user: &Principal) -> Result<()> {
    tx.take_turn(&format!("role:{repo}:{user}")).await
}

async fn withdraw(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    user: &Principal,
    role: &Role,
) -> Result<()> {
    take_turn(tx, repo, user).await?;
    may_set(tx, act, repo, user, role).await?;
    let (lane, name) = role.columns();
    let sql = "DELETE FROM roles WHERE repo = $1 AND lane = $2 AND user_name = $3 AND role = $4";
    if tx.run(sql, args![repo.as_str(), lane, user, name]).await? == 0 {
        return Err(Error::Missing {
            what: "role",
            name: format!("{name}` of `{user}"),
        });
    }
    record(tx, act, repo, user, role, "role.withdrawn").await
}

async fn may_set(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    user: &Principal,
    role: &Role,
) -> Result<()> {
    needs_owner(tx, act, repo, "grant or withdraw roles").await?;
    repos::get(tx, repo).await?;
    if user.is_agent() {
        return Err(Error::Invalid(format!(
            "`{user}` is an agent; roles are given to its user"
        )));
    }
    match role {
        Role::Lane { lane, .. } if lane == OWN_LANE || lane.is_empty() => Err(Error::Invalid(
            format!("The roles of `{OWN_LANE}` are the repo's"),
        )),
        _ => Ok(()),
    }
}

async fn record(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    user: &Principal,
    role: &Role,
    kind: &'static str,
) -> Result<()> {
    let (lane, name) = role.columns();
    let lane = (!lane.is_empty()).then_some(lane);
    // In the repo's stream, as all its roles are, and found by the lane too.
    let event = NewEvent {
        stream: Stream::repo(repo),
        kind,
        about: About {
            lane: lane.map(str::to_owned),
            ..About::repo(repo)
        },
        data: json!({ "user": user.name(), "role": name, "lane": lane }),
    };
    tx.record(act, event).await
}

/// Refuses everybody but an owner of `repo` who is a person.
pub(crate) async fn needs_owner(tx: &mut Tx, act: &Act, repo: &RepoName, what: &str) -> Result<()> {
    act.needs_person(what)?;
    let standing = standing(tx, Some(&act.by), repo, None).await?;
    if standing.repo == Some(RepoRole::Owner) {
        return Ok(());
    }
    Err(Error::NotAllowed(format!(
        "`{}` is not an owner of `{repo}`; only an owner may {what}",
        act.by
    )))
}

/// What a principal may, as part of a larger change.
pub(crate) async fn standing(
    tx: &mut Tx,
    principal: Option<&Principal>,
    repo: &RepoName,
    lane: Option<&str>,
) -> Result<Standing> {
    let Some(hosted) = repos::find(tx, repo).await? else {
        return Ok(Standing::default());
    };
    let mut standing = Standing {
        repo: repos::role_of_anybody(&hosted),
        ..Standing::default()
    };
    let Some(principal) = principal else {
        return Ok(standing);
    };
    // Whoever is disabled is at most what anybody is.
    let rows = tx
        .rows(
            concat!(
                "SELECT u.operator, g.lane, g.role,
                    CASE WHEN EXISTS (SELECT 1 FROM roles c
                        WHERE c.repo = $2 AND c.user_name = u.name AND c.lane <> '' AND c.role = 'coordinator')
                    THEN 1 ELSE 0 END
                 FROM principals p
                 JOIN principals u ON ",
                is_user!("p.user_name"),
                " LEFT JOIN roles g ON ",
                is_role!("u.name", "$2"),
                " AND g.lane IN ('', $3)
                 WHERE p.name = $1 AND p.disabled_at IS NULL"
            ),
            args![principal, repo.as_str(), lane.unwrap_or_default()],
        )
        .await?;
    for mut row in rows {
        standing.take(&mut row)?;
        standing.coordinates = row.take()?;
    }
    Ok(standing.on(lane))
}

/// What the person behind a caller may, as part of a larger change. The agent as whom a person's own token acts has no
/// account, so only one that has been disabled counts as nobody.
pub(crate) async fn standing_of_caller(
    tx: &mut Tx,
    caller: &Principal,
    repo: &RepoName,
    lane: Option<&str>,
) -> Result<Standing> {
    let rows = tx
        .rows(
            concat!(
                "SELECT h.public, u.operator, g.lane, g.role FROM repos h
                 LEFT JOIN principals p ON p.name = $4
                 LEFT JOIN principals u ON ",
                is_user!("$1"),
                " AND p.disabled_at IS NULL
                 LEFT JOIN roles g ON ",
                is_role!("u.name", "h.name"),
                " AND g.lane IN ('', $3)
                 WHERE h.name = $2"
            ),
            args![
                caller.user_address(),
                repo.as_str(),
                lane.unwrap_or_default(),
                caller
            ],
        )
        .await?;
    let mut standing = Standing::default();
    for mut row in rows {
        if row.take()? {
            standing.repo = standing.repo.max(Some(RepoRole::Reader));
        }
        standing.take(&mut row)?;
    }
    Ok(standing.on(lane))
}

impl Standing {
    /// Adds what a row says: whether they operate the server, and a role with the lane it is on.
    fn take(&mut self, row: &mut Row) -> Result<()> {
        if row.take::<Option<bool>>()? == Some(true) {
            self.repo = Some(RepoRole::Owner);
        }
        let (on, role): (Option<String>, Option<String>) = (row.take()?, row.take()?);
        match (on.as_deref(), role) {
            (Some(""), Some(role)) => self.repo = self.repo.max(Some(parse(&role)?)),
            (Some(_), Some(role)) => match parse(&role)? {
                LaneRole::Coordinator => self.coordinator = true,
                LaneRole::Maintainer => self.maintainer = true,
            },
            _ => {}
        }
        Ok(())
    }

    /// With what the role on the repo gives on `lane`.
    fn on(mut self, lane: Option<&str>) -> Self {
        if self.repo < Some(RepoRole::Contributor) {
            // Lanes are for who contributes: whoever no longer does keeps no part in them.
            self.coordinator = false;
            self.maintainer = false;
            self.coordinates = false;
        }
        self.coordinates |= self.repo >= Some(RepoRole::Maintainer);
        if lane.is_some() && self.repo >= Some(RepoRole::Maintainer) {
            self.maintainer = true;
            self.coordinator |= lane == Some(OWN_LANE);
        }
        self
    }
}

fn read(mut row: Row) -> Result<Grant> {
    let user = row.take()?;
    let (lane, role): (String, String) = (row.take()?, row.take()?);
    Ok(Grant {
        user,
        role: if lane.is_empty() {
            Role::Repo(parse(&role)?)
        } else {
            Role::Lane {
                lane,
                role: parse(&role)?,
            }
        },
        granted_at: row.take()?,
        granted_by: row.take()?,
    })
}

fn parse<T: FromStr>(role: &str) -> Result<T> {
    role.parse()
        .map_err(|_| Error::fault(format!("`{role}` is kept as a role")))
}

impl Role {
    /// The lane, empty for the repo, and the role, as they are kept.
    fn columns(&self) -> (&str, &'static str) {
        match self {
            Self::Repo(role) => ("", role.name()),
            Self::Lane { lane, role } => (lane, role.name()),
        }
    }
}
