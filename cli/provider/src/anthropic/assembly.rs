//! Blocks to text, reasoning, calls, usage and an end.
//!
//! A reply is a list of blocks, and each event names the block that it is about. Blocks and pieces of kinds that are not
//! known here are skipped and said. Like the other assemblies this one reads JSON without a fixed shape.

use std::collections::BTreeMap;

use dunlin_chat::message::ReplayPart;
use dunlin_chat::provider::{ReplyEnd, StreamEvent, Usage};
use serde_json::{Value, json};

use crate::assembly::{BrokeOff, ReportedError, Values, damage, feed, reported};
use crate::calls::Piece;
use crate::framing::Frame;
use crate::parts::{self, Parts, string};
use crate::reply::Assemble;

/// The field that reasoning comes in.
const THINKING: &str = "thinking";

/// Puts one reply together.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Who may get back what this reply wants back.
    replays_to: String,
    parts: Parts,
    /// The blocks of reasoning, in the order in which they began.
    thinking: Vec<ReasoningBlock>,
    /// The kinds of all blocks that began, by their number.
    open: BTreeMap<u64, Kind>,
    replay_bytes: usize,
    usage: Usage,
    /// Tokens of the request that were neither read from the cache nor written to it.
    fresh_tokens: u64,
    stop_reason: Option<String>,
    done: bool,
    damaged: bool,
}

