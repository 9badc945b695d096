//! The server's own routes, gate and connection loop, in the process of the test.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use guildhall_core::{Clock, Ids as _, SystemClock, SystemIds};
use guildhall_server::auth::Directory;
use guildhall_server::{
    About, App, AppParts, Authenticator as _, CloneLimits, Hosts, Limits, Metrics, MountSource,
    Mounted, mcp,
};
use guildhall_store::Store;
use guildhall_tools::{Catalog, CursorKey};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The person that a test's server belongs to.
const OWNER: &str = "you@example.com";

/// A catalog that a test can replace while the server runs.
pub struct Mounts {
    current: ArcSwap<Mounted>,
    changes: watch::Sender<u64>,
}

impl Mounts {
    /// Serves `catalog`.
    pub fn new(catalog: Catalog) -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwap::from_pointee(Mounted::new(catalog, "memory")),
            changes: watch::Sender::new(0),
        })
    }

    /// Whether a tool of this name is mounted.
    pub fn has(&self, tool: &str) -> bool {
        self.current.load().catalog().tool(tool).is_some()
    }

    /// How many listen for changes.
    pub fn listeners(&self) -> usize {
        self.changes.receiver_count()
    }

    /// Serves `catalog` from now on, and says so to who listens.
    pub fn mount(&self, catalog: Catalog) {
        self.current
            .store(Arc::new(Mounted::new(catalog, "memory")));
        self.changes.send_modify(|count| *count += 1);
    }
}

impl MountSource for Mounts {
    fn current(&self) -> Arc<Mounted> {
        self.current.load_full()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

/// A clock that a test sets.
pub struct SetClock(Mutex<Timestamp>);

impl SetClock {
    /// The present, from which it does not go on by itself.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(SystemClock.now())))
    }

    /// Lets `time` pass.
    ///
    /// # Panics
    ///
    /// At the end of all time.
    pub fn pass(&self, time: Duration) {
        *self.0.lock().expect("no holder panics") += time;
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("no holder panics")
    }
}

/// How a [`TestServer`] is set up.
pub struct Setup {
    /// What it serves.
    pub mounts: Arc<Mounts>,
    /// Whether older MCP clients get sessions.
    pub sessions: bool,
    /// The port on loopback; 0 for a free one.
    pub port: u16,
    /// Largest request body, in bytes.
    pub max_request_bytes: usize,
    /// What one client may take of it.
    pub limits: Limits,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// `server.allowed_origins`
    pub allowed_origins: Vec<String>,
    /// The address of the PostgreSQL database it uses; a file of its own where there is none.
    pub database_url: Option<String>,
}

impl Setup {
    /// `mounts` without sessions on a free port, bodies of up to 1 MiB, the product's limits, the system's clock.
    pub fn of(mounts: Arc<Mounts>) -> Self {
        Self {
            mounts,
            sessions: false,
            port: 0,
            max_request_bytes: 1 << 20,
            limits: Limits::default(),
            clock: Arc::new(SystemClock),
            allowed_origins: Vec::new(),
            database_url: None,
        }
    }
}

/// A running server. Stopped when dropped.
pub struct TestServer {
    address: SocketAddr,
    token: String,
    app: Arc<App>,
    tokens: Arc<Directory>,
    shutdown: CancellationToken,
    serving: Option<JoinHandle<()>>,
    // Holds the token files.
    _data: TempDir,
}

impl TestServer {
    /// Starts the product's routes.
    ///
    /// # Panics
    ///
    /// When the port is taken or there is no room for the token files.
    pub async fn start(setup: Setup) -> Self {
        Self::start_with(setup, |app, _| {
            guildhall_server::router(Arc::clone(app), &mcp::endpoint(app))
        })
        .await
    }

    /// Starts what `routes` makes of the application and the owner's token.
    ///
    /// # Panics
    ///
    /// When the port is taken or there is no room for the token files.
    pub async fn start_with(setup: Setup, routes: impl FnOnce(&Arc<App>, &str) -> Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, setup.port))
            .await
            .expect("a port to listen on");
        let address = listener.local_addr().expect("the listener has an address");

        let data = tempfile::tempdir().expect("a scratch folder");
        let owner = || OWNER.parse().expect("a person's name");
        let (clock, ids) = (setup.clock, Arc::new(SystemIds));
        let store = match &setup.database_url {
            Some(url) => Store::open_postgres(url, 4).await,
            None => Store::open_sqlite(&data.path().join("guildhall.db")).await,
        };
        let store = store.expect("a database");
        let tokens = Directory::open(store, data.path(), owner, clock.clone(), ids.clone())
            .await
            .map(Arc::new)
            .expect("accounts");
        let token = std::fs::read_to_string(tokens.owner_path()).expect("the owner's token");
        let token = token.trim().to_owned();

        let shutdown = CancellationToken::new();
        let mut key = [0; 32];
        ids.fill(&mut key);
        let app = Arc::new(App::new(AppParts {
            mounts: setup.mounts,
            authenticator: Arc::clone(&tokens) as _,
            directory: Arc::clone(&tokens),
            hosts: Hosts::new("127.0.0.1", address.port(), [], setup.allowed_origins),
            clock,
            ids,
            cursor_key: CursorKey::new(key),
            repos: None,
            metrics: Metrics::install(),
            about: About {
                version: "0.0.0-test",
                workspace: data.path().display().to_string(),
                data_dir: data.path().display().to_string(),
                pid: std::process::id(),
            },
            max_request_bytes: setup.max_request_bytes,
            clones: CloneLimits::default(),
            mcp_sessions: setup.sessions,
            shutdown: shutdown.clone(),
        }));
        let serving = tokio::spawn(guildhall_server::serve(
            listener,
            routes(&app, &token),
            setup.limits,
            shutdown.clone(),
        ));
        Self {
            address,
            token,
            app,
            tokens,
            shutdown,
            serving: Some(serving),
            _data: data,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://<address>/mcp`
    pub fn mcp_url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The owner's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A token of the owner's agent `name`.
    ///
    /// # Panics
    ///
    /// When `name` is no agent's name.
    pub async fn agent_token(&self, name: &str) -> String {
        let issued = self
            .tokens
            .issue_agent(self.tokens.owner(), name)
            .await
            .expect("an agent's token");
        let token = std::fs::read_to_string(issued.path).expect("the agent's token");
        token.trim().to_owned()
    }

    /// Its accounts.
    pub fn accounts(&self) -> &Directory {
        &self.tokens
    }

    /// The application behind the routes.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Stops it, and waits until running calls are done or their grace is over.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        if let Some(serving) = self.serving.take() {
            serving.await.expect("the connection loop does not panic");
        }
    }

    /// Serves until the process ends.
    pub async fn forever(mut self) {
        if let Some(serving) = self.serving.take() {
            serving.await.expect("the connection loop does not panic");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
