use serde_json::json;

use super::*;

#[path = "fallbacks_tests/parts.rs"]
mod parts;

/// What is sent at first: a bare call, reasoning, tools and all options.
fn sent() -> Value {
    json!({
        "model": "small",
        "messages": [
            {"role": "user", "content": "Read it"},
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [{"id": "a"}]},
            {"role": "tool", "tool_call_id": "a", "content": "it"},
        ],
        "tools": [{"type": "function", "function": {"name": "read_file", "parameters": {}}}],
        "temperature": 0.2,
        "top_p": 0.9,
        "max_tokens": 100,
        "stream_options": {"include_usage": true},
    })
}

fn refusal(status: u16) -> Refusal {
    Refusal {
        status,
        ..Refusal::sample()
    }
}

/// What a refusal with this sentence changes, field by field, and whether the user hears of it.
fn taught_by(fallbacks: &Fallbacks, status: u16, sentence: &str, sent: &Value) -> String {
    let before = fallbacks.profile();
    let learned = fallbacks.refused(&refusal(status), sentence, sent);
    let after = fallbacks.profile();
    let mut changes = Vec::new();
    if before.include_usage != after.include_usage {
        changes.push("no usage".to_owned());
    }
    if before.max_tokens_field != after.max_tokens_field {
        changes.push(after.max_tokens_field.name().to_owned());
    }
    if before.content_beside_calls != after.content_beside_calls {
        changes.push(format!("content {:?}", after.content_beside_calls));
    }
    if before.offers_tools != after.offers_tools {
        changes.push("no tools".to_owned());
    }
    if before.reasoning != after.reasoning {
        changes.push(format!("reasoning {:?}", after.reasoning));
    }
    if before.schema_without != after.schema_without {
        changes.push(format!("schemas without {:?}", after.schema_without));
    }
    if before.options_left_out != after.options_left_out {
        changes.push(format!("without {:?}", after.options_left_out));
    }
    if before.effort != after.effort {
        changes.push(format!("effort {:?}", after.effort));
    }
    if before.takes.images != after.takes.images {
        changes.push("no images".to_owned());
    }
    if before.takes.documents != after.takes.documents {
        changes.push("no documents".to_owned());
    }
    if let Some(allowed) = after.max_tokens_allowed {
        changes.push(format!("at most {allowed}"));
    }
    match learned {
        None => "nothing".to_owned(),
        Some(ProfileChange { notice }) => {
            if notice.is_some() {
                changes.push("said".to_owned());
            }
            changes.join(", ")
        }
    }
}

#[track_caller]
fn check(profile: &Profile, status: u16, sentence: &str, expected: &str) {
    let fallbacks = Fallbacks::new(profile.clone());
    assert_eq!(
        taught_by(&fallbacks, status, sentence, &sent()),
        expected,
        "{sentence}"
    );
    if expected == "nothing" {
        assert_eq!(*fallbacks.profile(), *profile, "{sentence}");
    }
}

#[test]
fn stream_options_refused() {
    for sentence in [
        "Unrecognized request argument supplied: stream_options",
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]",
        "include_usage is not supported",
    ] {
        check(&Profile::default(), 400, sentence, "no usage");
        check(&Profile::default(), 422, sentence, "no usage");
    }
}

#[test]
fn max_tokens_or_max_completion_tokens() {
    check(
        &Profile::default(),
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_completion_tokens",
    );
    let newer = Profile {
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        ..Profile::default()
    };
    let mut request = sent();
    request["max_completion_tokens"] = 100.into();
    let fallbacks = Fallbacks::new(newer);
    assert_eq!(
        taught_by(
            &fallbacks,
            422,
            "body.max_completion_tokens: Extra inputs are not permitted",
            &request
        ),
        "max_tokens"
    );
    check(
        &Profile::default(),
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 100000.",
        "nothing",
    );
}

#[test]
fn content_beside_calls_refused() {
    let profile = |content| Profile {
        content_beside_calls: content,
        ..Profile::default()
    };
    for (content, sentence, next) in [
        (
            EmptyContent::Null,
            "invalid message content type: <nil>",
            "content Omit",
        ),
        (
            EmptyContent::Null,
            "messages[1].content must be a string",
            "content Omit",
        ),
        (
            EmptyContent::Empty,
            "messages: text content blocks must be non-empty",
            "content Null",
        ),
        (
            EmptyContent::Empty,
            "The content field in the Message object is empty",
            "content Null",
        ),
        (
            EmptyContent::Omit,
            "Missing required field: messages[1].content",
            "content Empty",
        ),
        (
            EmptyContent::Omit,
            "[json.exception.out_of_range.403] key 'content' not found, it is required",
            "content Empty",
        ),
    ] {
        check(&profile(content), 400, sentence, next);
    }
    check(
        &profile(EmptyContent::Null),
        500,
        "content: type must be string, but is null",
        "content Omit",
    );
}

#[test]
fn a_refused_content_is_not_taken_for_a_refused_schema() {
    check(
        &Profile::default(),
        400,
        "Invalid parameters: messages[1].content must be a non-empty string",
        "content Null",
    );
    check(
        &Profile::default(),
        400,
        "tools.0.parameters: properties of an unknown kind",
        "schemas without {OtherProperties, Reference, ExclusiveBounds, Sizes, Format, Pattern, Default, Examples, \
         Title, Const, TypeList, Conditions}",
    );
}

