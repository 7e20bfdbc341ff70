//! The prompt: history, several lines, slash commands, completion, and the ways out.

use std::num::NonZeroU16;

use dunlin_tests::{Key, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment, read};

/// What the user said, in the order in which the provider was told.
fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    let messages = last.messages().iter();
    messages
        .filter(|message| message["role"] == "user")
        .filter_map(|message| message["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn the_history_survives_a_restart() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("the first message");
    chat.turn("the second message");
    chat.leave();
    let mut chat = Chat::open(&environment);
    chat.terminal.press(Key::Up);
    chat.terminal.wait_for("› the second message");
    chat.terminal.press(Key::Up);
    chat.terminal.wait_for("› the first message");
    chat.terminal.press(Key::Enter);
    chat.prompt();
    chat.leave();
    assert_eq!(said(&provider), ["the first message"]);
}

#[test]
fn a_message_can_have_several_lines() {
    let provider = Provider::always(Response::reply("Yes."));
    let mut chat = Chat::open(&environment(&provider));
    chat.say("one \\");
    chat.say("two");
    chat.prompt();
    for line in ["```rust", "fn main() {}", "```"] {
        chat.say(line);
    }
    chat.prompt();
    chat.terminal.type_text("three");
    chat.terminal.press(Key::AltEnter);
    chat.say("four");
    chat.prompt();
    chat.terminal.paste("five\nsix\n\nseven");
    chat.terminal.wait_for("seven");
    assert_eq!(provider.requests().len(), 3);
    chat.terminal.press(Key::Enter);
    chat.prompt();
    chat.leave();
    let expected = [
        "one \ntwo",
        "```rust\nfn main() {}\n```",
        "three\nfour",
        "five\nsix\n\nseven",
    ];
    assert_eq!(said(&provider), expected);
}

#[test]
fn slash_commands() {
    let provider = Provider::play([read("../outside/a.txt"), Response::reply("Read.")]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    let mut check = |line: &str, expected: &str| {
        let screen = chat.turn(line);
        assert!(screen.contains(expected), "{line}: {:?}", chat.terminal);
    };
    check(
        "/help",
        "  /permissions [forget [KEY]] list everything in force, tool modes first; ",
    );
    check("/tools", "\nread_file            prompt ");
    check("/history", "Nothing was said yet.");
    check("/copy", "There is no reply to copy.");
    check("/retry now", "/retry takes nothing.");
    check(
        "/permissions",
        "Nothing is stored or answered for this session.",
    );
    check(
        "/permisions",
        "There is no /permisions. Did you mean /permissions?",
    );
    check("/xyzzy", "There is no /xyzzy. /help shows the commands.");
    check("   ", "");
    chat.say("read it");
    chat.question();
    chat.answer("s");
    chat.prompt();
    let screen = chat.turn("/permissions");
    assert!(
        screen.contains("answers, until the session ends (/permissions forget takes them back):"),
        "{:?}",
        chat.terminal
    );
    assert!(screen.contains("r??  "), "{:?}", chat.terminal);
    chat.say("/exit");
    assert_eq!(chat.terminal.wait_end(), Some(0));
}

#[test]
fn clear_asks_first() {
    let provider = Provider::always(Response::reply("Yes."));
    let mut chat = Chat::open(&environment(&provider));
    chat.turn("one");
    chat.say("/clear");
    chat.terminal.wait_for("Forget the conversation? [y/n]");
    chat.say("n");
    chat.prompt();
    chat.turn("two");
    assert_eq!(said(&provider), ["one", "two"]);
    chat.say("/clear");
    chat.terminal.wait_until("the second question", |screen| {
        screen.count("Forget the") == 2
    });
    chat.say("y");
    assert!(chat.prompt().contains("The conversation is empty."));
    chat.turn("three");
    assert_eq!(said(&provider), ["three"]);
    chat.leave();
}

#[test]
fn tab_completes_commands_and_paths() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("src/matter.rs", "");
    let mut chat = Chat::open(&environment);
    chat.terminal.type_text("/pe");
    chat.terminal.press(Key::Tab);
    chat.terminal.wait_until("the command", |screen| {
        screen.cursor_line == "› /permissions" && screen.cursor_column == 14
    });
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.terminal.type_text("see src/m");
    chat.terminal.press(Key::Tab);
    chat.terminal.wait_for("› see src/matter.rs");
    chat.terminal.press(Key::Enter);
    chat.prompt();
    assert_eq!(said(&provider), ["see src/matter.rs"]);
    chat.leave();
}

#[test]
fn ctrl_c_clears_the_line_and_leaves_when_pressed_twice() {
    let provider = Provider::play([]);
    let mut chat = Chat::open(&environment(&provider));
    chat.terminal.type_text("something");
    chat.terminal.wait_for("› something");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.terminal.press(Key::CtrlC);
    assert!(chat.prompt().contains("Ctrl-C again leaves"));
    chat.turn("/help");
    chat.terminal.press(Key::CtrlC);
    chat.prompt();
    chat.terminal.press(Key::CtrlC);
    assert_eq!(chat.terminal.wait_end(), Some(0));
}

#[test]
fn a_narrow_window_is_no_trouble() {
    let provider = Provider::play([
        read("../outside/a/rather/long/path/of/a/file.txt"),
        Response::reply("Read."),
    ]);
    let environment = environment(&provider);
    environment.outside_file("a/rather/long/path/of/a/file.txt", "text");
    let mut chat = Chat::open(&environment);
    let narrow = NonZeroU16::new(40).unwrap();
    chat.terminal.resize(narrow, narrow);
    chat.say("read it");
    let path = environment
        .root()
        .join("outside/a/rather/long/path/of/a/file.txt");
    let screen = chat.question();
    // All of it, in rows that Dunlin begins.
    let row = |row: &str| {
        let row = row.trim_start();
        let row = row.strip_prefix("│ ").unwrap_or(row);
        row.strip_prefix("read    ").unwrap_or(row).to_owned()
    };
    let joined: String = screen.text.lines().map(row).collect();
    assert!(
        joined.contains(&path.display().to_string()),
        "{:?}",
        chat.terminal
    );
    chat.answer("y");
    let screen = chat.prompt();
    let line = screen.line_with("✓ 1 read_file").unwrap();
    assert!(line.chars().count() < 40, "{line:?}");
    assert!(!screen.contains("… 1 read_file"), "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn several_calls_of_one_message_have_a_line_each() {
    let call = |name: &str| ("read_file", json!({ "file_path": name }));
    let provider = Provider::play([
        Response::calls([call("a.txt"), call("none.txt"), call("b.txt")]),
        Response::reply("Two of them."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a");
    environment.project_file("b.txt", "text of b");
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("read them");
    for line in [
        "  ✓ 1 read_file a.txt · ",
        "  ✗ 2 read_file none.txt · failed",
        "  ✓ 3 read_file b.txt · ",
    ] {
        assert_eq!(screen.count(line), 1, "{:?}", chat.terminal);
    }
    chat.leave();
    let request = provider.wait_for_request(1);
    let results = request.results();
    assert!(results[0].contains("text of a"), "{results:?}");
    assert!(results[1].starts_with("ERROR: "), "{results:?}");
    assert!(results[2].contains("text of b"), "{results:?}");
}
