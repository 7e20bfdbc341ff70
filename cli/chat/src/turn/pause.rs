//! Holding a request before it is sent.
//!
//! A request that is paused waits for the user like calls do: no timer runs and nothing is sent. What is sent then is
//! what the user made of it. Until the first request of a turn is sent, its message is in no history.

use async_trait::async_trait;
use bytes::Bytes;

use crate::message::Message;
use crate::request::editor::EditableRequest;
use crate::request::measure::Measure;

/// A request that is held, with what is shown beside it.
#[derive(Debug)]
pub struct PausedRequest<'a> {
    /// The request, with the edits that were made before the endpoint wanted it otherwise.
    pub request: EditableRequest,
    /// Which request of the turn it is, from 1.
    pub round: u32,
    /// Its number in the session, if the session keeps requests.
    pub number: Option<u64>,
    /// The model that would answer.
    pub model: &'a str,
    /// The tools that the request describes in its system prompt, because the model takes none.
    pub described: Vec<String>,
    /// What was said until now, the message included that this request would send.
    pub messages: &'a [Message],
    /// Counts tokens as the context budget does.
    pub measure: Measure,
    /// How many tokens the request may have, in the measure's own counts.
    pub room: u64,
    /// The model's context window in tokens, as far as known.
    pub window: Option<u64>,
    /// Whether the user has to see it: the interceptor pauses it, or it has another form than the one that was paused.
    pub must_pause: bool,
    /// The bytes of the request that this endpoint was sent last.
    pub last_sent: Option<Bytes>,
    /// Why the request is paused again, and which edits did not fit it any more.
    pub notice: Option<String>,
}

impl PausedRequest<'_> {
    /// The first request of a turn that knows nothing else: no limit, no number and no server that has read any of it.
    pub fn new(request: EditableRequest) -> PausedRequest<'static> {
        PausedRequest {
            request,
            round: 1,
            number: None,
            model: "",
            described: Vec::new(),
            messages: &[],
            measure: Measure::default(),
            room: u64::MAX,
            window: None,
            must_pause: true,
            last_sent: None,
            notice: None,
        }
    }
}

/// Why a paused request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// The user cancelled it, also with Ctrl-C.
    User,
    /// The user switched pausing off.
    ModeOff,
    /// The user moved on to another session, agent or model.
    ContextChanged,
}

/// What becomes of a paused request.
#[derive(Debug)]
pub enum Verdict {
    /// It is sent as it is now.
    Send(Box<EditableRequest>),
    /// It is not sent.
    Cancel(CancelReason),
}

/// Decides which requests are paused, and lets the user edit them.
#[async_trait(?Send)]
pub trait Interceptor {
    /// Whether the next request is paused: the `round`th of the turn, from 1.
    fn pauses(&self, round: u32) -> bool;

    /// Whether requests that are not paused go through [`Interceptor::review`], too, to be edited without the user.
    fn revises(&self) -> bool {
        false
    }

    /// Tools that no request may name, whatever they say of themselves. Where a request offers its tools, the interceptor
    /// leaves them out itself; a description in the system prompt is composed without them.
    fn left_out_tools(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until the user sends or cancels the request. Dropping the future cancels it.
    async fn review(&self, paused: PausedRequest<'_>) -> Verdict;
}

/// Pauses nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInterceptor;

#[async_trait(?Send)]
impl Interceptor for NoInterceptor {
    fn pauses(&self, _round: u32) -> bool {
        false
    }

    async fn review(&self, paused: PausedRequest<'_>) -> Verdict {
        Verdict::Send(Box::new(paused.request))
    }
}

#[cfg(test)]
#[path = "pause_tests.rs"]
mod tests;
