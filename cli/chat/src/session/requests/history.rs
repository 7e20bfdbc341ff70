//! The conversation that a request carries, read from its body.
//!
//! Most dialects write messages in the layout of chat completions; the arguments of a call are JSON with some and a text
//! that holds JSON with others. One writes calls and results as blocks of messages, and the instructions beside them, and one
//! writes them as items beside the messages.

use dunlin_host::Tool;
use serde_json::{Map, Value};

use crate::media;
use crate::message::{Message, Role, ToolCall};

/// What a body says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// The instructions before the conversation.
    pub system_prompt: Option<String>,
    /// The messages without them.
    pub messages: Vec<Message>,
    /// The tools that are offered.
    pub tools: Vec<Tool>,
}

impl History {
    /// Reads a body. `None`: it has no messages.
    pub fn of(body: &Value) -> Option<History> {
        let mut history = History::default();
        let system = body.get("system").map(|system| text(Some(system)));
        history.system_prompt = system.filter(|prompt| !prompt.is_empty());
        let messages = body.get("messages").or_else(|| body.get("input"));
        for message in messages?.as_array()? {
            match message.get("type").and_then(Value::as_str) {
                Some("function_call") => {
                    history.assistant()?.tool_calls.push(call(message));
                    continue;
                }
                Some("function_call_output") => {
                    history.answer(message.get("call_id"), message.get("output"));
                    continue;
                }
                Some("reasoning") => continue,
                _ => {}
            }
            let text = text(message.get("content"));
            let said = |role: Role| Message {
                media: media::within(message.get("content").unwrap_or(&Value::Null)),
                ..Message::text(role, text.clone())
            };
            match message.get("role").and_then(Value::as_str)? {
                "system" | "developer" => match &mut history.system_prompt {
                    Some(prompt) => {
                        prompt.push_str("\n\n");
                        prompt.push_str(&text);
                    }
                    none => *none = Some(text),
                },
                "assistant" => {
                    let calls = message.get("tool_calls").and_then(Value::as_array);
                    let calls = calls.into_iter().flatten();
                    let calls = calls.chain(blocks(message, "tool_use"));
                    let said = history.assistant()?;
                    let is_more = !said.content.is_empty() && !text.is_empty();
                    said.content.push_str(if is_more { "\n\n" } else { "" });
                    said.content.push_str(&text);
                    said.tool_calls.extend(calls.map(call));
                }
                "tool" => {
                    let name = message.get("name").or_else(|| message.get("tool_name"));
                    history.messages.push(Message {
                        tool_call_id: string(message.get("tool_call_id")),
                        name: string(name),
                        ..said(Role::Tool)
                    });
                }
                _ => {
                    let mut is_answer = false;
                    for result in blocks(message, "tool_result") {
                        is_answer = true;
                        history.answer(result.get("tool_use_id"), result.get("content"));
                    }
                    if !is_answer || !text.is_empty() {
                        history.messages.push(said(Role::User));
                    }
                }
            }
        }
        let tools = body.get("tools").and_then(Value::as_array);
        history.tools = tools.into_iter().flatten().filter_map(tool).collect();
        Some(history)
    }

    /// The message of the model's that is being read.
    fn assistant(&mut self) -> Option<&mut Message> {
        let is_it = |last: &Message| last.role == Role::Assistant;
        if !self.messages.last().is_some_and(is_it) {
            self.messages.push(Message::text(Role::Assistant, ""));
        }
        self.messages.last_mut()
    }

    /// Adds the result of the call with this id.
    fn answer(&mut self, id: Option<&Value>, result: Option<&Value>) {
        let id = string(id);
        let name = id.as_deref().and_then(|id| self.called(id));
        self.messages.push(Message {
            name,
            tool_call_id: id,
            media: media::within(result.unwrap_or(&Value::Null)),
            ..Message::text(Role::Tool, text(result))
        });
    }

    /// The tool that the call with this id is of.
    fn called(&self, id: &str) -> Option<String> {
        let calls = self.messages.iter().flat_map(|it| &it.tool_calls);
        let call = calls.rev().find(|call| call.id == id);
        call.map(|call| call.name.clone())
    }
}

/// The blocks of a message of this type.
fn blocks<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let blocks = message.get("content").and_then(Value::as_array);
    let is_it = move |block: &&Value| block.get("type").and_then(Value::as_str) == Some(kind);
    blocks.into_iter().flatten().filter(is_it)
}

/// The text of a content, which may be in parts.
fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn string(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn call(call: &Value) -> ToolCall {
    let function = call.get("function").unwrap_or(call);
    let (arguments, raw_arguments) = match function.get("arguments").or(call.get("input")) {
        Some(Value::Object(arguments)) => (arguments.clone(), None),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(arguments) => (arguments, None),
            Err(_) => (Map::new(), Some(text.clone())),
        },
        _ => (Map::new(), None),
    };
    ToolCall {
        // An item has an id of its own beside that of the call.
        id: string(call.get("call_id").or(call.get("id"))).unwrap_or_default(),
        name: string(function.get("name")).unwrap_or_default(),
        arguments,
        raw_arguments,
        number: 0,
    }
}

fn tool(tool: &Value) -> Option<Tool> {
    let function = tool.get("function").unwrap_or(tool);
    Some(Tool {
        name: string(function.get("name"))?,
        plugin: String::new(),
        description: string(function.get("description")).unwrap_or_default(),
        parameters: {
            let parameters = function.get("parameters").or(tool.get("input_schema"));
            parameters.cloned().unwrap_or_default()
        },
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_of_arguments_are_read() {
        let body = |arguments: Value| {
            json!({
                "messages": [
                    {"role": "system", "content": "Be brief"},
                    {"role": "user", "content": [{"type": "text", "text": "Read"}, {"type": "image_url"}]},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
                    ]},
                    {"role": "tool", "tool_call_id": "a", "name": "read_file", "content": "text"},
                ],
                "tools": [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}],
            })
        };
        let history = History::of(&body(json!({"path": "a"}))).unwrap();
        assert_eq!(
            history,
            History::of(&body(json!(r#"{"path":"a"}"#))).unwrap()
        );
        assert_eq!(history.system_prompt.as_deref(), Some("Be brief"));
        assert_eq!(history.messages.len(), 3);
        assert_eq!(history.messages[0].content, "Read");
        assert_eq!(history.messages[1].tool_calls[0].arguments["path"], "a");
        assert_eq!(history.messages[2].tool_call_id.as_deref(), Some("a"));
        assert_eq!(history.tools[0].name, "read_file");
        let in_blocks = json!({
            "system": [{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Read"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "a"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "text"},
                ]},
            ],
            "tools": [{"name": "read_file", "input_schema": {"type": "object"}}],
        });
        assert_eq!(History::of(&in_blocks).unwrap(), history);
        let in_items = json!({
            "input": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": "Read"},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
                {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read_file", "arguments": r#"{"path":"a"}"#},
                {"type": "function_call_output", "call_id": "a", "output": "text"},
            ],
            "tools": [{"type": "function", "name": "read_file", "parameters": {"type": "object"}}],
        });
        assert_eq!(History::of(&in_items).unwrap(), history);
        let broken = History::of(&body(json!("{"))).unwrap();
        let call = &broken.messages[1].tool_calls[0];
        assert_eq!(
            (call.arguments.len(), call.raw_arguments.as_deref()),
            (0, Some("{"))
        );
        assert_eq!(History::of(&json!({"prompt": "x"})), None);
        assert_eq!(History::of(&json!({"input": "x"})), None);
        assert_eq!(History::of(&json!({"messages": [1]})), None);
    }
}
