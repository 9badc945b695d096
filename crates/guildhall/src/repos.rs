//! The hosted repositories: the store says which there are and who may see them, git has what is in them.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use futures::future::BoxFuture;
use guildhall_core::{Clock, Ids, Principal, RepoName, RepoRole};
use guildhall_git::{
    Conflicts, Environment, Git, GitError, Hosted, Hosting, Repository, Source, Standing,
};
use guildhall_packs::code::Code;
use guildhall_packs::git::Repositories;
use guildhall_packs::ladder::Summaries;
use guildhall_packs::lanes::{Queue, Rules};
use guildhall_packs::roles::Granting;
use guildhall_server::{Apart, Mounted, NewRepo, Origin, PackStream, RepoHost, RepoView};
use guildhall_store::{
    self as store, Act, AskKind, AskState, Asks as _, Fresh, NewAsk, OWN_LANE, Repos as _,
    Roles as _, Store,
};
use guildhall_tools::{
    Caller, Catalog, ErrorKind, MountError, Pack, RepoAccess, RepoResolver, ToolError, WantedRepo,
};

use tokio::time::MissedTickBehavior;

use crate::turns::Turns;
use crate::wiring::Parts;

/// How often the repositories are looked at for packing: two small directories each.
const LOOKS_FOR_SCATTERED_EVERY: Duration = Duration::from_mins(10);

/// Most names that a refusal lists.
const MOST_LISTED: usize = 20;

/// The repositories on disk, each opened once: what is open caches the order of its log.
pub(crate) struct OpenRepos {
    root: PathBuf,
    hosting: OnceLock<Hosting>,
    opened: Mutex<HashMap<RepoName, Opened>>,
}

/// One of them: for serving and changing, and for reading.
#[derive(Clone)]
struct Opened {
    hosted: Arc<Hosted>,
    repository: Arc<Repository>,
}

impl OpenRepos {
    /// Those in `state_dir`. Nothing is touched, and no git is needed, before one is used.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
            root: state_dir.join("repos"),
            hosting: OnceLock::new(),
            opened: Mutex::default(),
        }
    }

    fn hosting(&self) -> Result<&Hosting, GitError> {
        if let Some(hosting) = self.hosting.get() {
            return Ok(hosting);
        }
        let git = Git::find(Environment::of_this_process())?;
        Ok(self
            .hosting
            .get_or_init(|| Hosting::new(git, self.root.clone())))
    }

    fn all(&self) -> MutexGuard<'_, HashMap<RepoName, Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The repository of this name, to be changed.
    pub(crate) fn hosted(&self, name: &RepoName) -> Result<Arc<Hosted>, GitError> {
        Ok(self.opened(name)?.hosted)
    }

    fn opened(&self, name: &RepoName) -> Result<Opened, GitError> {
        if let Some(opened) = self.all().get(name) {
            return Ok(opened.clone());
        }
        let hosted = self.hosting()?.open(name)?;
        let opened = Opened {
            repository: Arc::new(Repository::open(hosted.repository().dir())?),
            hosted: Arc::new(hosted),
        };
        // Whoever was first: there is one cache per repository.
        Ok(self.all().entry(name.clone()).or_insert(opened).clone())
    }

    /// The right to take in and to remove repositories, over all processes that share the disk; waits for it. It ends with the
    /// value.
    fn alone(&self) -> Result<File, GitError> {
        let path = self.root.join("lock");
        let locked = std::fs::create_dir_all(&self.root)
            .and_then(|()| {
                let mut options = File::options();
                options.create(true).truncate(false).write(true).open(&path)
            })
            .and_then(|file| file.lock().map(|()| file));
        locked.map_err(|source| GitError::Io {
            action: "lock",
            path,
            source,
        })
    }

    /// Takes in what the store does not know yet. What is there under that name was left by an earlier try that ended in
    /// between.
    fn create(&self, name: &RepoName, source: &Source) -> Result<Standing, GitError> {
        let hosting = self.hosting()?;
        if hosting.open(name).is_ok() {
            hosting.remove(name)?;
        }
        hosting.create(name, source)?;
        self.all().remove(name);
        self.opened(name)?.hosted.standing()
    }

    fn remove(&self, name: &RepoName) -> Result<(), GitError> {
        self.all().remove(name);
        self.hosting()?.remove(name)
    }
}

