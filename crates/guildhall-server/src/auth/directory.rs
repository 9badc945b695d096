//! Who is who: principals and their tokens in the store, and the files that hold the tokens of this machine's own
//! agents.
//!
//! A token's text stands in one place, a file that only its operating-system user can read; the store has hashes.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_core::{Clock, Ids, Principal};
use guildhall_store::team::{Seen, Sightings};
use guildhall_store::{Bearer, Principals as _, Store, Tokens as _};
use guildhall_tools::Caller;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::{AuthError, Authenticator, Issued, Token, TokenLimits};

/// The owner's token, for the command line and the dashboard.
const OWNER: &str = "owner.token";
/// The folder of the agents' tokens, `<name>.token` each.
const AGENTS: &str = "agents";

/// How long a token that was good is taken as good without asking the store. Revoking one here forgets all at once; a
/// revocation on another node of the same database is heard of within this time.
const KNOWN_FOR: SignedDuration = SignedDuration::from_secs(1);

/// How often it is looked whether the token of an open stream is still good.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Tokens remembered at once; more are asked for each time.
const MOST_KNOWN: usize = 10_000;

/// The accounts of one server.
pub struct Directory {
    pub(super) store: Store,
    dir: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
    owner: Principal,
    sightings: Sightings,
    known: RwLock<Remembered>,
    /// Told each time everything is forgotten.
    forgot: watch::Sender<()>,
}

/// The tokens that were good a moment ago, by their hashes.
#[derive(Default)]
struct Remembered {
    tokens: HashMap<[u8; 32], Known>,
    /// How often everything was forgotten. What was asked before the last time may be out of date, and is not kept.
    forgotten: u64,
}

/// A token that the store called good a moment ago.
#[derive(Clone)]
struct Known {
    caller: Caller,
    expires_at: Option<Timestamp>,
    asked_at: Timestamp,
    /// When its use was last noted.
    noted_at: Timestamp,
}

impl Directory {
    /// Opens the accounts in `store`, with the token files in `dir`, which exists and is ours alone.
    ///
    /// The first time it makes the person that `owner` names, who operates the server, and their token; that stays the
    /// owner. Later starts make the token again only where its file is gone, so that deleting the file gives a new one.
    pub async fn open(
        store: Store,
        dir: &Path,
        owner: impl FnOnce() -> Principal,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Self, AuthError> {
        let users = store.users().await?;
        let owner = match users.into_iter().find(|account| account.operator) {
            Some(account) => account.principal,
            None => store.ensure_operator(clock.now(), owner()).await?.principal,
        };
        let directory = Self {
            sightings: Sightings::new(store.clone()),
            store,
            dir: dir.to_owned(),
            clock,
            ids,
            owner,
            known: RwLock::default(),
            forgot: watch::Sender::new(()),
        };
        if directory.valid_at(&directory.owner_path()).await?.is_none() {
            directory
                .issue_into(directory.owner.clone(), &directory.owner_path())
                .await?;
        }
        Ok(directory)
    }

    /// Where the owner's token is.
    pub fn owner_path(&self) -> PathBuf {
        self.dir.join(OWNER)
    }

    /// The person this server belongs to.
    pub fn owner(&self) -> &Principal {
        &self.owner
    }

    /// Where it is noted when agents were last seen.
    pub fn sightings(&self) -> &Sightings {
        &self.sightings
    }

    /// The store behind it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Forgets which tokens were good: whatever was just revoked or disabled is refused from now on.
    pub fn forget(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.tokens.clear();
        known.forgotten += 1;
        drop(known);
        self.forgot.send_replace(());
    }

    /// Whether the token of `caller` is good no more. Who came without one is always let, and while the database does not
    /// answer, a token is taken as good.
    pub async fn is_over(&self, caller: &Caller) -> bool {
        let Some(id) = &caller.token else {
            return false;
        };
        matches!(self.store.holds(id, self.clock.now()).await, Ok(false))
    }

    /// Returns once the token of `caller` [is over](Self::is_over): at once where it is revoked here, within a second where it
    /// runs out or is revoked on another node.
    pub async fn until_over(&self, caller: &Caller) {
        let mut forgot = self.forgot.subscribe();
        while !self.is_over(caller).await {
            // The sender is ours: it does not end before this does.
            let _ = tokio::time::timeout(LOOK_AGAIN, forgot.changed()).await;
        }
    }

    async fn valid_at(&self, path: &Path) -> guildhall_store::Result<Option<Caller>> {
        match std::fs::read_to_string(path) {
            Ok(text) => self.authenticate(text.trim()).await,
            Err(_) => Ok(None),
        }
    }

    /// A new token of `principal`, made by its own user, kept in the file `path`.
    async fn issue_into(&self, principal: Principal, path: &Path) -> Result<Issued, AuthError> {
        let user = Principal::user(principal.user_address()).map_err(AuthError::Name)?;
        // The hash first: a token that is shown must be known, also after a crash between the two.
        let (token, _) = self
            .issue(&user, principal.clone(), TokenLimits::default())
            .await?;
        write_private(path, format!("{}\n", token.expose()).as_bytes())?;
        Ok(Issued {
            principal,
            path: path.to_owned(),
        })
    }

    fn remembered(&self, hash: &[u8; 32], now: Timestamp) -> Option<Known> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let entry = known.tokens.get(hash)?;
        let fresh = now.duration_since(entry.asked_at).abs() < KNOWN_FOR;
        let good = entry.expires_at.is_none_or(|end| now < end);
        (fresh && good).then(|| entry.clone())
    }

