//! Tokens, of which only hashes are kept.

use guildhall_core::Principal;
use guildhall_core::team::{Binding, SessionId, TeamNameError};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::act::Act;
use crate::error::{Error, Result};
use crate::events::{About, NewEvent, Stream};
use crate::store::Answer;
use crate::tx::Tx;
use crate::value::{Row, args};
use crate::{Store, principals};

/// How exactly the last use of a token is kept: a write for every call would cost more than the call.
pub const LAST_USE_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// The tokens that are good at `$1`, each with its principal and that one's user.
macro_rules! good_tokens {
    () => {
        " FROM tokens t
         JOIN principals p ON p.name = t.principal
         JOIN principals u ON u.name = p.user_name
         WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > $1)
            AND p.disabled_at IS NULL AND u.disabled_at IS NULL"
    };
}

macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.principal, t.created_at, t.created_by, t.last_used_at, t.expires_at,
                t.repos, t.tools, t.session, t.role, t.revoked_at FROM tokens t ",
            $rest
        )
    };
}
/// A token to be made.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Its id, by which it is listed and revoked. Not a secret.
    pub id: String,
    /// SHA-256 of the token itself.
    pub hash: [u8; 32],
    /// Whom it speaks for.
    pub principal: Principal,
    /// Until when it is good; `None` is until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// The only repos it reaches, if it is limited.
    pub repos: Option<Vec<String>>,
    /// The only tools it may call, if it is limited.
    pub tools: Option<Vec<String>>,
    /// The role of the session it speaks for, if it is bound to one.
    pub bound: Option<Binding>,
}

/// What is known of a token.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TokenInfo {
    /// Its id.
    pub id: String,
    /// Whom it speaks for.
    pub principal: Principal,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Principal,
    /// When it was last used, give or take [`LAST_USE_WITHIN`].
    pub last_used_at: Option<Timestamp>,
    /// Until when it is good.
    pub expires_at: Option<Timestamp>,
    /// The only repos it reaches, if it is limited.
    pub repos: Option<Vec<String>>,
    /// The only tools it may call, if it is limited.
    pub tools: Option<Vec<String>>,
    /// The role of the session it speaks for, if it is bound to one.
    pub bound: Option<Binding>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Whom a token that is good now speaks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bearer {
    /// The token.
    pub token: TokenInfo,
    /// Whether the principal is a person who operates the server.
    pub operator: bool,
}

/// The tokens.
pub trait Tokens: Send + Sync {
    /// Keeps a new token. Whoever made it shows it once.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] unless the principal's own user or an operator does it, in person; [`Error::Missing`] where
    /// the principal is not known or is disabled; [`Error::Taken`] for an id that is used.
    fn issue(&self, act: Act, token: NewToken) -> Answer<'_, TokenInfo>;

    /// Whom the token with this hash speaks for at `at`, or `None` where it is unknown, expired or revoked, or its
    /// principal or that one's user is disabled.
    fn bearer(&self, hash: [u8; 32], at: Timestamp) -> Answer<'_, Option<Bearer>>;

    /// Whether the token with this id is good at `at`, as [`Tokens::bearer`] tells it of the token itself.
    fn holds(&self, id: &str, at: Timestamp) -> Answer<'_, bool>;

    /// Notes that a token was used. Writes at most once in [`LAST_USE_WITHIN`].
    fn used(&self, id: &str, at: Timestamp) -> Answer<'_, ()>;

    /// The tokens of `principal` itself, newest first; an agent's are its own.
    fn tokens_of(&self, principal: Principal) -> Answer<'_, Vec<TokenInfo>>;

    /// Every token there is, by principal, each one's newest first.
    fn all_tokens(&self) -> Answer<'_, Vec<TokenInfo>>;

    /// Revokes a token. Done twice, the first time stands.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] for an id that is not known; [`Error::NotAllowed`] unless the principal's own user or an operator
    /// does it, in person.
    fn revoke(&self, act: Act, id: &str) -> Answer<'_, TokenInfo>;
}

