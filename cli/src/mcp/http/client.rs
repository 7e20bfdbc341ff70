//! The SDK's HTTP, over the host's way out: what is sent, and what an answer means.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_host::display::shorten;
use dunlin_host::egress::{
    Body, Egress, EgressError, HeaderMap, HeaderName, HeaderValue, Method, Request, RequestLimits,
    Response, StatusCode, header,
};
use dunlin_host::limits::MAX_SERVER_MESSAGE_BYTES;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_of_rmcp::{Sse, SseStream};
use tokio::time::Instant;
use url::{Origin, Url};

use super::MAX_REFUSAL_CHARS;
use crate::mcp::same_origin::SameOrigin;
use crate::mcp::sent::Sent;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What lies between two requests for events, at least.
const BETWEEN_STREAMS: Duration = Duration::from_millis(250);

type HttpError = StreamableHttpError<EgressError>;

/// The SDK's HTTP, over the host's way out.
#[derive(Debug, Clone)]
pub(super) struct Client {
    egress: Egress,
    origin: Origin,
    sent: Sent,
    /// When events were asked for last. Clones are of one connection.
    asked: Arc<Mutex<Option<Instant>>>,
}

impl Client {
    /// For the server of this origin.
    pub(super) fn new(egress: Egress, origin: Origin, sent: Sent) -> Client {
        Client {
            egress,
            origin,
            sent,
            asked: Arc::default(),
        }
    }

    /// Waits until events may be asked for again: a server that ends each stream at once would be asked without a pause.
    async fn keep_pace(&self) {
        let due = {
            let mut asked = self.asked.lock();
            let now = Instant::now();
            let due = asked.map_or(now, |last| now.max(last + BETWEEN_STREAMS));
            *asked = Some(due);
            due
        };
        tokio::time::sleep_until(due).await;
    }

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
        if let Some(token) = &headers.token {
            self.sent.note("token", token);
        }
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
pub(super) fn scope_of(challenge: &str) -> Option<String> {
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
                // Before it is cut: half a secret could not be found.
                let text = self.sent.mask(String::from_utf8_lossy(&body).into_owned());
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
        self.keep_pace().await;
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
