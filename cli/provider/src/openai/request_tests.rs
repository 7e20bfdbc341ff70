use serde_json::json;

use std::borrow::Cow;

use dunlin_chat::agent::Agent;
use dunlin_chat::media::samples::{document, picture};
use dunlin_chat::media::{Media, Takes};
use dunlin_chat::message::{Conversation, Message, Reasoning, Role, ToolCall, UserMessage};
use dunlin_chat::provider::Dialect;
use dunlin_chat::request::editor::{EditableRequest, RowValue, origins};
use dunlin_chat::request::truncation::Truncation;
use dunlin_chat::request::{Request, compose};
use dunlin_host::Tool;
use serde_json::Value;

use crate::profile::Profile;
use crate::samples::{called, tool};
use dunlin_chat::endpoint::{EmptyContent, ReasoningEcho};

fn asked_and_called() -> Conversation {
    let mut conversation = Conversation::new();
    conversation.push_user("Read it");
    let arguments = json!({"file_path": "a.txt"})
        .as_object()
        .cloned()
        .unwrap_or_default();
    conversation.push_assistant(Message {
        tool_calls: vec![ToolCall {
            id: "abc".to_owned(),
            name: "read_file".to_owned(),
            arguments,
            raw_arguments: None,
            number: 0,
        }],
        reasoning: Some(Reasoning {
            field: "reasoning_content".to_owned(),
            text: "hm".to_owned(),
        }),
        ..Message::text(Role::Assistant, "")
    });
    conversation.push_result("abc", "contents");
    conversation
}

fn composed(
    conversation: &Conversation,
    agent: &Agent,
    profile: &Profile,
    tools: &[Tool],
) -> Request {
    let messages = conversation.messages().iter().map(Cow::Borrowed);
    compose(messages, agent, profile, tools)
}

#[test]
fn a_request_says_all_and_nothing_else() {
    let mut agent = Agent::sample();
    agent.system_prompt = Some("Be brief".to_owned());
    agent.temperature = Some(0.2);
    agent.max_tokens = Some(100);
    agent.tools = Some(vec!["read_file".to_owned()]);
    let request = composed(
        &asked_and_called(),
        &agent,
        &Profile::default(),
        &[tool("edit_file"), tool("read_file")],
    );
    let expected = concat!(
        r#"{"model":"small","messages":["#,
        r#"{"role":"system","content":"Be brief"},"#,
        r#"{"role":"user","content":"Read it"},"#,
        r#"{"role":"assistant","content":"","tool_calls":[{"id":"abc","type":"function","#,
        r#""function":{"name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"abc","name":"read_file","content":"contents"}],"#,
        r#""tools":[{"type":"function","function":{"name":"read_file","description":"About read_file","#,
        r#""parameters":{"type":"object","properties":{}}}}],"#,
        r#""temperature":0.2,"max_tokens":100,"stream":true,"stream_options":{"include_usage":true}}"#,
    );
    assert_eq!(std::str::from_utf8(request.bytes()).unwrap(), expected);
    let offered: Vec<&str> = request
        .tools()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(offered, ["read_file"]);
}

#[test]
fn a_longer_conversation_starts_alike() {
    let before = composed(
        &asked_and_called(),
        &Agent::sample(),
        &Profile::default(),
        &[],
    );
    let mut longer = asked_and_called();
    longer.push_assistant(Message::text(Role::Assistant, "It says contents"));
    let after = composed(&longer, &Agent::sample(), &Profile::default(), &[]);
    let (before, after) = (&before.body()["messages"], &after.body()["messages"]);
    for (index, message) in before.as_array().unwrap().iter().enumerate() {
        assert_eq!(message, &after[index]);
    }
}

#[test]
fn the_profile_decides_what_endpoints_differ_in() {
    let message = |profile: &Profile| {
        let request = composed(&asked_and_called(), &Agent::sample(), profile, &[]);
        request.body()["messages"][1].clone()
    };
    let empty = message(&Profile::default());
    assert_eq!(empty["content"], "");
    assert_eq!(empty.get("reasoning_content"), None);
    let null = message(&Profile {
        content_beside_calls: EmptyContent::Null,
        ..Profile::default()
    });
    assert_eq!(null.get("content"), Some(&Value::Null));
    let omitted = message(&Profile {
        content_beside_calls: EmptyContent::Omit,
        ..Profile::default()
    });
    assert_eq!(omitted.get("content"), None);
    let echoed = message(&Profile {
        reasoning: ReasoningEcho::WithCalls,
        ..Profile::default()
    });
    assert_eq!(echoed["reasoning_content"], "hm");
    let renamed = message(&Profile {
        reasoning: ReasoningEcho::WithCalls,
        reasoning_field: Some("thinking"),
        ..Profile::default()
    });
    assert_eq!(renamed["thinking"], "hm");
    assert_eq!(renamed.get("reasoning_content"), None);
}

