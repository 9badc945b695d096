//! The one place that names packs and trackers: from settings to what is mounted.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use guildhall_config::{
    Loaded, Provider, Reloader, Seen, Settings, SettingsError, Workspace, process_env,
};
use guildhall_core::memory::MemoryTracker;
use guildhall_core::tracker::Tracker;
use guildhall_core::{Clock, Ids, SystemClock, SystemIds};
use guildhall_local::{Board, BoardOptions, IdPrefix};
use guildhall_packs::lanes::Rules;
use guildhall_packs::team::Coordination;
use guildhall_server::{MountSource, Mounted};
use guildhall_tools::{Catalog, Pack};
use tokio::sync::watch;

use crate::repos::RepoPacks;

/// The packs that settings can name.
const PACKS: &[&str] = &["local", "git", "ladder", "lanes", "code", "roles", "team"];

/// The packs that are there for who asks for them by name, whatever the settings mount.
const ALWAYS: &[&str] = &["team"];

/// What settings come to: the mounted tools, the tracker, and the board where there is one.
pub(crate) struct Wired {
    pub(crate) mounted: Arc<Mounted>,
    pub(crate) tracker: Arc<dyn Tracker>,
    pub(crate) board: Option<Board>,
}

/// The board that is open, kept over a reload that does not move it: reading it anew would cost what a start costs.
struct OpenBoard {
    path: PathBuf,
    id_prefix: String,
    board: Board,
}

/// What packs work on and no settings change.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The team sessions.
    pub(crate) coordination: Coordination,
    /// The hosted repositories.
    pub(crate) repos: RepoPacks,
}

/// Makes what `loaded` asks for. `open` is the board of the settings before; the parts stay what they are. Where the database
/// is not open there are none, nor the packs that need them.
fn wire(
    loaded: &Loaded,
    open: &mut Option<OpenBoard>,
    parts: Option<&Parts>,
) -> Result<Wired, SettingsError> {
    let settings = &loaded.settings;
    let active = settings.active_tracker();
    let mut names = default_packs(active.provider);
    all_can_be_mounted(loaded)?;
    for pack in &settings.tools.packs {
        if !names.contains(&pack.name.as_str()) {
            names.push(&pack.name);
        }
    }
    let needs_board = names.contains(&"local") || active.provider == Provider::Local;
    let board = if needs_board {
        Some(board(loaded, settings, open)?)
    } else {
        None
    };
    let tracker: Arc<dyn Tracker> = match (active.provider, &board) {
        (Provider::Local, Some(board)) => Arc::new(board.clone()),
        (Provider::Memory, _) => Arc::new(MemoryTracker::new(
            active.issues.clone().unwrap_or_default(),
        )),
        (provider, _) => return Err(no_such_tracker(loaded, provider)),
    };
    let pack = |name: &str| match (name, parts) {
        ("local", _) => board.as_ref().map(guildhall_packs::local::pack),
        ("team", Some(parts)) => Some(guildhall_packs::team::pack(&parts.coordination)),
        (name, Some(parts)) => parts.repos.pack(name),
        (_, None) => None,
    };
    let mount = |names: &[&str]| {
        let packs: Vec<Pack> = names.iter().filter_map(|name| pack(name)).collect();
        Catalog::mount(packs).map_err(|error| loaded.refusal("tools", None, error.to_string()))
    };
    let catalog = mount(&names)?;
    names.extend(ALWAYS);
    let everything = mount(&names)?;
    let mounted = Mounted::new(catalog, active.provider.as_str()).with_everything(everything);
    Ok(Wired {
        mounted: Arc::new(mounted),
        tracker,
        board,
    })
}

/// Refuses packs and a tracker of which there are none, all at once.
fn all_can_be_mounted(loaded: &Loaded) -> Result<(), SettingsError> {
    let provider = loaded.settings.active_tracker().provider;
    let mut wrong = Vec::new();
    if !matches!(provider, Provider::Local | Provider::Memory) {
        wrong.push(no_such_tracker(loaded, provider));
    }
    let packs = loaded.settings.tools.packs.iter();
    wrong.extend(
        packs
            .filter(|pack| !PACKS.contains(&pack.name.as_str()))
            .map(|pack| {
                let known = PACKS.join(", ");
                let message = format!(
                    "unsupported tool pack: {} (known tool packs: {known})",
                    pack.name
                );
                loaded.refusal(&format!("tools.{}", pack.name), Some(pack.at), message)
            }),
    );
    let all = wrong.into_iter().reduce(|mut all, next| {
        all.problems.extend(next.problems);
        all
    });
    all.map_or(Ok(()), Err)
}

fn no_such_tracker(loaded: &Loaded, provider: Provider) -> SettingsError {
    let message = format!(
        "tracker `{}` is not part of this version: use local or memory",
        provider.as_str()
    );
    loaded.refusal("tracker.kind", None, message)
}

