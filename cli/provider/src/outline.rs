//! Which part of a request's body is what, for the request editor: one function for each dialect.
//!
//! What a body has is read from the body, which is written in one of three layouts; the options named here are those that
//! a user may add.

use dunlin_chat::request::editor::{KnownOption, OptionKind, Origin, Outline};
use serde_json::Value;

use crate::profile::Profile;

/// The outline of a chat completions request. `origins` belong to the messages after the system prompt.
///
/// Options that the endpoint has refused are not offered again.
pub(crate) fn chat_completions(profile: &Profile, body: &Value, origins: &[Origin]) -> Outline {
    let options = [
        ("model", OptionKind::Text),
        ("temperature", OptionKind::Number),
        ("top_p", OptionKind::Number),
        (profile.max_tokens_field.name(), OptionKind::WholeNumber),
        ("tool_choice", OptionKind::Text),
        ("seed", OptionKind::WholeNumber),
        ("frequency_penalty", OptionKind::Number),
        ("parallel_tool_calls", OptionKind::Boolean),
        ("presence_penalty", OptionKind::Number),
        ("reasoning_effort", OptionKind::Text),
        ("stop", OptionKind::Text),
        // Not of OpenAI: most servers of local models know these, too. The penalty has one name in llama.cpp and another one
        // in vLLM.
        ("min_p", OptionKind::Number),
        ("repeat_penalty", OptionKind::Number),
        ("repetition_penalty", OptionKind::Number),
        ("top_k", OptionKind::WholeNumber),
    ];
    let options = options.into_iter();
    let options = options.filter(|(name, _)| !profile.options_left_out.contains(name));
    let options = options.map(|(name, kind)| KnownOption::new(&[name], kind));
    Outline::of_chat(body, origins, options.collect())
}

/// The outline of a request to Ollama's `/api/chat`. Its protocol has no choice of tools.
pub(crate) fn ollama(body: &Value, origins: &[Origin]) -> Outline {
    let options = [
        ("temperature", OptionKind::Number),
        ("top_p", OptionKind::Number),
        ("num_predict", OptionKind::WholeNumber),
        ("num_ctx", OptionKind::WholeNumber),
        ("seed", OptionKind::WholeNumber),
        ("frequency_penalty", OptionKind::Number),
        ("min_p", OptionKind::Number),
        ("presence_penalty", OptionKind::Number),
        ("repeat_penalty", OptionKind::Number),
        ("top_k", OptionKind::WholeNumber),
    ];
    let options = options.map(|(name, kind)| KnownOption::new(&["options", name], kind));
    let model = KnownOption::new(&["model"], OptionKind::Text);
    let options = [model].into_iter().chain(options);
    Outline::of_chat(body, origins, options.collect())
}

/// The outline of a request to OpenAI's Responses API.
pub(crate) fn responses(profile: &Profile, body: &Value, origins: &[Origin]) -> Outline {
    let options: [(&[&str], OptionKind); 11] = [
        (&["model"], OptionKind::Text),
        (&["temperature"], OptionKind::Number),
        (&["top_p"], OptionKind::Number),
        (&["max_output_tokens"], OptionKind::WholeNumber),
        (&["reasoning", "effort"], OptionKind::Text),
        (&["reasoning", "summary"], OptionKind::Text),
        (&["text", "verbosity"], OptionKind::Text),
        (&["tool_choice"], OptionKind::Text),
        (&["parallel_tool_calls"], OptionKind::Boolean),
        (&["service_tier"], OptionKind::Text),
        (&["truncation"], OptionKind::Text),
    ];
    Outline::of_items(body, origins, known(profile, &options))
}

/// The outline of a request to Anthropic's Messages API.
pub(crate) fn anthropic(profile: &Profile, body: &Value, origins: &[Origin]) -> Outline {
    let options: [(&[&str], OptionKind); 10] = [
        (&["model"], OptionKind::Text),
        (&["max_tokens"], OptionKind::WholeNumber),
        (&["temperature"], OptionKind::Number),
        (&["top_p"], OptionKind::Number),
        (&["top_k"], OptionKind::WholeNumber),
        (&["tool_choice", "type"], OptionKind::Text),
        (&["tool_choice", "name"], OptionKind::Text),
        (&["thinking", "type"], OptionKind::Text),
        (&["thinking", "budget_tokens"], OptionKind::WholeNumber),
        (&["output_config", "effort"], OptionKind::Text),
    ];
    Outline::of_blocks(body, origins, known(profile, &options))
}

