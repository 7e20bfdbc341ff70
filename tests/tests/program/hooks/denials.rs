//! What hooks deny, and that no call goes past them.

use std::fs;

use dunlin_tests::{Environment, McpClient, Provider, Response};
use serde_json::{Value, json};

use super::{hook, result, write};
use crate::stage::{Chat, environment, read};

/// Denies to change a lock file.
const GUARD: &str = r#"if grep -q '"files":\[{"path":"[^"]*/Cargo.lock"}\]'; then echo '{"decision": "deny", "reason": "cargo writes it"}'; fi"#;

/// The lines of the audit log about hooks.
fn audited(environment: &Environment) -> Vec<Value> {
    let log = fs::read_to_string(environment.data().join("audit.jsonl")).unwrap_or_default();
    let lines = log.lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("a line"));
    lines.filter(|line| line["plugin"] == "hook").collect()
}

#[test]
fn a_hook_denies_a_call_and_the_model_goes_on() {
    let provider = Provider::play([
        write("Cargo.lock", "x"),
        Response::reply("Then I leave it."),
        write("a.txt", "x"),
        Response::reply("Written."),
    ]);
    let environment = environment(&provider);
    let hook = hook("before-call", GUARD, "tools = [\"write_file\"]");
    environment.configure_more("", &hook);
    let mut chat = Chat::open(&environment);
    // Nobody is asked about it.
    chat.turn("update the lock");
    let result = result(&provider, 1);
    assert!(
        result.starts_with("ERROR: Permission denied by the hook `if grep -q"),
        "{result}"
    );
    assert!(result.ends_with("`: cargo writes it"), "{result}");
    assert!(!environment.project().join("Cargo.lock").exists());

    // What it does not deny is asked about as ever.
    chat.say("write a");
    chat.question();
    chat.answer("y");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let events = audited(&environment);
    let words: Vec<&str> = events
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    // Once for each call: what was asked before the question counts when the call runs.
    assert_eq!(
        words,
        ["allowed", "used", "denied", "allowed", "used"],
        "{events:?}"
    );
    assert_eq!(events[2]["error"], "cargo writes it");
    assert_eq!(events[2]["tool"], "write_file");
    let rule = events[2]["rule"].as_str().unwrap();
    assert!(
        rule.starts_with("before-call hook of ") && rule.contains("config.toml:"),
        "{rule}"
    );
    let shown = environment.run(["audit", "--denied"]);
    assert!(shown.stdout.contains("cargo writes it"), "{shown}");
}

#[test]
fn an_allow_of_a_hook_allows_nothing() {
    let provider = Provider::play([write("a.txt", "x")]);
    let environment = environment(&provider);
    let hook = hook("before-call", "echo '{\"decision\": \"allow\"}'", "");
    environment.configure_more("", &hook);
    let output = environment.run(["ask", "write"]);
    assert_eq!(output.status, Some(3), "{output}");
    assert!(!environment.project().join("a.txt").exists());
}

#[test]
fn a_hook_has_what_a_command_has_and_in_plan_mode_less() {
    let script = "echo x > ../outside/made; echo x > made; true";
    let provider = Provider::play([
        read("a.txt"),
        Response::reply("Planned."),
        read("a.txt"),
        Response::reply("Done."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    environment.configure_more("", &hook("before-call", script, ""));
    let made = environment.project().join("made");
    let configured = fs::read_to_string(environment.config_file()).unwrap();
    for (mode, is_made) in [("plan", false), ("ask", true)] {
        environment.configure(&format!("mode = \"{mode}\"\n{configured}"));
        let output = environment.run(["ask", "read"]);
        assert_eq!(output.status, Some(0), "{mode}: {output}");
        assert_eq!(made.exists(), is_made, "{mode}");
        assert!(!environment.root().join("outside/made").exists());
    }
}

#[test]
fn what_is_denied_to_commands_is_denied_to_a_hook() {
    let provider = Provider::play([read("a.txt"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    environment.configure_more("", &hook("before-call", "/usr/bin/env true", ""));
    let denied = environment.run(["permissions", "deny", "execute", "/usr/bin/env"]);
    assert_eq!(denied.status, Some(0), "{denied}");
    let output = environment.run(["ask", "read"]);
    assert_eq!(output.status, Some(3), "{output}");
    let why = "): permission denied: execute ";
    assert!(output.stderr.contains(why), "{output}");
    assert!(
        audited(&environment)
            .iter()
            .all(|line| line["event"] == "denied")
    );
}

#[test]
fn a_hook_that_denies_an_attachment_is_named() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    let script = "echo '{\"decision\": \"deny\", \"reason\": \"not this\"}'";
    environment.configure_more("", &hook("before-call", script, ""));
    let mut chat = Chat::open(&environment);
    chat.say("look at @a.txt");
    let screen = chat.terminal.wait_for("was not read");
    let shown = screen.text.replace("\n  │ ", " ").replace('\n', " ");
    assert!(
        shown.contains("a.txt was not read: denied by the hook `echo"),
        "{screen:?}"
    );
}

#[test]
fn a_guard_of_files_sees_what_a_patch_changes() {
    let patch = "*** Begin Patch\n*** Add File: Cargo.lock\n+x\n*** End Patch\n";
    let provider = Provider::play([
        Response::call("apply_patch", json!({ "input": patch })),
        Response::reply("Then I leave it."),
    ]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("before-call", GUARD, ""));
    let output = environment.run(["ask", "update the lock"]);
    assert_eq!(output.status, Some(3), "{output}");
    let result = result(&provider, 1);
    assert!(result.ends_with("`: cargo writes it"), "{result}");
}

#[test]
fn no_way_of_a_call_goes_past_a_hook() {
    let start = Response::calls([("run_subagent", json!({ "task": "Find the eggs" }))]);
    let provider = Provider::play_each([
        ("look around", vec![start, Response::reply("Done.")]),
        (
            "Find the eggs",
            vec![read("a.txt"), Response::reply("I may not.")],
        ),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "the text of a");
    let script = "echo '{\"decision\": \"deny\", \"reason\": \"not this\"}'";
    environment.configure_more("", &hook("before-call", script, "tools = ['read_*']"));
    let output = environment.run(["ask", "look around"]);
    assert_eq!(output.status, Some(3), "{output}");
    let requests = provider.requests();
    let results = requests.iter().flat_map(|request| request.results());
    assert_eq!(
        results.filter(|it| it.ends_with("`: not this")).count(),
        1,
        "{output}"
    );

    let by_hand = environment.run([
        "tools",
        "call",
        "read_file",
        "--args",
        "{\"file_path\": \"a.txt\"}",
    ]);
    assert!(by_hand.stderr.contains("not this"), "{by_hand}");
    assert!(!by_hand.stdout.contains("the text of a"), "{by_hand}");

    let mut client = McpClient::open(environment.command(["mcp", "serve"]));
    let answer = client.call("read_file", json!({ "file_path": "a.txt" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("`: not this"), "{text}");
}
