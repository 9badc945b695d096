//! No file names a package registry's host or a path that exists on one machine only: both work for the author alone.

use std::fs;

use anyhow::{Result, bail};

use crate::sh;

pub(crate) fn run() -> Result<()> {
    println!("\n# hygiene");
    let forbidden = forbidden();
    let mut found = Vec::new();
    for path in sh::tracked_files()? {
        // What is no text holds no address that a person would follow.
        let Ok(text) = fs::read_to_string(sh::root().join(&path)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            for text in &forbidden {
                if mentions(line, text) {
                    found.push(format!("{}:{}: `{text}`", path.display(), number + 1));
                }
            }
        }
    }
    if !found.is_empty() {
        bail!(
            "Registry hosts or paths of one machine in:\n  {}",
            found.join("\n  ")
        );
    }
    Ok(())
}

/// Hosts are put together here, so that this file does not name them either.
fn forbidden() -> Vec<String> {
    let mut list: Vec<String> = [
        ["index.crates", ".io"],
        ["static.crates", ".io"],
        ["registry.npmjs", ".org"],
        ["files.pythonhosted", ".org"],
        ["pypi", ".org"],
        ["deb.debian", ".org"],
        ["/work", "/main"],
        ["/work", "/shared"],
        ["/work", "/.library"],
        ["/root", "/"],
        ["/opt", "/wheels"],
    ]
    .map(|parts| parts.concat())
    .into();
    list.push(format!("{}/", sh::root().display()));
    list.extend(
        std::env::var("HOME")
            .ok()
            .filter(|home| home.len() > 1)
            .map(|home| format!("{home}/")),
    );
    list
}

/// Whether `line` holds `text` where a word or a path begins, so that `team/work/…` is no machine's `/work`.
fn mentions(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|char| {
            char.is_alphanumeric() || matches!(char, '.' | '_' | '-' | '}' | '>' | '*' | '~')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn finds_a_path_where_it_begins_and_not_inside_another() {
        let path = ["/wo", "rk/"].concat();
        assert!(mentions(&format!("see {path}main"), &path));
        assert!(mentions(&format!("\"{path}main\""), &path));
        assert!(!mentions(&format!("team{path}main"), &path));
        assert!(!mentions(&format!("<dir>{path}main"), &path));
    }
}
