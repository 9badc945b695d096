//! Clones and fetches over git's smart HTTP, at `/<owner>/<name>.git`. Pushes are refused.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use flate2::read::GzDecoder;
use futures::StreamExt as _;
use guildhall_tools::{Caller, ErrorKind, RepoAccess, ToolError, WantedRepo};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::io::ReaderStream;

use crate::api::InPath;
use crate::host::PackStream;
use crate::state::App;
use crate::{gate, reply, routes};

/// The media type of the objects.
pub(crate) const PACK: &str = "application/x-git-upload-pack-result";
pub(crate) const ADVERTISEMENT: &str = "application/x-git-upload-pack-advertisement";
/// The media type of what git shows its user.
const PLAIN: &str = "text/plain; charset=utf-8";
/// The most bytes of a request as it is sent, and after it is unpacked: it names commits, 50 bytes each.
const LARGEST_SENT: usize = 8 << 20;
const LARGEST_REQUEST: usize = 16 << 20;

/// How many clones and fetches run at once: each is a process of git that reads packs and may write one.
#[derive(Clone, Copy, Debug)]
pub struct CloneLimits {
    /// Processes at once.
    pub at_once: usize,
    /// How long one more waits for its turn before it is refused.
    pub patience: Duration,
}

impl Default for CloneLimits {
    fn default() -> Self {
        Self {
            at_once: 16,
            patience: Duration::from_secs(20),
        }
    }
}

/// The turns of clones and fetches.
pub(crate) struct Clones {
    limits: CloneLimits,
    turns: Arc<Semaphore>,
}

impl Clones {
    pub(crate) fn new(limits: CloneLimits) -> Self {
        Self {
            limits,
            turns: Arc::new(Semaphore::new(limits.at_once)),
        }
    }

    /// A turn, which ends when it is dropped, or the refusal that git shows its user.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Response> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        if let Ok(turn) = tokio::time::timeout(self.limits.patience, turn).await {
            return Ok(turn.expect("the semaphore is never closed"));
        }
        let mut response = typed(
            StatusCode::SERVICE_UNAVAILABLE,
            PLAIN,
            Body::from(format!(
                "{} clones and fetches are running here, which is as many as may; try again in a moment\n",
                self.limits.at_once
            )),
        );
        reply::try_again(response.headers_mut(), Some(self.limits.patience));
        Err(response)
    }
}

/// The bytes of `pack`, with its turn kept until they are sent or nobody wants them any more.
fn held(pack: PackStream, turn: OwnedSemaphorePermit) -> Body {
    Body::from_stream(ReaderStream::new(pack).map(move |bytes| {
        let _turn = &turn;
        bytes
    }))
}

/// `GET /<owner>/<name>.git/info/refs?service=git-upload-pack`
pub(crate) async fn refs(
    State(app): State<Arc<App>>,
    InPath((owner, repo)): InPath<(String, String)>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let Some(name) = full_name(&owner, &repo) else {
        return routes::nowhere(uri).await;
    };
    let told = async {
        match service(&uri) {
            Some("git-upload-pack") => {}
            Some("git-receive-pack") => return Err(no_pushes()),
            _ => {
                return Err(ToolError::bad_arguments(
                    "Only git's smart protocol is spoken here: `service` must be `git-upload-pack`",
                ));
            }
        }
        find(&app, &caller, &name).await
    };
    let repo = match told.await {
        Ok(repo) => repo,
        Err(error) => return refusal(&error),
    };
    let _turn = match app.clones.turn().await {
        Ok(turn) => turn,
        Err(full) => return full,
    };
    let refs = async { app.repos()?.advertise(&repo, protocol(&headers)).await };
    match refs.await {
        Ok(refs) => answer(ADVERTISEMENT, Body::from(refs)),
        Err(error) => refusal(&error),
    }
}

/// `POST /<owner>/<name>.git/git-upload-pack`
pub(crate) async fn upload_pack(
    State(app): State<Arc<App>>,
    InPath((owner, repo)): InPath<(String, String)>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(name) = full_name(&owner, &repo) else {
        return routes::nowhere(uri).await;
    };
    let asked = async {
        let repo = find(&app, &caller, &name).await?;
        let sent = gate::read_bytes(LARGEST_SENT, body).await?;
        let request = unpacked(headers.get(header::CONTENT_ENCODING), sent).await?;
        Ok::<_, ToolError>((repo, request))
    };
    let (repo, request) = match asked.await {
        Ok(asked) => asked,
        Err(error) => return refusal(&error),
    };
    let turn = match app.clones.turn().await {
        Ok(turn) => turn,
        Err(full) => return full,
    };
    let packed = async {
        let host = app.repos()?;
        host.upload_pack(&repo, protocol(&headers), request).await
    };
    match packed.await {
        Ok(pack) => answer(PACK, held(pack, turn)),
        Err(error) => refusal(&error),
    }
}

