//! The model by example, and its laws for random bodies.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::request::measure::Measure;

mod deletion;
mod options;
mod sending;

/// A turn with two calls, and a tool.
fn body() -> Value {
    json!({
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "Read both"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "a", "type": "function", "function": {
                    "name": "read_file",
                    "arguments": "{\"file_path\": \"a.txt\", \"limit\": 1.0}",
                }},
                {"id": "b", "type": "function", "function": {"name": "read_file", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "name": "read_file", "content": "one"},
            {"role": "tool", "tool_call_id": "b", "name": "read_file", "content": "two"},
            {"role": "user", "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "data:"}},
            ]},
        ],
        "tools": [{"type": "function", "function": {
            "name": "read_file", "description": "Reads", "parameters": {"type": "object"},
        }}],
        "temperature": 0.2,
        "stream": true,
    })
}

fn request() -> EditableRequest {
    let origins: Vec<Origin> = (0..5)
        .map(|index| SectionId::Message(index).into())
        .collect();
    let options = vec![
        KnownOption::new(&["temperature"], OptionKind::Number),
        KnownOption::new(&["max_tokens"], OptionKind::WholeNumber),
        KnownOption::new(&["tool_choice"], OptionKind::Text),
        KnownOption::new(&["options", "num_ctx"], OptionKind::WholeNumber),
    ];
    let outline = Outline::of_chat(&body(), &origins, options);
    EditableRequest::new(Bytes::from(body().to_string()), outline)
}

fn text(request: &EditableRequest) -> String {
    String::from_utf8(request.bytes().to_vec()).unwrap()
}

fn check(request: &EditableRequest, limit: Option<u64>) -> Result<(), String> {
    let counts = Counts::of(request, &Measure::default());
    request
        .check(&counts, limit)
        .map_err(|error| error.to_string())
}