impl Repositories for OpenRepos {
    fn open(&self, repo: &RepoAccess) -> Result<Arc<Repository>, ToolError> {
        let name = repo.name.clone();
        let opened = self.opened(&name);
        let opened = opened.map_err(|error| ToolError::internal(format!("{error:?}")))?;
        Ok(opened.repository)
    }
}

/// The packs that the doors of every repository serve, over one store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RepoPacks {
    repositories: Arc<dyn Repositories>,
    granting: Granting,
    summaries: Summaries,
    queue: Queue,
    code: Code,
}

impl RepoPacks {
    /// What they are called.
    pub(crate) const NAMES: [&str; 5] = ["git", "ladder", "lanes", "code", "roles"];

    /// Those over `store` and the repositories of `turns`.
    pub(crate) fn new(
        store: &Store,
        turns: &Arc<Turns>,
        clock: &Arc<dyn Clock>,
        ids: &Arc<dyn Ids>,
        rules: Rules,
    ) -> Self {
        let (clock, ids) = (Arc::clone(clock), Arc::clone(ids));
        let repositories: Arc<dyn Repositories> = Arc::clone(turns.open()) as _;
        let granting = Granting {
            roles: Arc::new(store.clone()),
            clock: Arc::clone(&clock),
        };
        let summaries = Summaries {
            ladder: Arc::new(store.clone()),
            repos: Arc::new(store.clone()),
            repositories: Arc::clone(&repositories),
            clock: Arc::clone(&clock),
        };
        let queue = Queue {
            lanes: Arc::new(store.clone()),
            asks: Arc::new(store.clone()),
            repositories: Arc::clone(&repositories),
            clock: Arc::clone(&clock),
            ids: Arc::clone(&ids),
            rules,
        };
        let code = Code {
            asks: Arc::new(store.clone()),
            repos: Arc::new(store.clone()),
            turns: Arc::clone(turns) as _,
            clock,
            ids,
        };
        Self {
            repositories,
            granting,
            summaries,
            queue,
            code,
        }
    }

    /// The pack of this name.
    pub(crate) fn pack(&self, name: &str) -> Option<Pack> {
        Some(match name {
            "git" => guildhall_packs::git::pack(&self.repositories),
            "ladder" => guildhall_packs::ladder::pack(&self.summaries),
            "lanes" => guildhall_packs::lanes::pack(&self.queue),
            "code" => guildhall_packs::code::pack(&self.code),
            "roles" => guildhall_packs::roles::pack(&self.granting),
            _ => return None,
        })
    }
}

/// The repositories of one server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct HostedRepos(Arc<Inner>);

struct Inner {
    store: Store,
    open: Arc<OpenRepos>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    tools: Arc<Mounted>,
    workspace: PathBuf,
    turns: Arc<Turns>,
}

impl HostedRepos {
    /// Those that `store` knows and `turns` has, with the tools of `parts`, for a server of `workspace`.
    pub(crate) fn new(
        store: Store,
        turns: Arc<Turns>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        parts: &Parts,
        workspace: &Path,
    ) -> Result<Self, MountError> {
        let packs = || {
            RepoPacks::NAMES
                .iter()
                .filter_map(|name| parts.repos.pack(name))
        };
        let team = guildhall_packs::team::pack(&parts.coordination);
        let tools = Mounted::new(Catalog::mount(packs())?, "repo")
            .with_everything(Catalog::mount(packs().chain([team]))?);
        Ok(Self(Arc::new(Inner {
            store,
            open: Arc::clone(turns.open()),
            clock,
            ids,
            tools: Arc::new(tools),
            workspace: workspace.to_owned(),
            turns,
        })))
    }

