//! The connections of a page.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::RwLock;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::address::Address;
use super::admission::{self, Route};
use super::calls::{self, Calls};
use super::document::Version;
use super::errors::{Errors, PageError};
use super::events::{EventBody, Streams};
use super::policy;

/// Connections at one time. A browser opens six; the others are for a second browser, and for whoever tries the port. One
/// more takes the place of the oldest that has not shown yet that it knows a token.
const MAX_CONNECTIONS: usize = 32;

/// How long a connection may take to say what it wants, and may be idle.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(5);

/// The largest head of a request, in bytes. Browsers send about one kilobyte.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// Header fields of a request. Browsers send about twenty.
const MAX_HEADERS: usize = 64;

/// How long to wait when the system refuses to accept a connection, as it does when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const OUTER_HTML: &str = include_str!("outer.html");
const OUTER_SCRIPT: &str = include_str!("outer.js");
const OUTER_STYLE: &str = include_str!("outer.css");
const BRIDGE: &str = include_str!("bridge.js");

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const JSON: &str = "application/json";

type Answer = Response<Either<Full<Bytes>, EventBody>>;

/// What the connections of a page share.
pub(super) struct Shared {
    pub(super) address: Address,
    pub(super) version: RwLock<Arc<Version>>,
    pub(super) streams: Streams,
    pub(super) calls: Calls,
    pub(super) errors: Errors,
}

impl Shared {
    pub(super) fn version(&self) -> Arc<Version> {
        Arc::clone(&self.version.read())
    }

    /// Opens a stream of events. Under the lock, so that no version comes between what it starts with and what it gets next.
    fn open_stream(&self) -> EventBody {
        let version = self.version.read();
        self.streams.open(&version.announcement())
    }

    /// A version is shown from now on: says what of it does not work in any browser.
    pub(super) fn begin(&self) {
        if let Some(message) = self.version().problem() {
            self.errors.report(PageError {
                message,
                location: None,
                is_blocked: false,
                omitted: 0,
            });
        }
    }
}

/// Serves until it is dropped, which ends all connections.
pub(super) async fn run(listener: TcpListener, shared: Arc<Shared>) {
    let mut tasks = JoinSet::new();
    let mut open = VecDeque::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if makes_room(&mut open) => {
                    let knows_token = Arc::new(AtomicBool::new(false));
                    let serving = serve(stream, Arc::clone(&shared), Arc::clone(&knows_token));
                    let task = tasks.spawn(serving);
                    open.push_back(Connection { task, knows_token });
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// A connection that is being served.
struct Connection {
    task: AbortHandle,
    /// Whether it had a request with the right token.
    knows_token: Arc<AtomicBool>,
}

/// Makes room for one more connection: other users of the machine cannot keep the browser out by holding all of them.
/// `false`: all belong to browsers that know the token.
fn makes_room(open: &mut VecDeque<Connection>) -> bool {
    open.retain(|it| !it.task.is_finished());
    if open.len() < MAX_CONNECTIONS {
        return true;
    }
    let is_stranger = |it: &Connection| !it.knows_token.load(Ordering::Relaxed);
    let stranger = open.iter().position(is_stranger);
    match stranger.and_then(|at| open.remove(at)) {
        Some(stranger) => {
            stranger.task.abort();
            true
        }
        None => false,
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, knows_token: Arc<AtomicBool>) {
    // Without it, a small answer may wait for a confirmation of what was sent before.
    let _best_effort = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (shared, knows_token) = (Arc::clone(&shared), Arc::clone(&knows_token));
        async move { Ok::<_, Infallible>(answer(request, &shared, &knows_token).await) }
    });
    // A connection that breaks concerns nobody but its browser.
    let _ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(request: Request<Incoming>, shared: &Shared, knows_token: &AtomicBool) -> Answer {
    let (head, body) = request.into_parts();
    let mut answer = match admission::admit(&head, &shared.address) {
        Ok(route) => {
            knows_token.store(true, Ordering::Relaxed);
            admitted(route, body, shared).await
        }
        Err(status) => empty(status),
    };
    if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
        answer
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, POST"));
    }
    policy::add_headers(answer.headers_mut());
    answer
}

async fn admitted(route: Route, body: Incoming, shared: &Shared) -> Answer {
    let version = shared.version();
    match route {
        Route::Outer => {
            let policy = policy::of_outer(&shared.address);
            with(full(HTML, OUTER_HTML), CONTENT_SECURITY_POLICY, &policy)
        }
        Route::OuterScript => full(SCRIPT, OUTER_SCRIPT),
        Route::OuterStyle => full(STYLE, OUTER_STYLE),
        Route::Events => {
            let stream = shared.open_stream();
            let answer = Response::new(Either::Right(stream));
            with(answer, CONTENT_TYPE, "text/event-stream")
        }
        Route::Invoke => match shared.calls.invoke(&version, body).await {
            Ok(value) => full(JSON, value),
            Err((status, error)) => {
                // An error of strings and numbers can always be written.
                let error = serde_json::to_string(&error).unwrap_or_default();
                let mut answer = full(JSON, error);
                *answer.status_mut() = status;
                answer
            }
        },
        Route::Error => match calls::report(&shared.errors, &version, body).await {
            Ok(()) => empty(StatusCode::NO_CONTENT),
            Err(status) => empty(status),
        },
        Route::App(number) => of_version(&version, number, || {
            let answer = full(HTML, version.document.clone());
            with(answer, CONTENT_SECURITY_POLICY, &version.policy)
        }),
        Route::Bridge(number) => of_version(&version, number, || for_frame(full(SCRIPT, BRIDGE))),
        Route::Renderer(number) => of_version(&version, number, || {
            for_frame(full(SCRIPT, version.renderer.clone()))
        }),
    }
}

/// Parts of an older version would not fit what is shown.
fn of_version(version: &Version, number: u64, answer: impl FnOnce() -> Answer) -> Answer {
    if number == version.number {
        answer()
    } else {
        empty(StatusCode::NOT_FOUND)
    }
}

/// The frame has no origin: it may read what names that.
fn for_frame(answer: Answer) -> Answer {
    with(
        answer,
        HeaderName::from_static("access-control-allow-origin"),
        "null",
    )
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Left(Full::default()));
    *answer.status_mut() = status;
    answer
}

fn full(content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let answer = Response::new(Either::Left(Full::new(body.into())));
    with(answer, CONTENT_TYPE, content_type)
}

fn with(mut answer: Answer, name: HeaderName, value: &str) -> Answer {
    // All values are made here, of characters that headers may have.
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}
