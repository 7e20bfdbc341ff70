//! What ends a pause, and what does not.

use std::io::Read;
use std::net::TcpListener;

use dunlin_tests::{Key, Provider, Response};

use super::{Pausing, REQUEST, body, said};
use crate::stage::environment;

#[test]
fn a_cancelled_request_gives_the_message_back() {
    type Leave = fn(&mut Pausing);
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    let leave: [(Leave, bool); 4] = [
        (|chat| chat.chat.say("cancel"), false),
        (|chat| chat.chat.terminal.press(Key::CtrlC), false),
        (|chat| chat.chat.say("/pause off"), true),
        (|chat| chat.chat.terminal.press(Key::CtrlD), false),
    ];
    for (leave, is_off) in leave {
        let mut chat = Pausing::open(&environment, "next");
        chat.say("count the birds");
        leave(&mut chat);
        // Only a request that is sent was the next one.
        let mode = if is_off { "" } else { "(pause: next) " };
        chat.prompt(&format!(
            "› {mode}count the birds  (put back: Enter sends it)"
        ));
        let screen = chat.chat.terminal.screen();
        assert!(
            screen.contains("Request cancelled before sending."),
            "{screen:?}"
        );
        chat.chat.terminal.press(Key::CtrlC);
        chat.prompt(&format!("› {mode}Type a message, @ to attach a file"));
        chat.chat.terminal.press(Key::CtrlD);
        assert_eq!(chat.chat.terminal.wait_end(), Some(0));
    }
    assert!(provider.requests().is_empty());
    let mut chat = Pausing::open(&environment, "next");
    chat.say("count the birds");
    chat.does("snd");
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Fine.");
    // Only the next one was paused.
    chat.prompt("› Type a message, @ to attach a file");
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
    let screen = chat.does("send");
    let notice = "The server takes this request only in another form, so it is paused again.";
    assert!(screen.contains(notice), "{screen}");
    let shown = chat.payload();
    assert_eq!(provider.requests().len(), 1);
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Fine.");
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
    chat.chat.say("/new");
    chat.chat
        .terminal
        .wait_for("Context changed: request discarded.");
    chat.prompt(put_back);
    chat.chat.terminal.press(Key::Enter);
    chat.request();
    chat.does("e temperature 0.5");
    chat.does("e 1 count the terns");
    let question = "The request has 2 edits, which would be lost. Continue? [y/n]";
    for answer in ["n", "y"] {
        chat.chat.say("/new");
        chat.prompt(question);
        match answer {
            "n" => {
                let screen = chat.does("n");
                assert!(screen.contains("The request is still paused."), "{screen}");
            }
            answer => chat.chat.say(answer),
        }
    }
    chat.prompt(put_back);
    // What a command asks is asked in the same question, and before anything is lost.
    chat.chat.terminal.press(Key::Enter);
    chat.request();
    chat.does("e temperature 0.5");
    let question = "The request has 1 edit, which would be lost. Forget the conversation? [y/n]";
    for answer in ["n", "y"] {
        chat.chat.say("/clear");
        chat.prompt(question);
        match answer {
            "n" => {
                let screen = chat.does("n");
                assert!(screen.contains("The request is still paused."), "{screen}");
                let screen = chat.does("diff");
                assert!(screen.contains("options  temperature"), "{screen}");
            }
            answer => chat.chat.say(answer),
        }
    }
    chat.chat.terminal.wait_for("The conversation is empty.");
    chat.prompt(put_back);
    assert!(provider.requests().is_empty());
}

#[test]
fn a_command_that_fails_discards_nothing() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "every");
    chat.say("count the birds");
    chat.does("e 1 count the terns");
    for (line, said) in [
        ("/fork", "Nothing to fork yet; /fork ID forks another"),
        ("/fork zz", "there is no session \"zz\""),
        ("/sessions 99", "there is no session \"99\""),
        ("/agent foo", "there is no agent \"foo\""),
        ("/new now", "/new takes no arguments."),
        ("/clear x", "/clear takes no arguments."),
        ("/resume", "There is no other session of this project."),
        ("/agent", "/agent NAME switches agents"),
        ("/model", "/model NAME takes one"),
        (
            "/model smollm",
            "Nothing is changed: the server does not list the model \"smollm\"",
        ),
        ("/sessions", "There is no other session of this project."),
    ] {
        let screen = chat.does(line);
        assert!(screen.contains(said), "{line}: {screen}");
        assert!(!screen.contains("discarded"), "{line}: {screen}");
    }
    chat.chat.say("send");
    chat.chat.terminal.wait_for("Fine.");
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
        "[agents.assistant]\nbase_url = \"http://{address}/v1\"\nmodel = \"m\"\n"
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
        let screen = chat.request();
        let said = screen.matches("(interrupted) The request is still paused.");
        assert!(said.count() > 0, "{line}: {screen}");
        let screen = chat.does("diff");
        assert!(screen.contains("Nothing is edited."), "{line}: {screen}");
    }
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
    let screen = chat.does("diff");
    assert!(screen.contains("{+terns+}"), "{screen}");
    chat.chat.terminal.press(Key::CtrlC);
    chat.chat
        .terminal
        .wait_for("Request cancelled before sending.");
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
