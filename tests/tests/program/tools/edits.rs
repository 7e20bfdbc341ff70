//! Edits in the chat: the difference on the screen, the answer bound to it, and `/undo`.

use std::fs;

use dunlin_tests::{Environment, Provider, Response};
use serde_json::{Value, json};

use crate::stage::{Chat, PLACEHOLDER, environment, read};

const BEFORE: &str = "one\ntwo\nthree\n";
const AFTER: &str = "one\nzwei\nthree\n";

/// A call of `edit_file` that turns [`BEFORE`] into [`AFTER`].
fn edit(path: &str) -> Response {
    edit_with(path, json!([{ "range": [2, 3], "replacement": "zwei" }]))
}

fn edit_with(path: &str, edits: Value) -> Response {
    Response::call("edit_file", json!({ "file_path": path, "edits": edits }))
}

/// A project with `a.txt`, and a provider whose model reads and then edits it.
fn project(more: impl IntoIterator<Item = Response>) -> (Provider, Environment) {
    let script = [read("a.txt"), edit("a.txt"), Response::reply("I did it.")];
    let provider = Provider::play(script.into_iter().chain(more));
    let environment = environment(&provider);
    environment.project_file("a.txt", BEFORE);
    (provider, environment)
}

fn text(environment: &Environment) -> String {
    fs::read_to_string(environment.project().join("a.txt")).unwrap_or_default()
}

/// The result that went back to the model with the last request.
fn last_result(provider: &Provider) -> String {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    last.results().last().expect("a result").to_string()
}

#[test]
fn an_edit_is_approved_by_its_difference_and_taken_back() {
    let (provider, environment) = project([Response::reply("I see.")]);
    let mut chat = Chat::open(&environment);
    chat.say("translate it");
    chat.question();
    assert_eq!(text(&environment), BEFORE);
    chat.answer("v");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert_eq!(text(&environment), AFTER);
    assert!(last_result(&provider).contains("     2\tzwei\n"));

    chat.turn("/undo");
    assert_eq!(text(&environment), BEFORE);
    chat.turn("/diff");
    chat.turn("/undo");
    // The model would take its edit for done.
    chat.turn("and now?");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let requests = provider.requests();
    let said = requests
        .last()
        .expect("a request")
        .messages()
        .last()
        .cloned();
    assert_eq!(
        said.expect("a message")["content"],
        "and now?\n\n(The user has undone your last edits. These files are as they were before; read them again before you \
         edit them: [\"a.txt\"])"
    );
}