    /// Brings every branch to where the store says it is: a process that ended between the two left them apart.
    pub(crate) async fn settle(&self) -> anyhow::Result<()> {
        let repos = self.0.store.repos().await;
        for repo in repos.context("Cannot list the repositories")? {
            let name = repo.name.clone();
            if let Err(error) = self.settle_one(repo).await {
                tracing::error!(repo = name.as_str(), "Repository not ready: {error:?}");
            }
        }
        Ok(())
    }

    async fn settle_one(&self, repo: store::Repo) -> Result<(), ToolError> {
        let turn = self.0.turns.at(&repo.name, true).await?;
        turn.with(move |hosted| settle(hosted, &repo)).await
    }

    /// Packs what changes left scattered, from time to time, until it is dropped. It may be dropped at any moment.
    pub(crate) async fn keep_packed(&self) {
        let mut ticks = tokio::time::interval(LOOKS_FOR_SCATTERED_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let repos = match self.0.store.repos().await {
                Ok(repos) => repos,
                Err(error) => {
                    tracing::warn!("Cannot look for repositories to pack: {error}");
                    continue;
                }
            };
            for repo in repos {
                if let Err(error) = self.pack_up(&repo.name).await {
                    let name = repo.name.as_str();
                    tracing::warn!(repo = name, "Repository not packed: {error:?}");
                }
            }
        }
    }

    async fn pack_up(&self, name: &RepoName) -> Result<(), ToolError> {
        let looked = name.clone();
        let scattered = self.blocking(move |open| open.hosted(&looked)?.is_scattered());
        if !scattered.await? {
            return Ok(());
        }
        let turn = self.0.turns.at(name, false).await?;
        turn.with(Hosted::pack_up).await?;
        tracing::info!(repo = name.as_str(), "Repository packed");
        Ok(())
    }

