//! How fast reading is beside `git` itself doing the same work, in one run on one machine.
//!
//! Diffs and pages of the log run against one long-lived child of git each (`git diff-tree --stdin`, `git cat-file --batch`), so
//! that no process start is counted on its side. The full log runs against `git log`. Prints medians and peak memory.
//! `cargo bench -p guildhall-git --bench git [-- <commits> ...]`; the default sizes are 1,000, 10,000 and 100,000.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot work has no figures"
)]

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use guildhall_git::{DiffRequest, LogPosition, LogRequest, Order, Repository};

#[path = "../tests/it/script.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod script;

use script::{git, long_history, plain_git};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const DIFFS: usize = 300;
const PAGES: usize = 60;
const PAGE: usize = 100;

/// What this program is told to do as its own child: to read one repository's whole log and say how much memory it took.
const LOG_OF: &str = "--log-of";

fn main() {
    let mut args = std::env::args().skip_while(|arg| arg != LOG_OF).skip(1);
    if let Some(dir) = args.next() {
        return log_of(Path::new(&dir));
    }
    let named: Vec<usize> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let sizes = if named.is_empty() {
        SIZES.to_vec()
    } else {
        named
    };
    for commits in sizes {
        let dir = tempfile::tempdir().unwrap();
        long_history(commits, 7).into_repository(dir.path());
        println!(
            "{commits} commits written, of which the main branch has {}",
            ids(dir.path()).len()
        );
        forget_peak();
        diffs(dir.path());
        pages(dir.path());
        full_log(dir.path());
        memory_of_a_full_log(dir.path());
        println!(
            "  peak memory of this process while reading: {} MiB",
            memory("VmHWM:")
        );
    }
}

fn ids(dir: &Path) -> Vec<String> {
    let printed = git(dir, ["rev-list", "main"]);
    String::from_utf8(printed)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// One commit's whole diff, with renames and hunks.
fn diffs(dir: &Path) {
    let repository = Repository::open(dir).unwrap();
    let all = ids(dir);
    let sample: Vec<&String> = all.iter().step_by((all.len() / DIFFS).max(1)).collect();
    let mut child = Talker::start(
        dir,
        &[
            "diff-tree",
            "--stdin",
            "--root",
            "-m",
            "--first-parent",
            "-r",
            "-M",
            "-p",
            "--raw",
        ],
    );
    // Both sides read the packs once before the clock runs.
    for round in 0..2 {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for id in &sample {
            let parent = repository.commit(id).unwrap().parents.first().cloned();
            let request = DiffRequest {
                max_bytes: usize::MAX,
                ..DiffRequest::of(id.as_str())
            };
            ours.push(time(|| {
                // Its answer's text is part of the work: git prints its own.
                serde_json::to_vec(&repository.diff(&request).unwrap()).unwrap()
            }));
            let line = [id.as_str(), parent.as_deref().unwrap_or("")].join(" ");
            theirs.push(time(|| child.ask_until_echo(line.trim_end())));
        }
        if round == 1 {
            report("median diff", &mut ours, &mut theirs);
        }
    }
}

/// A page of a hundred commits, once the order is known.
fn pages(dir: &Path) {
    let repository = Repository::open(dir).unwrap();
    let all = ids(dir);
    let pages = (all.len() / PAGE).max(1);
    let mut child = Talker::start(dir, &["cat-file", "--batch"]);
    repository
        .log(&LogRequest {
            limit: 1,
            ..LogRequest::default()
        })
        .unwrap();
    for round in 0..2 {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for page in (0..pages).step_by((pages / PAGES).max(1)) {
            let offset = page * PAGE;
            let position = LogPosition {
                tip: all[0].clone(),
                offset,
            };
            let request = LogRequest {
                order: Order::Newest,
                limit: PAGE,
                position: Some(position),
                ..LogRequest::default()
            };
            ours.push(time(|| {
                serde_json::to_vec(&repository.log(&request).unwrap()).unwrap()
            }));
            let wanted = &all[offset..(offset + PAGE).min(all.len())];
            theirs.push(time(|| {
                wanted
                    .iter()
                    .map(|id| child.ask_object(id).len())
                    .sum::<usize>()
            }));
        }
        if round == 1 {
            report("page of 100 commits", &mut ours, &mut theirs);
        }
    }
}

/// The log of the whole branch: the first time with the walk, then with the order known.
fn full_log(dir: &Path) {
    let (mut first, mut again, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        let repository = Repository::open(dir).unwrap();
        let request = LogRequest {
            limit: usize::MAX,
            max_bytes: usize::MAX,
            ..LogRequest::default()
        };
        first.push(time(|| repository.log(&request).unwrap()));
        again.push(time(|| repository.log(&request).unwrap()));
        let args = [
            "log",
            "--reverse",
            "--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B",
        ];
        theirs.push(time(|| git(dir, args)));
    }
    report("full log, first time", &mut first, &mut theirs);
    report("full log, order known", &mut again, &mut theirs);
}

/// How much memory a process takes that reads the whole log, as a server answers it: in pages, each written out and let
/// go. Beside it stands what the history itself takes on the disk and as text.
fn memory_of_a_full_log(dir: &Path) {
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program).arg(LOG_OF).arg(dir).output().unwrap();
    assert!(child.status.success(), "{child:?}");
    println!(
        "  memory of a full log: {}; the history is {} MiB of packs",
        String::from_utf8_lossy(&child.stdout).trim(),
        packs(dir) >> 20
    );
}

