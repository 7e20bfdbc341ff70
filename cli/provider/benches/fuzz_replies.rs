//! Reads random replies for as long as it is told, in random pieces, and compares what comes out with the
//! plainest reading of the whole: `cargo bench --workspace --bench fuzz_replies -- --minutes 10`, with `--seed N` for
//! the same replies again. Ends with the smallest reply that is read otherwise.
//!
//! Four layers: the framing against a reading of all lines at once; the assembly against the calls that
//! were taken apart; the assembly of blocks against the blocks; the normalizer against itself without cuts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::provider::{Finish, ReplyEnd, StreamEvent};
use dunlin_host::Tool;
use dunlin_provider::anthropic::Blocks;
use dunlin_provider::assembly::Assembly;
use dunlin_provider::framing::{Frame, Frames};
use dunlin_provider::normalizer::ReplyNormalizer;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// Replies of each kind between two looks at the clock.
const CASES: u32 = 2_000;

/// What streams of events are made of.
const LINES: [&str; 24] = [
    "data: ",
    "data:",
    "data",
    ":",
    ": x",
    "event: error",
    "event: x",
    "id: 1",
    "retry: 1",
    "foo: bar",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\r",
    "\r\n\r\n",
    "{\"a\":1}",
    "[DONE]",
    "[DONE] ",
    " ",
    "ß",
    "🪶",
    "x",
    "\u{feff}",
];

/// What texts are made of.
const WORDS: [&str; 48] = [
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "[THINK]",
    "[/THINK]",
    "Hi",
    " ",
    "\n",
    "\n\n",
    "`",
    "```",
    "```json\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}",
    "{\"name\": \"",
    "read_file",
    "run",
    "\", \"arguments\": ",
    "{\"file_path\": \"a\"}",
    "{\"tool\":\"run\",\"parameters\":{}}",
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function=",
    ">",
    "<parameter=file_path>",
    "</parameter>",
    "</function>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "functions.",
    ":0",
    "<arg_key>file_path</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "ß",
];

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), String> {
    let minutes = number("--minutes")?.unwrap_or(0);
    let seed = match number("--seed")? {
        Some(seed) => seed,
        None => std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .map_err(|e| e.to_string())?
            .as_secs(),
    };
    println!("seed {seed}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|e| e.to_string())?;
    let start = Instant::now();
    let mut counts = [0_u64; 4];
    let mut round = 0_u64;
    loop {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&round.to_le_bytes());
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        // One that has had its cases runs none any more.
        let runner = || TestRunner::new_with_rng(config.clone(), rng.clone());
        let cuts = || prop::collection::vec(any::<Index>(), 0..10);
        let stream = prop::collection::vec(select(LINES.to_vec()), 0..40);
        runner()
            .run(&(stream, cuts()), |(lines, cuts)| {
                check_framing(&runtime, &lines.concat(), &cuts)
            })
            .map_err(explain)?;
        runner()
            .run(&(calls(), style()), |(calls, style)| {
                check_assembly(&calls, &style)
            })
            .map_err(explain)?;
        runner()
            .run(&(blocks(), cuts()), |(blocks, cuts)| {
                check_blocks(&runtime, &blocks, &cuts)
            })
            .map_err(explain)?;
        let text = prop::collection::vec(select(WORDS.to_vec()), 0..16);
        runner()
            .run(&(text, cuts()), |(words, cuts)| {
                check_normalizer(&words.concat(), &cuts)
            })
            .map_err(explain)?;
        for count in &mut counts {
            *count += u64::from(CASES);
        }
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    let [framing, assembly, blocks, normalizer] = counts;
    println!(
        "{framing} streams, {assembly} replies with calls, {blocks} in blocks and {normalizer} texts in {:.1?}, no difference",
        start.elapsed()
    );
    Ok(())
}

fn explain<T: std::fmt::Debug>(error: TestError<T>) -> String {
    error.to_string()
}

fn number(name: &str) -> Result<Option<u64>, String> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = arguments.windows(2).find(|pair| pair[0] == name);
    value
        .map(|pair| {
            pair[1]
                .parse()
                .map_err(|e| format!("{name} {}: {e}", pair[1]))
        })
        .transpose()
}

/// The places of the cuts, in order, with both ends.
fn places(length: usize, cuts: &[Index]) -> Vec<usize> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(length + 1)).collect();
    places.extend([0, length]);
    places.sort_unstable();
    places
}

// Framing.

