//! The body of a request to `/v1/messages`.

use std::sync::Arc;

use dunlin_chat::agent::Effort;
use dunlin_chat::media::{Media, MediaKind, Takes};
use dunlin_chat::message::{Message, Role, ToolCall};
use dunlin_chat::provider::Dialect;
use dunlin_chat::request::Draft;
use dunlin_chat::request::editor::{Origin, Outline};
use serde_json::{Map, Value, json};

use crate::outline;
use crate::parts::{self, MessagePart};
use crate::profile::{CACHE_CONTROL, EffortForm, Profile, REASONING_EFFORT, REPLAY};

/// The longest reply where the agent sets none, in tokens; the protocol wants a number. Every model since Claude 4 writes
/// as much. An endpoint that allows less says how much.
const USUAL_MAX_TOKENS: u32 = 32_000;

/// The least number of tokens that may be asked for to think in.
const LEAST_BUDGET: u32 = 1024;

/// Whether it is a block that an endpoint may have sent to be sent back.
fn is_thought(value: &Value) -> bool {
    let Some(block) = value.as_object() else {
        return false;
    };
    let fields: &[&str] = match block.get("type").and_then(Value::as_str) {
        Some("thinking") => &["thinking", "signature"],
        Some("redacted_thinking") => &["data"],
        _ => return false,
    };
    block.len() == fields.len() + 1
        && fields
            .iter()
            .all(|field| block.get(*field).is_some_and(Value::is_string))
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
        outline::anthropic(&self.0, body, origins)
    }

    fn takes(&self) -> Takes {
        self.0.takes
    }

    fn body(&self, draft: &Draft<'_>) -> Value {
        let system = draft.system_prompt.as_ref();
        let mut system: Vec<Value> = system.map(|prompt| text(prompt)).into_iter().collect();
        let mut messages = self.messages(&draft.messages);
        let tools = draft.tools.iter();
        let mut tools: Vec<Value> = tools
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": self.0.schema(&tool.parameters),
                })
            })
            .collect();
        if self.sends(CACHE_CONTROL) {
            // The endpoint reads the tools first: a mark behind the instructions covers both.
            let first = system.last_mut().or(tools.last_mut());
            let users = messages.iter_mut().rev().filter(|it| it.role == "user");
            // The one before the last is where the last request ended, so it is in the cache.
            let last = users.take(2).filter_map(|it| it.content.last_mut());
            for block in first.into_iter().chain(last) {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
        }

        let allowed = self.0.max_tokens_allowed.unwrap_or(u32::MAX);
        let max_tokens = draft.max_tokens.unwrap_or(USUAL_MAX_TOKENS).min(allowed);
        let mut body = Map::new();
        body.insert("model".to_owned(), draft.model.into());
        body.insert("max_tokens".to_owned(), max_tokens.into());
        if !system.is_empty() {
            body.insert("system".to_owned(), system.into());
        }
        let messages = messages.into_iter().map(WireMessage::value);
        body.insert("messages".to_owned(), messages.collect());
        if !tools.is_empty() {
            body.insert("tools".to_owned(), tools.into());
        }
        if let Some(effort) = draft.reasoning_effort
            && self.sends(REASONING_EFFORT)
        {
            self.think(effort, max_tokens, &mut body);
        }
        for (name, value) in [("temperature", draft.temperature), ("top_p", draft.top_p)] {
            if let Some(value) = value.filter(|_| self.sends(name)) {
                body.insert(name.to_owned(), value.into());
            }
        }
        body.insert("stream".to_owned(), true.into());
        body.into()
    }
}

/// A message as it is sent: in turn, each with all that one side says.
struct WireMessage {
    role: &'static str,
    content: Vec<Value>,
}

impl WireMessage {
    fn value(self) -> Value {
        json!({"role": self.role, "content": self.content})
    }
}

impl Wire {
    fn sends(&self, option: &str) -> bool {
        !self.0.options_left_out.contains(option)
    }

