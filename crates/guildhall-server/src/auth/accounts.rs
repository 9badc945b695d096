//! What people do with accounts: each change is an act of the caller in the store, and takes effect at once.

use guildhall_core::Principal;
use guildhall_core::team::Binding;
use guildhall_store::{Account, Act, NewToken, Principals as _, Result, TokenInfo, Tokens as _};
use jiff::Timestamp;

use super::{Directory, Token};

/// What a token is limited to.
#[derive(Clone, Debug, Default)]
pub struct TokenLimits {
    /// Until when it is good; `None` is until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// The only repositories it reaches; `None` is all that its principal may see.
    pub repos: Option<Vec<String>>,
    /// The only tools it may call; `None` is all that its principal may.
    pub tools: Option<Vec<String>>,
    /// The role of a team session it speaks for alone; `None` is as its principal.
    pub bound: Option<Binding>,
}

impl Directory {
    /// A new token of `principal`, made by `by`. The one who gets it shows it once; only its hash is kept.
    ///
    /// # Errors
    ///
    /// Those of [`Tokens::issue`](guildhall_store::Tokens::issue).
    pub async fn issue(
        &self,
        by: &Principal,
        principal: Principal,
        limits: TokenLimits,
    ) -> Result<(Token, TokenInfo)> {
        let token = Token::new(&*self.ids);
        let new = NewToken {
            id: format!("tok-{}", self.ids.hex(16)),
            hash: token.hash(),
            principal,
            expires_at: limits.expires_at,
            repos: limits.repos,
            tools: limits.tools,
            bound: limits.bound,
        };
        let kept = self.store.issue(self.act(by), new).await?;
        Ok((token, kept))
    }

    /// Adds an agent of `by`, or of anybody where `by` operates the server.
    ///
    /// # Errors
    ///
    /// Those of [`Principals::add_agent`](guildhall_store::Principals::add_agent).
    pub async fn add_agent(&self, by: &Principal, agent: Principal) -> Result<Account> {
        self.store.add_agent(self.act(by), agent).await
    }

    /// Adds a user.
    ///
    /// # Errors
    ///
    /// Those of [`Principals::add_user`](guildhall_store::Principals::add_user).
    pub async fn add_user(&self, by: &Principal, user: Principal) -> Result<Account> {
        self.store.add_user(self.act(by), user).await
    }

    /// Disables a principal: their tokens, and those of a user's agents, are refused from now on.
    ///
    /// # Errors
    ///
    /// Those of [`Principals::disable`](guildhall_store::Principals::disable).
    pub async fn disable(&self, by: &Principal, principal: Principal) -> Result<Account> {
        let disabled = self.store.disable(self.act(by), principal).await;
        self.forget();
        disabled
    }

    /// Revokes a token by its id: it is refused from now on.
    ///
    /// # Errors
    ///
    /// Those of [`Tokens::revoke`](guildhall_store::Tokens::revoke).
    pub async fn revoke(&self, by: &Principal, id: &str) -> Result<TokenInfo> {
        let revoked = self.store.revoke(self.act(by), id).await;
        self.forget();
        revoked
    }

    /// A token of `agent`, one of `by`'s, that speaks for one role of a team session alone. The agent is made where there is
    /// none.
    ///
    /// # Errors
    ///
    /// Those of [`Principals::add_agent`](guildhall_store::Principals::add_agent) and
    /// [`Tokens::issue`](guildhall_store::Tokens::issue).
    pub async fn issue_for_role(
        &self,
        by: &Principal,
        agent: Principal,
        bound: Binding,
    ) -> Result<(Token, TokenInfo)> {
        if self.store.account(agent.clone()).await?.is_none() {
            match self.add_agent(by, agent.clone()).await {
                // Another command made it in the same moment.
                Ok(_) | Err(guildhall_store::Error::Taken { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let limits = TokenLimits {
            bound: Some(bound),
            ..TokenLimits::default()
        };
        self.issue(by, agent, limits).await
    }

    pub(super) fn act(&self, by: &Principal) -> Act {
        Act::new(by.clone(), self.clock.now())
    }
}
