//! Signing in without a token: a device shows a code and a person approves it, or an operator hands out a one-time code.
//!
//! Codes are 128 random bits or more, kept as hashes, good for a while and for one use. The short code that a person types
//! is good only for approving, by somebody who is signed in.

use guildhall_core::Principal;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::{About, NewEvent, Stream};
use crate::store::Answer;
use crate::tx::Tx;
use crate::value::args;
use crate::{NewToken, Store, principals, tokens};

/// A login to be begun.
#[derive(Clone, Debug)]
pub struct NewLogin {
    /// SHA-256 of the code that the device keeps.
    pub device: [u8; 32],
    /// SHA-256 of the code that a person types; `None` for a one-time code, which nobody approves.
    pub typed: Option<[u8; 32]>,
    /// What asks, as it calls itself. Not to be trusted.
    pub client: String,
    /// Until when it can be approved and used.
    pub expires_at: Timestamp,
}

/// The token that a login gives whomever it signs in.
#[derive(Clone, Debug)]
pub struct LoginToken {
    /// Its id, by which it is listed and revoked. Not a secret.
    pub id: String,
    /// SHA-256 of the token itself.
    pub hash: [u8; 32],
    /// Until when it is good; `None` is until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// The only repos it reaches, if it is limited.
    pub repos: Option<Vec<String>>,
    /// The only tools it may call, if it is limited.
    pub tools: Option<Vec<String>>,
}

impl LoginToken {
    /// The same as a token of `principal`.
    pub fn of(&self, principal: &Principal) -> NewToken {
        NewToken {
            id: self.id.clone(),
            hash: self.hash,
            principal: principal.clone(),
            expires_at: self.expires_at,
            repos: self.repos.clone(),
            tools: self.tools.clone(),
            bound: None,
        }
    }
}

/// A login that waits for a person.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Login {
    /// What asks, as it calls itself. Not to be trusted.
    pub client: String,
    /// When it asked.
    pub created_at: Timestamp,
    /// Until when it can be approved.
    pub expires_at: Timestamp,
}

/// What has become of a login.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Redeemed {
    /// Nobody has said anything yet.
    Waiting,
    /// A person refused it.
    Denied,
    /// It signs this principal in, and the token is theirs. Said once.
    As(Principal),
    /// There is no such login, or its time is over, or it was used.
    Gone,
}

/// Logins.
pub trait Logins: Send + Sync {
    /// Begins a login that a person is to approve.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] where a code is in use: draw others.
    fn begin(&self, at: Timestamp, login: NewLogin) -> Answer<'_, ()>;

    /// Makes a one-time code that signs `user` in.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] unless an operator or the user does it, in person; [`Error::Missing`] for a user who is not
    /// known; [`Error::Taken`] where the code is in use.
    fn hand_out(&self, act: Act, login: NewLogin, user: Principal) -> Answer<'_, ()>;

    /// The login that waits under a typed code, or `None`.
    fn waiting(&self, typed: [u8; 32], at: Timestamp) -> Answer<'_, Option<Login>>;

    /// Approves or refuses the login under a typed code: it then signs in the person who acts.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] where none waits under it; [`Error::NotAllowed`] for an agent.
    fn decide(&self, act: Act, typed: [u8; 32], approve: bool) -> Answer<'_, Login>;

    /// Uses a login: the first call after the approval is told whom it signs in, and `token` is theirs from then on. The
    /// two are one change: no login is used up that gave no token. The other answers make none.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] for an id or a hash that is used; the login can still be used then.
    fn redeem(&self, device: [u8; 32], at: Timestamp, token: LoginToken) -> Answer<'_, Redeemed>;
}

impl Logins for Store {
    fn begin(&self, at: Timestamp, login: NewLogin) -> Answer<'_, ()> {
        Box::pin(self.write((at, login), |tx, (at, login)| {
            Box::pin(begin(tx, *at, login, None))
        }))
    }

    fn hand_out(&self, act: Act, login: NewLogin, user: Principal) -> Answer<'_, ()> {
        Box::pin(self.change(act, (login, user), |tx, act, (login, user)| {
            Box::pin(hand_out(tx, act, login, user))
        }))
    }

    fn waiting(&self, typed: [u8; 32], at: Timestamp) -> Answer<'_, Option<Login>> {
        Box::pin(self.read((typed, at), |tx, (typed, at)| {
            Box::pin(waiting(tx, typed, *at))
        }))
    }

    fn decide(&self, act: Act, typed: [u8; 32], approve: bool) -> Answer<'_, Login> {
        Box::pin(
            self.change(act, (typed, approve), |tx, act, (typed, approve)| {
                Box::pin(decide(tx, act, typed, *approve))
            }),
        )
    }

    fn redeem(&self, device: [u8; 32], at: Timestamp, token: LoginToken) -> Answer<'_, Redeemed> {
        Box::pin(self.write((device, at, token), |tx, (device, at, token)| {
            Box::pin(redeem(tx, device, *at, token))
        }))
    }
}

