use super::*;

use proptest::prelude::*;
use serde_json::json;

use crate::samples::{assembled, frames_in_pieces, frames_of};

fn assemble(frames: Vec<Frame>) -> Vec<String> {
    assembled(Box::new(Items::default()), frames)
}

#[track_caller]
fn check(case: &str, events: &[Value], expected: &[&str]) {
    assert_eq!(assemble(frames_of(events)), expected, "{case}");
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn text(index: u64, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": delta})
}

fn input(index: u64, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": delta})
}

fn call(index: u64, id: &str) -> Value {
    added(
        index,
        json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "f", "arguments": ""}),
    )
}

fn summary(index: u64, paragraph: u64, delta: &str) -> Value {
    json!({"type": "response.reasoning_summary_text.delta", "output_index": index, "summary_index": paragraph, "delta": delta})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed"}})
}

fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {
        "status": "incomplete", "incomplete_details": {"reason": reason},
    }})
}

/// As OpenAI sends it (gpt-5, `store: false`), its encrypted texts cut short.
const RECORDED: &str = include_str!("recorded/openai.txt");

const OF_RECORDED: [&str; 6] = [
    "reasoning **Looking up**",
    "reasoning \n\n",
    "reasoning I should call it.",
    "started get_weather",
    "usage 75 (64 + 0) 155",
    r#"Complete call_5dp5Uj0Loqn1YcyIpqSq6sLX:get_weather({"location":"New York City, USA"})"#,
];

const BACK: &str = r#"back 0,0 {"type":"reasoning","id":"rs_68d9303e94ac819e","summary":[{"type":"summary_text","text":"**Looking up**"},{"type":"summary_text","text":"I should call it."}],"encrypted_content":"gAAAAABo2TA_9aBcwzsKm0jKc1AOjWhL=="}"#;

/// As llama.cpp sent it: items without numbers.
const OF_LLAMA: &str = include_str!("recorded/llama.txt");

#[test]
fn replies_as_servers_send_them() {
    let expected: Vec<&str> = OF_RECORDED.into_iter().chain([BACK]).collect();
    assert_eq!(assemble(frames_in_pieces(RECORDED, Vec::new())), expected);
    assert_eq!(
        assemble(frames_in_pieces(OF_LLAMA, Vec::new())),
        [
            "started read_file",
            "usage 219 (0 + 0) 35",
            r#"Complete call_azTzO53imL5OHfzTngRJmaynRwtEsKQ4:read_file({"file_path":"a.txt"})"#,
        ]
    );
}

#[test]
fn a_reply_at_once() {
    let document = json!({
        "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x", "status": "completed"},
            {"type": "message", "role": "assistant", "phase": "commentary", "content": [
                {"type": "output_text", "text": "Hi", "annotations": []}, {"type": "refusal", "refusal": "!"},
            ]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": {"b": 1}},
        ],
        "usage": {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 2},
    });
    let expected = [
        "reasoning hm",
        "text Hi",
        "text !",
        "started f",
        "usage 3 (1 + 0) 2",
        r#"Complete a:f({"b":1})"#,
        r#"back 0,0 {"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"}"#,
        r#"back 0,0 {"type":"message","phase":"commentary"}"#,
    ];
    assert_eq!(
        assemble(vec![Frame::Document(document.to_string())]),
        expected
    );
    let at_the_end = json!({"type": "response.completed", "response": document});
    check("in the last event", &[at_the_end], &expected);
}

