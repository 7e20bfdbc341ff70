//! The steps to a reply: what is waited for, calls that can be looked at, and leaving all of it out.

use dunlin_tests::{Gate, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment, read};

const CTRL_V: &str = "\u{16}";

#[test]
fn what_is_waited_for_is_said_until_there_is_text() {
    let (first, second) = (Gate::new(), Gate::new());
    let reply = Response::stream()
        .wait(&first)
        .reasoning("Hm.")
        .wait(&second);
    let provider = Provider::play([reply.text("Here it is.").finish("stop")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("hello");
    chat.terminal.wait_for(" waiting for ");
    first.open();
    chat.terminal.wait_for(" thinking");
    second.open();
    let screen = chat.prompt();
    assert!(
        screen.contains("› hello\nHere it is.\n›"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn nothing_is_said_where_nobody_looks() {
    let gate = Gate::new();
    let provider = Provider::play([Response::stream().wait(&gate).text("Yes.").finish("stop")]);
    let environment = environment(&provider);
    let mut chat = Chat::of(
        environment
            .command(["-q"])
            .variable("TERM", "dumb")
            .terminal(),
    );
    chat.say("hello");
    chat.terminal.wait_hands_off();
    gate.open();
    chat.prompt();
    let bytes = chat.terminal.bytes();
    assert!(
        !String::from_utf8_lossy(&bytes).contains("waiting"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn calls_are_expanded_by_their_numbers() {
    let outside = ("read_file", json!({ "file_path": "../outside/b.txt" }));
    let provider = Provider::play([
        read("a.txt"),
        Response::reply("Read."),
        Response::calls([outside, ("read_file", json!({ "file_path": "none.txt" }))]),
        Response::reply("Well."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "the text of a");
    environment.outside_file("b.txt", "the text of b");
    let mut chat = Chat::open(&environment);
    chat.turn("read a");
    chat.say("read the others");
    chat.question();
    // Also while calls wait.
    chat.answer("/expand 1");
    chat.question();
    chat.answer("/expand 2");
    chat.question();
    chat.answer("y");
    chat.prompt();
    chat.say("/expand");
    chat.prompt();
    chat.say("/expand 4");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn what_is_said_between_calls_is_a_step() {
    let looks = || Response::stream().text("I look first.");
    let call = || [("read_file", json!({ "file_path": "a.txt" }))];
    let provider = Provider::play([
        looks().calls_of(call()),
        Response::reply("It is short."),
        looks().calls_of(call()),
        Response::reply("Still short."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "the text of a");
    environment.configure_more("show_intermediate_steps = false", "");
    let mut chat = Chat::open(&environment);
    chat.turn("one");
    chat.say("/history");
    chat.prompt();
    chat.say("/steps on");
    chat.prompt();
    chat.turn("two");
    chat.say("/history");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    // A pipe gets the reply alone.
    let provider = Provider::play([looks().calls_of(call()), Response::reply("It is short.")]);
    environment.configure_for(&provider, "");
    environment.configure_more("show_intermediate_steps = false", "");
    assert_eq!(environment.run(["ask", "three"]).stdout, "It is short.\n");
}

#[test]
fn steps_are_left_out_and_shown_again() {
    let provider = Provider::play([
        read("a.txt"),
        Response::reply("First."),
        Response::calls([
            ("read_file", json!({ "file_path": "a.txt" })),
            ("read_file", json!({ "file_path": "none.txt" })),
        ]),
        Response::reply("Second."),
        read("a.txt"),
        Response::reply("Third."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "the text of a");
    let mut chat = Chat::open(&environment);
    chat.turn("one");
    chat.say("/steps");
    chat.prompt();
    let screen = chat.turn("two");
    assert!(!screen.contains("✓ 2"), "{:?}", chat.terminal);
    // The key leaves the line as it is.
    chat.terminal.type_text("thr");
    chat.terminal.type_text(CTRL_V);
    chat.terminal.wait_for("(steps are shown)");
    chat.terminal
        .wait_until("the line", |screen| screen.cursor_line == "› thr");
    chat.terminal.type_text("ee\r");
    chat.terminal.wait_for("Third.");
    chat.prompt();
    assert_eq!(
        provider.requests()[4].messages().last().unwrap()["content"],
        "three"
    );
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}
