use std::borrow::Cow;

use dunlin_chat::agent::{Agent, Effort};
use dunlin_chat::media::Media;
use dunlin_chat::media::samples::{document, picture, png};
use dunlin_chat::message::{Conversation, Message, Replay, ReplayPart, Role, UserMessage};
use dunlin_chat::provider::{Dialect, Provider};
use dunlin_chat::request::Request;
use dunlin_chat::request::compose;
use dunlin_chat::request::editor::origins;
use dunlin_chat::request::truncation::Truncation;
use dunlin_host::Tool;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::wire::Wire;
use super::*;
use crate::http::Timeouts;
use crate::profile::{CACHE_CONTROL, EffortForm, REASONING_EFFORT, REPLAY};
use crate::samples::{called, tool};
use crate::script::{Server, event, response, stream_head};
use crate::streamed::StreamedProvider;
use dunlin_chat::provider::StreamEvent;
use dunlin_chat::secret::Secret;
use futures::StreamExt;

/// Who gets back what it has signed.
const HERE: &str = "anthropic here small";

fn usual() -> Profile {
    Profile {
        replays_to: HERE.to_owned(),
        ..Profile::default()
    }
}

fn part(after_text: usize, after_calls: usize, signature: &str) -> ReplayPart {
    ReplayPart {
        after_text,
        after_calls,
        value: json!({"type": "thinking", "thinking": "hm", "signature": signature}),
    }
}

fn signed(dialect: &str, parts: Vec<ReplayPart>) -> Option<Replay> {
    let dialect = dialect.to_owned();
    Some(Replay { dialect, parts })
}

fn body(conversation: &Conversation, agent: &Agent, profile: &Profile, tools: &[Tool]) -> Value {
    let messages = conversation.messages().iter().map(Cow::Borrowed);
    let wire = Wire(Arc::new(profile.clone()));
    compose(messages, agent, &wire, tools).body().clone()
}

/// Without the marks of the cache, which move.
fn unmarked(mut body: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            _ => {}
        }
    }
    strip(&mut body);
    body
}

#[test]
fn a_request_says_all_and_nothing_else() {
    let mut conversation = Conversation::new();
    conversation.push_user("Read it");
    conversation.push_assistant(Message {
        replay: signed(HERE, vec![part(0, 0, "x==")]),
        ..called(&["toolu_1"])
    });
    conversation.push_result("toolu_1", "contents");
    let mut agent = Agent::sample();
    agent.system_prompt = Some("Be brief".to_owned());
    agent.temperature = Some(0.2);
    agent.max_tokens = Some(100);
    let messages = conversation.messages().iter().map(Cow::Borrowed);
    let wire = Wire(Arc::new(usual()));
    let request = compose(messages, &agent, &wire, &[tool("read_file")]);
    let expected = concat!(
        r#"{"model":"small","max_tokens":100,"#,
        r#""system":[{"type":"text","text":"Be brief","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"Read it","cache_control":{"type":"ephemeral"}}]},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x=="},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"file_path":"a.txt"}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"contents","cache_control":{"type":"ephemeral"}}]}],"#,
        r#""tools":[{"name":"read_file","description":"About read_file","input_schema":{"type":"object","properties":{}}}],"#,
        r#""temperature":0.2,"stream":true}"#,
    );
    assert_eq!(std::str::from_utf8(request.bytes()).unwrap(), expected);
}

#[test]
fn what_nobody_set_is_not_sent() {
    let mut conversation = Conversation::new();
    conversation.push_user("Hi");
    let body = body(
        &conversation,
        &Agent::sample(),
        &Profile::default(),
        &[tool("f")],
    );
    assert_eq!(
        body,
        json!({
            "model": "small",
            "max_tokens": 32_000,
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}},
            ]}],
            "tools": [{
                "name": "f", "description": "About f",
                "input_schema": {"type": "object", "properties": {}},
                "cache_control": {"type": "ephemeral"},
            }],
            "stream": true,
        })
    );
}

