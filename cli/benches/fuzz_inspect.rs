//! Sends random commands to a chat's side of `dunlin inspect` and damaged messages to the inspector's side, for as long as it
//! is told: `cargo bench --workspace --bench fuzz_inspect -- --minutes 10`, with `--seed N` for the same cases again.
//!
//! - Lines are the same however their bytes arrive.
//! - A line that is a command is the same command when it is written and read again.
//! - A request that random commands have edited is JSON, and an inspector that is told of it has the same bytes.
//! - A message that was damaged makes an inspector neither panic nor take a body for another one.
//! - Of subagents an inspector is told no more than the protocol allows, whatever there is to tell, and takes no more.

use std::cell::Cell;
use std::io::{BufReader, Cursor};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin::inspect::lines::read_line;
use dunlin::inspect::mirror;
use dunlin::inspect::protocol::{
    Command, MAX_SUBAGENT_CHARS, MAX_SUBAGENTS, Message, Operation, Subagent, Subagents,
};
use dunlin::inspect::shared_state::{Head, PausedState};
use dunlin_chat::request::editor::{EditableRequest, Outline, SectionId};
use dunlin_chat::turn::PausedRequest;
use dunlin_terminal::request::paused::Paused;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::{Value, json};

/// Cases of each kind between two looks at the clock.
const CASES: u32 = 2_000;

/// The longest line, in bytes. Short, so that many are too long.
const MAX_LINE: usize = 24;

/// What is put into lines.
const PIECES: [&str; 22] = [
    "{\"id\":1,",
    "\"op\":\"edit\",",
    "\"op\":\"mode\",\"mode\":\"off\"}",
    "\"pause\":1,",
    "\"revision\":18446744073709551615,",
    "\"edit\":{\"type\":\"reset\"}",
    "\"target\":",
    "\"body\":\"\",",
    "\"sections\":[],",
    "\"path\":\"messages[9]\",",
    "\"per_mille\":0,",
    "null",
    "-1",
    "1e9",
    "[",
    "]",
    "}",
    "\"",
    "\\ud83e",
    "\u{0}",
    "\n",
    "ß",
];

/// Sections and paths of the request, and some that it has not.
const SECTIONS: [&str; 6] = [
    "message:0",
    "message:1",
    "message:2",
    "message:9",
    "options",
    "tool:sing",
];
const PATHS: [&str; 7] = [
    "content",
    "role",
    "",
    "temperature",
    "tool_calls[0].function.arguments",
    "content[0].text",
    "content.",
];
const VALUES: [&str; 9] = [
    "\"count\"",
    "\"sing\"",
    "\"\\ud83e\"",
    "0.5",
    "{\"a\":1}",
    "null",
    "tern",
    "",
    "\"user\"",
];

