//! The body of a chat completions request.

use serde_json::{Map, Value, json};

use crate::outline;
use crate::profile::{Profile, REASONING_EFFORT};
use dunlin_chat::endpoint::{EmptyContent, ReasoningEcho};
use dunlin_chat::media::{MediaKind, Takes};
use dunlin_chat::message::{Message, Role, ToolCall};
use dunlin_chat::provider::Dialect;
use dunlin_chat::request::Draft;
use dunlin_chat::request::editor::{Origin, Outline};

impl Dialect for Profile {
    fn offers_tools(&self) -> bool {
        self.offers_tools
    }

    fn describes_tools(&self) -> bool {
        self.describes_tools
    }

    fn takes(&self) -> Takes {
        self.takes
    }

    fn results_hold_media(&self) -> bool {
        false
    }

    fn body(&self, draft: &Draft<'_>) -> Value {
        let mut messages = Vec::with_capacity(draft.messages.len() + 1);
        if let Some(prompt) = &draft.system_prompt {
            messages.push(json!({"role": "system", "content": prompt}));
        }
        messages.extend(draft.messages.iter().map(|message| wire(message, self)));

        let mut body = Map::new();
        body.insert("model".to_owned(), draft.model.into());
        body.insert("messages".to_owned(), messages.into());
        // An empty list is refused by some endpoints; no list means no tools everywhere.
        if !draft.tools.is_empty() {
            let tools = draft.tools.iter();
            let tools = tools.map(|tool| declaration(tool, &self.schema(&tool.parameters)));
            body.insert("tools".to_owned(), tools.collect());
        }
        for (name, value) in [("temperature", draft.temperature), ("top_p", draft.top_p)] {
            if let Some(value) = value.filter(|_| !self.options_left_out.contains(name)) {
                body.insert(name.to_owned(), value.into());
            }
        }
        if let Some(effort) = draft.reasoning_effort
            && !self.options_left_out.contains(REASONING_EFFORT)
        {
            body.insert(REASONING_EFFORT.to_owned(), effort.name().into());
        }
        let allowed = self.max_tokens_allowed.unwrap_or(u32::MAX);
        if let Some(max_tokens) = draft.max_tokens.map(|it| it.min(allowed)) {
            body.insert(self.max_tokens_field.name().to_owned(), max_tokens.into());
        }
        body.insert("stream".to_owned(), true.into());
        if self.include_usage {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        body.into()
    }

    fn outline(&self, body: &Value, origins: &[Origin]) -> Outline {
        outline::chat_completions(self, body, origins)
    }

    fn echoes_reasoning(&self) -> bool {
        self.reasoning == ReasoningEcho::WithCalls
    }
}

fn wire(message: &Message, profile: &Profile) -> Value {
    let mut wire = Map::new();
    match message.role {
        Role::System | Role::User => {
            let role = if message.role == Role::System {
                "system"
            } else {
                "user"
            };
            wire.insert("role".to_owned(), role.into());
            wire.insert("content".to_owned(), content(message));
        }
        Role::Assistant => {
            wire.insert("role".to_owned(), "assistant".into());
            let calls = &message.tool_calls;
            match profile.content_beside_calls {
                _ if calls.is_empty() || !message.content.is_empty() => {
                    wire.insert("content".to_owned(), message.content.clone().into());
                }
                EmptyContent::Empty => {
                    wire.insert("content".to_owned(), "".into());
                }
                EmptyContent::Null => {
                    wire.insert("content".to_owned(), Value::Null);
                }
                EmptyContent::Omit => {}
            }
            if let Some(reasoning) = &message.reasoning
                && profile.reasoning == ReasoningEcho::WithCalls
                && !calls.is_empty()
            {
                let field = profile.reasoning_field.unwrap_or(&reasoning.field);
                wire.insert(field.to_owned(), reasoning.text.clone().into());
            }
            if !calls.is_empty() {
                wire.insert(
                    "tool_calls".to_owned(),
                    calls.iter().map(wire_call).collect(),
                );
            }
        }
        Role::Tool => {
            wire.insert("role".to_owned(), "tool".into());
            wire.insert(
                "tool_call_id".to_owned(),
                message.tool_call_id.clone().into(),
            );
            if let Some(name) = &message.name {
                wire.insert("name".to_owned(), name.clone().into());
            }
            wire.insert("content".to_owned(), message.content.clone().into());
        }
    }
    wire.into()
}

/// Text alone is no list: older servers know no other form.
fn content(message: &Message) -> Value {
    if message.media.is_empty() {
        return message.content.clone().into();
    }
    let text =
        (!message.content.is_empty()).then(|| json!({"type": "text", "text": message.content}));
    let media = message
        .media
        .iter()
        .map(|media| match media.about().format.kind() {
            MediaKind::Image => {
                json!({"type": "image_url", "image_url": {"url": media.data_url()}})
            }
            MediaKind::Document => json!({
                "type": "file",
                "file": {"filename": media.file_name(), "file_data": media.data_url()},
            }),
        });
    text.into_iter().chain(media).collect()
}

fn wire_call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": {
            "name": call.name,
            // The protocol wants a text that holds JSON, not JSON.
            "arguments": Value::Object(call.arguments.clone()).to_string(),
        },
    })
}

/// A tool as it is offered, its parameters in a form that the endpoint accepts.
pub(crate) fn declaration(tool: &dunlin_host::Tool, parameters: &Value) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
        },
    })
}
