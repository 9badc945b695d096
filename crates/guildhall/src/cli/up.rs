//! `guildhall up`: starts everything, on this machine only unless told otherwise.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use guildhall_config::{
    Loaded, Server as ServerSettings, Settings, Workspace, env_vars, process_env,
};
use guildhall_core::{Clock, Principal};
use guildhall_git::GitError;
use guildhall_packs::team::Coordination;
use guildhall_server::{
    About, Activity, App, AppParts, CloneLimits, Directory, Hosts, Limits, Metrics, MountSource,
    mcp, router, serve,
};
use guildhall_store::Store;
use guildhall_tools::CursorKey;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::data_dir::{self, Claim, Owned, Running};
use crate::output::{CommandError, CommandResult, note, say, say_json};
use crate::repos::{HostedRepos, OpenRepos, RepoPacks};
use crate::turns::Turns;
use crate::wiring::{self, LiveMounts, Parts, Wired};
use crate::{client, demo, telemetry};

/// How long a start waits for the process that owns the data directory to say where it listens.
const OTHER_PATIENCE: Duration = Duration::from_secs(10);
/// Connections of one node to PostgreSQL.
const DATABASE_CONNECTIONS: u32 = 16;
/// How often the settings file is looked at while nobody asks for anything.
const TICK: Duration = Duration::from_secs(1);