/// What a command is made of.
type Choices = (u8, usize, &'static str, &'static str, &'static str);

/// Where a text is damaged, how many bytes are taken out, and what is put there.
type Damage = Vec<(usize, usize, &'static str)>;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), String> {
    let minutes = number("--minutes")?.unwrap_or(0);
    let seed = match number("--seed")? {
        Some(seed) => seed,
        None => std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .map_err(|error| error.to_string())?
            .as_secs(),
    };
    println!("seed {seed}");
    let start = Instant::now();
    let mut round = 0_u64;
    let done = Cell::new(0);
    loop {
        // A runner counts its cases over all that it runs, so each kind has its own.
        let runner = |kind: u8| {
            let mut bytes = [kind; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            bytes[8..16].copy_from_slice(&round.to_le_bytes());
            let config = Config {
                cases: CASES,
                failure_persistence: None,
                ..Config::default()
            };
            let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
            TestRunner::new_with_rng(config, rng)
        };
        let piece = || select(PIECES.to_vec());
        runner(0)
            .run(
                &(prop::collection::vec(piece(), 0..24), 1..9_usize),
                |(pieces, step)| lines(pieces.concat().as_bytes(), step),
            )
            .map_err(|error| error.to_string())?;
        let command = (
            0..8_u8,
            any::<usize>(),
            select(SECTIONS.to_vec()),
            select(PATHS.to_vec()),
            select(VALUES.to_vec()),
        );
        let damage = prop::collection::vec((any::<usize>(), 0..9_usize, piece()), 0..4);
        let maybe = prop_oneof![3 => Just(Vec::new()), 1 => damage.clone()];
        let commands = prop::collection::vec((command, maybe), 0..12);
        runner(1)
            .run(&(commands, damage), |(commands, damage)| {
                commanded(commands, damage, &done)
            })
            .map_err(|error| error.to_string())?;
        let subagent = (any::<u64>(), piece(), 0..300_usize, any::<Option<u64>>());
        let subagents = prop::collection::vec(subagent, 0..40);
        let damage = prop::collection::vec((any::<usize>(), 0..9_usize, piece()), 0..4);
        runner(2)
            .run(&(subagents, damage), |(subagents, damage)| {
                told_of(subagents, damage)
            })
            .map_err(|error| error.to_string())?;
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    println!(
        "{} streams, as many lists of subagents and series of commands, of which {} were done, in {:.1?}",
        round * u64::from(CASES),
        done.get(),
        start.elapsed()
    );
    Ok(())
}

/// However many bytes come at once, the lines are the same: those of the text up to one that is too long.
fn lines(text: &[u8], step: usize) -> Result<(), TestCaseError> {
    let mut from = BufReader::with_capacity(step, Cursor::new(text));
    let mut line = Vec::new();
    // What comes after the last line end is not a line.
    let end = text.iter().rposition(|byte| *byte == b'\n');
    let whole = end.and_then(|end| text.get(..end));
    for expected in whole
        .into_iter()
        .flat_map(|text| text.split(|byte| *byte == b'\n'))
    {
        match read_line(&mut from, MAX_LINE, &mut line) {
            Ok(is_line) => {
                prop_assert!(is_line && expected.len() <= MAX_LINE);
                prop_assert_eq!(&line[..], expected);
            }
            Err(_) => {
                prop_assert!(expected.len() > MAX_LINE);
                return Ok(());
            }
        }
    }
    prop_assert!(!matches!(
        read_line(&mut from, MAX_LINE, &mut line),
        Ok(true)
    ));
    Ok(())
}

/// A command as an inspector would send it that sees this request, or has never seen one.
fn line((kind, at, section, path, new): Choices, request: &EditableRequest) -> String {
    let (op, edit) = match kind {
        0 => ("undo", None),
        1 => ("redo", None),
        2 => ("edit", Some(json!({"type": "reset"}))),
        3 => (
            "edit",
            Some(json!({"type": "delete", "sections": [section]})),
        ),
        4 => (
            "edit",
            Some(json!({"type": "restore", "sections": [section]})),
        ),
        5 => {
            let target = json!({"section": section, "path": path});
            let old = VALUES[at % VALUES.len()];
            (
                "edit",
                Some(json!({"type": "set", "target": target, "old": old, "new": new})),
            )
        }
        _ => {
            let rows = request.rows(1 + at % request.sections().len());
            let mut copy = request.clone();
            let row = rows.get(at / 8 % rows.len().max(1));
            let is_set = row.is_some_and(|row| copy.set_target(&row.target, new).is_ok());
            let edit = copy.edits().last().filter(|_| is_set);
            ("edit", edit.map(|edit| json!(edit)))
        }
    };
    let mut command = json!({"id": 1, "op": op, "pause": 1, "revision": "0"});
    if let Some(edit) = edit {
        command["edit"] = edit;
    }
    command.to_string()
}

fn damaged(mut bytes: Vec<u8>, damage: Damage) -> Vec<u8> {
    for (at, gone, piece) in damage {
        let at = at % (bytes.len() + 1);
        let end = bytes.len().min(at + gone);
        bytes.splice(at..end, piece.bytes());
    }
    bytes
}

fn paused(request: EditableRequest) -> Paused {
    Paused::new(PausedRequest {
        number: Some(1),
        max_request_tokens: 30_000,
        ..PausedRequest::new(request)
    })
}

/// Does these commands, each after its damage, and has an inspector told of the result.
fn commanded(
    commands: Vec<(Choices, Damage)>,
    damage: Damage,
    count: &Cell<u64>,
) -> Result<(), TestCaseError> {
    let body = json!({"model": "small", "temperature": 0.5, "messages": [
        {"role": "system", "content": "You sing."},
        {"role": "user", "content": "count"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "sing", "arguments": "{\"song\": \"tern\"}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "sung"}]});
    let origins = [0, 1, 2].map(|index| SectionId::Message(index).into());
    let outline = Outline::of_chat(&body, &origins, Vec::new());
    let mut paused = paused(EditableRequest::new(Bytes::from(body.to_string()), outline));
    for (choices, damage) in commands {
        let line = damaged(line(choices, paused.request()).into_bytes(), damage);
        let Ok(command) = Command::parse(&line) else {
            let _ = Command::id_of(&line);
            continue;
        };
        let written =
            serde_json::to_vec(&command).map_err(|it| TestCaseError::fail(it.to_string()))?;
        match Command::parse(&written) {
            Ok(again) => prop_assert_eq!(&again, &command),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
        // A step that is refused changes nothing.
        let before = paused.request().bytes().clone();
        let done = match command.operation {
            Operation::Edit { edit, .. } => paused.step(move |it| it.apply(edit)),
            Operation::Undo(_) => paused.step(EditableRequest::undo),
            Operation::Redo(_) => paused.step(EditableRequest::redo),
            Operation::Send(_) | Operation::Cancel(_) | Operation::Mode { .. } => continue,
        };
        match done {
            Ok(_) => count.set(count.get() + 1),
            Err(_) => prop_assert_eq!(&before, paused.request().bytes()),
        }
        let is_json = serde_json::from_slice::<Value>(paused.request().bytes()).is_ok();
        prop_assert!(is_json, "{:?}", paused.request().bytes());
    }
    let state = PausedState {
        pause: 1,
        revision: "0".to_owned(),
        active: 0,
        problem: None,
        request: paused.request().clone(),
        head: Arc::new(Head {
            number: Some(1),
            time: Some(i64::from(paused.round())),
            round: 1,
            scale: paused.measure().scale(),
            max_request_tokens: paused.max_request_tokens(),
            window: paused.window_tokens(),
            last_sent: None,
        }),
    };
    let told = serde_json::to_vec(&state.message());
    let told = told.map_err(|error| TestCaseError::fail(error.to_string()))?;
    match serde_json::from_slice(&told) {
        Ok(Message::Paused(message)) => {
            let seen = mirror::paused(*message).paused;
            prop_assert_eq!(seen.request().bytes(), paused.request().bytes());
            prop_assert_eq!(seen.request().undone(), paused.request().undone());
            let millis = seen.time().map(jiff::Timestamp::as_millisecond);
            prop_assert_eq!(millis, state.head.time);
        }
        other => return Err(TestCaseError::fail(format!("{other:?}"))),
    }
    if let Ok(Message::Paused(message)) = serde_json::from_slice(&damaged(told, damage)) {
        let body = message.body.clone();
        let seen = mirror::paused(*message).paused;
        prop_assert_eq!(&seen.request().original()[..], body.as_bytes());
        let _ = (seen.problem(), seen.total());
    }
    Ok(())
}

/// Tells an inspector of subagents with these numbers, texts and requests, and of the same after damage.
fn told_of(
    subagents: Vec<(u64, &'static str, usize, Option<u64>)>,
    damage: Damage,
) -> Result<(), TestCaseError> {
    let subagents = subagents.into_iter();
    let subagents = subagents.map(|(number, piece, count, request)| Subagent {
        number,
        state: piece.repeat(count),
        end: request.map(|_| piece.to_owned()),
        begun: number,
        duration_ms: request,
        request,
        ..Subagent::default()
    });
    let subagents = Subagents::shortened(subagents.collect());
    let is_bounded = |subagents: Subagents| {
        let subagents = subagents.into_vec();
        let texts = |it: &Subagent| [it.name.len(), it.state.chars().count(), it.task.len()];
        let longest = subagents.iter().flat_map(texts).max().unwrap_or_default();
        subagents.len() <= MAX_SUBAGENTS && longest <= MAX_SUBAGENT_CHARS
    };
    let told = Message::Subagents {
        subagents: subagents.clone(),
    };
    let told = serde_json::to_vec(&told).map_err(|it| TestCaseError::fail(it.to_string()))?;
    match serde_json::from_slice(&told) {
        Ok(Message::Subagents { subagents: seen }) => prop_assert_eq!(seen, subagents),
        other => return Err(TestCaseError::fail(format!("{other:?}"))),
    }
    if let Ok(Message::Subagents { subagents }) = serde_json::from_slice(&damaged(told, damage)) {
        for subagent in subagents.clone().into_vec() {
            let row = mirror::subagent(subagent).row;
            prop_assert!(row.parts(40).concat().chars().count() <= 40);
        }
        prop_assert!(is_bounded(subagents));
    }
    Ok(())
}

fn number(name: &str) -> Result<Option<u64>, String> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = arguments.windows(2).find(|pair| pair[0] == name);
    value
        .map(|pair| {
            pair[1]
                .parse()
                .map_err(|error| format!("{name} {}: {error}", pair[1]))
        })
        .transpose()
}
