//! Tools and messages for the tests of dialects, and what assemblies make of frames.

use std::time::Duration;

use bytes::Bytes;
use dunlin_chat::message::{Message, Role, ToolCall};
use dunlin_chat::provider::StreamEvent;
use dunlin_host::Tool;
use futures::stream;
use serde_json::{Value, json};

use crate::assembly::BrokeOff;
use crate::framing::{Frame, Frames};
use crate::reply::Assemble;

/// A tool without parameters.
pub(crate) fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        plugin: "test".to_owned(),
        description: format!("About {name}"),
        parameters: json!({"$schema": "x", "type": "object", "properties": {}}),
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    }
}

/// A message of the model's that calls `read_file` with these ids.
pub(crate) fn called(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "read_file".to_owned(),
        arguments: json!({"file_path": "a.txt"}).as_object().cloned().unwrap(),
        raw_arguments: None,
        number: 0,
    };
    Message {
        tool_calls: ids.iter().map(call).collect(),
        ..Message::text(Role::Assistant, "")
    }
}

/// The frames of these events; a text stands for a payload of its own.
pub(crate) fn frames_of(events: &[Value]) -> Vec<Frame> {
    let frames = events.iter().map(|event| match event {
        Value::String(text) => Frame::Data(text.clone()),
        event => Frame::Data(event.to_string()),
    });
    frames.collect()
}

/// The frames of a stream whose bytes come in pieces that end at these places.
pub(crate) fn frames_in_pieces(stream: &str, mut places: Vec<usize>) -> Vec<Frame> {
    places.extend([0, stream.len()]);
    places.sort_unstable();
    let pieces: Vec<Result<Bytes, std::io::Error>> = places
        .windows(2)
        .map(|ends| Ok(Bytes::copy_from_slice(&stream.as_bytes()[ends[0]..ends[1]])))
        .collect();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().unwrap();
    runtime.block_on(async {
        let mut frames = Frames::new(stream::iter(pieces), Duration::from_secs(60));
        let mut read = Vec::new();
        while let Some(frame) = frames.next().await {
            read.push(frame.unwrap());
        }
        read
    })
}

/// What the frames give, one line for each event; the end last, with what goes back.
pub(crate) fn assembled(mut assembly: Box<dyn Assemble>, frames: Vec<Frame>) -> Vec<String> {
    let mut events = Vec::new();
    let mut failure = None;
    for frame in frames {
        if let Err(error) = assembly.feed(frame, &mut events) {
            failure = Some(format!("error {:?} {}", error.code, error.message));
            break;
        }
    }
    let lines = events.into_iter().map(|event| match event {
        StreamEvent::Text(text) => format!("text {text}"),
        StreamEvent::Reasoning { field, text } => format!("{field} {text}"),
        StreamEvent::CallStarted { tool } => format!("started {tool}"),
        StreamEvent::Usage(usage) => {
            format!(
                "usage {} ({} + {}) {}",
                usage.input_tokens, usage.cached_tokens, usage.written_tokens, usage.output_tokens
            )
        }
        other => format!("{other:?}"),
    });
    let mut lines: Vec<String> = lines.collect();
    let end = match (failure, assembly.end()) {
        (Some(failure), _) => vec![failure],
        (None, Err(BrokeOff)) => vec!["broke off".to_owned()],
        (None, Ok(end)) => {
            let calls = end.calls.into_iter().map(|call| match call.arguments {
                Ok(arguments) => {
                    format!(" {}:{}({})", call.id, call.tool, Value::Object(arguments))
                }
                Err(bad) => format!(" {}:{}(bad: {})", call.id, call.tool, bad.problem),
            });
            let line = format!("{:?}{}", end.finish, calls.collect::<String>());
            let parts = end.replay.into_iter().flat_map(|replay| replay.parts);
            let parts = parts.map(|part| {
                format!(
                    "back {},{} {}",
                    part.after_text, part.after_calls, part.value
                )
            });
            [line].into_iter().chain(parts).collect()
        }
    };
    lines.extend(end);
    lines
}
