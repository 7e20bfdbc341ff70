use super::*;

use proptest::prelude::*;
use serde_json::json;

fn tools() -> Arc<[Tool]> {
    let tool = |name: &str, parameters: Value| Tool {
        name: name.to_owned(),
        plugin: name.to_owned(),
        description: String::new(),
        parameters,
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    };
    Arc::new([
        tool(
            "read_file",
            json!({
                "type": "object",
                "properties": {"file_path": {"type": "string"}, "start_line": {"type": "integer"}},
                "required": ["file_path"],
            }),
        ),
        tool("read_files", json!({"type": "object", "properties": {}})),
        tool(
            "run",
            json!({
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
            }),
        ),
    ])
}

/// What the pieces come to: the text, and the calls behind `=>`.
fn read(pieces: &[&str], whole: bool) -> String {
    let mut calls = TextCalls::new(tools());
    let mut text = String::new();
    for piece in pieces {
        calls.text(piece, &mut text);
    }
    for call in calls.end(whole, &mut text) {
        text += &format!("=>{} {}", call.tool, Value::Object(call.arguments));
    }
    text
}

/// The message comes to this, in one piece, cut in two anywhere, and character by character.
#[track_caller]
fn check(message: &str, expected: &str) {
    assert_eq!(read(&[message], true), expected, "{message:?}");
    for (cut, _) in message.char_indices() {
        let (head, tail) = message.split_at(cut);
        assert_eq!(read(&[head, tail], true), expected, "{message:?} at {cut}");
    }
    let single: Vec<String> = message.chars().map(String::from).collect();
    let single: Vec<&str> = single.iter().map(String::as_str).collect();
    assert_eq!(read(&single, true), expected, "{message:?} by characters");
}

/// The message is this one call, with nothing printed.
#[track_caller]
fn is_call(message: &str) {
    check(message, "=>read_file {\"file_path\":\"a\"}");
}

#[track_caller]
fn stays_text(message: &str) {
    check(message, message);
}

const CALL: &str = r#"{"name": "read_file", "arguments": {"file_path": "a"}}"#;

