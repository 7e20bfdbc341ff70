//! What people type at a question beside the words of its key, and what stands behind an answer.

use dunlin_tests::{Gate, Provider, Response};
use serde_json::json;

use super::assert_shows;
use crate::stage::{Chat, environment, late_call};

fn make(target: &str) -> Response {
    Response::call(
        "run_terminal_command",
        json!({ "command": format!("make {target}") }),
    )
}

#[test]
fn a_text_behind_a_lasting_answer_never_widens_it() {
    let provider = Provider::play([
        make("test"),
        Response::reply("Then not."),
        make("lint"),
        Response::reply("Clean."),
    ]);
    let environment = environment(&provider);
    environment.project_file("Makefile", "test lint:\n\t@echo made $@\n");
    let mut chat = Chat::open(&environment);
    chat.say("test it");
    let screen = chat.question();
    assert_shows(
        &screen,
        &[
            "    always: allows make test, with harmless arguments, in all projects\n",
            "    never:  denies make test, with any arguments, in all projects\n",
        ],
    );
    for typed in [
        "always make",
        "never mind",
        "never make lint",
        "1",
        "allow me to think",
    ] {
        chat.answer(typed);
        chat.question();
    }
    assert!(environment.permissions().is_null(), "{:?}", chat.terminal);
    chat.answer("never 1 the tests take hours");
    let screen = chat.prompt_with("always make\nnever mind\nnever make lint\nallow me to think");
    assert_shows(
        &screen,
        &["Stored: denies make test, with any arguments, in all projects."],
    );
    let stored = environment.permissions();
    let key = stored
        .as_object()
        .and_then(|it| it.keys().next())
        .expect("a rule");
    assert!(key.ends_with("/make test"), "{stored}");
    // The model hears the text, and continues.
    let requests = provider.requests();
    let result = requests[1].messages().last().expect("a result").clone();
    let result = result["content"].as_str().expect("a text").to_owned();
    assert!(
        result.ends_with("The user says about this call: the tests take hours"),
        "{result}"
    );

    // What was typed at the question is not sent by itself.
    chat.terminal.type_text("\x15");
    chat.say("lint it");
    chat.question();
    chat.answer("always make lint");
    assert_shows(
        &chat.prompt(),
        &[
            "Stored: allows make lint, with harmless arguments",
            "Clean.",
        ],
    );
    chat.leave();
}

#[test]
fn what_people_say_for_yes_and_no_answers_a_question_and_nothing_before_it() {
    let gate = Gate::new();
    let read = || Response::call("read_file", json!({ "file_path": "../outside/notes.txt" }));
    let provider = Provider::play([late_call(&gate), Response::reply("Read."), read()]);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", "the text outside");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text("ok\rsure\ryes please\r");
    gate.open();
    let screen = chat.question();
    assert_shows(
        &screen,
        &["\"ok\", \"sure\", \"yes please\" were typed before this question"],
    );
    assert_eq!(provider.requests().len(), 1, "{:?}", chat.terminal);
    chat.answer("Allow");
    assert_shows(&chat.prompt(), &["✓ 1 read_file", "Read."]);
    chat.say("once more");
    chat.question();
    chat.answer("nope");
    assert_shows(
        &chat.prompt(),
        &["✗ 2 read_file ../outside/notes.txt · denied"],
    );
    chat.leave();
}
