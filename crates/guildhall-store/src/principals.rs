//! People and their agents.

use guildhall_core::Principal;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::{About, NewEvent, Stream};
use crate::store::Answer;
use crate::tx::Tx;
use crate::value::{Row, args};
use crate::{Store, tokens};

/// A principal the server knows.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Account {
    /// Who.
    pub principal: Principal,
    /// Whether they operate the server, and with that own every repo. Never an agent.
    pub operator: bool,
    /// Since when they are known.
    pub created_at: Timestamp,
    /// Who made them known.
    pub created_by: Principal,
    /// Since when they may do nothing. Disabling a user disables their agents too.
    pub disabled_at: Option<Timestamp>,
}

/// Who is known.
pub trait Principals: Send + Sync {
    /// The person who operates the server, made where they are not known yet.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for an agent.
    fn ensure_operator(&self, at: Timestamp, user: Principal) -> Answer<'_, Account>;

    /// Adds a user.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] for a name that is known, disabled or not; [`Error::Invalid`] for an agent's name;
    /// [`Error::NotAllowed`] unless an operator does it.
    fn add_user(&self, act: Act, user: Principal) -> Answer<'_, Account>;

    /// Adds an agent of the user who acts, or of any user where an operator does. One that was disabled may do things
    /// again; the tokens it had are revoked for good.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] for a name that is known and not disabled; [`Error::Invalid`] for a user's name; [`Error::Missing`] where its user
    /// is not known or is disabled; [`Error::NotAllowed`] for an agent, or for somebody else's agent.
    fn add_agent(&self, act: Act, agent: Principal) -> Answer<'_, Account>;

    /// What is known of `principal`.
    fn account(&self, principal: Principal) -> Answer<'_, Option<Account>>;

    /// Every user, by name.
    fn users(&self) -> Answer<'_, Vec<Account>>;

    /// The agents of `user`, by name.
    fn agents(&self, user: Principal) -> Answer<'_, Vec<Account>>;

    /// Disables a principal: their tokens are refused from now on. Done twice, the first time stands.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] for a name that is not known; [`Error::NotAllowed`] unless an operator, or the agent's own user,
    /// does it, and for the last operator.
    fn disable(&self, act: Act, principal: Principal) -> Answer<'_, Account>;
}

impl Principals for Store {
    fn ensure_operator(&self, at: Timestamp, user: Principal) -> Answer<'_, Account> {
        let act = Act::new(user.clone(), at);
        Box::pin(self.change(act, user, |tx, act, user| {
            Box::pin(ensure_operator(tx, act, user))
        }))
    }

    fn add_user(&self, act: Act, user: Principal) -> Answer<'_, Account> {
        Box::pin(self.change(act, user, |tx, act, user| Box::pin(add_user(tx, act, user))))
    }

    fn add_agent(&self, act: Act, agent: Principal) -> Answer<'_, Account> {
        Box::pin(self.change(act, agent, |tx, act, agent| {
            Box::pin(add_agent(tx, act, agent))
        }))
    }

    fn account(&self, principal: Principal) -> Answer<'_, Option<Account>> {
        Box::pin(self.read(principal, |tx, principal| Box::pin(account(tx, principal))))
    }

    fn users(&self) -> Answer<'_, Vec<Account>> {
        const SQL: &str = "SELECT name, operator, created_at, created_by, disabled_at
            FROM principals WHERE name = user_name ORDER BY name";
        Box::pin(self.read((), |tx, ()| {
            Box::pin(async move { accounts(tx.rows(SQL, &[]).await?) })
        }))
    }

    fn agents(&self, user: Principal) -> Answer<'_, Vec<Account>> {
        const SQL: &str = "SELECT name, operator, created_at, created_by, disabled_at
            FROM principals WHERE user_name = $1 AND name <> user_name ORDER BY name";
        Box::pin(self.read(user, |tx, user| {
            Box::pin(async move { accounts(tx.rows(SQL, args![user.user_address()]).await?) })
        }))
    }

    fn disable(&self, act: Act, principal: Principal) -> Answer<'_, Account> {
        Box::pin(self.change(act, principal, |tx, act, principal| {
            Box::pin(disable(tx, act, principal))
        }))
    }
}

async fn ensure_operator(tx: &mut Tx, act: &Act, user: &Principal) -> Result<Account> {
    is_user(user)?;
    match account(tx, user).await? {
        Some(account) if account.operator => Ok(account),
        Some(account) => Err(Error::NotAllowed(format!(
            "`{}` is a user who does not operate this server",
            account.principal
        ))),
        None => add(tx, act, user, true).await,
    }
}

async fn add_user(tx: &mut Tx, act: &Act, user: &Principal) -> Result<Account> {
    is_user(user)?;
    needs_operator(tx, act, "add users").await?;
    add(tx, act, user, false).await
}

