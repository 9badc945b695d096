//! Repositories made by a script: a history is written as one stream for `git fast-import`, so that tens of thousands of
//! commits take a second or two.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A number generator with the same numbers in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2) + 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// `git` as the tests use it to say what is right: without anybody's configuration.
pub(crate) fn git<A: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = A>) -> Vec<u8> {
    let output = plain_git(dir)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// A `git` command in `dir` that no configuration of the machine's user reaches.
pub(crate) fn plain_git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "A")
        .env("GIT_COMMITTER_EMAIL", "a@example.com");
    command
}

/// One change of a commit.
pub(crate) enum Change {
    File(&'static str, Vec<u8>, Vec<u8>),
    Submodule(Vec<u8>, &'static str),
    Delete(Vec<u8>),
    Rename(Vec<u8>, Vec<u8>),
    Copy(Vec<u8>, Vec<u8>),
}

/// A regular file.
pub(crate) fn file(path: &str, content: impl Into<Vec<u8>>) -> Change {
    Change::File("100644", path.into(), content.into())
}

/// A history being written.
#[derive(Default)]
pub(crate) struct Script {
    stream: Vec<u8>,
    marks: usize,
    seconds: u64,
}

/// What a commit is made of beside its changes.
pub(crate) struct Commit<'a> {
    pub(crate) branch: &'a str,
    pub(crate) from: Option<usize>,
    pub(crate) merge: &'a [usize],
    pub(crate) author: &'a [u8],
    pub(crate) zone: &'a str,
    pub(crate) message: &'a [u8],
}

impl Default for Commit<'_> {
    fn default() -> Self {
        Self {
            branch: "main",
            from: None,
            merge: &[],
            author: b"Ada Lovelace <ada@example.com>",
            zone: "+0000",
            message: b"A change\n",
        }
    }
}

impl Script {
    /// Moves the clock of the next commits.
    pub(crate) fn pass(&mut self, seconds: i64) {
        self.seconds = self.seconds.saturating_add_signed(seconds);
    }

    /// Adds a commit and gives its mark.
    pub(crate) fn commit(&mut self, commit: &Commit<'_>, changes: &[Change]) -> usize {
        self.marks += 1;
        let (mark, at) = (self.marks, 1_700_000_000 + self.seconds);
        let zone = commit.zone;
        let out = &mut self.stream;
        writeln!(out, "commit refs/heads/{}\nmark :{mark}", commit.branch).unwrap();
        for (role, name, zone) in [
            ("author", commit.author, zone),
            ("committer", &b"Committer <c@example.com>"[..], "-0330"),
        ] {
            out.extend_from_slice(role.as_bytes());
            out.push(b' ');
            out.extend_from_slice(name);
            writeln!(out, " {at} {zone}").unwrap();
        }
        data(out, commit.message);
        if let Some(from) = commit.from {
            writeln!(out, "from :{from}").unwrap();
        }
        for merge in commit.merge {
            writeln!(out, "merge :{merge}").unwrap();
        }
        for change in changes {
            match change {
                Change::File(mode, path, content) => {
                    writeln!(out, "M {mode} inline {}", quoted(path)).unwrap();
                    data(out, content);
                }
                Change::Submodule(path, id) => {
                    writeln!(out, "M 160000 {id} {}", quoted(path)).unwrap();
                }
                Change::Delete(path) => writeln!(out, "D {}", quoted(path)).unwrap(),
                Change::Rename(from, to) => {
                    writeln!(out, "R {} {}", quoted(from), quoted(to)).unwrap();
                }
                Change::Copy(from, to) => {
                    writeln!(out, "C {} {}", quoted(from), quoted(to)).unwrap();
                }
            }
        }
        mark
    }

    /// Adds a tag object.
    pub(crate) fn tag(&mut self, name: &str, mark: usize) {
        let out = &mut self.stream;
        writeln!(
            out,
            "tag {name}\nfrom :{mark}\ntagger T <t@example.com> 1700000000 +0000"
        )
        .unwrap();
        data(out, b"a release\n");
    }

