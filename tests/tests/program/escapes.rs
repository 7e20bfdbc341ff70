//! Foreign text, wherever it comes from, is shown and does nothing else to the terminal.

use dunlin_tests::{Gate, Key, Provider, Response, Screen, Terminal};
use serde_json::json;

use crate::stage::{Chat, environment, read};

/// Clears the screen, sets the title and the clipboard, rings, links, goes back over the line and turns
/// the text around.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;pwned\u{7}\u{1b}]52;c;cHduZWQ=\u{7}\u{7}\u{1b}]8;;http://evil\u{1b}\\\
    \u{9b}31m\rover\u{202e}txt\u{200b}.\u{8}end";

/// Nothing happened but writing, and nothing raw got through.
#[track_caller]
fn assert_harmless(terminal: &Terminal) {
    assert_eq!(terminal.effects(), Vec::<String>::new(), "{terminal:?}");
    let bytes = terminal.bytes();
    let text = String::from_utf8_lossy(&bytes);
    for raw in [
        "\u{1b}[2J",
        "\u{1b}]",
        "\u{9b}",
        "\u{202e}",
        "\u{200b}",
        "\u{2066}",
        "\u{8}",
        "\u{7}",
    ] {
        assert!(!text.contains(raw), "{raw:?}: {terminal:?}");
    }
}