/// Start the server of a workspace and print how to connect an agent
#[derive(clap::Args)]
pub(super) struct Args {
    /// The workspace [default: the nearest folder upwards with WORKFLOW.md or .guildhall, else the current one]
    dir: Option<PathBuf>,
    /// Port to listen on; 0 picks a free one [default: server.port of the settings, 4040]
    #[arg(long)]
    port: Option<u16>,
    /// Where to keep the state [default: <workspace>/.guildhall/state, or `GUILDHALL_DATA_DIR`]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Settings file [default: <workspace>/WORKFLOW.md, or `GUILDHALL_WORKFLOW`]
    #[arg(long, value_name = "FILE")]
    workflow: Option<PathBuf>,
    /// PostgreSQL database to keep everything in [default: a file in the data directory, or `GUILDHALL_DATABASE_URL`]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Put a few issues on an empty local board, to have something to look at
    #[arg(long)]
    demo: bool,
    /// Stop after this long without a request, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = super::duration::parse)]
    idle_exit: Option<Duration>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> CommandResult {
    let cwd = std::env::current_dir().context("Cannot tell the current directory")?;
    let workspace = Workspace::find(args.dir.as_deref(), &cwd).with_overrides(
        args.data_dir.as_deref(),
        args.workflow.as_deref(),
        &cwd,
        &process_env,
    );
    if !workspace.root.is_dir() {
        return Err(CommandError::usage(format!(
            "The workspace `{}` is not a folder",
            workspace.root.display()
        )));
    }
    let loaded = Settings::load(&workspace, &process_env).map_err(CommandError::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("Cannot start threads")?;
    match data_dir::claim(&workspace.state_dir).map_err(unable)? {
        Claim::Owned(owned) => runtime.block_on(start(args, &workspace, &loaded, &owned)),
        Claim::Taken => runtime.block_on(point_at_the_other(args, &workspace)),
    }
}

/// Another process serves this workspace: says where.
async fn point_at_the_other(args: &Args, workspace: &Workspace) -> CommandResult {
    let deadline = tokio::time::Instant::now() + OTHER_PATIENCE;
    loop {
        if let Some(running) = data_dir::running(&workspace.state_dir)
            && client::answers(&running.url).await
        {
            let text = format!(
                "Guildhall runs already for {} at {}",
                running.workspace.display(),
                running.url
            );
            if let Some(ignored) = not_heeded(args) {
                note(&ignored);
            }
            return report(args, &running, workspace, true, &[text]);
        }
        if tokio::time::Instant::now() > deadline {
            return Err(CommandError::refused(format!(
                "Another process owns `{}` and does not say where it listens",
                workspace.state_dir.display()
            ))
            .hint("`--data-dir` names another place for the state."));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What of the arguments a server that runs already cannot be told any more.
fn not_heeded(args: &Args) -> Option<String> {
    let given = [
        ("--demo", args.demo),
        ("--port", args.port.is_some()),
        ("--idle-exit", args.idle_exit.is_some()),
        ("--database-url", args.database_url.is_some()),
        ("--workflow", args.workflow.is_some()),
    ];
    let given: Vec<&str> = given
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect();
    (!given.is_empty()).then(|| {
        format!(
            "{} changes nothing on a server that runs already: stop it first",
            given.join(", ")
        )
    })
}

async fn start(
    args: &Args,
    workspace: &Workspace,
    loaded: &Loaded,
    owned: &Owned,
) -> CommandResult {
    let _log = telemetry::start(&loaded.settings.logging).map_err(unable)?;
    let metrics = Metrics::install();
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let open = Arc::new(OpenRepos::new(&workspace.state_dir));
    let (clock, ids) = wiring::machine();
    let store = open_store(args, workspace).await?;
    let person = || local_owner(workspace);
    let directory = Directory::open(
        store.clone(),
        &workspace.state_dir,
        person,
        Arc::clone(&clock),
        Arc::clone(&ids),
    )
    .await
    .map(Arc::new)
    .map_err(unable)?;
    let turns = Arc::new(Turns::new(open));
    let rules = wiring::lane_rules(&loaded.settings);
    let parts = Parts {
        coordination: Coordination {
            team: Arc::new(store.clone()),
            clock: Arc::clone(&clock),
            ids: Arc::clone(&ids),
            templates: guildhall_packs::team::templates(Some(workspace.root.clone())),
            sightings: directory.sightings().clone(),
        },
        repos: RepoPacks::new(&store, &turns, &clock, &ids, rules),
    };
    let (mounts, wired) =
        LiveMounts::start(workspace, loaded, parts.clone()).map_err(CommandError::usage)?;
    let made = if args.demo { fill_board(&wired)? } else { 0 };
    let repos = HostedRepos::new(
        store.clone(),
        turns,
        Arc::clone(&clock),
        Arc::clone(&ids),
        &parts,
        &workspace.root,
    )?;
    repos.settle().await.map_err(unable)?;
    let packed = repos.clone();
    let cursor_key = CursorKey::new(owned.cursor_key(&*ids).map_err(unable)?);

    // Nobody can ask anything before the tokens are there.
    let (listener, address) = bind(args, &loaded.settings).await?;
    let running = Running {
        url: format!("http://{}", shown_address(address)),
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: workspace.root.clone(),
    };
    let shutdown = CancellationToken::new();
    let mounts = Arc::new(mounts);
    let server = &loaded.settings.server;
    let app = Arc::new(App::new(AppParts {
        mounts: Arc::clone(&mounts) as Arc<dyn MountSource>,
        authenticator: Arc::clone(&directory) as _,
        directory,
        hosts: Hosts::new(
            &server.host,
            address.port(),
            server.allowed_hosts.iter().cloned(),
            server.allowed_origins.iter().cloned(),
        ),
        clock: Arc::clone(&clock),
        ids,
        cursor_key,
        repos: Some(Arc::new(repos)),
        metrics: metrics.clone(),
        about: About {
            version: env!("CARGO_PKG_VERSION"),
            workspace: workspace.root.display().to_string(),
            data_dir: workspace.state_dir.display().to_string(),
            pid: running.pid,
        },
        max_request_bytes: server.max_request_bytes,
        clones: CloneLimits::default(),
        mcp_sessions: server.mcp_sessions,
        shutdown: shutdown.clone(),
    }));
    let routes = router(Arc::clone(&app), &mcp::endpoint(&app));
    owned.announce(&running).map_err(unable)?;
    stop_on_signals(shutdown.clone())?;
    tokio::spawn(metrics.upkeep());
    tokio::spawn(keep_house(store.clone(), Arc::clone(&clock)));
    tokio::spawn(async move { packed.keep_packed().await });
    tokio::spawn(watch_settings(mounts, shutdown.clone()));
    if let Some(limit) = args.idle_exit {
        tokio::spawn(stop_when_idle(
            app.activity(),
            clock,
            limit,
            shutdown.clone(),
        ));
    }
    report(
        args,
        &running,
        workspace,
        false,
        &greeting(&running, workspace, &wired, made).await,
    )?;
    tracing::info!(server.url = running.url, "Listening on {}", running.url);
    serve(listener, routes, Limits::default(), shutdown).await;
    store.close().await;
    tracing::info!("Stopped");
    Ok(())
}

/// The database: PostgreSQL where one is named, else a file that only this process opens.
async fn open_store(args: &Args, workspace: &Workspace) -> Result<Store, CommandError> {
    let url = args
        .database_url
        .clone()
        .or_else(|| process_env(env_vars::GUILDHALL_DATABASE_URL));
    let opened = match &url {
        Some(url) => Store::open_postgres(url, DATABASE_CONNECTIONS).await,
        None => Store::open_sqlite(&workspace.state_dir.join("guildhall.db")).await,
    };
    opened.map_err(|error| match error {
        guildhall_store::Error::Settings(_) => CommandError::usage(error),
        error => {
            let away = url.is_some() && matches!(error, guildhall_store::Error::Unavailable(_));
            let error = unable(anyhow::Error::new(error).context("Cannot open the database"));
            if away {
                error.hint(
                    "Start PostgreSQL, or name another database with `--database-url` or GUILDHALL_DATABASE_URL.",
                )
            } else {
                error
            }
        }
    })
}

/// A start that failed with `error`: whoever runs the server has to act where files, addresses, git or the database are not
/// as it needs them, and everything else is a fault of ours.
fn unable(error: impl Into<anyhow::Error>) -> CommandError {
    let error = error.into();
    let is_outside = |cause: &(dyn std::error::Error + 'static)| {
        let store = cause.downcast_ref::<guildhall_store::Error>();
        let git = cause.downcast_ref::<GitError>();
        cause.is::<std::io::Error>()
            || store.is_some_and(|error| !matches!(error, guildhall_store::Error::Fault(_)))
            || matches!(
                git,
                Some(GitError::NotInstalled(_) | GitError::TooOld { .. })
            )
    };
    if error.chain().any(is_outside) {
        CommandError::of_machine(error)
    } else {
        error.into()
    }
}

fn fill_board(wired: &Wired) -> Result<usize, CommandError> {
    match &wired.board {
        Some(board) => Ok(demo::fill(board)?),
        None => Err(CommandError::usage(
            "--demo fills the local board, and these settings mount none",
        )),
    }
}

/// The person this machine's user is: git's `user.email`, else `owner@localhost`.
fn local_owner(workspace: &Workspace) -> Principal {
    guildhall_git::user_email(&workspace.root)
        .and_then(|address| Principal::user(&address).ok())
        .unwrap_or_else(|| Principal::user("owner@localhost").expect("is an address"))
}

/// Listens where the arguments say, else the settings. The default port may belong to another workspace's server: then any
/// free one does.
async fn bind(args: &Args, settings: &Settings) -> Result<(TcpListener, SocketAddr), CommandError> {
    let host = settings.server.host.as_str();
    let port = args.port.unwrap_or(settings.server.port);
    let is_default = args.port.is_none() && port == ServerSettings::default().port;
    let listener = match TcpListener::bind((host, port)).await {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && is_default => {
            TcpListener::bind((host, 0)).await
        }
        bound => bound,
    };
    let listener = listener.map_err(|error| {
        let hint = way_out(error.kind());
        let error = anyhow::Error::new(error).context(format!("Cannot listen on {host}:{port}"));
        CommandError::of_machine(error).hint(hint)
    })?;
    let address = listener.local_addr().context("Cannot tell the port")?;
    Ok((listener, address))
}

/// What to do about an address that cannot be listened on.
fn way_out(kind: std::io::ErrorKind) -> &'static str {
    match kind {
        std::io::ErrorKind::AddrInUse => {
            "`--port`, or `server.port` in the settings, names another port; `--port 0` or `server.port: 0` takes a free one."
        }
        std::io::ErrorKind::PermissionDenied => {
            "`--port`, or `server.port` in the settings, names another port: those under 1024 are often the administrator's."
        }
        _ => "`server.host` in the settings must be an address or a name of this machine.",
    }
}

/// An address others can be sent to: a server on every interface is reached on this machine by its loopback.
fn shown_address(address: SocketAddr) -> SocketAddr {
    let mut shown = address;
    if address.ip().is_unspecified() {
        shown.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    shown
}

async fn greeting(
    running: &Running,
    workspace: &Workspace,
    wired: &Wired,
    made: usize,
) -> Vec<String> {
    let issues = match wired.tracker.issues().await {
        Ok(issues) if made > 0 => {
            format!("{} issues, {made} of them made for this demo", issues.len())
        }
        Ok(issues) => format!("{} issues", issues.len()),
        Err(error) => error.to_string(),
    };
    vec![
        format!(
            "Guildhall {} is running at {}",
            running.version, running.url
        ),
        String::new(),
        format!("  Workspace  {}", workspace.root.display()),
        format!("  Tracker    {}: {issues}", wired.mounted.tracker()),
        format!("  Tools      {}", wired.mounted.catalog().tools().count()),
        format!(
            "  Token      {}",
            workspace.state_dir.join("owner.token").display()
        ),
        String::new(),
        format!("Connect an agent:  {} connect claude", program()),
    ]
}

/// How this program is called: by its name where the shell would find it, else by its path.
pub(super) fn program() -> String {
    let Ok(path) = std::env::current_exe() else {
        return "guildhall".to_owned();
    };
    let on_path = std::env::var_os("PATH")
        .is_some_and(|dirs| std::env::split_paths(&dirs).any(|dir| dir.join("guildhall") == path));
    if on_path {
        "guildhall".to_owned()
    } else {
        path.display().to_string()
    }
}

fn report(
    args: &Args,
    running: &Running,
    workspace: &Workspace,
    already: bool,
    text: &[String],
) -> CommandResult {
    if args.json {
        let object = json!({
            "url": running.url,
            "pid": running.pid,
            "version": running.version,
            "workspace": running.workspace,
            "data_dir": workspace.state_dir,
            "token_file": workspace.state_dir.join("owner.token"),
            "already_running": already,
        });
        return say_json(&object);
    }
    say(&text.join("\n"))
}

fn stop_on_signals(shutdown: CancellationToken) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        shutdown.cancel();
        // Whoever asks a second time does not want to wait for calls to finish.
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(130);
    });
    Ok(())
}

/// Clients that subscribed hear of changed tools also while nobody asks for any.
async fn watch_settings(mounts: Arc<LiveMounts>, shutdown: CancellationToken) {
    let mut tick = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            _ = tick.tick() => drop(mounts.current()),
            () = shutdown.cancelled() => return,
        }
    }
}

/// Seals the event log and forgets what is over, for as long as the server runs.
async fn keep_house(store: Store, clock: Arc<dyn Clock>) {
    store.keep_house(clock).await;
}

async fn stop_when_idle(
    activity: Arc<Activity>,
    clock: Arc<dyn Clock>,
    limit: Duration,
    shutdown: CancellationToken,
) {
    loop {
        let idle = activity.idle(&*clock);
        if idle >= limit {
            tracing::info!("Nothing was asked for {limit:?}, stopping");
            shutdown.cancel();
            return;
        }
        tokio::time::sleep(limit.saturating_sub(idle).max(Duration::from_millis(20))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_every_interface_is_reached_by_loopback() {
        assert_eq!(
            shown_address("0.0.0.0:80".parse().unwrap()).to_string(),
            "127.0.0.1:80"
        );
        assert_eq!(
            shown_address("[::]:80".parse().unwrap()).to_string(),
            "[::1]:80"
        );
        assert_eq!(
            shown_address("192.168.1.2:80".parse().unwrap()).to_string(),
            "192.168.1.2:80"
        );
    }
}