    /// Writes the history into a new bare repository at `dir`.
    pub(crate) fn into_repository(mut self, dir: &Path) {
        std::fs::create_dir_all(dir).unwrap();
        git(dir, ["init", "--quiet", "--bare", "--initial-branch=main"]);
        self.stream.extend_from_slice(b"done\n");
        let mut import = plain_git(dir)
            .args([
                "-c",
                "core.compression=1",
                "fast-import",
                "--quiet",
                "--done",
                "--date-format=raw-permissive",
                "--depth=10",
            ])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        import
            .stdin
            .take()
            .unwrap()
            .write_all(&self.stream)
            .unwrap();
        assert!(import.wait().unwrap().success());
    }
}

fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    writeln!(out, "data {}", bytes.len()).unwrap();
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

/// A path as the stream wants it: in C quotes, for spaces, ends of lines and bytes that are no text.
fn quoted(path: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("\"");
    for &byte in path {
        match byte {
            b'"' | b'\\' | 0..=31 | 127..=255 => write!(text, "\\{byte:03o}").unwrap(),
            _ => text.push(char::from(byte)),
        }
    }
    text.push('"');
    text
}

/// So many lines with a number each, `step` apart.
pub(crate) fn numbered(lines: usize, step: usize) -> String {
    let lines: Vec<String> = (0..lines).map(|n| format!("line {}\n", n * step)).collect();
    lines.concat()
}

/// Lines of a made-up program: indented blocks with many equal lines, where a diff has choices.
pub(crate) fn program(random: &mut Random, lines: usize) -> Vec<String> {
    let mut depth = 0usize;
    (0..lines).map(|_| line(random, &mut depth)).collect()
}

fn line(random: &mut Random, depth: &mut usize) -> String {
    let indent = "    ".repeat(*depth);
    match random.below(10) {
        0 | 1 => String::new(),
        2 => {
            *depth = (*depth + 1).min(3);
            format!("{indent}if x{} {{", random.below(9))
        }
        3 if *depth > 0 => {
            *depth -= 1;
            format!("{}}}", "    ".repeat(*depth))
        }
        4 => {
            *depth = 0;
            format!("fn f{}() {{", random.below(40))
        }
        5 => format!(
            "{indent}// {}",
            random.pick(&["why", "because", "see above", "todo"])
        ),
        6 => format!("{indent}return;"),
        _ => format!("{indent}call(a{}, b{});", random.below(30), random.below(5)),
    }
}

/// Changes a few places of a program: inserts, deletes, replaces, moves and doubles blocks.
pub(crate) fn edit(random: &mut Random, lines: &mut Vec<String>) {
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len() + 1);
        let length = (1 + random.below(6)).min(lines.len() - at);
        match random.below(5) {
            0 => {
                let count = 1 + random.below(8);
                let new = program(random, count);
                lines.splice(at..at, new);
            }
            1 => {
                lines.drain(at..at + length);
            }
            2 => {
                let new = program(random, length);
                lines.splice(at..at + length, new);
            }
            3 => {
                let block: Vec<String> = lines.drain(at..at + length).collect();
                let to = random.below(lines.len() + 1);
                lines.splice(to..to, block);
            }
            _ => {
                let block: Vec<String> = lines[at..at + length].to_vec();
                lines.splice(at..at, block);
            }
        }
    }
}

