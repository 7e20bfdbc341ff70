use super::*;

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: Map::new(),
        raw_arguments: None,
        number: 0,
    }
}

fn calls(ids: &[&str]) -> Message {
    Message {
        tool_calls: ids.iter().map(|id| call(id)).collect(),
        ..Message::text(Role::Assistant, "")
    }
}

fn shape(conversation: &Conversation) -> Vec<String> {
    let line = |message: &Message| match message.role {
        Role::System => format!("system {}", message.content),
        Role::User => format!("user {}", message.content),
        Role::Assistant => {
            let ids: Vec<&str> = message
                .tool_calls
                .iter()
                .map(|call| call.id.as_str())
                .collect();
            format!("assistant {}{}", message.content, ids.join(","))
        }
        Role::Tool => {
            format!(
                "tool {}: {}",
                message.tool_call_id.as_deref().unwrap_or("?"),
                message.content
            )
        }
    };
    conversation.messages().iter().map(line).collect()
}

#[test]
fn whoever_speaks_next_closes_open_calls() {
    let mut conversation = Conversation::new();
    conversation.push_user("hello");
    conversation.push_assistant(calls(&["a", "b"]));
    assert!(conversation.push_result("b", "done"));
    assert!(!conversation.push_result("b", "again"));
    assert!(!conversation.push_result("stranger", "done"));
    conversation.push_user("next");
    assert_eq!(
        shape(&conversation),
        [
            "user hello",
            "assistant a,b",
            "tool b: done",
            "tool a: cancelled by user",
            "user next"
        ]
    );
}

#[test]
fn ids_are_never_used_twice() {
    let mut conversation = Conversation::new();
    let long = "x".repeat(65);
    let stored = conversation.push_assistant(calls(&["a", "a", "", "call00001", &long, "a b"]));
    let ids: Vec<&str> = stored.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "a",
            "call00001",
            "call00002",
            "call00003",
            "call00004",
            "call00005"
        ]
    );
    conversation.clear();
    assert_eq!(
        conversation.push_assistant(calls(&["a"]))[0].id,
        "call00006"
    );
}

#[test]
fn calls_of_one_session_never_share_a_name() {
    let mut conversation = Conversation::new();
    conversation.push_assistant(calls(&["a"]));
    let mut beside = conversation.beside();
    let stored = beside.push_assistant(calls(&["a", "b"]));
    let names: Vec<_> = stored
        .iter()
        .map(|it| (it.id.as_str(), it.number))
        .collect();
    assert_eq!(names, [("call00001", 2), ("b", 3)]);
    let stored = conversation.push_assistant(calls(&["b"]));
    assert_eq!((stored[0].id.as_str(), stored[0].number), ("call00002", 4));
    // A copy is another session.
    let stored = conversation.clone().push_assistant(calls(&["c"]));
    assert_eq!(stored[0].number, 5);
    assert_eq!(conversation.last_call(), 4);
}

#[test]
fn stored_messages_are_made_legal() {
    let orphan = Message {
        tool_call_id: Some("ghost".to_owned()),
        ..Message::text(Role::Tool, "who asked?")
    };
    let conversation = Conversation::from_messages([
        Message::text(Role::User, "hello"),
        orphan,
        Message::text(Role::Assistant, " "),
        calls(&["a"]),
        Message::text(Role::User, "next"),
        calls(&["b"]),
    ]);
    assert_eq!(
        shape(&conversation),
        [
            "user hello",
            "assistant a",
            "tool a: ERROR: the result of this call was lost",
            "user next",
            "assistant b",
            "tool b: ERROR: the result of this call was lost",
        ]
    );
}

#[test]
fn a_message_survives_a_line_of_json() {
    let mut message = calls(&["a"]);
    message.partial = true;
    message.reasoning = Some(Reasoning {
        field: "reasoning".to_owned(),
        text: "hm".to_owned(),
    });
    message.replay = Some(Replay {
        dialect: "signed".to_owned(),
        parts: vec![ReplayPart {
            after_text: 0,
            after_calls: 1,
            value: serde_json::json!({"signature": "x==", "b": 1, "a": [1.5]}),
        }],
    });
    let line = serde_json::to_string(&message).unwrap();
    assert_eq!(serde_json::from_str::<Message>(&line).unwrap(), message);
    let plain = serde_json::to_string(&Message::text(Role::User, "hi")).unwrap();
    assert_eq!(plain, r#"{"role":"user","content":"hi"}"#);
}

#[test]
fn names_become_fit_to_be_sent() {
    for (name, wire) in [
        ("read_file", "read_file"),
        ("functions.read-file:0", "functions_read-file_0"),
        ("", "unnamed"),
        ("lies\nmich", "lies_mich"),
    ] {
        assert_eq!(wire_name(name), wire);
    }
    assert_eq!(wire_name(&"x".repeat(100)).len(), 64);
}
