//! Tokens kept in the data directory: hashes in `tokens.json`, each token itself in a file of its own.
//!
//! Every file is 0600 in a directory that is 0700. Written with the data directory's lock held, so there is one writer.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use guildhall_core::clock::rfc3339_millis;
use guildhall_core::{Clock, Ids, Principal};
use guildhall_tools::Caller;
use serde::{Deserialize, Serialize};

use super::Authenticator;
use super::token::{Token, hex};

/// The owner's token, for the command line and the dashboard.
const OWNER: &str = "owner.token";
/// The folder of the agents' tokens, `<name>.token` each.
const AGENTS: &str = "agents";
const TOKENS: &str = "tokens.json";

/// What went wrong with the token files.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// A file could not be read or written.
    #[error("Cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is there and is not ours.
    #[error("`{}` is not a list of tokens", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// The agent's name is not one.
    #[error(transparent)]
    Name(#[from] guildhall_core::principal::PrincipalError),
}

/// A token that was just made.
#[derive(Clone, Debug)]
pub struct Issued {
    /// Whose it is.
    pub principal: Principal,
    /// The file that holds it.
    pub path: PathBuf,
}

/// One kept token.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    principal: String,
    /// Hex of the SHA-256.
    hash: String,
    created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Document {
    /// The person this server belongs to, since its first start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    tokens: Vec<Kept>,
}

/// The tokens of one data directory.
pub struct TokenFile {
    dir: PathBuf,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    owner: Principal,
    callers: ArcSwap<HashMap<[u8; 32], Caller>>,
    /// Held while the files are written.
    document: Mutex<Document>,
}

impl TokenFile {
    /// Opens the tokens in `dir`, which exists and is ours alone. The first time it makes the token of the person that
    /// `owner` names; that stays the owner. Later starts make the token again only where its file is gone, so that
    /// deleting the file gives a new one.
    pub fn open(
        dir: &Path,
        owner: impl FnOnce() -> Principal,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Self, TokenFileError> {
        let path = dir.join(TOKENS);
        let mut document: Document = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|source| TokenFileError::Content { path, source })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Document::default(),
            Err(source) => {
                return Err(TokenFileError::Io {
                    action: "read",
                    path,
                    source,
                });
            }
        };
        let owner = match document
            .owner
            .as_deref()
            .and_then(|name| Principal::user(name).ok())
        {
            Some(owner) => owner,
            None => owner(),
        };
        document.owner = Some(owner.name().to_owned());
        let file = Self {
            dir: dir.to_owned(),
            clock,
            ids,
            owner,
            callers: ArcSwap::from_pointee(index(&document)),
            document: Mutex::new(document),
        };
        if file.valid_at(&file.owner_path()).is_none() {
            file.issue(file.owner.clone(), &file.owner_path())?;
        }
        Ok(file)
    }

    /// Where the owner's token is.
    pub fn owner_path(&self) -> PathBuf {
        self.dir.join(OWNER)
    }

    /// The person this server belongs to.
    pub fn owner(&self) -> &Principal {
        &self.owner
    }

    /// Where the token of the agent `name` is kept.
    pub fn agent_path(dir: &Path, name: &str) -> PathBuf {
        dir.join(AGENTS).join(format!("{name}.token"))
    }

    fn valid_at(&self, path: &Path) -> Option<Caller> {
        let text = std::fs::read_to_string(path).ok()?;
        self.authenticate(text.trim())
    }

    fn issue(&self, principal: Principal, path: &Path) -> Result<Issued, TokenFileError> {
        let token = Token::new(&*self.ids);
        let mut document = self.document.lock().unwrap_or_else(PoisonError::into_inner);
        document.tokens.push(Kept {
            principal: principal.name().to_owned(),
            hash: hex(&token.hash()),
            created_at: rfc3339_millis(self.clock.now()),
            tools: None,
        });
        let text = serde_json::to_vec_pretty(&*document).expect("strings make JSON");
        // The hash first: a token that is shown must be known, also after a crash between the two.
        write_private(&self.dir.join(TOKENS), &text)?;
        write_private(path, format!("{}\n", token.expose()).as_bytes())?;
        self.callers.store(Arc::new(index(&document)));
        Ok(Issued {
            principal,
            path: path.to_owned(),
        })
    }
}