/// `POST /<owner>/<name>.git/git-receive-pack`
pub(crate) async fn receive_pack() -> Response {
    refusal(&no_pushes())
}

fn no_pushes() -> ToolError {
    ToolError::forbidden(
        "Pushes are refused: code is written by `commit_changeset` alone, after review",
    )
}

/// `owner/name`, where the last part of the path ends in `.git`.
fn full_name(owner: &str, repo: &str) -> Option<String> {
    let name = repo.strip_suffix(".git")?;
    Some(format!("{owner}/{name}"))
}

fn service(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("service="))
}

fn protocol(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("git-protocol")?.to_str().ok()?;
    Some(value.to_owned())
}

async fn find(app: &App, caller: &Caller, name: &str) -> Result<RepoAccess, ToolError> {
    let repos = app.repos()?;
    repos.resolve(caller, WantedRepo::Named(name)).await
}

/// The request as git wrote it: longer ones come compressed.
async fn unpacked(encoding: Option<&HeaderValue>, sent: Bytes) -> Result<Vec<u8>, ToolError> {
    match encoding.map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(sent.into()),
        Some(b"gzip" | b"x-gzip") => {
            let unpacking = tokio::task::spawn_blocking(move || gunzip(&sent));
            unpacking.await.map_err(ToolError::internal)?
        }
        Some(_) => Err(ToolError::bad_arguments(
            "The request's `Content-Encoding` must be `gzip` or none",
        )),
    }
}

fn gunzip(sent: &[u8]) -> Result<Vec<u8>, ToolError> {
    let mut request = Vec::new();
    let most = u64::try_from(LARGEST_REQUEST).unwrap_or(u64::MAX);
    GzDecoder::new(sent)
        .take(most + 1)
        .read_to_end(&mut request)
        .map_err(|error| ToolError::bad_arguments(format!("The request is no gzip: {error}")))?;
    if request.len() > LARGEST_REQUEST {
        return Err(ToolError::new(
            ErrorKind::TooLarge,
            format!("The unpacked request is over the limit of {LARGEST_REQUEST} bytes"),
        ));
    }
    Ok(request)
}

fn answer(kind: &'static str, body: Body) -> Response {
    typed(StatusCode::OK, kind, body)
}

/// Git shows its user what a refusal says when it is plain text.
pub(crate) fn refusal(error: &ToolError) -> Response {
    let error = reply::logged(error);
    let mut response = typed(
        reply::status(error.kind),
        PLAIN,
        Body::from(format!("{}\n", error.message)),
    );
    reply::try_again(response.headers_mut(), error.retry_after);
    response
}

fn typed(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn a_request_is_unpacked_up_to_its_limit() {
        assert_eq!(gunzip(&gzip(b"0000")).unwrap(), b"0000");
        let most = vec![b'0'; LARGEST_REQUEST];
        assert_eq!(gunzip(&gzip(&most)).unwrap().len(), LARGEST_REQUEST);
        let bomb = gzip(&vec![b'0'; LARGEST_REQUEST + 1]);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(gunzip(&bomb).unwrap_err().kind, ErrorKind::TooLarge);
        assert_eq!(
            gunzip(b"no gzip").unwrap_err().kind,
            ErrorKind::BadArguments
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_clone_too_many_waits_and_is_then_told_to_come_again() {
        let limits = CloneLimits {
            at_once: 1,
            patience: Duration::from_secs(20),
        };
        let clones = Clones::new(limits);
        let turn = clones.turn().await.unwrap();
        let full = clones.turn().await.unwrap_err();
        assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(full.headers()[header::RETRY_AFTER], "20");
        let told = axum::body::to_bytes(full.into_body(), 1000).await.unwrap();
        assert!(told.starts_with(b"1 clones and fetches are running here"));

        // The turn lasts as long as the bytes of its pack, and no longer than who wants them.
        let pack: PackStream = Box::pin(std::io::Cursor::new(b"PACK".to_vec()));
        let body = held(pack, turn);
        assert!(clones.turn().await.is_err());
        drop(body);
        assert!(clones.turn().await.is_ok());
    }

    #[tokio::test]
    async fn an_unknown_encoding_is_refused() {
        let other = HeaderValue::from_static("br");
        let error = unpacked(Some(&other), Bytes::new()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadArguments);
    }
}