#[test]
fn an_edit_changes_the_bytes_of_this_request_only() {
    let conversation = asked_and_called();
    let request = composed(&conversation, &Agent::sample(), &Profile::default(), &[]);
    let original = request.bytes().clone();
    assert_eq!(
        request.bytes().as_ptr(),
        original.as_ptr(),
        "serialised once"
    );
    let origins = origins(conversation.messages(), &Truncation::default(), false);
    let outline = Profile::default().outline(request.body(), &origins);
    let mut editable = EditableRequest::new(original.clone(), outline);
    editable.set("messages[0].content", "Read that").unwrap();
    let edited = request.edited(&editable).unwrap();
    assert_eq!(edited.bytes(), editable.bytes());
    assert_eq!(edited.body()["messages"][0]["content"], "Read that");
    assert_eq!(
        composed(&conversation, &Agent::sample(), &Profile::default(), &[]).bytes(),
        &original
    );
}

#[test]
fn a_turn_without_an_answer_leaves_one_message_of_the_user() {
    let mut conversation = Conversation::new();
    conversation.push_user("one");
    conversation.push_user("two");
    let request = composed(&conversation, &Agent::sample(), &Profile::default(), &[]);
    assert_eq!(
        request.body()["messages"],
        json!([{"role": "user", "content": "one\n\ntwo"}])
    );
}

/// A question about an image and a document, and a call whose result holds an image.
fn with_media() -> Conversation {
    let mut conversation = Conversation::new();
    conversation.push_user(UserMessage {
        media: vec![picture("notes/tern.png", 8, 6), document("eggs.pdf", 1)],
        ..UserMessage::from("Which bird?")
    });
    conversation.push_assistant(called(&["abc"]));
    conversation.push_result_with("abc", "It is here", vec![picture("", 4, 3)]);
    conversation
}

#[test]
fn images_and_documents_are_parts() {
    let conversation = with_media();
    let agent = Agent::sample();
    let messages = |profile: &Profile| {
        let request = composed(&conversation, &agent, profile, &[]);
        request.body()["messages"].clone()
    };
    let url = |media: Media| media.data_url();
    let (tern, eggs, nest) = (picture("", 8, 6), document("", 1), picture("", 4, 3));
    let sent = messages(&Profile::default());
    let expected = json!([
        {"type": "text", "text": "Which bird?"},
        {"type": "image_url", "image_url": {"url": url(tern)}},
        {"type": "file", "file": {"filename": "eggs.pdf", "file_data": url(eggs)}},
    ]);
    assert_eq!(sent[0], json!({"role": "user", "content": expected}));
    assert_eq!(sent[2]["content"], "It is here");
    let named =
        "Images and documents of the results above, in their order: [image PNG 4×3, 57 bytes]";
    let expected = json!([
        {"type": "text", "text": named},
        {"type": "image_url", "image_url": {"url": url(nest)}},
    ]);
    assert_eq!(sent[3], json!({"role": "user", "content": expected}));

    // A model that takes none is told what it cannot see, in the words of text.
    let text = Profile {
        takes: Takes::NOTHING,
        ..Profile::default()
    };
    let sent = messages(&text);
    let named = "Which bird?\n[not shown: this model takes no images] [notes/tern.png: image PNG 8×6, 57 bytes]\n\
        [not shown: this model takes no PDF documents] [eggs.pdf: PDF, 1 page, 65 bytes]";
    assert_eq!(sent[0]["content"], named);
    let named = "It is here\n[not shown: this model takes no images] [image PNG 4×3, 57 bytes]";
    assert_eq!(sent[2]["content"], named);
    assert_eq!(sent.as_array().map(Vec::len), Some(3));
}

#[test]
fn images_are_outlined_and_stay_when_the_text_is_edited() {
    let conversation = with_media();
    let profile = Profile::default();
    let request = composed(&conversation, &Agent::sample(), &profile, &[]);
    let origins = origins(conversation.messages(), &Truncation::default(), false);
    let outline = profile.outline(request.body(), &origins);
    let mut editable = EditableRequest::new(request.bytes().clone(), outline);
    let sections = editable.sections().iter();
    let sections: Vec<String> = sections
        .map(|it| format!("{} {}", it.id, it.label))
        .collect();
    let expected = [
        "message:0 user",
        "message:1 assistant calls read_file",
        "message:2 result of read_file",
        "message:2.1 images and documents of results",
        "options options",
    ];
    assert_eq!(sections, expected);
    editable.set_text(1, "Which tern?").unwrap();
    let sent: Value = serde_json::from_slice(editable.bytes()).unwrap();
    let content = &sent["messages"][0]["content"];
    assert_eq!(content[0]["text"], "Which tern?");
    assert_eq!(content[1], request.body()["messages"][0]["content"][1]);
    let rows = editable.rows(1);
    let media = rows.iter().filter_map(|row| match &row.value {
        RowValue::Leaf(leaf) => leaf.media(),
        _ => None,
    });
    // Such a short one is shown as it is.
    assert_eq!(media.count(), 0);
    editable.delete(4).unwrap();
    let sent: Value = serde_json::from_slice(editable.bytes()).unwrap();
    assert_eq!(sent["messages"].as_array().map(Vec::len), Some(3));
}
