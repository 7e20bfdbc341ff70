//! What a provider can do wrong: one clear message with the way out, and the chat goes on.

use dunlin_tests::{API_KEY, Environment, Provider, Response, program};
use serde_json::json;

use crate::stage::{Chat, assert_in_no_file, environment};

/// One failure: `ask` ends with status 4 and this on stderr, and in the chat the next message is answered.
#[track_caller]
fn check(keys: &str, response: Response, stdout: &str, stderr: &str) {
    let script = [response.clone(), response, Response::reply("Back again.")];
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.configure_more("", keys);
    let output = environment.run(["ask", "hello"]);
    assert_eq!(
        (
            output.status,
            output.stdout.as_str(),
            output.stderr.trim_end()
        ),
        (Some(4), stdout, stderr),
        "{output}"
    );
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("hello");
    let first = stderr.lines().next().unwrap_or_default();
    let kind = first.split("[PORT]").last().unwrap_or_default();
    assert!(screen.contains(kind), "{:?}", chat.terminal);
    assert!(chat.turn("hello?").contains("Back again."));
    chat.terminal.assert_absent(API_KEY);
    chat.leave();
    assert!(!output.to_string().contains(API_KEY));
    assert_in_no_file(&environment, API_KEY);
}

#[test]
fn a_refused_connection() {
    let base_url = Provider::play([]).base_url();
    let provider = Provider::play([]);
    let environment = Environment::with_provider(program!(), &provider);
    let text = std::fs::read_to_string(environment.config_file()).unwrap();
    environment.configure(&text.replace(&provider.base_url(), &base_url));
    let output = environment.run(["ask", "hello"]);
    assert_eq!(
        output.to_string(),
        "status: 4\n----- stderr\n\
         error: cannot connect to http://127.0.0.1:[PORT]/v1/chat/completions\n  \
         because: Connection refused (os error 111)\n\
         hint: is the server running? `dunlin doctor` looks for one\n"
    );
    let mut chat = Chat::open(&environment);
    assert!(chat.turn("hello").contains("is the server running?"));
    chat.leave();
}

#[test]
fn a_refused_key_is_named_and_never_shown() {
    let message = format!("Incorrect API key provided: {API_KEY}.");
    check(
        "",
        Response::json(401, &json!({ "error": { "message": message } })),
        "",
        "error: http://127.0.0.1:[PORT]/v1/chat/completions answered 401: Incorrect API key provided: ****\n\
         hint: check the API key \"test\"; dunlin config show prints where it comes from",
    );
}

/// What was said stays in the conversation, so whoever types it again would send it twice.
#[test]
fn a_message_that_failed_is_said_to_stay() {
    let provider = Provider::play([
        Response::json(401, &json!({ "error": { "message": "no" } })),
        Response::reply("Yes."),
    ]);
    let environment = Environment::with_provider(program!(), &provider);
    let mut chat = Chat::open(&environment);
    let note =
        "Your message stays in the conversation: /retry sends it again, and otherwise it goes with";
    let screen = chat.turn("hello");
    assert!(screen.contains(note), "{screen:?}");
    let screen = chat.turn("/retry");
    assert!(screen.contains("Yes."), "{screen:?}");
    assert_eq!(screen.text.matches(note).count(), 1, "{screen:?}");
    chat.leave();
    assert_eq!(
        provider.requests()[1].messages().last().expect("a message")["content"],
        "hello"
    );
}

/// Nothing can be allowed then, so the chat says it before anybody is let down.
#[test]
fn a_damaged_permission_file_is_said_at_the_start_and_fails_ask() {
    let read = || Response::call("read_file", json!({ "file_path": "a.txt" }));
    let provider = Provider::play([read(), Response::reply("I could not.")]);
    let environment = Environment::with_provider(program!(), &provider);
    environment.project_file("a.txt", "text");
    let file = environment
        .config_file()
        .with_file_name("tool.permissions.json");
    std::fs::write(file, "{").unwrap();
    let chat = Chat::open(&environment);
    let screen = chat.terminal.screen();
    let words = screen.text.split_whitespace().filter(|word| *word != "│");
    let text = words.collect::<Vec<_>>().join(" ");
    let said = "tool.permissions.json is damaged, so nothing can be allowed; fix it or move it aside: EOF while parsing";
    assert!(text.contains("warning: the permission file "), "{screen:?}");
    assert!(text.contains(said), "{screen:?}");
    chat.leave();
    let output = environment.run(["ask", "read it"]);
    assert_eq!(output.status, Some(1), "{output}");
    let text = output
        .stderr
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains(said), "{output}");
}

#[test]
fn statuses() {
    let once = "[limits]\nmax_retries = 0";
    check(
        "",
        Response::json(404, &json!({ "error": { "message": "no such model" } })),
        "",
        "error: http://127.0.0.1:[PORT]/v1/chat/completions answered 404: no such model\n\
         hint: check that the model \"scripted\" exists there, and the agent's base_url: it usually ends with /v1",
    );
    check(
        once,
        Response::json(429, &json!({ "error": "slow down" })).header("retry-after", "2"),
        "",
        "error: http://127.0.0.1:[PORT]/v1/chat/completions answered 429: slow down\n\
         hint: wait a moment and ask again",
    );
    check(
        once,
        Response::status(
            500,
            "<html><head><title>Bad\u{1b}[2J day</title></head><body>x</body></html>",
        ),
        "",
        "error: http://127.0.0.1:[PORT]/v1/chat/completions answered 500: Bad\\u{1b}[2J day\n\
         hint: the fault is on the server's side; ask again later",
    );
}

#[test]
fn silence() {
    let one_second = "[limits]\nrequest_timeout_secs = 1";
    let hint = "hint: a slow model may need a larger request_timeout_secs under [limits]";
    check(
        one_second,
        Response::silence(),
        "",
        &format!(
            "error: http://127.0.0.1:[PORT]/v1/chat/completions did not answer within 1 s\n{hint}"
        ),
    );
    check(
        one_second,
        Response::stream().text("Wait").stall(),
        "Wait\n",
        &format!(
            "error: http://127.0.0.1:[PORT]/v1/chat/completions did not continue its reply within 1 s\n{hint}"
        ),
    );
}

#[test]
fn a_reply_that_breaks_off() {
    let hint = "hint: run it again";
    check(
        "",
        Response::stream().text("Half a").cut(),
        "Half a\n",
        &format!(
            "error: the reply of http://127.0.0.1:[PORT]/v1/chat/completions ended in the middle\n  because: unexpected EOF during chunk size line\n{hint}"
        ),
    );
    check(
        "",
        Response::stream()
            .text("Half a")
            .event(&json!({ "error": { "message": "out of memory", "code": 500 } })),
        "Half a\n",
        &format!(
            "error: http://127.0.0.1:[PORT]/v1/chat/completions broke off its reply: out of memory\n{hint}"
        ),
    );
}

#[test]
fn something_else_than_a_reply() {
    check(
        "",
        Response::status(200, "<html>welcome to the router</html>")
            .header("content-type", "text/html"),
        "",
        "error: http://127.0.0.1:[PORT]/v1/chat/completions did not answer with a reply\n  \
         because: it sent <html>welcome to the router</html>\n\
         hint: check the agent's base_url: it usually ends with /v1",
    );
}

#[test]
fn what_came_before_a_failure_is_sent_again() {
    let cut = Response::stream().text("Half a").cut();
    let provider = Provider::play([cut, Response::reply("sentence.")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.turn("hello");
    chat.turn("go on");
    chat.leave();
    let request = provider.wait_for_request(1);
    assert_eq!(request.messages()[1]["content"], "Half a");
}
