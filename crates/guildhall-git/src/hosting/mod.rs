//! The repositories the server hosts: bare, below one directory, with a configuration written by us.

mod packing;
mod serve;
mod source;
mod turn;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::ObjectId;
use guildhall_core::RepoName;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command::{Config, Git, GitCommand, Limits};
use crate::error::GitError;
use crate::repository::{Repository, refuse_alternates};
pub use serve::UploadPack;
pub use source::Source;
pub use turn::Turn;

/// The configuration of every hosted repository, whole.
///
/// It is written again whenever a repository is opened and differs, so that nothing anybody put there is ever honoured.
const CONFIG: &str = "[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logAllRefUpdates = false
	hooksPath = /dev/null
	protectHFS = true
	protectNTFS = true
	bigFileThreshold = 32m
[uploadpack]
	allowFilter = true
	hideRefs = refs/remotes
	hideRefs = refs/guildhall
[pack]
	threads = 1
	windowMemory = 64m
[gc]
	auto = 0
";

/// The file that says where a repository came from; our own, for git is always told the address itself.
const ORIGIN: &str = "guildhall-origin";
/// Where the commits are kept that somebody was asked to merge, each under the ask's id.
const MERGES: &str = "refs/guildhall/merges";
/// Where the origin's branches are kept.
const TRACKED: &str = "refs/remotes/origin";
/// What a fetch or a push may take.
const NETWORK: Limits = Limits {
    time: Duration::from_hours(1),
    output: 64 * 1024 * 1024,
};

/// The directory of the hosted repositories and the `git` that serves them.
#[derive(Clone, Debug)]
pub struct Hosting {
    git: Git,
    root: PathBuf,
}

/// A hosted repository.
#[derive(Debug)]
pub struct Hosted {
    git: Git,
    repository: Repository,
    source: Source,
}

/// How the default branch stands to the origin's, as last fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Standing {
    /// The default branch.
    pub branch: String,
    /// The full id of its tip; none while it has no commit.
    pub head: Option<String>,
    /// The full id of the tip of the origin's branch of that name; none when it has no such branch.
    pub origin_head: Option<String>,
    /// How many commits the origin lacks.
    pub ahead: usize,
    /// How many commits the origin has on top.
    pub behind: usize,
}

impl Standing {
    /// Whether both moved, so that neither can be brought to the other without a merge.
    pub fn has_diverged(&self) -> bool {
        self.ahead > 0 && self.behind > 0
    }
}

impl Hosting {
    /// Hosts repositories below `root`, which is made when the first repository is.
    pub fn new(git: Git, root: impl Into<PathBuf>) -> Self {
        Self {
            git,
            root: root.into(),
        }
    }

    fn dir(&self, name: &RepoName) -> PathBuf {
        self.root
            .join(name.owner())
            .join(format!("{}.git", name.name()))
    }

