//! A server as a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    process: Child,
}

impl Server {
    /// Starts a server and waits until it has printed, on standard output, the URL at which it listens.
    ///
    /// # Panics
    ///
    /// When it does not start, or ends before it has printed a URL; its standard error, which goes where `command` says, has the reason.
    pub fn start(command: &mut Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("`{name}` does not start: {error}"));
        let stdout = process.stdout.take().expect("standard output is piped");
        let mut lines = BufReader::new(stdout).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| address_in(&line));
        let Some(address) = address else {
            let status = process.wait();
            panic!("`{name}` ended before it said where it listens: {status:?}");
        };
        // Whatever else it prints is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Self { address, process }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://<address>`
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Kills it as `kill -9` does and waits until it is gone.
    pub fn kill(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The address in the first `http://` URL of a line.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest
        .find(|char: char| !(char.is_ascii_alphanumeric() || ".:[]".contains(char)))
        .unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::address_in;

    #[test]
    fn finds_the_address_in_what_a_server_prints() {
        let address = |line| address_in(line).map(|address| address.to_string());
        let local = Some("127.0.0.1:80".to_owned());
        assert_eq!(address("Listening on http://127.0.0.1:80/mcp"), local);
        assert_eq!(address("Guildhall is up at http://127.0.0.1:80."), local);
        assert_eq!(address("\u{1b}[1mhttp://127.0.0.1:80\u{1b}[0m"), local);
        assert_eq!(address("http://[::1]:80"), Some("[::1]:80".to_owned()));
        assert_eq!(address("Starting"), None);
    }
}
