//! The lines of a session file.
//!
//! ```json
//! {"type":"session","n":0,"time":"2026-01-31T12:00:00.000Z","session":{"format":1,"id":"k7mq2x9d",...}}
//! {"type":"message","n":1,"time":"...","message":{"role":"user","content":"Read birds.txt"}}
//! {"type":"stream","n":2,"text":"I will look"}
//! {"type":"message","n":3,"time":"...","message":{"role":"assistant","content":"I will look.","tool_calls":[...]}}
//! {"type":"started","n":4,"time":"...","text":"a"}
//! {"type":"call","n":5,"time":"...","call":{"id":"a","tool":"read_file","parameters":{...},"status":"completed",...}}
//! ```
//!
//! Each line has a number, one more than the line before, which tells a line that is there twice and one that is
//! missing. What streams in stands there until the assistant message that it became replaces it; the result of a
//! call is the tool message that the model gets. A reader leaves out what it does not know and says so.

use std::borrow::Cow;

use dunlin_host::json;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::requests::{AnswerEntry, RequestEntry};
use crate::media::Media;
use crate::message::Message;
use crate::price::{Charge, Money};
use crate::provider::Usage;
use crate::request::truncation::Compacted;
use crate::turn::{CallRecord, CallState, ChangedLines};

/// The layout of the files. It changes only when an older Dunlin would misread a newer file; another kind of
/// record is no such change.
pub const FORMAT: u32 = 1;

/// What stands in the first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// See [`FORMAT`].
    pub format: u32,
    pub id: String,
    /// The folder it was begun in: its absolute path. What is not UTF-8 in it is replaced.
    pub project: String,
    /// The agent it was begun with.
    pub agent: String,
    pub model: String,
    /// The first words.
    pub title: String,
    /// Whether the title was chosen by the user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// The process that began it, for whoever finds it locked.
    pub pid: u32,
    /// The session it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// The call of the chat's session for which it was begun, if it is a subagent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whether every call that begins to run is noted: then one that is not has not begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notes_starts: bool,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallEntry {
    /// The number by which the user knows it; 0 in files of earlier builds.
    #[serde(default, skip_serializing_if = "crate::message::is_zero")]
    pub number: usize,
    /// The call's id in the assistant message.
    pub id: String,
    pub tool: String,
    /// What it was called with in the end: the user may have edited it.
    pub parameters: Value,
    pub status: CallState,
    /// What went back to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The pictures and documents that went with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it ran, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_time_ms: Option<f64>,
    /// How many lines of files it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangedLines>,
    /// Whether the model wrote it as text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    /// Whether its arguments were not valid JSON and were mended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
}

impl CallEntry {
    /// The entry of a call that is over.
    pub fn of(call: &CallRecord) -> CallEntry {
        CallEntry {
            number: call.number,
            id: call.id.clone(),
            tool: call.tool.clone(),
            parameters: call.arguments.clone(),
            status: call.state,
            result: call.result.clone(),
            media: call.media.clone(),
            error: call.error.clone(),
            execution_time_ms: call.duration_ms,
            changed: call.changed,
            recovered: call.recovered,
            repaired: call.repaired,
        }
    }

    /// The call as the chat knows it.
    pub fn into_record(self) -> CallRecord {
        CallRecord {
            number: self.number,
            id: self.id,
            tool: self.tool,
            arguments: self.parameters,
            state: self.status,
            result: self.result,
            media: self.media,
            not_media: None,
            duration_ms: self.execution_time_ms,
            recovered: self.recovered,
            repaired: self.repaired,
            error: self.error,
            failure: None,
            edits: std::sync::Arc::default(),
            changed: self.changed,
            denied_by: None,
        }
    }
}

/// The end of a turn. It repeats what a list of sessions wants to know, so that the end of a file tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEntry {
    /// How many messages the conversation has, results included.
    pub messages: usize,
    /// How many of them were said by the user.
    pub said: usize,
    /// The title by now.
    pub title: String,
    /// Whether the user chose it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// What the turn has used.
    #[serde(default)]
    pub usage: Usage,
    /// What it has cost. Earlier builds did not say it.
    #[serde(default = "Money::unknown")]
    pub money: Money,
}

impl TurnEntry {
    /// What the turn has cost.
    pub fn charge(&self) -> Charge {
        Charge {
            usage: self.usage,
            money: self.money,
        }
    }
}