#[test]
fn a_request_is_its_sections() {
    let request = request();
    let sections = request.sections().iter();
    let listed: Vec<String> = sections
        .map(|section| {
            format!(
                "{} | {} | {}",
                section.id,
                section.kind.name(),
                section.label
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            "system | system | system prompt",
            "message:0 | user | user",
            "message:1 | assistant | assistant calls read_file, read_file",
            "message:2 | tool result | result of read_file",
            "message:3 | tool result | result of read_file",
            "message:4 | user | user",
            "tool:read_file | tool definition | tool read_file",
            "options | options | options",
        ]
    );
    assert!(!request.is_dirty());
    assert_eq!(request.bytes().as_ptr(), request.original().as_ptr());
}

#[test]
fn values_are_rows_with_the_paths_of_the_payload() {
    let request = request();
    let rows = |number| -> Vec<String> {
        let row = |row: Row| {
            let value = match row.value {
                RowValue::Object(count) => format!("{{{count}}}"),
                RowValue::Array(count) => format!("[{count}]"),
                RowValue::Leaf(leaf) => leaf.json.to_string(),
            };
            format!("{} {} {value}", row.depth, row.path.unwrap_or_default())
        };
        request.rows(number).into_iter().map(row).collect()
    };
    assert_eq!(
        rows(3)[..13],
        [
            "0 messages[2] {3}",
            r#"1 messages[2].role "assistant""#,
            r#"1 messages[2].content """#,
            "1 messages[2].tool_calls [2]",
            "2 messages[2].tool_calls[0] {3}",
            r#"3 messages[2].tool_calls[0].id "a""#,
            r#"3 messages[2].tool_calls[0].type "function""#,
            "3 messages[2].tool_calls[0].function {2}",
            r#"4 messages[2].tool_calls[0].function.name "read_file""#,
            r#"4 messages[2].tool_calls[0].function.arguments "{\"file_path\": \"a.txt\", \"limit\": 1.0}""#,
            r#"5 messages[2].tool_calls[0].function.arguments.file_path "a.txt""#,
            "5 messages[2].tool_calls[0].function.arguments.limit 1.0",
            "2 messages[2].tool_calls[1] {3}",
        ]
    );
    assert_eq!(
        rows(8),
        [
            "0 $ {5}",
            r#"1 model "small""#,
            "1 temperature 0.2",
            "1 stream true"
        ]
    );
}

#[test]
fn an_edit_changes_its_leaf_and_nothing_else() {
    let check = |path: &str, value: &str, from: &str, to: &str| {
        let mut request = request();
        let before = text(&request);
        assert_eq!(before.matches(from).count(), 1, "{from}");
        request.set(path, value).unwrap();
        assert_eq!(text(&request), before.replace(from, to), "{path}");
        request.undo().unwrap();
        assert_eq!(text(&request), before);
    };
    check(
        "messages[0].content",
        "Be \"long\"",
        "Be brief",
        r#"Be \"long\""#,
    );
    check("messages[5].content[0].text", "{}", "And this?", "{}");
    check("temperature", " 1e0 ", ":0.2,", ":1e0,");
    check("stream", "false", "\"stream\":true", "\"stream\":false");
    let arguments = "messages[2].tool_calls[0].function.arguments";
    check(&format!("{arguments}.file_path"), "b\n", "a.txt", r"b\\n");
    check(
        &format!("{arguments}.limit"),
        "12345678901234567890",
        "1.0",
        "12345678901234567890",
    );
    check("tools[0].function.description", "Opens", "Reads", "Opens");
    // An option that is missing is added behind the others.
    check(
        "max_tokens",
        "7",
        r#""stream":true"#,
        r#""stream":true,"max_tokens":7"#,
    );
    check(
        "num_ctx",
        "7",
        r#""stream":true"#,
        r#""stream":true,"options":{"num_ctx":7}"#,
    );
}

#[test]
fn an_added_option_is_edited_like_any_other() {
    let mut request = request();
    request
        .set("tool_choice", r#"{"name": "read_file"}"#)
        .unwrap();
    request.set("tool_choice.name", "edit_file").unwrap();
    let added = r#""tool_choice":"{\"name\": \"edit_file\"}"}"#;
    assert!(text(&request).ends_with(added), "{}", text(&request));
    request.set("options.num_ctx", "1").unwrap();
    let error = request.set("options", "1").unwrap_err();
    assert!(matches!(error, EditError::NotALeaf { .. }), "{error}");
}

#[test]
fn a_path_to_nothing_names_the_nearest() {
    let check = |path: &str, value: &str, expected: &str| {
        let mut request = request();
        let error = request.set(path, value).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(!request.is_dirty());
    };
    check(
        "messages[1].contents",
        "x",
        "no value at messages[1].contents; nearest: messages[1].content, messages[0].content, messages[2].content",
    );
    check(
        "temprature",
        "1",
        "no value at temprature; nearest: temperature, max_tokens, model",
    );
    check(
        "temp",
        "1",
        "no value at temp; nearest: temperature, stream, model",
    );
    check(
        "messages[5].content",
        "x",
        "messages[5].content holds other values; only a string, a number, true, false or null can be edited; nearest: \
         messages[5].content[0].type, messages[5].content[0].text, messages[5].content[1].type",
    );
    check(
        "temperature",
        "hot",
        "temperature takes a number, not \"hot\"",
    );
    check(
        "temperature",
        "1e999",
        "temperature takes a number, not 1e999",
    );
    check(
        "max_tokens",
        "1.5",
        "max_tokens takes a whole number, not 1.5",
    );
    check("stream", "null", "stream takes true or false, not null");
    check(
        "a b",
        "1",
        "invalid path \"a b\" at byte 2: write it like messages[2].content or options[\"a key\"]",
    );
}

#[test]
fn a_path_is_completed_step_by_step() {
    let mut request = request();
    let check = |request: &EditableRequest, typed: &str, expected: &[&str]| {
        assert_eq!(request.completions(typed), expected, "{typed}");
    };
    let top = [
        "messages",
        "tools",
        "model",
        "temperature",
        "stream",
        "max_tokens",
        "tool_choice",
        "options",
    ];
    check(&request, "", &top);
    check(&request, "m", &["messages", "model", "max_tokens"]);
    check(&request, "options", &["options.num_ctx"]);
    check(&request, "stream", &["stream"]);
    let messages: Vec<String> = (0..6).map(|index| format!("messages[{index}]")).collect();
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    check(&request, "messages[", &messages);
    let call = [
        "messages[2].role",
        "messages[2].content",
        "messages[2].tool_calls",
    ];
    check(&request, "messages[2]", &call);
    let calls = ["messages[2].tool_calls[0]", "messages[2].tool_calls[1]"];
    check(&request, "messages[2].tool_calls", &calls);
    let arguments = "messages[2].tool_calls[0].function.arguments";
    // The string itself is a value, and so are those in it.
    let inside = [
        arguments.to_owned(),
        format!("{arguments}.file_path"),
        format!("{arguments}.limit"),
    ];
    let inside: Vec<&str> = inside.iter().map(String::as_str).collect();
    check(&request, arguments, &inside);
    check(&request, &format!("{arguments}.f"), &inside[1..2]);
    check(&request, "messages[9]", &[]);
    check(&request, "messages[2].x", &[]);
    // Paths are those of what would be sent.
    request.delete(1).unwrap();
    check(&request, "messages[1].t", &["messages[1].tool_calls"]);
    check(&request, "messages[5", &[]);
}

#[test]
fn a_tree_is_edited_as_text() {
    let mut request = request();
    let whole = request.tree("$").unwrap();
    assert_eq!(request.set_tree("$", &whole), Ok(Vec::new()));
    let edited = whole
        .replace("Be brief", "Be \\\"kind\\\"")
        .replace("0.2", "0.7")
        .replace("{}", "{\\\"a\\\":1}");
    let edited = edited.replacen('{', "{\"max_tokens\": 9,", 1);
    let changes = request.set_tree("$", &edited).unwrap();
    assert_eq!((changes.len(), request.edits().len()), (4, 4));
    let expected = body()
        .to_string()
        .replace("Be brief", "Be \\\"kind\\\"")
        .replace("0.2", "0.7")
        .replace("\"{}\"", "\"{\\\"a\\\":1}\"");
    let expected = format!("{},\"max_tokens\":9}}", expected.trim_end_matches('}'));
    assert_eq!(text(&request), expected);
    for _ in 0..4 {
        request.undo().unwrap();
    }
    assert_eq!(text(&request), body().to_string());
    let mut check = |path: &str, edited: &str, expected: &str| {
        let error = request.set_tree(path, edited).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!request.is_dirty());
    };
    let message = r#"{"role": "user", "content": "Hi"}"#;
    check("messages[1]", "{", "not valid JSON: EOF while parsing");
    check(
        "messages[1]",
        r#"{"role": "user", "role": "x"}"#,
        "a key twice",
    );
    check(
        "messages[1]",
        r#"{"role": "user"}"#,
        "messages[1].content was added or removed",
    );
    check("messages[1]", "[]", "messages[1] was added or removed");
    check(
        "messages[1]",
        &message.replace("\"Hi\"", "1"),
        "messages[1].content was",
    );
    let named = message.replace('}', ", \"name\": \"x\"}");
    check("messages[1]", &named, "messages[1].name was added or");
    check("messages", "[]", "messages was added or removed");
    check("messages[9]", "{}", "no value at messages[9]");
    request.set_tree("messages[1]", message).unwrap();
    assert_eq!(request.edits().len(), 1);
}

#[test]
fn a_section_has_at_most_one_text() {
    let mut request = request();
    for (number, before) in [
        (1, "Be brief"),
        (2, "Read both"),
        (4, "one"),
        (6, "And this?"),
        (7, "Reads"),
    ] {
        let change = request.set_text(number, "new").unwrap();
        let Some(Edit::Set { old, .. }) = change.edit else {
            panic!("{change}")
        };
        assert_eq!(old, Some(json!(before).to_string()));
    }
    let error = request.set_text(8, "new").unwrap_err();
    assert_eq!(
        error.to_string(),
        "section 8 has no single text: name the leaf; nearest: model"
    );
    let error = request.set_text(9, "new").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no section 9: this request has sections 1 to 8"
    );
}