    /// Runs `work` on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OpenRepos) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let open = Arc::clone(&self.0.open);
        let done = tokio::task::spawn_blocking(move || work(&open)).await;
        done.map_err(ToolError::internal)?
            .map_err(|error| refusal(&error))
    }

    fn act(&self, by: Principal) -> Act {
        Act::new(by, self.0.clock.now())
    }

    /// What `caller` may in the repository `name`, or `None` where there is none for them. An agent has its user's role.
    async fn access(
        &self,
        caller: &Caller,
        name: RepoName,
    ) -> Result<Option<RepoAccess>, ToolError> {
        if !caller.reaches(Some(name.as_str())) {
            return Ok(None);
        }
        let user = user_of(caller)?;
        let standing = self.0.store.standing(user, name.clone(), None).await?;
        Ok(standing.repo.map(|role| RepoAccess {
            name,
            role,
            coordinates: standing.coordinates,
        }))
    }

    async fn visible(&self, caller: &Caller) -> Result<Vec<(store::Repo, RepoRole)>, ToolError> {
        let mut visible = self.0.store.readable(user_of(caller)?).await?;
        visible.retain(|(repo, _)| caller.reaches(Some(repo.name.as_str())));
        Ok(visible)
    }

    async fn named(&self, caller: &Caller, given: &str) -> Result<RepoAccess, ToolError> {
        let Ok(name) = given.parse::<RepoName>() else {
            return Err(unknown(given));
        };
        let access = self.access(caller, name).await?;
        access.ok_or_else(|| unknown(given))
    }

    async fn implied(&self, caller: &Caller) -> Result<RepoAccess, ToolError> {
        if let Some(only) = caller.repos.as_ref().filter(|repos| repos.len() == 1)
            && let Some(name) = only.first()
        {
            return self.named(caller, name).await;
        }
        let visible = self.visible(caller).await?;
        // Looked up each time: the workspace may have become a repository since.
        let around = repository_around(&self.0.workspace);
        let own = visible
            .iter()
            .find(|(repo, _)| is_own(around.as_deref(), repo.origin.as_deref()));
        match (own, visible.as_slice()) {
            (Some((repo, _)), _) | (None, [(repo, _)]) => {
                self.named(caller, repo.name.as_str()).await
            }
            (None, []) => Err(ToolError::not_found(format!(
                "There is no repository here that `{}` may see",
                caller.principal
            ))),
            (None, several) => {
                let listed: Vec<&str> = several
                    .iter()
                    .take(MOST_LISTED)
                    .map(|(repo, _)| repo.name.as_str())
                    .collect();
                let more = several.len() - listed.len();
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                Err(ToolError::bad_arguments(format!(
                    "'repo' is required, for several could be meant: {}{more}",
                    listed.join(", ")
                )))
            }
        }
    }

    async fn view(
        &self,
        caller: &Caller,
        repo: &RepoAccess,
        standing: Option<Standing>,
    ) -> Result<RepoView, ToolError> {
        let name = repo.name.clone();
        let kept = self.0.store.repo(name).await?;
        let kept = kept.ok_or_else(|| unknown(repo.name.as_str()))?;
        let standing = match standing {
            Some(standing) => standing,
            None => {
                let name = kept.name.clone();
                self.blocking(move |open| open.opened(&name)?.hosted.standing())
                    .await?
            }
        };
        Ok(RepoView {
            apart: Some(apart(&standing)),
            ..listed(kept, repo.role, caller.operator)
        })
    }

    /// What the operator is told of a repository that they changed.
    async fn view_of_operator(
        &self,
        by: Principal,
        name: &RepoName,
        standing: Standing,
    ) -> Result<RepoView, ToolError> {
        let caller = Caller {
            operator: true,
            ..Caller::new(by)
        };
        let repo = RepoAccess {
            name: name.clone(),
            role: RepoRole::Owner,
            coordinates: true,
        };
        self.view(&caller, &repo, Some(standing)).await
    }

    /// What came of work in the repository `name`: where it was removed meanwhile, what failed on that was no fault, and the
    /// answer is that there is none.
    async fn unless_gone<T>(
        &self,
        name: &RepoName,
        outcome: Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        match outcome {
            Err(error) if matches!(error.kind, ErrorKind::Internal | ErrorKind::Upstream) => {
                match self.0.store.repo(name.clone()).await {
                    Ok(None) => Err(unknown(name.as_str())),
                    _ => Err(error),
                }
            }
            outcome => outcome,
        }
    }

    async fn kept(&self, name: &RepoName) -> Result<store::Repo, ToolError> {
        let kept = self.0.store.repo(name.clone()).await;
        kept?.ok_or_else(|| unknown(name.as_str()))
    }

    async fn added(self, by: Principal, new: NewRepo) -> Result<RepoView, ToolError> {
        let NewRepo {
            name,
            origin,
            public,
        } = new;
        let _turn = self.0.turns.of_name(&name).await;
        let _alone = self.blocking(OpenRepos::alone).await?;
        let known = self.0.store.repos().await?;
        if let Some(taken) = known
            .iter()
            .find(|repo| repo.name.as_str().eq_ignore_ascii_case(name.as_str()))
        {
            return Err(ToolError::conflict(format!(
                "There is a repository `{}` already",
                taken.name
            )));
        }
        let taken = name.clone();
        let (source, standing) = self
            .blocking(move |open| {
                let source = match &origin {
                    Origin::Path(path) => Source::path(path)?,
                    Origin::Url(address) => Source::url(address)?,
                };
                let standing = open.create(&taken, &source)?;
                Ok((source, standing))
            })
            .await?;
        let row = store::NewRepo {
            name: name.clone(),
            public,
            default_branch: standing.branch.clone(),
            head: standing.head.clone(),
            origin: Some(source.address().to_owned()),
        };
        if let Err(error) = self.0.store.add_repo(self.act(by.clone()), row).await {
            // An error may come after the commit: what the store knows keeps its files. Where it does not say, the next try
            // begins anew.
            if let Ok(None) = self.0.store.repo(name.clone()).await {
                let unused = name.clone();
                self.blocking(move |open| open.remove(&unused)).await?;
            }
            return Err(error.into());
        }
        self.view_of_operator(by, &name, standing).await
    }

    async fn synced(
        self,
        by: Principal,
        name: RepoName,
        merge: bool,
    ) -> Result<RepoView, ToolError> {
        let turn = self.0.turns.at(&name, false).await?;
        let kept = self.kept(&name).await?;
        let (hosted, standing) = {
            let (hosted, kept) = (turn.hosted(), kept.clone());
            self.blocking(move |_| {
                settle(&hosted, &kept)?;
                let standing = hosted.fetch_origin()?;
                Ok((hosted, standing))
            })
            .await?
        };
        if standing.has_diverged() && merge {
            let posted = self.ask_to_merge(&by, &name, &hosted, &standing).await?;
            let view = self.view_of_operator(by, &name, standing).await?;
            return Ok(RepoView {
                posted: Some(posted),
                ..view
            });
        }
        if standing.has_diverged() {
            return Err(diverged(
                &standing.branch,
                standing.ahead,
                standing.behind,
                "nothing was changed",
            )
            .hint("`guildhall repo sync --merge` asks somebody to merge the two."));
        }
        let Some(to) = standing.origin_head.clone().filter(|_| standing.behind > 0) else {
            return self.view_of_operator(by, &name, standing).await;
        };
        // What the store says holds; the branch follows.
        let act = self.act(by.clone());
        let moved = self.0.store.move_head(act, name.clone(), kept.head, to);
        let moved = moved.await?;
        let standing = self
            .blocking(move |_| {
                settle(&hosted, &moved)?;
                hosted.standing()
            })
            .await?;
        self.view_of_operator(by, &name, standing).await
    }

    /// Posts the ask to merge the origin's branch, unless that was asked for and is not answered yet. Gives its id.
    async fn ask_to_merge(
        &self,
        by: &Principal,
        name: &RepoName,
        hosted: &Arc<Hosted>,
        standing: &Standing,
    ) -> Result<String, ToolError> {
        let theirs = standing.origin_head.clone().unwrap_or_default();
        let (kept, conflicts) = {
            let (hosted, theirs) = (Arc::clone(hosted), theirs.clone());
            self.blocking(move |_| Ok((hosted.kept_merges()?, hosted.conflicts_with(&theirs)?)))
                .await?
        };
        for (id, _) in kept.iter().filter(|(_, commit)| *commit == theirs) {
            let ask = self.0.store.ask(name.clone(), id.clone()).await?;
            if ask.is_some_and(|ask| ask.state != AskState::Answered) {
                return Ok(id.clone());
            }
        }
        let files: Vec<String> = conflicts.iter().flat_map(Conflicts::paths).collect();
        let ask = NewAsk {
            repo: name.clone(),
            fresh: Fresh::draw(&*self.0.ids),
            lane: OWN_LANE.to_owned(),
            kind: AskKind::ResolveConflict,
            title: format!("Merge `{}` of the origin", standing.branch),
            body: what_to_merge(standing, &files),
            depends_on: Vec::new(),
            priority: 0,
            scope: None,
            files: files.into_iter().take(MOST_LISTED).collect(),
            changeset: None,
            // What the operator asks for themselves is under no quota.
            most_open: u32::MAX,
        };
        let posted = self.0.store.post_merge(self.act(by.clone()), ask).await?;
        let (hosted, id) = (Arc::clone(hosted), posted.id.clone());
        self.blocking(move |_| hosted.keep_merge(&id)).await?;
        Ok(posted.id)
    }

    async fn pushed(self, by: Principal, name: RepoName) -> Result<RepoView, ToolError> {
        let turn = self.0.turns.at(&name, false).await?;
        let kept = self.kept(&name).await?;
        let hosted = turn.hosted();
        let standing = self
            .blocking(move |_| {
                settle(&hosted, &kept)?;
                hosted.push()
            })
            .await?;
        self.view_of_operator(by, &name, standing).await
    }

    async fn removed(self, by: Principal, name: RepoName) -> Result<(), ToolError> {
        let _turn = self.0.turns.of_name(&name).await;
        let _alone = self.blocking(OpenRepos::alone).await?;
        let act = self.act(by);
        let removed = self.0.store.remove_repo(act, name.clone()).await;
        removed?;
        self.blocking(move |open| open.remove(&name)).await
    }
}

