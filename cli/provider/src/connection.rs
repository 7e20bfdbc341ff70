//! A connection to one endpoint: posts requests, and makes errors of what goes wrong before a reply.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use url::Url;

use super::fallbacks::Fallbacks;
use super::http::{self, Timeouts};
use super::protocol::{Headers, NoHeader};
use super::{error_body, overflow, retry_after};
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::error::{Cause, Endpoint, ProviderError, Refusal, Waiting};
use dunlin_chat::request::Request;
use dunlin_chat::secret::Secret;

/// How much of the body of a refusal is read, in bytes. The message stands at its beginning.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// How long to wait for the body of a refusal. Its status is known by then and tells more than
/// half.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest answer to a question beside the chat, in bytes. The longest list of models there is takes some
/// 800 kB.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// How long to wait for the answer to a question beside the chat. Nobody waits for it in front of a screen.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// One endpoint and what it takes to reach it. Connects with the first request only.
#[derive(Debug)]
pub(super) struct Connection {
    url: Url,
    endpoint: Endpoint,
    model: String,
    api_key: Option<Secret>,
    headers: Headers,
    timeouts: Timeouts,
    client: OnceCell<reqwest::Client>,
}

impl Connection {
    /// To the endpoint of an agent at this address. Touches nothing.
    pub(super) fn new(agent: &Agent, url: Url, headers: Headers, timeouts: Timeouts) -> Connection {
        Connection {
            endpoint: Endpoint::of(&url),
            url,
            model: agent.model.clone(),
            api_key: agent.api_key.clone(),
            headers,
            timeouts,
            client: OnceCell::new(),
        }
    }

    /// The address as it may be shown.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The key that is sent.
    pub(super) fn api_key(&self) -> Option<&Secret> {
        self.api_key.as_ref()
    }

    /// The limits of the wait.
    pub(super) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Sends a request, once, and returns when the endpoint has accepted it. `accept` is the media type that
    /// is asked for; what the answer teaches goes to `fallbacks`.
    ///
    /// # Errors
    /// Everything that goes wrong before the first byte of the body of a reply.
    pub(super) async fn send(
        &self,
        request: &Request,
        accept: &'static str,
        fallbacks: &Fallbacks,
    ) -> Result<Response, ProviderError> {
        let client = self.client().await?;
        let post = client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .body(request.bytes().clone());
        let response = self.exchange(post).await?;
        if response.status().is_success() {
            fallbacks.accepted();
            return Ok(response);
        }
        let (mut refusal, body) = self.refused(response).await;
        refusal.profile_change = fallbacks.refused(&refusal, &body, request.body());
        Err(ProviderError::Status(Box::new(refusal)))
    }