    /// Takes in the repository at `source` under `name`: all branches and tags, with the default branch of the source, or
    /// `main` where its `HEAD` is detached or it is empty. It appears whole or not at all.
    ///
    /// # Errors
    /// [`GitError::BadArgument`] when the name is taken, [`GitError::Alternates`] for a directory that borrows objects, and
    /// what git says of a source that cannot be fetched.
    pub fn create(&self, name: &RepoName, source: &Source) -> Result<Hosted, GitError> {
        let dir = self.dir(name);
        let taken = || GitError::BadArgument(format!("There is a repository `{name}` already"));
        if dir.symlink_metadata().is_ok() {
            return Err(taken());
        }
        source.check(&self.git)?;
        let owner_dir = self.root.join(name.owner());
        fs::create_dir_all(&owner_dir).map_err(io_error("create", &owner_dir))?;
        // Hidden and named like no repository can be.
        let unfinished = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&owner_dir)
            .map_err(io_error("create a directory in", &owner_dir))?;
        let hosted = self.fill(unfinished.path(), source)?;
        drop(hosted);
        fs::rename(unfinished.path(), &dir).map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => taken(),
            _ => io_error("create", &dir)(error),
        })?;
        // What was made is no longer temporary.
        let _ = unfinished.keep();
        self.open(name)
    }

    /// Makes the repository of `source` in the empty directory `dir`.
    fn fill(&self, dir: &Path, source: &Source) -> Result<Hosted, GitError> {
        self.git
            .command(Config::Isolated, "init")
            .args(["--quiet", "--bare", "--template=", "--initial-branch=main"])
            .arg("--end-of-options")
            .arg(dir)
            .run(&Limits::SHORT)?;
        write_if_other(&dir.join(ORIGIN), &source.to_line())?;
        let hosted = self.open_at(dir)?;
        let head = hosted.fetch()?;
        let branch = match &head {
            OriginHead::Branch(branch) => branch.clone(),
            OriginHead::Detached(_) | OriginHead::None => "main".to_owned(),
        };
        hosted.point_head_at(&branch)?;
        if let OriginHead::Detached(id) = head {
            hosted.set_ref(&format!("refs/heads/{branch}"), id)?;
        } else if let Some(id) = hosted.tracked(&branch)? {
            hosted.set_ref(&format!("refs/heads/{branch}"), id)?;
        }
        hosted.follow_other_branches()?;
        Ok(hosted)
    }

    /// Opens a hosted repository by its exact name.
    ///
    /// # Errors
    /// [`GitError::NotARepository`] when there is none, [`GitError::Alternates`].
    pub fn open(&self, name: &RepoName) -> Result<Hosted, GitError> {
        self.open_at(&self.dir(name))
    }

    fn open_at(&self, dir: &Path) -> Result<Hosted, GitError> {
        let line =
            fs::read_to_string(dir.join(ORIGIN)).map_err(|error| GitError::NotARepository {
                path: dir.to_owned(),
                reason: format!("its `{ORIGIN}` cannot be read: {error}"),
            })?;
        restore_our_own(dir)?;
        Ok(Hosted {
            git: self.git.clone(),
            repository: Repository::open(dir)?,
            source: Source::from_line(&line)?,
        })
    }

    /// Deletes a hosted repository.
    ///
    /// # Errors
    /// [`GitError::Io`].
    pub fn remove(&self, name: &RepoName) -> Result<(), GitError> {
        let dir = self.dir(name);
        // First out of sight, so that nobody opens half a repository.
        let gone = dir.with_file_name(format!(".gone-{}", name.name()));
        fs::rename(&dir, &gone).map_err(io_error("remove", &dir))?;
        fs::remove_dir_all(&gone).map_err(io_error("remove", &gone))
    }
}

/// Brings the files that git takes instructions from back to what we wrote.
fn restore_our_own(dir: &Path) -> Result<(), GitError> {
    write_if_other(&dir.join("config"), CONFIG)?;
    for name in [
        "config.worktree",
        "info/attributes",
        "info/grafts",
        "info/exclude",
    ] {
        let path = dir.join(name);
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).map_err(io_error("remove", &path))?;
        }
    }
    refuse_alternates(dir)
}

fn write_if_other(path: &Path, content: &str) -> Result<(), GitError> {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_file && fs::read(path).is_ok_and(|found| found == content.as_bytes()) {
        return Ok(());
    }
    let dir = path.parent().unwrap_or(path);
    let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
        io::Write::write_all(&mut file, content.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    });
    written.map(drop).map_err(io_error("write", path))
}

pub(crate) fn io_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> GitError + use<'a> {
    move |source| GitError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

/// What the origin's `HEAD` is.
enum OriginHead {
    Branch(String),
    Detached(ObjectId),
    /// It has no commit yet.
    None,
}

impl Hosted {
    /// What can be read.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Where it came from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// How it stands to the origin, as of the last fetch.
    ///
    /// # Errors
    /// [`GitError::Damaged`] and [`GitError::Failed`].
    pub fn standing(&self) -> Result<Standing, GitError> {
        let branch = self.default_branch()?;
        let head = self.repository.tip()?;
        let origin_head = self.tracked(&branch)?;
        let (ahead, behind) = self.count_apart(head, origin_head)?;
        Ok(Standing {
            branch,
            head: head.map(|id| id.to_string()),
            origin_head: origin_head.map(|id| id.to_string()),
            ahead,
            behind,
        })
    }

