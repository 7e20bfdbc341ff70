//! Replies that consist of parts: blocks of the Messages API, items of the Responses API.

use dunlin_chat::provider::{Finish, ReplyEnd, StreamEvent};
use dunlin_provider::anthropic::Blocks;
use dunlin_provider::assembly::{BrokeOff, ReportedError};
use dunlin_provider::framing::Frame;
use dunlin_provider::responses::Items;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{calls, frames};

/// A part of a reply.
#[derive(Debug, Clone)]
pub enum Part {
    Text(String),
    /// Reasoning, and what makes it known again.
    Reasoning(String, String),
    /// Reasoning that nobody else can read.
    Redacted(String),
    Call(String, Value),
    /// Of a kind that is not known.
    Other,
}

pub fn parts() -> impl Strategy<Value = Vec<Part>> {
    let word = || "[a-zß🪶]{1,9}";
    let part = prop_oneof![
        word().prop_map(Part::Text),
        (word(), word()).prop_map(|(text, signature)| Part::Reasoning(text, signature)),
        word().prop_map(Part::Redacted),
        calls().prop_map(|mut calls| {
            let (name, arguments) = calls.remove(0);
            Part::Call(name, arguments)
        }),
        Just(Part::Other),
    ];
    prop::collection::vec(part, 0..8)
}

/// What a reply says.
#[derive(Debug, Default, PartialEq)]
struct ReplyParts {
    text: String,
    reasoning: String,
    /// Id, name and arguments.
    calls: Vec<(String, String, Value)>,
    /// What goes back, with its place among text and calls.
    back: Vec<((usize, usize), Value)>,
}

impl ReplyParts {
    fn place(&self) -> (usize, usize) {
        (self.text.len(), self.calls.len())
    }

    fn think(&mut self, text: &str) {
        if !self.reasoning.is_empty() {
            self.reasoning += "\n\n";
        }
        self.reasoning += text;
    }

    /// A text that is a paragraph of its own or not.
    fn say(&mut self, text: &str, is_paragraph: bool) {
        if is_paragraph && !self.text.is_empty() {
            self.text += "\n\n";
        }
        self.text += text;
    }

    fn call(&mut self, index: usize, name: &str, arguments: &Value) -> String {
        let id = format!("id{index}");
        let call = (id.clone(), name.to_owned(), arguments.clone());
        self.calls.push(call);
        id
    }
}

/// The pieces in which an endpoint sends a text.
fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}

/// Writes parts as blocks, cut anywhere; what is read has to be the same, and what goes back is in its place.
pub fn check_blocks(
    runtime: &Runtime,
    parts: &[Part],
    cuts: &[Index],
) -> Result<(), TestCaseError> {
    let mut stream = String::from("event: message_start\ndata: {\"type\":\"message_start\"}\n\n");
    let mut event = |event: Value| stream += &format!("event: x\ndata: {event}\n\n");
    let mut expected = ReplyParts::default();
    let mut is_interrupted = false;
    for (index, part) in parts.iter().enumerate() {
        let place = expected.place();
        let (start, deltas) = match part {
            Part::Text(text) => {
                expected.say(text, std::mem::take(&mut is_interrupted));
                let deltas = halves(text).map(|it| json!({"type": "text_delta", "text": it}));
                (json!({"type": "text", "text": ""}), deltas.to_vec())
            }
            Part::Reasoning(text, signature) => {
                expected.think(text);
                let value = json!({"type": "thinking", "thinking": text, "signature": signature});
                expected.back.push((place, value));
                let texts =
                    halves(text).map(|it| json!({"type": "thinking_delta", "thinking": it}));
                let signatures =
                    halves(signature).map(|it| json!({"type": "signature_delta", "signature": it}));
                (
                    json!({"type": "thinking", "thinking": ""}),
                    [texts, signatures].concat(),
                )
            }
            Part::Redacted(data) => {
                let value = json!({"type": "redacted_thinking", "data": data});
                expected.back.push((place, value.clone()));
                (value, Vec::new())
            }
            Part::Call(name, arguments) => {
                let id = expected.call(index, name, arguments);
                let text = arguments.to_string();
                let deltas =
                    halves(&text).map(|it| json!({"type": "input_json_delta", "partial_json": it}));
                let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                (start, deltas.to_vec())
            }
            Part::Other => {
                let delta = json!({"type": "input_json_delta", "partial_json": "{"});
                (json!({"type": "server_tool_use"}), vec![delta])
            }
        };
        is_interrupted |= !matches!(part, Part::Text(_));
        event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        event(json!({"type": "content_block_stop", "index": index}));
    }
    event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    event(json!({"type": "message_stop"}));

    let mut blocks = Blocks::default();
    let events = fed(frames(runtime, &stream, cuts), |frame, out| {
        blocks.feed(frame, out)
    })?;
    check(events, blocks.end(), &expected)
}

/// How a server writes items.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Whether the content of items comes in pieces before the whole of it.
    in_pieces: bool,
    /// Whether events name the number of their item.
    has_index: bool,
    /// Whether the last event has all items once more.
    repeats: bool,
}

