//! OpenAI's Responses API: replies in items, and what requests must obey.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{MODEL, Response};

impl Response {
    /// A streamed answer that has begun: add items, then [`items_end`](Response::items_end).
    pub fn items() -> Self {
        let response = json!({
            "id": "resp_scripted", "object": "response", "status": "in_progress", "model": MODEL,
            "error": null, "incomplete_details": null, "output": [], "store": false, "usage": null,
        });
        Response::stream()
            .items_event(&json!({ "type": "response.created", "response": response }))
            .items_event(&json!({ "type": "response.in_progress", "response": response }))
    }

    /// A complete streamed answer of one message.
    pub fn items_reply(text: &str) -> Self {
        Response::items()
            .item_of_text(0, text)
            .items_end("response.completed", None)
    }

    /// A message, its text in two pieces.
    pub fn item_of_text(self, index: usize, text: &str) -> Self {
        let item = |content: Value| {
            json!({
                "id": format!("msg_{index}"), "type": "message", "role": "assistant",
                "phase": "commentary", "content": content,
            })
        };
        let part = json!([{ "type": "output_text", "annotations": [], "text": text }]);
        let pieces = halves(text).map(|piece| {
            json!({
                "type": "response.output_text.delta", "item_id": format!("msg_{index}"),
                "output_index": index, "content_index": 0, "delta": piece,
            })
        });
        self.item(index, &item(json!([])), &pieces, &item(part))
    }

    /// Reasoning that is encrypted, and a summary of it.
    pub fn item_of_thought(self, index: usize, summary: &str, encrypted: &str) -> Self {
        let item = |summary: Value, encrypted: &str| {
            json!({
                "id": format!("rs_{index}"), "type": "reasoning", "summary": summary,
                "encrypted_content": encrypted,
            })
        };
        let pieces = halves(summary).map(|piece| {
            json!({
                "type": "response.reasoning_summary_text.delta", "item_id": format!("rs_{index}"),
                "output_index": index, "summary_index": 0, "delta": piece,
            })
        });
        let whole = json!([{ "type": "summary_text", "text": summary }]);
        self.item(
            index,
            // Not all of it is known yet.
            &item(json!([]), "unfinished"),
            &pieces,
            &item(whole, encrypted),
        )
    }

    /// A call of a tool, its arguments in two pieces.
    pub fn item_of_call(self, index: usize, id: &str, tool: &str, arguments: &Value) -> Self {
        let arguments = arguments.to_string();
        let item = |arguments: &str| {
            json!({
                "id": format!("fc_{index}"), "type": "function_call", "call_id": id, "name": tool,
                "arguments": arguments,
            })
        };
        let pieces = halves(&arguments).map(|piece| {
            json!({
                "type": "response.function_call_arguments.delta", "item_id": format!("fc_{index}"),
                "output_index": index, "delta": piece,
            })
        });
        self.item(index, &item(""), &pieces, &item(&arguments))
    }

    /// An item as it begins, its pieces, and the whole of it.
    fn item(self, index: usize, begun: &Value, pieces: &[Value], whole: &Value) -> Self {
        let event = |what: &str, item: &Value| json!({ "type": format!("response.output_item.{what}"), "output_index": index, "item": item });
        let begun = self.items_event(&event("added", begun));
        let pieces = pieces.iter();
        pieces
            .fold(begun, |stream, piece| stream.items_event(piece))
            .items_event(&event("done", whole))
    }

    /// The end: its event, and the reason why it is incomplete.
    pub fn items_end(self, event: &str, reason: Option<&str>) -> Self {
        let response = json!({
            "id": "resp_scripted", "object": "response",
            "status": event.trim_start_matches("response."),
            "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
            "usage": {
                "input_tokens": 100, "input_tokens_details": { "cached_tokens": 90 },
                "output_tokens": 7, "output_tokens_details": { "reasoning_tokens": 3 },
            },
        });
        self.items_event(&json!({ "type": event, "response": response }))
    }

    /// Any JSON as one event of its type.
    pub fn items_event(self, event: &Value) -> Self {
        let name = event["type"].as_str().unwrap_or_default();
        self.raw(format!("event: {name}\ndata: {event}\n\n"))
    }
}

fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}

/// Everything that is wrong with a request, one sentence each.
pub(super) fn violations(body: &Value, secrets: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    let expected = [
        ("model", json!(MODEL)),
        ("stream", json!(true)),
        // Otherwise the server keeps the conversation.
        ("store", json!(false)),
        ("previous_response_id", Value::Null),
    ];
    for (field, expected) in expected {
        if body[field] != expected {
            wrong.push(format!("{field} is {}", body[field]));
        }
    }
    let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    check_items(items, &mut wrong);
    for (at, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        let is_whole = tool["type"] == "function"
            && tool["name"].is_string()
            && tool["strict"] == false
            && tool["parameters"]["type"] == "object";
        if !is_whole {
            wrong.push(format!("tools[{at}] is {tool}"));
        }
    }
    let text = body.to_string();
    let seen = secrets.iter().filter(|secret| text.contains(*secret));
    wrong.extend(seen.map(|secret| format!("the secret {secret:?} is in the body")));
    wrong
}

fn check_items(items: &[Value], wrong: &mut Vec<String>) {
    let mut every_id = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut has_user = false;
    for (at, item) in items.iter().enumerate() {
        let mut complain = |what: String| wrong.push(format!("input[{at}] {what}"));
        let text = |field: &str| item[field].as_str().unwrap_or_default();
        match (text("role"), text("type")) {
            ("system", _) if at > 0 => complain("is a system message behind others".to_owned()),
            (role @ ("system" | "user"), "") => {
                has_user |= role == "user";
                if text("content").is_empty() {
                    complain(format!("has the content {}", item["content"]));
                }
                if !open.is_empty() {
                    complain(format!("comes before the results of {open:?}"));
                }
            }
            ("assistant", "message") => {
                let part = &item["content"][0];
                let said = part["text"].as_str().unwrap_or_default();
                if part["type"] != "output_text" || said.trim().is_empty() {
                    complain(format!("has the content {}", item["content"]));
                }
            }
            ("", "reasoning") => {
                let follows = items.get(at + 1).map(|next| &next["type"]);
                if !follows.is_some_and(|next| next == "message" || next == "function_call") {
                    complain("lacks the item that has to follow it".to_owned());
                }
                if !item["summary"].is_array() || text("encrypted_content").is_empty() {
                    complain(format!("is {item}"));
                }
            }
            ("", "function_call") => {
                let id = text("call_id");
                if id.is_empty() || !every_id.insert(id) {
                    complain(format!(
                        "has the id {id:?}, which is empty or was used before"
                    ));
                }
                let arguments = serde_json::from_str::<Value>(text("arguments"));
                if !arguments.is_ok_and(|arguments| arguments.is_object()) {
                    complain(format!("has the arguments {}", item["arguments"]));
                }
                open.push(id);
            }
            ("", "function_call_output") => {
                match open.iter().position(|open| *open == text("call_id")) {
                    Some(found) => drop(open.remove(found)),
                    None => complain("is a result which no call waits for".to_owned()),
                }
                if !item["output"].is_string() {
                    complain(format!("has the output {}", item["output"]));
                }
            }
            _ => complain(format!("is {item}")),
        }
    }
    if !open.is_empty() || !has_user {
        wrong.push(format!(
            "the input lacks a message of the user or the results of {open:?}"
        ));
    }
}
