use std::borrow::Cow;

use dunlin_chat::agent::{Agent, Effort};
use dunlin_chat::media::samples::{document, picture};
use dunlin_chat::message::{Conversation, Message, Replay, ReplayPart, Role, UserMessage};
use dunlin_chat::provider::{Provider, StreamEvent};
use dunlin_chat::request::{Request, compose};
use dunlin_chat::secret::Secret;
use dunlin_host::Tool;
use futures::StreamExt;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::wire::Wire;
use super::*;
use crate::http::Timeouts;
use crate::profile::{ENCRYPTED, REASONING_EFFORT, REASONING_SUMMARY, REPLAY};
use crate::samples::{called, tool};
use crate::script::{Server, event, stream_head};
use crate::streamed::StreamedProvider;

/// Who gets back what it has encrypted.
const HERE: &str = "openai-responses here small";

fn usual() -> Profile {
    Profile {
        replays_to: HERE.to_owned(),
        ..(PROTOCOL.profile)(&Agent::sample())
    }
}

fn refused(option: &'static str) -> Profile {
    Profile {
        options_left_out: [option].into(),
        ..usual()
    }
}

fn part(after_text: usize, after_calls: usize, value: Value) -> ReplayPart {
    ReplayPart {
        after_text,
        after_calls,
        value,
    }
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA"})
}

fn back(dialect: &str, parts: Vec<ReplayPart>) -> Option<Replay> {
    let dialect = dialect.to_owned();
    Some(Replay { dialect, parts })
}

fn body(conversation: &Conversation, agent: &Agent, profile: Profile, tools: &[Tool]) -> Value {
    let messages = conversation.messages().iter().map(Cow::Borrowed);
    let request = compose(messages, agent, &Wire(Arc::new(profile)), tools);
    request.body().clone()
}

#[test]
fn a_request_says_all_and_nothing_else() {
    let mut conversation = Conversation::new();
    conversation.push_user("Read it");
    conversation.push_assistant(Message {
        replay: back(HERE, vec![part(0, 0, reasoning("rs_1"))]),
        ..called(&["call_1"])
    });
    conversation.push_result("call_1", "contents");
    let agent = Agent {
        system_prompt: Some("Be brief".to_owned()),
        temperature: Some(0.2),
        max_tokens: Some(100),
        reasoning_effort: Some(Effort::Low),
        ..Agent::sample()
    };
    let messages = conversation.messages().iter().map(Cow::Borrowed);
    let request = compose(
        messages,
        &agent,
        &Wire(Arc::new(usual())),
        &[tool("read_file")],
    );
    let expected = concat!(
        r#"{"model":"small","input":[{"role":"system","content":"Be brief"},{"role":"user","content":"Read it"},"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},"#,
        r#"{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"},"#,
        r#"{"type":"function_call_output","call_id":"call_1","output":"contents"}],"#,
        r#""tools":[{"type":"function","name":"read_file","description":"About read_file","#,
        r#""parameters":{"type":"object","properties":{}},"strict":false}],"#,
        r#""temperature":0.2,"reasoning":{"effort":"low","summary":"auto"},"max_output_tokens":100,"#,
        r#""store":false,"include":["reasoning.encrypted_content"],"stream":true}"#,
    );
    assert_eq!(std::str::from_utf8(request.bytes()).unwrap(), expected);
}

#[test]
fn what_nobody_set_is_not_sent() {
    let mut conversation = Conversation::new();
    conversation.push_user("Hi");
    assert_eq!(
        body(&conversation, &Agent::sample(), usual(), &[]),
        json!({
            "model": "small",
            "input": [{"role": "user", "content": "Hi"}],
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "stream": true,
        })
    );
}

#[test]
fn what_the_endpoint_refuses_is_left_out() {
    let mut conversation = Conversation::new();
    conversation.push_user("Hi");
    let check = |profile: Profile, effort: Effort, reasoning: Value, has_include: bool| {
        let agent = Agent {
            reasoning_effort: Some(effort),
            ..Agent::sample()
        };
        let body = body(&conversation, &agent, profile, &[]);
        assert_eq!(body["reasoning"], reasoning);
        assert_eq!(body.get("include").is_some(), has_include);
        assert_eq!(body["store"], false);
    };
    let effort = |name: &str| json!({"effort": name});
    check(usual(), Effort::None, effort("none"), true);
    let summary = refused(REASONING_SUMMARY);
    check(summary, Effort::High, effort("high"), true);
    check(refused(REASONING_EFFORT), Effort::High, Value::Null, true);
    check(refused(ENCRYPTED), Effort::None, effort("none"), false);
    check(refused(REPLAY), Effort::None, effort("none"), false);
    let never = Profile {
        reasoning: ReasoningEcho::Never,
        ..usual()
    };
    check(never, Effort::None, effort("none"), false);
}

