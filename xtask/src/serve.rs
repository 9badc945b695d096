//! Starting a server of ours and finding out where it listens.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A running server; stopped when dropped.
pub(crate) struct Server {
    /// The first URL that it printed.
    pub(crate) url: String,
    process: Child,
}

impl Server {
    /// Starts the server and waits until it has printed a URL.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut process = command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("Could not start `{name}`"))?;
        let stdout = process.stdout.take().expect("standard output is piped");
        let mut lines = BufReader::new(stdout).lines();
        let url = loop {
            let Some(line) = lines.next().transpose()? else {
                process.wait()?;
                bail!("`{name}` ended before it said where it listens");
            };
            if let Some(url) = url_in(&line) {
                break url;
            }
        };
        // Whatever else it prints is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { url, process })
    }

    /// The URL's scheme and host, without a path.
    pub(crate) fn origin(&self) -> &str {
        let host = "http://".len();
        match self.url[host..].find('/') {
            Some(path) => &self.url[..host + path],
            None => &self.url,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn url_in(line: &str) -> Option<String> {
    let url = &line[line.find("http://")?..];
    let end = url
        .find(|char: char| !(char.is_ascii_alphanumeric() || ".:[]/-_".contains(char)))
        .unwrap_or(url.len());
    Some(url[..end].trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::url_in;

    #[test]
    fn finds_the_url_in_what_a_server_prints() {
        let url = |line| url_in(line).expect("a line with a URL");
        assert_eq!(
            url("Listening on http://127.0.0.1:80/mcp"),
            "http://127.0.0.1:80/mcp"
        );
        assert_eq!(
            url("Guildhall is up at http://[::1]:80."),
            "http://[::1]:80"
        );
        assert_eq!(url("\u{1b}[1mhttp://a:80\u{1b}[0m"), "http://a:80");
        assert_eq!(url_in("Starting"), None);
    }
}
