//! A server at an address: streamable HTTP, as the official SDK speaks it, over the host's one way out to the web.
//!
//! The SDK sees to sessions, the protocol's headers, events, and their resumption. What may be reached is decided here:
//! the origin that the user configured, this machine and private networks included, and nothing else.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dunlin_host::display::{escape, shorten};
use dunlin_host::egress::{
    Body, Egress, EgressError, Gate, HeaderMap, HeaderName, HeaderValue, Hop, Method, Place,
    Request, RequestLimits, Response, StatusCode, header,
};
use dunlin_host::limits::MAX_SERVER_MESSAGE_BYTES;
use dunlin_host::mcp::transport::{Connect, Connection, Receiver, SendError, Sender, ServerLog};
use futures::stream::{BoxStream, FuturesUnordered};
use futures::{Stream, StreamExt, stream};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use rmcp::transport::{AuthClient, Transport};
use sse_of_rmcp::{Sse, SseStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use url::{Origin, Url};

use super::oauth::{self, TokenFile};
use crate::commands::tools::with_causes;
use crate::settings::KeyPlace;

/// Messages that wait between the connection and the bridge.
const WAITING_MESSAGES: usize = 16;

/// Characters of a server's refusal that are repeated.
const MAX_REFUSAL_CHARS: usize = 300;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

type HttpError = StreamableHttpError<EgressError>;

/// Where a server is, and what it wants to see.
#[derive(Debug, Clone)]
pub struct Address {
    /// Its name in the configuration.
    pub name: String,
    /// Where.
    pub url: Url,
    /// Headers of the user's.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Where the bearer token is found.
    pub key: Option<KeyPlace>,
    /// The tokens of a login, used where there is neither a key nor an `Authorization` header.
    pub tokens: TokenFile,
    /// The way out.
    pub egress: Egress,
}

#[async_trait]
impl Connect for Address {
    async fn connect(&self, _log: &dyn ServerLog) -> Result<Connection, String> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .custom_headers(self.headers.iter().cloned().collect())
            .max_sse_event_size(MAX_SERVER_MESSAGE_BYTES);
        if let Some(key) = self.key.clone() {
            // May wait for the user to unlock a keyring.
            let read = tokio::task::spawn_blocking(move || key.read()).await;
            let read =
                read.map_err(|_| "cannot be connected: its key cannot be read".to_owned())?;
            let (secret, _) =
                read.map_err(|e| format!("cannot be connected: {}", with_causes(&e)))?;
            config = config.auth_header(secret.reveal());
        }
        let client = Client {
            egress: self.egress.clone(),
            origin: self.url.origin(),
        };
        let (to_server, outgoing) = mpsc::channel(WAITING_MESSAGES);
        let (incoming, from_server) = mpsc::channel(WAITING_MESSAGES);
        let mut names = self.headers.iter().map(|(name, _)| name);
        let task = if self.key.is_some() || names.any(|name| *name == header::AUTHORIZATION) {
            let transport = StreamableHttpClientTransport::with_client(client, config);
            tokio::spawn(carry(transport, outgoing, incoming))
        } else {
            let manager = oauth::manager(self).await.map_err(|e| {
                format!(
                    "cannot be connected: its login is of no use: {}",
                    with_causes(&e)
                )
            })?;
            let client = AuthClient::new(client, manager);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            tokio::spawn(carry(transport, outgoing, incoming))
        };
        Ok(Connection {
            sender: Box::new(Outgoing {
                to_server,
                name: self.name.clone(),
            }),
            receiver: Box::new(Incoming {
                from_server,
                task: Task(task),
            }),
        })
    }
}

/// A message on its way, and who waits for it to be gone.
type Leaving = (ClientJsonRpcMessage, oneshot::Sender<Result<(), String>>);

