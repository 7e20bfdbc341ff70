//! The layout of OpenAI's Responses API, where what is said is a list of items.
//!
//! What the model says in one reply is several items: its reasoning, its messages, and its calls. Each is a section, and
//! those of one reply go together. A result is an item, too. Tools stand beside the items.

use serde_json::Value;

use super::layout::{Unit, is_of, string};
use super::path::Path;
use super::sections::SectionKind;
use crate::message::{Message, Reasoning, Replay, Role, ToolCall};

/// The key of the list.
pub(super) const INPUT: &str = "input";

/// Whether a value is a call.
pub(super) fn is_call(item: &Value) -> bool {
    is_of(item, "function_call")
}

/// Whether a value is the result of a call.
pub(super) fn is_result(item: &Value) -> bool {
    is_of(item, "function_call_output")
}

/// Whether a value is reasoning of the model's.
pub(super) fn is_reasoning(item: &Value) -> bool {
    is_of(item, "reasoning")
}

/// The sections but the tools and the options, in the order of the payload. `None`: the body has another layout.
pub(super) fn units(body: &Value) -> Option<Vec<Unit<'_>>> {
    let mut units: Vec<Unit<'_>> = Vec::new();
    for (index, value) in body.get(INPUT)?.as_array()?.iter().enumerate() {
        let kind = match string(value, "role") {
            "system" | "developer" if index == 0 => SectionKind::System,
            "user" => SectionKind::User,
            "assistant" => SectionKind::Assistant,
            "" if is_call(value) || is_reasoning(value) => SectionKind::Assistant,
            "" if is_result(value) => SectionKind::ToolResult,
            _ => return None,
        };
        let last = units.last().map(|unit| unit.kind);
        units.push(Unit {
            path: Path::root().then(INPUT).then(index),
            value,
            kind,
            continues: kind == SectionKind::Assistant && last == Some(kind),
        });
    }
    Some(units)
}

/// What an item says, if it is no message.
pub(super) fn message(item: &Value) -> Option<Message> {
    if is_call(item) {
        return Some(Message {
            tool_calls: vec![call(item)],
            ..Message::text(Role::Assistant, "")
        });
    }
    if is_result(item) {
        let output = match item.get("output") {
            Some(Value::String(text)) => text.clone(),
            output => texts(output).join("\n"),
        };
        return Some(Message {
            tool_call_id: Some(string(item, "call_id").to_owned()),
            ..Message::text(Role::Tool, output)
        });
    }
    is_reasoning(item).then(|| {
        let mut text = texts(item.get("summary"));
        if text.is_empty() {
            text = texts(item.get("content"));
        }
        Message {
            reasoning: Some(Reasoning {
                field: "reasoning".to_owned(),
                text: text.join("\n\n"),
            }),
            replay: Some(Replay::default()),
            ..Message::text(Role::Assistant, "")
        }
    })
}

/// The call that an item is.
fn call(item: &Value) -> ToolCall {
    let written = string(item, "arguments");
    let arguments = serde_json::from_str(written);
    ToolCall {
        id: string(item, "call_id").to_owned(),
        name: string(item, "name").to_owned(),
        raw_arguments: arguments.is_err().then(|| written.to_owned()),
        arguments: arguments.unwrap_or_default(),
        number: 0,
    }
}

