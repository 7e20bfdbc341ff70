//! Replies that consist of parts, such as blocks or items: what their protocols have in common.
//!
//! Text and reasoning of different parts are paragraphs of their own. Parts of kinds that are not known are skipped, which
//! is said. What an endpoint wants back is kept with its place among text and calls, and is written there again.

use std::collections::BTreeSet;

use dunlin_chat::message::{Message, Replay, ReplayPart, ToolCall};
use dunlin_chat::provider::{Finish, ProposedCall, StreamEvent};
use dunlin_host::display;
use serde_json::Value;

use crate::calls::{Calls, Piece};

/// The most that is kept of what the endpoint wants back with one reply, in bytes: reasoning of the longest reply there
/// is, with its signatures.
pub(crate) const MAX_REPLAY_BYTES: usize = 4 * 1024 * 1024;

/// The most kinds of parts and pieces that a reply is said to have skipped.
pub(crate) const MAX_UNKNOWN: usize = 4;

/// The longest name of a kind or a reason that is shown, in characters.
const MAX_NAME_CHARS: usize = 40;

/// What the parts of one reply come to.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    calls: Calls,
    /// The calls that were opened so far.
    call_count: usize,
    /// How many bytes of text there were.
    text_bytes: usize,
    /// Whether another part has begun since the last text.
    is_interrupted: bool,
    /// The paragraph of the last reasoning.
    last_thought: Option<(usize, u64)>,
    unknown: BTreeSet<String>,
}

impl Parts {
    /// Where the next part stands: behind so many bytes of text, and behind so many calls.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.text_bytes, self.call_count)
    }

    pub(crate) fn has_calls(&self) -> bool {
        self.call_count > 0
    }

    /// Another part begins: two texts with something between them are two paragraphs.
    pub(crate) fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    /// A piece of text.
    pub(crate) fn text(&mut self, text: &str, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_interrupted) && self.text_bytes > 0 {
            self.say("\n\n", out);
        }
        self.say(text, out);
    }

    fn say(&mut self, text: &str, out: &mut Vec<StreamEvent>) {
        self.text_bytes += text.len();
        out.push(StreamEvent::Text(text.to_owned()));
    }

    /// A piece of reasoning that came in `field`. Different paragraphs stand apart; `None`: it is not known which it is.
    pub(crate) fn think(
        &mut self,
        paragraph: Option<(usize, u64)>,
        field: &'static str,
        text: &str,
        out: &mut Vec<StreamEvent>,
    ) {
        if text.is_empty() {
            return;
        }
        let think = |text: &str| StreamEvent::Reasoning {
            field,
            text: text.to_owned(),
        };
        if let Some(paragraph) = paragraph
            && let Some(last) = self.last_thought.replace(paragraph)
            && last != paragraph
        {
            out.push(think("\n\n"));
        }
        out.push(think(text));
    }

    /// A piece of a call.
    pub(crate) fn call(&mut self, piece: Piece, out: &mut Vec<StreamEvent>) {
        if let Some(tool) = self.calls.add(piece) {
            self.call_count += 1;
            out.push(StreamEvent::CallStarted { tool });
        }
    }

    /// Says once of each kind that it was skipped.
    pub(crate) fn skip(&mut self, what: &str, kind: &str, out: &mut Vec<StreamEvent>) {
        let kind = name(kind);
        if self.unknown.len() < MAX_UNKNOWN && self.unknown.insert(format!("{what} {kind}")) {
            out.push(StreamEvent::Notice(format!(
                "a {what} of the reply was skipped: its type {kind:?} is unknown"
            )));
        }
    }

    /// The calls, and whether the reply is whole. See [`Calls::end`].
    pub(crate) fn end(self, at_limit: bool, is_doubtful: bool) -> (Vec<ProposedCall>, Finish) {
        self.calls.end(at_limit, is_doubtful)
    }
}

/// That the reply ended for a reason which is not known.
pub(crate) fn ended_for(reason: &str) -> StreamEvent {
    StreamEvent::Notice(format!(
        "the provider ended the reply with the reason {:?}",
        name(reason)
    ))
}

/// A name that a server has chosen.
fn name(text: &str) -> String {
    display::shorten(&display::escape(text), MAX_NAME_CHARS).into_owned()
}

/// A field that holds a text; empty where it does not.
pub(crate) fn string<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// What goes back to the endpoint and model that `to` names; `None`: nothing, or more than there can be.
pub(crate) fn replay(to: &str, parts: Vec<ReplayPart>, bytes: usize) -> Option<Replay> {
    let is_kept = !parts.is_empty() && bytes <= MAX_REPLAY_BYTES;
    is_kept.then(|| Replay {
        dialect: to.to_owned(),
        parts,
    })
}

/// What a message of the model's says, piece by piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MessagePart<'a> {
    /// Never without words.
    Text(&'a str),
    Call(&'a ToolCall),
    /// What the endpoint wants back.
    Back(&'a Value),
}

/// A message of the model's in the order in which it was said, with what the endpoint and model that `to` names want back
/// in its place; nobody else gets that. A session's file may hold anything, and the model would take it for its own words,
/// so only what `is_known` goes back.
pub(crate) fn in_order<'a>(
    message: &'a Message,
    to: Option<&str>,
    is_known: fn(&Value) -> bool,
) -> Vec<MessagePart<'a>> {
    let mut all = Vec::new();
    let (mut said, mut called) = (0, 0);
    let mut until = |all: &mut Vec<MessagePart<'a>>, text_end: usize, calls_end: usize| {
        let end = message.content.floor_char_boundary(text_end.max(said));
        let piece = message.content.get(said..end).unwrap_or_default();
        said = end;
        if !piece.trim().is_empty() {
            all.push(MessagePart::Text(piece.trim_matches('\n')));
        }
        let calls = message.tool_calls.iter().take(calls_end).skip(called);
        all.extend(calls.map(MessagePart::Call));
        called = called.max(calls_end);
    };
    let replay = message.replay.as_ref();
    let replay = replay.filter(|it| to == Some(it.dialect.as_str()));
    let parts = replay.into_iter().flat_map(|it| &it.parts);
    for part in parts.filter(|part| is_known(&part.value)) {
        until(&mut all, part.after_text, part.after_calls);
        all.push(MessagePart::Back(&part.value));
    }
    until(&mut all, usize::MAX, usize::MAX);
    all
}
