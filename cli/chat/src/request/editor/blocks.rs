//! The layout of Anthropic's Messages API, where what is said is written in blocks.
//!
//! Instructions and tools stand beside the messages. A call is a block of the model's message, and a result is one of the
//! message of the user that follows, together with the results of the other calls and with what the user says next. So a
//! message of the user with results has a section for each of its blocks, and any other message is a section by itself.

use std::borrow::Cow;

use serde_json::Value;

use super::layout::{Unit, is_of};
use super::path::Path;
use super::sections::SectionKind;

/// Whether a body is written in this layout, as far as it tells by itself.
pub(super) fn is_in_blocks(body: &Value) -> bool {
    let messages = body.get("messages").and_then(Value::as_array);
    let mut messages = messages.into_iter().flatten();
    // Elsewhere a limit of the reply is an option, and the results of calls have a role of their own.
    body.get("max_tokens").is_some() && messages.all(|message| blocks(message).is_some())
}

/// The sections but the tools and the options, in the order of the payload. `None`: the body has another layout.
pub(super) fn units(body: &Value) -> Option<Vec<Unit<'_>>> {
    let mut units = Vec::new();
    if let Some(system) = body.get("system") {
        // More than one block would be more than one prompt.
        let [value] = system.as_array()?.as_slice() else {
            return None;
        };
        units.push(Unit {
            path: Path::root().then("system").then(0),
            value,
            kind: SectionKind::System,
            continues: false,
        });
    }
    for (index, message) in body.get("messages")?.as_array()?.iter().enumerate() {
        let path = Path::root().then("messages").then(index);
        let kind = match message.get("role")?.as_str()? {
            "user" => SectionKind::User,
            "assistant" => SectionKind::Assistant,
            _ => return None,
        };
        let content = blocks(message)?;
        if kind == SectionKind::Assistant || !content.iter().any(is_result) {
            units.push(Unit {
                path,
                value: message,
                kind,
                continues: false,
            });
            continue;
        }
        let mut is_after_user = false;
        for (index, value) in content.iter().enumerate() {
            let is_user = !is_result(value);
            units.push(Unit {
                path: path.then("content").then(index),
                value,
                kind: match is_user {
                    true => SectionKind::User,
                    false => SectionKind::ToolResult,
                },
                // Images and what is said about them are one message.
                continues: is_user && is_after_user,
            });
            is_after_user = is_user;
        }
    }
    Some(units)
}

/// The text of a section without the marks of where the endpoint may cache. They move from request to request, and the
/// model does not read them.
pub(super) fn without_cache_marks(text: &str) -> Cow<'_, str> {
    const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
    match text.contains(MARK) {
        true => Cow::Owned(text.replace(MARK, "")),
        false => Cow::Borrowed(text),
    }
}

/// The blocks of a message.
fn blocks(message: &Value) -> Option<&Vec<Value>> {
    message.get("content")?.as_array()
}

/// Whether a value is the result of a call.
pub(super) fn is_result(block: &Value) -> bool {
    is_of(block, "tool_result")
}

