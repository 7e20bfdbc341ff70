use super::*;

use proptest::prelude::*;
use serde_json::json;

/// What the frames give, one line for each event, the end last.
fn assemble(frames: Vec<Frame>) -> Vec<String> {
    let mut assembly = Assembly::new();
    let mut events = Vec::new();
    let mut failure = None;
    for frame in frames {
        if let Err(error) = assembly.feed(frame, &mut events) {
            failure = Some(format!("error {:?} {}", error.code, error.message));
            break;
        }
    }
    let mut lines: Vec<String> = events
        .into_iter()
        .map(|event| match event {
            StreamEvent::Text(text) => format!("text {text}"),
            StreamEvent::Reasoning { field, text } => format!("{field} {text}"),
            StreamEvent::CallStarted { tool } => format!("started {tool}"),
            StreamEvent::Usage(usage) => {
                format!(
                    "usage {} ({} + {}) {}",
                    usage.input_tokens,
                    usage.cached_tokens,
                    usage.written_tokens,
                    usage.output_tokens
                )
            }
            StreamEvent::Notice(notice) | StreamEvent::Warning(notice) => notice,
            StreamEvent::WasReasoning { .. } | StreamEvent::End(_) => {
                unreachable!("made by others")
            }
        })
        .collect();
    lines.push(failure.unwrap_or_else(|| match assembly.end() {
        Ok(end) => {
            let calls: Vec<String> = end
                .calls
                .iter()
                .map(|call| format!(" {}", call.tool))
                .collect();
            format!("{:?}{}", end.finish, calls.concat())
        }
        Err(BrokeOff) => "broke off".to_owned(),
    }));
    lines
}

#[track_caller]
fn check(case: &str, chunks: &[Value], expected: &[&str]) {
    let frames = chunks.iter().map(|chunk| match chunk {
        Value::String(text) if text == "[DONE]" => Frame::Done,
        Value::String(text) => Frame::Data(text.clone()),
        chunk => Frame::Data(chunk.to_string()),
    });
    assert_eq!(assemble(frames.collect()), expected, "{case}");
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn call(arguments: &str) -> Value {
    delta(
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": arguments}}]}),
    )
}

#[test]
fn text_and_its_end() {
    let text = |text: &str| delta(json!({"content": text}));
    check(
        "as the protocol says",
        &[
            delta(json!({"role": "assistant", "content": null})),
            text("He"),
            text(""),
            text("llo"),
            finish("stop"),
            json!("[DONE]"),
        ],
        &["text He", "text llo", "Complete"],
    );
    check(
        "no [DONE]",
        &[text("Hi"), finish("stop")],
        &["text Hi", "Complete"],
    );
    check(
        "no reason",
        &[text("Hi"), json!("[DONE]")],
        &["text Hi", "Complete"],
    );
    check("neither", &[text("Hi")], &["text Hi", "broke off"]);
    check("nothing", &[], &["broke off"]);
    check(
        "cut at the limit",
        &[text("Hi"), finish("length")],
        &["text Hi", "Cut"],
    );
    check(
        "the reason beside the last piece",
        &[json!({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})],
        &["text Hi", "Complete"],
    );
    check(
        "a reason nobody knows",
        &[text("Hi"), finish("content_filter")],
        &[
            "text Hi",
            "the provider ended the reply with the reason \"content_filter\"",
            "Complete",
        ],
    );
    check(
        "parts, a refusal, another choice",
        &[
            delta(json!({"content": [{"type": "text", "text": "a"}, "b", 7]})),
            delta(json!({"content": null, "refusal": "No"})),
            json!({"choices": [{"index": 1, "delta": {"content": "other"}}]}),
            finish("stop"),
        ],
        &["text ab", "text No", "Complete"],
    );
}

#[test]
fn chunks_without_choices() {
    check(
        "usage in a chunk of its own",
        &[
            json!({"choices": [], "prompt_filter_results": []}),
            delta(json!({"content": "Hi"})),
            finish("stop"),
            json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 1}}}),
        ],
        &["text Hi", "usage 5 (3 + 1) 2", "Complete"],
    );
    check(
        "usage null, no choices",
        &[
            json!({"usage": null}),
            json!({"id": "x"}),
            json!([]),
            finish("stop"),
        ],
        &["Complete"],
    );
}

#[test]
fn reasoning_has_several_names() {
    check(
        "the first that says something is kept to",
        &[
            delta(json!({"reasoning": "", "reasoning_content": null})),
            delta(json!({"reasoning": "hm"})),
            delta(json!({"reasoning": " so", "reasoning_content": " so"})),
            delta(json!({"content": "Hi"})),
            finish("stop"),
        ],
        &["reasoning hm", "reasoning  so", "text Hi", "Complete"],
    );
    check(
        "in parts",
        &[
            delta(
                json!({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}, {"summary": " so"}, 7]}),
            ),
            delta(
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "ah"}]}, {"type": "text", "text": "Hi"}]}),
            ),
            finish("stop"),
        ],
        &[
            "reasoning hm so",
            "reasoning_content ah",
            "text Hi",
            "Complete",
        ],
    );
}

