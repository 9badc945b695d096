//! Who calls, and what their token lets them.

use std::collections::BTreeSet;
use std::sync::Arc;

use guildhall_core::repo::is_within;
use guildhall_core::team::Binding;
use guildhall_core::{Principal, RepoRole};

use crate::RepoAccess;

/// The agent as whom a person's token acts at an agents' door.
const UNNAMED: &str = "unnamed";

/// The name of whoever has no token. It is nobody's address: the domain cannot exist (RFC 2606).
const ANYBODY: &str = "anybody@public.invalid";

/// What a tool asks of its caller beyond a valid token.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Scope {
    /// Any authenticated caller.
    #[default]
    Any,
    /// A person: an agent never, whoever it belongs to.
    Person,
    /// Whoever is at least this in the repository the call is about. The tool takes `repo`.
    Repo(RepoRole),
    /// Whoever coordinates a lane of the repository the call is about, or owns it. The tool takes `repo`.
    RepoCoordinator,
    /// A person who owns the repository the call is about. The tool takes `repo`.
    RepoOwnerInPerson,
}

impl Scope {
    /// The least role in a repository, for tools that work in one.
    pub const fn repo_role(self) -> Option<RepoRole> {
        match self {
            Self::Any | Self::Person => None,
            Self::Repo(role) => Some(role),
            Self::RepoCoordinator => Some(RepoRole::Contributor),
            Self::RepoOwnerInPerson => Some(RepoRole::Owner),
        }
    }

    /// Whether a tool of this scope is of any use to somebody with this access to a repository.
    pub fn is_for(self, repo: &RepoAccess) -> bool {
        self.repo_role().is_none_or(|least| repo.role >= least)
            && (self != Self::RepoCoordinator || repo.coordinates)
    }
}

/// The principal behind a call together with the limits of the token it came with.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who it is.
    pub principal: Principal,
    /// The only tools this token may use, or `None` for all that the principal may.
    pub tools: Option<Arc<BTreeSet<String>>>,
    /// The only repositories this token reaches, or `None` for all that the principal may see.
    pub repos: Option<Arc<BTreeSet<String>>>,
    /// Whether it is the person who operates the server, and with that owns every repository. Never an agent.
    pub operator: bool,
    /// The role of a team session that this token speaks for, and for no other.
    pub bound: Option<Arc<Binding>>,
    /// The id of this token, for what must still hold when a long call ends.
    pub token: Option<Arc<str>>,
}

impl Caller {
    /// A caller whose token has no limits.
    pub fn new(principal: Principal) -> Self {
        Self {
            principal,
            tools: None,
            repos: None,
            operator: false,
            bound: None,
            token: None,
        }
    }

    /// Whoever comes without a token: what is public is all that they see.
    ///
    /// # Panics
    ///
    /// Never: the name is one.
    pub fn anybody() -> Self {
        Self::new(ANYBODY.parse().expect("it is a name"))
    }

    /// Whether the caller came without a token.
    pub fn is_anybody(&self) -> bool {
        self.principal.name() == ANYBODY
    }

    /// `name` as this caller may read it: people's addresses are not for everybody, so without a token it is
    /// `you[claude]` for `you@example.com[claude]`.
    pub fn shown(&self, name: &str) -> String {
        if !self.is_anybody() {
            return name.to_owned();
        }
        let (user, agent) = match name.find('[') {
            Some(at) => name.split_at(at),
            None => (name, ""),
        };
        let local = user.split_once('@').map_or(user, |(local, _)| local);
        format!("{local}{agent}")
    }

    /// Whether the token has limits of whatever kind.
    pub fn is_limited(&self) -> bool {
        self.tools.is_some() || self.repos.is_some() || self.bound.is_some()
    }

    /// Whether what belongs to the repository `repo`, or to none, is within the token's limits.
    pub fn reaches(&self, repo: Option<&str>) -> bool {
        is_within(self.repos.as_deref(), repo)
    }

    /// Whether `name`, given as `actor` or `from`, is this caller. A person who came in by an agents' door may give the
    /// name that the token has.
    pub(crate) fn is(&self, name: &str) -> bool {
        name == self.principal.name()
            || (self.principal.agent_name() == Some(UNNAMED)
                && name == self.principal.user_address())
    }

    /// Whether this caller may ever use a tool called `name` that asks for `scope`. What is not allowed is not listed
    /// and, called all the same, refused as not allowed.
    pub fn may(&self, name: &str, scope: Scope) -> bool {
        let person = match scope {
            Scope::Any | Scope::Repo(_) | Scope::RepoCoordinator => true,
            Scope::Person | Scope::RepoOwnerInPerson => !self.principal.is_agent(),
        };
        person && self.tools.as_ref().is_none_or(|tools| tools.contains(name))
    }

    /// The caller as whom an agent door acts: a person's token used there acts as that person's agent `[unnamed]`, for
    /// an agent never holds a person's powers.
    #[must_use]
    pub fn as_agent(self) -> Self {
        if self.principal.is_agent() {
            return self;
        }
        let principal = self
            .principal
            .agent(UNNAMED)
            .expect("it is an agent's name");
        Self {
            principal,
            operator: false,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_token_at_an_agent_door_loses_the_persons_powers() {
        let person = Caller::new("you@example.com".parse().unwrap());
        assert!(person.may("role_grant", Scope::Person));
        let agent = person.as_agent();
        assert_eq!(agent.principal.name(), "you@example.com[unnamed]");
        assert!(!agent.may("role_grant", Scope::Person));
        assert_eq!(agent.clone().as_agent().principal, agent.principal);
    }

    #[test]
    fn a_name_given_beside_the_token_must_be_its_own() {
        let person = Caller::new("you@example.com".parse().unwrap());
        assert!(person.is("you@example.com"));
        assert!(!person.is("you@example.com[claude]"));
        let unnamed = person.as_agent();
        assert!(unnamed.is("you@example.com") && unnamed.is("you@example.com[unnamed]"));
        let agent = Caller::new("you@example.com[claude]".parse().unwrap());
        assert!(agent.is("you@example.com[claude]"));
        assert!(!agent.is("you@example.com") && !agent.is("me@example.com[claude]"));
    }

    #[test]
    fn addresses_are_not_for_everybody() {
        let person = Caller::new("you@example.com".parse().unwrap());
        let anybody = Caller::anybody();
        for (name, told) in [
            ("me@example.com", "me"),
            ("me@example.com[claude]", "me[claude]"),
            ("guildhall", "guildhall"),
        ] {
            assert_eq!(person.shown(name), name);
            assert_eq!(anybody.shown(name), told);
        }
    }

    #[test]
    fn a_limited_token_reaches_only_its_tools() {
        let mut caller = Caller::new("you@example.com[claude]".parse().unwrap());
        caller.tools = Some(Arc::new(BTreeSet::from(["local_query".to_owned()])));
        assert!(caller.may("local_query", Scope::Any));
        assert!(!caller.may("local_comment", Scope::Any));
    }
}
