//! Reads one reply: frames go into an assembly, events come out, until one of them says that it is over.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::assembly::{Assembly, BrokeOff, ReportedError};
use super::connection::Connection;
use super::framing::{Frame, FrameError, Frames};
use super::{error_body, overflow};
use dunlin_chat::provider::error::{Cause, Endpoint, ProviderError, Waiting};
use dunlin_chat::provider::{EventStream, ReplyEnd, StreamEvent};
use dunlin_chat::secret::Secret;

/// How long to wait after the model has finished: for the count of tokens and the mark of the end,
/// which some servers never send while they keep the connection open. Both come within milliseconds
/// where they come.
const FINISH_GRACE: Duration = Duration::from_secs(2);

/// The frames of a reply. Ends with the body.
pub(super) type FrameStream = Pin<Box<dyn Stream<Item = Result<Frame, FrameError>> + Send>>;

/// Puts a reply together; each protocol has its own.
pub(crate) trait Assemble: Send {
    /// Takes one frame and adds what it holds to `out`.
    ///
    /// # Errors
    /// What the server reports as an error. It ends the reply.
    fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError>;

    /// Whether the reply is whole, though something may still come.
    fn has_finish_reason(&self) -> bool;

    /// Whether nothing more will come.
    fn is_done(&self) -> bool;

    /// What the reply came to.
    ///
    /// # Errors
    /// The reply broke off.
    fn end(self: Box<Self>) -> Result<ReplyEnd, BrokeOff>;
}

impl Assemble for Assembly {
    fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        Assembly::feed(self, frame, out)
    }

    fn has_finish_reason(&self) -> bool {
        Assembly::has_finish_reason(self)
    }

    fn is_done(&self) -> bool {
        Assembly::is_done(self)
    }

    fn end(self: Box<Self>) -> Result<ReplyEnd, BrokeOff> {
        Assembly::end(*self)
    }
}

/// The events of a response that is an event stream.
pub(super) fn frames(response: reqwest::Response, connection: &Connection) -> FrameStream {
    let frames = Frames::new(response.bytes_stream(), connection.timeouts().idle);
    Box::pin(stream::unfold(frames, |mut frames| async {
        frames.next().await.map(|frame| (frame, frames))
    }))
}

/// The events of a reply that came over this connection.
pub(super) fn read(
    frames: FrameStream,
    assembly: Box<dyn Assemble>,
    connection: &Connection,
) -> EventStream {
    let reply = Reply {
        frames,
        assembly: Some(assembly),
        events: VecDeque::new(),
        finished_at: None,
        endpoint: connection.endpoint().clone(),
        api_key: connection.api_key().cloned(),
    };
    Box::pin(stream::unfold(reply, |mut reply| async {
        reply.next().await.map(|event| (event, reply))
    }))
}

/// A reply being read.
struct Reply {
    frames: FrameStream,
    /// `None` once the end or an error was given.
    assembly: Option<Box<dyn Assemble>>,
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
        // What is said about a reply quotes it, and is no part of it.
        let masked = events
            .into_iter()
            .map(|event| match (event, &self.api_key) {
                (StreamEvent::Notice(text), Some(key)) => StreamEvent::Notice(key.mask_in(&text)),
                (StreamEvent::Warning(text), Some(key)) => StreamEvent::Warning(key.mask_in(&text)),
                (event, _) => event,
            });
        self.events.extend(masked);
        if let Err(reported) = fed {
            let message = match &self.api_key {
                Some(key) => key.mask_in(&reported.message),
                None => reported.message,
            };
            let overflow = overflow::recognise(None, reported.code.as_deref(), &message);
            return Err(ProviderError::Reported {
                endpoint: self.endpoint.clone(),
                message,
                code: reported.code,
                overflow,
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
        match self.assembly.take().map(|assembly| assembly.end()) {
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
