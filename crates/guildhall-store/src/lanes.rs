//! Lanes: streams of work in a repo, each with its coordinators and maintainers.
//!
//! Roles on a lane belong to people and stand in the table of roles; an agent has its user's. `_repo`, which every repo
//! has, takes its coordinators and maintainers from the repo's owners and maintainers.

use std::collections::BTreeMap;

use guildhall_core::{LaneRole, Principal, RepoName, RepoRole};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::{About, Event, NewEvent, Position, Stream};
use crate::fresh::{self, Fresh};
use crate::roles::{self, OWN_LANE, Standing};
use crate::store::Answer;
use crate::text::{self, LONGEST_TEXT, LONGEST_TITLE};
use crate::tx::Tx;
use crate::value::{Row, args};
use crate::{Store, principals, quota, repos};

/// Most people and lanes that a proposal names.
const MOST_NAMED: usize = 100;

/// Most lanes a page has.
const PAGE: u32 = 1000;

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT id, title, description, proposer, allow_self_review, created_at, closed_at FROM lanes ",
            $rest
        )
    };
}

/// A lane that somebody proposes.
#[derive(Clone, Debug)]
pub struct NewLane {
    /// The repo it is in.
    pub repo: RepoName,
    /// Where its id comes from.
    pub fresh: Fresh,
    /// What it is about, in one line.
    pub title: String,
    /// The same at length.
    pub description: String,
    /// Who coordinates it beside the proposer; an agent stands for its user.
    pub coordinators: Vec<Principal>,
    /// Who maintains it beside the repo's owners and maintainers; an agent stands for its user.
    pub maintainers: Vec<Principal>,
    /// The lanes it comes from.
    pub related: Vec<String>,
    /// How many open lanes the person behind the proposer may have at once.
    pub most_open: u32,
}

/// Whether a lane takes work.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneState {
    /// Asks are posted and claimed.
    Open,
    /// Nothing is posted or claimed any more; what is held may still be answered.
    Closed,
}

/// A lane.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Lane {
    /// `_repo`, or `lane-` and ten hex digits.
    pub id: String,
    /// What it is about, in one line.
    pub title: String,
    /// The same at length.
    pub description: String,
    /// Whether it takes work.
    pub state: LaneState,
    /// Who proposed it.
    pub proposer: Principal,
    /// Who submits its changesets and closes it, by name.
    pub coordinators: Vec<Principal>,
    /// Who reviews its changesets, by name.
    pub maintainers: Vec<Principal>,
    /// The lanes that were created from it or that it comes from.
    pub related: Vec<String>,
    /// Whether people may review what they or their agents wrote.
    pub allow_self_review: bool,
    /// Since when it is there.
    pub created_at: Timestamp,
    /// Since when it is closed.
    pub closed_at: Option<Timestamp>,
}

/// The lanes.
pub trait Lanes: Send + Sync {
    /// Opens a lane. The proposer becomes its coordinator, together with the named ones.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] for less than a contributor, for maintainers that anybody but an owner in person names, and for
    /// coordinators who are less than contributors; [`Error::Missing`] for a repo, user or lane that is not there;
    /// [`Error::Invalid`] for texts that are empty or too long; [`Error::TooMany`] past `most_open`.
    fn propose_lane(&self, act: Act, lane: NewLane) -> Answer<'_, Lane>;

    /// The lane, or `None`.
    fn lane(&self, repo: RepoName, id: String) -> Answer<'_, Option<Lane>>;

    /// The lanes of a repo, the oldest first, after the one called `after`, at most `limit`.
    fn lanes(&self, repo: RepoName, after: Option<String>, limit: u32) -> Answer<'_, Vec<Lane>>;

    /// Everything that happened in a lane and to its asks after `after`, the oldest first, at most `limit`.
    fn lane_history(
        &self,
        repo: RepoName,
        id: String,
        after: Position,
        limit: u32,
    ) -> Answer<'_, Vec<Event>>;

