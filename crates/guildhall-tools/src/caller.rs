//! Who calls, and what their token lets them.

use std::collections::BTreeSet;
use std::sync::Arc;

use guildhall_core::Principal;

/// What a tool asks of its caller beyond a valid token.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Scope {
    /// Any authenticated caller.
    #[default]
    Any,
    /// A person: an agent never, whoever it belongs to.
    Person,
}

/// The principal behind a call together with the limits of the token it came with.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who it is.
    pub principal: Principal,
    /// The only tools this token may use, or `None` for all that the principal may.
    pub tools: Option<Arc<BTreeSet<String>>>,
}

impl Caller {
    /// A caller whose token has no limits.
    pub fn new(principal: Principal) -> Self {
        Self {
            principal,
            tools: None,
        }
    }

    /// Whether this caller may ever use a tool called `name` that asks for `scope`. What is not allowed is not listed
    /// and, called all the same, refused as not allowed.
    pub fn may(&self, name: &str, scope: Scope) -> bool {
        let person = match scope {
            Scope::Any => true,
            Scope::Person => !self.principal.is_agent(),
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
            .agent("unnamed")
            .expect("`unnamed` is an agent's name");
        Self { principal, ..self }
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
    fn a_limited_token_reaches_only_its_tools() {
        let mut caller = Caller::new("you@example.com[claude]".parse().unwrap());
        caller.tools = Some(Arc::new(BTreeSet::from(["local_query".to_owned()])));
        assert!(caller.may("local_query", Scope::Any));
        assert!(!caller.may("local_comment", Scope::Any));
    }
}