impl Blocks {
    /// For a reply of this endpoint and model.
    pub fn of(replays_to: &str) -> Blocks {
        Blocks {
            replays_to: replays_to.to_owned(),
            ..Blocks::default()
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// The block of reasoning with this index.
    Reasoning(usize),
    Call,
    Other,
}

/// A block that the endpoint wants back.
#[derive(Debug)]
struct ReasoningBlock {
    after_text: usize,
    after_calls: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Readable {
        text: String,
        signature: String,
    },
    /// Encrypted.
    Redacted(String),
}

impl Blocks {
    fn event(&mut self, event: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match string(event, "type") {
            "error" => return Err(reported(event)),
            // Some gateways report errors as others do.
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(reported(event));
            }
            "message_start" => {
                if let Some(usage) = event.pointer("/message/usage") {
                    self.usage(usage, out);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.get("content_block") {
                    self.start(index, block, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.get("delta") {
                    self.delta(index, delta, out);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.get("usage") {
                    self.usage(usage, out);
                }
                if let Some(delta) = event.get("delta") {
                    self.stop(delta, out);
                }
            }
            "message_stop" => self.done = true,
            // The whole reply at once, although a stream was asked for.
            "message" => {
                let blocks = event.get("content").and_then(Value::as_array);
                for (index, block) in (0..).zip(blocks.into_iter().flatten()) {
                    self.start(index, block, out);
                }
                if let Some(usage) = event.get("usage") {
                    self.usage(usage, out);
                }
                self.stop(event, out);
            }
            // `ping`, `content_block_stop`, and whatever will be invented.
            _ => {}
        }
        Ok(())
    }

    /// A block begins; some servers send all of it at once.
    fn start(&mut self, index: u64, block: &Value, out: &mut Vec<StreamEvent>) {
        let kind = match string(block, "type") {
            "text" => {
                self.open.insert(index, Kind::Text);
                self.parts.text(string(block, "text"), out);
                return;
            }
            THINKING => {
                let text = String::new();
                let signature = string(block, "signature").to_owned();
                let kind = self.reasoning(Content::Readable { text, signature });
                self.open.insert(index, kind);
                self.think(index, string(block, THINKING), out);
                return;
            }
            "redacted_thinking" => {
                self.reasoning(Content::Redacted(string(block, "data").to_owned()))
            }
            "tool_use" => {
                let input = match block.get("input") {
                    // As a rule the arguments follow in pieces.
                    None | Some(Value::Null) => String::new(),
                    Some(Value::Object(input)) if input.is_empty() => String::new(),
                    Some(input) => input.to_string(),
                };
                let piece = Piece::new(index, string(block, "id"), string(block, "name"), input);
                self.parts.call(piece, out);
                Kind::Call
            }
            other => {
                self.parts.skip("part", other, out);
                Kind::Other
            }
        };
        self.parts.interrupt();
        self.open.insert(index, kind);
    }

    fn delta(&mut self, index: u64, delta: &Value, out: &mut Vec<StreamEvent>) {
        let kind = self.open.get(&index).copied();
        match string(delta, "type") {
            // The start of the block may be what was lost.
            "text_delta" => self.parts.text(string(delta, "text"), out),
            "thinking_delta" => self.think(index, string(delta, THINKING), out),
            "signature_delta" => {
                let piece = string(delta, "signature");
                if let Some(Kind::Reasoning(number)) = kind
                    && let Some(block) = self.thinking.get_mut(number)
                    && let Content::Readable { signature, .. } = &mut block.content
                {
                    signature.push_str(piece);
                    self.replay_bytes += piece.len();
                }
            }
            "input_json_delta" if kind == Some(Kind::Call) => {
                let piece = string(delta, "partial_json").to_owned();
                self.parts.call(Piece::new(index, "", "", piece), out);
            }
            // The start of the call was lost; of a block that was skipped its pieces are, too.
            "input_json_delta" if kind.is_none() => out.extend(damage(&mut self.damaged)),
            "input_json_delta" => {}
            "citations_delta" => {}
            _ if kind == Some(Kind::Other) => {}
            other => self.parts.skip("piece", other, out),
        }
    }

    fn reasoning(&mut self, content: Content) -> Kind {
        self.parts.interrupt();
        self.replay_bytes += match &content {
            Content::Readable { text, signature } => text.len() + signature.len(),
            Content::Redacted(data) => data.len(),
        };
        let (after_text, after_calls) = self.parts.place();
        self.thinking.push(ReasoningBlock {
            after_text,
            after_calls,
            content,
        });
        Kind::Reasoning(self.thinking.len() - 1)
    }

    fn think(&mut self, index: u64, piece: &str, out: &mut Vec<StreamEvent>) {
        let mut paragraph = None;
        if let Some(Kind::Reasoning(number)) = self.open.get(&index)
            && let Some(block) = self.thinking.get_mut(*number)
            && let Content::Readable { text, .. } = &mut block.content
        {
            paragraph = Some((*number, 0));
            text.push_str(piece);
            self.replay_bytes += piece.len();
        }
        self.parts.think(paragraph, THINKING, piece, out);
    }

    /// Takes note of counts. A later one replaces an earlier one, and may leave out what has not changed.
    fn usage(&mut self, usage: &Value, out: &mut Vec<StreamEvent>) {
        let read = |field: &str| usage.get(field).and_then(Value::as_u64);
        let counts = [
            (&mut self.fresh_tokens, "input_tokens"),
            (
                &mut self.usage.written_tokens,
                "cache_creation_input_tokens",
            ),
            (&mut self.usage.cached_tokens, "cache_read_input_tokens"),
            (&mut self.usage.output_tokens, "output_tokens"),
        ];
        let mut has_any = false;
        for (count, field) in counts {
            if let Some(tokens) = read(field) {
                *count = tokens;
                has_any = true;
            }
        }
        let cached = self
            .usage
            .cached_tokens
            .saturating_add(self.usage.written_tokens);
        self.usage.input_tokens = self.fresh_tokens.saturating_add(cached);
        if has_any {
            out.push(StreamEvent::Usage(self.usage));
        }
    }

    fn stop(&mut self, delta: &Value, out: &mut Vec<StreamEvent>) {
        let reason = string(delta, "stop_reason");
        if reason.is_empty() {
            return;
        }
        let notice = |text: &str| Some(StreamEvent::Notice(text.to_owned()));
        let notice = match reason {
            "end_turn" | "tool_use" | "stop_sequence" | "max_tokens" => None,
            "model_context_window_exceeded" => {
                notice("the reply was cut off at the end of the model's context window")
            }
            "refusal" => notice("the provider refused to answer this"),
            reason => Some(parts::ended_for(reason)),
        };
        if self.stop_reason.is_none() {
            out.extend(notice);
        }
        self.stop_reason = Some(reason.to_owned());
    }
}

impl Assemble for Blocks {
    fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        Blocks::feed(self, frame, out)
    }

    fn has_finish_reason(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn end(self: Box<Self>) -> Result<ReplyEnd, BrokeOff> {
        Blocks::end(*self)
    }
}

impl Values for Blocks {
    fn value(&mut self, value: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        self.event(value, out)
    }

    fn is_reply(&self, _document: &Value) -> bool {
        self.stop_reason.is_some() || !self.open.is_empty()
    }

    fn done(&mut self) -> &mut bool {
        &mut self.done
    }

    fn damaged(&mut self) -> &mut bool {
        &mut self.damaged
    }
}

impl Blocks {
    /// Takes one frame and adds what it holds to `out`.
    ///
    /// # Errors
    /// What the server reports as an error. It ends the reply.
    pub fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        feed(self, frame, out)
    }

    /// What the reply came to.
    ///
    /// # Errors
    /// There was neither a reason for the end nor the mark of it.
    pub fn end(self) -> Result<ReplyEnd, BrokeOff> {
        if !self.done && self.stop_reason.is_none() {
            return Err(BrokeOff);
        }
        let reason = self.stop_reason.as_deref();
        let at_limit = matches!(reason, Some("max_tokens" | "model_context_window_exceeded"));
        // A call of a reply that was refused is not meant.
        let is_doubtful = self.damaged || reason == Some("refusal");
        let (calls, finish) = self.parts.end(at_limit, is_doubtful);
        let thinking = self.thinking.into_iter().filter_map(ReasoningBlock::part);
        let thinking = thinking.filter(|_| !self.damaged).collect();
        Ok(ReplyEnd {
            calls,
            finish,
            replay: parts::replay(&self.replays_to, thinking, self.replay_bytes),
        })
    }
}

impl ReasoningBlock {
    /// `None`: without a signature the endpoint would refuse it.
    fn part(self) -> Option<ReplayPart> {
        let value = match self.content {
            Content::Readable { signature, .. } if signature.is_empty() => return None,
            Content::Readable { text, signature } => {
                json!({"type": THINKING, THINKING: text, "signature": signature})
            }
            Content::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        };
        Some(ReplayPart {
            after_text: self.after_text,
            after_calls: self.after_calls,
            value,
        })
    }
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
