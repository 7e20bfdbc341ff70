//! Reads random replies for as long as it is told, in random pieces, and compares what comes out with the
//! plainest reading of the whole: `cargo bench --workspace --bench fuzz_replies -- --minutes 10`, with `--seed N` for
//! the same replies again. Ends with the smallest reply that is read otherwise.
//!
//! Four layers: the framing against a reading of all lines at once; the assembly against the calls that
//! were taken apart; the assemblies of blocks and of items against the parts; the normalizer against itself without cuts.

#[path = "fuzz_replies/parts.rs"]
mod parts;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::provider::{Finish, ReplyEnd, StreamEvent};
use dunlin_host::Tool;
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
    let mut count = 0_u64;
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
            .run(&(parts::parts(), cuts()), |(parts, cuts)| {
                parts::check_blocks(&runtime, &parts, &cuts)
            })
            .map_err(explain)?;
        runner()
            .run(
                &(parts::parts(), parts::style(), cuts()),
                |(parts, style, cuts)| parts::check_items(&runtime, &parts, style, &cuts),
            )
            .map_err(explain)?;
        let text = prop::collection::vec(select(WORDS.to_vec()), 0..16);
        runner()
            .run(&(text, cuts()), |(words, cuts)| {
                check_normalizer(&words.concat(), &cuts)
            })
            .map_err(explain)?;
        count += u64::from(CASES);
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    println!(
        "{count} streams, as many replies with calls, in blocks and in items, and as many texts in {:.1?}, no difference",
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
    let read = frames(runtime, text, cuts);
    let expected: Vec<Result<Frame, String>> = plain_frames(text).into_iter().map(Ok).collect();
    prop_assert_eq!(read, expected, "{:?}", text);
    Ok(())
}

/// The frames of a stream whose bytes come in pieces.
fn frames(
    runtime: &tokio::runtime::Runtime,
    text: &str,
    cuts: &[Index],
) -> Vec<Result<Frame, String>> {
    let bytes = text.as_bytes();
    let pieces: Vec<Result<Bytes, std::io::Error>> = places(bytes.len(), cuts)
        .windows(2)
        .map(|ends| Ok(Bytes::copy_from_slice(&bytes[ends[0]..ends[1]])))
        .collect();
    runtime.block_on(async {
        let mut frames = Frames::new(futures::stream::iter(pieces), Duration::from_secs(60));
        let mut read = Vec::new();
        while let Some(frame) = frames.next().await {
            read.push(frame.map_err(|error| error.to_string()));
        }
        read
    })
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
