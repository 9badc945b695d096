//! Clones and fetches over smart HTTP: the two requests of `git-upload-pack`. There is no `git-receive-pack`; nobody pushes.

use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{Child, ChildStdout, Command};

use super::Hosted;
use crate::command::{Config, Limits, kill_group_of};
use crate::error::GitError;

/// The most bytes of a request; one names commits, a line each.
const LARGEST_REQUEST: u64 = 64 * 1024 * 1024;
/// Seconds after which git gives up on a client that sends nothing.
const SILENCE: &str = "--timeout=120";
/// What an advertisement may take.
const ADVERTISEMENT: Limits = Limits {
    output: 64 * 1024 * 1024,
    ..Limits::SHORT
};

/// The `Git-Protocol` header as git may see it: nothing but a plain version.
fn protocol_version(header: Option<&str>) -> Option<&'static str> {
    match header?.trim() {
        "version=2" => Some("version=2"),
        "version=1" => Some("version=1"),
        _ => None,
    }
}

impl Hosted {
    /// The body of `GET info/refs?service=git-upload-pack`, for the media type
    /// `application/x-git-upload-pack-advertisement`. `protocol` is the request's `Git-Protocol` header.
    ///
    /// # Errors
    /// What git says of a repository it cannot serve.
    pub fn advertise_refs(&self, protocol: Option<&str>) -> Result<Vec<u8>, GitError> {
        let version = protocol_version(protocol);
        let mut command = self
            .git
            .command(Config::Isolated, "upload-pack")
            .repository(self.repository.dir());
        if let Some(version) = version {
            command = command.env("GIT_PROTOCOL", version);
        }
        let refs = command
            .args([
                "--strict",
                "--stateless-rpc",
                "--http-backend-info-refs",
                SILENCE,
            ])
            .arg(self.repository.dir())
            .run(&ADVERTISEMENT)?;
        if version == Some("version=2") {
            return Ok(refs);
        }
        let mut body = b"001e# service=git-upload-pack\n0000".to_vec();
        body.extend(refs);
        Ok(body)
    }

    /// The answer to `POST git-upload-pack`, for the media type `application/x-git-upload-pack-result`.
    ///
    /// `request` is the body, already unpacked where the client sent it with `Content-Encoding: gzip`; of it at most 64 MiB
    /// are read. The answer is read as git makes it; to drop it ends git. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`GitError::NotInstalled`]. What goes wrong later ends the stream; git tells its client so itself.
    pub fn upload_pack(
        &self,
        protocol: Option<&str>,
        request: impl AsyncRead + Send + Unpin + 'static,
    ) -> Result<UploadPack, GitError> {
        let mut command = self
            .git
            .command(Config::Isolated, "upload-pack")
            .repository(self.repository.dir());
        if let Some(version) = protocol_version(protocol) {
            command = command.env("GIT_PROTOCOL", version);
        }
        let command = command
            .args(["--strict", "--stateless-rpc", SILENCE])
            .arg(self.repository.dir())
            .into_std();
        let mut child = Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(GitError::NotInstalled)?;
        if let Some(mut stdin) = child.stdin.take() {
            tokio::spawn(async move {
                let mut request = request.take(LARGEST_REQUEST);
                // A git that ends early closes the pipe; its answer says why.
                let _ = tokio::io::copy(&mut request, &mut stdin).await;
            });
        }
        let stdout = child.stdout.take();
        Ok(UploadPack { child, stdout })
    }
}

/// The bytes of a pack as git makes them. Dropping it ends git and what it started.
#[derive(Debug)]
pub struct UploadPack {
    child: Child,
    stdout: Option<ChildStdout>,
}

impl AsyncRead for UploadPack {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stdout {
            Some(stdout) => Pin::new(stdout).poll_read(context, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for UploadPack {
    fn drop(&mut self) {
        // A child that was waited for has no id any more, so no stranger is hit.
        kill_group_of(self.child.id());
    }
}