#[test]
fn calls_and_their_arguments() {
    check(
        "no arguments at all",
        &[call(0, "a"), completed()],
        &["started f", "Complete a:f({})"],
    );
    let whole = json!({"type": "function_call", "id": "fc_a", "call_id": "a", "name": "f", "arguments": "{\"x\":1}"});
    let expected = ["started f", "Complete a:f({\"x\":1})"];
    check(
        "in pieces, and as a whole twice",
        &[
            call(0, "a"),
            input(0, "{\"x\""),
            input(0, ":1}"),
            json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"x\":1}"}),
            done(0, whole.clone()),
            completed(),
        ],
        &expected,
    );
    check(
        "only with the event that ends them",
        &[
            call(0, "a"),
            json!({"type": "response.function_call_arguments.done", "item_id": "fc_a", "arguments": "{\"x\":1}"}),
            done(0, whole.clone()),
            completed(),
        ],
        &expected,
    );
    check(
        "only with the item that is done",
        &[call(0, "a"), done(0, whole.clone()), completed()],
        &expected,
    );
    check(
        "the item that is done alone, and once more",
        &[done(0, whole.clone()), done(0, whole), completed()],
        &expected,
    );
    let another = json!({"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"});
    check(
        "two of them with one number",
        &[
            done(0, another.clone()),
            call(0, "a"),
            done(0, another),
            completed(),
        ],
        &["started f", "started f", "Complete b:f({}) a:f({})"],
    );
    check(
        "two calls whose pieces alternate",
        &[
            call(0, "a"),
            call(1, "b"),
            input(0, "{\"x\""),
            input(1, "{}"),
            input(0, ":1}"),
            completed(),
        ],
        &["started f", "started f", "Complete a:f({\"x\":1}) b:f({})"],
    );
    check(
        "one number for all",
        &[
            call(0, "a"),
            input(0, "{\"x\":1}"),
            call(0, "b"),
            input(0, "{}"),
            completed(),
        ],
        &["started f", "started f", "Complete a:f({\"x\":1}) b:f({})"],
    );
    check(
        "ids that change from event to event",
        &[
            call(0, "a"),
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "zzz", "delta": "{}"}),
            completed(),
        ],
        &["started f", "Complete a:f({})"],
    );
    check(
        "the arguments end in the middle",
        &[call(0, "a"), input(0, "{\"x\":"), completed()],
        &["started f", "Cut a:f(bad: they end in the middle)"],
    );
    check(
        "at the limit none is run",
        &[
            call(0, "a"),
            input(0, "{}"),
            incomplete("max_output_tokens"),
        ],
        &["started f", "Cut a:f({})"],
    );
}

#[test]
fn reasoning_and_text() {
    check(
        "paragraphs, and a reply that says its reasoning in two texts",
        &[
            added(0, json!({"type": "reasoning", "id": "rs"})),
            summary(0, 0, "One"),
            json!({"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "All of it"}),
            summary(0, 1, "Two"),
            added(1, json!({"type": "message", "id": "m"})),
            text(1, "Hi"),
            json!({"type": "response.refusal.delta", "output_index": 1, "delta": ", no"}),
            added(2, json!({"type": "message", "id": "n"})),
            text(2, "Bye"),
            completed(),
        ],
        &[
            "reasoning One",
            "reasoning \n\n",
            "reasoning Two",
            "text Hi",
            "text , no",
            "text \n\n",
            "text Bye",
            "Complete",
        ],
    );
    let plain = json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}], "encrypted_content": ""});
    check(
        "in plain words it goes back with calls,",
        &[done(0, plain.clone()), call(1, "a"), completed()],
        &[
            "reasoning hm",
            "started f",
            "Complete a:f({})",
            r#"back 0,0 {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}"#,
        ],
    );
    check(
        "and else not",
        &[done(0, plain), text(1, "Hi"), completed()],
        &["reasoning hm", "text Hi", "Complete"],
    );
    check(
        "what is there when an item begins may be a part of it",
        &[
            added(
                0,
                json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "half"}),
            ),
            call(1, "a"),
            done(
                0,
                json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "whole"}),
            ),
            completed(),
        ],
        &[
            "started f",
            "Complete a:f({})",
            r#"back 0,0 {"type":"reasoning","id":"rs","summary":[],"encrypted_content":"whole"}"#,
        ],
    );
}

#[test]
fn reasons_for_the_end() {
    check(
        "complete",
        &[text(0, "Hi"), completed()],
        &["text Hi", "Complete"],
    );
    check("no end", &[text(0, "Hi")], &["text Hi", "broke off"]);
    check("nothing", &[], &["broke off"]);
    check("the limit", &[incomplete("max_output_tokens")], &["Cut"]);
    let filtered = "Notice(\"the provider's content filter ended the reply\")";
    check(
        "a filter",
        &[incomplete("content_filter")],
        &[filtered, "Complete"],
    );
    check(
        "calls of a reply that was filtered",
        &[call(0, "a"), input(0, "{}"), incomplete("content_filter")],
        &["started f", filtered, "Cut a:f({})"],
    );
    check(
        "another reason",
        &[incomplete("new")],
        &[
            "Notice(\"the provider ended the reply with the reason \\\"new\\\"\")",
            "Complete",
        ],
    );
}

