//! What is sent again: after a wait, or written otherwise, and never once a reply has begun.

use dunlin_tests::{Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment};

#[test]
fn a_wait_is_counted_down_in_the_chat_and_ctrl_c_ends_it() {
    let busy = Response::json(429, &json!({ "error": "slow down" })).header("retry-after", "50");
    let provider = Provider::play([busy, Response::reply("Here I am.")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("hello");
    chat.terminal
        .wait_for("429 too many requests · trying again in 5");
    chat.terminal.wait_for("attempt 2 of 4 · Ctrl-C stops");
    chat.terminal.type_text("\x03");
    let screen = chat.prompt();
    assert!(screen.contains("(interrupted)"), "{:?}", chat.terminal);
    assert!(!screen.contains("trying again"), "{:?}", chat.terminal);
    assert_eq!(provider.requests().len(), 1);
    // The message is kept and sent with the next one.
    assert!(chat.turn("hello?").contains("Here I am."));
    chat.leave();
    let request = provider.wait_for_request(1);
    assert_eq!(request.messages()[0]["content"], "hello\n\nhello?");
}

#[test]
fn without_a_terminal_a_wait_is_one_line() {
    let busy = Response::status(503, "loading").header("retry-after-ms", "1");
    let provider = Provider::play([busy.clone(), busy, Response::reply("Here I am.")]);
    let output = environment(&provider).run(["ask", "hello"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "Here I am.\n"),
        "{output}"
    );
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{output}");
    assert!(
        lines[0].starts_with("503 service unavailable · trying again in "),
        "{output}"
    );
    assert!(lines[1].ends_with(" s · attempt 3 of 4"), "{output}");
}

#[test]
fn max_retries_is_honoured() {
    let busy = Response::status(503, "loading").header("retry-after", "0");
    for retries in [0, 1] {
        let provider = Provider::play(vec![busy.clone(); retries + 1]);
        let environment = environment(&provider);
        environment.configure_more("", &format!("[limits]\nmax_retries = {retries}"));
        let output = environment.run(["ask", "hello"]);
        assert_eq!(output.status, Some(4), "{output}");
        assert!(output.stderr.contains("answered 503: loading"), "{output}");
    }
}

#[test]
fn what_an_endpoint_teaches_by_refusing_is_honoured_from_then_on() {
    let refuse = |message: &str| Response::json(400, &json!({ "error": { "message": message } }));
    let script = [
        refuse("Unrecognized request argument supplied: stream_options"),
        refuse(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
        Response::reply("One."),
        Response::reply("Two."),
    ];
    let provider = Provider::play(script);
    let environment = environment(&provider);
    let now = std::fs::read_to_string(environment.config_file()).unwrap();
    environment.configure(&format!("{now}max_tokens = 100\n"));
    let output = environment.command::<&str>([]).stdin("one\ntwo\n").run();
    assert_eq!(
        (
            output.status,
            output.stdout.as_str(),
            output.stderr.as_str()
        ),
        (Some(0), "One.\nTwo.\n", ""),
        "{output}"
    );
    let sent: Vec<[bool; 3]> = provider
        .requests()
        .iter()
        .map(|request| {
            ["stream_options", "max_tokens", "max_completion_tokens"]
                .map(|field| !request.body[field].is_null())
        })
        .collect();
    assert_eq!(
        sent,
        [
            [true, true, false],
            [false, true, false],
            [false, false, true],
            [false, false, true],
        ]
    );
}

#[test]
fn a_refusal_that_teaches_nothing_is_told_at_once() {
    for status in [400, 401, 403, 404, 422] {
        let provider = Provider::play([Response::status(status, "no").header("retry-after", "0")]);
        let output = environment(&provider).run(["ask", "hello"]);
        assert_eq!(output.status, Some(4), "{output}");
        assert_eq!(provider.requests().len(), 1);
    }
}

#[test]
fn nothing_is_sent_again_after_output_began() {
    let failed = Response::stream()
        .text("Half a")
        .event(&json!({ "error": { "message": "overloaded", "code": 503 } }));
    let provider = Provider::play([failed]);
    let output = environment(&provider).run(["ask", "hello"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(4), "Half a\n"),
        "{output}"
    );
    assert_eq!(provider.requests().len(), 1);
}
