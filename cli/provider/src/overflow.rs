//! Recognises that a conversation did not fit, whatever a server calls it.
//!
//! There is a status for it that few send, a code that some send, and else only the sentence, which
//! every server words in its own way and some send in the middle of a reply. What the sentence says
//! about sizes is read too: it is the most exact word on the window that one can get.

use dunlin_chat::provider::error::Overflow;
use serde_json::Value;

use super::window::is_believed;

/// Codes and types of errors that mean it.
const CODES: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "string_above_max_length",
    "max_tokens_exceeded",
];

/// What sentences that mean it have in them, in lower case. Beside each one who says it.
const SENTENCES: &[&str] = &[
    // OpenAI and what copies it, vLLM, SGLang, OpenRouter, Azure
    "maximum context length",
    "context_length_exceeded",
    "context length exceeded",
    "context length of",
    // OpenAI
    "exceeds the context window",
    "input tokens exceed",
    "reduce the length of the messages",
    // llama.cpp
    "available context size",
    "context size has been exceeded",
    "exceed_context_size",
    // Ollama
    "exceeded max context length",
    "exceeds maximum context length",
    "exceeds the context length",
    "exceeds context length",
    // LM Studio
    "greater than the context length",
    "context the overflows",
    // vLLM
    "longer than the maximum model length",
    "maximum model length",
    // Anthropic and gateways to it
    "prompt is too long",
    "prompt too long",
    "request_too_large",
    "exceed context limit",
    // Bedrock
    "input is too long",
    "too many input tokens",
    // Gemini
    "exceeds the maximum number of tokens",
    // xAI
    "maximum prompt length is",
    // Together
    "longer than the model's context length",
    // Kimi, MiniMax, z.ai, DashScope
    "exceeded model token limit",
    "context window exceeds limit",
    "prompt exceeds max length",
    "range of input length should be",
    // text-generation-inference
    "`inputs` must have less than",
    "`inputs` tokens + `max_new_tokens` must be",
    // routers
    "maximum allowed input length",
    "token limit exceeded",
    "context window is full",
    "configured context size",
    // a single request above what is allowed in a minute never passes, however long one waits
    "request too large for",
];

/// What stands before the number of tokens that there is room for.
const BEFORE_WINDOW: &[&str] = &[
    "maximum context length is",
    "maximum context length of",
    "maximum model length of",
    "context length is only",
    "context length of only",
    "context length of",
    "context length (",
    "context length is",
    "context size (",
    "context size is",
    "context window of",
    "number of tokens allowed (",
    "allowed input length of",
    "maximum prompt length is",
    "exceeds the limit of",
    "must have less than",
    "must be <=",
    "\"n_ctx\":",
    "limit",
    " >",
];

/// What stands behind it.
const BEHIND_WINDOW: &[&str] = &["maximum context length", "maximum"];

/// Most characters of a text that are looked at: a page of nonsense is not a sentence.
const MAX_CHARS: usize = 4000;

/// Whether a refusal or a failure within a reply means that the request was too long. `text` is the whole
/// body, or what is known of it.
pub(super) fn recognise(status: Option<u16>, code: Option<&str>, text: &str) -> Option<Overflow> {
    let text: String = text.chars().take(MAX_CHARS).collect();
    let text = text.to_lowercase();
    let coded = code.is_some_and(|code| CODES.contains(&code.to_lowercase().as_str()));
    let said = SENTENCES.iter().any(|sentence| text.contains(sentence));
    // 413 is a limit in bytes as a rule: a shorter request is the way out all the same.
    if !(coded || said || status == Some(413)) {
        return None;
    }
    // What is not there or not allowed is not made so by a shorter request.
    if matches!(status, Some(401..=404)) {
        return None;
    }
    Some(sizes(&text))
}