    /// Fetches the origin and brings every branch but the default one to it; then the default branch too, when it has
    /// nothing of its own. When both moved nothing is changed, and the answer says by how much.
    ///
    /// # Errors
    /// What git says of an origin that cannot be fetched.
    pub fn sync(&self) -> Result<Standing, GitError> {
        let standing = self.fetch_origin()?;
        if standing.behind > 0
            && standing.ahead == 0
            && let Some(id) = self.tracked(&standing.branch)?
        {
            self.move_default_branch(self.repository.tip()?, id)?;
            return self.standing();
        }
        Ok(standing)
    }

    /// Fetches the origin and brings every branch but the default one to it; the default branch stays.
    ///
    /// # Errors
    /// What git says of an origin that cannot be fetched.
    pub fn fetch_origin(&self) -> Result<Standing, GitError> {
        self.fetch()?;
        self.follow_other_branches()?;
        self.standing()
    }

    /// Moves the default branch to `new` if it is still at `expected` (`None`: if it has no commit).
    ///
    /// # Errors
    /// [`GitError::BadArgument`] when `new` is no commit here, [`GitError::Damaged`] when the branch is elsewhere by now.
    pub fn move_default_branch(
        &self,
        expected: Option<ObjectId>,
        new: ObjectId,
    ) -> Result<(), GitError> {
        let branch = self.default_branch()?;
        self.repository
            .move_ref(&format!("refs/heads/{branch}"), expected, new)
    }

    /// Brings the default branch to `head`, the full id of the commit that it is said to be at elsewhere.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when there is no such commit, or somebody else moved the branch just now.
    pub fn follow(&self, head: &str) -> Result<(), GitError> {
        let tip = self.repository.tip()?;
        let wanted = full_id(head)?;
        if tip == Some(wanted) {
            return Ok(());
        }
        self.move_default_branch(tip, wanted)
    }

    /// Keeps what the ask `ask` is to merge: the tip of the origin's default branch, as last fetched.
    ///
    /// # Errors
    /// [`GitError::BadArgument`] where the origin has no such branch, or `ask` cannot name it.
    pub fn keep_merge(&self, ask: &str) -> Result<(), GitError> {
        let branch = self.default_branch()?;
        let Some(id) = self.tracked(&branch)? else {
            return Err(GitError::BadArgument(format!(
                "The origin has no branch `{branch}`"
            )));
        };
        self.set_ref(&merge_ref(ask)?, id)
    }