/// How the conversation of a subagent ended, and what it came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubagentEntry {
    /// The word for it.
    pub end: String,
    /// The question that was denied, or the error. It is foreign text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Calls that it made.
    pub calls: u32,
    /// Requests that it made.
    pub rounds: u32,
    pub usage: Usage,
    /// What they have cost. Earlier builds did not say it.
    #[serde(default = "Money::unknown")]
    pub money: Money,
    pub duration_ms: u64,
    /// The number of its last request in the log of the chat's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_request: Option<u64>,
}

/// Who answers from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    pub agent: String,
    pub model: String,
}

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    Head(Head),
    /// A message of the conversation.
    Message(Message),
    /// The next piece of a reply that is not whole yet.
    Stream(String),
    /// The call with this id begins to run.
    Started(String),
    Call(CallEntry),
    Turn(TurnEntry),
    /// The user gave it a title.
    Renamed(String),
    /// Another agent or model answers.
    Speaker(Speaker),
    /// The conversation goes on behind its first so many messages.
    Cut(usize),
    /// The model has summed up the messages before an index; they stay, and the summary is sent for them.
    Compacted(Compacted),
    /// The MCP servers that it uses from here on, by name.
    Servers(Vec<String>),
    /// How much the model thinks from here on, where the user chose that; empty where the agent says it.
    Effort(String),
    /// What the user said in a message whose request is paused; empty where it was cancelled.
    Unsent(String),
    /// The conversation is empty.
    Cleared,
    /// A process goes on with it.
    Opened(u32),
    /// It was left in order.
    Closed,
    /// A request goes out; see [`super::requests`].
    Request(Box<RequestEntry>),
    /// What came of a request.
    Answer(AnswerEntry),
    /// The subagent whose conversation it is has ended.
    Subagent(SubagentEntry),
    /// Something that this version does not know.
    Unknown(String),
}

/// Why a line is not a record.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is not JSON, or not what its type says.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// What its type demands is missing.
    #[error("a {0} without its content")]
    Empty(String),
}

/// A line as it is written: what its type does not need is left out.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    n: u64,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time_or_none"
    )]
    time: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'a, Head>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Cow<'a, Message>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<Cow<'a, CallEntry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<Cow<'a, TurnEntry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    speaker: Option<Cow<'a, Speaker>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keep: Option<usize>,
    #[serde(default, alias = "condensed", skip_serializing_if = "Option::is_none")]
    compacted: Option<Cow<'a, Compacted>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    servers: Option<Cow<'a, [String]>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<Cow<'a, RequestEntry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Cow<'a, AnswerEntry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subagent: Option<Cow<'a, SubagentEntry>>,
}

/// How the line of a stream begins.
const STREAM: &[u8] = br#"{"type":"stream","#;

/// What is in the line of a stream. Most lines are that, so they do not go through everything a line can have.
#[derive(Deserialize)]
struct StreamLine {
    n: u64,
    text: String,
}

/// What every version can read of every line.
#[derive(Deserialize)]
struct Outline {
    #[serde(rename = "type")]
    kind: String,
    n: u64,
}

/// A record with its number and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbered {
    pub n: u64,
    /// When it was written; records of a stream have none.
    pub time: Option<Timestamp>,
    pub record: Record,
}

impl Record {
    /// Adds the line of the record to `out`.
    pub fn write(&self, n: u64, out: &mut Vec<u8>) {
        let mut line = Line {
            n,
            ..Line::default()
        };
        let kind = match self {
            Record::Head(head) => {
                line.session = Some(Cow::Borrowed(head));
                "session"
            }
            Record::Message(message) => return write_message(message, n, out),
            Record::Stream(text) => {
                line.text = Some(Cow::Borrowed(text));
                "stream"
            }
            Record::Started(id) => {
                line.text = Some(Cow::Borrowed(id));
                "started"
            }
            Record::Call(call) => {
                line.call = Some(Cow::Borrowed(call));
                "call"
            }
            Record::Turn(turn) => {
                line.turn = Some(Cow::Borrowed(turn));
                "turn"
            }
            Record::Renamed(title) => {
                line.text = Some(Cow::Borrowed(title));
                "renamed"
            }
            Record::Speaker(speaker) => {
                line.speaker = Some(Cow::Borrowed(speaker));
                "speaker"
            }
            Record::Cut(keep) => {
                line.keep = Some(*keep);
                "cut"
            }
            Record::Compacted(compacted) => {
                line.compacted = Some(Cow::Borrowed(compacted));
                "compacted"
            }
            Record::Servers(servers) => {
                line.servers = Some(Cow::Borrowed(servers));
                "servers"
            }
            Record::Effort(effort) => {
                line.text = Some(Cow::Borrowed(effort));
                "effort"
            }
            Record::Unsent(text) => {
                line.text = Some(Cow::Borrowed(text));
                "unsent"
            }
            Record::Cleared => "cleared",
            Record::Opened(pid) => {
                line.pid = Some(*pid);
                "opened"
            }
            Record::Closed => "closed",
            Record::Request(request) => {
                line.request = Some(Cow::Borrowed(request));
                "request"
            }
            Record::Answer(answer) => {
                line.answer = Some(Cow::Borrowed(answer));
                "answer"
            }
            Record::Subagent(subagent) => {
                line.subagent = Some(Cow::Borrowed(subagent));
                "subagent"
            }
            Record::Unknown(kind) => kind,
        };
        line.kind = Cow::Borrowed(kind);
        if !matches!(self, Record::Stream(_)) {
            line.time = Some(now());
        }
        append(&line, out);
    }

