//! What answers a request with a stream, as the turn sees it: no protocol and no provider's name.

pub mod error;
#[cfg(test)]
pub(crate) mod plain;
pub mod retry;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::Stream;
use serde_json::{Map, Value};

use crate::media::Takes;
use crate::message::Replay;
use crate::price::Price;
use crate::request::editor::{Origin, Outline};
use crate::request::{Draft, Request};
use error::{Endpoint, ProviderError};

pub use crate::usage::Usage;

/// A reply as it arrives. Ends after [`StreamEvent::End`] or after an error. Dropping it closes the
/// connection.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;

/// Answers requests.
#[async_trait]
pub trait Provider: Send + Sync {
    /// How this endpoint wants the next request written.
    fn dialect(&self) -> Arc<dyn Dialect>;

    /// Where requests go; `None`: nowhere beside the agent's own address.
    fn endpoint(&self) -> Option<Endpoint> {
        None
    }

    /// The model's window, as far as it is known by now. Asks nobody.
    fn window(&self) -> Option<Window> {
        None
    }

    /// What the model's tokens cost, if that is known.
    fn price(&self) -> Option<&Price> {
        None
    }

    /// Whether the model takes tools, as far as it is known by now. Asks nobody.
    fn takes_tools(&self) -> Option<bool> {
        None
    }

    /// Asks the endpoint for the model's window, unless it was asked before. To be polled while a reply is
    /// read; never fails, and dropping the future loses nothing but the answer.
    async fn look_up_window(&self) {}

    /// Sends a request and returns as soon as the endpoint has accepted it. Sends once: what may be
    /// repeated, and when, is for the caller to say, as is composing anew what the endpoint has taught
    /// ([`ProviderError::profile_change`]). Dropping the future closes the connection.
    ///
    /// # Errors
    /// Everything that goes wrong before the first byte of a reply, refusals included.
    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError>;
}

/// Writes requests as one endpoint wants them. Never changes: equal drafts give equal bodies, and the
/// draft of a longer conversation gives a body that starts alike.
pub trait Dialect: Send + Sync {
    /// Whether tools may be offered. Where not, the draft has none.
    fn offers_tools(&self) -> bool {
        true
    }

    /// Whether tools that are not offered are described in the system prompt instead.
    fn describes_tools(&self) -> bool {
        false
    }

    /// What may stand beside text. The rest of what a conversation holds is named in the text.
    fn takes(&self) -> Takes {
        Takes::NOTHING
    }

    /// Whether the result of a call may hold what stands beside text. Where not, it follows in a message of the user.
    fn results_hold_media(&self) -> bool {
        true
    }

    /// The body that says what the draft says.
    fn body(&self, draft: &Draft<'_>) -> Value;

    /// Which part of a body that this dialect wrote is what, for the request editor; `origins` belong to its messages after
    /// the system prompt. Without an outline a body is one raw section.
    fn outline(&self, _body: &Value, _origins: &[Origin]) -> Outline {
        Outline::raw()
    }

    /// Whether the reasoning of earlier replies is in the body, where they have calls.
    fn echoes_reasoning(&self) -> bool {
        false
    }
}

/// A model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its size in tokens, the reply included.
    pub tokens: u64,
    /// Who says so.
    pub source: WindowSource,
}

/// Where the size of a window is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowSource {
    /// The server says so.
    Server,
    /// The agent's `context_window`.
    Configured,
    /// The table of models says so.
    Table,
}

/// One piece of a reply. Texts are the model's: escape before showing.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// A piece of the answer.
    Text(String),
    /// A piece of what the model thinks before it answers.
    Reasoning {
        /// The field it came in.
        field: &'static str,
        text: String,
    },
    /// All text of this reply so far was not an answer but what the model thinks: only now its server or its
    /// template has said so. What may have been shown stays shown.
    WasReasoning {
        /// The field it should have come in.
        field: &'static str,
    },
    /// The model has begun to write a call; the call itself comes with the end.
    CallStarted {
        /// The tool's name, as far as known.
        tool: String,
    },
    /// What the reply has used so far. A later one replaces an earlier one.
    Usage(Usage),
    /// Something the user should know: a damaged piece was skipped.
    Notice(String),
    /// Something the user must know: the reply is to less than what was sent.
    Warning(String),
    End(ReplyEnd),
}

/// How a reply ended, and the calls in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyEnd {
    /// What the model asks for, in order.
    pub calls: Vec<ProposedCall>,
    /// Whether the reply is whole.
    pub finish: Finish,
    /// What the endpoint wants back unchanged with this reply.
    pub replay: Option<Replay>,
}

/// Whether a reply is whole. Decided by what arrived; the reason that the server names is only a
/// hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Finish {
    #[default]
    Complete,
    /// It was cut at the token limit, or its calls end in the middle, or a piece was lost on the
    /// way. None of its calls may be run: half an argument can be a valid one.
    Cut,
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCall {
    /// The provider's id; may be empty or one that was used before.
    pub id: String,
    /// The tool's name; may be empty.
    pub tool: String,
    /// The arguments, or why they cannot be read.
    pub arguments: Result<Map<String, Value>, BadArguments>,
    /// Whether it was found in the model's text: the model may have meant no call at all.
    pub recovered: bool,
    /// Whether the arguments were not valid JSON and were mended: the model may have meant others.
    pub repaired: bool,
}

impl ProposedCall {
    /// A call as it should come.
    pub fn new(
        id: impl Into<String>,
        tool: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> ProposedCall {
        ProposedCall {
            id: id.into(),
            tool: tool.into(),
            arguments: Ok(arguments),
            recovered: false,
            repaired: false,
        }
    }
}

/// Arguments that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadArguments {
    /// What the model wrote.
    pub raw: String,
    /// What is wrong with it, for the model.
    pub problem: String,
}