/// The calls in a message, each with its place among the blocks.
pub(super) fn calls(message: &Value) -> Vec<(usize, &Value)> {
    let blocks = blocks(message).map_or(&[][..], Vec::as_slice);
    let calls = blocks.iter().enumerate();
    calls
        .filter(|(_, block)| is_of(block, "tool_use"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::editor::{
        Counts, EditableRequest, LastRequest, Origin, Outcome, Outline, Problem, SectionId,
    };
    use crate::request::measure::Measure;

    /// A question, two calls with their results, what the user says behind them, and the marks of a cache.
    fn body(mark: usize) -> Value {
        let mut body = json!({
            "model": "m",
            "max_tokens": 7,
            "system": [{"type": "text", "text": "Be brief"}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Read both"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "tool_use", "id": "a", "name": "read_file", "input": {"p": "a"}},
                    {"type": "tool_use", "id": "b", "name": "read_file", "input": {"p": "b"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "of a"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "of b"},
                    {"type": "text", "text": "And now?"},
                ]},
            ],
            "tools": [{"name": "read_file", "description": "Reads", "input_schema": {"type": "object"}}],
        });
        body["messages"][mark]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        body
    }

    fn request_of(body: &Value) -> EditableRequest {
        let origins: Vec<Origin> = (0..5).map(|it| SectionId::Message(it).into()).collect();
        let outline = Outline::of_blocks(body, &origins, Vec::new());
        EditableRequest::new(body.to_string().into(), outline)
    }

    fn request() -> EditableRequest {
        request_of(&body(0))
    }

    fn sent(request: &EditableRequest) -> Value {
        serde_json::from_slice(request.bytes()).unwrap()
    }

    #[test]
    fn results_and_what_follows_them_are_sections_of_their_own() {
        let request = request();
        let sections = request.sections().iter();
        let seen: Vec<String> = sections
            .map(|it| format!("{} {} at {}", it.id, it.label, it.path))
            .collect();
        assert_eq!(
            seen,
            [
                "system system prompt at system[0]",
                "message:0 user at messages[0]",
                "message:1 assistant calls read_file, read_file at messages[1]",
                "message:2 result of read_file at messages[2].content[0]",
                "message:3 result of read_file at messages[2].content[1]",
                "message:4 user at messages[2].content[2]",
                "tool:read_file tool read_file at tools[0]",
                "options options at $",
            ]
        );
        // One origin too many or too few.
        for count in [4, 6] {
            let origins: Vec<Origin> = (0..count).map(|it| SectionId::Message(it).into()).collect();
            let outline = Outline::of_blocks(&body(0), &origins, Vec::new());
            assert_eq!(outline, Outline::raw());
        }
        for wrong in [
            json!({}),
            json!({"messages": [{"role": "tool", "content": []}]}),
        ] {
            assert_eq!(Outline::of_blocks(&wrong, &[], Vec::new()), Outline::raw());
        }
    }

    #[test]
    fn what_is_left_of_a_message_keeps_its_place() {
        let mut request = request();
        request.delete(4).unwrap();
        assert!(
            request.is_deleted(3) && request.is_deleted(5),
            "the call goes with its results"
        );
        assert_eq!(
            request.path(6).unwrap().to_string(),
            "messages[1].content[0]"
        );
        let left = json!([{"type": "text", "text": "And now?"}]);
        assert_eq!(sent(&request)["messages"][1]["content"], left);
        assert!(request.check(&Counts::default(), None).is_ok());
        request.set("messages[1].content[0].text", "Go on").unwrap();
        request.delete(6).unwrap();
        assert_eq!(sent(&request)["messages"].as_array().map(Vec::len), Some(1));
        request.restore(3).unwrap();
        assert_eq!(
            request.path(5).unwrap().to_string(),
            "messages[2].content[1]"
        );
        assert_eq!(
            sent(&request)["messages"][2]["content"]
                .as_array()
                .map(Vec::len),
            Some(2)
        );
        request.restore(6).unwrap();
        request.set_text(6, "And now?").unwrap();
        assert_eq!(request.bytes(), request.original());
    }

    #[test]
    fn calls_and_results_have_to_pair() {
        let mut request = request();
        let id = "messages[1].content[1].id";
        request.set(id, "other").unwrap();
        let error = request.check(&Counts::default(), None).unwrap_err();
        let id = "a".to_owned();
        assert_eq!(
            (error.number, error.problem),
            (4, Problem::ResultWithoutCall { id })
        );
        let path = error.path.unwrap().to_string();
        assert_eq!(path, "messages[2].content[0].tool_use_id");
    }

    #[test]
    fn sections_are_counted_by_what_they_say() {
        let measure = Measure::default();
        let request = request();
        let counts = Counts::of(&request, &measure);
        assert_eq!(counts.section(1), measure.count("Be brief"));
        for number in 2..=7 {
            assert!(counts.section(number) > 0, "{number}");
        }
        // The thought and two calls.
        assert!(counts.section(3) > counts.section(4));
    }

    #[test]
    fn marks_of_the_cache_are_no_difference() {
        let before = LastRequest::new(body(0).to_string().as_bytes());
        let later = request_of(&body(2));
        let counts = Counts::of(&later, &Measure::default());
        assert_eq!(later.kept_prefix(&before, &counts), counts.total());
        let mut first = request();
        first.delete(2).unwrap();
        let saved = first.to_save();
        let mut later = later;
        assert_eq!(later.apply_saved(&saved[0]), Outcome::Done);
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
        check(&|request| drop(request.delete(4).unwrap()));
        check(&|request| {
            request.delete(1).unwrap();
            request.delete(7).unwrap();
            request.set_text(6, "Count").unwrap();
        });
    }
}
