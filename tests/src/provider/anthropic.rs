//! Anthropic's Messages API: replies in blocks, and what requests must obey.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{MODEL, Response};

impl Response {
    /// A streamed answer that has begun: add blocks, then [`messages_end`](Response::messages_end).
    pub fn messages() -> Self {
        let usage = json!({
            "input_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 90,
            "output_tokens": 1,
        });
        let message = json!({
            "id": "msg_scripted", "type": "message", "role": "assistant", "model": MODEL,
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        Response::stream().messages_event(&json!({ "type": "message_start", "message": message }))
    }

    /// A complete streamed answer of one piece.
    pub fn messages_reply(text: &str) -> Self {
        Response::messages()
            .block_of_text(0, text)
            .messages_end("end_turn")
    }

    /// A block of text.
    pub fn block_of_text(self, index: usize, text: &str) -> Self {
        self.block(
            index,
            &json!({ "type": "text", "text": "" }),
            &[json!({ "type": "text_delta", "text": text })],
        )
    }

    /// A block of reasoning, which is signed.
    pub fn block_of_thought(self, index: usize, text: &str, signature: &str) -> Self {
        self.block(
            index,
            &json!({ "type": "thinking", "thinking": "", "signature": "" }),
            &[
                json!({ "type": "thinking_delta", "thinking": text }),
                json!({ "type": "signature_delta", "signature": signature }),
            ],
        )
    }

    /// A block that calls a tool, its arguments in two pieces.
    pub fn block_of_call(self, index: usize, id: &str, tool: &str, arguments: &Value) -> Self {
        let arguments = arguments.to_string();
        let cut = arguments.floor_char_boundary(arguments.len() / 2);
        let piece = |piece: &str| json!({ "type": "input_json_delta", "partial_json": piece });
        self.block(
            index,
            &json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
            &[piece(&arguments[..cut]), piece(&arguments[cut..])],
        )
    }

    /// A block with these deltas.
    pub fn block(self, index: usize, block: &Value, deltas: &[Value]) -> Self {
        let start =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        let begun = self.messages_event(&start);
        let deltas = deltas
            .iter()
            .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        deltas
            .fold(begun, |stream, delta| stream.messages_event(&delta))
            .messages_event(&json!({ "type": "content_block_stop", "index": index }))
    }

    /// The regular end: the reason, the count of tokens, and the last event.
    pub fn messages_end(self, reason: &str) -> Self {
        self.messages_event(&json!({
            "type": "message_delta",
            "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": 7 },
        }))
        .messages_event(&json!({ "type": "message_stop" }))
    }

    /// Any JSON as one event of its type.
    pub fn messages_event(self, event: &Value) -> Self {
        let name = event["type"].as_str().unwrap_or_default();
        self.raw(format!("event: {name}\ndata: {event}\n\n"))
    }

    /// A refusal as this protocol writes it.
    pub fn messages_refusal(status: u16, kind: &str, message: &str) -> Self {
        let error = json!({ "type": kind, "message": message });
        Response::json(status, &json!({ "type": "error", "error": error }))
    }
}

/// Everything that is wrong with a request, one sentence each.
pub(super) fn violations(body: &Value, secrets: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (field, expected) in [("model", json!(MODEL)), ("stream", json!(true))] {
        if body[field] != expected {
            wrong.push(format!("{field} is {}", body[field]));
        }
    }
    if body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        wrong.push(format!("max_tokens is {}", body["max_tokens"]));
    }
    let text = body.to_string();
    let marks = text.matches(r#""cache_control":"#).count();
    if marks > 4 {
        wrong.push(format!(
            "there are {marks} marks of the cache, and 4 are allowed"
        ));
    }
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    check_messages(messages, &mut wrong);
    for (at, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        if !tool["name"].is_string() || tool["input_schema"]["type"] != "object" {
            wrong.push(format!(
                "tools[{at}] lacks a name or an object of parameters"
            ));
        }
    }
    let seen = secrets.iter().filter(|secret| text.contains(*secret));
    wrong.extend(seen.map(|secret| format!("the secret {secret:?} is in the body")));
    wrong
}

fn check_messages(messages: &[Value], wrong: &mut Vec<String>) {
    let mut every_id = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let mut complain = |what: String| wrong.push(format!("messages[{at}] {what}"));
        let expected = ["user", "assistant"][at % 2];
        if message["role"] != expected {
            complain(format!("is of {} and not of {expected:?}", message["role"]));
        }
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        if blocks.is_empty() {
            complain(format!("has the content {}", message["content"]));
        }
        let mut has_text = false;
        for block in blocks {
            match (expected, block["type"].as_str().unwrap_or_default()) {
                (_, "text") => {
                    has_text = true;
                    if block["text"].as_str().unwrap_or_default().trim().is_empty() {
                        complain("has a text without words".to_owned());
                    }
                }
                ("user", "tool_result") => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    match open.iter().position(|open| *open == id) {
                        Some(found) => drop(open.remove(found)),
                        None => {
                            complain(format!("has a result of {id:?}, which no call waits for"))
                        }
                    }
                    if has_text {
                        complain("has a result behind a text".to_owned());
                    }
                }
                ("assistant", "tool_use") => {
                    let id = block["id"].as_str().unwrap_or_default();
                    let is_legal =
                        |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
                    if id.is_empty() || !id.bytes().all(is_legal) || !every_id.insert(id) {
                        complain(format!("has the call id {id:?}, illegal or used before"));
                    }
                    if !block["input"].is_object() {
                        complain(format!("has the arguments {}", block["input"]));
                    }
                    open.push(id);
                }
                ("assistant", "thinking") if block["signature"].is_string() => {}
                ("assistant", "redacted_thinking") if block["data"].is_string() => {}
                _ => complain(format!("has the block {block}")),
            }
        }
        if expected == "user" && !open.is_empty() {
            complain(format!("lacks the results of {open:?}"));
            open.clear();
        }
    }
    if messages.len().is_multiple_of(2) {
        wrong.push("the last message is not of the user".to_owned());
    }
}