/// Carries messages both ways. Dropping it ends the session at the server, as far as that can be reached.
async fn carry<T: Transport<RoleClient>>(
    mut transport: T,
    mut outgoing: mpsc::Receiver<Leaving>,
    incoming: mpsc::Sender<ServerJsonRpcMessage>,
) {
    let mut leaving = FuturesUnordered::new();
    loop {
        let arriving = async {
            let room = incoming.reserve().await.ok()?;
            let message = transport.receive().await?;
            Some((room, message))
        };
        tokio::select! {
            next = outgoing.recv() => match next {
                Some((message, gone)) => {
                    let sending = transport.send(message);
                    leaving.push(async move {
                        // Whoever waited may be gone.
                        let _ = gone.send(sending.await.map_err(|e| with_causes(&e)));
                    });
                }
                None => return,
            },
            Some(()) = leaving.next(), if !leaving.is_empty() => {}
            arrived = arriving => match arrived {
                Some((room, message)) => room.send(message),
                None => break,
            },
        }
    }
    // Why it ended is told to whoever was sending.
    while leaving.next().await.is_some() {}
}

/// Ends with whoever holds it.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Outgoing {
    to_server: mpsc::Sender<Leaving>,
    name: String,
}

#[async_trait]
impl Sender for Outgoing {
    async fn send(&mut self, message: &str) -> Result<(), SendError> {
        let message = serde_json::from_str(message).map_err(|e| SendError {
            why: format!("cannot be sent this: {e}"),
            is_over: false,
        })?;
        let over = || SendError {
            why: "has closed the connection".to_owned(),
            is_over: true,
        };
        let (gone, is_gone) = oneshot::channel();
        self.to_server
            .send((message, gone))
            .await
            .map_err(|_| over())?;
        match is_gone.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(SendError {
                why: said(&why, &self.name),
                is_over: true,
            }),
            Err(_) => Err(over()),
        }
    }
}

/// The SDK's words for what went wrong, for people.
fn said(why: &str, name: &str) -> String {
    if why.contains("Insufficient scope")
        && let Some(scope) = scope_of(why)
    {
        let scope = shorten(&escape(&scope), MAX_REFUSAL_CHARS).into_owned();
        return format!(
            "wants more than the login allows: run `dunlin mcp login {name} --scope '{scope}'`"
        );
    }
    let why = shorten(&escape(why), MAX_REFUSAL_CHARS).into_owned();
    if why.contains("Auth required") || why.contains("HTTP 401") {
        return format!(
            "wants to know who asks: run `dunlin mcp login {name}`, or set api_key in [mcp.servers.{name}]"
        );
    }
    format!("cannot be reached: {why}")
}

struct Incoming {
    from_server: mpsc::Receiver<ServerJsonRpcMessage>,
    task: Task,
}

#[async_trait]
impl Receiver for Incoming {
    async fn receive(&mut self) -> Result<String, String> {
        loop {
            let message = self.from_server.recv().await;
            let Some(message) = message else {
                self.task.0.abort();
                return Err("has closed the connection".to_owned());
            };
            // What the SDK has understood it can write again.
            if let Ok(text) = serde_json::to_string(&message) {
                return Ok(text);
            }
        }
    }
}

/// The SDK's HTTP, over the host's way out.
#[derive(Debug, Clone)]
struct Client {
    egress: Egress,
    origin: Origin,
}

/// Lets through what goes to the origin that the user configured.
struct SameOrigin<'a>(&'a Origin);

#[async_trait]
impl Gate for SameOrigin<'_> {
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool {
        hop.url.origin() == *self.0
    }

    async fn may_reach(&mut self, _hop: &Hop<'_>, _address: IpAddr, _place: Place) -> bool {
        // The user wrote the address down: a server at home is as good as one elsewhere.
        true
    }
}

