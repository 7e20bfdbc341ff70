//! Refusals by endpoints whose requests consist of parts, and of efforts.

use dunlin_chat::media::samples::{document, picture};

use super::*;

/// A request in blocks: with an effort, marks of the cache, and reasoning that goes back.
fn in_blocks() -> Value {
    json!({
        "model": "small",
        "max_tokens": 32_000,
        "system": [{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Read it"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "it"}]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low"},
        "temperature": 0.2,
    })
}

#[test]
fn refusals_of_what_stands_in_blocks() {
    let of_blocks = Profile {
        reasoning: ReasoningEcho::WithCalls,
        ..Profile::default()
    };
    let check = |sentence: &str, sent: &Value, expected: &str| {
        let fallbacks = Fallbacks::new(of_blocks.clone());
        assert_eq!(
            taught_by(&fallbacks, 400, sentence, sent),
            expected,
            "{sentence}"
        );
    };
    let sent = in_blocks();
    for (sentence, expected) in [
        (
            "adaptive thinking is not supported on this model",
            "effort Switch",
        ),
        (
            "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
            "effort Switch",
        ),
        (
            "thinking.adaptive.display: Extra inputs are not permitted",
            "effort Switch",
        ),
        (
            "This model does not support the effort parameter.",
            "effort Switch",
        ),
        (
            "This model does not support thinking",
            "without {\"reasoning_effort\"}, said",
        ),
        (
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode",
            "without {\"temperature\"}, said",
        ),
        (
            "`temperature` is deprecated for this model.",
            "without {\"temperature\"}, said",
        ),
        (
            "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
            "at most 8192, said",
        ),
        (
            "system.0.cache_control: Extra inputs are not permitted",
            "without {\"cache_control\"}, said",
        ),
        (
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "without {\"replay\"}, said",
        ),
        (
            "messages.1.content.0: this `thinking` block belongs to a different conversation",
            "without {\"replay\"}, said",
        ),
        ("messages: text content blocks must be non-empty", "nothing"),
        (
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: a",
            "nothing",
        ),
    ] {
        check(sentence, &sent, expected);
    }
    let mut budget = in_blocks();
    budget["thinking"] = json!({"type": "enabled", "budget_tokens": 4000});
    check(
        "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
        &budget,
        "without {\"reasoning_effort\"}, said",
    );
    check(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
        &budget,
        "without {\"reasoning_effort\"}, said",
    );
    let mut disabled = in_blocks();
    disabled["thinking"] = json!({"type": "disabled"});
    check(
        "\"thinking.type.disabled\" is not supported for this model.",
        &disabled,
        "without {\"reasoning_effort\"}, said",
    );
}

#[test]
fn refusals_of_items() {
    let sent = json!({
        "model": "m",
        "input": [
            {"role": "user", "content": "Read it"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "it"},
        ],
        "reasoning": {"effort": "low", "summary": "auto"},
        "temperature": 0.2,
        "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    for (sentence, expected) in [
        (
            "Encrypted content is not supported with this model.",
            "without {\"include\"}",
        ),
        (
            "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com",
            "without {\"reasoning.summary\"}, said",
        ),
        (
            "Unsupported parameter: 'reasoning.summary' is not supported with the 'o1' model.",
            "without {\"reasoning.summary\"}, said",
        ),
        (
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            "without {\"reasoning_effort\"}, said",
        ),
        (
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "without {\"temperature\"}, said",
        ),
        (
            "The encrypted content gAAA...c90= could not be verified.",
            "without {\"replay\"}, said",
        ),
        (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            "without {\"replay\"}, said",
        ),
        (
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
            "without {\"replay\"}, said",
        ),
        ("No tool output found for function call a.", "nothing"),
        ("Invalid type for 'input[1]'", "nothing"),
        // Whether the server keeps the conversation is not for it to choose.
        ("Unsupported parameter: 'store'", "nothing"),
    ] {
        let fallbacks = Fallbacks::new(Profile {
            include_usage: false,
            reasoning: ReasoningEcho::WithCalls,
            ..Profile::default()
        });
        let learned = taught_by(&fallbacks, 400, sentence, &sent);
        assert_eq!(learned, expected, "{sentence}");
    }
}

#[test]
fn refusals_of_an_effort_elsewhere() {
    let check = |sent: Value, sentence: &str, expected: &str| {
        let fallbacks = Fallbacks::new(Profile::default());
        assert_eq!(
            taught_by(&fallbacks, 400, sentence, &sent),
            expected,
            "{sentence}"
        );
    };
    let left_out = "without {\"reasoning_effort\"}, said";
    let completions = || json!({"model": "m", "messages": [], "reasoning_effort": "none"});
    check(
        completions(),
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model.",
        left_out,
    );
    check(
        completions(),
        "Unrecognized request argument supplied: reasoning_effort",
        left_out,
    );
    check(completions(), "Invalid model", "nothing");
    let ollama = |think: Value| json!({"model": "m", "messages": [], "think": think});
    check(
        ollama(json!("low")),
        "think value \"low\" is not supported for this model",
        "effort Switch",
    );
    check(
        ollama(json!("low")),
        "\"smollm\" does not support thinking",
        left_out,
    );
    check(
        ollama(json!(true)),
        "\"smollm\" does not support thinking",
        left_out,
    );
}

#[test]
fn refusals_of_images_and_documents() {
    let image = json!({"type": "image_url", "image_url": {"url": picture("", 8, 6).data_url()}});
    let file = json!({"type": "file", "file": {"file_data": document("", 1).data_url()}});
    let sent = |parts: &[&Value]| json!({"messages": [{"role": "user", "content": parts}]});
    let check = |status: u16, sentence: &str, sent: Value, expected: &str| {
        let fallbacks = Fallbacks::new(Profile::default());
        let taught = taught_by(&fallbacks, status, sentence, &sent);
        assert_eq!(taught, expected, "{sentence}");
    };
    for (status, sentence) in [
        (
            400,
            "Invalid content type. image_url is only supported by certain models.",
        ),
        (
            500,
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        ),
        (400, "/models/x is not a multimodal model"),
        (404, "No endpoints found that support image input"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (
            400,
            "messages[0]: unknown variant `image_url`, expected `text`",
        ),
        (400, "Image input is not enabled for this model"),
        (400, "messages[0].content must be a string"),
    ] {
        check(status, sentence, sent(&[&image]), "no images, said");
        check(status, sentence, sent(&[]), "nothing");
    }
    for (status, sentence) in [
        (500, "unsupported content[].type"),
        (
            422,
            "messages[0]: unknown variant `file`, expected `text` or `image_url`",
        ),
        (400, "This model does not support file inputs"),
    ] {
        check(
            status,
            sentence,
            sent(&[&image, &file]),
            "no documents, said",
        );
        check(status, sentence, sent(&[&image]), "nothing");
    }
    // The image is at fault, and the user has to know.
    let large = "image exceeds 5 MB maximum: 6278112 bytes > 5242880 bytes";
    check(400, large, sent(&[&image]), "nothing");
    let items = json!({"input": [{"role": "user", "content": [&file]}]});
    check(
        400,
        "this model does not support PDF files",
        items,
        "no documents, said",
    );
}