#[test]
fn content_is_tried_in_each_form_and_no_more() {
    let fallbacks = Fallbacks::new(Profile::default());
    let sentence = "content is required";
    let tried: Vec<String> = (0..4)
        .map(|_| taught_by(&fallbacks, 400, sentence, &sent()))
        .collect();
    // In the end nothing was proven, and everything is as it was.
    assert_eq!(tried[..2], ["content Null", "content Omit"]);
    assert_eq!(fallbacks.profile().content_beside_calls, EmptyContent::Null);
    let fresh = Fallbacks::new(Profile::default());
    for _ in 0..3 {
        taught_by_quietly(&fresh, sentence);
    }
    assert_eq!(*fresh.profile(), Profile::default());
}

fn taught_by_quietly(fallbacks: &Fallbacks, sentence: &str) {
    let _ = fallbacks.refused(&refusal(400), sentence, &sent());
}

#[test]
fn reasoning_must_come_back() {
    for sentence in [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ] {
        check(&Profile::default(), 400, sentence, "reasoning WithCalls");
    }
}

#[test]
fn reasoning_must_not_be_sent() {
    let echoing = Profile {
        reasoning: ReasoningEcho::WithCalls,
        ..Profile::default()
    };
    for sentence in [
        "Unknown field 'reasoning_content' in messages[1]",
        "property 'messages.1.reasoning_content' is unsupported",
        "messages.1.reasoning_content: Extra inputs are not permitted",
    ] {
        check(&echoing, 400, sentence, "reasoning Never");
    }
}

#[test]
fn schema_keywords_refused() {
    for (sentence, expected) in [
        (
            "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
            "schemas without {OtherProperties}",
        ),
        (
            "tools.0.custom.input_schema: JSON schema is invalid: exclusiveMinimum is not supported",
            "schemas without {ExclusiveBounds}",
        ),
        (
            "schema contains $ref, which is not supported",
            "schemas without {Reference}",
        ),
    ] {
        check(&Profile::default(), 400, sentence, expected);
    }
    let fallbacks = Fallbacks::new(Profile::default());
    let unnamed = "Invalid schema for function 'read_file'";
    assert!(
        taught_by(&fallbacks, 400, unnamed, &sent())
            .starts_with("schemas without {OtherProperties")
    );
    assert!(
        !fallbacks.profile().schema_without.contains(&Keyword::AnyOf),
        "kept where it is not refused"
    );
    assert_eq!(
        fallbacks.refused(&refusal(400), unnamed, &sent()),
        None,
        "nothing more can be done"
    );
}

#[test]
fn tools_unsupported() {
    for (status, sentence) in [
        (
            400,
            "registry.ollama.ai/library/gemma:2b does not support tools",
        ),
        (
            404,
            "No endpoints found that support tool use. To learn more about provider routing, visit ...",
        ),
        (500, "tools param requires --jinja flag"),
        (
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
        (
            400,
            "Function calling is not enabled for models/gemma-3-1b-it",
        ),
        (422, "`tools` is not supported with this model"),
    ] {
        check(&Profile::default(), status, sentence, "no tools, said");
    }
}

#[test]
fn sampling_options_refused() {
    check(
        &Profile::default(),
        400,
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        "without {\"temperature\"}, said",
    );
    check(
        &Profile::default(),
        400,
        "top_p is not supported by this model",
        "without {\"top_p\"}, said",
    );
}

#[test]
fn what_teaches_nothing() {
    let profile = Profile::default();
    for (status, sentence) in [
        (400, "Bad request"),
        (400, ""),
        (401, "stream_options: wrong key"),
        (403, "does not support tools"),
        (429, "stream_options are too many"),
        (503, "tools param requires --jinja flag"),
        (404, "model 'small' not found"),
    ] {
        check(&profile, status, sentence, "nothing");
    }
    let overflow = Refusal {
        overflow: Some(dunlin_chat::provider::error::Overflow::default()),
        ..refusal(400)
    };
    let fallbacks = Fallbacks::new(profile);
    assert_eq!(
        fallbacks.refused(&overflow, "content is required", &sent()),
        None
    );
    // Only what was sent can have been refused.
    let bare = json!({"model": "small", "messages": [{"role": "user", "content": "hi"}]});
    for sentence in [
        "does not support tools",
        "content is required",
        "temperature is not supported",
        "invalid schema",
    ] {
        assert_eq!(
            taught_by(&fallbacks, 400, sentence, &bare),
            "nothing",
            "{sentence}"
        );
    }
}

#[test]
fn what_did_not_help_is_forgotten_and_what_did_is_kept() {
    let fallbacks = Fallbacks::new(Profile::default());
    taught_by_quietly(&fallbacks, "stream_options");
    assert!(!fallbacks.profile().include_usage);
    assert_eq!(
        fallbacks.refused(&refusal(400), "something else is wrong", &sent()),
        None
    );
    assert!(fallbacks.profile().include_usage, "it did not help");

    taught_by_quietly(&fallbacks, "stream_options");
    fallbacks.accepted();
    assert_eq!(
        fallbacks.refused(&refusal(400), "something else is wrong", &sent()),
        None
    );
    assert!(!fallbacks.profile().include_usage, "it had helped");
    assert_eq!(fallbacks.refused(&refusal(503), "busy", &sent()), None);
    assert!(!fallbacks.profile().include_usage);
}

#[test]
fn fallbacks_come_to_an_end() {
    // A server that complains about everything, whatever is sent.
    let complaint = "stream_options, temperature, top_p, tools: does not support tools, content, schema, thinking missing: unsupported";
    let fallbacks = Fallbacks::new(Profile::default());
    let learned = (0..100)
        .take_while(|_| {
            fallbacks
                .refused(&refusal(400), complaint, &sent())
                .is_some()
        })
        .count();
    assert!(learned <= MAX_FALLBACKS as usize, "{learned}");
}
