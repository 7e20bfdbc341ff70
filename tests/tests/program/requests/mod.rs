//! The log of requests: what it shows is what arrived at the provider, byte for byte.

mod inspecting;
pub mod inspecting_elsewhere;
pub mod pausing;
mod random_edits;
mod replaying;

use std::fs;
use std::process::{Command, Stdio};

use dunlin_tests::{API_KEY, Environment, Provider, Received, Response};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{Chat, assert_in_no_file, environment, read, session_file};

/// What `requests show ID --sent` prints into a pipe.
fn sent(environment: &Environment, id: &str) -> Vec<u8> {
    environment
        .command(["requests", "show", id, "--sent"])
        .stdout_bytes()
}

/// Everything that is known of the requests of the last session.
fn listed(environment: &Environment) -> Vec<Value> {
    let output = environment.command(["requests", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&output.stdout_bytes()).expect("a JSON document");
    listed.as_array().cloned().expect("a list")
}

/// Asserts that the log holds exactly these requests, in this order.
#[track_caller]
fn assert_logged(environment: &Environment, received: &[Received]) {
    let listed = listed(environment);
    assert_eq!(listed.len(), received.len(), "{listed:#?}");
    for (index, request) in received.iter().enumerate() {
        let id = (index + 1).to_string();
        assert_eq!(
            String::from_utf8_lossy(&sent(environment, &id)),
            String::from_utf8_lossy(&request.bytes),
            "request {id}"
        );
        assert_eq!(listed[index]["number"], index + 1);
        assert_eq!(listed[index]["bytes"], request.bytes.len());
    }
}

/// The endings of the requests, in order.
fn endings(environment: &Environment) -> Vec<Value> {
    let listed = listed(environment).into_iter();
    listed.map(|request| request["end"].clone()).collect()
}

/// A field, and whether its value is one that the format allows.
type Field = (&'static str, fn(&Value) -> bool);

/// The entries of an HTTP Archive, with what HAR 1.2 demands of each.
fn har_entries(archive: &Value) -> &[Value] {
    let log = &archive["log"];
    assert_eq!(log["version"], "1.2");
    assert_eq!(log["creator"]["name"], "Dunlin");
    assert!(log["creator"]["version"].is_string(), "{log}");
    let has = |value: &Value, fields: &[Field]| {
        for (field, is_right) in fields {
            assert!(
                is_right(&value[*field]),
                "{field} is {}: {value:#}",
                value[*field]
            );
        }
    };
    let entries = log["entries"].as_array().expect("a list");
    for entry in entries {
        has(
            entry,
            &[
                ("startedDateTime", |it| {
                    it.as_str().is_some_and(|it| it.ends_with('Z'))
                }),
                ("time", |it| it.as_f64().is_some_and(|it| it >= 0.0)),
                ("cache", Value::is_object),
            ],
        );
        has(
            &entry["request"],
            &[
                ("method", |it| it == "POST"),
                ("url", |it| {
                    it.as_str().is_some_and(|it| it.starts_with("http://"))
                }),
                ("queryString", Value::is_array),
            ],
        );
        has(
            &entry["request"]["postData"],
            &[("mimeType", Value::is_string), ("text", Value::is_string)],
        );
        has(
            &entry["response"],
            &[
                ("status", Value::is_u64),
                ("statusText", Value::is_string),
                ("redirectURL", Value::is_string),
            ],
        );
        has(
            &entry["response"]["content"],
            &[("size", Value::is_u64), ("mimeType", Value::is_string)],
        );
        for side in ["request", "response"] {
            has(
                &entry[side],
                &[
                    ("httpVersion", Value::is_string),
                    ("cookies", Value::is_array),
                    ("headers", Value::is_array),
                    ("headersSize", Value::is_i64),
                    ("bodySize", Value::is_i64),
                ],
            );
        }
        let timing = |phase: &str| {
            let time = entry["timings"][phase].as_f64().expect("a time");
            assert!(time >= 0.0, "{phase}: {entry:#}");
            time
        };
        let sum = timing("send") + timing("wait") + timing("receive");
        let time = entry["time"].as_f64().expect("a time");
        assert!((sum - time).abs() < 1e-6, "{entry:#}");
    }
    entries
}

fn kill(chat: Chat) {
    kill_process(chat.terminal.id(), Signal::KILL).expect("a process to kill");
    drop(chat);
}

#[test]
fn every_request_of_a_session_comes_back_as_it_was_sent() {
    let busy = Response::json(429, &json!({ "error": "slow down" })).header("retry-after", "0");
    let gate = dunlin_tests::Gate::new();
    let provider = Provider::play([
        read("a.txt"),
        Response::stream()
            .text("It says “hello”.")
            .finish_reason("stop")
            .usage(1200, 34)
            .done(),
        busy,
        Response::reply("Again."),
        Response::reply("Cleared."),
        Response::reply("Resumed."),
        Response::stream().text("The first line\nthe").wait(&gate),
        Response::reply("After the kill."),
    ]);
    let environment = environment(&provider);
    let text: String = (0..200)
        .map(|n| format!("line {n} \"quoted\" \\ ß \u{9b}\n"))
        .collect();
    environment.project_file("a.txt", &text);
    let mut chat = Chat::open(&environment);
    chat.turn("read a.txt");
    chat.turn("and once more");
    chat.say("/clear");
    chat.terminal.wait_for("Forget the conversation?");
    chat.terminal.type_line("y");
    chat.prompt();
    chat.turn("anew");
    chat.leave();
    assert_logged(&environment, &provider.requests());
    let answered = json!("answered");
    assert_eq!(
        endings(&environment),
        [
            answered.clone(),
            answered.clone(),
            json!("refused"),
            answered.clone(),
            answered.clone()
        ]
    );

    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.turn("go on");
    chat.say("and now?");
    chat.terminal.wait_for("The first line");
    // A request is logged beside sending it: on a slow machine its reply may come first.
    let is_logged = (0..1000).any(|_| listed(&environment).len() == 7);
    assert!(is_logged, "the request is not logged");
    kill(chat);
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.turn("still there?");
    chat.leave();
    assert_logged(&environment, &provider.requests());
    assert_eq!(
        endings(&environment)[5..],
        [answered.clone(), Value::Null, answered]
    );

    let all = listed(&environment);
    assert_eq!(
        (
            &all[1]["usage"]["input_tokens"],
            &all[1]["usage"]["output_tokens"]
        ),
        (&json!(1200), &json!(34)),
        "{:#?}",
        all[1]
    );
    assert!(
        all[2]["error"]
            .as_str()
            .is_some_and(|error| error.contains("429")),
        "{:#?}",
        all[2]
    );
    assert_eq!(
        all[0]["endpoint"],
        format!("{}/chat/completions", provider.base_url())
    );
    let shown = environment.command(["requests", "show", "2", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout_bytes()).expect("a JSON document");
    let sections = shown["sections"].as_array().expect("sections");
    let kinds: Vec<&Value> = sections.iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds[..3], ["user", "assistant", "tool_result"]);
    let call = &sections[1];
    assert_eq!(call["number"], 2);
    let path = json!("messages[1].tool_calls[0].function.arguments.file_path");
    let values = call["values"].as_array().expect("values");
    assert!(values.contains(&path), "{call:#}");
    assert_in_no_file(&environment, API_KEY);

    // An export has the same bytes, and the replies.
    let file = environment.project().join("requests.jsonl");
    let output = environment.run(["requests", "export", "--output", "requests.jsonl"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stderr.contains("8 requests of session"), "{output}");
    let lines = fs::read_to_string(&file).expect("the export");
    let exported: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let bodies: Vec<&str> = exported
        .iter()
        .filter_map(|it| it["sent"].as_str())
        .collect();
    let requests = provider.requests();
    let expected: Vec<_> = requests
        .iter()
        .map(|it| String::from_utf8_lossy(&it.bytes))
        .collect();
    assert_eq!(bodies, expected);
    assert_eq!(exported[3]["reply"]["content"], "Again.");
    let archive = environment.command(["requests", "export", "--har"]);
    let archive: Value = serde_json::from_slice(&archive.stdout_bytes()).expect("JSON");
    let entries = har_entries(&archive);
    let bodies: Vec<&str> = entries
        .iter()
        .filter_map(|it| it["request"]["postData"]["text"].as_str())
        .collect();
    assert_eq!(bodies, expected);
    let statuses: Vec<&Value> = entries.iter().map(|it| &it["response"]["status"]).collect();
    assert_eq!(statuses, [200, 200, 429, 200, 200, 200, 0, 200]);
    let text = &entries[3]["response"]["content"]["text"];
    let reply: Value = serde_json::from_str(text.as_str().expect("a reply")).expect("JSON");
    assert_eq!(reply["content"], "Again.");
    assert_eq!(entries[1]["_dunlin"]["number"], 2);
    // A proxy shows why a request was refused.
    let refused = &entries[2]["response"]["content"];
    assert_eq!(refused["text"], all[2]["error"], "{refused}");
    assert_eq!(refused["mimeType"], "text/plain");
    let archive = archive.to_string();
    assert!(!archive.contains(API_KEY) && !archive.contains("authorization"));
    let again = environment.run(["requests", "export", "--output", "requests.jsonl"]);
    assert_eq!(again.status, Some(1), "{again}");
    assert!(again.stderr.contains("already exists"), "{again}");
}

#[test]
fn a_request_is_shown_and_what_is_wrong_is_said() {
    let provider = Provider::play([
        Response::reply("Hello,\u{9b}2J too."),
        Response::reply("Yes."),
    ]);
    let environment = environment(&provider);
    let none = environment.run(["requests", "list"]);
    assert_eq!(none.status, Some(2), "{none}");
    let mut chat = Chat::open(&environment);
    chat.turn("hello");
    let screen = chat.turn("there?");
    assert!(screen.contains("Yes."));
    chat.say("/requests");
    let screen = chat.prompt();
    assert!(
        screen.contains("   2  just now · scripted · "),
        "{:?}",
        chat.terminal
    );
    chat.say("/requests 2 sent");
    // The control character is shown as JSON writes it.
    let screen = chat.prompt();
    assert!(
        screen.contains("Hello,\\u009b2J too."),
        "{:?}",
        chat.terminal
    );
    chat.say("/requests 7");
    let screen = chat.prompt();
    assert!(
        screen.contains("no request 7 in this session; nearest: 2, 1"),
        "{:?}",
        chat.terminal
    );
    chat.leave();

    let check = |arguments: &[&str], status: i32, expected: &str| {
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(status), "{arguments:?}: {output}");
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(text.contains(expected), "{arguments:?}: {output}");
    };
    check(&["requests", "list"], 0, "answered in ");
    check(
        &["requests", "list", "-n", "1"],
        0,
        "These are the newest 1",
    );
    check(&["requests", "show", "1"], 0, "  agent     assistant");
    check(
        &["requests", "show", "1", "--diff"],
        0,
        "nothing was edited",
    );
    check(&["requests", "show", "9"], 2, "nearest: 2, 1");
    check(
        &["requests", "show", "nine"],
        2,
        "expected a number such as 3",
    );
    check(
        &["requests", "show", "1", "--session", "zzz"],
        2,
        "there is no session \"zzz\"",
    );
    check(
        &["requests", "show", "1", "--sent", "--curl"],
        2,
        "cannot be used with",
    );
    let all = listed(&environment);
    let session = all[0]["session"].as_str().expect("an id");
    let id = format!("{session}/2");
    assert_eq!(sent(&environment, &id), provider.wait_for_request(1).bytes);

    // A byte of the file that is changed is found.
    let file = &session_file(&environment);
    let text = fs::read_to_string(file).expect("a session");
    assert!(text.contains("\"sha256\":\""), "{text}");
    let bytes = provider.wait_for_request(1).bytes.len().to_string();
    let damaged = text
        .replacen("hello", "jello", 1)
        .replacen("there?", "where?", 2);
    assert!(text.contains(&bytes), "{bytes}");
    fs::write(file, damaged).expect("a session");
    let output = environment.run(["requests", "show", "2", "--sent"]);
    assert_eq!(output.status, Some(1), "{output}");
    assert!(
        output.stderr.contains("is damaged: its SHA-256 is"),
        "{output}"
    );
}

#[test]
fn the_curl_command_sends_the_same_bytes_and_holds_no_key() {
    let provider = Provider::play([Response::reply("It's me."), Response::reply("Again me.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("it's $HOME, `date` and \\ and \"that\"");
    chat.leave();
    let output = environment.run(["requests", "show", "1", "--curl"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stdout.contains("Bearer $OPENAI_API_KEY"), "{output}");
    assert!(!output.stdout.contains(API_KEY), "{output}");
    let command = environment
        .command(["requests", "show", "1", "--curl"])
        .stdout_bytes();
    let ran = Command::new("/bin/sh")
        .arg("-c")
        .arg(String::from_utf8(command).expect("a command"))
        .env("OPENAI_API_KEY", API_KEY)
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let answer = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success() && answer.contains("Again me."),
        "{ran:?}"
    );
    let (one, two) = (provider.wait_for_request(0), provider.wait_for_request(1));
    assert_eq!(one.bytes, two.bytes);
    for name in ["authorization", "content-type", "accept"] {
        assert_eq!(one.header(name), two.header(name), "{name}");
    }
}

#[test]
fn the_curl_command_has_the_key_only_for_the_address_that_is_used_now() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("which birds?");
    chat.leave();
    let file = session_file(&environment);
    let records = std::fs::read_to_string(&file).expect("records");
    for other in ["/v1/organization/invites", "/v1/chat/completions/../admin"] {
        let records = records.replace("/v1/chat/completions", other);
        std::fs::write(&file, records).expect("a file");
        let output = environment.run(["requests", "show", "1", "--curl"]);
        assert_eq!(output.status, Some(0), "{output}");
        assert!(!output.stdout.contains("Bearer"), "{output}");
        let note = "is left out: your configuration does not send it to this address.";
        assert!(output.stderr.contains(note), "{output}");
    }
    // What went over no HTTP is not in an archive.
    let endpoint = format!("{}/chat/completions", provider.base_url());
    std::fs::write(&file, records.replace(&endpoint, "model.gguf")).expect("a file");
    let output = environment.run(["requests", "export", "--har"]);
    assert!(
        output.stderr.contains("requests left out because"),
        "{output}"
    );
    let archive: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert!(har_entries(&archive).is_empty(), "{archive}");
    // Nor is what an address may have beside the place.
    let foreign = "http://tern:veiled@127.0.0.1:9/v1/chat/completions?key=veiled#veiled";
    std::fs::write(&file, records.replace(&endpoint, foreign)).expect("a file");
    let output = environment.run(["requests", "export", "--har"]);
    assert!(!output.stdout.contains("veiled"), "{output}");
    let archive: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let url = &har_entries(&archive)[0]["request"]["url"];
    let url = url.as_str().expect("an address");
    assert!(
        url.starts_with("http://127.0.0.1:") && url.ends_with("/v1/chat/completions"),
        "{url}"
    );
}
