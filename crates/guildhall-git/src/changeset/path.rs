//! Which names a changeset may write.
//!
//! What git itself refuses to check out (`core.protectHFS` and `core.protectNTFS` included) is refused always. What only
//! some file systems read as something else is refused for new files: a file that the repository has already can be
//! changed and deleted.

use gix::bstr::ByteSlice as _;
use gix::validate::path::component::{Error, Options};
use gix::validate::path::{component, component_is_windows_device};

/// The longest path and the longest name in it that every common file system can hold, in bytes.
const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;

/// Characters that cannot be seen or turn the direction of a text: two names that differ only by them look the same, and
/// HFS+ takes the first of them for nothing at all.
const UNSEEN: [std::ops::RangeInclusive<char>; 6] = [
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
    '\u{ad}'..='\u{ad}',
    '\u{180e}'..='\u{180e}',
];

fn is_unseen(character: char) -> bool {
    UNSEEN.iter().any(|range| range.contains(&character))
}

/// What is wrong with `path` wherever it stands, if anything.
pub(super) fn never(path: &[u8]) -> Option<String> {
    // A file system that takes `\` for a separator sees other names than git does.
    let names = path.split(|byte| matches!(byte, b'/' | b'\\'));
    names.into_iter().find_map(|name| {
        let seen: String = name
            .to_str_lossy()
            .chars()
            .filter(|c| !is_unseen(*c))
            .collect();
        let is_git = [name, seen.as_bytes()].iter().any(|name| {
            let checks = Options {
                protect_windows: false,
                protect_hfs: true,
                protect_ntfs: true,
            };
            let checked = component(name.as_bstr(), None, checks);
            matches!(checked, Err(Error::DotGitDir))
        });
        is_git.then(|| "`.git`, in whatever spelling, belongs to git itself".to_owned())
    })
}

/// What is wrong with `path` for a file that is not there yet, if anything.
pub(super) fn not_new(path: &[u8]) -> Option<String> {
    if path.len() > LONGEST_PATH {
        return Some(format!("it has more than {LONGEST_PATH} bytes"));
    }
    path.split(|&byte| byte == b'/').find_map(not_new_name)
}

fn not_new_name(name: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(name) else {
        return Some("it is not UTF-8".to_owned());
    };
    let fault = if name.len() > LONGEST_NAME {
        return Some(format!("a name has more than {LONGEST_NAME} bytes"));
    } else if text.contains('\\') {
        "`\\` separates names on some systems; use `/`"
    } else if text.contains(':') {
        "`:` names a stream or a drive on some systems"
    } else if text.ends_with(['.', ' ']) {
        "a name does not end in a dot or a space"
    } else if text.chars().any(char::is_control) {
        "a name holds no control characters"
    } else if text.chars().any(is_unseen) {
        "a name holds no characters that cannot be seen"
    } else if component_is_windows_device(name.as_bstr()) || is_numbered_device(text) {
        "it is a device on some systems"
    } else {
        return None;
    };
    Some(fault.to_owned())
}

/// `COM` and `LPT` with one of the raised digits, which count as digits there ("Naming Files, Paths, and Namespaces").
fn is_numbered_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let mut letters = stem.chars();
    let raised = letters.next_back();
    let port = letters.as_str();
    matches!(raised, Some('\u{b9}' | '\u{b2}' | '\u{b3}'))
        && (port.eq_ignore_ascii_case("com") || port.eq_ignore_ascii_case("lpt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_git_is_refused_everywhere() {
        for path in [
            ".git",
            ".GIT",
            ".Git/config",
            "a/.git/hooks/post-checkout",
            "git~1",
            "GIT~1/config",
            ".git.",
            ".git ",
            ".git. . .",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{202e}T",
            ".git\u{200d}.",
            "g\u{200b}it~1",
            "a\\.git\\config",
            "..\\.git",
        ] {
            assert!(never(path.as_bytes()).is_some(), "{path:?}");
        }
    }

    #[test]
    fn names_that_only_begin_like_git_are_files() {
        for path in [
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".github/workflows/ci.yml",
            "git",
            "git~10",
            ".gitx",
            "x.git",
        ] {
            assert_eq!(never(path.as_bytes()), None, "{path:?}");
            assert_eq!(not_new(path.as_bytes()), None, "{path:?}");
        }
    }

    #[test]
    fn new_files_have_names_that_are_the_same_on_every_system() {
        for path in [
            "a\\b",
            "file:stream",
            "x::$DATA",
            "trailing.",
            "trailing ",
            "dir./file",
            "bell\u{7}",
            "new\nline",
            "zero\u{200b}width",
            "rtl\u{202e}gpj.exe",
            "NUL",
            "con.txt",
            "src/aux.c",
            "com1",
            "com¹",
            "src/LPT².txt",
            "CONIN$",
        ] {
            assert!(not_new(path.as_bytes()).is_some(), "{path:?}");
        }
        assert!(not_new(&[b'a'; 256]).is_some());
        assert!(not_new("a/".repeat(2049).trim_end_matches('/').as_bytes()).is_some());
        assert!(not_new(b"caf\xe9").is_some());
        for path in [
            "a b",
            "é/日本.txt",
            "-x",
            "*?",
            "console.rs",
            "nul_test.rs",
            "🦀",
        ] {
            assert_eq!(not_new(path.as_bytes()), None, "{path:?}");
        }
    }
}
