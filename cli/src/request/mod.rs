//! The request: one value that is counted, logged, shown and sent.
//!
//! [`compose`] is a pure function of conversation, agent, dialect, tools and limits. It chooses what
//! is said, the [`Draft`], and has the provider's [`Dialect`] write it down. What it returns is
//! serialised once, by the first [`Request::bytes`], and those bytes are what leaves the socket.
//! Whoever wants to change what one request says changes the [`Request`] (see [`Request::edit`]),
//! never the conversation.
//!
//! Equal input gives equal bytes, and a longer conversation gives bytes that start alike: providers
//! and local servers cache by prefix, and a prefix that wanders makes them read everything again.

mod draft;
mod window;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use dunlin_host::Tool;
use serde_json::Value;

use crate::agent::Agent;
use crate::message::Conversation;
use crate::provider::Dialect;

pub use draft::Draft;
pub use window::{HistoryLimits, estimate_tokens};

/// The exact body of one request to a provider.
#[derive(Debug, Clone)]
pub struct Request {
    body: Value,
    tools: Arc<[Tool]>,
    left_out: usize,
    bytes: OnceLock<Bytes>,
}

impl Request {
    /// A request with this body, which offers no tools.
    pub fn new(body: Value) -> Request {
        Request {
            body,
            tools: Arc::new([]),
            left_out: 0,
            bytes: OnceLock::new(),
        }
    }

    /// The body as a value.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The body, to be changed before it is sent. What was serialised before is forgotten.
    pub fn edit(&mut self) -> &mut Value {
        self.bytes.take();
        &mut self.body
    }

    /// The body as sent. Serialised by the first call only; a clone shares the memory.
    pub fn bytes(&self) -> &Bytes {
        self.bytes
            .get_or_init(|| Bytes::from(self.body.to_string()))
    }

    /// The same request, noted as one that offers these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Arc<[Tool]>>) -> Request {
        self.tools = tools.into();
        self
    }

    /// The tools that are offered with it, with their own schemas: a reply may call these.
    pub fn tools(&self) -> &Arc<[Tool]> {
        &self.tools
    }

    /// How many messages at the start of the conversation were left out, because the history is
    /// longer than the limits allow.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// Makes the next request of a conversation. `tools` are all tools there are; the agent's list
/// picks from them.
pub fn compose(
    conversation: &Conversation,
    agent: &Agent,
    dialect: &dyn Dialect,
    tools: &[Tool],
    limits: &HistoryLimits,
) -> Request {
    let left_out = window::start(conversation.messages(), limits);
    let draft = Draft::new(&conversation.messages()[left_out..], agent, tools);
    let offered: Vec<Tool> = draft.tools.iter().map(|&tool| tool.clone()).collect();
    Request {
        left_out,
        ..Request::new(dialect.body(&draft)).with_tools(offered)
    }
}

#[cfg(test)]
mod tests;