#[test]
fn in_a_reply() {
    let provider = Provider::play([Response::reply(&format!("before {HOSTILE} after"))]);
    let mut chat = Chat::open(&environment(&provider));
    let screen = chat.turn("hello");
    assert!(
        screen.contains("before \\u{7}\nover\\u{202e}txt\\u{200b}.\\u{8}end after"),
        "{:?}",
        chat.terminal
    );
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn a_reply_draws_no_prompt() {
    let reply = "Look:\n  read_file asks\n  allow? y\n› and then";
    let provider = Provider::play([Response::reply(reply)]);
    let mut chat = Chat::open(&environment(&provider));
    let screen = chat.turn("hello");
    assert!(
        screen.contains("read_file asks\n│ allow? y\n│ › and then\n"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn in_a_sequence_that_comes_in_two_pieces() {
    let gate = Gate::new();
    let reply = Response::stream().text("before \u{1b}]0;pw").wait(&gate);
    let provider = Provider::play([reply.text("ned\u{7}after").finish("stop")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("hello");
    chat.terminal.wait_for("before");
    gate.open();
    assert!(
        chat.prompt().contains("before after"),
        "{:?}",
        chat.terminal
    );
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn in_the_reasoning() {
    let reply = Response::stream()
        .reasoning(HOSTILE)
        .text("done")
        .finish("stop");
    let provider = Provider::play([reply]);
    let environment = environment(&provider);
    let mut chat = Chat::of(environment.terminal(["--verbose"]));
    chat.turn("hello");
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn in_a_call() {
    let hostile_name = format!("read{HOSTILE}");
    let hostile_path = format!("../outside/{HOSTILE}");
    let calls = [
        (hostile_name.as_str(), json!({ HOSTILE: HOSTILE })),
        (
            "read_file",
            json!({ "file_path": "src/a.txt", HOSTILE: HOSTILE }),
        ),
        ("read_file", json!({ "file_path": hostile_path })),
    ];
    let provider = Provider::play([Response::calls(calls), Response::reply("Sorry.")]);
    let environment = environment(&provider);
    environment.project_file("src/a.txt", HOSTILE);
    environment.outside_file("a", "");
    let mut chat = Chat::open(&environment);
    chat.say("hello");
    chat.question();
    chat.answer("v");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert_harmless(&chat.terminal);
    chat.leave();
}

#[test]
fn in_file_names_and_in_what_is_stored_of_them() {
    const NAME: &str = "a\u{1b}[2J\u{202e}b.txt";
    let provider = Provider::play([read(format!("../outside/{NAME}")), Response::reply("Read.")]);
    let environment = environment(&provider);
    environment.outside_file(NAME, "text");
    let mut chat = Chat::open(&environment);
    chat.say("hello");
    let question = chat.question();
    assert!(
        question.contains("a\\u{1b}[2J\\u{202e}b.txt"),
        "{:?}",
        chat.terminal
    );
    chat.answer("always");
    chat.prompt();
    chat.say("/permissions");
    chat.prompt();
    assert_harmless(&chat.terminal);
    chat.leave();
    assert!(provider.requests()[1].results()[0].contains("text"));
    let terminal = environment.terminal(["permissions", "list"]);
    assert_eq!(terminal.wait_end(), Some(0));
    assert!(terminal.screen().contains("a\\u{1b}[2J\\u{202e}b.txt"));
    assert_harmless(&terminal);
}

#[test]
fn in_everything_that_a_plugin_says() {
    let call = |fail| ("escapes_everywhere", json!({ "fail": fail }));
    let calls = Response::calls([call(false), call(true)]);
    let provider = Provider::play([calls, Response::reply("Sorry.")]);
    let environment = environment(&provider);
    let mut chat = Chat::with_guests(&environment, &["escapes_everywhere"]);
    chat.say("hello");
    chat.approval();
    chat.decide("v all");
    chat.answer("y all");
    chat.prompt();
    chat.say("/tools");
    chat.prompt();
    assert_harmless(&chat.terminal);
    chat.leave();
    for arguments in [
        &["tools", "list"][..],
        &["tools", "show", "escapes_everywhere"],
    ] {
        let command = environment
            .command(arguments)
            .guests(&["escapes_everywhere"]);
        let terminal = command.terminal();
        assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
        assert!(terminal.screen().contains("A description"), "{terminal:?}");
        assert_harmless(&terminal);
    }
}

#[test]
fn in_the_names_of_models() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let terminal = environment.terminal(["--model", HOSTILE]);
    let mut chat = Chat::of(terminal);
    chat.say("/x\u{202e}y");
    chat.prompt();
    assert_eq!(chat.terminal.effects(), Vec::<String>::new());
    chat.leave();
}

#[test]
fn in_the_history_of_the_line() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    std::fs::create_dir_all(environment.data()).unwrap();
    let history = format!("#V2\n{}\n", HOSTILE.replace('\r', " "));
    std::fs::write(environment.data().join("history"), history).unwrap();
    for colour in ["always", "never"] {
        let mut chat = Chat::of(environment.terminal(["--color", colour]));
        chat.terminal.press(Key::Up);
        chat.terminal.wait_for("pwned");
        assert_harmless(&chat.terminal);
        chat.terminal.press(Key::CtrlC);
        chat.prompt_cleared();
        chat.leave();
    }
}

#[test]
fn a_prompt_of_a_server_is_not_recalled_and_names_no_files() {
    let provider = Provider::play([
        Response::call("mcp_loader", json!({"server": "good"})),
        Response::reply("It is there."),
        Response::reply("It is grey."),
    ]);
    let environment = environment(&provider);
    environment.project_file("eggs.txt", "speckled");
    environment.configure_more(
        "",
        &format!(
            "[mcp.servers.good]\ncommand = {:?}\nargs = [\"good\"]\n",
            env!("CARGO_BIN_EXE_served")
        ),
    );
    let mut chat = Chat::open(&environment);
    chat.say("connect");
    chat.question();
    chat.answer("y");
    chat.prompt();
    let typed = "/prompt good describe bird=@eggs.txt";
    assert!(
        chat.turn(typed).contains("It is grey."),
        "{:?}",
        chat.terminal
    );
    let requests = provider.requests();
    let said = requests[2].messages().last().expect("a message");
    assert_eq!(said["content"], "Describe the @eggs.txt.");
    chat.terminal.press(Key::Up);
    let recalled = format!("› {typed}");
    let is_recalled = |screen: &Screen| screen.cursor_line.trim_end() == recalled;
    chat.terminal
        .wait_until("what was typed, and no more", is_recalled);
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}