#[test]
fn results_of_one_reply_and_what_the_user_says_next_are_one_message() {
    let mut conversation = Conversation::new();
    conversation.push_user("Read them");
    conversation.push_assistant(called(&["a", "b"]));
    conversation.push_result("b", "of b");
    conversation.push_user("Stop");
    let body = unmarked(body(
        &conversation,
        &Agent::sample(),
        &Profile::default(),
        &[],
    ));
    let roles: Vec<&Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(
        body["messages"][2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "b", "content": "of b"},
            {"type": "tool_result", "tool_use_id": "a", "content": "cancelled by user"},
            {"type": "text", "text": "Stop"},
        ])
    );
}

#[test]
fn what_the_endpoint_wants_back_stands_where_it_came() {
    let message = |replay: Option<Replay>, profile: &Profile| {
        let mut conversation = Conversation::new();
        conversation.push_user("Go");
        conversation.push_assistant(Message {
            content: "One\n\nTwo".to_owned(),
            replay,
            ..called(&["a", "b"])
        });
        conversation.close_open_calls("x");
        let body = body(&conversation, &Agent::sample(), profile, &[]);
        let blocks = body["messages"][1]["content"].as_array().unwrap().clone();
        let line = |block: &Value| {
            let field = ["text", "id", "signature"]
                .iter()
                .find_map(|field| block[field].as_str());
            format!(
                "{} {}",
                block["type"].as_str().unwrap(),
                field.unwrap_or_default()
            )
        };
        blocks.iter().map(line).collect::<Vec<_>>()
    };
    let plain = ["text One\n\nTwo", "tool_use a", "tool_use b"];
    let usual = usual();
    assert_eq!(message(None, &usual), plain);
    assert_eq!(
        message(signed(HERE, vec![part(0, 0, "A"), part(3, 1, "B")]), &usual),
        [
            "thinking A",
            "text One",
            "tool_use a",
            "thinking B",
            "text Two",
            "tool_use b"
        ]
    );
    // Places that are not there, as of a text that was read otherwise, and a place within a character.
    let hostile = vec![part(9_999, 9_999, "A"), part(1, 0, "B")];
    assert_eq!(
        message(signed(HERE, hostile), &usual),
        [
            "text One\n\nTwo",
            "tool_use a",
            "tool_use b",
            "thinking A",
            "thinking B"
        ]
    );
    assert_eq!(
        message(signed("other", vec![part(0, 0, "A")]), &usual),
        plain
    );
    let refused = Profile {
        options_left_out: [REPLAY].into(),
        ..usual
    };
    assert_eq!(
        message(signed(HERE, vec![part(0, 0, "A")]), &refused),
        plain
    );
}

#[test]
fn an_effort_is_asked_for_in_the_form_that_the_model_knows() {
    let mut conversation = Conversation::new();
    conversation.push_user("Hi");
    let check = |effort: Effort, form: EffortForm, max_tokens: Option<u32>, expected: Value| {
        let agent = Agent {
            reasoning_effort: Some(effort),
            max_tokens,
            ..Agent::sample()
        };
        let profile = Profile {
            effort: form,
            ..Profile::default()
        };
        let body = body(&conversation, &agent, &profile, &[]);
        let sent = json!([body.get("thinking"), body.pointer("/output_config/effort")]);
        assert_eq!(sent, expected, "{effort:?} {form:?}");
    };
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    check(
        Effort::None,
        EffortForm::Level,
        None,
        json!([{"type": "disabled"}, null]),
    );
    check(
        Effort::Low,
        EffortForm::Level,
        None,
        json!([adaptive, "low"]),
    );
    check(
        Effort::High,
        EffortForm::Level,
        Some(50),
        json!([adaptive, "high"]),
    );
    let budget = |tokens: u32| json!([{"type": "enabled", "budget_tokens": tokens}, null]);
    check(Effort::High, EffortForm::Switch, None, budget(24_000));
    check(
        Effort::Medium,
        EffortForm::Switch,
        Some(8_000),
        budget(6_000),
    );
    check(
        Effort::Low,
        EffortForm::Switch,
        Some(1_000),
        json!([null, null]),
    );
    let agent = Agent {
        reasoning_effort: Some(Effort::High),
        ..Agent::sample()
    };
    let profile = Profile {
        options_left_out: [REASONING_EFFORT, CACHE_CONTROL].into(),
        max_tokens_allowed: Some(8_192),
        ..Profile::default()
    };
    assert_eq!(
        body(&conversation, &agent, &profile, &[]),
        json!({
            "model": "small",
            "max_tokens": 8_192,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            "stream": true,
        })
    );
}