#[test]
fn calls() {
    check(
        "the reason says stop",
        &[call("{}"), finish("stop")],
        &["started f", "Complete f"],
    );
    check(
        "the reason says tool_calls, the arguments end early",
        &[call("{\"x"), finish("tool_calls")],
        &["started f", "Cut f"],
    );
    check(
        "cut at the limit",
        &[call("{}"), finish("length")],
        &["started f", "Cut f"],
    );
    check(
        "several in one chunk",
        &[
            delta(json!({"tool_calls": [
                {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
                {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}},
            ]})),
            finish("tool_calls"),
        ],
        &["started f", "started g", "Complete f g"],
    );
    check(
        "the older form",
        &[
            delta(json!({"function_call": {"name": "f", "arguments": "{\"x\":"}})),
            delta(json!({"function_call": {"arguments": "1}"}})),
            finish("function_call"),
        ],
        &["started f", "Complete f"],
    );
}

#[test]
fn damage() {
    let skipped = "a damaged piece of the reply was skipped";
    let hi = delta(json!({"content": "Hi"})).to_string();
    check(
        "two glued together",
        &[json!(format!("{hi}{hi}")), finish("stop")],
        &["text Hi", "text Hi", "Complete"],
    );
    check(
        "one begun, another whole",
        &[
            json!(format!(
                "{{\"choices\":[{{\"delta\":{{\"content\":data: {hi}"
            )),
            finish("stop"),
        ],
        &[skipped, "text Hi", "Complete"],
    );
    check(
        "one begun, and cut within a text",
        &[
            json!(format!("{{\"choices\":[{{\"delta\":{{\"contdata: {hi}")),
            finish("stop"),
        ],
        &[skipped, "text Hi", "Complete"],
    );
    check(
        "a piece of a call is lost",
        &[call("{}"), json!("{\"choi"), finish("stop")],
        &["started f", skipped, "Cut f"],
    );
    check(
        "told once",
        &[json!("{"), json!("nonsense"), finish("stop")],
        &[skipped, "Complete"],
    );
}

#[test]
fn errors_within_a_reply() {
    check(
        "with choices",
        &[
            delta(json!({"content": "Hi"})),
            json!({"choices": [], "error": {"message": "Overloaded.", "code": 529}}),
        ],
        &["text Hi", "error Some(\"529\") Overloaded"],
    );
    check(
        "a text",
        &[json!({"error": "out of memory"})],
        &["error None out of memory"],
    );
    check(
        "an error that is null",
        &[json!({"error": null, "choices": []}), finish("stop")],
        &["Complete"],
    );
    check(
        "marked as object",
        &[json!({"object": "error", "message": "no", "code": null, "type": "bad"})],
        &["error Some(\"bad\") no"],
    );
    assert_eq!(
        assemble(vec![Frame::Error("plain words".to_owned())]),
        ["error None plain words"]
    );
    assert_eq!(
        assemble(vec![Frame::Error(
            "{\"message\":\"no\",\"code\":\"x\"}".to_owned()
        )]),
        ["error Some(\"x\") no"]
    );
}

#[test]
fn a_document_instead_of_a_stream() {
    let document = |value: Value| assemble(vec![Frame::Document(value.to_string())]);
    let reply = json!({
        "choices": [{"message": {"content": "Hi", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    assert_eq!(
        document(reply),
        ["usage 1 (0 + 0) 2", "text Hi", "started f", "Complete f"]
    );
    assert_eq!(
        document(json!({"error": {"message": "no"}})),
        ["error None no"]
    );
    assert_eq!(
        document(json!({"detail": "Not Found"})),
        ["error None Not Found"]
    );
    check(
        "a whole message after its pieces",
        &[
            delta(json!({"content": "Hi"})),
            json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}),
        ],
        &["text Hi", "Complete"],
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["", "a", "{", "{}", "stop", "length", "{\"x\":1}"])
            .prop_map(Value::from),
    ];
    let keys = vec![
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "index",
        "error",
        "usage",
        "finish_reason",
        "reasoning",
        "text",
        "code",
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let fields =
            prop::collection::vec((prop::sample::select(keys.clone()), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// No chunk makes it panic, whatever shape it has, whole or cut.
    #[test]
    fn any_chunks_are_survived(chunks in prop::collection::vec((any_json(), any::<prop::sample::Index>()), 0..6)) {
        let frames = chunks.into_iter().map(|(chunk, cut)| {
            let text = json!({"choices": [chunk]}).to_string();
            let cut = cut.index(text.len() * 2).min(text.len());
            Frame::Data(text[..cut].to_owned())
        });
        assemble(frames.collect());
    }
}