fn sizes(text: &str) -> Overflow {
    let fields = serde_json::from_str::<Value>(text).ok();
    let field = |name: &str| {
        let fields = fields.as_ref()?;
        let nested = fields.get("error").unwrap_or(fields);
        nested.get(name).and_then(Value::as_u64)
    };
    let numbers = numbers(text);
    let window = field("n_ctx").or_else(|| {
        BEFORE_WINDOW
            .iter()
            .find_map(|mark| {
                numbers
                    .iter()
                    .find(|number| text[..number.start].trim_end().ends_with(mark.trim_end()))
            })
            .or_else(|| {
                numbers.iter().find(|number| {
                    let behind = text[number.end..].trim_start();
                    BEHIND_WINDOW.iter().any(|mark| behind.starts_with(mark))
                })
            })
            .map(|number| number.value)
    });
    let window = window.filter(|tokens| is_believed(*tokens));
    let needed = field("n_prompt_tokens").or_else(|| {
        let window = window?;
        let larger = numbers.iter().find(|number| number.value > window);
        larger.map(|number| number.value)
    });
    Overflow { needed, window }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number {
    value: u64,
    start: usize,
    end: usize,
}

/// The whole numbers of a text that can be counts of tokens: from three digits on, with or without commas
/// between the thousands.
fn numbers(text: &str) -> Vec<Number> {
    const FEWEST: u64 = 100;
    let bytes = text.as_bytes();
    let is_word = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let mut numbers = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() || (at > 0 && is_word(at - 1)) {
            at += 1;
            continue;
        }
        let start = at;
        let mut digits = String::new();
        while let Some(&byte) = bytes.get(at) {
            let thousands = byte == b','
                && bytes
                    .get(at + 1..at + 4)
                    .is_some_and(|next| next.iter().all(u8::is_ascii_digit))
                && !bytes.get(at + 4).is_some_and(u8::is_ascii_digit);
            if byte.is_ascii_digit() {
                digits.push(char::from(byte));
            } else if !thousands {
                break;
            }
            at += 1;
        }
        // Part of a name or of a version is not a count.
        let value = digits.parse().ok().filter(|value| *value >= FEWEST);
        if let Some(value) = value.filter(|_| !is_word(at)) {
            numbers.push(Number {
                value,
                start,
                end: at,
            });
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(who: &str, status: Option<u16>, text: &str, needed: Option<u64>, window: Option<u64>) {
        assert_eq!(
            recognise(status, None, text),
            Some(Overflow { needed, window }),
            "{who}: {text}"
        );
    }

    #[test]
    fn context_overflow_is_known_by_its_sentence() {
        let check = |who: &str, text: &str, needed: u64, window: u64| {
            check(who, Some(400), text, Some(needed), Some(window));
        };
        check(
            "OpenAI",
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 10523 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            10_523,
            8192,
        );
        check(
            "OpenAI, functions",
            "This model's maximum context length is 16385 tokens. However, you requested 17000 tokens (14000 in the messages, 1000 in the functions, and 2000 in the completion).",
            17_000,
            16_385,
        );
        check(
            "llama.cpp",
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}"#,
            9001,
            8192,
        );
        check(
            "llama.cpp, newer",
            "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
            9001,
            8192,
        );
        check(
            "vLLM",
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}"#,
            5000,
            4096,
        );
        check(
            "vLLM, newer",
            "The decoder prompt (length 5031) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
            5031,
            4096,
        );
        check(
            "SGLang",
            "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 38000 tokens from the input messages and 2000 tokens for the completion.",
            40_000,
            32_768,
        );
        check(
            "Anthropic",
            "prompt is too long: 213462 tokens > 200000 maximum",
            213_462,
            200_000,
        );
        check(
            "OpenRouter",
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (149000 of text input, 1000 of tool input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.",
            150_000,
            131_072,
        );
        check(
            "Gemini",
            "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
            1_200_000,
            1_048_576,
        );
        check(
            "xAI",
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
            140_000,
            131_072,
        );
        check(
            "Together",
            "Input (9000 tokens) is longer than the model's context length (8192 tokens).",
            9000,
            8192,
        );
        check(
            "Mistral",
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            40_000,
            32_768,
        );
        check(
            "LM Studio",
            "Trying to keep the first 5123 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
            5123,
            4096,
        );
        check(
            "text-generation-inference",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000 `inputs` tokens and 20 `max_new_tokens`",
            3000,
            2048,
        );
        check(
            "OpenAI, tokens per minute",
            "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 34021. The input or output tokens must be reduced in order to run successfully.",
            34_021,
            30_000,
        );
    }

    #[test]
    fn context_overflow_without_numbers() {
        for (who, status, text) in [
            (
                "Ollama",
                Some(400),
                r#"{"error":"prompt too long; exceeded max context length by 52 tokens"}"#,
            ),
            (
                "Ollama, template",
                Some(400),
                r#"{"error":"the input length exceeds the context length"}"#,
            ),
            (
                "Kimi",
                Some(400),
                "Invalid request: Your request exceeded model token limit",
            ),
            (
                "Bedrock",
                Some(400),
                "Input is too long for requested model.",
            ),
            (
                "in the middle of a reply",
                None,
                "Context size has been exceeded.",
            ),
            (
                "a gateway",
                Some(413),
                "<html><title>413 Request Entity Too Large</title></html>",
            ),
            ("nothing but the status", Some(413), ""),
        ] {
            check(who, status, text, None, None);
        }
        check(
            "Anthropic, with the reply",
            Some(400),
            "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, decrease input length or `max_tokens` and try again",
            None,
            Some(200_000),
        );
        assert_eq!(
            recognise(Some(400), Some("context_length_exceeded"), "no words"),
            Some(Overflow::default()),
            "by its code"
        );
    }

    #[test]
    fn what_is_no_overflow() {
        for (status, code, text) in [
            (Some(400), None, "max_tokens is too large: 100000"),
            (
                Some(400),
                Some("invalid_request_error"),
                "Unsupported parameter: 'max_tokens'",
            ),
            (
                Some(429),
                Some("rate_limit_exceeded"),
                "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000.",
            ),
            (Some(429), None, "Too many requests, slow down"),
            (
                Some(404),
                None,
                "the model's maximum context length is of no matter, it does not exist",
            ),
            (Some(500), None, "the context was cancelled"),
            (None, None, ""),
        ] {
            assert_eq!(recognise(status, code, text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let values = |text: &str| {
            numbers(text)
                .into_iter()
                .map(|number| number.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(values("1,048,576 and 4096, 8192."), [1_048_576, 4096, 8192]);
        assert_eq!(
            values("gpt-4 v100 x200 300x 12 99999999999999999999999"),
            Vec::<u64>::new()
        );
        assert_eq!(values("(5000)"), [5000]);
        assert_eq!(values("größe 1234ß"), [1234]);
    }
}