#[test]
fn edits_are_counted_by_what_they_leave() {
    let mut request = request();
    let mut check = |edit: &dyn Fn(&mut EditableRequest) -> Result<Change, EditError>, count| {
        edit(&mut request).unwrap();
        assert_eq!(Edit::net_count(request.edits()), count);
        assert_eq!(request.difference_count(), count);
    };
    check(&|it| it.set_text(2, "once"), 1);
    check(&|it| it.set_text(2, "twice"), 1);
    check(&|it| it.set("max_tokens", "7"), 2);
    check(&|it| it.delete(2), 3);
    check(&|it| it.restore(2), 2);
    check(&|it| it.reset(), 0);
    check(&|it| it.undo(), 2);
    check(&|it| it.set_text(2, "Read both"), 1);
}

#[test]
fn what_says_the_same_is_no_edit() {
    let mut request = request();
    let change = request.set("model", "small").unwrap();
    assert_eq!((change.edit, request.edits().len()), (None, 0));
    request.set("model", "other").unwrap();
    request.set("model", "small").unwrap();
    assert!(!request.is_dirty());
    assert_eq!(request.edits().len(), 2);
}

#[test]
fn an_outdated_edit_is_refused() {
    let mut request = request();
    let change = request.set("model", "one").unwrap();
    request.set("model", "two").unwrap();
    let error = request.apply(change.edit.unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model has changed since this edit was made"
    );
    let sections = vec![SectionId::Message(1)];
    let error = request.apply(Edit::Delete { sections }).unwrap_err();
    assert_eq!(
        error,
        EditError::Outdated {
            path: "message:1".to_owned()
        }
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_laws_hold(
        body in prop::collection::vec(any::<u8>(), 0..20),
        edits in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        laws::hold(&body, &edits).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
    }

    #[test]
    fn no_text_is_a_path_that_panics(text in "[a-z.\\[\\]\"0-9$ ß\\\\]{0,12}") {
        if let Ok(path) = text.parse::<Path>() {
            prop_assert_eq!(path.to_string().parse::<Path>(), Ok(path));
        }
    }
}