    fn messages(&self, said: &[std::borrow::Cow<'_, Message>]) -> Vec<WireMessage> {
        let mut messages: Vec<WireMessage> = Vec::with_capacity(said.len());
        for message in said {
            let (role, blocks) = match message.role {
                Role::System | Role::User => ("user", spoken_by_user(message)),
                Role::Tool => ("user", vec![result(message)]),
                Role::Assistant => ("assistant", self.spoken(message)),
            };
            match messages.last_mut() {
                // The results of all calls of a reply have to stand in one message.
                Some(last) if last.role == role => last.content.extend(blocks),
                _ => messages.push(WireMessage {
                    role,
                    content: blocks,
                }),
            }
        }
        messages
    }

    /// What the model has said, with what the endpoint wants back in its place.
    fn spoken(&self, message: &Message) -> Vec<Value> {
        let to = self.sends(REPLAY).then_some(self.0.replays_to.as_str());
        let said = parts::in_order(message, to, is_thought).into_iter();
        let blocks = said.map(|said| match said {
            MessagePart::Text(said) => text(said),
            MessagePart::Call(made) => call(made),
            MessagePart::Back(block) => block.clone(),
        });
        blocks.collect()
    }

    /// Asks for an effort. Newer models choose how long they think, and are told how much effort to spend; older ones are
    /// given a number of tokens, which counts towards the length of the reply.
    fn think(&self, effort: Effort, max_tokens: u32, body: &mut Map<String, Value>) {
        let budget = match effort {
            Effort::None => {
                body.insert("thinking".to_owned(), json!({"type": "disabled"}));
                return;
            }
            Effort::Low => 4_000,
            Effort::Medium => 12_000,
            Effort::High => 24_000,
        };
        match self.0.effort {
            EffortForm::Level => {
                // Some models leave the text out unless asked for it.
                let thinking = json!({"type": "adaptive", "display": "summarized"});
                body.insert("thinking".to_owned(), thinking);
                let config = json!({"effort": effort.name()});
                body.insert("output_config".to_owned(), config);
            }
            EffortForm::Switch => {
                // Some room is left for the answer.
                let budget = budget.min(max_tokens / 4 * 3);
                if budget >= LEAST_BUDGET {
                    let thinking = json!({"type": "enabled", "budget_tokens": budget});
                    body.insert("thinking".to_owned(), thinking);
                }
            }
        }
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// An id with the characters that the endpoint takes (`^[a-zA-Z0-9_-]+$`): a conversation may have begun with another one, whose
/// ids hold others. A call and its result become the same.
fn id(id: &str) -> String {
    let takes = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.chars().map(|c| if takes(c) { c } else { '_' }).collect()
}

fn call(call: &ToolCall) -> Value {
    json!({
        "type": "tool_use",
        "id": id(&call.id),
        "name": call.name,
        "input": call.arguments,
    })
}

/// Images and documents are understood best before the text.
fn spoken_by_user(message: &Message) -> Vec<Value> {
    let media = message.media.iter().map(block);
    let is_text = message.media.is_empty() || !message.content.is_empty();
    media
        .chain(is_text.then(|| text(&message.content)))
        .collect()
}

fn block(media: &Media) -> Value {
    let source = json!({
        "type": "base64",
        "media_type": media.about().format.media_type(),
        "data": media.base64(),
    });
    match media.about().format.kind() {
        MediaKind::Image => json!({"type": "image", "source": source}),
        MediaKind::Document => {
            json!({"type": "document", "source": source, "title": media.file_name()})
        }
    }
}

fn result(message: &Message) -> Value {
    let content: Value = match message.media.is_empty() {
        true => message.content.clone().into(),
        // The other way round than what the user says: the text tells what follows.
        false => {
            let text = (!message.content.is_empty()).then(|| text(&message.content));
            let blocks = text.into_iter().chain(message.media.iter().map(block));
            blocks.collect()
        }
    };
    json!({
        "type": "tool_result",
        "tool_use_id": id(message.tool_call_id.as_deref().unwrap_or_default()),
        "content": content,
    })
}