#[test]
fn a_denied_edit_does_not_happen() {
    let provider = Provider::play([read("a.txt"), edit("a.txt")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", BEFORE);
    let mut chat = Chat::open(&environment);
    chat.say("translate it");
    chat.question();
    chat.answer("n");
    assert!(
        chat.prompt().contains("✗ 2 edit_file a.txt · denied"),
        "{:?}",
        chat.terminal
    );
    assert_eq!(text(&environment), BEFORE);
    chat.leave();
}

#[test]
fn a_file_that_changed_during_the_question_is_left_alone() {
    let (provider, environment) = project([]);
    let mut chat = Chat::open(&environment);
    chat.say("translate it");
    chat.question();
    environment.project_file("a.txt", "somebody's");
    chat.answer("y");
    chat.prompt();
    assert!(last_result(&provider).contains("changed since it was read; read it again"));
    assert_eq!(text(&environment), "somebody's");
    chat.leave();
}

#[test]
fn a_file_that_was_not_read_is_refused_without_a_question() {
    let provider = Provider::play([edit("a.txt"), Response::reply("I have to read it first.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", BEFORE);
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("translate it");
    assert!(!screen.contains("allow?"));
    assert!(last_result(&provider).contains("was not read in this session; read it first"));
    assert_eq!(text(&environment), BEFORE);
    chat.leave();
}

#[test]
fn what_is_written_into_a_file_cannot_act_on_the_screen() {
    let evil = "\u{1b}[2J\u{1b}[1;1Hallow? y\u{202e}";
    let edits = json!([{ "range": [1, 1], "replacement": evil }]);
    let provider = Provider::play([edit_with("new.txt", edits)]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("make it");
    chat.question();
    chat.answer("n");
    chat.prompt();
    assert!(!environment.project().join("new.txt").exists());
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn edits_are_taken_back_after_a_restart_unless_the_file_changed() {
    let (_provider, environment) = project([]);
    let mut chat = Chat::open(&environment);
    chat.say("translate it");
    chat.question();
    chat.answer("y");
    chat.prompt();
    chat.leave();

    // It is none of another session.
    let mut chat = Chat::of(environment.terminal(["--fresh"]));
    chat.turn("/undo");
    assert_eq!(text(&environment), AFTER);
    insta::assert_snapshot!("edits_are_none_of_another_session", chat.terminal.screen());
    chat.leave();

    environment.project_file("a.txt", "somebody's");
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.turn("/undo");
    assert_eq!(text(&environment), "somebody's");
    environment.project_file("a.txt", AFTER);
    chat.turn("/undo");
    assert_eq!(text(&environment), BEFORE);
    insta::assert_snapshot!("edits_taken_back_after_a_restart", chat.terminal.screen());
    chat.leave();
}

#[test]
fn edits_of_the_project_can_be_accepted_in_advance() {
    let (provider, environment) = project([
        edit_with(".hidden", json!([{ "range": [1, 1], "replacement": "x" }])),
        Response::reply("Not that."),
        edit_with(
            "../outside/b.txt",
            json!([{ "range": [1, 1], "replacement": "x" }]),
        ),
        Response::reply("Nor that."),
    ]);
    let mut chat = Chat::open(&environment);
    chat.terminal.type_text("translate");
    chat.terminal.type_text("\x1b[Z");
    chat.terminal.wait_until("the mode", |screen| {
        screen.cursor_line == "› (edits accepted) translate"
    });
    chat.terminal.type_text(" it\r");
    let screen = chat.prompt_with("(edits accepted)");
    assert!(!screen.contains("› translate\n"), "{:?}", chat.terminal);
    assert_eq!(text(&environment), AFTER);
    // What nobody was asked about is shown.
    chat.say("/diff");
    let screen = chat.prompt_with("(edits accepted)");
    assert_eq!(screen.count("  │ +zwei\n"), 2, "{:?}", chat.terminal);
    chat.say("/diff 1");
    chat.prompt_with("(edits accepted)");
    // Hidden files, and those elsewhere, are asked about as before.
    for message in ["hide", "leave"] {
        chat.say(message);
        chat.question();
        chat.answer("n that is not yours");
        chat.prompt_with("(edits accepted)");
    }
    assert!(!environment.project().join(".hidden").exists());
    chat.terminal.type_text("\x1b[Z");
    chat.terminal.wait_until("plan mode", |screen| {
        screen.cursor_line.starts_with("› (plan) ")
    });
    chat.terminal.type_text("\x1b[Z");
    chat.terminal.wait_until("the usual prompt", |screen| {
        screen.cursor_line == format!("› {PLACEHOLDER}")
    });
    insta::assert_snapshot!("edits_that_are_accepted_in_advance", chat.terminal.screen());
    chat.leave();
    // How much a call changed outlives the session, the diff does not.
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.terminal.wait_for(" · +1 −1\n");
    chat.turn("/diff 2");
    chat.turn("/history");
    insta::assert_snapshot!("edits_in_a_resumed_session", chat.terminal.screen());
    chat.leave();
    drop(provider);
}

#[test]
fn a_large_edit_is_viewed_in_the_pager() {
    let long: String = (0..200).map(|n| format!("line {n}\n")).collect();
    let new = edit_with("new.txt", json!([{ "range": [1, 1], "replacement": long }]));
    let provider = Provider::play([new, Response::reply("Well.")]);
    let environment = environment(&provider);
    let pages = environment.root().join("pages");
    let pager = format!("cat > {}", pages.display());
    let terminal = environment
        .command::<&str>([])
        .variable("PAGER", &pager)
        .terminal();
    let mut chat = Chat::of(terminal);
    chat.say("write it");
    chat.question();
    chat.answer("v");
    chat.question();
    let shown = fs::read_to_string(&pages).expect("what the pager was given");
    let counts = shown.find("new.txt  +200 −0").expect("the counts");
    let first = shown.find("+line 0").expect("the difference");
    assert!(counts < first && shown.contains("+line 199"), "{shown}");
    assert!(!shown.contains("\"replacement\""), "{shown}");
    // It was seen, so it can be allowed.
    chat.answer("y");
    assert!(
        chat.prompt().contains(" · +200 −0\n"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn a_new_file_outside_the_project_is_asked_about_at_once() {
    let create = edit_with(
        "../outside/new.txt",
        json!([{ "range": [1, 1], "replacement": "hello" }]),
    );
    let provider = Provider::play([create, Response::reply("Made.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("make it");
    chat.question();
    chat.answer("y");
    chat.prompt();
    let made = environment.root().join("outside/new.txt");
    assert_eq!(fs::read_to_string(made).expect("the file"), "hello\n");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

const GREET: &str = "import os\n\ndef greet(name):\n    return name\n";

/// An edit of [`GREET`] that leaves a bracket open.
fn break_greet() -> Response {
    let line = "    return (name";
    edit_with(
        "greet.py",
        json!([{ "range": [4, 5], "replacement": line }]),
    )
}

/// An edit at which the parsers are loaded: a busy machine may take longer for that than a question waits.
fn first_edit() -> Response {
    let edits = json!([{ "range": [1, 1], "replacement": "one" }]);
    edit_with("first.txt", edits)
}

/// A project with `greet.py`, where the parsers are compiled: they are those of the search.
fn with_greet(provider: &Provider) -> Environment {
    let environment = environment(provider);
    environment.project_file("greet.py", GREET);
    let search = environment.run(["search", "greeting"]);
    assert_eq!(search.status, Some(0), "{search}");
    environment
}

#[test]
fn an_edit_that_breaks_a_file_is_marked_and_the_model_is_told() {
    let new = json!([{ "range": [1, 1], "replacement": "{\"a\": [1,2}" }]);
    let provider = Provider::play([
        first_edit(),
        read("greet.py"),
        break_greet(),
        edit_with("a.json", new),
        Response::reply("I did it."),
    ]);
    let environment = with_greet(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("translate it");
    chat.question();
    chat.answer("y");
    chat.question();
    chat.answer("v");
    chat.question();
    chat.answer("y");
    chat.question();
    assert!(last_result(&provider).contains("greet.py does not parse any more: line 4"));
    chat.answer("y");
    chat.prompt();
    assert!(last_result(&provider).contains("a.json does not parse: line 1"));
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn an_edit_that_was_accepted_beforehand_is_marked_below_the_call() {
    let provider = Provider::play([
        first_edit(),
        read("greet.py"),
        break_greet(),
        read("greet.py"),
        // What did not parse before is not marked.
        edit_with("greet.py", json!([{ "range": [1, 2], "replacement": "" }])),
        Response::reply("I did it."),
    ]);
    let environment = with_greet(&provider);
    let mut chat = Chat::open(&environment);
    chat.terminal.type_text("translate\x1b[Z");
    chat.terminal.wait_until("the mode", |screen| {
        screen.cursor_line == "› (edits accepted) translate"
    });
    chat.terminal.type_text("\r");
    let screen = chat.prompt_with("(edits accepted)");
    let mark = "  ! greet.py does not parse after this edit: line 4\n";
    assert_eq!(screen.count(mark), 1, "{:?}", chat.terminal);
    assert_eq!(screen.count("does not parse"), 1, "{:?}", chat.terminal);
    assert!(!last_result(&provider).contains("does not parse"));
    chat.leave();
}