/// These options without those that the endpoint has refused.
fn known(profile: &Profile, options: &[(&[&str], OptionKind)]) -> Vec<KnownOption> {
    let options = options.iter().filter(|(keys, _)| match keys {
        [name] => !profile.options_left_out.contains(name),
        _ => true,
    });
    let options = options.map(|(keys, kind)| KnownOption::new(keys, *kind));
    options.collect()
}

/// The outline of a request to a model in this process. Its body is that of chat completions; the options are those
/// that the model honours.
pub fn local(body: &Value, origins: &[Origin]) -> Outline {
    let options = [
        ("temperature", OptionKind::Number),
        ("top_p", OptionKind::Number),
        ("max_tokens", OptionKind::WholeNumber),
        ("seed", OptionKind::WholeNumber),
    ];
    let options = options.map(|(name, kind)| KnownOption::new(&[name], kind));
    Outline::of_chat(body, origins, options.into())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use dunlin_chat::agent::Agent;
    use dunlin_chat::media::samples::picture;
    use dunlin_chat::message::{Conversation, Message, Reasoning, Role, ToolCall, UserMessage};
    use dunlin_chat::provider::Dialect;
    use dunlin_chat::request::editor::{Counts, EditableRequest, origins};
    use dunlin_chat::request::truncation::Truncation;
    use dunlin_chat::request::{ContextBudget, HistoryLimits, Occasion, Request, compose};
    use dunlin_host::Tool;
    use serde_json::json;

    use super::*;
    use crate::anthropic;
    use crate::http::Timeouts;
    use crate::ollama::Ollama;
    use crate::openai;
    use crate::responses;
    use crate::streamed::{Protocol, StreamedProvider};
    use dunlin_chat::endpoint::{MaxTokensField, ReasoningEcho};
    use dunlin_chat::provider::Provider;

    fn session() -> Conversation {
        let mut session = Conversation::new();
        session.push_user("Read it");
        let arguments = json!({"file_path": "a.txt"});
        session.push_assistant(Message {
            tool_calls: vec![ToolCall {
                id: "abc".to_owned(),
                name: "read_file".to_owned(),
                arguments: arguments.as_object().cloned().unwrap_or_default(),
                raw_arguments: None,
                number: 0,
            }],
            reasoning: Some(Reasoning {
                field: "reasoning_content".to_owned(),
                text: "hm".to_owned(),
            }),
            ..Message::text(Role::Assistant, "")
        });
        session.push_result("abc", "contents");
        session
    }

    fn agent() -> Agent {
        Agent {
            system_prompt: Some("Be brief".to_owned()),
            temperature: Some(0.2),
            ..Agent::sample()
        }
    }

    fn composed(dialect: &dyn Dialect) -> Request {
        let tool = Tool {
            name: "read_file".to_owned(),
            plugin: "test".to_owned(),
            description: "Reads".to_owned(),
            parameters: json!({"type": "object"}),
            imports: Vec::new(),
            annotations: dunlin_host::Annotations::default(),
        };
        let session = session();
        let messages = session.messages().iter().map(Cow::Borrowed);
        compose(messages, &agent(), dialect, &[tool])
    }

    fn editable(dialect: &dyn Dialect) -> EditableRequest {
        outlined(dialect, |body, origins| dialect.outline(body, origins))
    }

    fn outlined(
        dialect: &dyn Dialect,
        outline: impl Fn(&Value, &[Origin]) -> Outline,
    ) -> EditableRequest {
        let request = composed(dialect);
        let in_text = !dialect.offers_tools() && dialect.describes_tools();
        let origins = origins(session().messages(), &Truncation::default(), in_text);
        let outline = outline(request.body(), &origins);
        let editable = EditableRequest::new(request.bytes().clone(), outline);
        assert_eq!(editable.bytes(), request.bytes());
        editable
    }

    fn at_endpoint(protocol: &'static Protocol) -> EditableRequest {
        let endpoint = StreamedProvider::new(protocol, &agent(), Timeouts::default());
        editable(endpoint.dialect().as_ref())
    }

    fn ids(request: &EditableRequest) -> Vec<String> {
        let sections = request.sections().iter();
        sections.map(|section| section.id.to_string()).collect()
    }

    /// The bytes after the value at this path was set, with what has changed made as it was.
    fn check(request: &EditableRequest, path: &str, value: &str, from: &str, to: &str) {
        let mut edited = request.clone();
        edited.set(path, value).unwrap();
        let (before, after) = (request.bytes().to_vec(), edited.bytes().to_vec());
        let before = String::from_utf8(before).unwrap();
        assert!(before.contains(from), "{before}");
        assert_eq!(
            String::from_utf8(after).unwrap(),
            before.replacen(from, to, 1)
        );
    }

    const ALL: [&str; 6] = [
        "system",
        "message:0",
        "message:1",
        "message:2",
        "tool:read_file",
        "options",
    ];

    /// The sections of the session, however they are written.
    #[track_caller]
    fn check_sections(request: &EditableRequest) {
        assert_eq!(ids(request), ALL);
        let sections = request.sections().iter();
        let labels: Vec<&str> = sections.map(|it| it.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "system prompt",
                "user",
                "assistant calls read_file",
                "result of read_file",
                "tool read_file",
                "options"
            ]
        );
    }

    #[test]
    fn chat_completions_are_outlined() {
        let profile = Profile {
            reasoning: ReasoningEcho::WithCalls,
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            options_left_out: ["top_p"].into(),
            ..Profile::default()
        };
        let request = editable(&profile);
        check_sections(&request);
        let arguments = "messages[2].tool_calls[0].function.arguments.file_path";
        check(&request, arguments, "b.txt", "a.txt", "b.txt");
        check(
            &request,
            "messages[2].reasoning_content",
            "so",
            "\"hm\"",
            "\"so\"",
        );
        check(
            &request,
            "temperature",
            "1",
            "\"temperature\":0.2",
            "\"temperature\":1",
        );
        let end = "\"stream_options\":{\"include_usage\":true}";
        let added = format!("{end},\"max_completion_tokens\":7");
        check(&request, "max_completion_tokens", "7", end, &added);
        for (option, value) in [
            ("top_k", "5"),
            ("stop", "END"),
            ("parallel_tool_calls", "false"),
        ] {
            assert!(request.clone().set(option, value).is_ok(), "{option}");
        }
        let refused = request.clone().set("top_p", "0.5");
        assert!(refused.is_err(), "the endpoint refuses it");
    }

    #[test]
    fn tools_in_text_are_part_of_the_messages() {
        let profile = Profile {
            offers_tools: false,
            ..Profile::default()
        };
        let request = editable(&profile);
        assert_eq!(
            ids(&request),
            ["system", "message:0", "message:1", "message:2", "options"]
        );
    }

    #[test]
    fn requests_to_ollama_are_outlined() {
        let server = Ollama::new(&agent(), Timeouts::default());
        let request = editable(server.dialect().as_ref());
        assert_eq!(ids(&request), ALL);
        let arguments = "messages[2].tool_calls[0].function.arguments.file_path";
        check(&request, arguments, "b.txt", "a.txt", "b.txt");
        check(&request, "messages[2].thinking", "so", "\"hm\"", "\"so\"");
        let (from, to) = (
            "\"temperature\":0.2",
            "\"temperature\":0.2,\"num_ctx\":4096",
        );
        check(&request, "num_ctx", "4096", from, to);
        check(&request, "options.num_ctx", "4096", from, to);
        let mut without = request.clone();
        without.delete(3).unwrap();
        assert!(without.is_deleted(4), "the result goes with its call");
    }

    #[test]
    fn requests_in_blocks_are_outlined() {
        let request = at_endpoint(&anthropic::PROTOCOL);
        check_sections(&request);
        check(&request, "system[0].text", "Be long", "Be brief", "Be long");
        let arguments = "messages[1].content[0].input.file_path";
        check(&request, arguments, "b.txt", "a.txt", "b.txt");
        let result = "messages[2].content[0].content";
        check(&request, result, "other", "contents", "other");
        let added = "\"stream\":true,\"thinking\":{\"type\":\"disabled\"}";
        check(
            &request,
            "thinking.type",
            "disabled",
            "\"stream\":true",
            added,
        );
        let mut edited = request.clone();
        edited.set_text(1, "Be long").unwrap();
        edited.set_text(4, "other").unwrap();
        let mut without = request.clone();
        without.delete(3).unwrap();
        assert!(without.is_deleted(4), "the result goes with its call");
        without.delete(1).unwrap();
        without.delete(5).unwrap();
        let body: Value = serde_json::from_slice(without.bytes()).unwrap();
        assert_eq!((body.get("system"), body.get("tools")), (None, None));
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(1));
        assert!(without.set("messages[1].content[0].text", "x").is_err());
    }

    #[test]
    fn requests_of_items_are_outlined() {
        let request = at_endpoint(&responses::PROTOCOL);
        check_sections(&request);
        check(
            &request,
            "input[0].content",
            "Be long",
            "Be brief",
            "Be long",
        );
        let arguments = "input[2].arguments.file_path";
        check(&request, arguments, "b.txt", "a.txt", "b.txt");
        check(&request, "input[3].output", "other", "contents", "other");
        let added = "\"stream\":true,\"reasoning\":{\"effort\":\"low\"}";
        check(
            &request,
            "reasoning.effort",
            "low",
            "\"stream\":true",
            added,
        );
        let mut edited = request.clone();
        edited.set_text(1, "Be long").unwrap();
        edited.set_text(4, "other").unwrap();
        let mut without = request.clone();
        without.delete(3).unwrap();
        assert!(without.is_deleted(4), "the result goes with its call");
        without.delete(5).unwrap();
        let body: Value = serde_json::from_slice(without.bytes()).unwrap();
        assert_eq!(body.get("tools"), None);
        assert_eq!(body["input"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn requests_to_a_model_in_this_process_are_outlined() {
        // As that provider writes them.
        let profile = Profile {
            include_usage: false,
            describes_tools: false,
            ..Profile::default()
        };
        let request = outlined(&profile, local);
        assert_eq!(ids(&request), ALL);
        check(
            &request,
            "seed",
            "7",
            "\"stream\":true",
            "\"stream\":true,\"seed\":7",
        );
        assert!(request.clone().set("tool_choice", "none").is_err());
    }

    #[test]
    fn an_image_counts_the_same_in_each_layout() {
        let mut session = Conversation::new();
        session.push_user(UserMessage {
            media: vec![picture("a.png", 800, 600), picture("b.png", 100, 100)],
            ..UserMessage::from("Which one?")
        });
        let agent = agent();
        let streamed = [
            &openai::PROTOCOL,
            &anthropic::PROTOCOL,
            &responses::PROTOCOL,
        ];
        let streamed = streamed
            .map(|protocol| StreamedProvider::new(protocol, &agent, Timeouts::default()).dialect());
        let ollama = Ollama::new(&agent, Timeouts::default()).dialect();
        for dialect in streamed.into_iter().chain([ollama]) {
            let mut budget = ContextBudget::new();
            let occasion = Occasion {
                agent: &agent,
                tools: &[],
                dialect: dialect.as_ref(),
                limits: HistoryLimits::default(),
            };
            let fitted = budget.fit(session.messages(), occasion).unwrap();
            let request = compose(fitted.messages, &agent, dialect.as_ref(), &[]);
            let origins = origins(session.messages(), budget.truncation(), false);
            let outline = dialect.outline(request.body(), &origins);
            let editable = EditableRequest::new(request.bytes().clone(), outline);
            let counted = Counts::of(&editable, budget.measure()).total();
            assert!(counted > 640 + 13, "{counted}");
            assert_eq!(counted, budget.measure().sent());
        }
    }
}