impl Authenticator for TokenFile {
    fn authenticate(&self, token: &str) -> Option<Caller> {
        // Looked up by its hash: what the map compares tells nothing about the token.
        self.callers.load().get(&Token::hash_of(token)?).cloned()
    }

    fn issue_agent(&self, owner: &Principal, name: &str) -> Result<Issued, TokenFileError> {
        let principal = owner.agent(name)?;
        let path = Self::agent_path(&self.dir, name);
        match self.valid_at(&path) {
            Some(caller) if caller.principal == principal => Ok(Issued { principal, path }),
            _ => self.issue(principal, &path),
        }
    }
}

fn index(document: &Document) -> HashMap<[u8; 32], Caller> {
    document
        .tokens
        .iter()
        .filter_map(|kept| {
            let principal = kept.principal.parse().ok()?;
            let tools = kept
                .tools
                .as_ref()
                .map(|tools| Arc::new(tools.iter().cloned().collect()));
            Some((unhex(&kept.hash)?, Caller { principal, tools }))
        })
        .collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Replaces `path` by `content` in one step, readable by its owner alone, on the disk before this returns.
fn write_private(path: &Path, content: &[u8]) -> Result<(), TokenFileError> {
    let io = |action| {
        let path = path.to_owned();
        move |source| TokenFileError::Io {
            action,
            path,
            source,
        }
    };
    let dir = path.parent().expect("token files stand in a folder");
    std::fs::create_dir_all(dir).map_err(io("make the folder of"))?;
    // Temporary files are 0600 from the start.
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(io("write"))?;
    file.write_all(content)
        .and_then(|()| file.as_file().sync_all())
        .map_err(io("write"))?;
    file.persist(path)
        .map_err(|error| error.error)
        .map_err(io("replace"))?;
    std::fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(io("sync the folder of"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use guildhall_core::{SystemClock, SystemIds};

    use super::*;

    fn open(dir: &Path) -> TokenFile {
        let owner = || "you@example.com".parse().unwrap();
        TokenFile::open(dir, owner, Arc::new(SystemClock), Arc::new(SystemIds)).unwrap()
    }

    fn token_in(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    #[test]
    fn the_owners_token_is_made_once_and_only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = open(dir.path());
        let token = token_in(&file.owner_path());
        assert_eq!(
            file.authenticate(&token).unwrap().principal.name(),
            "you@example.com"
        );
        assert_eq!(
            std::fs::metadata(file.owner_path())
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600
        );
        drop(file);
        let other = || "other@example.com".parse().unwrap();
        let again = TokenFile::open(
            dir.path(),
            other,
            Arc::new(SystemClock),
            Arc::new(SystemIds),
        )
        .unwrap();
        assert_eq!(again.owner().name(), "you@example.com");
        assert_eq!(token_in(&again.owner_path()), token);
        assert!(again.authenticate(&token).is_some());
    }

    #[test]
    fn no_file_but_its_own_holds_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let token = token_in(&open(dir.path()).owner_path());
        let kept = std::fs::read_to_string(dir.path().join(TOKENS)).unwrap();
        assert!(!kept.contains(&token[5..20]), "{kept}");
    }

    #[test]
    fn an_agent_keeps_its_token_until_its_file_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let file = open(dir.path());
        let first = file.issue_agent(file.owner(), "claude").unwrap();
        let token = token_in(&first.path);
        assert_eq!(
            file.authenticate(&token).unwrap().principal.name(),
            "you@example.com[claude]"
        );
        file.issue_agent(file.owner(), "claude").unwrap();
        assert_eq!(token_in(&first.path), token);
        std::fs::remove_file(&first.path).unwrap();
        file.issue_agent(file.owner(), "claude").unwrap();
        assert_ne!(token_in(&first.path), token);
        assert!(file.issue_agent(file.owner(), "../owner").is_err());
    }

    #[test]
    fn a_damaged_list_is_an_error_and_not_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(TOKENS), "{").unwrap();
        let owner = || "you@example.com".parse().unwrap();
        let opened = TokenFile::open(
            dir.path(),
            owner,
            Arc::new(SystemClock),
            Arc::new(SystemIds),
        );
        assert!(matches!(opened, Err(TokenFileError::Content { .. })));
    }
}