    /// Records that `related` was created from the lane `id`. Doing it again changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] for anybody but the lane's coordinators; [`Error::Missing`] for a lane that is not there.
    fn relate_lane(
        &self,
        act: Act,
        repo: RepoName,
        id: String,
        related: String,
    ) -> Answer<'_, Lane>;

    /// Closes a lane. Closing again changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] for anybody but the lane's coordinators; [`Error::Invalid`] for `_repo`; [`Error::Missing`]
    /// for a lane that is not there.
    fn close_lane(&self, act: Act, repo: RepoName, id: String) -> Answer<'_, Lane>;

    /// Lets people review what they or their agents wrote in this lane, or stops it.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] unless an owner who is a person does it; [`Error::Missing`] for a lane that is not there.
    fn allow_self_review(
        &self,
        act: Act,
        repo: RepoName,
        id: String,
        allow: bool,
    ) -> Answer<'_, Lane>;
}

impl Lanes for Store {
    fn propose_lane(&self, act: Act, lane: NewLane) -> Answer<'_, Lane> {
        Box::pin(self.change(act, lane, |tx, act, lane| Box::pin(propose(tx, act, lane))))
    }

    fn lane(&self, repo: RepoName, id: String) -> Answer<'_, Option<Lane>> {
        Box::pin(self.snapshot((repo, id), |tx, (repo, id)| Box::pin(find(tx, repo, id))))
    }

    fn lanes(&self, repo: RepoName, after: Option<String>, limit: u32) -> Answer<'_, Vec<Lane>> {
        let args = (repo, after, limit);
        Box::pin(self.snapshot(args, |tx, (repo, after, limit)| {
            Box::pin(page(tx, repo, after.as_deref(), *limit))
        }))
    }

    fn lane_history(
        &self,
        repo: RepoName,
        id: String,
        after: Position,
        limit: u32,
    ) -> Answer<'_, Vec<Event>> {
        let args = (repo, id, after, limit);
        Box::pin(self.read(args, |tx, (repo, id, after, limit)| {
            Box::pin(crate::events::of_lane(tx, repo, id, *after, *limit))
        }))
    }

    fn relate_lane(
        &self,
        act: Act,
        repo: RepoName,
        id: String,
        related: String,
    ) -> Answer<'_, Lane> {
        let args = (repo, id, related);
        Box::pin(self.change(act, args, |tx, act, (repo, id, related)| {
            Box::pin(relate(tx, act, repo, id, related))
        }))
    }

    fn close_lane(&self, act: Act, repo: RepoName, id: String) -> Answer<'_, Lane> {
        Box::pin(self.change(act, (repo, id), |tx, act, (repo, id)| {
            Box::pin(close(tx, act, repo, id))
        }))
    }

    fn allow_self_review(
        &self,
        act: Act,
        repo: RepoName,
        id: String,
        allow: bool,
    ) -> Answer<'_, Lane> {
        let args = (repo, id, allow);
        Box::pin(self.change(act, args, |tx, act, (repo, id, allow)| {
            Box::pin(allow_self_review(tx, act, repo, id, *allow))
        }))
    }
}

async fn propose(tx: &mut Tx, act: &Act, lane: &NewLane) -> Result<Lane> {
    let repo = &lane.repo;
    text::check("title", &lane.title, 1, LONGEST_TITLE)?;
    text::check("description", &lane.description, 0, LONGEST_TEXT)?;
    for (what, named) in [
        ("coordinators", lane.coordinators.len()),
        ("maintainers", lane.maintainers.len()),
        ("related_to", lane.related.len()),
    ] {
        if named > MOST_NAMED {
            return Err(Error::TooLarge(format!(
                "'{what}' names {named}; at most {MOST_NAMED} may be named"
            )));
        }
    }
    repos::get(tx, repo).await?;
    needs_contributor(tx, act, repo, "propose a lane").await?;
    if !lane.maintainers.is_empty() {
        roles::needs_owner(tx, act, repo, "name the maintainers of a lane").await?;
    }
    within_quota(tx, act, lane.most_open).await?;
    let id = insert(tx, act, lane).await?;
    let proposer = std::slice::from_ref(&act.by);
    for user in people(proposer.iter().chain(&lane.coordinators)) {
        give(tx, act, repo, &id, &user, LaneRole::Coordinator).await?;
    }
    for user in people(&lane.maintainers) {
        give(tx, act, repo, &id, &user, LaneRole::Maintainer).await?;
    }
    for related in &lane.related {
        must_exist(tx, repo, related).await?;
        add_related(tx, act, repo, &id, related).await?;
    }
    let data = json!({ "title": lane.title, "related_to": lane.related });
    record(tx, act, repo, &id, "lane.proposed", data).await?;
    get(tx, repo, &id).await
}

