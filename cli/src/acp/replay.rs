//! What was said in a session that is loaded, told once more.

use std::collections::HashMap;

use dunlin_chat::message::{Message, Role};
use dunlin_chat::session::Loaded;
use dunlin_chat::todo::TODO;
use dunlin_chat::turn::CallRecord;

use super::wire::Update;
use super::{calls, prompt, updates};
use crate::dialogue::attach;

/// The conversation as the client would have been told of it.
pub(super) fn updates(loaded: &Loaded) -> Vec<Update> {
    let records = loaded.records();
    let records: HashMap<usize, &CallRecord> = records
        .iter()
        .map(|record| (record.number, record))
        .collect();
    let mut told = Vec::new();
    for message in &loaded.messages {
        match message.role {
            Role::User => told.push(Update::user(words(message))),
            Role::Assistant => {
                let reasoning = message.reasoning.iter().map(|it| it.text.as_str());
                told.extend(reasoning.filter(|it| !it.is_empty()).map(Update::thought));
                if !message.content.is_empty() {
                    told.push(Update::message(message.content.as_str()));
                }
                let calls = message.tool_calls.iter();
                for record in calls.filter_map(|call| records.get(&call.number)) {
                    told.push(Update::ToolCall(calls::of_past(record)));
                    if record.tool == TODO {
                        told.push(updates::plan(&record.arguments));
                    }
                }
            }
            Role::System | Role::Tool => {}
        }
    }
    told
}

/// What the user said, without what was attached to it.
fn words(message: &Message) -> &str {
    let words = attach::words(message);
    let attached = words.split_once(&format!("\n\n{}\n", prompt::HEADING));
    attached.map_or(words, |(words, _)| words)
}

#[cfg(test)]
mod tests {
    use dunlin_chat::message::{Reasoning, ToolCall};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_conversation_is_told_in_its_order() {
        let call = ToolCall {
            id: "call00001".to_owned(),
            name: "read_file".to_owned(),
            arguments: json!({"file_path": "a.txt"}).as_object().unwrap().clone(),
            raw_arguments: None,
            number: 1,
        };
        let loaded = Loaded {
            messages: vec![
                Message::text(Role::User, format!("Look\n\n{}\n\nx", prompt::HEADING)),
                Message {
                    reasoning: Some(Reasoning {
                        field: "reasoning".to_owned(),
                        text: "Hm".to_owned(),
                    }),
                    tool_calls: vec![call],
                    ..Message::text(Role::Assistant, "")
                },
                Message {
                    tool_call_id: Some("call00001".to_owned()),
                    ..Message::text(Role::Tool, "text of a")
                },
                Message::text(Role::Assistant, "Done."),
            ],
            ..Loaded::default()
        };
        let told = serde_json::to_value(updates(&loaded)).unwrap();
        let kinds: Vec<&Value> = told
            .as_array()
            .unwrap()
            .iter()
            .map(|update| &update["sessionUpdate"])
            .collect();
        assert_eq!(
            kinds,
            [
                "user_message_chunk",
                "agent_thought_chunk",
                "tool_call",
                "agent_message_chunk"
            ]
        );
        assert_eq!(told[0]["content"]["text"], "Look");
        assert_eq!(
            told[2]["content"][0]["content"]["text"],
            "```\ntext of a\n```"
        );
    }
}
