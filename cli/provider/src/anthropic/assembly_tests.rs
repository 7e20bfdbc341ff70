use super::*;

use proptest::prelude::*;
use serde_json::json;

use crate::samples::{assembled, frames_in_pieces, frames_of};

fn assemble(frames: Vec<Frame>) -> Vec<String> {
    assembled(Box::new(Blocks::default()), frames)
}

#[track_caller]
fn check(case: &str, events: &[Value], expected: &[&str]) {
    assert_eq!(assemble(frames_of(events)), expected, "{case}");
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn input(index: u64, piece: &str) -> Value {
    delta(
        index,
        json!({"type": "input_json_delta", "partial_json": piece}),
    )
}

fn call(index: u64, id: &str) -> Value {
    start(
        index,
        json!({"type": "tool_use", "id": id, "name": "f", "input": {}}),
    )
}

fn stop(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}})
}

/// As the endpoint sends it: reasoning, a text, a call, and all the counts.
fn whole() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": null,
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": 1},
        }}),
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let me "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "see"})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQBCg"})),
        delta(0, json!({"type": "signature_delta", "signature": "o=="})),
        json!({"type": "content_block_stop", "index": 0}),
        start(1, json!({"type": "text", "text": ""})),
        text(1, "I "),
        text(1, "look"),
        json!({"type": "content_block_stop", "index": 1}),
        call(2, "toolu_1"),
        input(2, ""),
        input(2, "{\"file_pa"),
        input(2, "th\": \"a\"}"),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 42}}),
        json!({"type": "message_stop"}),
    ]
}

const WHOLE: [&str; 9] = [
    "usage 3210 (3000 + 200) 1",
    "thinking Let me ",
    "thinking see",
    "text I ",
    "text look",
    "started f",
    "usage 3210 (3000 + 200) 42",
    r#"Complete toolu_1:f({"file_path":"a"})"#,
    r#"back 0,0 {"type":"thinking","thinking":"Let me see","signature":"EqQBCgo=="}"#,
];

#[test]
fn a_reply_as_the_protocol_says() {
    check("all of it", &whole(), &WHOLE);
    let document = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"b": 1}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    });
    assert_eq!(
        assemble(vec![Frame::Document(document.to_string())]),
        [
            "thinking hm",
            "text Hi",
            "started f",
            "usage 3 (0 + 0) 2",
            r#"Complete a:f({"b":1})"#,
            r#"back 0,0 {"type":"thinking","thinking":"hm","signature":"x"}"#,
        ]
    );
}

