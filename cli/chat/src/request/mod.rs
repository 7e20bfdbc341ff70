//! The request: one value that is counted, logged, shown and sent.
//!
//! The [`ContextBudget`] chooses what of a conversation fits. [`compose`] is a pure function of these
//! messages, agent, dialect and tools. It says what is said, the [`Draft`], and has the provider's
//! [`Dialect`] write it down. What it returns is serialised once, by the first [`Request::bytes`], and those bytes are what leaves the socket.
//! Whoever wants to change what one request says edits the request (see [`editor`]), never the conversation.
//!
//! Equal input gives equal bytes, and a longer conversation gives bytes that start alike: providers
//! and local servers cache by prefix, and a prefix that wanders makes them read everything again.

mod carried;
pub mod compact;
pub mod context_budget;
pub mod cost;
mod described;
mod draft;
pub mod editor;
pub mod limits;
pub mod measure;
pub mod report;
pub mod truncation;
pub mod verdicts;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use dunlin_host::Tool;
use serde_json::Value;

use crate::agent::Agent;
use crate::media::{self, Media};
use crate::message::Message;
use crate::provider::Dialect;
use carried::MediaBudget;
use editor::{Edit, EditableRequest, SectionId};

pub use context_budget::{ContextBudget, Occasion};
pub use draft::Draft;
pub use limits::{HistoryLimits, TooLong};

/// The exact body of one request to a provider.
#[derive(Debug, Clone)]
pub struct Request {
    body: Value,
    tools: Arc<[Tool]>,
    media: Vec<Media>,
    bytes: OnceLock<Bytes>,
    edited: Option<Arc<Edited>>,
}

/// What a request was before it was edited.
#[derive(Debug)]
struct Edited {
    original: Bytes,
    edits: Vec<Edit>,
}

impl Request {
    /// A request with this body, which offers no tools.
    pub fn new(body: Value) -> Request {
        Request {
            body,
            tools: Arc::new([]),
            media: Vec::new(),
            bytes: OnceLock::new(),
            edited: None,
        }
    }

    /// A request with exactly these bytes, which offers no tools.
    ///
    /// # Errors
    /// They are not JSON.
    pub fn of_bytes(bytes: Bytes) -> Result<Request, serde_json::Error> {
        let mut request = Request::new(serde_json::from_slice(&bytes)?);
        request.bytes = OnceLock::from(bytes);
        Ok(request)
    }

    /// The body as composed. Without edits that is the body as sent.
    pub fn original(&self) -> &Bytes {
        let edited = self.edited.as_ref();
        edited.map_or_else(|| self.bytes(), |edited| &edited.original)
    }

    /// What was edited since it was composed.
    pub fn edits(&self) -> &[Edit] {
        let edited = self.edited.as_ref();
        edited.map_or(&[], |edited| &edited.edits)
    }

    /// The body as a value.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The request that says what the user made of this one. Its bytes are those that were shown; a tool that was left
    /// out of it is not offered with it.
    ///
    /// # Errors
    /// The bytes are not JSON.
    pub fn edited(self, edited: &EditableRequest) -> Result<Request, serde_json::Error> {
        let is_left_out = |tool: &Tool| {
            let number = edited.number(&SectionId::Tool(tool.name.clone()));
            number.is_some_and(|number| edited.is_deleted(number))
        };
        let original = self.bytes().clone();
        let tools = match self.tools.iter().any(is_left_out) {
            true => self
                .tools
                .iter()
                .filter(|tool| !is_left_out(tool))
                .cloned()
                .collect(),
            false => self.tools,
        };
        let body = serde_json::from_slice(edited.bytes())?;
        let mut media = self.media;
        if !media.is_empty() {
            let left = media::within(&body);
            media.retain(|media| left.iter().any(|it| it.has_bytes_of(media)));
        }
        Ok(Request {
            body,
            tools,
            media,
            bytes: OnceLock::from(edited.bytes().clone()),
            edited: Some(Arc::new(Edited {
                original,
                edits: edited.edits().to_vec(),
            })),
        })
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

    /// The pictures and documents that it holds.
    pub fn media(&self) -> &[Media] {
        &self.media
    }
}

/// Makes the next request of these messages. `tools` are all tools there are; the agent's list picks
/// from them.
pub fn compose<'a>(
    messages: impl IntoIterator<Item = Cow<'a, Message>>,
    agent: &'a Agent,
    dialect: &dyn Dialect,
    tools: &'a [Tool],
) -> Request {
    let is_told = dialect.offers_tools() || dialect.describes_tools();
    let mut draft = Draft::new(messages, agent, if is_told { tools } else { &[] });
    let budget = MediaBudget::new(dialect.takes(), None);
    carried::fit(&mut draft.messages, budget);
    let media = draft.messages.iter().flat_map(|it| it.media.clone());
    let media = media.collect();
    let offered: Vec<Tool> = draft.tools.iter().map(|&tool| tool.clone()).collect();
    if !dialect.offers_tools() && dialect.describes_tools() {
        described::describe(&mut draft);
    } else if !dialect.results_hold_media() {
        draft.messages = carried::behind_results(std::mem::take(&mut draft.messages));
    }
    let mut request = Request::new(dialect.body(&draft)).with_tools(offered);
    request.media = media;
    request
}
