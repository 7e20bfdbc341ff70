//! A conversation for others: Markdown for reading, JSON for programs. Texts are as they were said.

use std::fmt::Write;
use std::iter;

use serde_json::{Value, json};

use super::reader::{Loaded, NOT_STARTED};
use super::record::CallEntry;
use crate::media::Media;
use crate::message::{Message, Role};
use crate::price::CostDocument;
use crate::turn::CallState;

/// The layout of the JSON. Another number means that a program that reads it has to be changed.
const VERSION: u32 = 1;

/// Most characters of a file name that come from the title.
const NAME_CHARS: usize = 40;

/// The name of a file for a conversation: some words of its title and its id.
pub fn file_name(loaded: &Loaded, id: &str, extension: &str) -> String {
    let mut name = String::new();
    for c in loaded.title.to_lowercase().chars() {
        if c.is_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.chars().count() >= NAME_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() {
        format!("{id}.{extension}")
    } else {
        format!("{name}-{id}.{extension}")
    }
}

/// The conversation as Markdown.
pub fn markdown(loaded: &Loaded, id: &str) -> String {
    let mut out = String::new();
    let title = if loaded.title.is_empty() {
        "A conversation"
    } else {
        &loaded.title
    };
    // Writing into a string does not fail.
    let _ = writeln!(out, "# {title}\n");
    let model = loaded.speaker.as_ref().map_or("the model", |it| &it.model);
    let project = loaded.head.as_ref().map_or("", |head| &head.project);
    let begun = loaded.times.iter().flatten().next();
    let metadata = [
        format!("session {id}"),
        model.to_owned(),
        project.to_owned(),
        begun.map_or_else(String::new, ToString::to_string),
    ];
    let metadata: Vec<String> = metadata
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let _ = writeln!(out, "{}\n", metadata.join(" · "));
    for message in &loaded.messages {
        match message.role {
            Role::System => section(&mut out, "Instructions", &message.content),
            Role::User => section(&mut out, "You", &with_media(message)),
            Role::Assistant => {
                let mut content = message.content.trim().to_owned();
                if message.partial {
                    content.push_str("\n\n*(interrupted)*");
                }
                section(&mut out, model, &content);
                for call in &message.tool_calls {
                    let entry = loaded.calls.iter().find(|entry| entry.id == call.id);
                    let arguments = Value::Object(call.arguments.clone());
                    let parameters = entry.map_or(&arguments, |entry| &entry.parameters);
                    let result = result_of(&loaded.messages, &call.id);
                    let name = match call.number {
                        // A file of an earlier build.
                        0 => call.name.clone(),
                        number => format!("{number} {}", call.name),
                    };
                    call_section(&mut out, &name, parameters, entry, result);
                }
            }
            // Beside its call.
            Role::Tool => {}
        }
    }
    out
}

/// A text, and a line for each picture and document beside it.
fn with_media(message: &Message) -> String {
    let media = message.media.iter().map(|media| format!("\n\n{media}"));
    iter::once(message.content.clone()).chain(media).collect()
}

fn section(out: &mut String, who: &str, content: &str) {
    let content = content.trim();
    if !content.is_empty() {
        let _ = writeln!(out, "## {who}\n\n{content}\n");
    }
}

fn call_section(
    out: &mut String,
    name: &str,
    parameters: &Value,
    entry: Option<&CallEntry>,
    result: Option<&str>,
) {
    let status = entry.map_or_else(String::new, |entry| {
        let status = serde_json::to_value(entry.status).unwrap_or_default();
        let time = entry.execution_time_ms;
        let time = time.map_or_else(String::new, |time| format!(", {time} ms"));
        format!(" · {}{time}", status.as_str().unwrap_or_default())
    });
    let _ = writeln!(out, "### {name}{status}\n");
    let parameters = serde_json::to_string_pretty(parameters).unwrap_or_default();
    fenced(out, "json", &parameters);
    if let Some(result) = result {
        fenced(out, "", result);
    }
}

/// A block that nothing in the text can end.
fn fenced(out: &mut String, language: &str, text: &str) {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let text = text.trim_end_matches('\n');
    let _ = writeln!(out, "{fence}{language}\n{text}\n{fence}\n");
}

fn result_of<'a>(messages: &'a [Message], id: &str) -> Option<&'a str> {
    let of_call = |message: &&Message| message.tool_call_id.as_deref() == Some(id);
    let found = messages.iter().find(of_call)?;
    Some(&found.content)
}

/// What is known of the call that a message of a tool answers.
fn tool_call(loaded: &Loaded, id: &str, result: &str) -> Value {
    let mut asked = loaded.messages.iter().flat_map(|it| &it.tool_calls);
    let asked = asked.find(|call| call.id == id);
    let entry = loaded.calls.iter().find(|entry| entry.id == id);
    let status = match entry {
        Some(entry) => entry.status,
        None if result == NOT_STARTED => CallState::NotRun,
        None => CallState::Cancelled,
    };
    json!({
        "type": "function",
        "id": id,
        "toolName": entry.map(|it| &it.tool).or(asked.map(|it| &it.name)),
        "parameters": match entry {
            Some(entry) => entry.parameters.clone(),
            None => json!(asked.map(|it| &it.arguments)),
        },
        "result": result,
        "error": entry.and_then(|it| it.error.as_ref()),
        "status": status,
        "executionTime": entry.and_then(|it| it.execution_time_ms),
    })
}