fn check_framing(
    runtime: &tokio::runtime::Runtime,
    text: &str,
    cuts: &[Index],
) -> Result<(), TestCaseError> {
    let body = text.trim_start_matches('\u{feff}').trim_start();
    if text.matches('\u{feff}').count() > 0 && !text.starts_with('\u{feff}')
        || body.starts_with(['{', '[', '<', '\u{feff}'])
    {
        // Documents, and marks where none belongs.
        return Ok(());
    }
    let bytes = text.as_bytes();
    let pieces: Vec<Result<Bytes, std::io::Error>> = places(bytes.len(), cuts)
        .windows(2)
        .map(|ends| Ok(Bytes::copy_from_slice(&bytes[ends[0]..ends[1]])))
        .collect();
    let read = runtime.block_on(async {
        let mut frames = Frames::new(futures::stream::iter(pieces), Duration::from_secs(60));
        let mut read = Vec::new();
        while let Some(frame) = frames.next().await {
            read.push(frame.map_err(|error| error.to_string()));
        }
        read
    });
    let expected: Vec<Result<Frame, String>> = plain_frames(text).into_iter().map(Ok).collect();
    prop_assert_eq!(read, expected, "{:?}", text);
    Ok(())
}

/// All lines at once, as the specification of server-sent events says, with what a chat adds.
fn plain_frames(text: &str) -> Vec<Frame> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n") + "\n\n";
    let mut frames = Vec::new();
    let mut data: Option<String> = None;
    let mut event = None;
    for line in text.split('\n') {
        if line.is_empty() {
            let (data, event) = (data.take(), event.take());
            let Some(data) = data else { continue };
            let payload = data.trim();
            if payload == "[DONE]" {
                frames.push(Frame::Done);
            } else if payload.is_empty() || payload.starts_with(':') {
            } else if event == Some("error") {
                frames.push(Frame::Error(data));
            } else {
                frames.push(Frame::Data(data));
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            },
            "event" => event = Some(value),
            _ => {}
        }
    }
    frames
}

// Assembly.

/// How a server writes calls.
#[derive(Debug, Clone)]
struct Style {
    /// Their index: as it should be, the same for all, or none.
    index: u8,
    /// Their ids: with the first piece, with every piece, or (whole calls only) none.
    id: u8,
    /// The name with every piece.
    name_again: bool,
    /// The arguments in one piece with the name.
    whole: bool,
    /// The arguments as an object (whole calls only).
    object: bool,
    /// Where the arguments are cut.
    cuts: Vec<Index>,
}

fn style() -> impl Strategy<Value = Style> {
    let cuts = prop::collection::vec(any::<Index>(), 0..4);
    (0..3_u8, 0..3_u8, any::<[bool; 3]>(), cuts).prop_map(|(index, id, flags, cuts)| {
        let [name_again, whole, object] = flags;
        Style {
            index,
            // Without ids and with one index only whole arguments tell where a call ends.
            id: if whole { id } else { id % 2 },
            name_again,
            whole,
            object: object && whole,
            cuts,
        }
    })
}

fn calls() -> impl Strategy<Value = Vec<(String, Value)>> {
    let value = prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[a-z{}\\[\\]\"\\\\ß🪶\n]{0,8}".prop_map(Value::from),
    ];
    let arguments = prop::collection::btree_map("[a-z]{1,3}", value, 1..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<String, Value>>()));
    prop::collection::vec(("[a-z]{1,8}", arguments), 1..5)
}