/// The bytes of a repository's packs.
fn packs(dir: &Path) -> u64 {
    let packs = std::fs::read_dir(dir.join("objects/pack")).unwrap();
    packs
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}

/// Reads the whole log in pages of as many commits as plain HTTP gives, and prints what that took.
fn log_of(dir: &Path) {
    const LARGEST_PAGE: usize = 10_000;
    let repository = Repository::open(dir).unwrap();
    let (mut commits, mut bytes, mut position) = (0, 0, None);
    let mut own = 0;
    loop {
        let request = LogRequest {
            limit: LARGEST_PAGE,
            max_bytes: usize::MAX,
            position,
            ..LogRequest::default()
        };
        let page = repository.log(&request).unwrap();
        commits += page.commits.len();
        let written = serde_json::to_vec(&page).unwrap();
        // While the page and its text are there.
        own = own.max(memory("RssAnon:"));
        bytes += written.len();
        position = page.next;
        if position.is_none() {
            break;
        }
    }
    println!(
        "{own} MiB of its own at most, {} MiB with the packs it maps, for {commits} commits of {} MiB of text",
        memory("VmHWM:"),
        bytes >> 20
    );
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn report(what: &str, ours: &mut [Duration], theirs: &mut [Duration]) {
    ours.sort_unstable();
    theirs.sort_unstable();
    let (mid, git_mid) = (ours[ours.len() / 2], theirs[theirs.len() / 2]);
    println!(
        "  {what:<22} {mid:>9.1?} (worst {:.1?}), git {git_mid:>9.1?} (worst {:.1?}): {:.2} of git's time",
        ours[ours.len() - 1],
        theirs[theirs.len() - 1],
        mid.as_secs_f64() / git_mid.as_secs_f64(),
    );
}

/// Begins to count the peak anew, for writing the history took memory too.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Memory of this process in MiB, as the system names it: `VmHWM:` is the most it had, `RssAnon:` what it has that is no
/// mapped file.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// A child of git that answers questions one after the other.
struct Talker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Talker {
    fn start(dir: &Path, args: &[&str]) -> Self {
        let mut child = plain_git(dir)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            to: child.stdin.take().unwrap(),
            from: BufReader::with_capacity(1 << 16, child.stdout.take().unwrap()),
            child,
        }
    }

    /// Asks `diff-tree` for a commit and then for something that it only repeats, which marks the end of its answer.
    fn ask_until_echo(&mut self, line: &str) -> Vec<u8> {
        const ECHO: &[u8] = b"the end\n";
        writeln!(self.to, "{line}\nthe end").unwrap();
        self.to.flush().unwrap();
        let mut answer = Vec::new();
        loop {
            let start = answer.len();
            self.from.read_until(b'\n', &mut answer).unwrap();
            if &answer[start..] == ECHO {
                return answer;
            }
        }
    }

    /// Asks `cat-file --batch` for an object.
    fn ask_object(&mut self, id: &str) -> Vec<u8> {
        writeln!(self.to, "{id}").unwrap();
        self.to.flush().unwrap();
        let mut header = String::new();
        self.from.read_line(&mut header).unwrap();
        let size: usize = header.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let mut content = vec![0; size + 1];
        self.from.read_exact(&mut content).unwrap();
        content
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
