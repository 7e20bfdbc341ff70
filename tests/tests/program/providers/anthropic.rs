//! Anthropic's Messages API, spoken as its endpoint wants it.

use dunlin_tests::{API_KEY, Environment, Provider, Response, program};
use serde_json::{Value, json};

use crate::requests::pausing::Pausing;
use crate::stage::{Chat, assert_in_no_file};

/// Folders whose only agent talks to this server, with more keys.
fn environment(provider: &Provider, keys: &str) -> Environment {
    let environment = Environment::warm(program!());
    let prompt = match keys.contains("system_prompt") {
        true => "",
        false => "system_prompt = \"\"\n",
    };
    environment.configure(&format!(
        "[keys.test]\nenv = \"OPENAI_API_KEY\"\n\n[agents.assistant]\napi = \"anthropic\"\nbase_url = {:?}\nmodel = \"scripted\"\napi_key = \"test\"\n{prompt}{keys}\n",
        provider.root()
    ));
    environment.project_file("a.txt", "größe\n");
    environment
}

/// Reads a file after a thought, and answers.
fn reads() -> [Response; 2] {
    let arguments = json!({ "file_path": "a.txt" });
    let call = Response::messages()
        .block_of_thought(0, "They want it read.", "EqQBCg==")
        .block_of_text(1, "Let me see.")
        .block_of_call(2, "toolu_01", "read_file", &arguments)
        .messages_end("tool_use");
    [
        call.in_pieces_of(7),
        Response::messages_reply("It says größe.").in_pieces_of(1),
    ]
}

/// Without the marks of the cache, which move from request to request.
fn unmarked(messages: &[Value]) -> Vec<Value> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block
                .as_object_mut()
                .map(|block| block.remove("cache_control"));
        }
    }
    messages
}

#[test]
fn signed_reasoning_goes_back_also_in_a_resumed_session() {
    let script = reads()
        .into_iter()
        .chain([Response::messages_reply("Bye.")]);
    let provider = Provider::play(script);
    let environment = environment(&provider, "system_prompt = \"Be brief\"");
    let mut chat = Chat::of(environment.terminal(["--fresh"]));
    chat.turn("read it");
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.turn("thanks");
    chat.leave();

    let [first, second, third] = [0, 1, 2].map(|index| provider.wait_for_request(index));
    assert_eq!(
        (first.method.as_str(), first.path.as_str()),
        ("POST", "/v1/messages")
    );
    assert_eq!(first.header("x-api-key"), Some(API_KEY));
    assert_eq!(first.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(first.header("authorization"), None);
    assert_eq!(first.body["system"][0]["text"], "Be brief");
    assert!(first.tools().contains(&"read_file"));
    let said = unmarked(second.messages());
    let [asked, called, result] = said.as_slice() else {
        panic!("{:#}", second.body);
    };
    assert_eq!(asked, &unmarked(first.messages())[0]);
    assert_eq!(
        called["content"],
        json!([
            { "type": "thinking", "thinking": "They want it read.", "signature": "EqQBCg==" },
            { "type": "text", "text": "Let me see." },
            { "type": "tool_use", "id": "toolu_01", "name": "read_file", "input": { "file_path": "a.txt" } },
        ])
    );
    let result = &result["content"][0];
    assert_eq!(result["tool_use_id"], "toolu_01");
    assert!(result["content"].as_str().unwrap().contains("größe"));
    // The last two messages of the user are marked, and the instructions: what was read before is in the cache.
    let marks = second.body.to_string().matches("cache_control").count();
    assert_eq!(marks, 3);
    let resumed = unmarked(third.messages());
    assert_eq!(resumed[..3], said);
    assert_eq!(resumed[3]["content"][0]["text"], "It says größe.");
    assert_eq!(resumed[4]["content"][0]["text"], "thanks");
    assert_in_no_file(&environment, API_KEY);
}

#[test]
fn an_effort_is_asked_for_in_another_form_where_one_is_refused() {
    let refusal = Response::messages_refusal(
        400,
        "invalid_request_error",
        "adaptive thinking is not supported on this model",
    );
    let provider = Provider::play([refusal, Response::messages_reply("Hi.")]);
    let environment = environment(&provider, "reasoning_effort = \"low\"");
    let output = environment.run(["ask", "--json", "hello"]);
    assert_eq!(output.status, Some(0), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["reply"], "Hi.");
    assert_eq!(document["usage"]["input_tokens"], 100);
    assert_eq!(document["usage"]["cached_tokens"], 90);
    let [first, second] = [0, 1].map(|index| provider.wait_for_request(index).body);
    assert_eq!(first["thinking"]["type"], "adaptive");
    assert_eq!(first["output_config"]["effort"], "low");
    assert_eq!(
        second["thinking"],
        json!({ "type": "enabled", "budget_tokens": 4000 })
    );
    assert_eq!(second.get("output_config"), None);
}

#[test]
fn the_effort_is_set_for_the_session() {
    let replies = ["One.", "Two.", "Three.", "Four."].map(Response::messages_reply);
    let provider = Provider::play(replies);
    let environment = environment(&provider, "reasoning_effort = \"low\"");
    let mut chat = Chat::of(environment.terminal(["--fresh"]));
    chat.turn("one");
    let screen = chat.turn("/effort much");
    let usage = "There is no effort \"much\". Usage: /effort none|low|medium|high|default";
    assert!(screen.contains(usage), "{screen:?}");
    let screen = chat.turn("/effort none");
    assert!(screen.contains("effort: none"), "{screen:?}");
    chat.turn("two");
    let screen = chat.turn("/effort default");
    assert!(screen.contains("effort: low"), "{screen:?}");
    chat.turn("/effort none");
    chat.turn("three");
    chat.leave();
    // It is kept with the session.
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    let screen = chat.turn("four");
    assert!(screen.contains("effort: none"), "{screen:?}");
    chat.leave();
    let thinking =
        (0..4).map(|index| provider.wait_for_request(index).body["thinking"]["type"].clone());
    let thinking: Vec<_> = thinking.collect();
    assert_eq!(thinking, ["adaptive", "disabled", "disabled", "disabled"]);
}

#[test]
fn failures_are_said_and_repeated_as_elsewhere() {
    let overloaded = || Response::messages_refusal(529, "overloaded_error", "Overloaded");
    let broken = Response::messages()
        .block_of_text(0, "Half a")
        .messages_event(&json!({
            "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" },
        }));
    let provider = Provider::play([
        overloaded().header("retry-after", "0"),
        broken,
        Response::messages_refusal(401, "authentication_error", "invalid x-api-key"),
    ]);
    let environment = environment(&provider, "");
    let output = environment.run(["ask", "hello"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(4), "Half a\n"),
        "{output}"
    );
    assert!(
        output.stderr.contains("broke off its reply: Overloaded"),
        "{output}"
    );
    let output = environment.run(["ask", "hello"]);
    assert!(
        output.stderr.contains("answered 401: invalid x-api-key"),
        "{output}"
    );
}

