//! Who is calling: a person, or an agent of a person.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A user `you@example.com`, or an agent of theirs `you@example.com[claude]`.
///
/// Always taken from the token a call came with, never from an argument of it. Names match
/// `^[^\s\[\]@]+@[^\s\[\]@]+(\[[a-z0-9][a-z0-9-]{0,30}\])?$`.
#[derive(
    Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Principal {
    /// Shared, for every step of a call has one of its own.
    name: Arc<str>,
    /// Length of the user's part; the name is longer for an agent.
    user_len: usize,
}

/// What is wrong with a principal's name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PrincipalError {
    /// The whole is not of the form.
    #[error("`{0}` is not a name: expected `you@example.com` or `you@example.com[agent]`")]
    Form(String),
    /// The agent's part is not of the form.
    #[error(
        "`{0}` is not an agent's name: expected 1 to 31 characters of a-z, 0-9 and `-`, starting with a letter or digit"
    )]
    Agent(String),
}

impl Principal {
    /// The user `address`.
    pub fn user(address: &str) -> Result<Self, PrincipalError> {
        let principal: Self = address.parse()?;
        if principal.is_agent() {
            Err(PrincipalError::Form(address.to_owned()))
        } else {
            Ok(principal)
        }
    }

    /// The agent `agent` of this principal's user.
    pub fn agent(&self, agent: &str) -> Result<Self, PrincipalError> {
        if !is_agent_name(agent) {
            return Err(PrincipalError::Agent(agent.to_owned()));
        }
        let user = self.user_address();
        Ok(Self {
            name: format!("{user}[{agent}]").into(),
            user_len: user.len(),
        })
    }

    /// The whole name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of the user, or of the user the agent belongs to.
    pub fn user_address(&self) -> &str {
        &self.name[..self.user_len]
    }

    /// The agent's own name, or `None` for a person.
    pub fn agent_name(&self) -> Option<&str> {
        self.is_agent()
            .then(|| &self.name[self.user_len + 1..self.name.len() - 1])
    }

    /// Whether this is an agent. An agent never holds what only a person may do.
    pub fn is_agent(&self) -> bool {
        self.name.len() > self.user_len
    }
}

/// Whether `name` can stand between the brackets of an agent's name.
pub fn is_agent_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    (1..=31).contains(&bytes.len())
        && bytes[0] != b'-'
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

/// Makes an agent's name out of what a client calls itself (`Claude Code` becomes `claude-code`), or `None` where
/// nothing of it can stand in a name.
pub fn agent_name_from(client: &str) -> Option<String> {
    let mut name = String::with_capacity(client.len());
    for byte in client.bytes() {
        match byte {
            b'A'..=b'Z' => name.push(char::from(byte.to_ascii_lowercase())),
            b'a'..=b'z' | b'0'..=b'9' => name.push(char::from(byte)),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(31);
    let name = name.trim_end_matches('-');
    is_agent_name(name).then(|| name.to_owned())
}

impl FromStr for Principal {
    type Err = PrincipalError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let form = || PrincipalError::Form(name.to_owned());
        let (user, agent) = match name.split_once('[') {
            Some((user, rest)) => (user, Some(rest.strip_suffix(']').ok_or_else(form)?)),
            None => (name, None),
        };
        let (local, domain) = user.split_once('@').ok_or_else(form)?;
        let part = |text: &str| {
            !text.is_empty()
                && !text
                    .contains(|c: char| c.is_whitespace() || c.is_control() || "[]@".contains(c))
        };
        if !part(local) || !part(domain) {
            return Err(form());
        }
        match agent {
            Some(agent) if !is_agent_name(agent) => Err(PrincipalError::Agent(agent.to_owned())),
            _ => Ok(Self {
                name: name.into(),
                user_len: user.len(),
            }),
        }
    }
}

impl TryFrom<String> for Principal {
    type Error = PrincipalError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.name.as_ref().to_owned()
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_kinds_are_read() {
        let person: Principal = "you@example.com".parse().unwrap();
        assert!(!person.is_agent());
        assert_eq!(person.agent_name(), None);
        let agent = person.agent("claude").unwrap();
        assert_eq!(agent.name(), "you@example.com[claude]");
        assert_eq!(agent.user_address(), "you@example.com");
        assert_eq!(agent.agent_name(), Some("claude"));
        assert_eq!("you@example.com[claude]".parse(), Ok(agent));
    }

    #[test]
    fn a_name_is_written_as_text_and_checked_when_read() {
        let agent: Principal = "you@example.com[claude]".parse().unwrap();
        let text = serde_json::to_string(&agent).unwrap();
        assert_eq!(text, r#""you@example.com[claude]""#);
        assert_eq!(serde_json::from_str::<Principal>(&text).unwrap(), agent);
        assert!(serde_json::from_str::<Principal>(r#""you""#).is_err());
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "you",
            "@",
            "you@",
            "@example.com",
            "a b@c",
            "a@b@c",
            "you@example.com[",
            "you@example.com[]",
            "you@example.com[A]",
            "you@example.com[-a]",
            "you@example.com[a]x",
            "[a]",
            "a@b\n",
            "a\u{1b}@b",
            "you@example.com[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]",
        ] {
            assert!(name.parse::<Principal>().is_err(), "{name:?}");
        }
        assert!(Principal::user("you@example.com[claude]").is_err());
    }

    #[test]
    fn clients_names_become_agents_names() {
        for (client, agent) in [
            ("claude-code", Some("claude-code")),
            ("Claude Code", Some("claude-code")),
            ("  Visual Studio  Code ", Some("visual-studio-code")),
            ("mcp/inspector 2", Some("mcp-inspector-2")),
            ("日本", None),
            ("", None),
        ] {
            assert_eq!(agent_name_from(client).as_deref(), agent, "{client:?}");
        }
    }
}
