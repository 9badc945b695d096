//! What every route shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use guildhall_core::{Clock, Ids};
use guildhall_tools::{CursorKey, Pipeline, PipelineParts, RepoResolver, ToolError};
use jiff::SignedDuration;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::auth::{Authenticator, Directory, Throttle};
use crate::gate::Hosts;
use crate::git::{CloneLimits, Clones};
use crate::host::RepoHost;
use crate::metrics::Metrics;
use crate::mounted::MountSource;

/// What the server says of itself to those who may ask.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// The program's version.
    pub version: &'static str,
    /// The workspace's directory.
    pub workspace: String,
    /// The data directory.
    pub data_dir: String,
    /// The process.
    pub pid: u32,
}

const TOO_MANY_SIGN_INS: &str = "Too many tries to sign in from this address";

/// The parts an [`App`] is made of.
pub struct AppParts {
    /// What is mounted.
    pub mounts: Arc<dyn MountSource>,
    /// Who a token belongs to.
    pub authenticator: Arc<dyn Authenticator>,
    /// The accounts behind it: people, their agents and tokens.
    pub directory: Arc<Directory>,
    /// Which `Host` and `Origin` headers are ours.
    pub hosts: Hosts,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Random ids.
    pub ids: Arc<dyn Ids>,
    /// What cursors are signed with.
    pub cursor_key: CursorKey,
    /// Which repositories there are; `None` where none are hosted.
    pub repos: Option<Arc<dyn RepoHost>>,
    /// The counters that `/metrics` shows.
    pub metrics: Metrics,
    /// What `/api/status` says.
    pub about: About,
    /// Largest request body, in bytes.
    pub max_request_bytes: usize,
    /// How many clones and fetches run at once.
    pub clones: CloneLimits,
    /// Whether older MCP clients get sessions.
    pub mcp_sessions: bool,
    /// Cancelled when the server is to stop.
    pub shutdown: CancellationToken,
}

/// The running server.
pub struct App {
    pub(crate) parts: AppParts,
    pub(crate) pipeline: Pipeline,
    pub(crate) activity: Arc<Activity>,
    /// How often one address may begin a login or send the sign-in page's form.
    pub(crate) sign_ins: Throttle,
    /// How often one address may ask what has become of its logins.
    pub(crate) login_polls: Throttle,
    /// How often one address may call tools without a token.
    pub(crate) public_calls: Throttle,
    /// The turns of clones and fetches.
    pub(crate) clones: Clones,
}

impl App {
    /// Puts the parts together.
    pub fn new(parts: AppParts) -> Self {
        let pipeline = Pipeline::new(PipelineParts {
            ids: Arc::clone(&parts.ids),
            clock: Arc::clone(&parts.clock),
            cursor_key: parts.cursor_key.clone(),
            repos: parts
                .repos
                .clone()
                .map(|host| host as Arc<dyn RepoResolver>),
        });
        let activity = Arc::new(Activity::new(parts.clock.now().as_millisecond()));
        Self {
            clones: Clones::new(parts.clones),
            parts,
            pipeline,
            activity,
            sign_ins: Throttle::new(20, SignedDuration::from_secs(6), TOO_MANY_SIGN_INS),
            login_polls: Throttle::new(60, SignedDuration::from_millis(200), TOO_MANY_SIGN_INS),
            public_calls: Throttle::new(
                10,
                SignedDuration::from_millis(100),
                "More than ten calls a second without a token from this address",
            ),
        }
    }

    /// The hosted repositories.
    pub(crate) fn repos(&self) -> Result<&Arc<dyn RepoHost>, ToolError> {
        let none = || ToolError::not_found("This server hosts no repositories");
        self.parts.repos.as_ref().ok_or_else(none)
    }

    /// When somebody last asked for something.
    pub fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }
}

/// When the server was last used, for `--idle-exit`.
pub struct Activity {
    running: AtomicU64,
    last_millis: AtomicI64,
}

impl Activity {
    fn new(now_millis: i64) -> Self {
        Self {
            running: AtomicU64::new(0),
            last_millis: AtomicI64::new(now_millis),
        }
    }

    /// Counts one request until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>, clock: &Arc<dyn Clock>) -> Busy {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.last_millis
            .store(clock.now().as_millisecond(), Ordering::Relaxed);
        Busy {
            activity: Arc::clone(self),
            clock: Arc::clone(clock),
        }
    }

    /// How long nothing has been asked; zero while a request runs.
    pub fn idle(&self, clock: &dyn Clock) -> Duration {
        if self.running.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        let idle = clock.now().as_millisecond() - self.last_millis.load(Ordering::Relaxed);
        Duration::from_millis(u64::try_from(idle).unwrap_or(0))
    }
}

/// A request that is running.
pub(crate) struct Busy {
    activity: Arc<Activity>,
    clock: Arc<dyn Clock>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.activity
            .last_millis
            .store(self.clock.now().as_millisecond(), Ordering::Relaxed);
        self.activity.running.fetch_sub(1, Ordering::Relaxed);
    }
}
