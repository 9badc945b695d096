//! Panes of tmux, for agents that work side by side.
//!
//! Names are matched exactly (`=name`): the session `app-1` is never taken for `app-10`. What a pane runs is given as
//! separate arguments, so no shell reads it, and no text from outside is ever typed into a pane.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

/// Size of a window nobody looks at yet: room for a session's usual roles.
const SIZE: (&str, &str) = ("240", "72");

/// Programs in panes take a line and the key that sends it apart only when there is time between them.
const BEFORE_ENTER: Duration = Duration::from_millis(400);

/// A tmux that is there.
pub(crate) struct Tmux {
    program: &'static str,
    version: String,
}

impl Tmux {
    /// The one on the path; `None` where there is none.
    pub(crate) fn find() -> Option<Self> {
        let mut found = Self {
            program: "tmux",
            version: String::new(),
        };
        let version = found.run(["-V"]).ok()?;
        version
            .trim()
            .trim_start_matches("tmux ")
            .clone_into(&mut found.version);
        Some(found)
    }

    /// What it calls itself, such as `3.5a`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Opens the session `name` with one pane that runs `program` in `dir`, in the background. Gives the pane.
    pub(crate) fn open(
        &self,
        name: &str,
        dir: &Path,
        program: &[String],
    ) -> anyhow::Result<String> {
        let mut arguments = given([
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-s",
            name,
            "-n",
            "team",
            "-x",
            SIZE.0,
            "-y",
            SIZE.1,
            "-c",
        ]);
        arguments.push(dir.as_os_str());
        arguments.push(OsStr::new("--"));
        arguments.extend(program.iter().map(OsStr::new));
        // In the same breath: an agent that ends at once must leave its last words to be read.
        let target = window(name);
        arguments.extend(given([
            ";",
            "set-option",
            "-w",
            "-t",
            &target,
            "remain-on-exit",
            "on",
        ]));
        pane_of(&self.run(arguments)?)
    }

    /// Adds a pane to the session `name`.
    pub(crate) fn split(
        &self,
        name: &str,
        dir: &Path,
        program: &[String],
    ) -> anyhow::Result<String> {
        let target = window(name);
        let mut arguments = given([
            "split-window",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-t",
            &target,
            "-c",
        ]);
        arguments.push(dir.as_os_str());
        arguments.push(OsStr::new("--"));
        arguments.extend(program.iter().map(OsStr::new));
        let pane = pane_of(&self.run(arguments)?)?;
        // Each split halves a pane; evened out, the next one has room.
        self.run(["select-layout", "-t", &target, "tiled"])?;
        Ok(pane)
    }

    /// Says over a pane whose it is.
    pub(crate) fn title(&self, pane: &str, title: &str) -> anyhow::Result<()> {
        self.run(["select-pane", "-t", pane, "-T", title]).map(drop)
    }

    /// Whether there is a session `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.run(["has-session", "-t", &format!("={name}")]).is_ok()
    }

    /// Ends the session `name` and what runs in it.
    pub(crate) fn close(&self, name: &str) -> anyhow::Result<()> {
        self.run(["kill-session", "-t", &format!("={name}")])
            .map(drop)
    }

    /// The panes of the session `name` in which something runs.
    pub(crate) fn live_panes(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let target = format!("={name}");
        let listed = self.run([
            "list-panes",
            "-s",
            "-t",
            &target,
            "-F",
            "#{pane_dead} #{pane_id}",
        ])?;
        let live = listed.lines().filter_map(|line| line.strip_prefix("0 "));
        Ok(live.map(str::to_owned).collect())
    }

    /// Types a line of ours into a pane, and the key that sends it a moment later.
    pub(crate) fn type_line(&self, pane: &str, line: &'static str) -> anyhow::Result<()> {
        self.run(["send-keys", "-t", pane, "-l", "--", line])?;
        std::thread::sleep(BEFORE_ENTER);
        self.run(["send-keys", "-t", pane, "Enter"]).map(drop)
    }

    fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> anyhow::Result<String> {
        let done = Command::new(self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .context("Cannot start tmux")?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            bail!("tmux: {}", said.trim());
        }
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }
}

/// The one window of a session of ours.
fn window(name: &str) -> String {
    format!("={name}:")
}

fn given<const N: usize>(arguments: [&str; N]) -> Vec<&OsStr> {
    arguments.map(OsStr::new).to_vec()
}

fn pane_of(printed: &str) -> anyhow::Result<String> {
    let pane = printed.trim();
    if !pane.starts_with('%') {
        bail!("tmux did not say which pane it opened");
    }
    Ok(pane.to_owned())
}
