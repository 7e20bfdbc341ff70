//! Ollama's own protocol: what the server says of itself, its replies, and what its requests must obey.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{MODEL, Response};

/// What an Ollama server says of itself and its only model.
#[derive(Debug, Clone)]
pub struct Ollama {
    /// The window of the model as it is loaded.
    pub window: u64,
    /// The longest window of the model.
    pub longest: u64,
}

impl Ollama {
    /// The answer to a question beside the chat.
    pub(super) fn answer(&self, path: &str) -> Option<Value> {
        let name = format!("{MODEL}:latest");
        Some(match path {
            "/api/version" => json!({ "version": "0.32.9" }),
            "/api/tags" => json!({ "models": [{ "name": name, "model": name }] }),
            "/api/ps" => json!({
                "models": [{ "name": name, "model": name, "context_length": self.window }],
            }),
            "/api/show" => json!({
                "parameters": "temperature 0.6",
                "model_info": { "test.context_length": self.longest },
                "capabilities": ["completion", "tools"],
            }),
            _ => return None,
        })
    }
}

impl Response {
    /// A streamed answer without any line: add lines, then [`ollama_end`](Response::ollama_end).
    pub fn ollama() -> Self {
        Response::status(200, "").header("content-type", "application/x-ndjson")
    }

    /// A complete streamed answer of one piece.
    pub fn ollama_reply(text: &str) -> Self {
        let message = json!({ "role": "assistant", "content": text });
        Response::ollama()
            .ollama_message(&message)
            .ollama_end("stop", 3000)
    }

    /// A complete streamed answer that calls one tool.
    pub fn ollama_call(tool: &str, arguments: &Value) -> Self {
        let function = json!({ "index": 0, "name": tool, "arguments": arguments });
        let message =
            json!({ "role": "assistant", "content": "", "tool_calls": [{ "function": function }] });
        Response::ollama()
            .ollama_message(&message)
            .ollama_end("stop", 3000)
    }

    /// A line with a piece of the message.
    pub fn ollama_message(self, message: &Value) -> Self {
        self.ollama_line(&json!({ "model": MODEL, "message": message, "done": false }))
    }

    /// The last line: the reason, and how many tokens of the prompt were read.
    pub fn ollama_end(self, reason: &str, prompt: u64) -> Self {
        self.ollama_line(&json!({
            "model": MODEL,
            "message": { "role": "assistant", "content": "" },
            "done": true,
            "done_reason": reason,
            "prompt_eval_count": prompt,
            "eval_count": 7,
        }))
    }

    /// Any JSON as one line.
    pub fn ollama_line(self, line: &Value) -> Self {
        self.raw(format!("{line}\n"))
    }
}

/// Everything that is wrong with the body of a chat request, one sentence each.
pub(super) fn violations(body: &Value, secrets: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (field, expected) in [
        ("model", json!(MODEL)),
        ("stream", json!(true)),
        ("truncate", json!(false)),
    ] {
        if body[field] != expected {
            wrong.push(format!("{field} is {}", body[field]));
        }
    }
    for field in ["temperature", "top_p", "max_tokens", "stream_options"] {
        if !body[field].is_null() {
            wrong.push(format!("{field} belongs into options or nowhere"));
        }
    }
    let mut open = BTreeSet::new();
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    for (at, message) in messages.iter().enumerate() {
        if !message["content"].is_string() {
            wrong.push(format!(
                "messages[{at}] has the content {}",
                message["content"]
            ));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            if !function["arguments"].is_object() {
                wrong.push(format!(
                    "messages[{at}] has the arguments {}",
                    function["arguments"]
                ));
            }
            open.insert(function["name"].as_str().unwrap_or_default());
        }
        let answers = message["tool_name"].as_str().unwrap_or_default();
        if message["role"] == "tool" && !open.contains(answers) {
            wrong.push(format!(
                "messages[{at}] is a result of {answers:?}, which was not called"
            ));
        }
    }
    let text = body.to_string();
    let seen = secrets.iter().filter(|secret| text.contains(*secret));
    wrong.extend(seen.map(|secret| format!("the secret {secret:?} is in the body")));
    wrong
}