#[test]
fn requests_are_edited_and_exported_without_the_key() {
    let provider = Provider::play(
        reads()
            .into_iter()
            .chain([Response::messages_reply("Again.")]),
    );
    let environment = environment(&provider, "");
    let mut chat = Pausing::open(&environment, "every");
    chat.say("read it");
    let screen = chat.does("send");
    assert!(screen.contains("of read_file"), "{screen}");
    chat.does("e 3 It says gulls.");
    chat.chat.say("send");
    chat.prompt("› (pause: every) Type a message, @ to attach a file");
    chat.chat.leave();
    let sent = provider.wait_for_request(1);
    let result =
        json!({ "type": "tool_result", "tool_use_id": "toolu_01", "content": "It says gulls." });
    assert_eq!(unmarked(sent.messages())[2]["content"], json!([result]));
    assert_eq!(sent.messages()[1]["content"][0]["signature"], "EqQBCg==");
    let output = environment.run(["requests", "show", "2", "--curl"]);
    assert!(
        output.stdout.contains("-H \"x-api-key: $OPENAI_API_KEY\""),
        "{output}"
    );
    assert!(
        output.stdout.contains("-H 'anthropic-version: 2023-06-01'"),
        "{output}"
    );
    assert!(
        !output.stdout.contains(API_KEY) && !output.stdout.contains("Bearer"),
        "{output}"
    );
    let output = environment.run(["requests", "replay", "2"]);
    assert!(output.stdout.contains("Again."), "{output}");
    let [sent, again] = [1, 2].map(|index| provider.wait_for_request(index).bytes);
    assert_eq!(sent, again);
}

#[test]
fn the_first_run_offers_the_service_whose_key_is_there() {
    let environment = Environment::new(program!());
    let mut terminal = environment
        .command::<&str>([])
        .variable("DUNLIN_DISCOVER", "")
        .variable("OPENAI_API_KEY", "")
        .variable("ANTHROPIC_API_KEY", API_KEY)
        .terminal();
    terminal.wait_for("Which one? 1-4 [1]");
    assert!(
        terminal
            .screen()
            .contains("  1  Anthropic · key in ANTHROPIC_API_KEY")
    );
    terminal.type_line("");
    terminal.wait_for("Which model of Anthropic?");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.wait_for("env = \"ANTHROPIC_API_KEY\"");
    terminal.wait_for("api = \"anthropic\"");
    terminal.assert_absent(API_KEY);
    // A yes would be followed by a request to the service.
    terminal.type_line("n");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
}
