use super::*;
use dunlin_chat::provider::error::ProviderError;
use serde_json::{Map, json};

fn tools() -> Arc<[Tool]> {
    Arc::new([Tool {
        name: "read_file".to_owned(),
        plugin: "read_file".to_owned(),
        description: String::new(),
        parameters: json!({
            "type": "object",
            "properties": {"file_path": {"type": "string"}},
            "required": ["file_path"],
        }),
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    }])
}

fn text(text: &str) -> StreamEvent {
    StreamEvent::Text(text.to_owned())
}

fn end(finish: Finish) -> StreamEvent {
    StreamEvent::End(ReplyEnd {
        calls: Vec::new(),
        finish,
        replay: None,
    })
}

fn lines(events: Vec<StreamEvent>) -> Vec<String> {
    let line = |event| match event {
        StreamEvent::Text(text) => format!("text {text}"),
        StreamEvent::Reasoning { text, .. } => format!("reasoning {text}"),
        StreamEvent::WasReasoning { .. } => "was reasoning".to_owned(),
        StreamEvent::CallStarted { tool } => format!("started {tool}"),
        StreamEvent::Notice(_) | StreamEvent::Warning(_) => "notice".to_owned(),
        StreamEvent::Usage(_) => "usage".to_owned(),
        StreamEvent::End(end) => {
            let calls = end.calls.iter().map(|call| {
                let recovered = if call.recovered { "recovered " } else { "" };
                format!(" {recovered}{}", call.tool)
            });
            format!("{:?}{}", end.finish, calls.collect::<String>())
        }
    };
    events.into_iter().map(line).collect()
}

#[track_caller]
fn check(events: impl IntoIterator<Item = StreamEvent>, expected: &[&str]) {
    let mut normalizer = ReplyNormalizer::new(tools());
    let mut out = Vec::new();
    for event in events {
        normalizer.push(event, &mut out);
    }
    assert_eq!(lines(out), expected);
}

const CALL: &str = r#"{"name":"read_file","arguments":{"file_path":"a"}}"#;

#[test]
fn a_thought_and_a_call_in_the_text() {
    check(
        [
            text("<think>hm</think>\n\n<tool_call>"),
            text(CALL),
            text("</tool_call>"),
            end(Finish::Complete),
        ],
        &[
            "reasoning hm",
            "started read_file",
            "Complete recovered read_file",
        ],
    );
    check(
        [
            text("I look.\n</think>\n\n"),
            text(CALL),
            end(Finish::Complete),
        ],
        &[
            "text I look.\n",
            "was reasoning",
            "started read_file",
            "Complete recovered read_file",
        ],
    );
    check(
        [text(CALL), text("\n</think>\n\nHi"), end(Finish::Complete)],
        &[
            &format!("text {CALL}\n"),
            "was reasoning",
            "text Hi",
            "Complete",
        ],
    );
}

#[test]
fn calls_of_the_protocol_count_alone() {
    let call = ProposedCall::new("a", "read_file", Map::new());
    let called = StreamEvent::End(ReplyEnd {
        calls: vec![call],
        finish: Finish::Complete,
        replay: None,
    });
    let started = StreamEvent::CallStarted {
        tool: "read_file".to_owned(),
    };
    check(
        [text(CALL), started, called],
        &[
            &format!("text {CALL}"),
            "started read_file",
            "Complete read_file",
        ],
    );
}

#[test]
fn what_is_cut_is_no_call() {
    check(
        [text(CALL), end(Finish::Cut)],
        &[&format!("text {CALL}"), "Cut"],
    );
    check(
        [text("<think>so"), end(Finish::Cut)],
        &["reasoning so", "Cut"],
    );
    check(
        [text("<think> is a tag"), end(Finish::Complete)],
        &["reasoning is a tag", "text <think> is a tag", "Complete"],
    );
}

#[tokio::test]
async fn what_was_held_back_comes_before_the_error() {
    let error = ProviderError::Key {
        key: "main".to_owned(),
    };
    let reply = stream::iter([Ok(text("Hi ")), Ok(text("<tool_")), Err(error)]);
    let mut heard = normalized(Box::pin(reply), tools());
    assert_eq!(heard.next().await.unwrap().unwrap(), text("Hi "));
    assert_eq!(heard.next().await.unwrap().unwrap(), text("<tool_"));
    assert!(heard.next().await.unwrap().is_err());
    assert!(heard.next().await.is_none());
    let mut heard = super::normalized(Box::pin(stream::iter([Ok(text("<"))])), tools());
    assert_eq!(heard.next().await.unwrap().unwrap(), text("<"));
    assert!(heard.next().await.is_none());
}
