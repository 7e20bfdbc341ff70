//! Calls that arrive as text, and text that only looks like one.

use super::case::{Case, read, unread};
use crate::provider::Response;

const CALL: &str = r#"{"name": "read_file", "arguments": {"file_path": "a.txt"}}"#;
const OTHER: &str = r#"{"name": "read_file", "arguments": {"file_path": "b.txt"}}"#;

/// The text in pieces of a few characters, as models write.
fn stream(text: &str) -> Response {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(4)
        .fold(Response::stream(), |stream, piece| {
            stream.text(&piece.iter().collect::<String>())
        })
}

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases() -> Vec<Case> {
    // The mark is for the user, and nothing of the text is printed or sent back as such.
    let call = |name, text: &str| {
        Case::calls(name, stream(text).finish("stop"), &[read("a.txt")]).saying("as text")
    };
    let text = |name, text: &str| {
        Case::says(
            name,
            stream(text).finish("stop"),
            text.trim_end_matches('\n'),
        )
    };
    vec![
        // Bare.
        call("a bare object", CALL),
        call(
            "a bare object with line ends",
            "\n{\n  \"name\": \"read_file\",\n  \"arguments\": {\n    \"file_path\": \"a.txt\"\n  }\n}\n",
        ),
        call(
            "toolname and arguments",
            r#"{"toolname":"read_file","arguments":{"file_path":"a.txt"}}"#,
        ),
        call(
            "tool and parameters",
            r#"{"tool":"read_file","parameters":{"file_path":"a.txt"}}"#,
        ),
        call(
            "tool_name and args",
            r#"{"tool_name":"read_file","args":{"file_path":"a.txt"}}"#,
        ),
        call(
            "name and parameters",
            r#"{"name":"read_file","parameters":{"file_path":"a.txt"}}"#,
        ),
        call(
            "arguments before the name",
            r#"{"arguments":{"file_path":"a.txt"},"name":"read_file"}"#,
        ),
        call(
            "arguments as a text",
            r#"{"name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"}"#,
        ),
        call(
            "a function within an object",
            r#"{"type":"function","function":{"name":"read_file","arguments":{"file_path":"a.txt"}}}"#,
        ),
        call(
            "a list of calls in an object",
            r#"{"tool_calls":[{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"}}]}"#,
        ),
        call("a list of calls", &format!("[{CALL}]")),
        call(
            "a name with functions. before it",
            r#"{"name":"functions.read_file","arguments":{"file_path":"a.txt"}}"#,
        ),
        call("the mark of Llama", &format!("<|python_tag|>{CALL}")),
        call(
            "the end of the message behind it",
            &format!("{CALL}<|im_end|>"),
        ),
        call(
            "functions. and a number",
            r#"functions.read_file:0 {"file_path": "a.txt"}"#,
        ),
        Case::calls(
            "two bare objects",
            stream(&format!("{CALL}\n{OTHER}")).finish("stop"),
            &[read("a.txt"), read("b.txt")],
        ),
        // Fences.
        call("a fence", &format!("```json\n{CALL}\n```")),
        call("a fence without a label", &format!("```\n{CALL}\n```\n")),
        call(
            "a fence labelled tool_call",
            &format!("```tool_call\n{CALL}\n```"),
        ),
        call("a fence that is not closed", &format!("```json\n{CALL}\n")),
        call(
            "a fence at the end",
            &format!("I will read it.\n\n```json\n{CALL}\n```"),
        )
        .printing("I will read it."),
        Case::calls(
            "two fences",
            stream(&format!("```json\n{CALL}\n```\n\n```json\n{OTHER}\n```")).finish("stop"),
            &[read("a.txt"), read("b.txt")],
        ),
        // Tags.
        call(
            "tool_call tags",
            &format!("<tool_call>\n{CALL}\n</tool_call>"),
        ),
        call(
            "tool_call tags behind text",
            &format!("I will read it.\n<tool_call>\n{CALL}\n</tool_call>"),
        )
        .printing("I will read it."),
        call(
            "a tool_call tag that is not closed",
            &format!("<tool_call>\n{CALL}"),
        ),
        Case::calls(
            "two pairs of tool_call tags",
            stream(&format!(
                "<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{OTHER}\n</tool_call>"
            ))
            .finish("stop"),
            &[read("a.txt"), read("b.txt")],
        ),
        call(
            "function_call tags",
            &format!("<function_call>{CALL}</function_call>"),
        ),
        call(
            "a function tag with an object",
            r#"<function=read_file>{"file_path": "a.txt"}</function>"#,
        ),
        call(
            "a function tag with parameters",
            "<tool_call>\n<function=read_file>\n<parameter=file_path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        ),
        call(
            "a function tag, only the outer one is closed",
            "<function=read_file>\n<parameter=file_path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        ),
        call(
            "pairs of keys and values",
            "<tool_call>read_file\n<arg_key>file_path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>",
        ),
        call(
            "the mark of Mistral and a list",
            &format!("[TOOL_CALLS][{CALL}]"),
        ),
        call(
            "the mark of Mistral and a name",
            r#"[TOOL_CALLS]read_file{"file_path": "a.txt"}"#,
        ),
        call(
            "the marks of Mistral for name and arguments",
            r#"[TOOL_CALLS]read_file[ARGS]{"file_path": "a.txt"}"#,
        ),
        call(
            "the marks of Kimi",
            r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"file_path": "a.txt"}<|tool_call_end|><|tool_calls_section_end|>"#,
        ),
        call(
            "the marks of Kimi without the outer ones",
            r#"<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"file_path": "a.txt"}<|tool_call_end|>"#,
        ),
        call(
            "the marks of DeepSeek",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"file_path\": \"a.txt\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        call("the mark of Granite", &format!("<|tool_call|>[{CALL}]")),
        call(
            "behind a thought",
            &format!("<think>\nhmm\n</think>\n\n{CALL}"),
        )
        .without("hmm"),
        call("the reason says tool_calls", CALL),
        // What is none.
        text(
            "a tool that is not there",
            r#"{"name": "open_file", "arguments": {"file_path": "a.txt"}}"#,
        ),
        text(
            "a name in the wrong case within text",
            r#"{"name": "Read_File", "arguments": {"file_path": "a.txt"}}"#,
        ),
        text(
            "arguments that do not fit",
            r#"{"name": "read_file", "arguments": {"path": "a.txt"}}"#,
        ),
        text(
            "arguments of the wrong type",
            r#"{"name": "read_file", "arguments": {"file_path": 7}}"#,
        ),
        text(
            "an object about something else",
            "{\n  \"name\": \"Bob\",\n  \"age\": 7\n}",
        ),
        text(
            "an object with more than a call",
            r#"{"name": "read_file", "arguments": {"file_path": "a.txt"}, "comment": "so"}"#,
        ),
        text("a list of numbers", "[1, 2, 3]"),
        text(
            "an example before its explanation",
            &format!("```json\n{CALL}\n```\nThis is what a call looks like."),
        ),
        text(
            "an example within an explanation",
            &format!("A call looks like this:\n\n```json\n{CALL}\n```\n\nThe result comes next."),
        ),
        text(
            "an example in a line",
            &format!("Models write {CALL} for it."),
        ),
        text(
            "an example in code",
            &format!("Qwen writes `<tool_call>{CALL}</tool_call>` for it."),
        ),
        text(
            "an example in a fence of XML",
            &format!("```xml\n<example><tool_call>{CALL}</tool_call></example>\n```"),
        ),
        text(
            "text behind tool_call tags",
            &format!("<tool_call>{CALL}</tool_call>\n\nThe file says:"),
        ),
        text(
            "one call of two that is none",
            &format!("<tool_call>{CALL}</tool_call>\n<tool_call>{{\"name\": \"x\"}}</tool_call>"),
        ),
        text("a tag and no call", "The tag <tool_call> begins one."),
        text("code in a fence", "```rust\nfn main() {}\n```"),
        text("JSON in a fence", "```json\n{\"a\": [1, 2]}\n```"),
        text("a brace", "{ is a brace"),
        text(
            "half a call",
            r#"{"name": "read_file", "arguments": {"file_path": "a.t"#,
        ),
        Case::says(
            "a call as text cut at the token limit",
            stream(CALL).finish("length"),
            CALL,
        )
        .saying("cut off"),
        Case::fails(
            "a call as text in a stream that never finished",
            stream(CALL),
            CALL,
            "ended in the middle",
        ),
        Case::calls(
            "a call as text beside one of the protocol",
            stream(CALL)
                .call_start(0, "a", "read_file")
                .call_arguments(0, r#"{"file_path":"b.txt"}"#)
                .finish("tool_calls"),
            &[read("b.txt")],
        )
        .printing(CALL),
        Case::calls(
            "the same call as text twice",
            stream(&format!(
                "<tool_call>{CALL}</tool_call><tool_call>{CALL}</tool_call>"
            ))
            .finish("stop"),
            &[
                read("a.txt"),
                unread(serde_json::json!({"file_path": "a.txt"}), "not run again"),
            ],
        ),
    ]
}