/// Runs `work` to its end even if its caller goes away: a repository is never left half changed.
fn whole<T: Send + 'static>(
    work: impl Future<Output = Result<T, ToolError>> + Send + 'static,
) -> BoxFuture<'static, Result<T, ToolError>> {
    let running = tokio::spawn(work);
    Box::pin(async move { running.await.map_err(ToolError::internal)? })
}

impl RepoResolver for HostedRepos {
    fn resolve<'a>(
        &'a self,
        caller: &'a Caller,
        wanted: WantedRepo<'a>,
    ) -> BoxFuture<'a, Result<RepoAccess, ToolError>> {
        Box::pin(async move {
            match wanted {
                WantedRepo::Named(name) => self.named(caller, name).await,
                WantedRepo::Implied => self.implied(caller).await,
            }
        })
    }
}

impl RepoHost for HostedRepos {
    fn tools(&self) -> Arc<Mounted> {
        Arc::clone(&self.0.tools)
    }

    fn list<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<Vec<RepoView>, ToolError>> {
        Box::pin(async move {
            let visible = self.visible(caller).await?;
            let views = visible
                .into_iter()
                .map(|(repo, role)| listed(repo, role, caller.operator));
            Ok(views.collect())
        })
    }

    fn show<'a>(
        &'a self,
        caller: &'a Caller,
        repo: &'a RepoAccess,
    ) -> BoxFuture<'a, Result<RepoView, ToolError>> {
        Box::pin(async move {
            let shown = self.view(caller, repo, None).await;
            self.unless_gone(&repo.name, shown).await
        })
    }

    fn add(&self, by: Principal, new: NewRepo) -> BoxFuture<'_, Result<RepoView, ToolError>> {
        whole(self.clone().added(by, new))
    }

    fn sync(
        &self,
        by: Principal,
        name: RepoName,
        merge: bool,
    ) -> BoxFuture<'_, Result<RepoView, ToolError>> {
        let this = self.clone();
        whole(async move {
            let synced = this.clone().synced(by, name.clone(), merge).await;
            this.unless_gone(&name, synced).await
        })
    }

    fn push(&self, by: Principal, name: RepoName) -> BoxFuture<'_, Result<RepoView, ToolError>> {
        let this = self.clone();
        whole(async move {
            let pushed = this.clone().pushed(by, name.clone()).await;
            this.unless_gone(&name, pushed).await
        })
    }

    fn remove(&self, by: Principal, name: RepoName) -> BoxFuture<'_, Result<(), ToolError>> {
        whole(self.clone().removed(by, name))
    }

    fn advertise<'a>(
        &'a self,
        repo: &'a RepoAccess,
        protocol: Option<String>,
    ) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        Box::pin(async move {
            let name = repo.name.clone();
            let advertised = self
                .blocking(move |open| {
                    let hosted = open.opened(&name)?.hosted;
                    hosted.advertise_refs(protocol.as_deref())
                })
                .await;
            self.unless_gone(&repo.name, advertised).await
        })
    }

    fn upload_pack<'a>(
        &'a self,
        repo: &'a RepoAccess,
        protocol: Option<String>,
        request: Vec<u8>,
    ) -> BoxFuture<'a, Result<PackStream, ToolError>> {
        Box::pin(async move {
            let name = repo.name.clone();
            let opened = self
                .blocking(move |open| Ok(open.opened(&name)?.hosted))
                .await;
            let hosted = self.unless_gone(&repo.name, opened).await?;
            let pack = hosted
                .upload_pack(protocol.as_deref(), std::io::Cursor::new(request))
                .map_err(|error| refusal(&error))?;
            Ok(Box::pin(pack) as PackStream)
        })
    }
}

