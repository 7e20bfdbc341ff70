//! A connection to one endpoint: posts requests, and makes errors of what goes wrong before a reply.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use url::Url;

use super::error::{Cause, Endpoint, ProviderError, Waiting};
use super::error_body;
use super::http::{self, Timeouts};
use crate::agent::Agent;
use crate::request::Request;
use crate::secret::Secret;

/// How much of the body of a refusal is read, in bytes. The message stands at its beginning.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// How long to wait for the body of a refusal. Its status is known by then and tells more than
/// half.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// One endpoint and what it takes to reach it. Connects with the first request only.
#[derive(Debug)]
pub(super) struct Connection {
    url: Url,
    endpoint: Endpoint,
    model: String,
    api_key: Option<Secret>,
    timeouts: Timeouts,
    client: OnceCell<reqwest::Client>,
}

impl Connection {
    /// To the endpoint of an agent at this address. Touches nothing.
    pub(super) fn new(agent: &Agent, url: Url, timeouts: Timeouts) -> Connection {
        Connection {
            endpoint: Endpoint::of(&url),
            url,
            model: agent.model.clone(),
            api_key: agent.api_key.clone(),
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
    /// is asked for.
    ///
    /// # Errors
    /// Everything that goes wrong before the first byte of the body of a reply.
    pub(super) async fn send(
        &self,
        request: &Request,
        accept: &'static str,
    ) -> Result<Response, ProviderError> {
        let client = self.client().await?;
        let post = client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .body(request.bytes().clone());
        let response = self.exchange(post).await?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.refused(response).await)
        }
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
        let mut request = request;
        if let Some(key) = &self.api_key {
            let mut bearer =
                HeaderValue::try_from(format!("Bearer {}", key.reveal())).map_err(|_| {
                    ProviderError::Key {
                        key: key.name().to_owned(),
                    }
                })?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
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

    async fn refused(&self, response: Response) -> ProviderError {
        let status = response.status();
        let header = |name| {
            response
                .headers()
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let retry_after =
            header(RETRY_AFTER).and_then(|value| error_body::retry_after(value, SystemTime::now()));
        let location = header(LOCATION).and_then(|location| self.url.join(location).ok());
        let body = error_body(response).await;
        let message = match location {
            Some(location) if status.is_redirection() => {
                format!("it redirects to {}", Endpoint::of(&location))
            }
            _ => error_body::readable(&body).unwrap_or_else(|| reason(status)),
        };
        ProviderError::Status {
            endpoint: self.endpoint.clone(),
            status: status.as_u16(),
            message: self.masked(message),
            retry_after,
            key: self.api_key.as_ref().map(|key| key.name().to_owned()),
            model: self.model.clone(),
        }
    }

    fn masked(&self, message: String) -> String {
        self.api_key
            .as_ref()
            .map_or_else(|| message.clone(), |key| key.mask_in(&message))
    }
}

/// The beginning of the body of a refusal; empty if it does not come.
async fn error_body(response: Response) -> String {
    let mut body = Vec::new();
    let mut chunks = pin!(response.bytes_stream());
    let read = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            body.extend_from_slice(&chunk);
            if body.len() >= MAX_ERROR_BODY_BYTES {
                body.truncate(MAX_ERROR_BODY_BYTES);
                break;
            }
        }
    };
    // What came in time is enough.
    let _ = timeout(ERROR_BODY_TIMEOUT, read).await;
    String::from_utf8_lossy(&body).into_owned()
}

fn reason(status: StatusCode) -> String {
    status
        .canonical_reason()
        .unwrap_or("no reason given")
        .to_lowercase()
}
