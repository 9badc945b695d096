//! Signing in: a device that waits for a person's approval, one-time codes, and the sessions of the sign-in page.
//!
//! Every code is 128 random bits, kept as a hash, good for a few minutes or a day, and for one use.

use guildhall_core::Principal;
use guildhall_core::text::steers;
use guildhall_store::{
    Error, Login, LoginToken, Logins as _, NewLogin, Redeemed, Result, Tokens as _,
};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::{Directory, TokenLimits, token};

/// How long a device's login waits for a person.
pub const DEVICE_LIVES: SignedDuration = SignedDuration::from_mins(10);
/// How long a one-time sign-in code can be used.
const CODE_LIVES: SignedDuration = SignedDuration::from_hours(24);
/// How long a browser stays signed in to the approval page.
pub const SESSION_LIVES: SignedDuration = SignedDuration::from_hours(12);
/// Longest name a device may give itself, in characters.
const LONGEST_CLIENT: usize = 80;

/// A login that was begun. Both codes are secrets of the device and of the person before it.
pub struct Begun {
    /// What the device keeps and asks with.
    pub device_code: String,
    /// What the person types, in groups of four.
    pub typed_code: String,
    /// Until when.
    pub expires_at: Timestamp,
}

/// What has become of a device's login.
pub enum Outcome {
    /// No person has said anything yet.
    Waiting,
    /// A person refused it.
    Denied,
    /// It is approved, and this is the person and their new token, told once.
    SignedIn(Principal, token::Token),
    /// There is no such login, or its time is over, or it was used.
    Gone,
}

impl Directory {
    /// Begins the login of a device that calls itself `client`.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn begin_login(&self, client: &str) -> Result<Begun> {
        let now = self.clock.now();
        let (device_code, typed_code) = (self.ids.hex(16), grouped(&self.ids.hex(16)));
        let expires_at = now + DEVICE_LIVES;
        let login = NewLogin {
            device: hash(&device_code),
            typed: Some(hash(&typed_code)),
            client: client_name(client),
            expires_at,
        };
        self.store.begin(now, login).await?;
        Ok(Begun {
            device_code,
            typed_code,
            expires_at,
        })
    }

    /// The login that waits under the code a person typed.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn waiting_login(&self, typed_code: &str) -> Result<Option<Login>> {
        self.store.waiting(hash(typed_code), self.clock.now()).await
    }

    /// Approves or refuses, as the person `by`, the login under a typed code.
    ///
    /// # Errors
    ///
    /// Those of [`Logins::decide`](guildhall_store::Logins::decide).
    pub async fn decide_login(
        &self,
        by: &Principal,
        typed_code: &str,
        approve: bool,
    ) -> Result<Login> {
        self.store
            .decide(self.act(by), hash(typed_code), approve)
            .await
    }

    /// Asks, with the code that the device keeps, what has become of its login. The token of one that was approved has
    /// `limits`.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn finish_login(&self, device_code: &str, limits: TokenLimits) -> Result<Outcome> {
        let token = token::Token::new(&*self.ids);
        let theirs = LoginToken {
            id: format!("tok-{}", self.ids.hex(16)),
            hash: token.hash(),
            expires_at: limits.expires_at,
            repos: limits.repos,
            tools: limits.tools,
        };
        let now = self.clock.now();
        let redeemed = self.store.redeem(hash(device_code), now, theirs).await?;
        Ok(match redeemed {
            Redeemed::Waiting => Outcome::Waiting,
            Redeemed::Denied => Outcome::Denied,
            Redeemed::Gone => Outcome::Gone,
            Redeemed::As(person) => Outcome::SignedIn(person, token),
        })
    }

    /// A one-time code that signs `user` in, and until when.
    ///
    /// # Errors
    ///
    /// Those of [`Logins::hand_out`](guildhall_store::Logins::hand_out).
    pub async fn sign_in_code(
        &self,
        by: &Principal,
        user: Principal,
    ) -> Result<(String, Timestamp)> {
        let code = grouped(&self.ids.hex(16));
        let expires_at = self.clock.now() + CODE_LIVES;
        let login = NewLogin {
            device: hash(&code),
            typed: None,
            client: "sign-in code".to_owned(),
            expires_at,
        };
        self.store.hand_out(self.act(by), login, user).await?;
        Ok((code, expires_at))
    }

    /// Signs a browser in with a one-time code or a person's unlimited token. Gives the secret of its cookie, or `None`
    /// where the text is neither.
    ///
    /// The secret is no token: it opens the sign-in page and nothing else. It stands in the list of the person's tokens
    /// and is revoked as one.
    ///
    /// # Errors
    ///
    /// [`Error::NotAllowed`] for the token of an agent and for a limited one.
    pub async fn sign_in(&self, text: &str) -> Result<Option<String>> {
        let text = text.trim();
        let (now, secret) = (self.clock.now(), self.ids.hex(32));
        let session = LoginToken {
            id: format!("ses-{}", self.ids.hex(16)),
            hash: session_hash(&secret),
            expires_at: Some(now + SESSION_LIVES),
            repos: None,
            tools: None,
        };
        let signed_in = match token::Token::hash_of(text) {
            Some(token) => self.open_session(token, session).await?,
            None => matches!(
                self.store.redeem(hash(text), now, session).await?,
                Redeemed::As(_)
            ),
        };
        Ok(signed_in.then_some(secret))
    }

    /// Makes `session` one of the person whose unlimited token has the hash `token`; false where it is nobody's.
    async fn open_session(&self, token: [u8; 32], session: LoginToken) -> Result<bool> {
        let Some(bearer) = self.store.bearer(token, self.clock.now()).await? else {
            return Ok(false);
        };
        let token = bearer.token;
        if token.principal.is_agent() {
            return Err(Error::NotAllowed(format!(
                "`{}` is an agent; only a person may sign in here",
                token.principal
            )));
        }
        if token.repos.is_some() || token.tools.is_some() {
            return Err(Error::NotAllowed(
                "The token is limited to some repositories or tools and cannot sign in here"
                    .to_owned(),
            ));
        }
        let act = self.act(&token.principal);
        let session = session.of(&token.principal);
        self.store.issue(act, session).await?;
        Ok(true)
    }

    /// The person whose browser holds the session `secret`, and the session's id.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn session(&self, secret: &str) -> Result<Option<(Principal, String)>> {
        let bearer = self
            .store
            .bearer(session_hash(secret), self.clock.now())
            .await?;
        Ok(bearer.map(|bearer| (bearer.token.principal, bearer.token.id)))
    }
}