impl Client {
    async fn send(
        &self,
        method: Method,
        uri: &str,
        headers: Headers,
        body: Bytes,
    ) -> Result<Response, HttpError> {
        let url = Url::parse(uri)
            .map_err(|e| StreamableHttpError::UnexpectedServerResponse(e.to_string().into()))?;
        let mut request = Request::new(method, url);
        request.headers = headers.all()?;
        request.body = body;
        request.limits = RequestLimits {
            // An answer may be a stream that stays open: the host has its own clock.
            whole: None,
            idle: None,
            body_bytes: u64::MAX,
            ..RequestLimits::standard()
        };
        let mut gate = SameOrigin(&self.origin);
        let response = self.egress.send(request, &mut gate).await;
        let response = response.map_err(StreamableHttpError::Client)?;
        let challenge = response.headers.get(header::WWW_AUTHENTICATE);
        let challenge = challenge.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
        match (response.status, challenge) {
            (StatusCode::UNAUTHORIZED, Some(challenge)) => Err(StreamableHttpError::AuthRequired(
                AuthRequiredError::new(challenge),
            )),
            (StatusCode::FORBIDDEN, Some(challenge)) => {
                let scope = scope_of(&challenge);
                Err(StreamableHttpError::InsufficientScope(
                    InsufficientScopeError::new(challenge, scope),
                ))
            }
            _ => Ok(response),
        }
    }
}

