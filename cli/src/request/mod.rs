//! The request: one value that is counted, logged, shown and sent.
//!
//! [`compose`] is a pure function of conversation, agent, profile, tools and limits. What it
//! returns is serialised once, by the first [`Request::bytes`], and those bytes are what leaves the
//! socket. Whoever wants to change what one request says changes the [`Request`] (see
//! [`Request::edit`]), never the conversation.
//!
//! Equal input gives equal bytes, and a longer conversation gives bytes that start alike: providers
//! and local servers cache by prefix, and a prefix that wanders makes them read everything again.

mod window;

use std::sync::OnceLock;

use bytes::Bytes;
use dunlin_host::Tool;
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::message::{Conversation, Message, Role, ToolCall};
use crate::provider::profile::{CallContent, Profile, ReasoningEcho};

pub use window::{HistoryLimits, estimate_tokens};

/// The exact body of one request to a provider.
#[derive(Debug, Clone)]
pub struct Request {
    body: Value,
    left_out: usize,
    bytes: OnceLock<Bytes>,
}

impl Request {
    /// A request with this body.
    pub fn new(body: Value) -> Request {
        Request {
            body,
            left_out: 0,
            bytes: OnceLock::new(),
        }
    }

    /// The body as a value.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The body, to be changed before it is sent. What was serialised before is forgotten.
    pub fn edit(&mut self) -> &mut Value {
        self.bytes.take();
        &mut self.body
    }

    /// The body as sent. Serialised by the first call only; a clone shares the memory.
    pub fn bytes(&self) -> &Bytes {
        self.bytes
            .get_or_init(|| Bytes::from(self.body.to_string()))
    }

    /// How many messages at the start of the conversation were left out, because the history is
    /// longer than the limits allow.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// Makes the next request of a conversation. `tools` are all tools there are; the agent's list
/// picks from them.
pub fn compose(
    conversation: &Conversation,
    agent: &Agent,
    profile: &Profile,
    tools: &[Tool],
    limits: &HistoryLimits,
) -> Request {
    let left_out = window::start(conversation.messages(), limits);
    let mut messages = Vec::with_capacity(conversation.messages().len() - left_out + 1);
    if let Some(prompt) = agent
        .system_prompt
        .as_deref()
        .filter(|prompt| !prompt.trim().is_empty())
    {
        messages.push(json!({"role": "system", "content": prompt}));
    }
    for message in &conversation.messages()[left_out..] {
        push(&mut messages, wire(message, profile));
    }

    let mut body = Map::new();
    body.insert("model".to_owned(), agent.model.clone().into());
    body.insert("messages".to_owned(), messages.into());
    let tools: Vec<Value> = tools
        .iter()
        .filter(|tool| agent.may_use(&tool.name))
        .map(|tool| declaration(tool, profile))
        .collect();
    // An empty list is refused by some endpoints; no list means no tools everywhere.
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
    if let Some(temperature) = agent.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(top_p) = agent.top_p {
        body.insert("top_p".to_owned(), top_p.into());
    }
    if let Some(max_tokens) = agent.max_tokens {
        body.insert(profile.max_tokens_field.to_owned(), max_tokens.into());
    }
    body.insert("stream".to_owned(), true.into());
    if profile.include_usage {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    Request {
        left_out,
        ..Request::new(body.into())
    }
}

/// Adds a message. After a turn without an answer the user speaks twice in a row; many chat templates
/// refuse that, so both become one.
fn push(messages: &mut Vec<Value>, message: Value) {
    if message["role"] == "user"
        && let Some(before) = messages.last_mut().filter(|last| last["role"] == "user")
        && let (Some(first), Some(second)) =
            (before["content"].as_str(), message["content"].as_str())
    {
        before["content"] = format!("{first}\n\n{second}").into();
        return;
    }
    messages.push(message);
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
            wire.insert("content".to_owned(), message.content.clone().into());
        }
        Role::Assistant => {
            wire.insert("role".to_owned(), "assistant".into());
            let calls = &message.tool_calls;
            match profile.content_beside_calls {
                _ if calls.is_empty() || !message.content.is_empty() => {
                    wire.insert("content".to_owned(), message.content.clone().into());
                }
                CallContent::Empty => {
                    wire.insert("content".to_owned(), "".into());
                }
                CallContent::Null => {
                    wire.insert("content".to_owned(), Value::Null);
                }
                CallContent::Omit => {}
            }
            if let Some(reasoning) = &message.reasoning
                && profile.reasoning == ReasoningEcho::WithCalls
                && !calls.is_empty()
            {
                wire.insert(reasoning.field.clone(), reasoning.text.clone().into());
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

fn declaration(tool: &Tool, profile: &Profile) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": profile.schema(&tool.parameters),
        },
    })
}

#[cfg(test)]
mod tests;