/// Moves the branch to the head that the store has.
fn settle(hosted: &Hosted, kept: &store::Repo) -> Result<(), GitError> {
    kept.head
        .as_deref()
        .map_or(Ok(()), |head| hosted.follow(head))
}

/// What whoever merges the origin's branch is told.
fn what_to_merge(standing: &Standing, conflicts: &[String]) -> String {
    use std::fmt::Write as _;

    let head = standing.head.as_deref().unwrap_or_default();
    let theirs = standing.origin_head.as_deref().unwrap_or_default();
    let mut told = format!(
        "`{}` is at {head} here and at {theirs} at its origin: {} commits of ours and {} of theirs have to come together.\n\n",
        standing.branch, standing.ahead, standing.behind
    );
    if conflicts.is_empty() {
        told.push_str("Nothing is in conflict: answer with a changeset of any one file as it is.");
    } else {
        let listed: Vec<String> = conflicts
            .iter()
            .take(MOST_LISTED)
            .map(|path| format!("`{path}`"))
            .collect();
        told.push_str("In conflict: ");
        told.push_str(&listed.join(", "));
        if conflicts.len() > MOST_LISTED {
            let _ = write!(told, " and {} more", conflicts.len() - MOST_LISTED);
        }
        told.push_str(
            ". Answer with a changeset that says of each of them what it shall be; everything else is merged when it lands.",
        );
    }
    let _ = write!(told, " Its base_commit is {head}.");
    told
}