/// `scope="..."` of a challenge.
fn scope_of(challenge: &str) -> Option<String> {
    let (_, rest) = challenge.split_once("scope=\"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// The headers of one request, before they are put together.
#[derive(Default)]
struct Headers {
    session: Option<Arc<str>>,
    last_event: Option<String>,
    token: Option<String>,
    custom: HashMap<HeaderName, HeaderValue>,
    has_body: bool,
}

impl Headers {
    fn all(self) -> Result<HeaderMap, HttpError> {
        let value = |text: &str| {
            HeaderValue::from_str(text).map_err(|_| {
                StreamableHttpError::UnexpectedServerResponse(
                    "a value that no header can have".into(),
                )
            })
        };
        let mut all: HeaderMap = self.custom.into_iter().collect();
        all.insert(header::ACCEPT, value(&format!("{EVENTS}, {JSON}"))?);
        if self.has_body {
            all.insert(header::CONTENT_TYPE, value(JSON)?);
        }
        if let Some(session) = &self.session {
            all.insert(SESSION, value(session)?);
        }
        if let Some(last_event) = &self.last_event {
            all.insert(LAST_EVENT, value(last_event)?);
        }
        if let Some(token) = &self.token {
            let mut token = value(&format!("Bearer {token}"))?;
            token.set_sensitive(true);
            all.insert(header::AUTHORIZATION, token);
        }
        Ok(all)
    }
}

impl StreamableHttpClient for Client {
    type Error = EgressError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        let had_session = session_id.is_some();
        let headers = Headers {
            session: session_id,
            token: auth_header,
            custom: custom_headers,
            has_body: true,
            ..Headers::default()
        };
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let response = self.send(Method::POST, &uri, headers, body).await?;
        let status = response.status;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = response.headers.get(&SESSION);
        let session = session.and_then(|it| it.to_str().ok()).map(str::to_owned);
        let kind = kind_of(&response);
        if status.is_success() && kind.as_deref() == Some(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(
                events(response.body),
                session,
            ));
        }
        let body = whole(response.body).await?;
        let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
        match (status.is_success(), parsed) {
            (true, Ok(message)) => Ok(StreamableHttpPostResponse::Json(message, session)),
            (true, Err(_)) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            (true, Err(_)) => Err(StreamableHttpError::UnexpectedContentType(kind)),
            // A refusal in the protocol's own words is an answer.
            (false, Ok(message @ ServerJsonRpcMessage::Error(_))) => {
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            (false, _) => {
                let text = String::from_utf8_lossy(&body).into_owned();
                let text = shorten(text.trim(), MAX_REFUSAL_CHARS);
                Err(StreamableHttpError::UnexpectedServerResponse(
                    format!("HTTP {}: {text}", status.as_u16()).into(),
                ))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let headers = Headers {
            session: Some(session_id),
            token: auth_header,
            custom: custom_headers,
            ..Headers::default()
        };
        // Servers may not offer it; there is nothing to be done about it then.
        self.send(Method::DELETE, &uri, headers, Bytes::new())
            .await
            .map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let headers = Headers {
            session: session_id,
            last_event: last_event_id,
            token: auth_header,
            custom: custom_headers,
            has_body: false,
        };
        let response = self.send(Method::GET, &uri, headers, Bytes::new()).await?;
        if response.status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let kind = kind_of(&response);
        if !response.status.is_success() || kind.as_deref() != Some(EVENTS) {
            let status = response.status.as_u16();
            return Err(StreamableHttpError::UnexpectedServerResponse(
                format!("HTTP {status}, and no events").into(),
            ));
        }
        Ok(events(response.body))
    }
}

/// The kind of an answer, without what stands behind it.
fn kind_of(response: &Response) -> Option<String> {
    let kind = response.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next().unwrap_or_default();
    Some(kind.trim().to_ascii_lowercase())
}

/// A body at once, if it is no larger than a message may be.
async fn whole(mut body: Body) -> Result<Vec<u8>, HttpError> {
    let mut all = Vec::new();
    while let Some(piece) = body.next().await.map_err(StreamableHttpError::Client)? {
        if all.len() + piece.len() > MAX_SERVER_MESSAGE_BYTES {
            return Err(StreamableHttpError::ResponseBodyTooLarge {
                max_size: MAX_SERVER_MESSAGE_BYTES,
            });
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

/// The events of a body, none larger than a message may be.
fn events(body: Body) -> BoxStream<'static, Result<Sse, SseError>> {
    SseStream::from_bytes_stream(bounded(body.into_stream())).boxed()
}

/// Why a stream of events breaks off.
#[derive(Debug, thiserror::Error)]
enum EventsError {
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error("an event larger than {} MiB", MAX_SERVER_MESSAGE_BYTES / (1024 * 1024))]
    TooLarge,
}

/// Breaks off where too much comes without the empty line that ends an event.
fn bounded(
    pieces: impl Stream<Item = Result<Bytes, EgressError>> + Send + 'static,
) -> impl Stream<Item = Result<Bytes, EventsError>> + Send + 'static {
    let state = (Box::pin(pieces), 0_usize, false);
    stream::try_unfold(
        state,
        |(mut pieces, mut bytes, mut at_line_start)| async move {
            let Some(piece) = pieces.next().await.transpose()? else {
                return Ok(None);
            };
            for byte in &piece {
                match byte {
                    b'\n' if at_line_start => bytes = 0,
                    b'\n' => at_line_start = true,
                    b'\r' => {}
                    _ => at_line_start = false,
                }
                bytes += 1;
            }
            if bytes > MAX_SERVER_MESSAGE_BYTES {
                return Err(EventsError::TooLarge);
            }
            Ok(Some((piece, (pieces, bytes, at_line_start))))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pass(pieces: &[&str]) -> Result<usize, EventsError> {
        let pieces: Vec<Result<Bytes, EgressError>> = pieces
            .iter()
            .map(|piece| Ok(Bytes::copy_from_slice(piece.as_bytes())))
            .collect();
        let mut stream = Box::pin(bounded(stream::iter(pieces)));
        let mut passed = 0;
        while let Some(piece) = stream.next().await {
            passed += piece?.len();
        }
        Ok(passed)
    }

    #[tokio::test]
    async fn events_are_bounded_one_by_one() {
        let event = format!("data: {}\r\n\r\n", "x".repeat(1024 * 1024));
        let many = vec![event.as_str(); 8];
        assert_eq!(pass(&many).await.unwrap(), 8 * event.len());
        let endless = vec!["x"; 1];
        assert_eq!(pass(&endless).await.unwrap(), 1);
        let line = "x".repeat(1024 * 1024);
        let endless = vec![line.as_str(); 5];
        assert!(matches!(pass(&endless).await, Err(EventsError::TooLarge)));
    }

    #[test]
    fn a_challenge_names_its_scope() {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"a b\"";
        assert_eq!(scope_of(challenge).as_deref(), Some("a b"));
        assert_eq!(scope_of("Bearer"), None);
    }
}