proptest! {
    /// A longer conversation starts alike, marks aside, and has at most four marks; calls and results pair.
    #[test]
    fn prefixes_are_stable(turns in prop::collection::vec((0..3_usize, any::<bool>()), 1..8)) {
        let mut conversation = Conversation::new();
        let mut agent = Agent::sample();
        agent.system_prompt = Some("Be brief".to_owned());
        let mut before: Option<Value> = None;
        for (calls, answers) in turns {
            conversation.push_user("Go on");
            if calls > 0 {
                // The conversation gives ids that were used before anew.
                let stored = conversation.push_assistant(Message {
                    replay: signed(HERE, vec![part(0, 0, "S")]),
                    ..called(&["a", "b"][..calls])
                });
                for call in stored {
                    conversation.push_result(&call.id, "text");
                }
            }
            if answers {
                conversation.push_assistant(Message::text(Role::Assistant, "Done"));
                continue;
            }
            let now = body(&conversation, &agent, &usual(), &[tool("f")]);
            let marks = now.to_string().matches("cache_control").count();
            prop_assert!((1..=4).contains(&marks));
            let now = unmarked(now);
            let messages = now["messages"].as_array().unwrap();
            for pair in messages.windows(2) {
                prop_assert_ne!(&pair[0]["role"], &pair[1]["role"]);
            }
            if let Some(before) = before {
                for (earlier, later) in before["messages"].as_array().unwrap().iter().zip(messages) {
                    let (earlier, later) = (&earlier["content"], &later["content"]);
                    let earlier = earlier.as_array().unwrap();
                    prop_assert!(later.as_array().unwrap().starts_with(earlier), "{earlier:?} {later}");
                }
            }
            // What the user says twice in a row becomes one text.
            before = (calls > 0).then_some(now);
        }
    }
}

fn agent(base_url: &url::Url) -> Agent {
    Agent {
        base_url: base_url.clone(),
        api_key: Some(Secret::new("main", "sk-ant-secret")),
        ..Agent::sample()
    }
}