#[test]
fn errors_within_a_reply() {
    let failed = json!({"type": "response.failed", "response": {
        "status": "failed", "error": {"code": "server_error", "message": "The model failed"},
    }});
    let expected = ["text Hi", "error Some(\"server_error\") The model failed"];
    check("failed", &[text(0, "Hi"), failed, text(0, "x")], &expected);
    let error = json!({"type": "error", "code": "server_error", "message": "The model failed", "param": null});
    check("an event", &[text(0, "Hi"), error.clone()], &expected);
    let frames = vec![
        Frame::Data(text(0, "Hi").to_string()),
        Frame::Error(error.to_string()),
    ];
    assert_eq!(assemble(frames), expected);
    let of_gateway = json!({"error": {"code": "server_error", "message": "The model failed"}});
    check("of a gateway", &[text(0, "Hi"), of_gateway], &expected);
    assert_eq!(
        assemble(vec![Frame::Document(
            "{\"detail\":\"not found\"}".to_owned()
        )]),
        ["error None not found"]
    );
}

#[test]
fn what_is_not_known_is_skipped() {
    check(
        "items, their pieces, and events",
        &[
            json!({"type": "response.created", "response": {"status": "in_progress", "error": null}}),
            added(0, json!({"type": "web_search_call", "id": "ws"})),
            json!({"type": "response.web_search_call.searching", "output_index": 0}),
            done(0, json!({"type": "web_search_call", "id": "ws"})),
            added(1, json!({"type": "message"})),
            json!({"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text", "text": ""}}),
            text(1, "Hi"),
            json!({"type": "response.output_text.done", "output_index": 1, "text": "Hi"}),
            done(
                1,
                json!({"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}),
            ),
            json!({"type": "response.invented", "delta": "x"}),
            completed(),
        ],
        &[
            "Notice(\"a part of the reply was skipped: its type \\\"web_search_call\\\" is unknown\")",
            "text Hi",
            "Complete",
        ],
    );
    let damaged = "Notice(\"a damaged piece of the reply was skipped\")";
    check(
        "the start of a call is lost",
        &[input(0, "{}"), call(1, "a"), completed()],
        &[damaged, "started f", "Cut a:f({})"],
    );
    check(
        "of other types",
        &[
            json!([1]),
            json!({"type": 7}),
            json!({"type": "response.output_item.added", "item": "text"}),
            json!({"type": "response.output_text.delta", "delta": {"a": 1}}),
            json!({"type": "response.completed", "response": {"output": 1, "usage": "many"}}),
        ],
        &[
            "Notice(\"a part of the reply was skipped: its type \\\"\\\" is unknown\")",
            "Complete",
        ],
    );
}

#[test]
fn hostile_replies_are_bounded() {
    let mut events = Vec::new();
    for index in 0..2 * MAX_ITEMS as u64 {
        events.push(added(
            index,
            json!({"type": "message", "id": format!("{index}")}),
        ));
    }
    events.push(completed());
    let damaged = "Notice(\"a damaged piece of the reply was skipped\")";
    check("items without end", &events, &[damaged, "Complete"]);
    let encrypted = "x".repeat(parts::MAX_REPLAY_BYTES);
    let reasoning = json!({"type": "reasoning", "summary": [], "encrypted_content": encrypted});
    check(
        "hostile reasoning",
        &[done(0, reasoning), completed()],
        &["Complete"],
    );
}

proptest! {
    /// The bytes of a stream, cut anywhere, give the same reply.
    #[test]
    fn chunk_boundaries_change_nothing(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let cuts = cuts.iter().map(|cut| cut.index(RECORDED.len()));
        let expected: Vec<&str> = OF_RECORDED.into_iter().chain([BACK]).collect();
        prop_assert_eq!(assemble(frames_in_pieces(RECORDED, cuts.collect())), expected);
    }

    /// Whatever comes, it ends and nothing panics.
    #[test]
    fn any_events_are_read(picks in prop::collection::vec((0..9_usize, 0..3_u64, "[a-z\"{}:,0-9]{0,8}"), 0..24)) {
        let events = picks.iter().map(|(kind, index, word)| match kind {
            0 => added(*index, json!({"type": "message", "id": word})),
            1 => call(*index, word),
            2 => done(*index, json!({"type": "reasoning", "encrypted_content": word, "summary": [{"text": word}]})),
            3 => text(*index, word),
            4 => input(*index, word),
            5 => summary(*index, 0, word),
            6 => done(*index, json!({"type": "function_call", "call_id": word, "name": word, "arguments": word})),
            7 => incomplete(word),
            _ => json!(word),
        });
        let events: Vec<Value> = events.collect();
        prop_assert!(!assemble(frames_of(&events)).is_empty());
    }
}
