//! The log of requests: the exact bytes of every request that a session has sent, and what came of it.
//!
//! The log is part of the session file. A `request` record is written when a request goes out, an `answer` record when
//! its reply has ended:
//!
//! ```json
//! {"type":"request","n":7,"time":"...","request":{"number":3,"kind":"turn","agent":"assistant","model":"small",
//!   "endpoint":"http://127.0.0.1:8080/v1/chat/completions","tokens":412,"base":2,
//!   "original":{"bytes":1873,"sha256":"...","parts":[["base",0,1204],"{\"role\":...",[6,31,540],["base",1204,90]]}}}
//! {"type":"answer","n":8,"time":"...","answer":{"number":3,"end":"answered","first_event_ms":112.5,"total_ms":904.1,...}}
//! ```
//!
//! A body is not written out. It is a list of [`delta::Part`]s: copies from the body of an earlier request, copies from
//! lines that the session file holds anyway (the messages), and text that is in neither. So the log grows by what is
//! new, whatever the length of the conversation. The parts refer to bytes, not to messages, so the bytes come out exactly
//! the same however messages are serialised by then; a SHA-256 is checked each time.
//!
//! [`delta`] finds the parts, [`mod@file`] makes bytes of them again, and [`RequestLog`] writes the records on a thread of
//! its own, so that a turn does not wait for it.

pub mod delta;
pub mod file;
#[cfg(test)]
mod growth_tests;
pub mod history;
mod log;
mod restore;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::price::Money;
use crate::provider::Usage;
use crate::request::editor::Edit;
use crate::request::measure::{Counted, Scale};
use delta::Part;

pub use file::{LogError, LoggedRequest, RequestFile, Side};
pub use log::RequestLog;
pub use restore::Restorer;

/// What a request is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A round of a turn.
    #[default]
    Turn,
    /// A summary of earlier turns.
    Summary,
    /// An MCP server asks the model.
    Sampling,
    /// A round of a subagent.
    Subagent,
}

impl Kind {
    /// The word for users.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Turn => "turn",
            Kind::Summary => "summary",
            Kind::Sampling => "sampling",
            Kind::Subagent => "subagent",
        }
    }
}

/// A request that goes out, for the log.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    pub kind: Kind,
    /// The agent that asks.
    pub agent: &'a str,
    /// The subagent that it is, if it is one.
    pub subagent: Option<&'a str>,
    /// The model that is asked.
    pub model: &'a str,
    /// Where it goes: a URL without user, password and query.
    pub endpoint: &'a str,
    /// What it comes to, as far as that was counted.
    pub counted: Option<&'a Counted>,
    pub original: &'a Bytes,
    pub sent: &'a Bytes,
    /// What was changed between the two, by hand or by saved edits.
    pub edits: &'a [Edit],
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The model replied. A reply that was cut at the token limit counts, too.
    Answered,
    /// The endpoint answered with an error.
    Refused,
    Interrupted,
    /// The connection or the reply failed.
    Failed,
}

impl Ending {
    /// The words for users.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Answered => "answered",
            Ending::Refused => "refused",
            Ending::Interrupted => "interrupted",
            Ending::Failed => "failed",
        }
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub end: Ending,
    /// Why, where it was refused or failed. It is the endpoint's text in part: escape it before showing.
    pub error: Option<String>,
    /// The HTTP status with which the endpoint refused it.
    pub status: Option<u16>,
    /// What it has used, where the endpoint says so.
    pub usage: Option<Usage>,
    /// What it has cost.
    pub money: Money,
    /// The time from sending to the first piece of the reply.
    pub first_event: Option<Duration>,
    /// The time from sending to the end.
    pub total: Duration,
}

/// The record of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestEntry {
    /// Its number in the session, from 1.
    pub number: u64,
    #[serde(default)]
    pub kind: Kind,
    #[serde(default)]
    pub agent: String,
    /// The name of the subagent that has sent it, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    #[serde(default)]
    pub model: String,
    /// The endpoint, without user, password and query.
    #[serde(default)]
    pub endpoint: String,
    /// How many tokens it has, as counted before it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// The context window then, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The request that the parts of the bodies copy from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<u64>,
    pub original: Body,
    /// The body as sent, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Body>,
    /// What was edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// Whether the edits are those of the base, which are not written again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_edits: bool,
}

/// Requests that are about the same conversation, each of which holds much of the one before.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Series {
    /// The conversation of the session, with its summaries.
    Turn,
    /// What servers ask.
    Sampling,
    /// The conversation of the subagent with this name.
    Subagent(String),
}

impl RequestEntry {
    fn series(&self) -> Series {
        match (&self.subagent, self.kind) {
            (Some(name), _) => Series::Subagent(name.clone()),
            (None, Kind::Sampling) => Series::Sampling,
            (None, Kind::Turn | Kind::Summary | Kind::Subagent) => Series::Turn,
        }
    }

    /// The body as sent.
    pub fn sent_body(&self) -> &Body {
        self.sent.as_ref().unwrap_or(&self.original)
    }

    /// Whether it was sent with changes.
    pub fn is_edited(&self) -> bool {
        self.sent.is_some()
    }
}

/// A body as the log holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// What it consists of; `None`: it was too long for a line of the file.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "delta::bounded"
    )]
    pub parts: Option<Vec<Part>>,
}

/// The record of a request's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerEntry {
    /// The number of the request.
    pub number: u64,
    pub end: Ending,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The HTTP status with which the endpoint refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What it has used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What it has cost. Earlier builds did not say it.
    #[serde(default = "Money::unknown")]
    pub money: Money,
    /// Milliseconds until the first piece of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_ms: Option<f64>,
    /// Milliseconds until the end.
    #[serde(default)]
    pub total_ms: f64,
}

impl AnswerEntry {
    /// The record of what came of a request.
    pub fn of(number: u64, answered: &Answered) -> AnswerEntry {
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e4).round() / 10.0;
        AnswerEntry {
            number,
            end: answered.end,
            error: answered.error.clone(),
            status: answered.status,
            usage: answered.usage,
            money: answered.money,
            first_event_ms: answered.first_event.map(milliseconds),
            total_ms: milliseconds(answered.total),
        }
    }
}
