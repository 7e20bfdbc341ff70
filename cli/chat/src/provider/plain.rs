//! A dialect for tests: what every endpoint understands, and nothing of what they differ in.

use serde_json::{Value, json};

use super::Dialect;
use crate::message::{Message, Role};
use crate::request::Draft;
use crate::request::editor::{Origin, Outline};

pub(crate) struct Plain;

impl Dialect for Plain {
    fn body(&self, draft: &Draft<'_>) -> Value {
        let system = draft.system_prompt.iter();
        let system = system.map(|prompt| json!({"role": "system", "content": prompt}));
        let messages = draft.messages.iter().map(|message| wire(message));
        let messages: Vec<Value> = system.chain(messages).collect();
        let mut body = json!({"model": draft.model, "messages": messages});
        if !draft.tools.is_empty() {
            let tools = draft.tools.iter();
            body["tools"] = tools
                .map(|tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}))
                .collect();
        }
        body
    }

    fn outline(&self, body: &Value, origins: &[Origin]) -> Outline {
        Outline::of_chat(body, origins, Vec::new())
    }
}

fn wire(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut wire = json!({"role": role, "content": message.content});
    if let Some(id) = &message.tool_call_id {
        wire["tool_call_id"] = id.as_str().into();
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter();
        wire["tool_calls"] = calls
            .map(|call| json!({"id": call.id, "name": call.name, "arguments": call.arguments}))
            .collect();
    }
    wire
}
