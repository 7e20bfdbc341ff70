//! What a model says in its text beside the answer: reasoning, and calls that were meant to be calls.
//!
//! Servers that know their model take both out of the text; others pass on what it writes. This is the place
//! where a reply of any provider is made what it was meant to be, before anybody sees it: [`normalized`] stands
//! between a provider and whoever listens.

use std::collections::VecDeque;
use std::sync::Arc;

use dunlin_host::Tool;
use futures::{StreamExt, stream};

use super::reasoning::{Part, ReasoningInText};
use super::text_calls::TextCalls;
use dunlin_chat::provider::{EventStream, Finish, ProposedCall, ReplyEnd, StreamEvent};

/// The field in which reasoning that came within the text would have come from a server that knows the model.
const REASONING_FIELD: &str = "reasoning_content";

/// Reads one reply.
#[derive(Debug)]
pub struct ReplyNormalizer {
    reasoning: ReasoningInText,
    calls: TextCalls,
    /// Whether there are calls of the protocol.
    called: bool,
    /// What the user is told when the reply is over: it would stand in the midst of the text.
    notices: Vec<StreamEvent>,
}

impl ReplyNormalizer {
    /// For a reply to a request that offered these tools.
    pub fn new(tools: Arc<[Tool]>) -> ReplyNormalizer {
        ReplyNormalizer {
            reasoning: ReasoningInText::default(),
            calls: TextCalls::new(tools),
            called: false,
            notices: Vec::new(),
        }
    }

    /// Takes one event and adds what it comes to to `out`. Text that may still become something else is held
    /// back; [`StreamEvent::End`] gives all of it.
    pub fn push(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::Text(text) => {
                let mut parts = Vec::new();
                self.reasoning.text(&text, &mut parts);
                self.emit(parts, out);
            }
            StreamEvent::Notice(_) | StreamEvent::Warning(_) => self.notices.push(event),
            StreamEvent::CallStarted { tool } => {
                self.called = true;
                let mut text = String::new();
                self.calls.off(&mut text);
                push_text(text, out);
                out.push(StreamEvent::CallStarted { tool });
            }
            StreamEvent::End(mut end) => {
                let whole = end.finish == Finish::Complete && end.calls.is_empty() && !self.called;
                let mut parts = Vec::new();
                self.reasoning.end(whole, &mut parts);
                self.emit(parts, out);
                self.close(whole, &mut end, out);
                out.push(StreamEvent::End(end));
            }
            other => out.push(other),
        }
    }

    /// The reply broke off: nothing more is held back.
    pub fn broken(&mut self, out: &mut Vec<StreamEvent>) {
        let mut parts = Vec::new();
        self.reasoning.end(false, &mut parts);
        self.emit(parts, out);
        self.close(false, &mut ReplyEnd::default(), out);
    }

    fn close(&mut self, whole: bool, end: &mut ReplyEnd, out: &mut Vec<StreamEvent>) {
        let mut text = String::new();
        let recovered = self.calls.end(whole, &mut text);
        push_text(text, out);
        out.append(&mut self.notices);
        for call in recovered {
            out.push(StreamEvent::CallStarted {
                tool: call.tool.clone(),
            });
            end.calls.push(ProposedCall {
                recovered: true,
                ..ProposedCall::new("", call.tool, call.arguments)
            });
        }
    }

    fn emit(&mut self, parts: Vec<Part>, out: &mut Vec<StreamEvent>) {
        for part in parts {
            let mut text = String::new();
            match part {
                Part::Text(piece) => {
                    self.calls.text(&piece, &mut text);
                    push_text(text, out);
                }
                Part::Reasoning(text) => out.push(StreamEvent::Reasoning {
                    field: REASONING_FIELD,
                    text,
                }),
                Part::WasReasoning => {
                    self.calls.begin_anew(&mut text);
                    push_text(text, out);
                    out.push(StreamEvent::WasReasoning {
                        field: REASONING_FIELD,
                    });
                }
            }
        }
    }
}

fn push_text(text: String, out: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        out.push(StreamEvent::Text(text));
    }
}

/// The reply as it was meant. `tools` are those that the request offered. Ends like `reply` does; what was held
/// back when it broke off comes before the error.
pub fn normalized(reply: EventStream, tools: Arc<[Tool]>) -> EventStream {
    let state = (Some(reply), ReplyNormalizer::new(tools), VecDeque::new());
    Box::pin(stream::unfold(
        state,
        |(mut reply, mut normalizer, mut events)| async move {
            loop {
                if let Some(event) = events.pop_front() {
                    return Some((event, (reply, normalizer, events)));
                }
                let mut out = Vec::new();
                let next = reply.as_mut()?.next().await;
                let error = match next {
                    Some(Ok(event)) => {
                        normalizer.push(event, &mut out);
                        None
                    }
                    Some(Err(error)) => {
                        normalizer.broken(&mut out);
                        Some(Err(error))
                    }
                    None => {
                        normalizer.broken(&mut out);
                        reply = None;
                        None
                    }
                };
                events.extend(out.into_iter().map(Ok).chain(error));
            }
        },
    ))
}

#[cfg(test)]
#[path = "normalizer_tests.rs"]
mod tests;