impl Tokens for Store {
    fn issue(&self, act: Act, token: NewToken) -> Answer<'_, TokenInfo> {
        Box::pin(self.change(act, token, |tx, act, token| Box::pin(issue(tx, act, token))))
    }

    fn bearer(&self, hash: [u8; 32], at: Timestamp) -> Answer<'_, Option<Bearer>> {
        Box::pin(self.read((hash, at), |tx, (hash, at)| Box::pin(bearer(tx, hash, *at))))
    }

    fn holds(&self, id: &str, at: Timestamp) -> Answer<'_, bool> {
        const SQL: &str = concat!("SELECT t.id", good_tokens!(), " AND t.id = $2");
        Box::pin(self.read((id.to_owned(), at), |tx, (id, at)| {
            Box::pin(async move { Ok(tx.row(SQL, args![*at, id]).await?.is_some()) })
        }))
    }

    fn used(&self, id: &str, at: Timestamp) -> Answer<'_, ()> {
        const SQL: &str = "UPDATE tokens SET last_used_at = $2
            WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)";
        Box::pin(self.write((id.to_owned(), at), |tx, (id, at)| {
            Box::pin(async move {
                tx.run(SQL, args![id, *at, *at - LAST_USE_WITHIN]).await?;
                Ok(())
            })
        }))
    }

    fn tokens_of(&self, principal: Principal) -> Answer<'_, Vec<TokenInfo>> {
        const SQL: &str = columns!("WHERE t.principal = $1 ORDER BY t.created_at DESC, t.id");
        Box::pin(self.read(principal, |tx, principal| {
            Box::pin(async move { infos(tx.rows(SQL, args![principal]).await?) })
        }))
    }

    fn all_tokens(&self) -> Answer<'_, Vec<TokenInfo>> {
        const SQL: &str = columns!("ORDER BY t.principal, t.created_at DESC, t.id");
        Box::pin(self.read((), |tx, ()| {
            Box::pin(async move { infos(tx.rows(SQL, &[]).await?) })
        }))
    }

    fn revoke(&self, act: Act, id: &str) -> Answer<'_, TokenInfo> {
        Box::pin(self.change(act, id.to_owned(), |tx, act, id| {
            Box::pin(revoke(tx, act, id))
        }))
    }
}

pub(crate) async fn issue(tx: &mut Tx, act: &Act, token: &NewToken) -> Result<TokenInfo> {
    principals::may_manage(tx, act, &token.principal).await?;
    if !is_enabled(tx, &token.principal).await? {
        return Err(Error::missing("principal", &token.principal));
    }
    let kept = tx
        .run(
            "INSERT INTO tokens
                (id, hash, principal, created_at, created_by, expires_at, repos, tools, session, role)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
            args![
                &token.id,
                &token.hash,
                &token.principal,
                act.at,
                &act.by,
                token.expires_at,
                &list(token.repos.as_deref()),
                &list(token.tools.as_deref()),
                token.bound.as_ref().map(|bound| bound.session.as_str()),
                token.bound.as_ref().map(|bound| bound.role.as_str()),
            ],
        )
        .await?;
    if kept == 0 {
        return Err(Error::taken("token", &token.id));
    }
    let made = info(tx, &token.id).await?;
    record(tx, act, &made, "token.issued").await?;
    Ok(made)
}

async fn bearer(tx: &mut Tx, hash: &[u8; 32], at: Timestamp) -> Result<Option<Bearer>> {
    let row = tx
        .row(
            concat!(
                "SELECT t.id, t.principal, t.created_at, t.created_by, t.last_used_at, t.expires_at,
                    t.repos, t.tools, t.session, t.role, t.revoked_at, p.operator",
                good_tokens!(),
                " AND t.hash = $2"
            ),
            args![at, hash],
        )
        .await?;
    row.map(|mut row| {
        Ok(Bearer {
            token: read(&mut row)?,
            operator: row.take()?,
        })
    })
    .transpose()
}

