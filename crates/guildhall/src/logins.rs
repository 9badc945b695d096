//! The tokens that `guildhall login` got: one file for each server in the user's configuration folder, readable by its
//! owner alone.

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use guildhall_config::{env_vars, process_env};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;

/// The folder of the tokens: `$XDG_CONFIG_HOME/guildhall/logins`, else `~/.config/guildhall/logins`.
fn folder() -> anyhow::Result<PathBuf> {
    let config = match process_env(env_vars::XDG_CONFIG_HOME).map(PathBuf::from) {
        // A relative one is to be ignored (XDG Base Directory Specification).
        Some(path) if path.is_absolute() => path,
        _ => std::env::home_dir()
            .context("Cannot tell the home folder")?
            .join(".config"),
    };
    Ok(config.join("guildhall/logins"))
}

/// The one form of a server's address: without a slash at the end, the host in lower case, no default port.
///
/// # Errors
///
/// What is no `http` or `https` address, or holds a user, a query or a fragment.
pub(crate) fn server_url(text: &str) -> anyhow::Result<Url> {
    let url = Url::parse(text.trim_end_matches('/'))
        .with_context(|| format!("`{text}` is not an address such as https://guild.example.com"))?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !plain {
        anyhow::bail!(
            "The server's address must be http or https with a host alone, such as https://guild.example.com"
        );
    }
    Ok(url)
}

fn file_in(folder: &Path, server: &Url) -> PathBuf {
    let name = server.as_str().trim_end_matches('/');
    folder.join(format!(
        "{}.token",
        utf8_percent_encode(name, NON_ALPHANUMERIC)
    ))
}

/// The token for `server`, or `None` where nobody signed in to it.
pub(crate) fn token(server: &Url) -> anyhow::Result<Option<String>> {
    let path = file_in(&folder()?, server);
    match fs::read_to_string(&path) {
        Ok(token) => Ok(Some(token.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(error).with_context(|| format!("Cannot read the token file `{}`", path.display()))
        }
    }
}

/// Keeps the token for `server` and gives its file. Whoever reads it gets all of it or the one before.
pub(crate) fn keep(server: &Url, token: &str) -> anyhow::Result<PathBuf> {
    let folder = folder()?;
    let path = file_in(&folder, server);
    let context = || format!("Cannot write the token file `{}`", path.display());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(context)?;
    // Temporary files are 0600 from the start.
    let mut file = tempfile::NamedTempFile::new_in(&folder).with_context(context)?;
    writeln!(file, "{token}").with_context(context)?;
    file.as_file().sync_all().with_context(context)?;
    file.persist(&path).with_context(context)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_one_file_however_it_is_written() {
        let file = |text: &str| file_in(Path::new("/f"), &server_url(text).unwrap());
        assert_eq!(
            file("HTTP://Guild.Example.com:80/"),
            file("http://guild.example.com")
        );
        assert_ne!(
            file("http://guild.example.com"),
            file("https://guild.example.com")
        );
        assert_ne!(
            file("http://guild.example.com"),
            file("http://guild.example.com:4040")
        );
        let escaping = file("http://h/../../x");
        assert_eq!(escaping.parent(), Some(Path::new("/f")));
    }

    #[test]
    fn what_is_no_servers_address_is_refused() {
        for text in [
            "",
            "guild",
            "ftp://h",
            "http://u:p@h",
            "http://h?x",
            "http://h#x",
            "file:///etc",
        ] {
            assert!(server_url(text).is_err(), "{text}");
        }
    }
}