/// A long random history: edits, new, deleted, renamed, moved and copied files, side branches and merges.
pub(crate) fn long_history(commits: usize, seed: u64) -> Script {
    let mut random = Random::new(seed);
    let mut script = Script::default();
    let mut files = Files::new();
    let mut names = 0;
    let mut tip: Option<usize> = None;
    let mut side: Option<usize> = None;
    while script.marks < commits {
        script.pass([0, 1, 60, 3600, -30][random.below(5)]);
        let mut changes = Vec::new();
        for _ in 0..=random.below(3) {
            change(&mut random, &mut files, &mut names, &mut changes);
        }
        if random.chance(1) {
            let length = 800 + random.below(800);
            let long = program(&mut random, length);
            changes.push(file("long.rs", long.join("\n")));
        }
        let zone = *random.pick(&["+0000", "+0530", "-0800"]);
        let message = format!("Change {}\n\nWhy it was made.\n", script.marks);
        let mut commit = Commit {
            from: tip,
            message: message.as_bytes(),
            author: if random.chance(30) {
                b"Grace Hopper <grace@example.com>"
            } else {
                Commit::default().author
            },
            zone,
            ..Commit::default()
        };
        match side {
            Some(branch) if random.chance(40) => {
                let merge = [branch];
                commit.merge = &merge;
                tip = Some(script.commit(&commit, &changes));
                side = None;
            }
            Some(branch) if random.chance(50) => {
                let content = format!("{}\n", random.below(1000));
                commit.branch = "side";
                commit.from = Some(branch);
                side = Some(script.commit(&commit, &[file("side.txt", content)]));
            }
            None if tip.is_some() && random.chance(15) => {
                commit.branch = "side";
                side = Some(script.commit(&commit, &[file("side.txt", "begun\n")]));
            }
            _ => tip = Some(script.commit(&commit, &changes)),
        }
    }
    script
}

/// The files of a history that is being made up: path and lines.
type Files = Vec<(String, Vec<String>)>;

/// One random change to the model of the tree, as changes of a commit.
fn change(random: &mut Random, files: &mut Files, names: &mut usize, changes: &mut Vec<Change>) {
    let directory = *random.pick(&["", "src/", "src/deep/er/", "docs/", "tests/"]);
    *names += 1;
    let kind = match files.len() {
        0..8 => 0,
        8..80 => random.below(20),
        _ => 2 + random.below(18),
    };
    match kind {
        0 | 1 => {
            // Few base names, so that renames by name have to choose.
            let name = random.pick(&["mod", "lib", "util", "main"]);
            let size = 5 + random.below(60);
            let lines = program(random, size);
            put(
                files,
                format!("{directory}m{}/{name}.rs", *names % 60),
                lines,
                "\n",
                changes,
            );
        }
        2 => {
            let at = random.below(files.len());
            changes.push(Change::Delete(files.swap_remove(at).0.into()));
        }
        3 | 4 => {
            // Renames, often with edits; sometimes of several files at once.
            for _ in 0..=random.below(3) {
                let at = random.below(files.len());
                let (path, mut lines) = files.swap_remove(at);
                *names += 1;
                let name = path.rsplit('/').next().unwrap_or(&path);
                let to = if random.chance(50) {
                    format!("{directory}r{}/{name}", *names % 60)
                } else {
                    format!("{directory}n{names}.rs")
                };
                for _ in 0..random.below(6) {
                    edit(random, &mut lines);
                }
                changes.push(Change::Delete(path.into()));
                put(files, to, lines, "\n", changes);
            }
        }
        5 => {
            let at = random.below(files.len());
            let lines = files[at].1.clone();
            put(
                files,
                format!("{directory}c{names}.rs"),
                lines,
                "\n",
                changes,
            );
        }
        _ => {
            let at = random.below(files.len());
            let (path, mut lines) = files.swap_remove(at);
            edit(random, &mut lines);
            let end = if random.chance(90) { "\n" } else { "" };
            put(files, path, lines, end, changes);
        }
    }
}

/// Writes a file into the model and into the commit.
fn put(files: &mut Files, path: String, lines: Vec<String>, end: &str, changes: &mut Vec<Change>) {
    changes.push(file(&path, lines.join("\n") + end));
    files.retain(|(other, _)| *other != path);
    files.push((path, lines));
}
