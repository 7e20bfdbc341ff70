//! The body of a request to `/responses`.

use std::sync::Arc;

use dunlin_chat::agent::Effort;
use dunlin_chat::endpoint::ReasoningEcho;
use dunlin_chat::media::{MediaKind, Takes};
use dunlin_chat::message::{Message, Role, ToolCall};
use dunlin_chat::provider::Dialect;
use dunlin_chat::request::Draft;
use dunlin_chat::request::editor::{Origin, Outline};
use serde_json::{Map, Value, json};

use crate::outline;
use crate::parts::{self, MessagePart, string};
use crate::profile::{ENCRYPTED, Profile, REASONING_EFFORT, REASONING_SUMMARY, REPLAY};

/// What a message of the model's is to its reply: the names that there are.
const PHASES: [&str; 2] = ["commentary", "final_answer"];

/// Marks the message that follows with its phase. An item of the protocol has more fields.
pub(super) fn phase(item: &Value) -> Option<Value> {
    let phase = string(item, "phase");
    PHASES
        .contains(&phase)
        .then(|| json!({"type": "message", "phase": phase}))
}

/// An item of reasoning as it goes back; `None`: nobody could read it there.
///
/// The text goes back only where it is not encrypted: a server with an open model reads it from there.
pub(super) fn reasoning(item: &Value) -> Option<Value> {
    let mut back = Map::new();
    back.insert("type".to_owned(), "reasoning".into());
    let id = string(item, "id");
    if !id.is_empty() {
        back.insert("id".to_owned(), id.into());
    }
    back.insert("summary".to_owned(), texts(item, "summary", "summary_text"));
    match string(item, "encrypted_content") {
        "" => {
            let content = texts(item, "content", "reasoning_text");
            if content == json!([]) {
                return None;
            }
            back.insert("content".to_owned(), content);
        }
        encrypted => drop(back.insert("encrypted_content".to_owned(), encrypted.into())),
    }
    Some(back.into())
}

/// The texts of a list of parts, as such parts.
fn texts(item: &Value, list: &str, kind: &str) -> Value {
    let parts = item.get(list).and_then(Value::as_array);
    let texts = parts.into_iter().flatten().map(|part| string(part, "text"));
    let texts = texts.filter(|text| !text.is_empty());
    texts
        .map(|text| json!({"type": kind, "text": text}))
        .collect()
}

/// Whether it is what an endpoint may have sent to be sent back.
fn is_own(value: &Value) -> bool {
    let own = match string(value, "type") {
        "reasoning" => reasoning(value),
        "message" => phase(value),
        _ => None,
    };
    own.as_ref() == Some(value)
}

/// How requests are written.
#[derive(Debug)]
pub(super) struct Wire(pub(super) Arc<Profile>);

impl Dialect for Wire {
    fn offers_tools(&self) -> bool {
        self.0.offers_tools
    }

    fn describes_tools(&self) -> bool {
        self.0.describes_tools
    }

    fn echoes_reasoning(&self) -> bool {
        self.sends(REPLAY)
    }

    fn outline(&self, body: &Value, origins: &[Origin]) -> Outline {
        outline::responses(&self.0, body, origins)
    }

    fn takes(&self) -> Takes {
        self.0.takes
    }

    fn body(&self, draft: &Draft<'_>) -> Value {
        let mut input = Vec::with_capacity(draft.messages.len() + 1);
        if let Some(prompt) = &draft.system_prompt {
            input.push(json!({"role": "system", "content": prompt}));
        }
        for message in &draft.messages {
            match message.role {
                Role::System => input.push(json!({"role": "system", "content": message.content})),
                Role::User => input.push(json!({"role": "user", "content": content(message)})),
                Role::Tool => input.push(json!({
                    "type": "function_call_output",
                    "call_id": message.tool_call_id,
                    "output": content(message),
                })),
                Role::Assistant => self.spoken(message, &mut input),
            }
        }

        let mut body = Map::new();
        body.insert("model".to_owned(), draft.model.into());
        body.insert("input".to_owned(), input.into());
        if !draft.tools.is_empty() {
            let tools = draft.tools.iter();
            let tools = tools.map(|tool| {
                json!({
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": self.0.schema(&tool.parameters),
                    // Where it is left out, schemas have to be of the form that is strict.
                    "strict": false,
                })
            });
            body.insert("tools".to_owned(), tools.collect());
        }
        for (name, value) in [("temperature", draft.temperature), ("top_p", draft.top_p)] {
            if let Some(value) = value.filter(|_| self.sends(name)) {
                body.insert(name.to_owned(), value.into());
            }
        }
        if let Some(effort) = draft.reasoning_effort
            && self.sends(REASONING_EFFORT)
        {
            let mut reasoning = json!({"effort": effort.name()});
            // Whoever chooses an effort waits for the model to think: the text shows what it does.
            if effort != Effort::None && self.sends(REASONING_SUMMARY) {
                reasoning["summary"] = "auto".into();
            }
            body.insert("reasoning".to_owned(), reasoning);
        }
        if let Some(max_tokens) = draft.max_tokens {
            body.insert("max_output_tokens".to_owned(), max_tokens.into());
        }
        // Otherwise the server keeps the conversation.
        body.insert("store".to_owned(), false.into());
        if self.sends(REPLAY) && self.sends(ENCRYPTED) {
            let include = json!(["reasoning.encrypted_content"]);
            body.insert("include".to_owned(), include);
        }
        body.insert("stream".to_owned(), true.into());
        body.into()
    }
}

impl Wire {
    fn sends(&self, option: &str) -> bool {
        let is_refused = self.0.options_left_out.contains(option);
        let is_unwanted = option == REPLAY && self.0.reasoning == ReasoningEcho::Never;
        !is_refused && !is_unwanted
    }

    /// What the model has said, with what the endpoint wants back in its place.
    fn spoken(&self, message: &Message, input: &mut Vec<Value>) {
        let to = self.sends(REPLAY).then_some(self.0.replays_to.as_str());
        let mut phase = None;
        for said in parts::in_order(message, to, is_own) {
            match said {
                MessagePart::Text(text) => {
                    let content = json!([{"type": "output_text", "text": text}]);
                    let mut item =
                        json!({"type": "message", "role": "assistant", "content": content});
                    if let Some(phase) = phase.take() {
                        item["phase"] = phase;
                    }
                    input.push(item);
                }
                MessagePart::Call(made) => input.push(call(made)),
                MessagePart::Back(mark) if string(mark, "type") == "message" => {
                    phase = mark.get("phase").cloned();
                }
                MessagePart::Back(item) => input.push(item.clone()),
            }
        }
    }
}

/// What the user says, or a result: text alone is no list.
fn content(message: &Message) -> Value {
    if message.media.is_empty() {
        return message.content.clone().into();
    }
    let text = (!message.content.is_empty())
        .then(|| json!({"type": "input_text", "text": message.content}));
    let media = message
        .media
        .iter()
        .map(|media| match media.about().format.kind() {
            MediaKind::Image => json!({"type": "input_image", "image_url": media.data_url()}),
            MediaKind::Document => json!({
                "type": "input_file",
                "filename": media.file_name(),
                "file_data": media.data_url(),
            }),
        });
    text.into_iter().chain(media).collect()
}

fn call(call: &ToolCall) -> Value {
    json!({
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        // The protocol wants a text that holds JSON, not JSON.
        "arguments": Value::Object(call.arguments.clone()).to_string(),
    })
}