/// Writes the lane's row under the first of its drawn ids that is free.
async fn insert(tx: &mut Tx, act: &Act, lane: &NewLane) -> Result<String> {
    const SQL: &str = "INSERT INTO lanes
            (repo, id, title, description, proposer, proposer_user, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    let (repo, user) = (lane.repo.as_str(), act.by.user_address());
    for id in lane.fresh.short("lane-") {
        let values = args![
            repo,
            &id,
            &lane.title,
            &lane.description,
            &act.by,
            user,
            act.at
        ];
        if tx.run(SQL, values).await? == 1 {
            return Ok(id);
        }
    }
    Err(fresh::spent())
}

/// The users behind `named`, each once.
fn people<'a>(named: impl IntoIterator<Item = &'a Principal>) -> Vec<Principal> {
    let mut users: Vec<_> = named.into_iter().filter_map(user_of).collect();
    users.sort();
    users.dedup();
    users
}

fn user_of(principal: &Principal) -> Option<Principal> {
    Principal::user(principal.user_address()).ok()
}

/// Refuses a role on a lane to a user who does not contribute to the repo.
pub(crate) async fn needs_to_contribute(
    tx: &mut Tx,
    user: &Principal,
    repo: &RepoName,
    role: &str,
) -> Result<()> {
    let standing = roles::standing_of_caller(tx, user, repo, None).await?;
    if standing.repo >= Some(RepoRole::Contributor) {
        return Ok(());
    }
    Err(Error::NotAllowed(format!(
        "`{user}` is not a contributor of `{repo}`, and a lane's {role}s are"
    )))
}

/// Gives a user their role on a new lane. Whoever coordinates can submit to the default branch, so a proposer can name
/// nobody who is less than they had to be themselves.
async fn give(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    lane: &str,
    user: &Principal,
    role: LaneRole,
) -> Result<()> {
    if principals::account(tx, user).await?.is_none() {
        return Err(Error::missing("user", user));
    }
    needs_to_contribute(tx, user, repo, role.name()).await?;
    tx.run(
        "INSERT INTO roles (repo, lane, user_name, role, granted_at, granted_by)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        args![repo.as_str(), lane, user, role.name(), act.at, &act.by],
    )
    .await?;
    Ok(())
}

/// Refuses a person who has as many open lanes as one may have.
async fn within_quota(tx: &mut Tx, act: &Act, most: u32) -> Result<()> {
    let user = act.by.user_address();
    let count = "SELECT count(*) FROM (SELECT 1 FROM lanes
         WHERE proposer_user = $1 AND closed_at IS NULL LIMIT $2) AS open";
    if quota::has_room(tx, user, most, count).await? {
        return Ok(());
    }
    Err(Error::TooMany(format!(
        "`{user}` has {most} open lanes, the most one person and their agents may have; close one first"
    )))
}

async fn relate(tx: &mut Tx, act: &Act, repo: &RepoName, id: &str, related: &str) -> Result<Lane> {
    must_exist(tx, repo, id).await?;
    needs_coordinator(tx, act, repo, id, "relate other lanes to it").await?;
    must_exist(tx, repo, related).await?;
    if id == related {
        return Err(Error::Invalid(format!("`{id}` is the lane itself")));
    }
    if add_related(tx, act, repo, id, related).await? {
        let data = json!({ "related_lane_id": related });
        record(tx, act, repo, id, "lane.related", data).await?;
    }
    get(tx, repo, id).await
}