async fn revoke(tx: &mut Tx, act: &Act, id: &str) -> Result<TokenInfo> {
    let token = info(tx, id).await?;
    principals::may_manage(tx, act, &token.principal).await?;
    let revoked = tx
        .run(
            "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
            args![id, act.at],
        )
        .await?;
    if revoked == 1 {
        record(tx, act, &token, "token.revoked").await?;
    }
    info(tx, id).await
}

async fn record(tx: &mut Tx, act: &Act, token: &TokenInfo, kind: &'static str) -> Result<()> {
    let event = NewEvent {
        stream: Stream::principal(&token.principal),
        kind,
        about: About::default(),
        data: json!({ "token": token.id, "principal": token.principal.name() }),
    };
    tx.record(act, event).await
}

/// Whether a principal is known and neither it nor its user is disabled.
async fn is_enabled(tx: &mut Tx, principal: &Principal) -> Result<bool> {
    let sql = "SELECT p.name FROM principals p JOIN principals u ON u.name = p.user_name
        WHERE p.name = $1 AND p.disabled_at IS NULL AND u.disabled_at IS NULL";
    Ok(tx.row(sql, args![principal]).await?.is_some())
}

async fn info(tx: &mut Tx, id: &str) -> Result<TokenInfo> {
    let mut row = tx
        .row(columns!("WHERE t.id = $1"), args![id])
        .await?
        .ok_or_else(|| Error::missing("token", id))?;
    read(&mut row)
}

fn infos(rows: Vec<Row>) -> Result<Vec<TokenInfo>> {
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

fn read(row: &mut Row) -> Result<TokenInfo> {
    Ok(TokenInfo {
        id: row.take()?,
        principal: row.take()?,
        created_at: row.take()?,
        created_by: row.take()?,
        last_used_at: row.take()?,
        expires_at: row.take()?,
        repos: unlist(row.take()?)?,
        tools: unlist(row.take()?)?,
        bound: binding(row.take()?, row.take()?)?,
        revoked_at: row.take()?,
    })
}

/// What the two columns of a bound token name.
fn binding(session: Option<String>, role: Option<String>) -> Result<Option<Binding>> {
    let (Some(session), Some(role)) = (session, role) else {
        return Ok(None);
    };
    let fault = |error: TeamNameError| Error::fault(error.to_string());
    Ok(Some(Binding {
        session: session.parse().map_err(fault)?,
        role: role.parse().map_err(fault)?,
    }))
}

/// Revokes every token that is bound to the session.
pub(crate) async fn revoke_of_session(tx: &mut Tx, act: &Act, session: &SessionId) -> Result<()> {
    let sql = columns!("WHERE t.session = $1 AND t.revoked_at IS NULL ORDER BY t.principal, t.id");
    let rows = tx.rows(sql, args![session.as_str()]).await?;
    revoke_each(tx, act, rows).await
}

/// Revokes every token of `principal` itself.
pub(crate) async fn revoke_of(tx: &mut Tx, act: &Act, principal: &Principal) -> Result<()> {
    let sql = columns!("WHERE t.principal = $1 AND t.revoked_at IS NULL ORDER BY t.id");
    let rows = tx.rows(sql, args![principal]).await?;
    revoke_each(tx, act, rows).await
}

async fn revoke_each(tx: &mut Tx, act: &Act, tokens: Vec<Row>) -> Result<()> {
    for mut row in tokens {
        let token = read(&mut row)?;
        let revoked = tx
            .run(
                "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
                args![&token.id, act.at],
            )
            .await?;
        if revoked == 1 {
            record(tx, act, &token, "token.revoked").await?;
        }
    }
    Ok(())
}

fn list(names: Option<&[String]>) -> Option<String> {
    names.map(|names| json!(names).to_string())
}

fn unlist(text: Option<String>) -> Result<Option<Vec<String>>> {
    text.map(|text| serde_json::from_str(&text).map_err(|error| Error::fault(error.to_string())))
        .transpose()
}