/// The packs a dispatch tracker mounts by itself (Lorenz page, "How tools mount").
fn default_packs(provider: Provider) -> Vec<&'static str> {
    match provider {
        Provider::Local => vec!["local"],
        _ => Vec::new(),
    }
}

fn board(
    loaded: &Loaded,
    settings: &Settings,
    open: &mut Option<OpenBoard>,
) -> Result<Board, SettingsError> {
    let wanted = settings.board();
    if let Some(open) = open
        .as_ref()
        .filter(|open| open.path == wanted.path && open.id_prefix == wanted.id_prefix)
    {
        return Ok(open.board.clone());
    }
    let refuse = |error: guildhall_local::BoardError| {
        loaded.refusal(
            "board",
            None,
            format!(
                "The board `{}` cannot be opened: {error}",
                wanted.path.display()
            ),
        )
    };
    let mut options = BoardOptions::new(wanted.path.clone());
    options.id_prefix = IdPrefix::new(&wanted.id_prefix).map_err(refuse)?;
    let board = Board::open(options, Arc::new(SystemClock), Arc::new(SystemIds)).map_err(refuse)?;
    *open = Some(OpenBoard {
        path: wanted.path.clone(),
        id_prefix: wanted.id_prefix.clone(),
        board: board.clone(),
    });
    Ok(board)
}

/// The mounts of one workspace, kept in step with its settings file. Settings that do not hold leave the last good ones
/// in force.
pub(crate) struct LiveMounts {
    current: ArcSwap<Mounted>,
    changes: watch::Sender<u64>,
    /// The settings file as `current` has it.
    seen: ArcSwap<Seen>,
    reload: Mutex<Reload>,
}

struct Reload {
    reloader: Reloader,
    open: Option<OpenBoard>,
    parts: Parts,
}

impl LiveMounts {
    /// Mounts what `loaded` asks for and from then on what its file says.
    pub(crate) fn start(
        workspace: &Workspace,
        loaded: &Loaded,
        parts: Parts,
    ) -> Result<(Self, Wired), SettingsError> {
        let mut open = None;
        let wired = wire(loaded, &mut open, Some(&parts))?;
        let reloader = Reloader::new(workspace, loaded);
        let mounts = Self {
            current: ArcSwap::new(Arc::clone(&wired.mounted)),
            changes: watch::Sender::new(0),
            seen: ArcSwap::from_pointee(reloader.seen()),
            reload: Mutex::new(Reload {
                reloader,
                open,
                parts,
            }),
        };
        Ok((mounts, wired))
    }

    /// Looks at the settings file; one `stat` while it has not changed.
    fn poll(&self) {
        if self.seen.load().is_current() {
            return;
        }
        // Whoever comes while another caller reloads waits for it: they too are to see what the file says.
        let mut reload = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        self.renew(&mut reload);
        self.seen.store(Arc::new(reload.reloader.seen()));
    }

    fn renew(&self, reload: &mut Reload) {
        let Reload {
            reloader,
            open,
            parts,
        } = reload;
        let Some(loaded) = reloader.poll(&process_env) else {
            return;
        };
        let wired = loaded.and_then(|loaded| {
            let wired = wire(&loaded, open, Some(&*parts))?;
            Ok((wired, loaded.warnings))
        });
        match wired {
            Ok((wired, warnings)) => {
                let (old, new) = (
                    self.current.load().catalog().fingerprint(),
                    wired.mounted.catalog().fingerprint(),
                );
                self.current.store(wired.mounted);
                tracing::info!(catalog.old = old, catalog.new = new, "Settings reloaded");
                for warning in warnings {
                    tracing::warn!("{warning}");
                }
                if old != new {
                    self.changes.send_modify(|count| *count += 1);
                }
            }
            Err(error) => {
                tracing::error!("Settings not reloaded, the last good ones hold: {error}");
            }
        }
    }
}

impl MountSource for LiveMounts {
    fn current(&self) -> Arc<Mounted> {
        self.poll();
        self.current.load_full()
    }