    /// When the use of a token was last noted, if it is remembered, and how often everything was forgotten until now.
    fn before_asking(&self, hash: &[u8; 32]) -> (Option<Timestamp>, u64) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let noted = known.tokens.get(hash).map(|entry| entry.noted_at);
        (noted, known.forgotten)
    }

    /// Keeps what the store said of a token, unless everything was forgotten since it was asked, at `forgotten`: the
    /// token may have been revoked after it was read.
    fn remember(
        &self,
        hash: [u8; 32],
        bearer: &Bearer,
        now: Timestamp,
        noted_at: Timestamp,
        forgotten: u64,
    ) -> Caller {
        let set = |names: &Option<Vec<String>>| {
            names
                .as_ref()
                .map(|names| Arc::new(names.iter().cloned().collect()))
        };
        let caller = Caller {
            principal: bearer.token.principal.clone(),
            tools: set(&bearer.token.tools),
            repos: set(&bearer.token.repos),
            operator: bearer.operator,
            bound: bearer.token.bound.clone().map(Arc::new),
            token: Some(bearer.token.id.as_str().into()),
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.forgotten != forgotten {
            return caller;
        }
        if known.tokens.len() >= MOST_KNOWN {
            known.tokens.clear();
        }
        known.tokens.insert(
            hash,
            Known {
                caller: caller.clone(),
                expires_at: bearer.token.expires_at,
                asked_at: now,
                noted_at,
            },
        );
        caller
    }

    /// Any call an agent makes shows its team that it is there. Within [`KNOWN_FOR`] of the last time it is known anyway.
    fn saw(&self, bearer: &Bearer, now: Timestamp) {
        let token = &bearer.token;
        let seen = match &token.bound {
            Some(bound) => Seen::Bound(bound.clone()),
            None if token.principal.is_agent() => Seen::Holder(token.principal.clone()),
            None => return,
        };
        self.sightings.saw(seen, now);
    }

    async fn ask(&self, hash: [u8; 32], now: Timestamp) -> guildhall_store::Result<Option<Caller>> {
        let (noted, forgotten) = self.before_asking(&hash);
        let Some(bearer) = self.store.bearer(hash, now).await? else {
            return Ok(None);
        };
        self.saw(&bearer, now);
        let due = noted.is_none_or(|at| now.duration_since(at) >= guildhall_store::LAST_USE_WITHIN);
        if due {
            let (store, id) = (self.store.clone(), bearer.token.id.clone());
            // Noting the use must not make the call wait for a disk.
            tokio::spawn(async move {
                if let Err(error) = store.used(&id, now).await {
                    tracing::warn!("Cannot note the use of a token: {error}");
                }
            });
        }
        let noted_at = noted.filter(|_| !due).unwrap_or(now);
        Ok(Some(self.remember(hash, &bearer, now, noted_at, forgotten)))
    }
}