async fn add_related(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    id: &str,
    related: &str,
) -> Result<bool> {
    let added = tx
        .run(
            "INSERT INTO related_lanes (repo, lane, related, at, by) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
            args![repo.as_str(), id, related, act.at, &act.by],
        )
        .await?;
    Ok(added == 1)
}

async fn close(tx: &mut Tx, act: &Act, repo: &RepoName, id: &str) -> Result<Lane> {
    must_exist(tx, repo, id).await?;
    needs_coordinator(tx, act, repo, id, "close it").await?;
    if id == OWN_LANE {
        return Err(Error::Invalid(format!(
            "`{OWN_LANE}` is the repo's own lane and stays open"
        )));
    }
    let sql = "UPDATE lanes SET closed_at = $3 WHERE repo = $1 AND id = $2 AND closed_at IS NULL";
    if tx.run(sql, args![repo.as_str(), id, act.at]).await? == 1 {
        record(tx, act, repo, id, "lane.closed", json!({})).await?;
    }
    get(tx, repo, id).await
}

async fn allow_self_review(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    id: &str,
    allow: bool,
) -> Result<Lane> {
    repos::get(tx, repo).await?;
    roles::needs_owner(tx, act, repo, "allow self-review").await?;
    must_exist(tx, repo, id).await?;
    let changed = tx
        .run(
            "UPDATE lanes SET allow_self_review = $3
             WHERE repo = $1 AND id = $2 AND allow_self_review <> $3",
            args![repo.as_str(), id, allow],
        )
        .await?;
    if changed == 1 {
        let data = json!({ "allow_self_review": allow });
        record(tx, act, repo, id, "lane.set", data).await?;
    }
    get(tx, repo, id).await
}

/// Makes the lane that a new repo has.
pub(crate) async fn add_own(tx: &mut Tx, act: &Act, repo: &RepoName) -> Result<()> {
    tx.run(
        "INSERT INTO lanes (repo, id, title, description, proposer, proposer_user, created_at)
         VALUES ($1, $2, 'The repository', '', $3, $4, $5)",
        args![
            repo.as_str(),
            OWN_LANE,
            &act.by,
            act.by.user_address(),
            act.at
        ],
    )
    .await?;
    Ok(())
}

/// Refuses everybody who is less than a contributor.
pub(crate) async fn needs_contributor(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    what: &str,
) -> Result<()> {
    let standing = roles::standing_of_caller(tx, &act.by, repo, None).await?;
    if standing.repo >= Some(RepoRole::Contributor) {
        return Ok(());
    }
    Err(Error::NotAllowed(format!(
        "`{}` is not a contributor of `{repo}`; only contributors may {what}",
        act.by
    )))
}

async fn needs_coordinator(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    lane: &str,
    what: &str,
) -> Result<()> {
    let Standing { coordinator, .. } =
        roles::standing_of_caller(tx, &act.by, repo, Some(lane)).await?;
    if coordinator {
        return Ok(());
    }
    Err(Error::NotAllowed(format!(
        "`{}` is not a coordinator of `{lane}`; only its coordinators may {what}",
        act.by
    )))
}

async fn record(
    tx: &mut Tx,
    act: &Act,
    repo: &RepoName,
    lane: &str,
    kind: &'static str,
    data: serde_json::Value,
) -> Result<()> {
    let about = About {
        lane: Some(lane.to_owned()),
        ..About::repo(repo)
    };
    let event = NewEvent {
        stream: Stream::lane(repo, lane),
        kind,
        about,
        data,
    };
    tx.record(act, event).await
}

/// The lane, which must be there.
async fn get(tx: &mut Tx, repo: &RepoName, id: &str) -> Result<Lane> {
    find(tx, repo, id)
        .await?
        .ok_or_else(|| Error::missing("lane", id))
}

