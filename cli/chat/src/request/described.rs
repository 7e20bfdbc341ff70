//! Tools for models that take none: described in the system prompt, called in text.
//!
//! What the model writes is read by the provider like any other call in text, and asked about like any other. In the
//! conversation calls and results become text as well: a server that refuses tools refuses their messages, too.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::draft::{Draft, in_turn};
use crate::message::{Message, Role, ToolCall};

/// How a call is written.
const FORMAT: &str = "You can use tools. To call one, end your message with a JSON object on a line of its own, and \
    write nothing behind it:\n\
    {\"toolname\": \"NAME\", \"parameters\": {...}}\n\
    The result comes with the next message. Call a tool only if you need it; otherwise answer in plain text.\n\nTools:";

/// Moves the tools of a draft, and the calls and results in it, into its texts.
pub(super) fn describe(draft: &mut Draft<'_>) {
    if !draft.tools.is_empty() {
        let mut text = match draft.system_prompt.take() {
            Some(prompt) => format!("{prompt}\n\n{FORMAT}"),
            None => FORMAT.to_owned(),
        };
        for tool in draft.tools.drain(..) {
            // Writing into a string does not fail.
            let _ = write!(
                text,
                "\n\n{}: {}\nparameters: {}",
                tool.name, tool.description, tool.parameters
            );
        }
        draft.system_prompt = Some(Cow::Owned(text));
    }
    let messages = std::mem::take(&mut draft.messages);
    draft.messages = in_turn(messages.into_iter().map(in_text));
}

fn in_text(message: Cow<'_, Message>) -> Cow<'_, Message> {
    match message.role {
        Role::Tool => {
            let name = message.name.as_deref().unwrap_or("the tool");
            let text = format!("Result of {name}:\n{}", message.content);
            Cow::Owned(Message {
                media: message.media.clone(),
                ..Message::text(Role::User, text)
            })
        }
        Role::Assistant if !message.tool_calls.is_empty() => {
            let calls = message.tool_calls.iter().map(call);
            let said = Some(message.content.trim().to_owned()).filter(|said| !said.is_empty());
            let parts: Vec<String> = said.into_iter().chain(calls).collect();
            let mut spoken = Message::text(Role::Assistant, parts.join("\n"));
            spoken.partial = message.partial;
            Cow::Owned(spoken)
        }
        _ => message,
    }
}

fn call(call: &ToolCall) -> String {
    let mut written = Map::new();
    written.insert("toolname".to_owned(), json!(call.name));
    written.insert(
        "parameters".to_owned(),
        Value::Object(call.arguments.clone()),
    );
    Value::Object(written).to_string()
}
