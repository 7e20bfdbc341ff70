//! Chat completions, streamed: the profile says what to send, framing and assembly what came back.

mod wire;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use crate::agent::Agent;
use crate::provider::assembly::{Assembly, BrokeOff};
use crate::provider::error::{Cause, Endpoint, ProviderError, Waiting};
use crate::provider::framing::{FrameError, Frames};
use crate::provider::http::{self, Timeouts};
use crate::provider::profile::Profile;
use crate::provider::{Dialect, EventStream, Provider, StreamEvent, error_body};
use crate::request::Request;
use crate::secret::Secret;

/// How long to wait after the model has finished: for the count of tokens and the mark of the end,
/// which some servers never send while they keep the connection open. Both come within milliseconds
/// where they come.
const FINISH_GRACE: Duration = Duration::from_secs(2);

/// How much of the body of a refusal is read, in bytes. The message stands at its beginning.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// How long to wait for the body of a refusal. Its status is known by then and tells more than
/// half.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// An endpoint that speaks chat completions.
#[derive(Debug)]
pub struct OpenAi {
    url: Url,
    endpoint: Endpoint,
    model: String,
    api_key: Option<Secret>,
    profile: Arc<Profile>,
    timeouts: Timeouts,
    client: OnceCell<reqwest::Client>,
}

impl OpenAi {
    /// The endpoint of an agent. Touches nothing.
    pub fn new(agent: &Agent, timeouts: Timeouts) -> OpenAi {
        let mut url = agent.base_url.clone();
        url.set_path(&format!(
            "{}/chat/completions",
            agent.base_url.path().trim_end_matches('/')
        ));
        OpenAi {
            endpoint: Endpoint::of(&url),
            url,
            model: agent.model.clone(),
            api_key: agent.api_key.clone(),
            profile: Arc::new(Profile::of(&agent.base_url)),
            timeouts,
            client: OnceCell::new(),
        }
    }

    async fn post(&self, request: &Request) -> Result<Response, ProviderError> {
        let client = self
            .client
            .get_or_try_init(|| async { http::client(&self.url, self.timeouts) })
            .await
            .map_err(|error| ProviderError::Setup {
                endpoint: self.endpoint.clone(),
                source: Cause::new(error.without_url()),
            })?;
        let mut post = client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(request.bytes().clone());
        if let Some(key) = &self.api_key {
            let mut bearer =
                HeaderValue::try_from(format!("Bearer {}", key.reveal())).map_err(|_| {
                    ProviderError::Key {
                        key: key.name().to_owned(),
                    }
                })?;
            bearer.set_sensitive(true);
            post = post.header(AUTHORIZATION, bearer);
        }
        match timeout(self.timeouts.idle, post.send()).await {
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

#[async_trait]
impl Provider for OpenAi {
    fn dialect(&self) -> Arc<dyn Dialect> {
        self.profile.clone()
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let response = self.post(request).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let reply = Reply {
            frames: Frames::new(response.bytes_stream(), self.timeouts.idle),
            assembly: Some(Assembly::new()),
            events: VecDeque::new(),
            finished_at: None,
            endpoint: self.endpoint.clone(),
            api_key: self.api_key.clone(),
        };
        Ok(Box::pin(stream::unfold(reply, |mut reply| async {
            reply.next().await.map(|event| (event, reply))
        })))
    }
}

/// A reply being read.
struct Reply {
    frames: Frames,
    /// `None` once the end or an error was given.
    assembly: Option<Assembly>,
    events: VecDeque<StreamEvent>,
    finished_at: Option<Instant>,
    endpoint: Endpoint,
    api_key: Option<Secret>,
}

impl Reply {
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            self.assembly.as_ref()?;
            if let Err(error) = self.read().await {
                // What the server said before it broke off is still given first.
                self.assembly = None;
                return Some(Err(error));
            }
        }
    }

    /// Reads one frame, or notices that there is none.
    async fn read(&mut self) -> Result<(), ProviderError> {
        let frame = match self.finished_at {
            None => self.frames.next().await,
            // The reply is whole: neither silence nor a broken connection takes that away.
            Some(finished_at) => timeout_at(finished_at + FINISH_GRACE, self.frames.next())
                .await
                .ok()
                .flatten()
                .filter(Result::is_ok),
        };
        let Some(frame) = frame else {
            return self.end();
        };
        let frame = frame.map_err(|error| self.unreadable(error))?;
        let Some(assembly) = &mut self.assembly else {
            return Ok(());
        };
        let mut events = Vec::new();
        let fed = assembly.feed(frame, &mut events);
        self.events.extend(events);
        if let Err(reported) = fed {
            let message = match &self.api_key {
                Some(key) => key.mask_in(&reported.message),
                None => reported.message,
            };
            return Err(ProviderError::Reported {
                endpoint: self.endpoint.clone(),
                message,
                code: reported.code,
            });
        }
        if assembly.is_done() {
            return self.end();
        }
        if assembly.has_finish_reason() && self.finished_at.is_none() {
            self.finished_at = Some(Instant::now());
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        match self.assembly.take().map(Assembly::end) {
            Some(Ok(end)) => self.events.push_back(StreamEvent::End(end)),
            Some(Err(BrokeOff)) => {
                return Err(ProviderError::Incomplete {
                    endpoint: self.endpoint.clone(),
                    source: None,
                });
            }
            None => {}
        }
        Ok(())
    }

    fn unreadable(&self, error: FrameError) -> ProviderError {
        let endpoint = self.endpoint.clone();
        match error {
            FrameError::Idle(after) => ProviderError::TimedOut {
                endpoint,
                what: Waiting::Continuation,
                after,
            },
            FrameError::NotAReply { start } => ProviderError::NotAReply {
                endpoint,
                source: Cause::new(format!("it sent {}", error_body::one_line(&start))),
            },
            error => ProviderError::Incomplete {
                endpoint,
                source: Some(Cause::new(error)),
            },
        }
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