    /// Asks something beside the chat: `GET`, or `POST` with a body. `None`: there is no answer in time, or none
    /// in JSON. `url` has to be of the same server, since the key goes with it.
    pub(super) async fn ask(&self, url: Url, body: Option<&Value>) -> Option<Value> {
        if url.origin() != self.url.origin() {
            return None;
        }
        let client = self.client().await.ok()?;
        let request = match body {
            Some(body) => client
                .post(url)
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string()),
            None => client.get(url),
        };
        let asked = async {
            let response = self.exchange(request).await.ok()?;
            if !response.status().is_success() {
                return None;
            }
            let mut answer = Vec::new();
            let mut chunks = pin!(response.bytes_stream());
            while let Some(chunk) = chunks.next().await {
                answer.extend_from_slice(&chunk.ok()?);
                if answer.len() > MAX_ANSWER_BYTES {
                    return None;
                }
            }
            serde_json::from_slice(&answer).ok()
        };
        timeout(ASK_TIMEOUT, asked).await.ok()?
    }

    async fn client(&self) -> Result<&reqwest::Client, ProviderError> {
        self.client
            .get_or_try_init(|| async { http::client(&self.url, self.timeouts) })
            .await
            .map_err(|error| ProviderError::Setup {
                endpoint: self.endpoint.clone(),
                source: Cause::new(error.without_url()),
            })
    }

    async fn exchange(&self, request: reqwest::RequestBuilder) -> Result<Response, ProviderError> {
        let request = self.headers.add(request, self.api_key.as_ref());
        let request = request.map_err(|NoHeader| ProviderError::Key {
            key: self
                .api_key
                .as_ref()
                .map_or_else(String::new, |key| key.name().to_owned()),
        })?;
        match timeout(self.timeouts.idle, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.not_sent(error)),
            Err(_) => Err(self.timed_out(Waiting::Answer, self.timeouts.idle)),
        }
    }

    fn not_sent(&self, error: reqwest::Error) -> ProviderError {
        let endpoint = self.endpoint.clone();
        let (connecting, timed_out) = (error.is_connect(), error.is_timeout());
        let source = Cause::new(error.without_url());
        if timed_out {
            self.timed_out(Waiting::Connection, self.timeouts.connect)
        } else if source.find::<rustls::Error>().is_some() {
            ProviderError::Tls { endpoint, source }
        } else if connecting {
            ProviderError::Connect {
                endpoint,
                local: http::is_this_machine(&self.url),
                source,
            }
        } else {
            ProviderError::Incomplete {
                endpoint,
                source: Some(source),
            }
        }
    }

    fn timed_out(&self, what: Waiting, after: Duration) -> ProviderError {
        ProviderError::TimedOut {
            endpoint: self.endpoint.clone(),
            what,
            after,
        }
    }

    async fn refused(&self, response: Response) -> (Refusal, String) {
        let status = response.status();
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        // OpenAI and Azure are more exact in a header of their own.
        let retry_after = header("retry-after-ms")
            .and_then(retry_after::milliseconds)
            .or_else(|| {
                header(RETRY_AFTER.as_str())
                    .and_then(|value| retry_after::seconds_or_date(value, SystemTime::now()))
            });
        let location = header(LOCATION.as_str()).and_then(|location| self.url.join(location).ok());
        // More than is kept: a key at the cut is found as a whole. A character of it may be written with six.
        let longest = self
            .api_key
            .as_ref()
            .map_or(0, |key| 6 * key.reveal().len());
        let mut body = self.masked(error_body(response, MAX_ERROR_BODY_BYTES + longest).await);
        body.truncate(body.floor_char_boundary(MAX_ERROR_BODY_BYTES));
        // Masked once more: decoding may have made the key of what was none before.
        let message = self.masked(match location {
            Some(location) if status.is_redirection() => {
                format!("it redirects to {}", Endpoint::of(&location))
            }
            _ => error_body::readable(&body)
                .or_else(|| reason(status))
                .unwrap_or_else(|| "no reason given".to_owned()),
        });
        let code = serde_json::from_str(&body)
            .ok()
            .and_then(|body| error_body::code_of(&body));
        let refusal = Refusal {
            endpoint: self.endpoint.clone(),
            status: status.as_u16(),
            reason: reason(status),
            message,
            overflow: overflow::recognise(Some(status.as_u16()), code.as_deref(), &body),
            code,
            retry_after,
            key: self.api_key.as_ref().map(|key| key.name().to_owned()),
            model: self.model.clone(),
            way_out: None,
            profile_change: None,
        };
        (refusal, body)
    }

    fn masked(&self, message: String) -> String {
        self.api_key
            .as_ref()
            .map_or_else(|| message.clone(), |key| key.mask_in(&message))
    }
}

/// The beginning of the body of a refusal; empty if it does not come.
async fn error_body(response: Response, most: usize) -> String {
    let mut body = Vec::new();
    let mut chunks = pin!(response.bytes_stream());
    let read = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            body.extend_from_slice(&chunk);
            if body.len() >= most {
                body.truncate(most);
                break;
            }
        }
    };
    // What came in time is enough.
    let _ = timeout(ERROR_BODY_TIMEOUT, read).await;
    String::from_utf8_lossy(&body).into_owned()
}

fn reason(status: StatusCode) -> Option<String> {
    status.canonical_reason().map(str::to_lowercase)
}
