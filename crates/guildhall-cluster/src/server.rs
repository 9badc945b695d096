//! Making, starting and keeping one server.

use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::account::Account;
use crate::{ClusterError, Programs};

/// The superuser of a throwaway server, and the only user.
pub(crate) const USER: &str = "guildhall";

/// How long a server may take to accept connections: it has nothing to recover, so a busy machine is all that delays it.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// Starts the server and, when its standard input ends, ends the server at once and removes the folder.
const KEEPER: &str = r#"
"$1" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=200 -c log_min_messages=error >"$2/log" 2>&1 &
server=$!
read -r _
kill -QUIT "$server"
wait "$server"
rm -rf "$2"
"#;

pub(crate) struct Server {
    dir: PathBuf,
    keeper: Child,
    /// Closed when this process ends, in whatever way: the keeper's sign.
    alive: Option<ChildStdin>,
}

impl Server {
    pub(crate) fn start(programs: &Programs) -> Result<Self, ClusterError> {
        let account = Account::choose()?;
        let dir = TempDir::with_prefix("guildhall-pg-").map_err(io("make a temporary folder"))?;
        account
            .own(dir.path())
            .map_err(io("give a folder to the server's account"))?;
        make(programs, account, &dir)?;
        let mut keeper = account
            .run(&mut Command::new("/bin/sh"))
            .args(["-c", KEEPER, "keeper"])
            .arg(programs.path("postgres"))
            .arg(dir.path())
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal must reach us alone; the keeper follows by itself.
            .process_group(0)
            .spawn()
            .map_err(io("start the server"))?;
        let server = Self {
            dir: dir.keep(),
            alive: keeper.stdin.take(),
            keeper,
        };
        server.wait()?;
        Ok(server)
    }

    pub(crate) fn socket(&self) -> String {
        self.dir.display().to_string()
    }

    fn wait(&self) -> Result<(), ClusterError> {
        let socket = self.dir.join(".s.PGSQL.5432");
        let pid = self.dir.join("data/postmaster.pid");
        let since = Instant::now();
        while since.elapsed() < STARTS_WITHIN {
            // The last line of the file says when it is ready; the socket is there before.
            let ready =
                std::fs::read_to_string(&pid).is_ok_and(|text| text.trim_end().ends_with("ready"));
            if ready && UnixStream::connect(&socket).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(ClusterError::Failed {
            program: "postgres",
            output: std::fs::read_to_string(self.dir.join("log")).unwrap_or_default(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.alive.take());
        let _ = self.keeper.wait();
    }
}

fn make(programs: &Programs, account: Account, dir: &TempDir) -> Result<(), ClusterError> {
    let output = account
        .run(&mut Command::new(programs.path("initdb")))
        .args(["--username", USER, "--auth", "trust", "--encoding", "UTF8"])
        .args(["--locale", "C", "--no-sync", "--pgdata"])
        .arg(dir.path().join("data"))
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .output()
        .map_err(io("start initdb"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(ClusterError::Failed {
        program: "initdb",
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn io(action: &'static str) -> impl FnOnce(std::io::Error) -> ClusterError {
    move |source| ClusterError::Io { action, source }
}
