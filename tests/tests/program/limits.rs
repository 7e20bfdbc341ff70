//! Conversations that are too long for what may be sent: seen from the other end of the socket.

use dunlin_tests::{Environment, Provider, Received, Response};
use serde_json::Value;

use crate::stage::{Chat, environment, read};

/// What a provider that answers like this is sent when these lines are said, a turn each, under these limits.
fn converse(limits: &str, script: Vec<Response>, lines: &[&str]) -> (String, Vec<Received>) {
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.configure_more("", &format!("[limits]\n{limits}"));
    files(&environment);
    let said = lines.join("\n");
    let output = environment.command::<&str>([]).stdin(said).run();
    assert_eq!(output.status, Some(0), "{output}");
    (output.stderr, provider.requests())
}

fn files(environment: &Environment) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        let text: String = (0..100)
            .map(|line| format!("line {line} of {name}\n"))
            .collect();
        environment.project_file(name, text);
    }
}

fn contents<'a>(request: &'a Received, role: &str) -> Vec<&'a str> {
    let of_role = |message: &&Value| message["role"] == role;
    let messages = request.messages().iter().filter(of_role);
    messages
        .filter_map(|message| message["content"].as_str())
        .collect()
}

#[test]
fn old_results_are_left_out_first() {
    let files = ["a.txt", "b.txt", "c.txt"];
    let script = files
        .iter()
        .flat_map(|name| [read(name), Response::reply("I see.")]);
    let (status, requests) = converse(
        "max_history_tokens = 2500",
        script.collect(),
        &["read a", "read b", "read c"],
    );
    assert_eq!(requests.len(), 6);
    // Each file comes to some 1,000 tokens: the third does not fit beside the first.
    let results = contents(&requests[4], "tool");
    assert!(
        results.iter().all(|result| result.contains("line 50 of")),
        "{results:?}"
    );
    let results = contents(&requests[5], "tool");
    assert!(
        results[0].starts_with("[The result of read_file is left out here: "),
        "{results:?}"
    );
    assert!(results[2].contains("line 50 of c.txt"), "{results:?}");
    assert_eq!(
        contents(&requests[5], "user"),
        ["read a", "read b", "read c"]
    );
    assert!(status.contains("old tool result"), "{status}");
    assert!(
        status.contains("not sent (max_history_tokens is 2,500)"),
        "{status}"
    );
}

#[test]
fn requests_begin_alike_between_the_strides() {
    let answer = "word ".repeat(150);
    let turns = 24;
    let script: Vec<Response> = (0..turns).map(|_| Response::reply(&answer)).collect();
    let lines: Vec<String> = (0..turns)
        .map(|turn| format!("This is question number {turn}."))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (status, requests) = converse("max_history_tokens = 1600", script, &lines);
    let mut cuts = 0;
    for (before, after) in requests.iter().zip(&requests[1..]) {
        let (before, after) = (before.messages(), after.messages());
        if after.starts_with(before) {
            continue;
        }
        cuts += 1;
        assert!(after.len() < before.len(), "cut and not shorter");
        assert!(contents(&requests[0], "user")[0] == "This is question number 0.");
    }
    // Of some eight turns that fit two go at a time.
    assert!((4..=9).contains(&cuts), "{cuts} cuts");
    assert_eq!(status.matches("not sent").count(), cuts, "{status}");
    for (turn, request) in requests.iter().enumerate() {
        let said = contents(request, "user");
        assert!(
            said[0].starts_with("This is question number 0."),
            "{said:?}"
        );
        assert!(said.last().unwrap().ends_with(lines[turn]), "{said:?}");
        assert!(
            request.bytes.len() < 1600 * 6 + 8_000,
            "{} bytes",
            request.bytes.len()
        );
    }
}

#[test]
fn lines_are_limited_too() {
    let files = ["a.txt", "b.txt"];
    let script = files
        .iter()
        .flat_map(|name| [read(name), Response::reply("I see.")]);
    let (status, requests) = converse(
        "max_history_lines = 150",
        script.collect(),
        &["read a", "read b"],
    );
    let results = contents(&requests[3], "tool");
    assert!(
        results[0].starts_with("[The result of read_file is left out"),
        "{results:?}"
    );
    assert!(results[1].contains("line 50 of b.txt"), "{results:?}");
    assert!(status.contains("(max_history_lines is 150)"), "{status}");
}

#[test]
fn a_result_that_is_too_long_is_sent_in_part() {
    let script = vec![read("a.txt"), Response::reply("I see.")];
    let (_, requests) = converse("max_history_tokens = 600", script, &["read a"]);
    let results = contents(&requests[1], "tool");
    assert!(
        results[0].contains("bytes are left out here: the result is too long"),
        "{results:?}"
    );
    assert!(results[0].contains("line 99 of a.txt"), "{results:?}");
}

#[test]
fn what_cannot_be_sent_is_not_sent() {
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    environment.configure_more("", "[limits]\nmax_history_tokens = 200");
    let long = "too long ".repeat(300);
    let output = environment.command(["ask"]).stdin(long.as_str()).run();
    let expected = "error: the last turn alone comes to about 682 tokens, and max_history_tokens is 200\n\
         hint: your message is kept; /context shows what takes the room, /clear begins afresh, and \
         max_history_tokens under [limits] can be raised\n";
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(1), expected),
        "{output}"
    );
    let output = environment
        .command(["ask", "--json"])
        .stdin(long.as_str())
        .run();
    let document: Value = serde_json::from_str(&output.stdout).expect("a document");
    assert_eq!(document["end"], "too_long", "{document}");
    assert_eq!(provider.requests().len(), 0);

    // The chat goes on, without it.
    let mut chat = Chat::open(&environment);
    assert!(
        chat.turn(&"no ".repeat(400))
            .contains("the last turn alone comes to")
    );
    assert!(chat.turn("hello").contains("Fine."));
    chat.leave();
    let said = provider.wait_for_request(0);
    let note =
        "[1 earlier message is left out here: the conversation has become too long.]\n\nhello";
    assert_eq!(contents(&said, "user"), [note]);
}

#[test]
fn limits_are_shown_and_a_project_may_only_lower_them() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.configure_more("", "[limits]\nmax_history_lines = 300");
    environment.project_file(
        ".dunlin/config.toml",
        "[limits]\nmax_history_tokens = 4000\nmax_history_lines = 301",
    );
    let output = environment.run(["config", "show"]);
    let row = |name: &str| {
        let rows = output.stdout.lines();
        rows.clone()
            .find(|row| row.starts_with(name))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        row("limits.max_history_tokens").contains("= 4000 "),
        "{output}"
    );
    assert!(
        row("limits.max_history_lines").contains("= 300 "),
        "{output}"
    );
    assert!(
        output.stderr.contains("ignored: limits.max_history_lines"),
        "{output}"
    );
}