/// The hash of a code. How it is grouped, and capitals, do not count.
fn hash(code: &str) -> [u8; 32] {
    let plain: String = code
        .chars()
        .filter(|c| *c != '-' && !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    Sha256::digest(plain).into()
}

/// The hash of a session's secret: never that of a token, so that neither is good for the other.
fn session_hash(secret: &str) -> [u8; 32] {
    Sha256::new()
        .chain_update("guildhall session\0")
        .chain_update(secret)
        .finalize()
        .into()
}

/// `abcd-ef01-...`
fn grouped(code: &str) -> String {
    let mut text = String::with_capacity(code.len() + code.len() / 4);
    for (index, c) in code.chars().enumerate() {
        if index > 0 && index % 4 == 0 {
            text.push('-');
        }
        text.push(c);
    }
    text
}

/// What a device calls itself, short and without anything that is not to be seen.
fn client_name(given: &str) -> String {
    let name: String = given
        .trim()
        .chars()
        .take(LONGEST_CLIENT)
        .map(|c| {
            if c.is_control() || steers(c) {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    if name.is_empty() {
        "a program that gave no name".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_however_it_is_typed() {
        let code = "0123456789abcdef0123456789abcdef";
        assert_eq!(grouped(code), "0123-4567-89ab-cdef-0123-4567-89ab-cdef");
        for typed in [&grouped(code), " 0123 4567-89AB-cdef 0123456789ABCDEF\n"] {
            assert_eq!(hash(typed), hash(code));
        }
        assert_ne!(hash("0123"), hash(code));
    }

    #[test]
    fn a_sessions_secret_is_no_token_and_no_code() {
        assert_ne!(session_hash("abc"), hash("abc"));
    }

    #[test]
    fn a_devices_name_is_short_and_visible() {
        assert_eq!(
            client_name(" a\u{1b}[2J\u{202e}b "),
            "a\u{fffd}[2J\u{fffd}b"
        );
        assert_eq!(client_name(&"x".repeat(500)).len(), LONGEST_CLIENT);
        assert_eq!(client_name(" "), "a program that gave no name");
    }
}
