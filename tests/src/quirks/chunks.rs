//! What stands in the chunks: choices, usage, reasoning, content, reasons.

use serde_json::{Value, json};

use super::case::{Case, read};
use crate::provider::Response;

fn stream() -> Response {
    Response::stream()
}

fn choice(choice: Value) -> Value {
    json!({ "choices": [choice] })
}

const USAGE: &str = r#"{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}"#;

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn cases() -> Vec<Case> {
    let says = |name, answer: Response| Case::says(name, answer, "Hi there");
    let usage: Value = serde_json::from_str(USAGE).unwrap_or_default();
    let hi = || stream().text("Hi");
    let thought =
        |name, answer: Response| Case::says(name, answer.finish("stop"), "Hi there").without("hmm");
    let mentioned =
        |name, text: &str| Case::says(name, stream().text(text).finish("stop"), text.trim_end());
    let reason =
        |name, reason: &str| Case::says(name, stream().text("Hi there").finish(reason), "Hi there");
    vec![
        // Choices and usage.
        says("no choices in the first chunk", stream().event(&json!({"choices": [], "prompt_filter_results": []})).text("Hi there").finish("stop")),
        says("chunks without choices", stream().event(&json!({"id": "x"})).text("Hi there").event(&json!({})).finish("stop")),
        says("choices that are null", stream().event(&json!({"choices": null})).text("Hi there").finish("stop")),
        says("no choices in the chunk with usage", hi().text(" there").finish_reason("stop").event(&json!({"choices": [], "usage": usage})).done()),
        says("usage without choices", hi().text(" there").finish_reason("stop").event(&json!({"usage": usage})).done()),
        says("usage that is null in every chunk", stream().event(&json!({"choices": [{"index": 0, "delta": {"content": "Hi there"}}], "usage": null})).finish("stop")),
        says(
            "usage in every chunk",
            stream()
                .event(&json!({"choices": [{"index": 0, "delta": {"content": "Hi"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}))
                .event(&json!({"choices": [{"index": 0, "delta": {"content": " there"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}))
                .finish("stop"),
        ),
        says("usage in the chunk with the reason", hi().text(" there").event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})).done()),
        says("usage before the text", stream().event(&json!({"choices": [], "usage": usage})).text("Hi there").finish("stop")),
        says("another choice beside the first", stream().event(&json!({"choices": [{"index": 1, "delta": {"content": "No"}}, {"index": 0, "delta": {"content": "Hi there"}}]})).finish("stop")).without("No"),
        says("choices without an index", stream().event(&choice(json!({"delta": {"content": "Hi there"}}))).event(&choice(json!({"delta": {}, "finish_reason": "stop"}))).done()),
        says("a chunk that is a list", stream().event(&json!([])).text("Hi there").finish("stop")),
        says("choices that are an object", stream().event(&json!({"choices": {}})).text("Hi there").finish("stop")),
        // Content.
        says("content that is null", stream().delta(json!({"role": "assistant", "content": null})).text("Hi there").finish("stop")),
        says("content that is empty", stream().delta(json!({"role": "assistant", "content": ""})).text("Hi").text("").text(" there").finish("stop")),
        says("no content", stream().delta(json!({"role": "assistant"})).text("Hi there").delta(json!({})).finish("stop")),
        says("no delta", stream().event(&choice(json!({"index": 0}))).text("Hi there").finish("stop")),
        says("a delta that is null", stream().event(&choice(json!({"index": 0, "delta": null}))).text("Hi there").finish("stop")),
        says("content in parts", stream().delta(json!({"content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": " there"}]})).finish("stop")),
        says("content in parts that are texts", stream().delta(json!({"content": ["Hi", " there"]})).finish("stop")),
        says("content in parts of which one is none", stream().delta(json!({"content": [{"type": "text", "text": "Hi there"}, 7, null]})).finish("stop")),
        says("content that is a number", stream().delta(json!({"content": 7})).text("Hi there").finish("stop")),
        says("a refusal", stream().delta(json!({"content": null, "refusal": "Hi there"})).finish("stop")),
        says("a message instead of deltas", stream().event(&choice(json!({"index": 0, "message": {"role": "assistant", "content": "Hi there"}, "finish_reason": "stop"}))).done()),
        says(
            "the whole message again at the end",
            hi().text(" there").event(&choice(json!({"index": 0, "message": {"content": "Hi there"}, "finish_reason": "stop"}))).done(),
        ),
        says("fields that nobody knows", stream().delta(json!({"content": "Hi there", "audio": {}, "x": [1]})).finish("stop")),
        Case::says("content with escape sequences", stream().text("Hi\u{1b}[2J there\u{1b}]0;x\u{7}").finish("stop"), "Hi there").without("\u{1b}"),
        Case::says("nothing but white space", stream().text(" \n").finish("stop"), ""),
        // Reasoning.
        thought("reasoning_content", stream().reasoning("hmm").text("Hi there")),
        thought("reasoning", stream().delta(json!({"reasoning": "hmm"})).text("Hi there")),
        thought("thinking", stream().delta(json!({"thinking": "hmm"})).text("Hi there")),
        thought("reasoning twice under two names", stream().delta(json!({"reasoning": "hmm", "reasoning_content": "hmm"})).text("Hi there")),
        thought("reasoning in details", stream().delta(json!({"reasoning_details": [{"type": "reasoning.text", "text": "hmm"}]})).text("Hi there")),
        thought("reasoning beside the text", stream().delta(json!({"reasoning_content": "hmm", "content": "Hi there"}))),
        thought("reasoning behind the text", stream().text("Hi there").reasoning("hmm")),
        thought("reasoning that is empty beside the text", stream().delta(json!({"reasoning_content": "", "reasoning": null, "content": "Hi there"}))),
        thought(
            "thoughts in parts of the content",
            stream()
                .delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}]}))
                .delta(json!({"content": [{"type": "text", "text": "Hi there"}]})),
        ),
        Case::calls(
            "reasoning is not sent back unless it is wanted",
            stream().reasoning("hmm, so").call_start(0, "a", "read_file").call_arguments(0, r#"{"file_path":"a.txt"}"#).finish("tool_calls"),
            &[read("a.txt")],
        )
        .without("hmm, so"),
        Case::says("reasoning and nothing else", stream().reasoning("hmm").finish("stop"), "").saying("the model said nothing").without("hmm"),
        // Thoughts in the text.
        thought("a thought in tags", stream().text("<think>\nhmm\n</think>\n\nHi there")),
        thought("a thought in tags, cut anywhere", stream().text("<th").text("ink>").text("h").text("mm<").text("/thi").text("nk>").text("\n\n").text("Hi there")),
        thought("a thought in tags behind white space", stream().text("\n <think>hmm</think>Hi there")),
        thought("a thought of another tag", stream().text("<thinking>hmm</thinking>Hi there")),
        thought("a thought of a third tag", stream().text("<thought>hmm</thought>\nHi there")),
        thought("a thought in brackets", stream().text("[THINK]hmm[/THINK]Hi there")),
        thought("a thought in signs", stream().text("◁think▷hmm◁/think▷Hi there")),
        thought("an empty thought", stream().text("<think>\n\n</think>\n\nHi there")),
        thought("two thoughts", stream().text("<think>hmm</think>\n<think>hmm</think>\nHi there")),
        thought("the closing tag alone", stream().text("Okay, hmm.").text(" I say it.\n</think>\n\n").text("Hi there")),
        thought("the closing tag alone, without line ends", stream().text("Let me think, hmm.</think>").text("Hi there")),
        Case::calls(
            "a thought in tags before a call",
            stream().text("<think>hmm</think>\n").call_start(0, "a", "read_file").call_arguments(0, r#"{"file_path":"a.txt"}"#).finish("tool_calls"),
            &[read("a.txt")],
        )
        .without("hmm"),
        Case::calls(
            "a thought that a call ends",
            stream().text("<think>hmm").call_start(0, "a", "read_file").call_arguments(0, r#"{"file_path":"a.txt"}"#).finish("tool_calls"),
            &[read("a.txt")],
        )
        .without("hmm"),
        Case::says("a thought cut at the token limit", stream().text("<think>hmm").finish("length"), "").saying("cut off").without("hmm"),
        Case::fails("a thought that breaks off", stream().text("<think>hmm"), "", "ended in the middle").without("hmm"),
        mentioned("a tag that is never closed", "<think> is how it begins."),
        mentioned("tags in code", "Write `<think>` and `</think>` around it."),
        mentioned("tags in a fence", "So:\n\n```\n<think>\nhmm\n</think>\n```\n\nThat is all."),
        mentioned("a tag within the text", "It ends with </think> and goes on."),
        mentioned("both tags within the text", "Models write <think>hmm</think> for it."),
        mentioned("the beginning of a tag", "<thinner than this"),
        mentioned("half a tag at the end", "1 < 2, and <thi"),
        // Reasons.
        says("the reason beside the last text", hi().event(&choice(json!({"index": 0, "delta": {"content": " there"}, "finish_reason": "stop"}))).done()),
        says("the reason in a chunk of its own", hi().text(" there").finish("stop")),
        says("the reason twice", hi().text(" there").finish_reason("stop").finish("stop")),
        says("an empty reason in every chunk", stream().event(&choice(json!({"index": 0, "delta": {"content": "Hi there"}, "finish_reason": ""}))).finish("stop")),
        says("text behind the reason", hi().finish_reason("stop").text(" there").done()),
        reason("the reason end_turn", "end_turn"),
        reason("the reason eos", "eos"),
        reason("the reason function_call without one", "function_call"),
        reason("the reason tool_calls without one", "tool_calls"),
        reason("the reason content_filter", "content_filter").saying("content_filter"),
        reason("a reason that nobody knows", "because").saying("because"),
        reason("the token limit", "length").saying("cut off"),
        reason("the token limit under another name", "max_tokens").saying("cut off"),
    ]
}