#[test]
fn bare_objects() {
    is_call(CALL);
    is_call(&format!("\n  {CALL}\n"));
    is_call(r#"{"toolname":"read_file","arguments":{"file_path":"a"}}"#);
    is_call(r#"{"tool":"read_file","parameters":{"file_path":"a"}}"#);
    is_call(r#"{"tool_name":"read_file","args":{"file_path":"a"}}"#);
    is_call(r#"{"function":"read_file","input":{"file_path":"a"}}"#);
    is_call(r#"{"function":{"name":"read_file","arguments":{"file_path":"a"}}}"#);
    is_call(
        r#"{"id":"x","type":"function","function":{"name":"read_file","arguments":"{\"file_path\":\"a\"}"}}"#,
    );
    is_call(
        r#"{"tool_calls":[{"id":"x","function":{"name":"read_file","arguments":{"file_path":"a"}}}]}"#,
    );
    is_call(r#"{"arguments":{"file_path":"a"},"name":"functions.read_file"}"#);
    is_call(r#"[{"name":"read_file","parameters":{"file_path":"a"}}]"#);
    is_call(&format!("<|python_tag|>{CALL}<|eom_id|>"));
    is_call(r#"functions.read_file:0 {"file_path":"a"}"#);
    is_call("functions.read_file\n{\"file_path\":\"a\"}");
    check(
        &format!(
            "{CALL}\n{}",
            r#"{"name":"run","arguments":{"command":"ls"}}"#
        ),
        "=>read_file {\"file_path\":\"a\"}=>run {\"command\":\"ls\"}",
    );
}

#[test]
fn fences() {
    is_call(&format!("```json\n{CALL}\n```"));
    is_call(&format!("```\n{CALL}\n```\n"));
    is_call(&format!("```tool_call\n{CALL}\n```"));
    is_call(&format!("```json\n{CALL}\n"));
    check(
        &format!("I will read it.\n\n```json\n{CALL}\n```"),
        "I will read it.\n\n=>read_file {\"file_path\":\"a\"}",
    );
}

#[test]
fn tags() {
    is_call(&format!("<tool_call>\n{CALL}\n</tool_call>"));
    is_call(&format!("<tool_call>{CALL}"));
    is_call(&format!("<tool_call>[{CALL}]</tool_call>"));
    is_call(&format!("<tool_calls>[{CALL}]</tool_calls>"));
    is_call(&format!("<function_call>{CALL}</function_call>"));
    is_call(&format!("<|tool_call|>[{CALL}]<|/tool_call|>"));
    is_call("<function=read_file>{\"file_path\":\"a\"}</function>");
    is_call(
        "<function=read_file>\n<parameter=file_path>\na\n</parameter>\n</function>\n</tool_call>",
    );
    is_call(
        "<tool_call>\n<function=read_file>\n<parameter=file_path>\na\n</parameter>\n</function>\n</tool_call>",
    );
    is_call(
        "<tool_call>read_file\n<arg_key>file_path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    );
    is_call(&format!("[TOOL_CALLS][{CALL}]"));
    is_call(&format!("[TOOL_CALLS] {CALL}</s>"));
    is_call("[TOOL_CALLS]read_file{\"file_path\":\"a\"}");
    is_call("[TOOL_CALLS]read_file[ARGS]{\"file_path\":\"a\"}");
    is_call("[TOOL_CALLS]read_file[CALL_ID]abc123def[ARGS]{\"file_path\":\"a\"}");
    is_call(
        "<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"file_path\":\"a\"}<|tool_call_end|>",
    );
    is_call(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:12<|tool_call_argument_begin|>{\"file_path\":\"a\"}<|tool_call_end|><|tool_calls_section_end|>",
    );
    is_call(
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"file_path\":\"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    );
    is_call(
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"file_path\":\"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    );
    check(
        &format!("So.<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>"),
        "So.=>read_file {\"file_path\":\"a\"}=>read_file {\"file_path\":\"a\"}",
    );
    // Behind prose, on a line of its own.
    check(
        &format!("Let me look.\n{CALL}\n"),
        "Let me look.\n=>read_file {\"file_path\":\"a\"}",
    );
    check(
        "{ braces }\n\n{\"toolname\": \"read_file\", \"parameters\": {\"file_path\": \"a\"}}",
        "{ braces }\n\n=>read_file {\"file_path\":\"a\"}",
    );
    check(
        "<function=read_file><parameter=file_path>7</parameter><parameter=start_line>7</parameter></function>",
        "=>read_file {\"file_path\":\"7\",\"start_line\":7}",
    );
}

#[test]
fn what_is_no_call() {
    for message in [
        // No such tool, no such arguments.
        r#"{"name": "Bob", "arguments": {"file_path": "a"}}"#,
        r#"{"name": "read_fil", "arguments": {"file_path": "a"}}"#,
        r#"{"name": "Read_File", "arguments": {"file_path": "a"}}"#,
        r#"{"name": "read_file", "arguments": {"path": "a"}}"#,
        r#"{"name": "read_file", "arguments": {"file_path": 1}}"#,
        r#"{"name": "read_file", "arguments": []}"#,
        r#"{"name": "read_file"}"#,
        // More than a call.
        r#"{"name": "read_file", "arguments": {"file_path": "a"}, "age": 7}"#,
        r#"{"name": "read_file", "name": "run", "arguments": {"command": "a"}}"#,
        // Other JSON.
        r#"{"a": 1}"#,
        "{}",
        "[]",
        "[1, 2]",
        "[link](b)",
        "{ braces }",
        "```json\n{\"a\": 1}\n```",
        "```rust\nfn f() {}\n```",
        "```\n",
        "```",
        "``",
        // Not at its end.
        r#"{"name": "read_file", "arguments": {"file_path": "a"#,
        "<tool_call>",
        "<tool_call>{\"name\": \"read_file\"",
        "<tool",
        "functions.read_file",
        "functions.read_file:0",
        "functions are values",
        "[TOOL_CALLS]",
        "<|tool_call_begin|>functions.read_file:0<|tool_call_end|>",
        "",
        " ",
        "plain",
    ] {
        stays_text(message);
    }
    // Something before a bare one, something behind any.
    stays_text(&format!("Like this: {CALL}"));
    stays_text(&format!("Like this:\n{CALL}\nand wait."));
    stays_text(&format!("Like this:\n    {CALL}"));
    stays_text("Well.\n{\n  braces }");
    stays_text(&format!("{CALL} is how it is done."));
    stays_text(&format!("Write:\n```json\n{CALL}\n```\nand wait."));
    stays_text(&format!(
        "<tool_call>{CALL}</tool_call> is what it looks like."
    ));
    stays_text(&format!(
        "<tool_call>{CALL}</tool_call>\n<tool_call>{{}}</tool_call>"
    ));
    // In code.
    stays_text(&format!("`<tool_call>{CALL}</tool_call>`"));
    stays_text(&format!(
        "```xml\nexample\n<tool_call>{CALL}</tool_call>\n```"
    ));
    stays_text(&format!("```python\n<tool_call>{CALL}</tool_call>"));
    stays_text(&format!("```json\n{CALL}\n{{\"a\": 1}}\n```"));
}

#[test]
fn a_refused_beginning_hides_no_later_one() {
    check(
        &format!("The tag <tool_call> is next.\n<tool_call>{CALL}</tool_call>"),
        "The tag <tool_call> is next.\n=>read_file {\"file_path\":\"a\"}",
    );
    check(
        &format!("```json\n{{\"a\": 1}}\n```\n```json\n{CALL}\n```"),
        "```json\n{\"a\": 1}\n```\n=>read_file {\"file_path\":\"a\"}",
    );
}

#[test]
fn text_is_held_back_only_while_it_can_be_a_call() {
    let mut calls = TextCalls::new(tools());
    let mut shown = |piece: &str| {
        let mut text = String::new();
        calls.text(piece, &mut text);
        text
    };
    assert_eq!(shown("{\"na"), "");
    assert_eq!(shown("me\": \"Bo"), "{\"name\": \"Bo");
    assert_eq!(shown("b\"}"), "b\"}");
    assert_eq!(shown(" < b"), " < b");
    assert_eq!(shown(" <"), " ");
    assert_eq!(shown("b"), "<b");
}

#[test]
fn parts_of_replies_are_text() {
    assert_eq!(read(&[CALL], false), CALL);
    let mut calls = TextCalls::new(tools());
    let mut text = String::new();
    calls.text(CALL, &mut text);
    assert_eq!(text, "");
    calls.off(&mut text);
    assert_eq!(text, CALL);
    assert!(calls.end(true, &mut text).is_empty());
    let mut calls = TextCalls::new(Arc::new([]));
    let mut text = String::new();
    calls.text(CALL, &mut text);
    assert_eq!(text, CALL);
}

#[test]
fn what_is_held_is_bounded() {
    let mut calls = TextCalls::new(tools());
    let mut text = String::new();
    calls.text(
        "{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"",
        &mut text,
    );
    let piece = "x".repeat(4096);
    for _ in 0..=MAX_HELD_BYTES / piece.len() * 2 {
        calls.text(&piece, &mut text);
    }
    assert!(text.len() > MAX_HELD_BYTES);
    assert!(calls.held.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    /// However a message is cut, the same comes out; and without calls it is the message itself.
    #[test]
    fn chunk_boundaries_change_nothing(
        words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let message = words.concat();
        let mut cuts: Vec<usize> = cuts
            .iter()
            .map(|cut| message.floor_char_boundary(cut.index(message.len() + 1)))
            .collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut start = 0;
        for cut in cuts.into_iter().chain([message.len()]) {
            pieces.push(&message[start..cut]);
            start = cut;
        }
        let at_once = read(&[&message], true);
        prop_assert_eq!(&read(&pieces, true), &at_once);
        if !at_once.contains("=>") {
            prop_assert_eq!(&at_once, &message);
        } else {
            let printed = at_once.split("=>").next().unwrap_or_default();
            prop_assert!(message.starts_with(printed));
        }
        prop_assert_eq!(&read(&pieces, false), &message);
    }
}

const WORDS: [&str; 40] = [
    CALL,
    "{\"name\":\"run\",\"arguments\":{\"command\":\"ls\"}}",
    "{\"name\": \"",
    "read_file",
    "run",
    "\", \"arguments\": ",
    "{\"file_path\": \"a\"}",
    "}",
    "{",
    "[",
    "]",
    ",",
    "\"",
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function=",
    ">",
    "<parameter=file_path>",
    "a",
    "</parameter>",
    "</function>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "functions.",
    ":0",
    "```",
    "```json\n",
    "\n",
    " ",
    "`",
    "<arg_key>file_path</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
];

#[test]
fn beginnings_that_come_to_nothing_are_not_read_for_ever() {
    let beginnings = "<function=read_file><parameter=a>".repeat(4 * MAX_REFUSED);
    let message = beginnings + "</parameter></function>";
    assert_eq!(read(&[&message], true), message);
    let long = format!("<tool_call>{}", "x".repeat(2 * MAX_HELD_BYTES));
    assert_eq!(read(&[&long], true), long);
}