pub fn style() -> impl Strategy<Value = Style> {
    any::<[bool; 3]>().prop_map(|[in_pieces, has_index, repeats]| Style {
        in_pieces,
        has_index,
        repeats,
    })
}

/// The same with items.
pub fn check_items(
    runtime: &Runtime,
    parts: &[Part],
    style: Style,
    cuts: &[Index],
) -> Result<(), TestCaseError> {
    let mut stream = String::new();
    let mut event = |event: &Value| stream += &format!("event: x\ndata: {event}\n\n");
    let mut expected = ReplyParts::default();
    let mut output = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let place = expected.place();
        let item_id = format!("item{index}");
        let reasoning = |summary: Value, encrypted: &str| {
            json!({
                "type": "reasoning", "id": item_id, "summary": summary,
                "encrypted_content": encrypted,
            })
        };
        // The item as it begins, the kind of its pieces with their text, and the whole of it.
        let (begun, pieces, whole) = match part {
            Part::Text(text) => {
                expected.say(text, true);
                let item =
                    |content: Value| json!({"type": "message", "id": item_id, "content": content});
                let content = json!([{"type": "output_text", "text": text}]);
                (
                    item(json!([])),
                    ("output_text", text.clone()),
                    item(content),
                )
            }
            Part::Reasoning(text, encrypted) => {
                expected.think(text);
                let summary = json!([{"type": "summary_text", "text": text}]);
                let whole = reasoning(summary, encrypted);
                expected.back.push((place, whole.clone()));
                let begun = reasoning(json!([]), "unfinished");
                (begun, ("reasoning_summary_text", text.clone()), whole)
            }
            Part::Redacted(encrypted) => {
                let whole = reasoning(json!([]), encrypted);
                expected.back.push((place, whole.clone()));
                let begun = reasoning(json!([]), "unfinished");
                (begun, ("reasoning_summary_text", String::new()), whole)
            }
            Part::Call(name, arguments) => {
                let id = expected.call(index, name, arguments);
                let item = |arguments: &str| {
                    json!({
                        "type": "function_call", "id": item_id, "call_id": id, "name": name,
                        "arguments": arguments,
                    })
                };
                let text = arguments.to_string();
                let whole = item(&text);
                (item(""), ("function_call_arguments", text), whole)
            }
            Part::Other => {
                let item = json!({"type": "web_search_call", "id": item_id});
                (item.clone(), ("invented", "x".to_owned()), item)
            }
        };
        let mut write = |kind: String, field: &str, value: Value| {
            let mut fields = json!({"type": format!("response.{kind}"), field: value});
            if kind.ends_with(".delta") {
                fields["item_id"] = item_id.clone().into();
            }
            if style.has_index {
                fields["output_index"] = index.into();
            }
            event(&fields);
        };
        write("output_item.added".to_owned(), "item", begun);
        let (kind, text) = pieces;
        for piece in halves(&text).iter().filter(|_| style.in_pieces) {
            write(format!("{kind}.delta"), "delta", (*piece).into());
        }
        write("output_item.done".to_owned(), "item", whole.clone());
        output.push(whole);
    }
    let output = if style.repeats { output } else { Vec::new() };
    let response = json!({"status": "completed", "output": output});
    event(&json!({"type": "response.completed", "response": response}));

    let mut items = Items::default();
    let events = fed(frames(runtime, &stream, cuts), |frame, out| {
        items.feed(frame, out)
    })?;
    check(events, items.end(), &expected)
}

/// The events of a reply whose frames are read by `feed`.
fn fed(
    frames: Vec<Result<Frame, String>>,
    mut feed: impl FnMut(Frame, &mut Vec<StreamEvent>) -> Result<(), ReportedError>,
) -> Result<Vec<StreamEvent>, TestCaseError> {
    let mut events = Vec::new();
    for frame in frames {
        let fed = frame.map(|frame| feed(frame, &mut events));
        prop_assert!(matches!(fed, Ok(Ok(()))));
    }
    Ok(events)
}

fn check(
    events: Vec<StreamEvent>,
    end: Result<ReplyEnd, BrokeOff>,
    expected: &ReplyParts,
) -> Result<(), TestCaseError> {
    let Ok(end) = end else {
        return Err(TestCaseError::fail("it broke off"));
    };
    let mut said = ReplyParts::default();
    for event in events {
        match event {
            StreamEvent::Text(piece) => said.text += &piece,
            StreamEvent::Reasoning { text, .. } => said.reasoning += &text,
            _ => {}
        }
    }
    said.calls.extend(end.calls.into_iter().map(|call| {
        let arguments = call.arguments.map(Value::Object).unwrap_or_default();
        (call.id, call.tool, arguments)
    }));
    let back = end.replay.into_iter().flat_map(|replay| replay.parts);
    let back = back.map(|part| ((part.after_text, part.after_calls), part.value));
    said.back.extend(back);
    prop_assert_eq!(&said, expected);
    prop_assert_eq!(end.finish, Finish::Complete);
    Ok(())
}
