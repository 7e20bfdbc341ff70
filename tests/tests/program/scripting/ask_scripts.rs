//! What scripts need of `dunlin ask`: files, sessions, a limit, events as they happen, replies that fit a schema.

use dunlin_tests::{Environment, Gate, Output, Provider, Received, Response};
use serde_json::{Value, json};

use crate::stage::{environment, read};

/// What was said to the model last, in each request.
fn said(provider: &Provider) -> Vec<String> {
    let last = |it: &Received| {
        let messages = it.messages();
        let content = messages.last().map(|last| last["content"].clone());
        content
            .and_then(|it| it.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    provider.requests().iter().map(last).collect()
}

fn lines(output: &Output) -> Vec<Value> {
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// Runs the program, which fails. How, is in the transcript.
fn fails(environment: &Environment, arguments: &[&str]) {
    let output = environment.command(arguments).run();
    assert_ne!(output.status, Some(0), "{arguments:?}: {output}");
}

#[test]
fn files_are_attached_by_an_option_and_by_a_mention() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a\n");
    environment.project_file(".env", "KEY=secret\n");
    environment.outside_file("b.txt", "text of b\n");
    let arguments = ["ask", "-f", "../outside/b.txt", "-f", ".env", "see @a.txt"];
    let output = environment.command(arguments).run();
    assert_eq!(output.to_string(), "status: 0\n----- stdout\nYes.\n");
    let said = said(&provider).remove(0);
    assert!(said.starts_with("see @a.txt\n\n@"), "{said}");
    for text in ["\ttext of a\n", "\ttext of b\n", "\tKEY=secret\n"] {
        assert!(said.contains(text), "{text:?}: {said}");
    }
    // What is piped in is data.
    let piped = environment
        .command(["ask", "why?"])
        .stdin("see @a.txt and @../outside/b.txt\n")
        .run();
    assert_eq!(piped.status, Some(0), "{piped}");
    let requests = provider.requests();
    let last = requests.last().unwrap().messages();
    assert_eq!(
        last[0]["content"],
        "why?\n\nsee @a.txt and @../outside/b.txt"
    );
    // Naming a file opens that one.
    fails(&environment, &["ask", "see @../outside/b.txt"]);
    fails(&environment, &["ask", "see @b.md"]);
    fails(&environment, &["ask", "-f", "c.txt", "see"]);
    // Without an end like a file's, it could be a word with an @.
    fails(&environment, &["ask", "-f", "Makefil", "see"]);
    fails(&environment, &["ask", "-f", "a.txt"]);
    let own = environment.data().join("audit.jsonl");
    fails(&environment, &["ask", "-f", own.to_str().unwrap(), "see"]);
    insta::assert_snapshot!(environment.transcript());
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn what_is_too_long_is_said_to_be_attached_in_part() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("long.txt", "The sandpiper nests in June.\n".repeat(5000));
    environment.project_file("short.txt", "one\ntwo\n");
    let output = environment.run(["ask", "-f", "long.txt", "-f", "short.txt", "see"]);
    assert_eq!(output.status, Some(0), "{output}");
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn a_link_of_the_project_decides_not_what_is_attached_or_allowed() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("docs/guide.md", "text of the guide\n");
    environment.project_file(".env", "KEY=secret\n");
    environment.outside_file("b.txt", "text of b\n");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, environment.project().join(name)).expect("a link");
    };
    link("../outside/b.txt", "NOTES.md");
    link("docs/guide.md", "README.md");
    link(".env", "HELP.md");
    link("../outside", "out");
    fails(&environment, &["ask", "-f", "NOTES.md", "see"]);
    fails(&environment, &["ask", "--allow", "out/=rw", "see"]);
    fails(&environment, &["permissions", "allow", "read", "out/"]);
    fails(&environment, &["ask", "-f", "HELP.md", "see"]);
    insta::assert_snapshot!(environment.transcript());
    assert_eq!(provider.requests().len(), 0);
    let output = environment.run(["ask", "-f", "README.md", "see"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(said(&provider).remove(0).contains("\ttext of the guide\n"));
}

#[test]
fn a_session_is_begun_by_its_title_and_continued() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    fails(&environment, &["ask", "--continue", "and?"]);
    let first = environment.run(["ask", "--session", "release notes", "one"]);
    assert_eq!(first.status, Some(0), "{first}");
    insta::assert_snapshot!("a_session_is_begun_by_its_title", environment.transcript());
    let second = environment.run(["ask", "--json", "--session", "release notes", "two"]);
    assert_eq!((second.status, second.stderr.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&second.stdout).unwrap();
    let id = document["session"].as_str().expect("its id");
    let third = environment.run(["ask", "-c", "three"]);
    assert_eq!(third.status, Some(0), "{third}");
    let fourth = environment.run(["ask", "--session", id, "four"]);
    assert_eq!(fourth.status, Some(0), "{fourth}");
    let messages: Vec<usize> = provider
        .requests()
        .iter()
        .map(|it| it.messages().len())
        .collect();
    assert_eq!(messages, [1, 3, 5, 7]);
    environment.transcript();
    let _ = environment.run(["sessions", "list"]);
    // A question without a session is kept nowhere.
    let alone = environment.run(["ask", "five"]);
    assert_eq!(alone.status, Some(0), "{alone}");
    let last = provider.requests().pop().unwrap();
    assert_eq!(last.messages().len(), 1);
    fails(&environment, &["ask", "-c", "--session", id, "x"]);
    fails(&environment, &["ask", "--session", "", "x"]);
    insta::assert_snapshot!(
        "a_session_is_listed_and_continued",
        environment.transcript()
    );
}

/// Whoever is second while the first one still answers sends nothing, and begins no session of the same title.
#[test]
fn a_session_is_begun_once() {
    let gate = Gate::new();
    let slow = Response::stream().text("Yes").wait(&gate).finish("stop");
    let provider = Provider::play([slow, Response::reply("Yes.")]);
    let environment = environment(&provider);
    let first = environment
        .command(["ask", "--session", "notes", "one"])
        .spawn();
    provider.wait_for_request(0);
    fails(&environment, &["ask", "--session", "notes", "two"]);
    let process = format!("process {}", first.id());
    let transcript = environment.transcript();
    insta::assert_snapshot!(transcript.replace(&process, "process [ID]"));
    assert_eq!(provider.requests().len(), 1);
    gate.open();
    let first = first.wait();
    assert_eq!(first.status, Some(0), "{first}");
    let third = environment.run(["ask", "--session", "notes", "three"]);
    assert_eq!(third.status, Some(0), "{third}");
    let counts = provider.requests();
    let counts: Vec<usize> = counts.iter().map(|it| it.messages().len()).collect();
    assert_eq!(counts, [1, 3]);
}

#[test]
fn rounds_are_limited_for_one_run() {
    let provider = Provider::always(read("a.txt"));
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a");
    fails(&environment, &["ask", "--max-rounds", "2", "read"]);
    assert_eq!(provider.requests().len(), 2);
    fails(&environment, &["ask", "--max-rounds", "0", "read"]);
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn events_come_as_lines_and_the_document_is_the_last() {
    let provider = Provider::play([read("a.txt"), Response::reply("It is \u{9b}a.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a");
    let output = environment.run(["ask", "--output", "stream-json", "read"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(!output.stdout.contains('\u{9b}'), "{output}");
    let lines = lines(&output);
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["type"].as_str().expect("a type"))
        .filter(|kind| *kind != "text")
        .collect();
    let expected = [
        "request",
        "reply_ended",
        "call_started",
        "call",
        "request",
        "reply_ended",
        "result",
    ];
    assert_eq!(kinds, expected, "{output}");
    let of = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap();
    assert_eq!(
        of("call_started")["arguments"],
        json!({"file_path": "a.txt"})
    );
    assert_eq!(of("call")["state"], "completed");
    assert_eq!(of("call")["id"], of("call_started")["id"]);
    let text: String = lines
        .iter()
        .filter(|line| line["type"] == "text")
        .filter_map(|line| line["text"].as_str())
        .collect();
    assert_eq!(text, "It is \u{9b}a.");
    let last = lines.last().unwrap();
    assert_eq!(last["reply"], "It is \u{9b}a.");
    assert_eq!(last["end"], "answered");
    let both = environment.run(["ask", "--json", "--output", "text", "read"]);
    assert_eq!(both.status, Some(2), "{both}");
}

#[test]
fn a_reply_fits_its_schema_or_the_command_fails() {
    let schema =
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    let play = |replies: &[&str]| {
        let provider = Provider::play(replies.iter().map(|it| Response::reply(it)));
        let environment = environment(&provider);
        environment.project_file("schema.json", schema);
        environment.project_file("none.json", "{\"type\": 3}");
        environment.project_file("broken.json", "{");
        (provider, environment)
    };
    let (provider, environment) = play(&["Three: 3", "```json\n{ \"n\": 3 }\n```"]);
    let output = environment.run(["ask", "--output-schema", "schema.json", "how many?"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "{\"n\":3}\n"),
        "{output}"
    );
    let said = said(&provider);
    assert!(
        said[0].starts_with("how many?\n\nReply with one JSON value"),
        "{said:?}"
    );
    assert!(said[0].ends_with(schema), "{said:?}");
    assert!(said[1].contains("not one JSON value"), "{said:?}");

    let (provider, environment) = play(&["{}", "{}", "{\"n\": \"x\"}"]);
    let arguments = [
        "ask",
        "--json",
        "--output-schema",
        "schema.json",
        "how many?",
    ];
    let output = environment.run(arguments);
    assert_eq!(output.status, Some(1), "{output}");
    assert_eq!(provider.requests().len(), 3);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["rounds"], 3);
    assert_eq!(document["reply"], "{\"n\": \"x\"}");
    assert_eq!(document.get("output"), None);
    environment.transcript();
    let error = document["error"].as_str().unwrap();
    insta::assert_snapshot!("a_reply_that_does_not_fit_its_schema", error);

    for file in ["none.json", "broken.json", "missing.json"] {
        fails(&environment, &["ask", "--output-schema", file, "x"]);
    }
    insta::assert_snapshot!("schemas_that_cannot_be_used", environment.transcript());
}