    fn latest(&self) -> Arc<Mounted> {
        self.current.load_full()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

/// What the settings say of lanes and asks.
pub(crate) fn lane_rules(settings: &Settings) -> Rules {
    let lanes = &settings.lanes;
    Rules::new(
        lanes.lease_seconds,
        lanes.max_open_asks,
        lanes.max_open_lanes,
    )
}

/// The machine's clock and random numbers.
pub(crate) fn machine() -> (Arc<dyn Clock>, Arc<dyn Ids>) {
    (Arc::new(SystemClock), Arc::new(SystemIds))
}

/// Checks that `loaded` can be mounted, without keeping anything open.
pub(crate) fn check(loaded: &Loaded) -> Result<Wired, SettingsError> {
    wire(loaded, &mut None, None)
}

#[cfg(test)]
mod tests {
    use guildhall_store::Store;
    use guildhall_store::team::Sightings;

    use super::*;
    use crate::repos::OpenRepos;
    use crate::turns::Turns;

    fn workspace(workflow: Option<&str>) -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        if let Some(text) = workflow {
            std::fs::write(dir.path().join("WORKFLOW.md"), text).unwrap();
        }
        let workspace = Workspace::find(Some(dir.path()), dir.path());
        (dir, workspace)
    }

    fn load(workspace: &Workspace) -> Loaded {
        Settings::load(workspace, &|_| None).unwrap()
    }

    async fn parts(workspace: &Workspace) -> Parts {
        std::fs::create_dir_all(&workspace.state_dir).unwrap();
        let file = workspace.state_dir.join("store.db");
        let store = Store::open_sqlite(&file).await.unwrap();
        let (clock, ids) = machine();
        let open = Arc::new(OpenRepos::new(&workspace.state_dir));
        let turns = Arc::new(Turns::new(open));
        Parts {
            repos: RepoPacks::new(&store, &turns, &clock, &ids, Rules::default()),
            coordination: Coordination {
                team: Arc::new(store.clone()),
                clock,
                ids,
                templates: guildhall_packs::team::templates(None),
                sightings: Sightings::new(store),
            },
        }
    }

    fn tools(mounted: &Mounted) -> usize {
        mounted.catalog().tools().count()
    }

    #[test]
    fn without_a_file_the_local_board_is_mounted() {
        let (_dir, workspace) = workspace(None);
        let wired = check(&load(&workspace)).unwrap();
        assert_eq!(
            (tools(&wired.mounted), wired.mounted.server_name().as_str()),
            (5, "lorenz_local")
        );
        assert_eq!(wired.tracker.kind(), "local");
    }

    #[test]
    fn the_memory_tracker_mounts_no_tools_and_tools_can_be_named_beside_it() {
        let (_dir, memory) = workspace(Some("---\ntracker:\n  kind: memory\n---\n"));
        let wired = check(&load(&memory)).unwrap();
        assert_eq!((tools(&wired.mounted), wired.tracker.kind()), (0, "memory"));
        let (_dir, both) = workspace(Some(
            "---\ntracker:\n  kind: memory\ntools:\n  local: {}\n---\n",
        ));
        assert_eq!(tools(&check(&load(&both)).unwrap().mounted), 5);
    }

    #[test]
    fn an_unknown_pack_is_refused_with_the_known_ones() {
        let (_dir, workspace) = workspace(Some("---\ntools:\n  locale: {}\n---\n"));
        let error = check(&load(&workspace)).err().unwrap().to_string();
        assert!(
            error.contains("unsupported tool pack: locale (known tool packs: local, git, ladder, lanes, code, roles, team)"),
            "{error}"
        );
    }

    #[test]
    fn everything_that_cannot_be_mounted_is_told_at_once() {
        let (_dir, workspace) = workspace(Some(
            "---\ntracker:\n  kind: memory\ntools:\n  locale: {}\n  gti: {}\n---\n",
        ));
        let error = check(&load(&workspace)).err().unwrap();
        let paths: Vec<&str> = error.problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["tools.locale", "tools.gti"]);
    }

    #[tokio::test]
    async fn packs_over_repositories_mount_when_they_are_named() {
        for name in RepoPacks::NAMES {
            let text = format!("---\ntools:\n  {name}: {{}}\n---\n");
            let (_dir, workspace) = workspace(Some(&text));
            let parts = parts(&workspace).await;
            let (mounts, _) = LiveMounts::start(&workspace, &load(&workspace), parts).unwrap();
            let mounted = mounts.current();
            assert_eq!(mounted.catalog().packs(), ["local", name]);
            assert_eq!(mounted.everything().packs(), ["local", name, "team"]);
        }
    }

    #[tokio::test]
    async fn a_reload_shows_in_the_next_look_and_a_bad_file_changes_nothing() {
        let (dir, workspace) = workspace(None);
        let parts = parts(&workspace).await;
        let (mounts, _) = LiveMounts::start(&workspace, &load(&workspace), parts).unwrap();
        let mut changes = mounts.changes();
        assert_eq!(tools(&mounts.current()), 5);
        let write = |text: &str| std::fs::write(dir.path().join("WORKFLOW.md"), text).unwrap();
        write("---\ntracker:\n  kind: memory\n---\n");
        assert_eq!(tools(&mounts.current()), 0);
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        write("---\ntracker:\n  kind: nonsense\n---\n");
        assert_eq!(tools(&mounts.current()), 0);
        assert!(!changes.has_changed().unwrap());
        write("---\ntracker:\n  kind: local\n---\n");
        assert_eq!(tools(&mounts.current()), 5);
    }
}