/// Takes calls apart as the style says; what is put together has to be the same calls.
fn check_assembly(calls: &[(String, Value)], style: &Style) -> Result<(), TestCaseError> {
    let mut assembly = Assembly::new();
    let mut events = Vec::new();
    for (number, (name, arguments)) in calls.iter().enumerate() {
        let text = arguments.to_string();
        let cuts = places(text.len(), &style.cuts);
        let mut pieces: Vec<&str> = cuts
            .windows(2)
            .map(|ends| {
                let at = |end: usize| text.floor_char_boundary(end);
                &text[at(ends[0])..at(ends[1])]
            })
            .filter(|piece| !piece.is_empty())
            .collect();
        if style.whole {
            pieces = vec![&text];
        }
        for (piece_number, piece) in pieces.into_iter().enumerate() {
            let first = piece_number == 0;
            let mut call = json!({"function": {"arguments": piece}});
            if style.object {
                call["function"]["arguments"] = arguments.clone();
            }
            match style.index {
                0 => call["index"] = number.into(),
                1 => call["index"] = 0.into(),
                _ => {}
            }
            if style.id == 1 || (style.id == 0 && first) {
                call["id"] = format!("id{number}").into();
            }
            if first || style.name_again {
                call["function"]["name"] = name.as_str().into();
            }
            let chunk = json!({"choices": [{"delta": {"tool_calls": [call]}}]});
            let fed = assembly.feed(Frame::Data(chunk.to_string()), &mut events);
            prop_assert!(fed.is_ok());
        }
    }
    let _ = assembly.feed(Frame::Done, &mut events);
    let Ok(end) = assembly.end() else {
        return Err(TestCaseError::fail("it broke off"));
    };
    let read: Vec<(String, Option<Value>)> = end
        .calls
        .into_iter()
        .map(|call| (call.tool, call.arguments.ok().map(Value::Object)))
        .collect();
    let mut expected: Vec<(String, Option<Value>)> = Vec::new();
    for (name, arguments) in calls {
        let call = (name.clone(), Some(arguments.clone()));
        // Nothing tells the same call again from a repetition of it.
        let nameless = style.id == 2 && style.index > 0;
        if !(nameless && expected.last() == Some(&call)) {
            expected.push(call);
        }
    }
    prop_assert_eq!(end.finish, Finish::Complete);
    prop_assert_eq!(read, expected);
    Ok(())
}

// Blocks.

/// A block of a reply.
#[derive(Debug, Clone)]
enum Block {
    Text(String),
    Thought(String, String),
    Redacted(String),
    Call(String, Value),
    /// Of a kind that is not known.
    Other,
}

fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let word = || "[a-zß🪶]{1,9}";
    let block = prop_oneof![
        word().prop_map(Block::Text),
        (word(), word()).prop_map(|(text, signature)| Block::Thought(text, signature)),
        word().prop_map(Block::Redacted),
        calls().prop_map(|mut calls| {
            let (name, arguments) = calls.remove(0);
            Block::Call(name, arguments)
        }),
        Just(Block::Other),
    ];
    prop::collection::vec(block, 0..8)
}

/// The pieces in which an endpoint sends a text.
fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}

/// Writes blocks as events, cut anywhere; what is read has to be the same blocks, and what goes back is in its place.
fn check_blocks(
    runtime: &tokio::runtime::Runtime,
    blocks: &[Block],
    cuts: &[Index],
) -> Result<(), TestCaseError> {
    let mut stream = String::from("event: message_start\ndata: {\"type\":\"message_start\"}\n\n");
    let mut event = |event: Value| stream += &format!("event: x\ndata: {event}\n\n");
    let [mut said, mut thought] = [const { String::new() }; 2];
    let (mut called, mut parts) = (Vec::new(), Vec::new());
    let mut is_interrupted = false;
    for (index, block) in blocks.iter().enumerate() {
        let place = (said.len(), called.len());
        let (start, deltas) = match block {
            Block::Text(text) => {
                if std::mem::take(&mut is_interrupted) && !said.is_empty() {
                    said += "\n\n";
                }
                said += text;
                let deltas = halves(text).map(|it| json!({"type": "text_delta", "text": it}));
                (json!({"type": "text", "text": ""}), deltas.to_vec())
            }
            Block::Thought(text, signature) => {
                if !thought.is_empty() {
                    thought += "\n\n";
                }
                thought += text;
                let value = json!({"type": "thinking", "thinking": text, "signature": signature});
                parts.push((place, value));
                let texts =
                    halves(text).map(|it| json!({"type": "thinking_delta", "thinking": it}));
                let signatures =
                    halves(signature).map(|it| json!({"type": "signature_delta", "signature": it}));
                (
                    json!({"type": "thinking", "thinking": ""}),
                    [texts, signatures].concat(),
                )
            }
            Block::Redacted(data) => {
                let value = json!({"type": "redacted_thinking", "data": data});
                parts.push((place, value.clone()));
                (value, Vec::new())
            }
            Block::Call(name, arguments) => {
                called.push((format!("id{index}"), name.clone(), arguments.clone()));
                let text = arguments.to_string();
                let deltas =
                    halves(&text).map(|it| json!({"type": "input_json_delta", "partial_json": it}));
                let start = json!({"type": "tool_use", "id": format!("id{index}"), "name": name, "input": {}});
                (start, deltas.to_vec())
            }
            Block::Other => {
                let delta = json!({"type": "input_json_delta", "partial_json": "{"});
                (json!({"type": "server_tool_use"}), vec![delta])
            }
        };
        is_interrupted |= !matches!(block, Block::Text(_));
        event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        event(json!({"type": "content_block_stop", "index": index}));
    }
    event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    event(json!({"type": "message_stop"}));

    let bytes = stream.as_bytes();
    let pieces: Vec<Result<Bytes, std::io::Error>> = places(bytes.len(), cuts)
        .windows(2)
        .map(|ends| Ok(Bytes::copy_from_slice(&bytes[ends[0]..ends[1]])))
        .collect();
    let mut assembly = Blocks::default();
    let mut events = Vec::new();
    runtime.block_on(async {
        let mut frames = Frames::new(futures::stream::iter(pieces), Duration::from_secs(60));
        while let Some(Ok(frame)) = frames.next().await {
            let fed = assembly.feed(frame, &mut events);
            prop_assert!(fed.is_ok());
        }
        Ok(())
    })?;
    let Ok(end) = assembly.end() else {
        return Err(TestCaseError::fail("it broke off"));
    };
    let [mut text, mut reasoning] = [const { String::new() }; 2];
    for event in events {
        match event {
            StreamEvent::Text(piece) => text += &piece,
            StreamEvent::Reasoning { text, .. } => reasoning += &text,
            _ => {}
        }
    }
    let calls = end.calls.into_iter().map(|call| {
        let arguments = call.arguments.map(Value::Object).unwrap_or_default();
        (call.id, call.tool, arguments)
    });
    let back = end.replay.into_iter().flat_map(|replay| replay.parts);
    let back = back.map(|part| ((part.after_text, part.after_calls), part.value));
    prop_assert_eq!(text, said);
    prop_assert_eq!(reasoning, thought);
    prop_assert_eq!(calls.collect::<Vec<_>>(), called);
    prop_assert_eq!(back.collect::<Vec<_>>(), parts);
    prop_assert_eq!(end.finish, Finish::Complete);
    Ok(())
}

