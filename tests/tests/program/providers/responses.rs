//! OpenAI's Responses API, spoken as its endpoint wants it.

use dunlin_tests::{API_KEY, Environment, Provider, Response, program};
use serde_json::{Value, json};

use crate::requests::pausing::Pausing;
use crate::stage::{Chat, assert_in_no_file};

/// Folders whose only agent talks to this server, with more keys.
fn environment(provider: &Provider, keys: &str) -> Environment {
    let environment = Environment::warm(program!());
    environment.configure_for(provider, &format!("api = \"openai-responses\"\n{keys}"));
    environment.project_file("a.txt", "größe\n");
    environment
}

/// Reads a file after a thought, and answers.
fn reads() -> [Response; 2] {
    let arguments = json!({ "file_path": "a.txt" });
    let call = Response::items()
        .item_of_thought(0, "They want it read.", "gAAAA==")
        .item_of_text(1, "Let me see.")
        .item_of_call(2, "call_01", "read_file", &arguments)
        .items_end("response.completed", None);
    [
        call.in_pieces_of(7),
        Response::items_reply("It says größe.").in_pieces_of(1),
    ]
}

#[test]
fn encrypted_reasoning_goes_back_to_its_model_also_in_a_resumed_session() {
    let more = [Response::items_reply("Bye."), Response::items_reply("Who?")];
    let provider = Provider::play(reads().into_iter().chain(more));
    // Another address is another endpoint, wherever it leads.
    let other = format!("{}/v1/", provider.root()).replace("127.0.0.1", "localhost");
    let keys = format!(
        "system_prompt = \"Be brief\"\n\n[agents.other]\napi = \"openai-responses\"\nmodel = \"scripted\"\nbase_url = {other:?}\n"
    );
    let environment = environment(&provider, &keys);
    let mut chat = Chat::of(environment.terminal(["--fresh"]));
    chat.turn("read it");
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.turn("thanks");
    chat.turn("/agent other");
    chat.turn("and you?");
    chat.leave();

    let [first, second, third, fourth] = [0, 1, 2, 3].map(|index| provider.wait_for_request(index));
    assert_eq!(
        (first.method.as_str(), first.path.as_str()),
        ("POST", "/v1/responses")
    );
    let key = format!("Bearer {API_KEY}");
    assert_eq!(first.header("authorization"), Some(key.as_str()));
    let system = json!({ "role": "system", "content": "Be brief" });
    assert_eq!(first.messages()[0], system);
    assert!(first.tools().contains(&"read_file"));
    let said = second.messages();
    assert_eq!(&said[..2], first.messages());
    assert_eq!(
        said[2..5],
        [
            json!({
                "type": "reasoning", "id": "rs_0", "encrypted_content": "gAAAA==",
                "summary": [{ "type": "summary_text", "text": "They want it read." }],
            }),
            json!({
                "type": "message", "role": "assistant", "phase": "commentary",
                "content": [{ "type": "output_text", "text": "Let me see." }],
            }),
            json!({
                "type": "function_call", "call_id": "call_01", "name": "read_file",
                "arguments": "{\"file_path\":\"a.txt\"}",
            }),
        ]
    );
    assert_eq!(said[5]["call_id"], "call_01");
    assert!(said[5]["output"].as_str().unwrap().contains("größe"));
    let resumed = third.messages();
    assert_eq!(resumed[..6], *said);
    assert_eq!(resumed[6]["content"][0]["text"], "It says größe.");
    assert_eq!(resumed[7], json!({ "role": "user", "content": "thanks" }));
    let elsewhere = fourth.messages();
    let has_reasoning = elsewhere.iter().any(|it| it["type"] == "reasoning");
    assert!(!has_reasoning, "{elsewhere:#?}");
    let has_call = elsewhere.iter().any(|it| it["type"] == "function_call");
    assert!(has_call, "{elsewhere:#?}");
    assert_in_no_file(&environment, API_KEY);
}