/// Refuses the name of a lane that is not there.
pub(crate) async fn must_exist(tx: &mut Tx, repo: &RepoName, id: &str) -> Result<()> {
    let sql = "SELECT 1 FROM lanes WHERE repo = $1 AND id = $2";
    match tx.row(sql, args![repo.as_str(), id]).await? {
        Some(_) => Ok(()),
        None => Err(Error::missing("lane", id)),
    }
}

async fn find(tx: &mut Tx, repo: &RepoName, id: &str) -> Result<Option<Lane>> {
    let row = tx
        .row(
            columns!("WHERE repo = $1 AND id = $2"),
            args![repo.as_str(), id],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let mut lanes = vec![read(row)?];
    complete(tx, repo, &mut lanes).await?;
    Ok(lanes.pop())
}

async fn page(tx: &mut Tx, repo: &RepoName, after: Option<&str>, limit: u32) -> Result<Vec<Lane>> {
    let rows = tx
        .rows(
            columns!(
                "WHERE repo = $1 AND ($2 = '' OR (created_at, id) >
                    (SELECT l.created_at, l.id FROM lanes l WHERE l.repo = $1 AND l.id = $2))
                 ORDER BY created_at, id LIMIT $3"
            ),
            args![
                repo.as_str(),
                after.unwrap_or_default(),
                i64::from(limit.min(PAGE))
            ],
        )
        .await?;
    let mut lanes = rows.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    complete(tx, repo, &mut lanes).await?;
    Ok(lanes)
}

fn read(mut row: Row) -> Result<Lane> {
    let mut lane = Lane {
        id: row.take()?,
        title: row.take()?,
        description: row.take()?,
        state: LaneState::Open,
        proposer: row.take()?,
        coordinators: Vec::new(),
        maintainers: Vec::new(),
        related: Vec::new(),
        allow_self_review: row.take()?,
        created_at: row.take()?,
        closed_at: row.take()?,
    };
    if lane.closed_at.is_some() {
        lane.state = LaneState::Closed;
    }
    Ok(lane)
}

/// The people on the lanes of a repo, and how the lanes are related: what [`read`] leaves out.
async fn complete(tx: &mut Tx, repo: &RepoName, lanes: &mut [Lane]) -> Result<()> {
    let mut of_repo: Vec<Principal> = Vec::new();
    let mut of_lane: BTreeMap<String, (Vec<Principal>, Vec<Principal>)> = BTreeMap::new();
    // One lane's rows where one is asked for, else the repo's: never a statement for each lane.
    let only = match lanes {
        [lane] => lane.id.clone(),
        _ => String::new(),
    };
    let rows = tx
        .rows(
            "SELECT lane, user_name, role FROM roles
             WHERE repo = $1 AND (lane = '' OR $2 = '' OR lane = $2)
             UNION ALL SELECT '', name, 'owner' FROM principals
             WHERE operator = 1 AND name = user_name AND disabled_at IS NULL",
            args![repo.as_str(), &only],
        )
        .await?;
    for mut row in rows {
        let (lane, user, role): (String, Principal, String) =
            (row.take()?, row.take()?, row.take()?);
        match (lane.as_str(), role.as_str()) {
            ("", "owner" | "maintainer") => of_repo.push(user),
            ("", _) => {}
            (_, "coordinator") => of_lane.entry(lane).or_default().0.push(user),
            _ => of_lane.entry(lane).or_default().1.push(user),
        }
    }
    let mut related: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let rows = tx
        .rows(
            "SELECT lane, related FROM related_lanes
             WHERE repo = $1 AND ($2 = '' OR lane = $2) ORDER BY lane, at, related",
            args![repo.as_str(), &only],
        )
        .await?;
    for mut row in rows {
        related.entry(row.take()?).or_default().push(row.take()?);
    }
    for lane in lanes {
        let (coordinators, maintainers) = of_lane.remove(&lane.id).unwrap_or_default();
        let own = lane.id == OWN_LANE;
        lane.coordinators = people(if own { &of_repo } else { &coordinators });
        lane.maintainers = people(maintainers.iter().chain(&of_repo));
        lane.related = related.remove(&lane.id).unwrap_or_default();
    }
    Ok(())
}
