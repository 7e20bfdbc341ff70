//! What ends a pause, and what does not.

use std::io::Read;
use std::net::TcpListener;

use dunlin_tests::{Key, Provider, Response};

use super::{Pausing, REQUEST, TOOLS, body, environment, said};

#[test]
fn a_cancelled_request_gives_the_message_back() {
    type Leave = fn(&mut Pausing);
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    let leave: [(&str, Leave, bool); 4] = [
        ("cancel", |chat| chat.chat.say("cancel"), false),
        ("ctrl_c", |chat| chat.chat.terminal.press(Key::CtrlC), false),
        ("pause_off", |chat| chat.chat.say("/pause off"), true),
        ("ctrl_d", |chat| chat.chat.terminal.press(Key::CtrlD), false),
    ];
    for (name, leave, is_off) in leave {
        let mut chat = Pausing::open(&environment, "next");
        chat.say("count the birds");
        leave(&mut chat);
        // Only a request that is sent was the next one.
        let mode = if is_off { "" } else { "(pause: next) " };
        chat.prompt(&format!(
            "› {mode}count the birds  (put back: Enter sends it)"
        ));
        insta::assert_snapshot!(format!("cancelled_by_{name}"), chat.snapshot());
        chat.chat.terminal.press(Key::CtrlC);
        chat.prompt(&format!("› {mode}Type a message, @ to attach a file"));
        chat.chat.terminal.press(Key::CtrlD);
        assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    }
    assert!(provider.requests().is_empty());
    let mut chat = Pausing::open(&environment, "next");
    chat.say("count the birds");
    chat.does("snd");
    // Only the next one was paused.
    chat.command("send", "› Type a message, @ to attach a file");
    insta::assert_snapshot!("only_the_next_request_was_paused", chat.snapshot());
}

#[test]
fn a_form_that_the_endpoint_wants_is_paused_again() {
    let refusal =
        r#"{"error": {"message": "Unrecognized request argument supplied: stream_options"}}"#;
    let provider = Provider::play([Response::status(400, refusal), Response::reply("Fine.")]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "next");
    chat.say("count the birds");
    chat.does("e 1 count the gulls");
    chat.does("send");
    let shown = chat.payload();
    assert_eq!(provider.requests().len(), 1);
    chat.command("send", "› Type a message, @ to attach a file");
    insta::assert_snapshot!(chat.snapshot());
    let requests = provider.requests();
    assert_eq!(shown, body(&requests[1]));
    assert_ne!(body(&requests[0]), body(&requests[1]));
    assert_eq!(said(&requests[1])[0].1, "count the gulls");
}

#[test]
fn another_context_discards_the_request() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "every");
    let put_back = "› (pause: every) count the birds  (put back: Enter sends it)";
    chat.say("count the birds");
    chat.command("/new", put_back);
    chat.chat.terminal.press(Key::Enter);
    chat.request();
    chat.does("e temperature 0.5");
    chat.does("e 1 count the terns");
    let question = "The request has 2 edits, which would be lost. Continue? [y/n]";
    chat.chat.say("/new");
    chat.prompt(question);
    chat.does("n");
    chat.chat.say("/new");
    chat.prompt(question);
    chat.command("y", put_back);
    // What a command asks is asked in the same question, and before anything is lost.
    chat.chat.terminal.press(Key::Enter);
    chat.request();
    chat.does("e temperature 0.5");
    let question = "The request has 1 edit, which would be lost. Forget the conversation? [y/n]";
    chat.chat.say("/clear");
    chat.prompt(question);
    chat.does("n");
    chat.does("diff");
    chat.chat.say("/clear");
    chat.prompt(question);
    chat.command("y", put_back);
    insta::assert_snapshot!(chat.snapshot());
    assert!(provider.requests().is_empty());
}

#[test]
fn a_command_that_fails_discards_nothing() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "every");
    chat.say("count the birds");
    chat.does("e 1 count the terns");
    for line in [
        "/fork",
        "/fork zz",
        "/sessions 99",
        "/agent foo",
        "/new now",
        "/clear x",
        "/resume",
        "/agent",
        "/model",
        "/model smollm",
        "/sessions",
    ] {
        let screen = chat.does(line);
        assert!(!screen.contains("discarded"), "{line}: {screen}");
    }
    chat.command(
        "send",
        "› (pause: every) Type a message, @ to attach a file",
    );
    insta::assert_snapshot!(chat.snapshot());
    assert_eq!(said(&provider.requests()[0])[0].1, "count the terns");
}

#[test]
fn an_interruption_ends_what_is_waited_for_and_not_the_pause() {
    // A server that takes the question for its models and never answers.
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address");
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.configure(&format!(
        "[agents.assistant]\nbase_url = \"http://{address}/v1\"\nmodel = \"m\"\nsystem_prompt = \"\"\n{TOOLS}\n"
    ));
    let mut chat = Pausing::open(&environment, "every");
    chat.chat.say("count the birds");
    // Whether it has the model is not known then.
    drop(server.accept().expect("a question"));
    chat.request();
    for (line, key) in [
        ("/model", Key::CtrlC),
        ("/model", Key::Escape),
        ("/model other", Key::CtrlC),
    ] {
        chat.chat.say(line);
        let (mut question, _) = server.accept().expect("a question");
        let mut first = [0];
        question.read_exact(&mut first).expect("a question");
        chat.chat.terminal.press(key);
        chat.request();
        chat.does("diff");
    }
    insta::assert_snapshot!(chat.snapshot());
}

#[test]
fn an_interruption_clears_the_line_first() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "every");
    chat.say("count the birds");
    chat.does("e 1 count the terns");
    let lines: [(&str, &str); 3] = [
        ("e 1 coun", "  request? e 1 coun"),
        ("\x12", "(reverse-i-search)`':"),
        ("\x12birds", "(reverse-i-search)`birds': count the birds"),
    ];
    for (typed, line) in lines {
        chat.chat.terminal.type_text(typed);
        chat.prompt(line);
        chat.chat.terminal.press(Key::CtrlC);
        chat.prompt(REQUEST);
    }
    chat.does("diff");
    chat.chat.terminal.press(Key::CtrlC);
    chat.prompt("› (pause: every) count the birds  (put back: Enter sends it)");
    insta::assert_snapshot!(chat.snapshot());
    assert!(provider.requests().is_empty());
}

#[test]
fn nothing_that_was_typed_before_the_pause_sends_it() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "turn");
    chat.chat
        .terminal
        .type_text("count the birds\rsend\rsend\r");
    chat.request();
    assert!(provider.requests().is_empty());
    chat.chat.say("cancel");
    chat.chat
        .terminal
        .wait_for("Request cancelled before sending.");
}