// ReplyNormalizer.

fn tools() -> Arc<[Tool]> {
    let tool = |name: &str, parameters: Value| Tool {
        name: name.to_owned(),
        plugin: name.to_owned(),
        description: String::new(),
        parameters,
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    };
    let path = json!({"file_path": {"type": "string"}});
    Arc::new([
        tool(
            "read_file",
            json!({"type": "object", "properties": path, "required": ["file_path"]}),
        ),
        tool("run", json!({"type": "object"})),
    ])
}

/// The answer, the reasoning and the calls of a reply with this text.
fn normalized(pieces: &[&str], finish: Finish) -> [String; 3] {
    let mut normalizer = ReplyNormalizer::new(tools());
    let mut events = Vec::new();
    for piece in pieces {
        normalizer.push(StreamEvent::Text((*piece).to_owned()), &mut events);
    }
    let calls = Vec::new();
    normalizer.push(
        StreamEvent::End(ReplyEnd {
            calls,
            finish,
            replay: None,
        }),
        &mut events,
    );
    let [mut text, mut reasoning, mut calls] = [const { String::new() }; 3];
    for event in events {
        match event {
            StreamEvent::Text(piece) => text += &piece,
            StreamEvent::Reasoning { text, .. } => reasoning += &text,
            StreamEvent::WasReasoning { .. } => reasoning += &std::mem::take(&mut text),
            StreamEvent::End(end) => {
                for call in end.calls {
                    calls += &format!("{} {:?};", call.tool, call.arguments);
                }
            }
            _ => {}
        }
    }
    [text, reasoning, calls]
}

fn check_normalizer(text: &str, cuts: &[Index]) -> Result<(), TestCaseError> {
    let ends = places(text.len(), cuts);
    let pieces: Vec<&str> = ends
        .windows(2)
        .map(|ends| &text[text.floor_char_boundary(ends[0])..text.floor_char_boundary(ends[1])])
        .collect();
    let at_once = normalized(&[text], Finish::Complete);
    prop_assert_eq!(&normalized(&pieces, Finish::Complete), &at_once);
    let [said, reasoning, calls] = at_once;
    // Without reasoning and calls it is the text, to the byte; with calls the beginning of it.
    if reasoning.is_empty()
        && !text.trim_start().starts_with(['<', '['])
        && !text.contains("</")
        && !text.contains("[/")
    {
        prop_assert!(text.starts_with(&said));
        prop_assert!(!calls.is_empty() || said == text);
    }
    let [_, _, calls] = normalized(&pieces, Finish::Cut);
    prop_assert_eq!(calls, "");
    Ok(())
}