    /// Understands a line, without its line end.
    pub fn read(line: &[u8]) -> Result<Numbered, LineError> {
        if line.starts_with(STREAM)
            && let Ok(StreamLine { n, text }) = serde_json::from_slice(line)
        {
            return Ok(Numbered {
                n,
                time: None,
                record: Record::Stream(text),
            });
        }
        let line: Line<'_> = match serde_json::from_slice(line) {
            Ok(line) => line,
            Err(error) => {
                // A record of a newer version may use the same names for something else.
                let outline: Outline = serde_json::from_slice(line).map_err(|_| error)?;
                if is_known(&outline.kind) {
                    return Err(LineError::Empty(outline.kind));
                }
                return Ok(Numbered {
                    n: outline.n,
                    time: None,
                    record: Record::Unknown(outline.kind),
                });
            }
        };
        let Line { n, time, kind, .. } = line;
        let record = match kind.as_ref() {
            "session" => line.session.map(|it| Record::Head(it.into_owned())),
            "message" => line.message.map(|it| Record::Message(it.into_owned())),
            "stream" => line.text.map(|it| Record::Stream(it.into_owned())),
            "started" => line.text.map(|it| Record::Started(it.into_owned())),
            "call" => line.call.map(|it| Record::Call(it.into_owned())),
            "turn" => line.turn.map(|it| Record::Turn(it.into_owned())),
            "renamed" => line.text.map(|it| Record::Renamed(it.into_owned())),
            "speaker" => line.speaker.map(|it| Record::Speaker(it.into_owned())),
            "cut" => line.keep.map(Record::Cut),
            // Earlier builds wrote "condensed".
            "compacted" | "condensed" => {
                let compacted = line.compacted;
                compacted.map(|it| Record::Compacted(it.into_owned()))
            }
            "servers" => line.servers.map(|it| Record::Servers(it.into_owned())),
            "effort" => line.text.map(|it| Record::Effort(it.into_owned())),
            "unsent" => line.text.map(|it| Record::Unsent(it.into_owned())),
            "cleared" => Some(Record::Cleared),
            "opened" => line.pid.map(Record::Opened),
            "closed" => Some(Record::Closed),
            "request" => {
                let request = line.request;
                request.map(|it| Record::Request(Box::new(it.into_owned())))
            }
            "answer" => line.answer.map(|it| Record::Answer(it.into_owned())),
            "subagent" => line.subagent.map(|it| Record::Subagent(it.into_owned())),
            _ => Some(Record::Unknown(kind.as_ref().to_owned())),
        };
        let record = record.ok_or_else(|| LineError::Empty(kind.into_owned()))?;
        Ok(Numbered { n, time, record })
    }
}

/// Adds the line of a message to `out`: the same as that of its record, without a copy of it.
pub fn write_message(message: &Message, n: u64, out: &mut Vec<u8>) {
    let line = Line {
        kind: Cow::Borrowed("message"),
        n,
        time: Some(now()),
        message: Some(Cow::Borrowed(message)),
        ..Line::default()
    };
    append(&line, out);
}

fn append(line: &Line<'_>, out: &mut Vec<u8>) {
    // Texts, numbers and maps with texts as keys: there is nothing in a record that JSON cannot say.
    let _ = json::append_line(line, out);
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "session"
            | "message"
            | "stream"
            | "started"
            | "call"
            | "turn"
            | "renamed"
            | "speaker"
            | "cut"
            | "compacted"
            | "condensed"
            | "servers"
            | "effort"
            | "cleared"
            | "opened"
            | "closed"
            | "request"
            | "answer"
            | "unsent"
            | "subagent"
    )
}

/// Now, to the millisecond: nobody reads more of it.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// A time that cannot be read does not make a message worthless.
fn time_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(value.as_str().and_then(|text| text.parse().ok()))
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