impl Authenticator for Directory {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, guildhall_store::Result<Option<Caller>>> {
        let now = self.clock.now();
        // Looked up by its hash: what is compared tells nothing about the token.
        let Some(hash) = Token::hash_unchecked(token) else {
            return Box::pin(std::future::ready(Ok(None)));
        };
        match self.remembered(&hash, now) {
            Some(known) => Box::pin(std::future::ready(Ok(Some(known.caller)))),
            // What is mistyped is not worth a look into the database.
            None if !Token::is_well_typed(token) => Box::pin(std::future::ready(Ok(None))),
            None => Box::pin(self.ask(hash, now)),
        }
    }

    fn issue_agent<'a>(
        &'a self,
        user: &'a Principal,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Issued, AuthError>> {
        Box::pin(async move {
            let principal = user.agent(name)?;
            // The files are those of this machine's owner; other people's agents get their tokens another way.
            if *user != self.owner {
                return Err(AuthError::NotHere(user.clone()));
            }
            let path = self.dir.join(AGENTS).join(format!("{name}.token"));
            if self
                .valid_at(&path)
                .await?
                .is_some_and(|caller| caller.principal == principal)
            {
                return Ok(Issued { principal, path });
            }
            match self.store.account(principal.clone()).await? {
                Some(_) => {}
                None => {
                    match self.add_agent(user, principal.clone()).await {
                        // Another command made it in the same moment.
                        Ok(_) | Err(guildhall_store::Error::Taken { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            self.issue_into(principal, &path).await
        })
    }
}

/// Replaces `path` by `content` in one step, readable by its owner alone, on the disk before this returns.
fn write_private(path: &Path, content: &[u8]) -> Result<(), AuthError> {
    let io = |action| {
        let path = path.to_owned();
        move |source| AuthError::Io {
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
    use std::sync::atomic::{AtomicI64, Ordering};

    use guildhall_core::SystemIds;
    use guildhall_store::Act;

    use super::*;

    /// A clock that stands until it is moved.
    struct Hand(AtomicI64);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
        }
    }

    struct Place {
        dir: tempfile::TempDir,
        clock: Arc<Hand>,
    }

    impl Place {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().unwrap(),
                clock: Arc::new(Hand(AtomicI64::new(1_800_000_000))),
            }
        }

        async fn open(&self, owner: &str) -> Directory {
            let store = Store::open_sqlite(&self.dir.path().join("guildhall.db"))
                .await
                .unwrap();
            let owner = || owner.parse().unwrap();
            Directory::open(
                store,
                self.dir.path(),
                owner,
                self.clock.clone(),
                Arc::new(SystemIds),
            )
            .await
            .unwrap()
        }
    }

    fn token_in(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    #[tokio::test]
    async fn the_owners_token_is_made_once_and_only_its_owner_can_read_it() {
        let place = Place::new();
        let directory = place.open("you@example.com").await;
        let token = token_in(&directory.owner_path());
        let caller = directory.authenticate(&token).await.unwrap().unwrap();
        assert_eq!(caller.principal.name(), "you@example.com");
        assert!(caller.operator);
        assert_eq!(
            std::fs::metadata(directory.owner_path())
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600
        );
        directory.store().close().await;
        let again = place.open("other@example.com").await;
        assert_eq!(again.owner().name(), "you@example.com");
        assert_eq!(token_in(&again.owner_path()), token);
        assert!(again.authenticate(&token).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn no_file_but_its_own_holds_the_token() {
        let place = Place::new();
        let directory = place.open("you@example.com").await;
        let token = token_in(&directory.owner_path());
        directory.store().close().await;
        for entry in std::fs::read_dir(place.dir.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && path != directory.owner_path() {
                let content = std::fs::read(&path).unwrap();
                let random = &token.as_bytes()[5..69];
                assert!(
                    !content.windows(random.len()).any(|window| window == random),
                    "{}",
                    path.display()
                );
            }
        }
    }

    #[tokio::test]
    async fn an_agent_keeps_its_token_until_its_file_is_gone() {
        let place = Place::new();
        let directory = place.open("you@example.com").await;
        let owner = directory.owner().clone();
        let first = directory.issue_agent(&owner, "claude").await.unwrap();
        let token = token_in(&first.path);
        let caller = directory.authenticate(&token).await.unwrap().unwrap();
        assert_eq!(caller.principal.name(), "you@example.com[claude]");
        assert!(!caller.operator);
        directory.issue_agent(&owner, "claude").await.unwrap();
        assert_eq!(token_in(&first.path), token);
        std::fs::remove_file(&first.path).unwrap();
        directory.issue_agent(&owner, "claude").await.unwrap();
        assert_ne!(token_in(&first.path), token);
        assert!(directory.issue_agent(&owner, "../owner").await.is_err());
        let stranger = "me@example.com".parse().unwrap();
        assert!(matches!(
            directory.issue_agent(&stranger, "claude").await,
            Err(AuthError::NotHere(_))
        ));
    }

    #[tokio::test]
    async fn a_revoked_token_is_refused_at_once_here_and_in_a_second_elsewhere() {
        let place = Place::new();
        let directory = place.open("you@example.com").await;
        let owner = directory.owner().clone();
        let issued = directory.issue_agent(&owner, "claude").await.unwrap();
        let token = token_in(&issued.path);
        assert!(directory.authenticate(&token).await.unwrap().is_some());
        let id = directory.store().tokens_of(issued.principal).await.unwrap()[0]
            .id
            .clone();
        directory
            .store()
            .revoke(Act::new(owner, place.clock.now()), &id)
            .await
            .unwrap();
        assert!(
            directory.authenticate(&token).await.unwrap().is_some(),
            "remembered, as on another node"
        );
        place.clock.0.fetch_add(1, Ordering::SeqCst);
        assert!(directory.authenticate(&token).await.unwrap().is_none());

        std::fs::remove_file(&issued.path).unwrap();
        let owner = directory.owner().clone();
        let issued = directory.issue_agent(&owner, "claude").await.unwrap();
        let token = token_in(&issued.path);
        assert!(directory.authenticate(&token).await.unwrap().is_some());
        directory
            .store()
            .disable(Act::new(owner, place.clock.now()), issued.principal)
            .await
            .unwrap();
        directory.forget();
        assert!(directory.authenticate(&token).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_was_read_before_a_revocation_is_not_remembered_after_it() {
        let place = Place::new();
        let directory = place.open("you@example.com").await;
        let token = token_in(&directory.owner_path());
        let hash = Token::hash_unchecked(&token).unwrap();
        let now = place.clock.now();

        // A look-up begins, the token is revoked and forgotten, and only then does the look-up end.
        let forgotten = directory.before_asking(&hash).1;
        let bearer = directory.store().bearer(hash, now).await.unwrap().unwrap();
        let owner = directory.owner().clone();
        directory.revoke(&owner, &bearer.token.id).await.unwrap();
        directory.remember(hash, &bearer, now, now, forgotten);
        assert!(directory.authenticate(&token).await.unwrap().is_none());
    }
}
