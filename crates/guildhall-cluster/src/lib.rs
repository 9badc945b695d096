//! A throwaway PostgreSQL server, for tests and benches.
//!
//! [`PgCluster::shared`] gives the one server of this process: the server that `GUILDHALL_TEST_POSTGRES` names, else one
//! it starts itself. [`PgCluster::database`] then makes a database for one test.
//!
//! A started server lives in a temporary folder, listens on a Unix socket in it and nowhere else, and writes to the disk
//! as a real one does. A keeper process ends it and removes the folder once the process that started it is gone, however
//! that one went: it waits for the end of a pipe that only that process holds open.

mod account;
mod programs;
mod server;

use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

pub use account::runs_as_root;
pub use programs::Programs;
use server::Server;

/// Names a running server for the tests to use: the folder of its Unix socket. Set by `cargo xtask test`, so that the
/// whole run shares one server.
pub const ENV: &str = "GUILDHALL_TEST_POSTGRES";

/// What went wrong with the throwaway server.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The programs are not on this machine.
    #[error("PostgreSQL is not installed: no folder with `initdb` and `postgres`")]
    NotInstalled,
    /// Running as root, and no other account is there to run the server.
    #[error("PostgreSQL does not run as root, and there is no account `postgres` or `nobody`")]
    NoAccount,
    /// A file or program could not be used.
    #[error("Cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} failed: {output}")]
    Failed {
        /// Which.
        program: &'static str,
        /// What it wrote.
        output: String,
    },
}

/// A running server that only this machine can reach.
pub struct PgCluster {
    socket: String,
    programs: Programs,
    /// `None` where somebody else started it.
    server: Option<Server>,
}

impl PgCluster {
    /// Starts a server of its own. It ends when the value is dropped or the process ends.
    ///
    /// # Errors
    ///
    /// [`ClusterError::NotInstalled`] where the machine has no PostgreSQL; the others where it does not start.
    pub fn start() -> Result<Self, ClusterError> {
        let programs = Programs::find().ok_or(ClusterError::NotInstalled)?;
        let server = Server::start(&programs)?;
        Ok(Self {
            socket: server.socket(),
            programs,
            server: Some(server),
        })
    }

    /// The one server of this process, started at the first call; `None`, said on standard error, where PostgreSQL is not
    /// installed.
    ///
    /// # Panics
    ///
    /// Where PostgreSQL is installed and does not start.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PgCluster>> = OnceLock::new();
        SHARED
            .get_or_init(|| match std::env::var(ENV) {
                Ok(socket) => Programs::find().map(|programs| Self {
                    socket,
                    programs,
                    server: None,
                }),
                Err(_) => match Self::start() {
                    Ok(cluster) => Some(cluster),
                    Err(ClusterError::NotInstalled) => {
                        left_out();
                        None
                    }
                    Err(error) => panic!("PostgreSQL does not start: {error:?}"),
                },
            })
            .as_ref()
    }

    /// The folder of the server's socket: the value of [`ENV`] that lets another process use this server.
    pub fn socket(&self) -> &str {
        &self.socket
    }

    /// A new, empty database.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Failed`] where the server does not make it.
    pub fn database(&self) -> Result<Database<'_>, ClusterError> {
        self.copy_of("template0")
    }

    /// A new database with the content of the database `template`, which nobody may be connected to.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Failed`] where the server does not make it.
    pub fn copy_of(&self, template: &str) -> Result<Database<'_>, ClusterError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{next}", std::process::id());
        self.call("createdb", &["--template", template, &name])?;
        Ok(Database {
            cluster: self,
            name,
        })
    }

    fn call(&self, program: &'static str, args: &[&str]) -> Result<(), ClusterError> {
        let output = Command::new(self.programs.path(program))
            .args(["--host", &self.socket, "--username", server::USER])
            .args(args)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| ClusterError::Io {
                action: "start a program of PostgreSQL",
                source,
            })?;
        if output.status.success() {
            return Ok(());
        }
        Err(ClusterError::Failed {
            program,
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Whether this value started the server and ends it.
    pub fn is_own(&self) -> bool {
        self.server.is_some()
    }
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests must see it")]
fn left_out() {
    eprintln!("left out: tests of PostgreSQL, which is not installed");
}

/// A database of a throwaway server. It goes with its server: dropping one makes PostgreSQL write everything out.
pub struct Database<'a> {
    cluster: &'a PgCluster,
    name: String,
}

impl Database<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address that a client takes.
    pub fn url(&self) -> String {
        let socket = self.cluster.socket.replace('/', "%2F");
        format!("postgres://{}@{socket}/{}", server::USER, self.name)
    }
}

#[cfg(test)]
mod tests;