fn texts(parts: Option<&Value>) -> Vec<&str> {
    let parts = parts.and_then(Value::as_array);
    let parts = parts.into_iter().flatten();
    parts
        .filter_map(|part| part.get("text")?.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::cost::Cost;
    use crate::request::editor::{
        Counts, EditableRequest, Origin, Outline, Problem, SectionId, Unsendable,
    };
    use crate::request::measure::Measure;

    /// A question, a reply with all that there can be, the results, and what the user says behind them.
    fn body() -> Value {
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": "{\"p\":\"x\"}"});
        let result = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": format!("of {id}")});
        json!({
            "model": "m",
            "input": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": "Read both"},
                {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
                {"type": "message", "role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": "I look"}]},
                call("a"),
                call("b"),
                result("a"),
                result("b"),
                {"role": "user", "content": "And now?"},
            ],
            "tools": [{"type": "function", "name": "read_file", "description": "Reads", "parameters": {"type": "object"}}],
        })
    }

    fn request() -> EditableRequest {
        let origins: Vec<Origin> = (0..5).map(|it| SectionId::Message(it).into()).collect();
        let outline = Outline::of_items(&body(), &origins, Vec::new());
        EditableRequest::new(body().to_string().into(), outline)
    }

    fn sent(request: &EditableRequest) -> Value {
        serde_json::from_slice(request.bytes()).unwrap()
    }

    #[test]
    fn each_item_is_a_section() {
        let request = request();
        let sections = request.sections().iter();
        let seen: Vec<String> = sections
            .map(|it| format!("{} {} at {}", it.id, it.label, it.path))
            .collect();
        assert_eq!(
            seen,
            [
                "system system prompt at input[0]",
                "message:0 user at input[1]",
                "message:1 assistant thinks at input[2]",
                "message:1.1 assistant at input[3]",
                "message:1.2 assistant calls read_file at input[4]",
                "message:1.3 assistant calls read_file at input[5]",
                "message:2 result of read_file at input[6]",
                "message:3 result of read_file at input[7]",
                "message:4 user at input[8]",
                "tool:read_file tool read_file at tools[0]",
                "options options at $",
            ]
        );
        // One origin too many or too few.
        for count in [4, 6] {
            let origins: Vec<Origin> = (0..count).map(|it| SectionId::Message(it).into()).collect();
            let outline = Outline::of_items(&body(), &origins, Vec::new());
            assert_eq!(outline, Outline::raw());
        }
        for wrong in [
            json!({}),
            json!({"input": "Hi"}),
            json!({"input": [{"type": "item_reference", "id": "x"}]}),
        ] {
            assert_eq!(Outline::of_items(&wrong, &[], Vec::new()), Outline::raw());
        }
    }

    #[test]
    fn a_message_goes_as_a_whole_with_its_results() {
        let mut request = request();
        request.delete(5).unwrap();
        assert!((3..=8).all(|number| request.is_deleted(number)));
        assert_eq!(request.path(9).unwrap().to_string(), "input[2]");
        assert!(request.check(&Counts::default(), None).is_ok());
        request.set_text(9, "Go on").unwrap();
        assert_eq!(sent(&request)["input"][2]["content"], "Go on");
        request.restore(8).unwrap();
        request.set_text(7, "of c").unwrap();
        request.set_text(4, "I read").unwrap();
        request.set("input[4].arguments.p", "y").unwrap();
        let items = sent(&request)["input"].clone();
        assert_eq!(items[3]["content"][0]["text"], "I read");
        assert_eq!(items[4]["arguments"], "{\"p\":\"y\"}");
        assert_eq!(items[6]["output"], "of c");
        assert!(request.check(&Counts::default(), None).is_ok());
    }

    #[test]
    fn calls_and_results_have_to_pair() {
        let check = |path: &str, value: &str| {
            let mut request = request();
            request.set(path, value).unwrap();
            let error = request.check(&Counts::default(), None).unwrap_err();
            let Unsendable {
                number,
                path,
                problem,
                ..
            } = error;
            (number, path.unwrap().to_string(), problem)
        };
        let id = || "a".to_owned();
        assert_eq!(
            check("input[4].call_id", "c"),
            (
                7,
                "input[6].call_id".to_owned(),
                Problem::ResultWithoutCall { id: id() }
            )
        );
        let expected = "a JSON object";
        assert_eq!(
            check("input[4].arguments", "[1]"),
            (
                5,
                "input[4].arguments".to_owned(),
                Problem::WrongType { expected }
            )
        );
        let mut request = request();
        request.set("input[6].type", "other").unwrap();
        assert!(request.check(&Counts::default(), None).is_err());
    }

    #[test]
    fn sections_of_a_message_count_as_the_message_does() {
        let measure = Measure::default();
        let counts = Counts::of(&request(), &measure);
        let body = body();
        let call = call(&body["input"][4]);
        let message = Message {
            tool_calls: vec![call.clone(), call],
            reasoning: Some(Reasoning {
                field: "reasoning".to_owned(),
                text: "hm".to_owned(),
            }),
            replay: Some(Replay::default()),
            ..Message::text(Role::Assistant, "I look")
        };
        let cost = Cost::of(&message, true, |text| measure.count(text)).tokens;
        let of_sections: u64 = (3..=6).map(|number| counts.section(number)).sum();
        assert_eq!(of_sections, cost);
        assert!((3..=9).all(|number| counts.section(number) > 0));
    }

    #[test]
    fn edits_are_found_in_what_was_sent() {
        let check = |edit: &dyn Fn(&mut EditableRequest)| {
            let mut request = request();
            edit(&mut request);
            let found = EditableRequest::between(request.original().clone(), request.bytes());
            let found = found.expect("edits");
            assert_eq!(found.differences(), request.differences());
        };
        check(&|_| {});
        check(&|request| drop(request.delete(6).unwrap()));
        check(&|request| {
            request.delete(10).unwrap();
            request.set_text(7, "Count").unwrap();
        });
    }
}
