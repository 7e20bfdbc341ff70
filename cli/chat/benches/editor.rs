//! What the request editor costs: opening a request of 200,000 tokens, and one edit among 2,000 messages, each beside
//! reading and writing the same body with `serde_json`. Prints figures and decides nothing.

use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::request::editor::{
    Counts, EditError, EditableRequest, LastRequest, Origin, Outline, SectionId,
};
use dunlin_chat::request::measure::Measure;
use serde_json::{Value, json};

/// Messages of the request.
const MESSAGES: usize = 2_000;

/// Tokens of the request, roughly.
const TOKENS: u64 = 200_000;

/// Measurements, of which the median counts.
const ROUNDS: usize = 15;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), EditError> {
    let body = body();
    let origins: Vec<Origin> = (0..MESSAGES)
        .map(|index| SectionId::Message(index).into())
        .collect();
    let bytes = Bytes::from(body.to_string());
    let measure = Measure::default();
    let open = || {
        let outline = Outline::of_chat(&body, &origins, Vec::new());
        EditableRequest::new(bytes.clone(), outline)
    };
    let mut request = open();
    let mut counts = Counts::of(&request, &measure);
    println!(
        "{} messages, {} bytes, {} tokens",
        request.sections().len() - 1,
        bytes.len(),
        counts.total()
    );
    let plain = median(|| {
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        std::hint::black_box(value.to_string());
    });
    let show = |what: &str, took: Duration| {
        let ratio = took.as_secs_f64() / plain.as_secs_f64();
        println!(
            "{what:<42} {:>8.2} ms  {ratio:>5.2}",
            took.as_secs_f64() * 1e3
        );
    };
    show("serde_json: read and write", plain);
    show("open", median(|| drop(std::hint::black_box(open()))));
    show(
        "open and count all tokens",
        median(|| drop(std::hint::black_box(Counts::of(&open(), &measure)))),
    );
    let mut number = 0;
    let mut failed = None;
    let edit = median(|| {
        number += 1;
        match request.set_text(1000 + 2 * number, "Where do they spend the winter?") {
            Ok(change) => counts.update(&request, &change, &measure),
            Err(error) => failed = Some(error),
        }
    });
    show("edit one message and count again", edit);
    let undo = median(|| match request.undo() {
        Ok(change) => counts.update(&request, &change, &measure),
        Err(error) => failed = Some(error),
    });
    show("undo one of these edits and count again", undo);
    show(
        "change an option (rewrites the body)",
        median(|| {
            number += 1;
            let value = format!("0.{number}");
            failed = request.set("temperature", &value).err().or(failed.take());
        }),
    );
    show(
        "read the section of an edit as a tree",
        median(|| drop(request.rows(1000))),
    );
    let opened = one_edit_in_json();
    show(
        "read an edited string with 5,000 values as JSON",
        median(|| drop(opened.rows(1))),
    );
    show(
        "check before sending",
        median(|| {
            std::hint::black_box(request.check(&counts, None).is_ok());
        }),
    );
    let last = LastRequest::new(&bytes);
    show(
        "what of the last request is kept",
        median(|| {
            std::hint::black_box(request.kept_prefix(&last, &counts));
        }),
    );
    failed.map_or(Ok(()), Err)
}

/// A result of a tool that is JSON with many values, one of them edited.
fn one_edit_in_json() -> EditableRequest {
    let values: Vec<Value> = (0..5000).map(|n| json!({ "n": n })).collect();
    let body = json!({"model": "small", "messages": [
        {"role": "user", "content": Value::from(values).to_string()}]});
    let outline = Outline::of_chat(&body, &[SectionId::Message(0).into()], Vec::new());
    let mut request = EditableRequest::new(Bytes::from(body.to_string()), outline);
    let set = request.set("messages[0].content[7].n", "8");
    assert!(set.is_ok(), "{set:?}");
    request
}

/// Turns of a question, a call, its result and an answer.
fn body() -> Value {
    let words = "The dunlin breeds on moorland and winters on estuaries; \"flocks\" turn as one.\n";
    let text = words.repeat(usize::try_from(TOKENS).unwrap_or_default() / MESSAGES / 18);
    let turn = |turn: usize| {
        let id = format!("call{turn}");
        [
            json!({"role": "user", "content": text}),
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": id, "type": "function", "function": {
                "name": "read_file",
                "arguments": json!({"file_path": "notes.md", "text": text}).to_string(),
            }}]}),
            json!({"role": "tool", "tool_call_id": id, "name": "read_file", "content": text}),
            json!({"role": "assistant", "content": text}),
        ]
    };
    let messages: Vec<Value> = (0..MESSAGES / 4).flat_map(turn).collect();
    json!({"model": "small", "messages": messages, "temperature": 0.2, "stream": true})
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}