#[test]
fn calls_and_their_arguments() {
    check(
        "no arguments at all",
        &[call(0, "a"), stop("tool_use")],
        &["started f", "Complete a:f({})"],
    );
    check(
        "two calls",
        &[
            call(0, "a"),
            input(0, "{}"),
            call(1, "b"),
            input(1, "{\"x\":1}"),
            stop("tool_use"),
        ],
        &["started f", "started f", "Complete a:f({}) b:f({\"x\":1})"],
    );
    check(
        "all arguments with the start",
        &[
            start(
                0,
                json!({"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}),
            ),
            stop("tool_use"),
        ],
        &["started f", "Complete a:f({\"x\":1})"],
    );
    check(
        "arguments that are no object",
        &[call(0, "a"), input(0, "[1]"), stop("tool_use")],
        &[
            "started f",
            "Complete a:f(bad: a JSON object is needed, not an array)",
        ],
    );
    check(
        "the arguments end in the middle",
        &[call(0, "a"), input(0, "{\"x\":"), stop("tool_use")],
        &["started f", "Cut a:f(bad: they end in the middle)"],
    );
    check(
        "at the limit none is run",
        &[call(0, "a"), input(0, "{}"), stop("max_tokens")],
        &["started f", "Cut a:f({})"],
    );
}

#[test]
fn what_goes_back_keeps_its_place() {
    check(
        "between texts and calls, encrypted or not",
        &[
            start(0, json!({"type": "redacted_thinking", "data": "ENC"})),
            start(1, json!({"type": "text", "text": "One"})),
            call(2, "a"),
            start(
                3,
                json!({"type": "thinking", "thinking": "", "signature": ""}),
            ),
            delta(3, json!({"type": "signature_delta", "signature": "S"})),
            start(4, json!({"type": "text", "text": "Two"})),
            stop("tool_use"),
        ],
        &[
            "text One",
            "started f",
            "text \n\n",
            "text Two",
            "Complete a:f({})",
            r#"back 0,0 {"type":"redacted_thinking","data":"ENC"}"#,
            r#"back 3,1 {"type":"thinking","thinking":"","signature":"S"}"#,
        ],
    );
    check(
        "without a signature nothing goes back",
        &[
            start(0, json!({"type": "thinking", "thinking": "hm"})),
            start(1, json!({"type": "thinking", "thinking": "so"})),
            stop("end_turn"),
        ],
        &["thinking hm", "thinking \n\n", "thinking so", "Complete"],
    );
}

#[test]
fn reasons_for_the_end() {
    for (reason, expected) in [
        ("end_turn", vec!["Complete"]),
        ("stop_sequence", vec!["Complete"]),
        ("max_tokens", vec!["Cut"]),
        (
            "model_context_window_exceeded",
            vec![
                "Notice(\"the reply was cut off at the end of the model's context window\")",
                "Cut",
            ],
        ),
        (
            "refusal",
            vec![
                "Notice(\"the provider refused to answer this\")",
                "Complete",
            ],
        ),
        (
            "pause_turn",
            vec![
                "Notice(\"the provider ended the reply with the reason \\\"pause_turn\\\"\")",
                "Complete",
            ],
        ),
    ] {
        check(
            reason,
            &[stop(reason), json!({"type": "message_stop"})],
            &expected,
        );
    }
    check(
        "calls of a reply that was refused",
        &[call(0, "a"), input(0, "{}"), stop("refusal")],
        &[
            "started f",
            "Notice(\"the provider refused to answer this\")",
            "Cut a:f({})",
        ],
    );
    check("no end", &[text(0, "Hi")], &["text Hi", "broke off"]);
    check("nothing", &[], &["broke off"]);
    check(
        "the mark alone",
        &[json!({"type": "message_stop"})],
        &["Complete"],
    );
}

#[test]
fn errors_within_a_reply() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let expected = ["text Hi", "error Some(\"overloaded_error\") Overloaded"];
    check(
        "in its data",
        &[text(0, "Hi"), error.clone(), text(0, "x")],
        &expected,
    );
    let frames = vec![
        Frame::Data(text(0, "Hi").to_string()),
        Frame::Error(error.to_string()),
    ];
    assert_eq!(assemble(frames), expected);
    assert_eq!(
        assemble(vec![Frame::Document(
            "{\"detail\":\"not found\"}".to_owned()
        )]),
        ["error None not found"]
    );
}

#[test]
fn what_is_not_known_is_skipped_and_said_once() {
    check(
        "parts and pieces",
        &[
            start(
                0,
                json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
            ),
            input(0, "{\"query\":"),
            start(1, json!({"type": "server_tool_use"})),
            start(2, json!({"type": "text", "text": "Hi"})),
            delta(2, json!({"type": "citations_delta", "citation": {}})),
            delta(2, json!({"type": "new_delta"})),
            delta(2, json!({"type": "new_delta"})),
            json!({"type": "new_event"}),
            stop("end_turn"),
        ],
        &[
            "Notice(\"a part of the reply was skipped: its type \\\"server_tool_use\\\" is unknown\")",
            "text Hi",
            "Notice(\"a piece of the reply was skipped: its type \\\"new_delta\\\" is unknown\")",
            "Complete",
        ],
    );
    let hostile: Vec<Value> = (0..100)
        .map(|kind| {
            start(
                kind,
                json!({"type": format!("\u{1b}{kind}{}", "x".repeat(1000))}),
            )
        })
        .collect();
    let lines = assemble(
        hostile
            .iter()
            .map(|it| Frame::Data(it.to_string()))
            .collect(),
    );
    assert!(
        lines.len() == parts::MAX_UNKNOWN + 1 && lines[0].len() < 200,
        "{lines:?}"
    );
    assert!(!lines[0].contains('\u{1b}'));
}

#[test]
fn damaged_pieces() {
    check(
        "in a text",
        &[
            text(0, "Hi"),
            json!("{\"type\":\"content_blo"),
            text(0, "!"),
            stop("end_turn"),
        ],
        &[
            "text Hi",
            "Notice(\"a damaged piece of the reply was skipped\")",
            "text !",
            "Complete",
        ],
    );
    check(
        "before a call none is run",
        &[json!("{"), call(0, "a"), input(0, "{}"), stop("tool_use")],
        &[
            "Notice(\"a damaged piece of the reply was skipped\")",
            "started f",
            "Cut a:f({})",
        ],
    );
    check(
        "the start of a call is lost",
        &[input(0, "{}"), call(1, "a"), stop("tool_use")],
        &[
            "Notice(\"a damaged piece of the reply was skipped\")",
            "started f",
            "Cut a:f({})",
        ],
    );
    check(
        "of other types",
        &[
            json!([1]),
            json!({"type": 7}),
            json!({"type": "message_start", "message": []}),
            json!({"type": "content_block_start", "index": "0", "content_block": "text"}),
            json!({"type": "content_block_delta", "index": 5, "delta": null}),
            json!({"type": "message_delta", "delta": {"stop_reason": 1}, "usage": {"output_tokens": "many"}}),
            stop("end_turn"),
        ],
        &[
            "Notice(\"a part of the reply was skipped: its type \\\"\\\" is unknown\")",
            "Notice(\"a piece of the reply was skipped: its type \\\"\\\" is unknown\")",
            "Complete",
        ],
    );
}

#[test]
fn what_goes_back_is_bounded() {
    let mut events = vec![start(0, json!({"type": "thinking", "thinking": ""}))];
    let piece = "x".repeat(parts::MAX_REPLAY_BYTES / 4);
    events.extend((0..5).map(|_| delta(0, json!({"type": "signature_delta", "signature": piece}))));
    events.push(stop("end_turn"));
    check("a hostile signature", &events, &["Complete"]);
}

proptest! {
    /// The bytes of a stream, cut anywhere, give the same reply.
    #[test]
    fn chunk_boundaries_change_nothing(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let stream: String = whole()
            .iter()
            .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
            .collect();
        let cuts = cuts.iter().map(|cut| cut.index(stream.len()));
        let frames = frames_in_pieces(&stream, cuts.collect());
        prop_assert_eq!(assemble(frames), WHOLE);
    }

    /// Whatever comes, it ends and nothing panics.
    #[test]
    fn any_events_are_read(picks in prop::collection::vec((0..9_usize, 0..3_u64, "[a-z\"{}:,0-9]{0,8}"), 0..24)) {
        let events = picks.iter().map(|(kind, index, word)| match kind {
            0 => start(*index, json!({"type": "text", "text": word})),
            1 => start(*index, json!({"type": "tool_use", "id": word, "name": word, "input": {word: 1}})),
            2 => start(*index, json!({"type": "thinking", "thinking": word, "signature": word})),
            3 => text(*index, word),
            4 => input(*index, word),
            5 => delta(*index, json!({"type": "thinking_delta", "thinking": word})),
            6 => delta(*index, json!({"type": "signature_delta", "signature": word})),
            7 => stop(word),
            _ => json!(word),
        });
        let events: Vec<Value> = events.collect();
        prop_assert!(!assemble(frames_of(&events)).is_empty());
    }
}