/// The git repository that `workspace` is in: the nearest folder upwards that git would take for one.
pub(crate) fn repository_around(workspace: &Path) -> Option<PathBuf> {
    let full = workspace.canonicalize().ok()?;
    let around = full
        .ancestors()
        .find(|folder| folder.join(".git").exists())?;
    Some(around.to_owned())
}

/// Whether a repository that came from `origin` is the one `around` the workspace.
pub(crate) fn is_own(around: Option<&Path>, origin: Option<&str>) -> bool {
    let (Some(around), Some(origin)) = (around, origin) else {
        return false;
    };
    Path::new(origin) == around || Path::new(origin) == around.join(".git")
}

fn listed(repo: store::Repo, role: RepoRole, to_operator: bool) -> RepoView {
    RepoView {
        repo: repo.name,
        public: repo.public,
        role: role.name(),
        default_branch: repo.default_branch,
        head: repo.head,
        origin: repo.origin.filter(|_| to_operator),
        apart: None,
        posted: None,
    }
}

fn apart(standing: &Standing) -> Apart {
    Apart {
        origin_head: standing.origin_head.clone(),
        ahead: standing.ahead,
        behind: standing.behind,
    }
}

/// The person behind a caller; `None` for one without a token.
fn user_of(caller: &Caller) -> Result<Option<Principal>, ToolError> {
    if caller.is_anybody() {
        return Ok(None);
    }
    let user = Principal::user(caller.principal.user_address());
    user.map(Some).map_err(ToolError::internal)
}

/// The same words whether there is none of that name or the caller may not see it.
fn unknown(given: &str) -> ToolError {
    let shown: String = given.chars().take(80).collect();
    ToolError::not_found(format!("There is no repository `{shown}`"))
}

fn diverged(branch: &str, ahead: usize, behind: usize, so: &str) -> ToolError {
    ToolError::conflict(format!(
        "`{branch}` is {ahead} ahead and {behind} behind its origin: {so}"
    ))
    .detail("ahead", ahead)
    .detail("behind", behind)
}

/// What git says to the operator, or to somebody who clones.
fn refusal(error: &GitError) -> ToolError {
    match error {
        GitError::Diverged {
            branch,
            ahead,
            behind,
        } => diverged(branch, *ahead, *behind, "nothing was sent, sync first"),
        GitError::Alternates { .. } => ToolError::bad_arguments(error.to_string()),
        // What the operator is to install is no secret of the server's.
        GitError::NotInstalled(_)
        | GitError::TooOld { .. }
        | GitError::Failed { .. }
        | GitError::TimedOut { .. } => ToolError::new(ErrorKind::Upstream, error.to_string()),
        error if error.is_callers_fault() => ToolError::bad_arguments(error.to_string()),
        error => ToolError::internal(format!("{error:?}")),
    }
}
