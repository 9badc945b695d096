//! Adding a dependency to an ask that is there.

use guildhall_core::RepoName;
use serde_json::json;

use super::claim::{get, record};
use super::read::look;
use super::{Ask, AskRef, AskState, post};
use crate::act::Act;
use crate::error::{Error, Result};
use crate::tx::Tx;
use crate::value::args;
use crate::{lanes, roles::OWN_LANE};

pub(super) async fn depend(tx: &mut Tx, act: &Act, asked: &AskRef, needs: &str) -> Result<Ask> {
    let repo = &asked.repo;
    lanes::needs_contributor(tx, act, repo, "make an ask depend on another").await?;
    lock(tx, repo).await?;
    let ask = look(tx, asked, act.at).await?.ask;
    if ask.state != AskState::Open {
        return Err(Error::Conflict(format!(
            "`{}` is {}; only an open ask can wait for another",
            ask.id,
            ask.state.name()
        )));
    }
    if ask.depends_on.iter().any(|known| known == needs) {
        return Ok(ask);
    }
    let waits = post::dependencies(tx, repo, &[needs.to_owned()]).await?;
    if reaches(tx, repo, needs, &ask.id).await? {
        return Err(Error::Invalid(format!(
            "`{needs}` depends on `{}` itself: that would be a circle",
            ask.id
        )));
    }
    add(tx, repo, &ask, needs, waits).await?;
    let data = json!({ "depends_on": needs });
    record(tx, act, repo, &ask, "ask.depends", data).await?;
    get(tx, repo, &ask.id).await
}

/// Two that add edges at once take turns: each alone may be no circle, and both together one.
async fn lock(tx: &mut Tx, repo: &RepoName) -> Result<()> {
    let sql = tx.either(
        "SELECT 1 FROM lanes WHERE repo = $1 AND id = $2",
        "SELECT 1 FROM lanes WHERE repo = $1 AND id = $2 FOR NO KEY UPDATE",
    );
    tx.row(sql, args![repo.as_str(), OWN_LANE]).await?;
    Ok(())
}

/// Whether `from` depends on `to`, over however many others. Each ask is looked at once, so it takes as long as there are
/// edges.
async fn reaches(tx: &mut Tx, repo: &RepoName, from: &str, to: &str) -> Result<bool> {
    const SQL: &str = "WITH RECURSIVE reached (id) AS (
            SELECT $2
            UNION
            SELECT d.needs FROM reached r JOIN ask_dependencies d ON d.repo = $1 AND d.ask = r.id
        )
        SELECT 1 FROM reached WHERE id = $3 LIMIT 1";
    Ok(tx.row(SQL, args![repo.as_str(), from, to]).await?.is_some())
}

async fn add(
    tx: &mut Tx,
    repo: &RepoName,
    ask: &Ask,
    needs: &str,
    waits: post::Waits,
) -> Result<()> {
    let sql = "INSERT INTO ask_dependencies (repo, ask, needs) VALUES ($1, $2, $3)";
    tx.run(sql, args![repo.as_str(), &ask.id, needs]).await?;
    let mut depends_on = ask.depends_on.clone();
    depends_on.push(needs.to_owned());
    let depends_on = json!(depends_on).to_string();
    let changed = tx
        .run(
            "UPDATE asks SET depends_on = $3, waits = waits + $4, blocked = CASE WHEN $5 = 1 THEN 1 ELSE blocked END
             WHERE repo = $1 AND id = $2 AND state = 'open'",
            args![
                repo.as_str(),
                &ask.id,
                &depends_on,
                waits.count,
                waits.blocked
            ],
        )
        .await?;
    if changed == 0 {
        return Err(Error::Conflict(format!(
            "`{}` was claimed a moment ago",
            ask.id
        )));
    }
    Ok(())
}
