//! Ollama, spoken to in its own protocol.

use std::fs;

use dunlin_tests::{Environment, Ollama, Provider, Response, program};
use serde_json::json;

use crate::stage::Chat;

const ABOUT: Ollama = Ollama {
    window: 4096,
    longest: 40_960,
};

/// Folders whose only agent talks to this server, with more keys.
fn environment(provider: &Provider, keys: &str) -> Environment {
    let environment = Environment::new(program!());
    environment.configure(&format!(
        "[agents.assistant]\napi = \"ollama\"\nbase_url = {:?}\nmodel = \"scripted\"\n{keys}\n",
        provider.root()
    ));
    environment
}

#[test]
fn a_turn_with_a_call() {
    let thought = json!({ "role": "assistant", "content": "", "thinking": "They want it read." });
    let script = [
        Response::ollama()
            .ollama_message(&thought)
            .ollama_message(&json!({ "content": "Let me see." }))
            .ollama_message(&json!({
                "content": "",
                "tool_calls": [{ "function": { "name": "read_file", "arguments": { "file_path": "a.txt" } } }],
            }))
            .ollama_end("stop", 3000)
            .in_pieces_of(7),
        Response::ollama_reply("It says größe.").in_pieces_of(1),
    ];
    let about = Ollama {
        window: 8192,
        ..ABOUT
    };
    let provider = Provider::ollama(about, script);
    let environment = environment(&provider, "context_window = 8192\ntemperature = 0.5");
    environment.project_file("a.txt", "größe\n");
    let output = environment.run(["ask", "--json", "read it"]);
    assert_eq!(output.status, Some(0), "{output}");
    let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["reply"], "It says größe.");
    assert_eq!(document["usage"]["input_tokens"], 6000);
    let requests = provider.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        requests[0].body["options"],
        json!({ "temperature": 0.5, "num_ctx": 8192 })
    );
    assert!(requests[0].tools().contains(&"read_file"));
    // The agent has no system prompt of its own.
    let [system, _, called, result] = requests[1].messages() else {
        panic!("{:#}", requests[1].body);
    };
    assert_eq!(system["role"], "system");
    assert_eq!(called["content"], "Let me see.");
    assert_eq!(called["thinking"], "They want it read.");
    assert_eq!(
        called["tool_calls"][0]["function"]["arguments"],
        json!({ "file_path": "a.txt" })
    );
    assert_eq!(
        (&result["role"], &result["tool_name"]),
        (&json!("tool"), &json!("read_file"))
    );
    assert!(result["content"].as_str().unwrap().contains("größe"));
}

#[test]
fn an_error_line_within_a_reply() {
    let script = [Response::ollama()
        .ollama_message(&json!({ "content": "Half a" }))
        .ollama_line(&json!({ "error": "llama runner process has terminated" }))];
    let provider = Provider::ollama(ABOUT, script);
    let output = environment(&provider, "").run(["ask", "hello"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(4), "Half a\n"),
        "{output}"
    );
    assert!(
        output
            .stderr
            .contains("broke off its reply: llama runner process has terminated"),
        "{output}"
    );
}

#[test]
fn a_prompt_that_was_cut_without_a_word_is_said_loudly_and_once() {
    let short = || {
        Response::ollama()
            .ollama_message(&json!({ "content": "Yes." }))
            .ollama_end("stop", 2051)
    };
    let provider = Provider::ollama(ABOUT, [short(), short()]);
    let environment = environment(&provider, "tools = [\"read_file\"]");
    let long = "sandpipers nest in june ".repeat(2900);
    let output = environment
        .command(["-v"])
        .stdin(format!("{long}\nand now?\n"))
        .run();
    assert_eq!(output.status, Some(0), "{output}");
    assert_eq!(
        output
            .stderr
            .matches("(its window is 4,096) and silently dropped the rest")
            .count(),
        1,
        "{output}"
    );
    assert!(
        output
            .stderr
            .contains("set context_window = 32768 in [agents.assistant]"),
        "{output}"
    );
}

#[test]
fn a_prompt_that_is_refused_for_its_length_names_the_key_to_set() {
    let refused = json!({ "error": "prompt too long; exceeded max context length by 952 tokens" });
    let provider = Provider::ollama(ABOUT, [Response::json(400, &refused)]);
    let output = environment(&provider, "").run(["ask", "hello"]);
    assert_eq!(output.status, Some(4), "{output}");
    assert!(
        output
            .stderr
            .contains("hint: set context_window = 16384 in [agents.assistant]"),
        "{output}"
    );
}

#[test]
fn a_model_without_tools_is_asked_again_without_them_and_it_is_said_once() {
    let refused =
        json!({ "error": "registry.ollama.ai/library/scripted:latest does not support tools" });
    let script = [
        Response::json(400, &refused),
        Response::ollama_reply("Hello."),
        Response::ollama_reply("Again."),
    ];
    let provider = Provider::ollama(ABOUT, script);
    let output = environment(&provider, "")
        .command::<&str>([])
        .stdin("one\ntwo\n")
        .run();
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "Hello.\nAgain.\n"),
        "{output}"
    );
    assert_eq!(
        output.stderr.matches("the model takes no tools").count(),
        1,
        "{output}"
    );
    let tools: Vec<bool> = provider
        .requests()
        .iter()
        .map(|request| request.tools().is_empty())
        .collect();
    assert_eq!(tools, [false, true, true]);
}

#[test]
fn a_model_that_is_not_there() {
    let missing = json!({ "error": "model 'scripted' not found" });
    let provider = Provider::ollama(ABOUT, [Response::json(404, &missing)]);
    let output = environment(&provider, "").run(["ask", "hello"]);
    assert!(
        output
            .stderr
            .contains("hint: `ollama pull scripted` fetches the model"),
        "{output}"
    );
}

#[test]
fn a_first_run_offers_ollama_in_its_own_protocol() {
    let provider = Provider::ollama(
        ABOUT,
        [
            Response::ollama_reply("Hello."),
            Response::ollama_reply("Hello from Ollama"),
        ],
    );
    let environment = Environment::new(program!());
    let mut terminal = environment
        .command::<&str>([])
        .variable("DUNLIN_DISCOVER", &provider.base_url())
        .variable("OPENAI_API_KEY", "")
        .terminal();
    // The other one is the model that runs in Dunlin itself.
    terminal.wait_for("Which one? 1-4 [1]");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    assert!(chat.turn("hello").contains("Hello from Ollama"));
    chat.leave();
    let written = fs::read_to_string(environment.config_file()).unwrap();
    assert!(
        written.contains(&format!(
            "api = \"ollama\"\nbase_url = \"{}/\"\nmodel = \"scripted\"",
            provider.root()
        )),
        "{written}"
    );
    let output = environment.run(["doctor"]);
    assert!(
        output.stdout.contains("assistant · scripted at"),
        "{output}"
    );
    assert!(!output.stdout.contains("no such model"), "{output}");
    assert!(
        output.stdout.contains("4,096 tokens, the server says"),
        "{output}"
    );
    assert!(
        output
            .stdout
            .contains("context_window = 16384 in [agents.assistant]"),
        "{output}"
    );
}