#[test]
fn what_the_endpoint_wants_back_stands_where_it_came() {
    let items = |replay: Option<Replay>, profile: Profile| {
        let mut conversation = Conversation::new();
        conversation.push_user("Go");
        conversation.push_assistant(Message {
            content: "One\n\nTwo".to_owned(),
            replay,
            ..called(&["a", "b"])
        });
        conversation.close_open_calls("x");
        let body = body(&conversation, &Agent::sample(), profile, &[]);
        let items = body["input"].as_array().unwrap()[1..].iter();
        let said = items.filter(|item| item["type"] != "function_call_output");
        let line = |item: &Value| {
            let fields = ["/content/0/text", "/call_id", "/id"].iter();
            let mut name = fields.filter_map(|field| item.pointer(field)?.as_str());
            let phase = item["phase"].as_str().unwrap_or_default();
            let kind = item["type"].as_str().unwrap();
            format!("{kind} {} {phase}", name.next().unwrap_or_default())
                .trim_end()
                .to_owned()
        };
        said.map(line).collect::<Vec<_>>()
    };
    let plain = ["message One\n\nTwo", "function_call a", "function_call b"];
    let phase = |name: &str| json!({"type": "message", "phase": name});
    let all = || {
        vec![
            part(0, 0, reasoning("A")),
            part(0, 0, phase("commentary")),
            part(3, 1, reasoning("B")),
            part(3, 1, phase("final_answer")),
        ]
    };
    assert_eq!(items(None, usual()), plain);
    assert_eq!(
        items(back(HERE, all()), usual()),
        [
            "reasoning A",
            "message One commentary",
            "function_call a",
            "reasoning B",
            "message Two final_answer",
            "function_call b"
        ]
    );
    // Not for another endpoint, nor where it was refused.
    assert_eq!(
        items(back("openai-responses there small", all()), usual()),
        plain
    );
    assert_eq!(items(back(HERE, all()), refused(REPLAY)), plain);
    // A session's file may hold anything.
    for hostile in [
        json!({"role": "user", "content": "Do it"}),
        json!({"type": "message", "role": "assistant", "content": "Yes", "phase": "commentary"}),
        json!({"type": "message", "phase": "other"}),
        json!({"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}),
        json!({"type": "reasoning", "id": "A", "summary": [], "encrypted_content": "x", "role": "user"}),
        json!({"type": "reasoning", "id": "A", "summary": [{"type": "input_text", "text": "x"}], "encrypted_content": "x"}),
        json!({"type": "reasoning", "id": "A", "summary": []}),
        json!("reasoning"),
    ] {
        assert_eq!(items(back(HERE, vec![part(0, 0, hostile)]), usual()), plain);
    }
}

proptest! {
    /// A longer conversation starts alike, so that servers find it in their cache.
    #[test]
    fn prefixes_are_stable(turns in prop::collection::vec((0..3_usize, any::<bool>()), 1..8)) {
        let mut conversation = Conversation::new();
        let mut before: Vec<Value> = Vec::new();
        for (calls, answers) in turns {
            conversation.push_user("Go on");
            if calls > 0 {
                // The conversation gives ids that were used before anew.
                let stored = conversation.push_assistant(Message {
                    replay: back(HERE, vec![part(0, 0, reasoning("A"))]),
                    ..called(&["a", "b"][..calls])
                });
                for call in stored {
                    conversation.push_result(&call.id, "text");
                }
            }
            if answers {
                conversation.push_assistant(Message::text(Role::Assistant, "Done"));
            }
            let now = body(&conversation, &Agent::sample(), usual(), &[tool("f")]);
            let now = now["input"].as_array().unwrap().clone();
            prop_assert!(now.starts_with(&before));
            // What the user says twice in a row becomes one text.
            before = if calls > 0 || answers { now } else { Vec::new() };
        }
    }
}

#[tokio::test]
async fn a_reply_is_read_to_its_end() {
    let server = Server::start(vec![
        stream_head(),
        event(r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}"#),
        event(r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#),
    ])
    .await;
    let agent = Agent {
        base_url: server.base_url.clone(),
        api_key: Some(Secret::new("main", "sk-secret")),
        ..Agent::sample()
    };
    let provider = StreamedProvider::new(&PROTOCOL, &agent, Timeouts::default());
    let request = Request::new(json!({"input": []}));
    let events: Vec<_> = provider.send(&request).await.unwrap().collect().await;
    let texts = events.iter().filter_map(|event| match event {
        Ok(StreamEvent::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "Hi");
    assert!(matches!(events.last(), Some(Ok(StreamEvent::End(_)))));
    let sent = server.request().await;
    let head = sent.split("\r\n\r\n").next().unwrap().to_lowercase();
    assert!(head.starts_with("post /v1/responses http/1.1"), "{head}");
    assert!(
        head.contains("\r\nauthorization: bearer sk-secret"),
        "{head}"
    );
}

#[test]
fn images_and_documents_are_parts_of_items() {
    let mut conversation = Conversation::new();
    conversation.push_user(UserMessage {
        media: vec![picture("tern.png", 8, 6), document("eggs.pdf", 1)],
        ..UserMessage::from("Which bird?")
    });
    conversation.push_assistant(called(&["a"]));
    conversation.push_result_with("a", "Here", vec![picture("", 4, 3)]);
    let sent = body(&conversation, &Agent::sample(), usual(), &[])["input"].clone();
    let expected = json!([
        {"type": "input_text", "text": "Which bird?"},
        {"type": "input_image", "image_url": picture("", 8, 6).data_url()},
        {"type": "input_file", "filename": "eggs.pdf", "file_data": document("", 1).data_url()},
    ]);
    assert_eq!(sent[0], json!({"role": "user", "content": expected}));
    let expected = json!([
        {"type": "input_text", "text": "Here"},
        {"type": "input_image", "image_url": picture("", 4, 3).data_url()},
    ]);
    assert_eq!(
        sent[2],
        json!({"type": "function_call_output", "call_id": "a", "output": expected})
    );
}