    /// The full id of the commit that the ask `ask` is to merge, if it is to merge one.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn kept_merge(&self, ask: &str) -> Result<Option<String>, GitError> {
        let kept = self.repository.ref_target(&merge_ref(ask)?)?;
        Ok(kept.map(|id| id.to_string()))
    }

    /// Every ask that was to merge a commit, with the full id of the commit.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn kept_merges(&self) -> Result<Vec<(String, String)>, GitError> {
        let kept = self.repository.refs_below(&format!("{MERGES}/"))?;
        Ok(kept
            .into_iter()
            .filter_map(|(name, id)| {
                let (_, ask) = name.rsplit_once('/')?;
                Some((ask.to_owned(), id.to_string()))
            })
            .collect())
    }

    /// Whether `later` is `earlier` or comes after it.
    pub(crate) fn is_ancestor(&self, earlier: ObjectId, later: ObjectId) -> Result<bool, GitError> {
        let (code, _) = self
            .git
            .command(Config::Isolated, "merge-base")
            .repository(self.repository.dir())
            .args(["--is-ancestor", "--end-of-options"])
            .args([earlier.to_string(), later.to_string()])
            .run_to_code(&Limits::SHORT, &[0, 1])?;
        Ok(code == 0)
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Sends the default branch to the origin, with the operator's own credentials, if the origin only has to be moved
    /// forward. The answer tells how things stood before: `ahead` commits were sent.
    ///
    /// # Errors
    /// [`GitError::Diverged`] when the origin has commits of its own, and what git says of an origin that refuses.
    pub fn push(&self) -> Result<Standing, GitError> {
        let standing = self.fetch_origin()?;
        if standing.behind > 0 {
            return Err(GitError::Diverged {
                branch: standing.branch,
                ahead: standing.ahead,
                behind: standing.behind,
            });
        }
        let Some(head) = standing.head.as_deref().filter(|_| standing.ahead > 0) else {
            return Ok(standing);
        };
        let branch = &standing.branch;
        self.toward_origin("push", "--receive-pack", source::RECEIVE_PACK)
            .args(["--quiet", "--no-verify", "--no-signed", "--end-of-options"])
            .arg(self.source.address())
            .arg(format!("{head}:refs/heads/{branch}"))
            .run(&NETWORK)?;
        if let Ok(id) = ObjectId::from_hex(head.as_bytes()) {
            self.set_ref(&format!("{TRACKED}/{branch}"), id)?;
        }
        Ok(standing)
    }

    fn default_branch(&self) -> Result<String, GitError> {
        let branch = self.repository.default_branch()?;
        Ok(branch.unwrap_or_else(|| "main".to_owned()))
    }

    /// A command that talks to the origin. A local origin runs the other half of git with its own configuration: `option`
    /// gives that half our settings, for git passes none on.
    fn toward_origin(&self, action: &str, option: &str, other_half: &str) -> GitCommand {
        let config = if self.source.is_path() {
            Config::Isolated
        } else {
            Config::Operator
        };
        let command = self
            .git
            .command(config, action)
            .repository(self.repository.dir())
            .env("GIT_ALLOW_PROTOCOL", self.source.protocols());
        if self.source.is_path() {
            command.arg(format!("{option}={other_half}"))
        } else {
            command
        }
    }

    /// Fetches the origin's branches and tags, and tells its `HEAD`.
    fn fetch(&self) -> Result<OriginHead, GitError> {
        let printed = self
            .toward_origin("ls-remote", "--upload-pack", source::UPLOAD_PACK)
            .args(["--symref", "--end-of-options"])
            .arg(self.source.address())
            .arg("HEAD")
            .run(&NETWORK)?;
        let head = origin_head(&String::from_utf8_lossy(&printed));
        let mut fetch = self
            .toward_origin("fetch", "--upload-pack", source::UPLOAD_PACK)
            .args([
                "--quiet",
                "--prune",
                "--no-tags",
                "--no-auto-maintenance",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
                "--update-shallow",
                "--end-of-options",
            ])
            .arg(self.source.address())
            .arg(format!("+refs/heads/*:{TRACKED}/*"))
            .arg("+refs/tags/*:refs/tags/*");
        if let OriginHead::Detached(_) = head {
            fetch = fetch.arg("+HEAD:refs/remotes/detached/HEAD");
        }
        fetch.run(&NETWORK)?;
        Ok(head)
    }

    /// The tip of the origin's `branch`, as last fetched.
    fn tracked(&self, branch: &str) -> Result<Option<ObjectId>, GitError> {
        self.repository.ref_target(&format!("{TRACKED}/{branch}"))
    }

    /// Brings every branch but the default one to the origin's, for nobody writes those here.
    fn follow_other_branches(&self) -> Result<(), GitError> {
        let default = format!("refs/heads/{}", self.default_branch()?);
        let tracked = self.repository.refs_below(&format!("{TRACKED}/"))?;
        let mut wanted: Vec<(String, ObjectId)> = tracked
            .into_iter()
            .filter_map(|(name, id)| {
                let branch = name.strip_prefix(TRACKED)?;
                Some((format!("refs/heads{branch}"), id))
            })
            .filter(|(name, _)| *name != default)
            .collect();
        let mut gone = Vec::new();
        for (name, id) in self.repository.refs_below("refs/heads/")? {
            match wanted.iter().position(|(other, _)| *other == name) {
                Some(at) if wanted[at].1 == id => drop(wanted.swap_remove(at)),
                Some(_) => {}
                None if name == default => {}
                None => gone.push(format!("delete {name}\0\0")),
            }
        }
        // First what is gone: a branch `a` must go before `a/b` can come.
        self.update_refs(gone.concat())?;
        let updates = wanted
            .iter()
            .map(|(name, id)| format!("update {name}\0{id}\0\0"));
        self.update_refs(updates.collect())
    }

    fn point_head_at(&self, branch: &str) -> Result<(), GitError> {
        self.git
            .command(Config::Isolated, "symbolic-ref")
            .repository(self.repository.dir())
            .args(["HEAD", &format!("refs/heads/{branch}")])
            .run(&Limits::SHORT)
            .map(drop)
    }

    /// Sets a ref, wherever it stands.
    fn set_ref(&self, name: &str, id: ObjectId) -> Result<(), GitError> {
        self.update_refs(format!("update {name}\0{id}\0\0"))
    }

    /// Runs a script of `git update-ref --stdin -z`, all or none.
    fn update_refs(&self, script: String) -> Result<(), GitError> {
        if script.is_empty() {
            return Ok(());
        }
        self.git
            .command(Config::Isolated, "update-ref")
            .repository(self.repository.dir())
            .args(["--no-deref", "--stdin", "-z"])
            .run_with_input(&Limits::SHORT, script.into_bytes())
            .map(drop)
    }

    /// How many commits either side has that the other lacks.
    fn count_apart(
        &self,
        ours: Option<ObjectId>,
        theirs: Option<ObjectId>,
    ) -> Result<(usize, usize), GitError> {
        let range = match (ours, theirs) {
            (None, None) => return Ok((0, 0)),
            (Some(ours), Some(theirs)) => format!("{ours}...{theirs}"),
            (Some(only), None) | (None, Some(only)) => only.to_string(),
        };
        let printed = self
            .git
            .command(Config::Isolated, "rev-list")
            .repository(self.repository.dir())
            .args(["--count", "--left-right", "--end-of-options", &range])
            .run(&Limits::SHORT)?;
        let text = String::from_utf8_lossy(&printed);
        let counts: Vec<usize> = text.split_whitespace().flat_map(str::parse).collect();
        Ok(match (ours, theirs, &counts[..]) {
            // A single side is counted on the right by git, whichever it is.
            (Some(_), None, [left, right]) => (left + right, 0),
            (None, Some(_), [left, right]) => (0, left + right),
            (_, _, [left, right]) => (*left, *right),
            _ => {
                return Err(GitError::Damaged {
                    what: "The history".into(),
                    reason: format!("git counted {text:?}"),
                });
            }
        })
    }
}

/// The id that a text is, which we wrote ourselves.
pub(crate) fn full_id(text: &str) -> Result<ObjectId, GitError> {
    ObjectId::from_hex(text.as_bytes()).map_err(|_| GitError::Damaged {
        what: "The head".to_owned(),
        reason: format!("`{text}` is no commit's id"),
    })
}

fn merge_ref(ask: &str) -> Result<String, GitError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if ask.is_empty() || !ask.bytes().all(plain) {
        let shown: String = ask.chars().take(80).collect();
        return Err(GitError::BadArgument(format!("`{shown}` names no ask")));
    }
    Ok(format!("{MERGES}/{ask}"))
}

/// Reads what `git ls-remote --symref <origin> HEAD` prints.
fn origin_head(printed: &str) -> OriginHead {
    let mut head = OriginHead::None;
    for line in printed.lines() {
        let Some((target, "HEAD")) = line.split_once('\t') else {
            continue;
        };
        if let Some(branch) = target.strip_prefix("ref: refs/heads/") {
            return OriginHead::Branch(branch.to_owned());
        }
        if let Ok(id) = ObjectId::from_hex(target.as_bytes()) {
            head = OriginHead::Detached(id);
        }
    }
    head
}