async fn begin(
    tx: &mut Tx,
    at: Timestamp,
    login: &NewLogin,
    user: Option<&Principal>,
) -> Result<()> {
    let typed = login.typed.as_ref().map(<[u8; 32]>::as_slice);
    let begun = tx
        .run(
            "INSERT INTO logins (device, typed, client, created_at, expires_at, principal)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            args![
                &login.device,
                typed,
                &login.client,
                at,
                login.expires_at,
                user.map(Principal::name)
            ],
        )
        .await?;
    if begun == 0 {
        return Err(Error::taken("login", &login.client));
    }
    Ok(())
}

async fn hand_out(tx: &mut Tx, act: &Act, login: &NewLogin, user: &Principal) -> Result<()> {
    principals::may_manage(tx, act, user).await?;
    match principals::account(tx, user).await? {
        Some(account) if account.disabled_at.is_none() => {}
        _ => return Err(Error::missing("user", user)),
    }
    begin(tx, act.at, login, Some(user)).await?;
    record(tx, act, user, "login.handed_out", &login.client).await
}

async fn waiting(tx: &mut Tx, typed: &[u8; 32], at: Timestamp) -> Result<Option<Login>> {
    let row = tx
        .row(
            "SELECT client, created_at, expires_at FROM logins
             WHERE typed = $1 AND expires_at > $2 AND principal IS NULL AND denied_at IS NULL",
            args![typed, at],
        )
        .await?;
    row.map(|mut row| {
        Ok(Login {
            client: row.take()?,
            created_at: row.take()?,
            expires_at: row.take()?,
        })
    })
    .transpose()
}

async fn decide(tx: &mut Tx, act: &Act, typed: &[u8; 32], approve: bool) -> Result<Login> {
    act.needs_person("approve a login")?;
    let none = || Error::Missing {
        what: "login",
        name: "that code".to_owned(),
    };
    let login = waiting(tx, typed, act.at).await?.ok_or_else(none)?;
    // The conditions again: another node may have decided since.
    let decided = tx
        .run(
            "UPDATE logins SET
                principal = CASE WHEN $4 = 1 THEN $2 ELSE principal END,
                denied_at = CASE WHEN $4 = 0 THEN $3 ELSE denied_at END
             WHERE typed = $1 AND expires_at > $3 AND principal IS NULL AND denied_at IS NULL",
            args![typed, &act.by, act.at, approve],
        )
        .await?;
    if decided == 0 {
        return Err(none());
    }
    let kind = if approve {
        "login.approved"
    } else {
        "login.denied"
    };
    record(tx, act, &act.by, kind, &login.client).await?;
    Ok(login)
}

async fn redeem(
    tx: &mut Tx,
    device: &[u8; 32],
    at: Timestamp,
    token: &LoginToken,
) -> Result<Redeemed> {
    let used = tx
        .run(
            "UPDATE logins SET used_at = $2
             WHERE device = $1 AND expires_at > $2 AND principal IS NOT NULL AND used_at IS NULL",
            args![device, at],
        )
        .await?;
    let row = tx
        .row(
            "SELECT l.principal, l.denied_at, u.disabled_at FROM logins l
             LEFT JOIN principals u ON u.name = l.principal
             WHERE l.device = $1 AND l.expires_at > $2",
            args![device, at],
        )
        .await?;
    let Some(mut row) = row else {
        return Ok(Redeemed::Gone);
    };
    let principal: Option<Principal> = row.take()?;
    let (denied, disabled): (Option<Timestamp>, Option<Timestamp>) = (row.take()?, row.take()?);
    Ok(match principal {
        _ if denied.is_some() => Redeemed::Denied,
        None => Redeemed::Waiting,
        Some(principal) if used == 1 && disabled.is_none() => {
            let act = Act::new(principal.clone(), at);
            tokens::issue(tx, &act, &token.of(&principal)).await?;
            Redeemed::As(principal)
        }
        Some(_) => Redeemed::Gone,
    })
}

async fn record(
    tx: &mut Tx,
    act: &Act,
    user: &Principal,
    kind: &'static str,
    client: &str,
) -> Result<()> {
    let event = NewEvent {
        stream: Stream::principal(user),
        kind,
        about: About::default(),
        data: json!({ "principal": user.name(), "client": client }),
    };
    tx.record(act, event).await
}

/// Forgets the logins whose time is over.
pub(crate) async fn sweep(tx: &mut Tx, at: Timestamp) -> Result<u64> {
    tx.run("DELETE FROM logins WHERE expires_at <= $1", args![at])
        .await
}
