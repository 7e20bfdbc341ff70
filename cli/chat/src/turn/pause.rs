//! Holding a request before it is sent.
//!
//! A request that is paused waits for the user like calls do: no timer runs and nothing is sent. What is sent then is
//! what the user made of it. Until the first request of a turn is sent, its message is in no history.

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use crate::message::{Message, Role};
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
    /// When it was composed, or sent.
    pub time: Option<Timestamp>,
    /// The model that would answer.
    pub model: &'a str,
    /// The tools that the request describes in its system prompt, because the model takes none.
    pub described: Vec<String>,
    /// What was said until now, the message included that this request would send.
    pub messages: &'a [Message],
    /// Counts tokens as the context budget does.
    pub measure: Measure,
    /// How many tokens the request may have, in the measure's own counts.
    pub max_request_tokens: u64,
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
            time: None,
            model: "",
            described: Vec::new(),
            messages: &[],
            measure: Measure::default(),
            max_request_tokens: u64::MAX,
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

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextRequest {
    /// Which one of the turn it is, from 1.
    pub round: u32,
    /// Whether it gives the model results of tools that the model has not answered yet. They may be of an earlier turn, whose
    /// last request was cancelled.
    pub has_new_results: bool,
}

impl NextRequest {
    /// The request of this round, which goes on with these messages.
    pub fn new(round: u32, messages: &[Message]) -> NextRequest {
        let unanswered = messages.iter().rev();
        let mut unanswered = unanswered.take_while(|message| message.role != Role::Assistant);
        NextRequest {
            round,
            has_new_results: unanswered.any(|message| message.role == Role::Tool),
        }
    }
}

/// Decides which requests are paused, and lets the user edit them.
#[async_trait(?Send)]
pub trait Interceptor {
    /// Whether this request is paused.
    fn pauses(&self, next: NextRequest) -> bool;

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
    fn pauses(&self, _next: NextRequest) -> bool {
        false
    }

    async fn review(&self, paused: PausedRequest<'_>) -> Verdict {
        Verdict::Send(Box::new(paused.request))
    }
}

#[cfg(test)]
#[path = "pause_tests.rs"]
mod tests;