#[tokio::test]
async fn the_key_has_a_header_of_its_own() {
    let server = Server::start(vec![
        stream_head(),
        event(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#),
        event(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#),
        event(r#"{"type":"message_stop"}"#),
    ])
    .await;
    let provider = StreamedProvider::new(&PROTOCOL, &agent(&server.base_url), Timeouts::default());
    let request = Request::new(json!({"messages": []}));
    let events: Vec<_> = provider.send(&request).await.unwrap().collect().await;
    let texts = events.iter().filter_map(|event| match event {
        Ok(StreamEvent::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "Hi");
    assert!(matches!(events.last(), Some(Ok(StreamEvent::End(_)))));
    let sent = server.request().await;
    let head = sent.split("\r\n\r\n").next().unwrap().to_lowercase();
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    assert!(head.contains("\r\nx-api-key: sk-ant-secret"), "{head}");
    assert!(head.contains("\r\nanthropic-version: 2023-06-01"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn the_list_of_models_says_the_window() {
    let list = r#"{"data":[{"type":"model","id":"other","max_input_tokens":5000},{"type":"model","id":"small","max_input_tokens":200000}],"has_more":false}"#;
    let server = Server::start(vec![response("200 OK", "", list)]).await;
    let provider = StreamedProvider::new(&PROTOCOL, &agent(&server.base_url), Timeouts::default());
    provider.look_up_window().await;
    assert_eq!(provider.window().map(|window| window.tokens), Some(200_000));
    let sent = server.request().await;
    assert!(
        sent.starts_with("GET /v1/models?limit=1000 HTTP/1.1"),
        "{sent}"
    );
}

#[test]
fn the_address_may_be_written_with_a_path() {
    for (base_url, chat) in [
        (
            "https://api.anthropic.com",
            "https://api.anthropic.com/v1/messages",
        ),
        (
            "https://api.anthropic.com/v1/",
            "https://api.anthropic.com/v1/messages",
        ),
        (
            "https://h/api/anthropic",
            "https://h/api/anthropic/v1/messages",
        ),
        (
            "http://127.0.0.1:1/v1/messages",
            "http://127.0.0.1:1/v1/messages",
        ),
    ] {
        let url = PROTOCOL.address(&base_url.parse().unwrap());
        assert_eq!(url.as_str(), chat, "{base_url}");
    }
}

#[test]
fn images_and_documents_are_blocks() {
    let mut conversation = Conversation::new();
    conversation.push_user(UserMessage {
        media: vec![picture("tern.png", 8, 6), document("a/eggs.pdf", 1)],
        ..UserMessage::from("Which bird?")
    });
    conversation.push_assistant(called(&["a"]));
    conversation.push_result_with("a", "", vec![picture("", 4, 3)]);
    conversation.push_user(UserMessage {
        media: vec![picture("", 2, 1)],
        ..UserMessage::from("And this?")
    });
    let source = |media: Media, kind: &str| json!({"type": "base64", "media_type": kind, "data": media.base64()});
    let image = |width, height| {
        let source = source(picture("", width, height), "image/png");
        json!({"type": "image", "source": source})
    };
    let sent = body(&conversation, &Agent::sample(), &usual(), &[]);
    let sent = unmarked(sent)["messages"].clone();
    let eggs = source(document("", 1), "application/pdf");
    let expected = json!([
        image(8, 6),
        {"type": "document", "source": eggs, "title": "eggs.pdf"},
        {"type": "text", "text": "Which bird?"},
    ]);
    assert_eq!(sent[0], json!({"role": "user", "content": expected}));
    let expected = json!([
        {"type": "tool_result", "tool_use_id": "a", "content": [image(4, 3)]},
        image(2, 1),
        {"type": "text", "text": "And this?"},
    ]);
    assert_eq!(sent[2], json!({"role": "user", "content": expected}));

    let wire = Wire(Arc::new(usual()));
    let messages = conversation.messages().iter().map(Cow::Borrowed);
    let request = compose(messages, &Agent::sample(), &wire, &[]);
    let origins = origins(conversation.messages(), &Truncation::default(), false);
    let outline = wire.outline(request.body(), &origins);
    let sections = outline
        .sections
        .iter()
        .map(|it| format!("{} {}", it.id, it.path));
    let expected = [
        "message:0 messages[0]",
        "message:1 messages[1]",
        "message:2 messages[2].content[0]",
        "message:3 messages[2].content[1]",
        "message:3.1 messages[2].content[2]",
        "options (root)",
    ];
    let sections: Vec<String> = sections.collect();
    assert_eq!(sections[..5], expected[..5]);
}

#[test]
fn an_image_that_is_too_long_in_base64_is_not_sent() {
    let profile = (PROTOCOL.profile)(&Agent::sample());
    let image = |bytes| Media::new("", &png(1, 1, bytes)).unwrap();
    assert_eq!(profile.takes.check(&image(3_900_000)), Ok(()));
    let problem = profile.takes.check(&image(4_000_000)).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "this server takes images of at most 3.9 MB"
    );
}