/// A picture or a document without its bytes.
fn described(media: &Media) -> Value {
    let about = media.about();
    json!({
        "name": media.name(),
        "type": about.format.media_type(),
        "bytes": about.bytes,
        "width": about.pixels.map(|pixels| pixels.width),
        "height": about.pixels.map(|pixels| pixels.height),
    })
}

/// The conversation as JSON: everything that is known but the bytes of pictures and documents.
pub fn json(loaded: &Loaded, id: &str) -> Value {
    let messages: Vec<Value> = loaded
        .messages
        .iter()
        .enumerate()
        .map(|(index, message)| {
            // The session file has the bytes.
            let message_alone = Message {
                media: Vec::new(),
                ..message.clone()
            };
            let mut value = serde_json::to_value(message_alone).unwrap_or_default();
            if !message.media.is_empty() {
                value["media"] = message.media.iter().map(described).collect();
            }
            value["timestamp"] = json!(loaded.times.get(index).copied().flatten());
            if let Some(id) = &message.tool_call_id {
                value["toolCall"] = tool_call(loaded, id, &message.content);
            }
            value
        })
        .collect();
    let calls = loaded.calls.iter().map(|call| CallEntry {
        media: Vec::new(),
        ..call.clone()
    });
    let calls: Vec<CallEntry> = calls.collect();
    let head = loaded.head.as_ref();
    json!({
        "version": VERSION,
        "id": id,
        "title": loaded.title,
        "project": head.map(|head| &head.project),
        "agent": loaded.speaker.as_ref().map(|speaker| &speaker.agent),
        "model": loaded.speaker.as_ref().map(|speaker| &speaker.model),
        "forked_from": head.and_then(|head| head.forked_from.as_ref()),
        "usage": loaded.charge.usage,
        "cost": CostDocument::from(loaded.charge.money),
        "messages": messages,
        "calls": calls,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;

    fn sample() -> Loaded {
        let call = ToolCall {
            id: "a".to_owned(),
            name: "read_file".to_owned(),
            arguments: json!({"path": "b.md"}).as_object().cloned().unwrap(),
            raw_arguments: None,
            number: 1,
        };
        let assistant = Message {
            tool_calls: vec![call],
            ..Message::text(Role::Assistant, "I will look.")
        };
        let result = Message {
            tool_call_id: Some("a".to_owned()),
            ..Message::text(Role::Tool, "```\ncode\n```\n")
        };
        let partial = Message {
            partial: true,
            ..Message::text(Role::Assistant, "It is")
        };
        Loaded {
            title: "What is in b.md?".to_owned(),
            messages: vec![
                Message::text(Role::User, "What is in b.md?"),
                assistant,
                result,
                partial,
            ],
            times: vec!["2026-01-31T12:00:00Z".parse().ok(), None, None, None],
            calls: vec![CallEntry {
                number: 1,
                id: "a".to_owned(),
                tool: "read_file".to_owned(),
                parameters: json!({"path": "b.md"}),
                status: CallState::Completed,
                result: Some("```\ncode\n```\n".to_owned()),
                media: Vec::new(),
                error: None,
                execution_time_ms: Some(2.5),
                changed: None,
                recovered: false,
                repaired: false,
            }],
            ..Loaded::default()
        }
    }

    #[test]
    fn markdown_is_for_reading() {
        let expected = "# What is in b.md?\n\nsession k7 · the model · 2026-01-31T12:00:00Z\n\n\
            ## You\n\nWhat is in b.md?\n\n## the model\n\nI will look.\n\n\
            ### 1 read_file · completed, 2.5 ms\n\n```json\n{\n  \"path\": \"b.md\"\n}\n```\n\n\
            ````\n```\ncode\n```\n````\n\n## the model\n\nIt is\n\n*(interrupted)*\n\n";
        assert_eq!(markdown(&sample(), "k7"), expected);
    }

    #[test]
    fn json_has_everything() {
        let value = json(&sample(), "k7");
        assert_eq!(value["messages"][0]["timestamp"], "2026-01-31T12:00:00Z");
        assert_eq!(value["messages"][1]["tool_calls"][0]["id"], "a");
        assert_eq!(value["messages"][3]["partial"], true);
        assert_eq!(value["calls"][0]["execution_time_ms"], 2.5);
        assert_eq!(
            value["messages"][2]["toolCall"],
            json!({
                "type": "function", "id": "a", "toolName": "read_file", "parameters": {"path": "b.md"},
                "result": "```\ncode\n```\n", "error": null, "status": "completed", "executionTime": 2.5,
            })
        );
        assert!(value["messages"][2]["timestamp"].is_null());
        assert_eq!(value["calls"][0]["parameters"]["path"], "b.md");
        assert_eq!(value["title"], "What is in b.md?");
    }

    #[test]
    fn files_are_named_after_titles() {
        let check = |title: &str, expected: &str| {
            let loaded = Loaded {
                title: title.to_owned(),
                ..Loaded::default()
            };
            assert_eq!(file_name(&loaded, "k7", "md"), expected);
        };
        check("What is in b.md?", "what-is-in-b-md-k7.md");
        check("../../etc/passwd", "etc-passwd-k7.md");
        check("", "k7.md");
        check("…", "k7.md");
        check("Größe", "größe-k7.md");
        let long = format!("{}-k7.md", "x".repeat(NAME_CHARS));
        check(&"x".repeat(100), &long);
    }
}