async fn add_agent(tx: &mut Tx, act: &Act, agent: &Principal) -> Result<Account> {
    if !agent.is_agent() {
        return Err(Error::Invalid(format!("`{agent}` is not an agent's name")));
    }
    may_manage(tx, act, agent).await?;
    let user = user_of(agent);
    match account(tx, &user).await? {
        Some(account) if account.disabled_at.is_none() => {}
        _ => return Err(Error::missing("user", &user)),
    }
    match account(tx, agent).await? {
        Some(known) if known.disabled_at.is_some() => enable(tx, act, agent).await,
        _ => add(tx, act, agent, false).await,
    }
}

/// Lets a disabled agent do things again, with none of the tokens it had.
async fn enable(tx: &mut Tx, act: &Act, agent: &Principal) -> Result<Account> {
    tokens::revoke_of(tx, act, agent).await?;
    let enabled = tx
        .run(
            "UPDATE principals SET disabled_at = NULL WHERE name = $1 AND disabled_at IS NOT NULL",
            args![agent],
        )
        .await?;
    if enabled == 0 {
        // Somebody else did in the same moment.
        return Err(Error::taken("principal", agent));
    }
    record(tx, act, agent, "principal.enabled").await?;
    known(tx, agent).await
}

async fn add(tx: &mut Tx, act: &Act, principal: &Principal, operator: bool) -> Result<Account> {
    let added = tx
        .run(
            "INSERT INTO principals (name, user_name, operator, created_at, created_by)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO NOTHING",
            args![
                principal,
                principal.user_address(),
                operator,
                act.at,
                &act.by
            ],
        )
        .await?;
    if added == 0 {
        return Err(Error::taken("principal", principal));
    }
    record(tx, act, principal, "principal.added").await?;
    known(tx, principal).await
}

async fn disable(tx: &mut Tx, act: &Act, principal: &Principal) -> Result<Account> {
    if principal.is_agent() {
        may_manage(tx, act, principal).await?;
    } else {
        needs_operator(tx, act, "disable users").await?;
    }
    let account = account(tx, principal)
        .await?
        .ok_or_else(|| Error::missing("principal", principal))?;
    if account.operator {
        return Err(Error::NotAllowed(format!(
            "`{principal}` operates this server and cannot be disabled"
        )));
    }
    let disabled = tx
        .run(
            "UPDATE principals SET disabled_at = $2 WHERE name = $1 AND disabled_at IS NULL",
            args![principal, act.at],
        )
        .await?;
    if disabled == 1 {
        record(tx, act, principal, "principal.disabled").await?;
    }
    known(tx, principal).await
}

/// What is known of a principal that was just written.
async fn known(tx: &mut Tx, principal: &Principal) -> Result<Account> {
    account(tx, principal)
        .await?
        .ok_or_else(|| Error::fault("a row that was just written is not there"))
}

async fn record(tx: &mut Tx, act: &Act, principal: &Principal, kind: &'static str) -> Result<()> {
    let event = NewEvent {
        stream: Stream::principal(principal),
        kind,
        about: About::default(),
        data: json!({ "principal": principal.name() }),
    };
    tx.record(act, event).await
}

pub(crate) async fn account(tx: &mut Tx, principal: &Principal) -> Result<Option<Account>> {
    tx.row(
        "SELECT name, operator, created_at, created_by, disabled_at FROM principals WHERE name = $1",
        args![principal],
    )
    .await?
    .map(read)
    .transpose()
}

fn accounts(rows: Vec<Row>) -> Result<Vec<Account>> {
    rows.into_iter().map(read).collect()
}

fn read(mut row: Row) -> Result<Account> {
    Ok(Account {
        principal: row.take()?,
        operator: row.take()?,
        created_at: row.take()?,
        created_by: row.take()?,
        disabled_at: row.take()?,
    })
}

/// Whether `principal` is a person who operates the server.
pub(crate) async fn is_operator(tx: &mut Tx, principal: &Principal) -> Result<bool> {
    let account = account(tx, principal).await?;
    Ok(account.is_some_and(|account| account.operator && account.disabled_at.is_none()))
}

pub(crate) async fn needs_operator(tx: &mut Tx, act: &Act, what: &str) -> Result<()> {
    act.needs_person(what)?;
    if is_operator(tx, &act.by).await? {
        return Ok(());
    }
    Err(Error::NotAllowed(format!(
        "`{}` does not operate this server; only who does may {what}",
        act.by
    )))
}

/// Whether the one who acts may manage `principal`: themselves and their agents, or anybody where they operate the server.
pub(crate) async fn may_manage(tx: &mut Tx, act: &Act, principal: &Principal) -> Result<()> {
    act.needs_person("manage agents and tokens")?;
    if act.by.name() == principal.user_address() || is_operator(tx, &act.by).await? {
        return Ok(());
    }
    Err(Error::NotAllowed(format!(
        "`{principal}` is not `{}` or an agent of theirs",
        act.by
    )))
}

fn is_user(user: &Principal) -> Result<()> {
    if user.is_agent() {
        return Err(Error::Invalid(format!("`{user}` is not a user's name")));
    }
    Ok(())
}

/// The user of an agent.
fn user_of(agent: &Principal) -> Principal {
    Principal::user(agent.user_address()).expect("the user's part of a name is a name")
}