#[test]
fn an_effort_is_asked_for_without_a_summary_where_that_is_refused() {
    let refusal = json!({ "error": {
        "message": "Your organization must be verified to generate reasoning summaries.",
        "type": "invalid_request_error", "param": "reasoning.summary", "code": "unsupported_value",
    } });
    let answers = [Response::json(400, &refusal), Response::items_reply("Hi.")];
    let provider = Provider::play(answers);
    let environment = environment(&provider, "reasoning_effort = \"low\"\nmax_tokens = 50");
    let output = environment.run(["ask", "--json", "hello"]);
    assert_eq!(output.status, Some(0), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["reply"], "Hi.");
    assert_eq!(document["usage"]["input_tokens"], 100);
    assert_eq!(document["usage"]["cached_tokens"], 90);
    let [first, second] = [0, 1].map(|index| provider.wait_for_request(index).body);
    assert_eq!(
        first["reasoning"],
        json!({ "effort": "low", "summary": "auto" })
    );
    assert_eq!(first["max_output_tokens"], 50);
    assert_eq!(second["reasoning"], json!({ "effort": "low" }));
}

#[test]
fn a_reply_that_is_incomplete_runs_no_call() {
    let arguments = json!({ "file_path": "a.txt" });
    for reason in ["max_output_tokens", "content_filter"] {
        let cut = Response::items()
            .item_of_call(0, "call_01", "read_file", &arguments)
            .items_end("response.incomplete", Some(reason));
        let provider = Provider::play([cut, Response::items_reply("I see.")]);
        let environment = environment(&provider, "");
        let output = environment.run(["ask", "hello"]);
        assert_eq!(output.stdout, "I see.\n", "{output}");
        let told = provider.wait_for_request(1);
        let results = told.results();
        assert!(
            results.len() == 1 && !results[0].contains("größe"),
            "{results:?}"
        );
        let is_said = output.stderr.contains("content filter ended the reply");
        assert_eq!(is_said, reason == "content_filter", "{output}");
    }
}

#[test]
fn a_model_that_is_only_here_says_so_in_chat_completions() {
    let message = "This model is only supported in v1/responses and not in v1/chat/completions.";
    let refusal = json!({ "error": { "message": message, "type": "invalid_request_error" } });
    let provider = Provider::play([Response::json(404, &refusal)]);
    let environment = Environment::with_provider(program!(), &provider);
    let output = environment.run(["ask", "hello"]);
    let way_out = "set api = \"openai-responses\" for this agent";
    assert!(output.stderr.contains(way_out), "{output}");
}

#[test]
fn requests_are_edited_and_exported_without_the_key() {
    let again = Response::items_reply("Again.");
    let provider = Provider::play(reads().into_iter().chain([again]));
    let environment = environment(&provider, "");
    let mut chat = Pausing::open(&environment, "every");
    chat.say("read it");
    let screen = chat.does("send");
    assert!(screen.contains("assistant thinks"), "{screen}");
    assert!(screen.contains("result of read_file"), "{screen}");
    chat.does("e 5 It says gulls.");
    chat.chat.say("send");
    chat.prompt("› (pause: every) Type a message, @ to attach a file");
    chat.chat.leave();
    let sent = provider.wait_for_request(1);
    let result =
        json!({ "type": "function_call_output", "call_id": "call_01", "output": "It says gulls." });
    assert_eq!(sent.messages()[4], result);
    assert_eq!(sent.messages()[1]["encrypted_content"], "gAAAA==");
    let output = environment.run(["requests", "show", "2", "--curl"]);
    let key = "-H \"authorization: Bearer $OPENAI_API_KEY\"";
    assert!(output.stdout.contains(key), "{output}");
    assert!(output.stdout.contains("/v1/responses"), "{output}");
    assert!(!output.stdout.contains(API_KEY), "{output}");
    let output = environment.run(["requests", "show", "2", "--diff"]);
    assert!(output.stdout.contains("gulls"), "{output}");
    let output = environment.run(["requests", "replay", "2"]);
    assert!(output.stdout.contains("Again."), "{output}");
    let [sent, again] = [1, 2].map(|index| provider.wait_for_request(index).bytes);
    assert_eq!(sent, again);
}
